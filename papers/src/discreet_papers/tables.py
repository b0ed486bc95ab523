"""The papers' tables: 000 Tables 1 and 2, the solutions of 000 section 6.3, and the utility table of 001."""

from discreet.model.dirichlet import Beta
from discreet_papers import theory
from discreet_papers.accuracy_tables import accuracy_rows
from discreet_papers.data import Data, Value
from discreet_papers.figure import TableItem

__all__ = ["TABLES"]


def more_likely(quick: bool) -> Data:
    """000 section 6.3, solved: sizes at which expMech^smoo is the more likely to be so many steps up."""
    most = 60 if quick else 300
    rows: list[dict[str, Value]] = []
    for epsilon in (1, 5):
        for found in theory.more_likely_sizes(Beta(1, 1), epsilon, most=most):
            runs = ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in found.intervals)
            shown = (
                runs
                if len(found.intervals) <= 4
                else f"{len(found.intervals)} runs, the last {found.intervals[-1][0]} to {found.intervals[-1][1]}"
            )
            rows.append({"epsilon": epsilon, "rival": found.rival, "steps": found.steps, "sizes": shown or "none", "most": found.most})
    return Data.of(rows)


def utility(quick: bool) -> Data:  # noqa: ARG001
    """001's utility table at a few settings: exact quantile against the entry with its O(·) read as 1."""
    rows: list[dict[str, Value]] = []
    for n in (100, 1000):
        for delta in (0.05, 0.01):
            for name, entries in theory.utility_table(Beta(1, 1), (n // 2, n - n // 2), 1, delta).items():
                rows += [
                    {
                        "mechanism": name,
                        "n": n,
                        "delta": delta,
                        "distance": entry.measure,
                        "exact": entry.left,
                        "entry": entry.right,
                        "holds": "yes" if entry.true else "no",
                    }
                    for entry in entries
                ]
    return Data.of(rows)


_ACCURACY_COLUMNS = {
    "mechanism": ("mechanism", "s"),
    "steps": ("steps", "d"),
    "printed": ("printed", "s"),
    "formula": ("papers' formula", ".11f"),
    "exact": ("exact law", ".11f"),
    "distance": ("H, exact", ".8f"),
    "printed_distance": ("H, printed formula", ".8f"),
}

TABLES = (
    TableItem(
        "000-table-1",
        "000, Table 1",
        "Probability of a candidate 0, 1 or 2 steps up",
        "Prior beta(1,1), data (50, 50), ε = 1. The printed formulas for H lack the factor √((β-1)/α) at one step and have β for "
        "β - 1 at two.",
        lambda quick: accuracy_rows(1),  # noqa: ARG005
        _ACCURACY_COLUMNS,
    ),
    TableItem(
        "000-table-2",
        "000, Table 2",
        "Probability of being 0, 1 or 2 steps away, up or down",
        "As Table 1, for α = β, both sides together.",
        lambda quick: accuracy_rows(2),  # noqa: ARG005
        _ACCURACY_COLUMNS,
    ),
    TableItem(
        "000-section-6.3",
        "000, section 6.3",
        "Where expMech^smoo is more likely than a Laplace mechanism to be so many steps up",
        "The equations of section 6.3 solved for the number of records n, balanced data, prior beta(1,1).",
        more_likely,
        {
            "epsilon": ("ε", "g"),
            "rival": ("against", "s"),
            "steps": ("steps up", "d"),
            "sizes": ("more likely at n =", "s"),
            "most": ("n up to", "d"),
        },
    ),
    TableItem(
        "001-utility-table",
        "001, utility table",
        "The error exceeded with probability δ, and the table's entry",
        "Prior beta(1,1), balanced data, ε = 1; O(·) read as 1, and the ratio in the H entries the other way up (as printed they "
        "are not real).",
        utility,
        {
            "mechanism": ("mechanism", "s"),
            "n": ("n", "d"),
            "delta": ("δ", "g"),
            "distance": ("distance", "s"),
            "exact": ("exact quantile", ".6g"),
            "entry": ("entry", ".6g"),
            "holds": ("exact ≤ entry", "s"),
        },
    ),
)
