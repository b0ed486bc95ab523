"""Tests of pictures and of their style."""
