"""Everything that is recomputed, in the order of the report."""

from discreet_papers import tables
from discreet_papers.figure import Item
from discreet_papers.figures import privacy, probability, sensitivity, setting, size, theorems

__all__ = ["ITEMS"]

_FOUND: dict[str, Item] = {
    item.id: item
    for group in (
        sensitivity.FIGURES,
        probability.FIGURES,
        size.FIGURES,
        setting.FIGURES,
        privacy.FIGURES,
        theorems.FIGURES,
        tables.TABLES,
    )
    for item in group
}

ITEMS: dict[str, Item] = {
    name: _FOUND[name]
    for name in (
        "000-section-3",
        "000-figure-1",
        "000-figure-2",
        "000-figure-3",
        "000-figure-3-extended",
        "000-figure-4",
        "000-figure-4-extended",
        "000-figure-5",
        "000-figure-5-extended",
        "000-figure-6a",
        "000-figure-6a-extended",
        "000-figure-6b",
        "000-figure-6b-extended",
        "000-figure-6",
        "000-figure-6-extended",
        "000-figure-7",
        "000-table-1",
        "000-table-2",
        "000-section-6.3",
        "000-variance",
        "000-dimension",
        "000-theorem-4.1",
        "001-theorem-4.1-4.4",
        "001-theorem-4.5",
        "001-corollaries",
        "001-utility-table",
        "002-statements",
        "003-figure-1",
        "003-figure-2",
        "003-figure-3a",
        "003-figure-3bc",
        "004-lemmas",
    )
}
"""Figures and tables by identifier."""
