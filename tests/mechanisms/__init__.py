"""Tests of mechanisms and their releases."""
