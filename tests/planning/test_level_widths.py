"""Whether levels help. Oracle: the planner's own widths of `LatticeGeometric`, from other simulations."""

from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import InvalidInputError
from discreet.planning.expected_widths import Believed
from discreet.planning.level_widths import CATEGORIES, level_widths

PRIOR = dc.Dirichlet([1] * 12, [f"c{i}" for i in range(12)])


def test_levels_help_sums_of_many_categories_and_not_the_categories() -> None:
    upper, lower = level_widths(PRIOR, Believed.of(PRIOR, 400, None), 400, Fraction(1, 4), {"sixes": 6})
    assert (upper.level, upper.nodes, upper.helps) == ("sixes", 2, True)
    assert (lower.level, lower.nodes, lower.helps) == (CATEGORIES, 12, False)
    expected = dc.expected_width(dc.LatticeGeometric(PRIOR, 400, Fraction(1, 4)))
    assert lower.flat == pytest.approx(float(expected), rel=0.05)
    assert lower.nested > 1.1 * float(expected)


def test_compare_says_it_in_words() -> None:
    found = dc.compare(PRIOR, 400, Fraction(1, 4), errors=False, levels={"sixes": 6})
    assert "sixes (2): " in str(found)
    assert "narrower with levels" in str(found)
    assert "categories (12): " in str(found)
    assert "wider with levels" in str(found)
    with pytest.raises(InvalidInputError, match="from 2 to 11"):
        dc.compare(PRIOR, 400, 1, errors=False, levels={"ones": 1})
