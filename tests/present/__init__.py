"""Tests of pages and pictures."""
