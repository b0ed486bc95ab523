"""Tests of noise-aware posteriors."""
