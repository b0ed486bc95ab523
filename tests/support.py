"""Oracles: definitions evaluated by brute force or in high precision, sharing no formula with the code under test."""

import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from numpy.typing import NDArray
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

import discreet as dc
from discreet import limits
from discreet.mechanisms import Mechanism
from discreet.numerics.gamma import gap
from tests.places import ROOT

Prior = dc.Dirichlet | dc.Beta
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Exact = float | Fraction | str | arb

PRECISION = 320
"""Bits. The worst cancellation in the tests, ln Γ at 10^15 against a distance of 10^-16 squared, costs 220."""


# --- stored references ------------------------------------------------------------------------------------------------


@cache
def reference_values() -> Any:
    """25-digit values computed by brute force from the definitions in 60-digit arithmetic."""
    return json.loads((Path(__file__).parent / "reference" / "values.json").read_text())


# --- short and long runs ----------------------------------------------------------------------------------------------


def mostly_slow(cases: Iterable[Any], quick: int) -> list[Any]:
    """Cases for `parametrize`: the first few are in the normal run, and all others in the slow one."""
    return [case if number < quick else pytest.param(case, marks=pytest.mark.slow) for number, case in enumerate(cases)]


# --- lattices and neighbours ------------------------------------------------------------------------------------------


def lattice(n: int, k: int) -> Integers:
    """Every vector of k counts that add up to n, one in each row."""
    bars = np.array(list(combinations(range(n + k - 1), k - 1)), dtype=np.int64).reshape(-1, k - 1)
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + k - 1)], axis=1)
    return np.diff(edges, axis=1) - 1


def neighbours(counts: Sequence[int] | Integers) -> Integers:
    """Every dataset that differs from this one in one replaced record."""
    k = len(counts)
    rows = []
    for i in range(k):
        for j in range(k):
            if i != j and counts[i] >= 1:
                row = np.array(counts, dtype=np.int64)
                row[i] -= 1
                row[j] += 1
                rows.append(row)
    return np.array(rows)


def replaced(counts: Sequence[int] | Integers, points: Integers) -> Integers:
    """How many records must be replaced to get from these counts to each of the points."""
    distance: Integers = np.abs(points - np.asarray(counts)).sum(axis=-1) // 2
    return distance


# --- high-precision references (python-flint balls) -------------------------------------------------------------------


def ball(value: Exact) -> arb:
    """The number as a ball: floats at the value they have, strings and fractions at the value they say."""
    if isinstance(value, (str, Fraction)):
        exact = Fraction(value)
        return arb(fmpq(exact.numerator, exact.denominator))
    return arb(value)


def relative_error(value: float, reference: arb) -> float:
    """|value/reference - 1|, for a reference that is known to more digits than a float has."""
    if reference.is_zero():
        return 0.0 if value == 0.0 else float("inf")
    if not reference.rel_accuracy_bits() >= 60:
        raise AssertionError(f"the reference itself is too wide: {reference}")
    return abs(float((arb(value) - reference) / reference))


def _log_beta(parameters: Sequence[arb]) -> arb:
    return sum((p.lgamma() for p in parameters), arb(0)) - sum(parameters, arb(0)).lgamma()


def reference_gap(u: Exact, v: Exact) -> arb:
    """½ lnΓ(u) + ½ lnΓ(v) - lnΓ((u+v)/2)."""
    with ctx.workprec(PRECISION):
        first, second = ball(u), ball(v)
        return (first.lgamma() + second.lgamma()) / 2 - ((first + second) / 2).lgamma()


def reference_renyi(alpha: Iterable[Any], beta: Iterable[Any], order: Fraction) -> arb:
    """ln ∫ p^a q^(1-a) / (a - 1), from the normalisers of the three Dirichlets involved."""
    with ctx.workprec(PRECISION):
        u, v, a = [ball(x) for x in alpha], [ball(x) for x in beta], ball(order)
        mixed = [a * x + (1 - a) * y for x, y in zip(u, v, strict=True)]
        return (_log_beta(mixed) - a * _log_beta(u) - (1 - a) * _log_beta(v)) / (a - 1)


def reference_hellinger(alpha: Iterable[Any], beta: Iterable[Any]) -> arb:
    """sqrt(1 - ∫ sqrt(p q)). Parameters that agree are left out where the totals agree too: they cancel."""
    with ctx.workprec(PRECISION):
        pairs = [(ball(x), ball(y)) for x, y in zip(alpha, beta, strict=True)]
        total_u, total_v = sum((u for u, _ in pairs), arb(0)), sum((v for _, v in pairs), arb(0))
        exponent = sum((reference_gap(u, v) for u, v in pairs if u != v), arb(0))
        if total_u != total_v:
            exponent -= reference_gap(total_u, total_v)
        return (-(-exponent).expm1()).sqrt()


