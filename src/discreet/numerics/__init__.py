"""Arithmetic that keeps its digits: divergences of ln Γ, in floats and in balls."""
