"""Counting: makes private counts of tables and files."""