def reference_kl(alpha: Iterable[Any], beta: Iterable[Any]) -> arb:
    """∫ p ln(p/q)."""
    with ctx.workprec(PRECISION):
        u, v = [ball(x) for x in alpha], [ball(x) for x in beta]
        total = sum(u, arb(0)).digamma()
        moved = sum(((x - y) * (x.digamma() - total) for x, y in zip(u, v, strict=True)), arb(0))
        return _log_beta(v) - _log_beta(u) + moved


_FEW_RECORDS = 1000.0


def reference_beta_cdf(a: float, b: float, logit: arb) -> arb:
    """P(θ <= x) under Beta(a, b), x given by its logit so that both ends of [0, 1] can be told apart.

    While one parameter is small, the hypergeometric function of flint. Where both are large the density is almost normal on the
    logit scale, and Gauss-Legendre quadrature from 14 deviations out is right to 20 digits (checked against the former at 1000).
    """
    if logit > 0:
        with ctx.workprec(PRECISION):
            return 1 - reference_beta_cdf(b, a, -logit)
    if min(a, b) <= _FEW_RECORDS:
        for precision in (PRECISION, 4 * PRECISION, 16 * PRECISION):
            with ctx.workprec(precision):
                x = 1 / (1 + (-logit).exp())
                value = x.beta_lower(arb(a), arb(b), regularized=True)
            if value.is_finite() and float(value.rad()) < 1e-20:
                return value
        raise AssertionError(f"no reference for Beta({a}, {b})")
    return quadrature_beta_cdf(a, b, logit)


def quadrature_beta_cdf(a: float, b: float, logit: arb) -> arb:
    """The same by quadrature, for large a and b."""
    with ctx.workprec(PRECISION):
        first, second = arb(a), arb(b)
        low = (first / second).log() - 14 * (1 / first + 1 / second).sqrt()
        if logit <= low:
            return arb(0)
        half, middle, normaliser = (logit - low) / 2, (logit + low) / 2, _log_beta([first, second])
        total = arb(0)
        for node, weight in _legendre():
            z = (middle + half * node).mid()
            total += weight * (-first * (-z).exp().log1p() - second * z.exp().log1p() - normaliser).exp()
        return (total * half).mid()


@cache
def _legendre(size: int = 100) -> list[tuple[arb, arb]]:
    with ctx.workprec(PRECISION):
        return [arb.legendre_p_root(size, i, True) for i in range(size)]


# --- sensitivities by enumeration -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """All datasets of n records under one prior, with everything about them enumerated."""

    prior: Prior
    n: int

    @cached_property
    def points(self) -> Integers:
        return lattice(self.n, self.prior.k)

    @cached_property
    def _gaps(self) -> Floats:
        """gap(a_i + c, a_i + c + 1) for every category i and count c."""
        return np.array([[float(reference_gap(a + c, a + c + 1)) for c in range(self.n + 1)] for a in self.prior.exact])

    @cached_property
    def local(self) -> Floats:
        """Local sensitivity of every point: the largest Hellinger distance to a neighbour."""
        best = np.zeros(len(self.points))
        for i in range(self.prior.k):
            for j in range(self.prior.k):
                gives = self.points[:, i] >= 1
                if i != j:
                    exponent = self._gaps[i, self.points[gives, i] - 1] + self._gaps[j, self.points[gives, j]]
                    best[gives] = np.maximum(best[gives], np.sqrt(-np.expm1(-exponent)))
        return best

    def local_at(self, counts: Sequence[int] | Integers) -> float:
        """Local sensitivity of one dataset."""
        return float(self.local[(self.points == np.asarray(counts)).all(axis=1)][0])

    def smooth_at(self, counts: Sequence[int] | Integers, *, gamma: float | None = None, beta: float | None = None) -> float:
        """Smooth sensitivity of one dataset, as the maximum over all datasets that defines it."""
        distance = replaced(counts, self.points)
        if gamma is not None:
            return float((1.0 / (1.0 / self.local + gamma * distance)).max())
        if beta is None:
            raise AssertionError("give gamma or beta")
        return float((self.local * np.exp(-beta * distance)).max())


# --- smooth sensitivity by walking (large n) --------------------------------------------------------------------------


