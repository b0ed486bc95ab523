"""The screen for releases: looked at, charged once and drawn once."""
