"""Tests of the screen for plans."""