def walked_smooth(
    prior: Prior, counts: Sequence[int] | Integers, *, gamma: float | None = None, beta: float | None = None, limit: int = 10**7
) -> float:
    """Smooth sensitivity by walking every path of docs/research/sensitivity.md record by record, until no further step can win."""
    x = [int(c) for c in counts]
    n, k, a = sum(x), prior.k, prior.concentration
    start, largest = dc.local_sensitivity(prior, x), dc.global_sensitivity(prior, n)
    reach = (1.0 / start - 1.0 / largest) / gamma if gamma is not None else np.log(largest / start) / (beta or 1.0)
    furthest = int(min(n, reach)) + 1
    if furthest > limit:
        raise AssertionError(f"a walk of {furthest} records is too long for an oracle")
    best = start
    for i in range(k):
        for j in range(k):
            if i == j:
                continue
            for path in _paths(x, i, j, furthest):
                distance, u, v = path
                exponent = gap(a[i] + u - 1, a[i] + u, np.ones(u.shape)) + gap(a[j] + v, a[j] + v + 1, np.ones(v.shape))
                h = np.sqrt(-np.expm1(-exponent))
                value = h / (1.0 + gamma * distance * h) if gamma is not None else h * np.exp(-(beta or 0.0) * distance)
                best = max(best, float(value.max(initial=0.0)))
    return best


def _paths(x: list[int], i: int, j: int, furthest: int) -> list[tuple[Floats, Floats, Floats]]:
    """(distance, y_i, y_j) along the paths for a last move from i to j."""
    n = sum(x)
    d = np.arange(furthest + 1, dtype=np.float64)
    if len(x) == 2:
        both = [(d, x[i] - d), (d, x[i] + d)]
        return [(distance[(u >= 1) & (u <= n)], u[(u >= 1) & (u <= n)], n - u[(u >= 1) & (u <= n)]) for distance, u in both]
    if x[i] == 0:
        d = d[(d >= 1) & (d <= max(x[j], 1))]
        return [(d, np.ones_like(d), np.maximum(x[j] - d, 0.0))]
    d = d[d <= x[i] - 1 + x[j]]
    giver_first = (d, np.maximum(x[i] - d, 1.0), x[j] - np.maximum(d - (x[i] - 1), 0.0))
    taker_first = (d, x[i] - np.maximum(d - x[j], 0.0), np.maximum(x[j] - d, 0.0))
    return [giver_first, taker_first]


# --- what is printed --------------------------------------------------------------------------------------------------


def says_interval(shown: str, low: float, high: float) -> bool:
    """Whether a text has this interval in percent, with at least two digits of its width."""
    for first, second in re.findall(r"([0-9]+\.[0-9]+) to ([0-9]+\.[0-9]+) %", shown):
        unit = 0.1 ** len(first.partition(".")[2])
        if abs(float(first) - 100 * low) < 0.51 * unit and abs(float(second) - 100 * high) < 0.51 * unit:
            return 100 * (high - low) >= 10 * unit
    return False


# --- the library with other limits, or with a draw that is known ------------------------------------------------------


@contextmanager
def lowered(**values: float) -> Iterator[None]:
    """Other values for limits of `discreet.limits`, by name: what lies beyond one is found in another way, or refused."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(limits, name, value)
        yield


def ends_at(size: int, name: str, work: Callable[[], object], **others: float) -> None:
    """With a limit of this size the work is done, and with one less it is refused in one line."""
    with lowered(**others | {name: size}):
        work()
    with lowered(**others | {name: size - 1}), pytest.raises(dc.TooLargeError) as refused:
        work()
    assert "\n" not in str(refused.value)


@contextmanager
def planted(mechanism: type[Mechanism], outcome: tuple[int, ...] | None) -> Iterator[None]:
    """A draw of this mechanism that always has the same outcome, or repeats the private counts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "_sampler", _Planted(outcome))
        yield


LOCKED = OperationalError("BEGIN", {}, sqlite3.OperationalError("database is locked"))


@contextmanager
def lost_after_a_spend(error: BaseException) -> Iterator[None]:
    """A ledger whose database takes one spend, and raises this from then on."""
    spent = []

    def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO discreet_spend"):
            spent.append(statement)

    def begun(_connection: Any) -> None:
        if spent:
            raise error

    listeners: dict[str, Callable[..., None]] = {"after_cursor_execute": executed, "begin": begun}
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    try:
        yield
    finally:
        for name, listener in listeners.items():
            event.remove(Engine, name, listener)


class _Planted:
    """In the place of a mechanism's `sampler`: always the same outcome, or the private counts themselves."""

    def __init__(self, outcome: tuple[int, ...] | None) -> None:
        self.outcome = outcome

    def __call__(self, counts: tuple[int, ...]) -> "_Planted":
        return self if self.outcome is not None else _Planted(counts)

    def draw(self, source: Any) -> tuple[int, ...]:
        assert self.outcome is not None
        return self.outcome


def run_module(module: str, *words: object) -> Any:
    """What a module of the tests prints as JSON, in a process of its own."""
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def watched() -> Iterator[set[str]]:
    """The files of which a function is called meanwhile, in any thread; what imports run is not counted."""
    seen: set[str] = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_filename.startswith(str(Path(dc.__file__).parent)):
            seen.add(frame.f_code.co_filename)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
