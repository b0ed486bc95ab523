"""The ε or the n that a target error asks for: functions of public parameters, so planning by them costs no privacy."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from math import ceil, floor, inf, log, log10
from typing import Any, Literal, TypeVar

from discreet import limits
from discreet.analysis.comparison import PUBLIC_CHOICE, PUBLIC_GUESS, Maker, Prior, Progress
from discreet.analysis.dataset_errors import Distance
from discreet.analysis.error_laws import ExpectedError, planning_error
from discreet.errors import InvalidInputError
from discreet.mechanisms import Mechanism, mechanism
from discreet.model.distances import hellinger
from discreet.validation import Number, Public, check_positive, check_public, check_records

Value = TypeVar("Value", int, Fraction)


@dataclass(frozen=True)
class Plan:
    """What a target error asks for."""

    mechanism: str
    target_error: float
    n: int
    epsilon: Fraction
    error: ExpectedError
    """The mean error with this n and ε."""
    over: Literal["predictive", "worst"]
    sought: Literal["epsilon", "n"]
    """Which of the two was looked for; the other was given."""
    public: Public = "total"
    """What is public beside the categories: n, or nothing; then n is a guess."""

    @property
    def choice(self) -> str:
        """Why choosing by the plan is public."""
        return PUBLIC_CHOICE if self.public == "total" else PUBLIC_GUESS

    def to_dict(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        found = {"error": float(self.error), "method": self.error.method, "standard_error": self.error.standard_error}
        return plain | {"epsilon": float(self.epsilon)} | found

    def __str__(self) -> str:
        records = f"n = {self.n}{' (a guess)' if self.public == 'nothing' and self.sought == 'epsilon' else ''}"
        level = f"ε = {float(self.epsilon):g}"
        given, need = (records, level) if self.sought == "epsilon" else (level, records)
        kind = "mean error over the prior predictive" if self.over == "predictive" else "worst-case mean error"
        return f"{self.mechanism} with {given} needs {need} for a {kind} of {self.target_error:g}: it is {self.error!r}. {self.choice}"


_SMALLEST_EPSILON, _LARGEST_EPSILON = Fraction(1, 2**40), Fraction(1024)
_EPSILON_STEP = 8
"""From one ε to the next that is tried in search of a bracket: the error is nearly a power of ε over long ranges."""
_DIGITS = 3  # significant digits of the ε that is found
_DOUBLED_TO, _RECORDS_STEP = 1024, 4
"""While the prior may outweigh the data n is doubled; beyond, this many times as many records are tried next."""
_MANY_CATEGORIES = 20
"""With more, every error is a simulation that takes a while, and the first thousands of records drown in the noise."""
_LEVEL_FROM, _LEVEL = 1024, 0.005
"""A worst-case error tends to a limit, that of a few records in a category: from this n on, one that hardly falls is not followed.

Where ε is below 1, from as many times 1/ε²: the noise, 1/ε, outweighs the posterior's own width, the root of n, before that."""


def _maker(chosen: str | Maker) -> tuple[str, Maker]:
    """A mechanism by any name that `mechanism` reads, or a class or function of (prior, n, epsilon)."""
    if isinstance(chosen, str):
        return chosen, partial(mechanism, chosen)
    return getattr(chosen, "__name__", str(chosen)), chosen


def plan(
    prior: Prior,
    target_error: float,
    *,
    n: int | None = None,
    epsilon: Number | None = None,
    mechanism: str | Maker = "LatticeGeometric",
    over: Literal["predictive", "worst"] = "predictive",
    public: Public = "total",
    distance: Distance = hellinger,
    progress: Progress | None = None,
) -> Plan:
    """The ε (given n) or the n (given ε) at which this mechanism's mean error reaches the target. Public: no data are looked at.

    `mechanism` is a name, also wrapped as in "Remapped(LatticeGeometric)", or a class. ε is the least to three significant digits; n is
    the least from which the error falls below the target and, at every n tried on the way up, stays there (it can rise first while the
    prior outweighs the data). By bracketing computed mean errors; where those are simulated, the answer is as exact as they are: see
    `error.standard_error`. A worst-case error does not fall to 0 as n grows, since a category with a record or two stays as hard as it
    was: plan ε for it.

    With `public="nothing"` n stays private, and the n given or found is a guess that must not come from the data.
    """
    if (n is None) == (epsilon is None):
        raise InvalidInputError("give either n, to find epsilon, or epsilon, to find n")
    target = float(check_positive(target_error, "target_error"))
    if distance is hellinger and target >= 1.0:
        raise InvalidInputError(
            f"target_error must be below 1, the largest Hellinger distance, got {target:g}; 0.05 is hard to see in a plot"
        )
    name, make = _maker(mechanism)
    known, tried = check_public(public), 0

    def made(records: int, level: Fraction) -> Mechanism:
        return make(prior, records if known == "total" else None, level)

    def error_at(records: int, level: Fraction) -> ExpectedError:
        nonlocal tried
        tried += 1
        if progress is not None:
            progress(tried, 0, f"n = {records}, ε = {float(level):g}")
        return planning_error(made(records, level), records, over, distance)

    if n is not None:
        records = check_records(n)
        level, error = _least_epsilon(lambda candidate: error_at(records, candidate), target)
        return Plan(name, target, records, level, error, over, "epsilon", known)
    level = check_positive(epsilon, "epsilon")
    # Averaged over the predictive, the error of noise that does not depend on the data falls to 0 in the end, however late that begins.
    falls = over == "predictive" and made(1, level).noise is not None
    level_from = inf if falls else _LEVEL_FROM * max(1.0, float(level) ** -2)
    doubled_to = 1 if falls and prior.k > _MANY_CATEGORIES else _DOUBLED_TO
    records, error = _least_records(lambda candidate: error_at(candidate, level), target, level_from, doubled_to)
    return Plan(name, target, records, level, error, over, "n", known)


