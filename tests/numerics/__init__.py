"""Tests of numerics."""
