"""Tests of public records."""
