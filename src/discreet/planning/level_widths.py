"""Whether noise of their own at the levels above categories helps, before anything is drawn: widths with it and without, at equal ε."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arrays import Counts
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.true_counts import Outcome, check_posterior, counts_of_same_records
from discreet.mechanisms import Mechanism
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.mechanisms.nested import Nested
from discreet.model.dirichlet import Prior
from discreet.model.size_priors import size_prior_of
from discreet.planning.expected_widths import Believed
from discreet.text import MASS

CATEGORIES = "categories"
"""The name of the last level, which is that of the categories themselves."""
_SIMULATED_OF_ONE_SIZE, _SIMULATED_OF_ANY_SIZE = 24, 8
"""Datasets that are simulated for both mechanisms alike: fewer where n is private, which takes longer to read."""


@dataclass(frozen=True)
class LevelWidth:
    """The expected widths of the 95 % intervals of the nodes of one level, averaged over them."""

    level: str
    nodes: int
    nested: float
    """The width with noise at every level, by `Nested`."""
    flat: float
    """The width with all of ε for the categories, by `LatticeGeometric`."""
    standard_error: float
    """The standard error of the difference of the two widths, from the simulation."""

    @property
    def helps(self) -> bool | None:
        """Whether noise at every level makes these intervals narrower; None if the simulation does not tell."""
        return None if abs(self.flat - self.nested) < 2.0 * self.standard_error else self.nested < self.flat


def level_widths(prior: Prior, believed: Believed, n: int | None, epsilon: Fraction, levels: Any) -> tuple[LevelWidth, ...]:
    """Simulate datasets, noise and readers for both mechanisms.

    Args:
        prior: That of the mechanisms.
        believed: What data are expected.
        n: The number of records if it is public.
        epsilon: ε of all levels together.
        levels: As `Nested` takes them.

    Raises:
        InvalidInputError: The levels are none.
        TooLargeError: A posterior is out of reach.
    """
    nested: Nested = Nested(prior, n, epsilon, levels=levels)
    flat: Mechanism[tuple[int, ...]] = LatticeGeometric(prior, n, epsilon)
    for made in (nested, flat):
        check_posterior(made)
    rng, draws = np.random.default_rng(0), _SIMULATED_OF_ANY_SIZE if n is None else _SIMULATED_OF_ONE_SIZE
    names = [name for name, nodes in nested.level_nodes.items() if len(nodes) > 1]
    found = np.zeros((2, draws, len(names) + 1))
    for row, counts in enumerate(believed.law.predictive(believed.n).sample(draws, rng)):
        for kind, made in enumerate((nested, flat)):
            post = _posterior(made, counts, rng)
            found[kind, row] = [*(_width(post.merged(nested.nodes(name))) for name in names), _width(post)]
    difference = (found[0] - found[1]).std(axis=0, ddof=1) / draws**0.5
    sizes = [*(len(nested.level_nodes[name]) for name in names), prior.k]
    means = found.mean(axis=1)
    return tuple(
        LevelWidth(name, size, float(means[0, j]), float(means[1, j]), float(difference[j]))
        for j, (name, size) in enumerate(zip([*names, CATEGORIES], sizes, strict=True))
    )


def _posterior(made: Mechanism, counts: Counts, rng: np.random.Generator) -> NoiseAware:
    """Return the posterior of a reader of one simulated outcome."""
    n = made.space.n
    raw = tuple(made._simulate_raw(counts, 1, rng)[0].tolist())
    return NoiseAware(made.prior, n, counts_of_same_records(made.prior, n, [Outcome(made, raw, n)], size_prior_of("flat")))


def _width(post: NoiseAware) -> float:
    return float(np.diff(post.interval(MASS), axis=1).mean())
