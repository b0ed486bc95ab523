"""Tests of distributions, distances and sensitivities."""
