"""Posteriors of many groups at once, as arrays: the kernel behind tables, which single releases use too."""
