"""Three kinds of noise for many tables. Oracles: sums over all losses, and the exact δ(ε) of `DiscreteGaussian`."""

import itertools
from math import exp

import pytest

import discreet as dc
from discreet.errors import InvalidInputError
from discreet.planning.table_widths import noise_kinds

TABLES = {5: (7.1, 7.1, 9.5), 10: (14.1, 14.1, 13.4), 20: (28.3, 24.8, 18.9), 100: (141.0, 58.9, 42.3)}


@pytest.mark.parametrize("tables", TABLES)
def test_deviations_are_those_of_the_pages(tables: int) -> None:
    found = noise_kinds(tables, 1)
    assert (found.pure, found.composed, found.gaussian) == pytest.approx(TABLES[tables], rel=0.006)
    assert found.least == ("pure" if tables < 10 else "gaussian")


@pytest.mark.parametrize(("public", "n"), [("nothing", None), ("total", 20), ("sizes", 20)])
def test_gaussian_noise_of_one_table_is_that_of_the_mechanism(public: str, n: int | None) -> None:
    made = dc.DiscreteGaussian(dc.Dirichlet([1, 1, 1]), n, epsilon=1, delta="1e-6")
    found = noise_kinds(1, 1, public=public)  # type: ignore[arg-type]
    assert found.gaussian == pytest.approx(made.noise.variance**0.5, rel=2e-3)
    assert noise_kinds(1, "0.9", public=public).gaussian > 1.05 * found.gaussian  # type: ignore[arg-type]


def test_composed_noise_keeps_the_delta_and_no_less_noise_does() -> None:
    def delta(part: float) -> float:
        """A sum over all outcomes of six releases, each of which loses or gains its part."""
        p = exp(part) / (1 + exp(part))
        found = 0.0
        for signs in itertools.product((1, -1), repeat=6):
            ups = signs.count(1)
            found += p**ups * (1 - p) ** (6 - ups) * max(0.0, 1 - exp(1 - sum(signs) * part))
        return found

    found = noise_kinds(6, 1, "0.01")
    parts = [one / 10_000 for one in range(1667, 4000)]
    largest = max(part for part in parts if delta(part) <= 0.01)
    assert found.composed == pytest.approx((2 * exp(-largest)) ** 0.5 / (1 - exp(-largest)), rel=1e-3)
    assert found.composed < found.pure


def test_what_is_no_number_of_tables_or_no_delta_is_refused() -> None:
    for tables, delta in ((0, "1e-6"), (-1, "1e-6"), (2, 2)):
        with pytest.raises(InvalidInputError):
            noise_kinds(tables, 1, delta)
