"""Computations about a mechanism from public numbers: privacy losses, errors, the optimum, comparisons and plans."""
