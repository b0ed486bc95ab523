"""Tests of the pages, their words and their numbers."""
