"""000's Tables 1 and 2, for the report and for claims: every entry as it is printed, by the papers' formula, and exactly."""

from discreet.model.dirichlet import Beta
from discreet_papers import theory
from discreet_papers.data import Data, Value

__all__ = ["PRINTED", "accuracy_rows"]

PRINTED = {
    (1, "lapMech"): ("0.19673467014", "0.11932560927", "0.07237464051"),
    (1, "ilapMech"): ("0.31606027941", "0.11627207896", "0.04277410743"),
    (2, "lapMech"): ("0.19673467014", "0.31606027941", "0.19170024978"),
    (2, "ilapMech"): ("0.31606027941", "0.43233235838", "0.1590461864"),
}
"""The Laplace rows of 000's Tables 1 and 2 as printed, for 0, 1 and 2 steps."""


def accuracy_rows(number: int, counts: tuple[int, int] = (50, 50)) -> Data:
    """Table 1 or 2 of 000 for Beta(1, 1) and ε = 1: printed, by the papers' formula, and exact."""
    rows: list[dict[str, Value]] = []
    for cell in theory.accuracy_table(Beta(1, 1), counts, 1, both_sides=number == 2):
        printed = PRINTED.get((number, cell.mechanism))
        rows.append(
            {
                "mechanism": cell.mechanism,
                "steps": cell.steps,
                "printed": printed[cell.steps] if printed else "(a formula)",
                "formula": cell.formula,
                "exact": cell.exact,
                "distance": cell.distance,
                "printed_distance": cell.printed_distance,
            }
        )
    return Data.of(sorted(rows, key=lambda row: ["lapMech", "ilapMech", "expMech^smoo"].index(str(row["mechanism"]))))
