"""Budgets that survive crashes."""
