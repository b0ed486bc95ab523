"""Tests of posteriors of tables."""
