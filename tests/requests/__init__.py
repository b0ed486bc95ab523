"""Tests of what was asked for, as it is typed and read."""
