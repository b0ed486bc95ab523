"""Tests of the screen for budgets."""
