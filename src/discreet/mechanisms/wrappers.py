"""Mechanisms made from mechanisms: better reports, and less noise, at no cost in privacy."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from flint import arb

from discreet.enumeration import candidate_count, check_outcomes, is_few
from discreet.errors import InvalidInputError, RefusedError
from discreet.mechanisms import remap
from discreet.mechanisms.base import Law, LossAtoms, Mechanism
from discreet.mechanisms.hellinger import Exponential
from discreet.mechanisms.losses import Bounded, check_paired, enumerated_loss
from discreet.numerics import Floats, ball
from discreet.release import NO_GUARANTEE, Guarantee, rounded_up
from discreet.sampling import BitSource
from discreet.validation import Counts

__all__ = ["Calibrated", "Remapped", "Scaled"]

_MOST_LIKELIHOODS = 1 << 22
"""Pairs of an outcome and a dataset whose likelihoods are held at once."""


@dataclass(frozen=True, init=False)
class Remapped(Mechanism):
    """The same draw, reported as the candidate with the least expected Hellinger error under the prior predictive.

    Post-processing: the guarantee is that of the mechanism inside. How the best report is found, and where it is approximate, is
    said in `remap`.
    """

    mechanism: Mechanism

    def __init__(self, mechanism: Mechanism) -> None:
        if not isinstance(mechanism, Mechanism):
            raise InvalidInputError(f"Remapped takes a mechanism, not {type(mechanism).__name__}")
        if isinstance(mechanism, Remapped):
            mechanism = mechanism.mechanism  # the best report depends on the draw alone
        for name in ("prior", "n", "epsilon"):
            self._set(name, getattr(mechanism, name))
        self._set("mechanism", mechanism)
        if not mechanism.has_product_form:
            size = candidate_count(self.n, self.k) if self.k <= remap.MOST_CANDIDATES else self.k
            check_outcomes(size, f"Remapped({type(mechanism).__name__})", remap.MOST_CANDIDATES)

    @property
    def guarantee(self) -> Guarantee:
        """That of the mechanism inside."""
        return self.mechanism.guarantee

    @property
    def _claim(self) -> Guarantee:
        return self.mechanism._claim

    @property
    def parameters(self) -> dict[str, Any]:
        """The mechanism inside and its options."""
        return {"mechanism": type(self.mechanism).__name__, "options": self.mechanism.parameters}

    def report(self, raw: Counts) -> Counts:
        """The best candidate for each raw outcome."""
        rows, owner = np.unique(np.clip(raw, -1, self.n + 1), axis=0, return_inverse=True)
        return self._best(rows)[owner.ravel()]

    def _within_arrays(self, raw: tuple[int, ...]) -> Counts:
        """A noisy count below 0 or above n says the same about every dataset, however far out it is."""
        return np.array([[min(max(z, -1), self.n + 1) for z in raw]], dtype=np.int64)

    def _log_factor(self, raw: Counts, category: int, x: Floats) -> Floats:
        return self.mechanism._log_factor(raw, category, x)

    @property
    def has_product_form(self) -> bool:
        """That of the mechanism inside."""
        return self.mechanism.has_product_form

    @property
    def search_cost(self) -> float:
        """About how many distances the search for one report computes, where there are too many candidates to try them all."""
        return remap.search_cost(self.prior, self.n, float(self.epsilon))

    def _best(self, rows: Counts) -> Counts:
        inner = self.mechanism
        if is_few(self.n, self.k, remap.MOST_CANDIDATES):
            together = max(1, _MOST_LIKELIHOODS // candidate_count(self.n, self.k))
            parts = [rows[start : start + together] for start in range(0, len(rows), together)]
            return np.concatenate([remap.best_by_enumeration(self.prior, self.n, partial(self._log_likelihood, part)) for part in parts])
        remap.check_search(self.prior, self.n)
        found = []
        for raw in rows:

            def log_factor(category: int, x: Floats, raw: Counts = raw) -> Floats:
                return inner._log_factor(raw, category, x)

            if self.k == 2:
                kinks = [float(raw[0]), *(float(self.n - z) for z in raw[1:])]
                found.append(remap.best_of_two(self.prior, self.n, kinks, log_factor))
            else:
                rest = [max(self.n - sum(raw.tolist()), -1)] * (self.k - len(raw))  # a last count without noise of its own
                found.append(remap.best_of_few(self.prior, self.n, np.array([*raw.tolist(), *rest]), log_factor))
        return np.array(found)

    def _log_likelihood(self, rows: Counts, points: Counts) -> Floats:
        """Log likelihood of every raw outcome (rows) under every dataset (columns), up to a constant for each row."""
        if not self.mechanism.has_product_form:
            laws = np.stack(self._listed_laws(points), axis=-1)
            where = {tuple(p): i for i, p in enumerate(points.tolist())}
            return laws[[where[tuple(row)] for row in rows.tolist()]]
        total = np.zeros((len(rows), len(points)))
        for category, column in enumerate(points.T):
            total += np.stack([self.mechanism._log_factor(row, category, column.astype(np.float64)) for row in rows])
        return total

    def _listed_laws(self, points: Counts) -> list[Floats]:
        """The log probabilities of all candidates for every dataset; those of the exponential family are far cheaper together."""
        if isinstance(self.mechanism, Exponential):
            return [log_law for _, _, log_law in self.mechanism.log_laws()]
        return [self.mechanism._raw_law(x).log_probability for x in points]

    def _loss_atoms(self) -> LossAtoms | None:
        return self.mechanism._loss_atoms()

    def _raw_law(self, counts: Counts) -> Law:
        return self.mechanism._raw_law(counts)

    def _log_prob(self, counts: Counts, raw: Counts) -> Floats:
        return self.mechanism._log_prob(counts, raw)

    def _simulate(self, counts: Counts, size: int, rng: np.random.Generator) -> Counts:
        return self.mechanism._simulate(counts, size, rng)

    def _simulated_noise(self, size: int, rng: np.random.Generator) -> Counts | None:
        return self.mechanism._simulated_noise(size, rng)

    def _check_size(self) -> None:
        self.mechanism._check_size()
        if not is_few(self.n, self.k, remap.MOST_CANDIDATES):
            remap.check_search(self.prior, self.n)

    def _can_draw(self, raw: tuple[int, ...]) -> bool:
        return self.mechanism._can_draw(raw)

    def _draw(self, counts: tuple[int, ...], source: BitSource) -> tuple[int, ...]:
        return self.mechanism._draw(counts, source)


@dataclass(frozen=True, init=False)
class Scaled(Exponential):
    """A Hellinger mechanism with its exponent multiplied by a public factor. No guarantee of its own."""

    mechanism: Exponential
    factor: Fraction

    def __init__(self, mechanism: Exponential, factor: Fraction) -> None:
        for name in ("prior", "n", "epsilon"):
            self._set(name, getattr(mechanism, name))
        self._set("mechanism", mechanism)
        self._set("factor", factor)

    @property
    def guarantee(self) -> Guarantee:
        """None."""
        return NO_GUARANTEE

    @property
    def _claim(self) -> Guarantee:
        """That of a calibration which found this factor."""
        return Guarantee(rounded_up(self.epsilon), 0.0, "computation")

    @property
    def parameters(self) -> dict[str, Any]:
        """The mechanism inside, its options and the factor."""
        return {"mechanism": type(self.mechanism).__name__, "options": self.mechanism.parameters, "factor": self.factor}

    @property
    def is_symmetric(self) -> bool:
        """If the mechanism inside is."""
        return self.mechanism.is_symmetric

    def rate(self, counts: Counts) -> Floats:
        """That of the mechanism inside, times the factor."""
        return float(self.factor) * self.mechanism.rate(counts)

    def _rate_ball(self, counts: Counts) -> arb:
        return ball(self.factor) * self.mechanism._rate_ball(counts)


@dataclass(frozen=True, init=False)
class Calibrated(Scaled):
    """ε by computation: the mechanism inside with its exponent raised by the largest factor whose certified loss is still <= ε.

    A proof must cover every prior and n; the exact loss of this one is smaller, so the noise can be. The factor is a function of
    public parameters alone. Costs a few evaluations of the loss: O(n²) for two categories; where it cannot be computed, refused.
    """

    def __init__(self, mechanism: Exponential) -> None:
        if not isinstance(mechanism, Exponential) or isinstance(mechanism, Scaled):
            raise InvalidInputError(f"Calibrated takes a Hellinger mechanism, not {type(mechanism).__name__}")
        super().__init__(mechanism, _calibration(mechanism)[0])

    @property
    def loss(self) -> Bounded:
        """The computed loss, with the bound that the guarantee rests on."""
        return _calibration(self.mechanism)[1]

    @property
    def guarantee(self) -> Guarantee:
        """ε, by computation of this configuration's exact loss."""
        return self._claim


