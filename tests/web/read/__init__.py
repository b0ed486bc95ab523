"""Tests of the screen on which records are read."""
