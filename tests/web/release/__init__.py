"""Tests of the screen for releases."""
