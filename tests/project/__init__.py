"""Tests of the package, its start-up and its own tests."""
