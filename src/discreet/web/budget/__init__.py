"""The screen for budgets: a ledger, its datasets, and new ones."""
