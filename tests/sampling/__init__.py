"""Tests of exact samplers."""
