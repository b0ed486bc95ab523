"""The screen on which a record is read."""
