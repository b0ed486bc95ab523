"""Tests of what holds of every public call."""
