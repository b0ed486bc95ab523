"""Tables of gaps that are kept: mechanisms, reports and errors of one prior and n all read the same ones."""

from fractions import Fraction
from functools import lru_cache

from discreet.numerics import GapTable

__all__ = ["gap_table"]


@lru_cache(maxsize=8)
def gap_table(a: Fraction, n: int) -> GapTable:
    """The table for a category with this prior parameter: of public parameters alone, and as many as a comparison reads in turn."""
    return GapTable(a, n)