def _rounded_up(value: Fraction) -> Fraction:
    """The value rounded up to a decimal of `_DIGITS` significant digits, which prints as what it is."""
    return ceil(value / _unit(value)) * _unit(value)


def _unit(value: Fraction) -> Fraction:
    """One in the last of the `_DIGITS` significant digits."""
    return Fraction(10) ** (floor(log10(value)) - _DIGITS + 1)


def _least_epsilon(error_at: Callable[[Fraction], ExpectedError], target: float) -> tuple[Fraction, ExpectedError]:
    low: tuple[Fraction, ExpectedError] | None = None
    high = (Fraction(1), error_at(Fraction(1)))
    while high[1] > target:
        if high[0] * _EPSILON_STEP > _LARGEST_EPSILON:
            raise InvalidInputError(
                f"the error stays at {float(high[1]):.4g} however large epsilon is; aim for a larger error, or use more records"
            )
        low, high = high, (high[0] * _EPSILON_STEP, error_at(high[0] * _EPSILON_STEP))
    while low is None and high[0] / _EPSILON_STEP >= _SMALLEST_EPSILON:
        smaller = _rounded_up(high[0] / _EPSILON_STEP)
        found = error_at(smaller)
        if found > target:
            low = (smaller, found)
        else:
            high = (smaller, found)
    return high if low is None else _narrowed(error_at, target, low, high, _rounded_up, _unit)


def _least_records(
    error_at: Callable[[int], ExpectedError], target: float, level_from: float, doubled_to: int
) -> tuple[int, ExpectedError]:
    tried = [(1, error_at(1))]
    while len(tried) < 2 or not (tried[-1][1] <= target and tried[-1][1] < tried[-2][1]):
        n, error = tried[-1]
        following = n * (2 if n < doubled_to else _RECORDS_STEP)
        level = n >= level_from and error > target and abs(error - tried[-3][1]) <= _LEVEL * error
        if level or following > limits.PLANNED_RECORDS:
            ends = "levels off at" if level else "is still"
            raise InvalidInputError(f"the error {ends} {float(error):.4g} at n = {n}; aim for a larger error, or use a larger epsilon")
        tried.append((following, error_at(following)))
    above = [i for i, (_, error) in enumerate(tried) if error > target]
    if not above:
        return tried[0]
    return _narrowed(error_at, target, tried[above[-1]], tried[above[-1] + 1], ceil, lambda _: 1)


def _narrowed(
    error_at: Callable[[Value], ExpectedError],
    target: float,
    low: tuple[Value, ExpectedError],
    high: tuple[Value, ExpectedError],
    rounded: Callable[[Fraction], Value],
    unit: Callable[[Value], Value],
) -> tuple[Value, ExpectedError]:
    """Between a value that misses the target and one that meets it: the least that does, with its error, among the rounded values.

    The next value is where a straight line of logarithms meets the target; where that shortens the bracket too little, its middle.
    """
    halve = False
    while (middle := rounded(Fraction(low[0] + high[0]) / 2)) < high[0] and middle > low[0]:
        width, following = high[0] - low[0], middle
        if not halve:
            guess = rounded(_crossing(low, high, target))
            following = min(max(guess, low[0] + unit(low[0])), high[0] - unit(high[0]))
            following = following if low[0] < following < high[0] else middle
        found = error_at(following)
        low, high = ((following, found), high) if found > target else (low, (following, found))
        halve = not halve and 4 * (high[0] - low[0]) > width
    return high


def _crossing(low: tuple[Value, ExpectedError], high: tuple[Value, ExpectedError], target: float) -> Fraction:
    """Where the straight line through the logarithms of two values and their errors meets the target; the middle where there is none."""
    top, bottom = float(low[1]), float(high[1])
    if not (bottom > 0.0 and top < inf):
        return Fraction(low[0] + high[0]) / 2
    part = log(top / target) / log(top / bottom)
    return Fraction(float(low[0]) * (float(high[0]) / float(low[0])) ** part)