_CLOSE_ENOUGH = 0.9995
_AIM = 0.9998
_FACTOR_BITS = 24
_MOST_TRIALS = 40
CALIBRATION_PASSES = 6
"""How many losses a calibration computes as a rule."""


@lru_cache(maxsize=64)
def _calibration(mechanism: Exponential) -> tuple[Fraction, Bounded]:
    """A factor whose certified loss is between `_CLOSE_ENOUGH` and 1 times ε, with that loss.

    The loss is nearly proportional to the factor, so each guess rescales the last, kept between the best that was safe and the
    lowest that was not. It need not be monotone: only the certified loss of the factor that is returned matters.
    """
    check_paired(mechanism.n, mechanism.k, CALIBRATION_PASSES)
    target = float(mechanism.epsilon)
    safe: tuple[Fraction, Bounded] | None = None
    unsafe: Fraction | None = None
    factor = Fraction(1)
    for _ in range(_MOST_TRIALS):
        loss = enumerated_loss(Scaled(mechanism, factor))
        if Fraction(loss.bound) <= mechanism.epsilon:
            safe = (factor, loss)
            if loss.bound >= _CLOSE_ENOUGH * target:
                break
        else:
            unsafe = factor
        low = safe[0] if safe else Fraction(0)
        factor = Fraction(round(float(factor) * _AIM * target / loss.bound * 2**_FACTOR_BITS), 2**_FACTOR_BITS)
        if factor <= low or (unsafe is not None and factor >= unsafe):
            factor = (low + unsafe) / 2 if unsafe is not None else 2 * low
    if safe is None:
        raise RefusedError("no factor with a certified loss within epsilon was found")
    return safe
