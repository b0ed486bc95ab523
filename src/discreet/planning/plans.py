"""The ε or the n that a goal asks for: functions of public parameters, so planning by them costs no privacy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil, inf
from typing import Any, Literal

from discreet import limits
from discreet.analysis.dataset_errors import Distance
from discreet.analysis.error_laws import ExpectedError, planning_error
from discreet.errors import InvalidInputError
from discreet.mechanisms import Mechanism
from discreet.model.distances import hellinger
from discreet.planning.comparison import PUBLIC_CHOICE, PUBLIC_GUESS, Maker, Prior, maker
from discreet.planning.search import narrowed, rounded_up, unit
from discreet.planning.width_plans import WidthPlan, WidthQuestion, plan_width, width_given
from discreet.progress import Progress
from discreet.text import html_fields
from discreet.validation import Number, Public, check_positive, check_public, check_records


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

    def _repr_html_(self) -> str:
        fields = {
            "n": f"{self.n:,}",
            "ε": f"{float(self.epsilon):g}",
            "mean error": repr(self.error),
            "asked for": f"{self.target_error:g}",
        }
        sought = {"epsilon": "ε", "n": "n"}[self.sought]
        return html_fields(f"{self.mechanism}: the {sought} that an error asks for", fields, str(self))

    def __str__(self) -> str:
        records = f"n = {self.n}{' (a guess)' if self.public == 'nothing' and self.sought == 'epsilon' else ''}"
        level = f"ε = {float(self.epsilon):g}"
        given, need = (records, level) if self.sought == "epsilon" else (level, records)
        kind = "mean error over the prior predictive" if self.over == "predictive" else "worst-case mean error"
        return f"{self.mechanism} with {given} needs {need} for a {kind} of {self.target_error:g}: it is {self.error!r}. {self.choice}"


_SMALLEST_ERROR_EPSILON, _LARGEST_ERROR_EPSILON = Fraction(1, 2**40), Fraction(1024)
_ERROR_EPSILON_STEP = 8
"""From one ε to the next that is tried in search of a bracket: the error is nearly a power of ε over long ranges."""
_DIGITS = 3  # significant digits of the ε that is found
_DOUBLED_TO, _ERROR_RECORDS_STEP = 1024, 4
"""While the prior may outweigh the data n is doubled; beyond, this many times as many records are tried next."""
_MANY_CATEGORIES = 20
"""With more, every error is a simulation that takes a while, and the first thousands of records drown in the noise."""
_LEVEL_FROM, _LEVEL = 1024, 0.005
"""A worst-case error tends to a limit, that of a few records in a category: from this n on, one that hardly falls is not followed.

Where ε is below 1, from as many times 1/ε²: the noise, 1/ε, outweighs the posterior's own width, the root of n, before that."""


def plan(
    prior: Prior,
    *,
    n: int | None = None,
    epsilon: Number | None = None,
    width: Number | None = None,
    price: Number | None = None,
    error: Number | None = None,
    mechanism: str | Maker = "LatticeGeometric",
    expect: Sequence[Number] | None = None,
    worst: bool = False,
    public: Public = "total",
    distance: Distance = hellinger,
    progress: Progress | None = None,
) -> WidthPlan | Plan:
    """The least ε (given n) or the least n (given ε) for a goal. Public: no data are looked at.

    The goal is one of: `width`, the expected full width of the published 95 % intervals, in probability (0.04 is four points); `price`,
    how many times as wide as without privacy they may be (1.1); `error`, the papers' mean Hellinger distance from the true posterior to
    the reported one. The first two give a `WidthPlan`, the last a `Plan`. Without a goal and with both n and ε the `WidthPlan` says what
    these give; where that is simulated, it is with fewer draws than `expected_width` takes, so that it answers at once.

    A width is averaged over the categories, or with `worst` that of the widest one, and is expected over the prior predictive or, with
    `expect`, over data with these shares, a guess that must not come from the data. Where it is simulated the answer is a bracket, and
    the ε given is its upper end. An error is a mean over the prior predictive or, with `worst`, at the worst dataset, which does not fall
    to 0 as n grows: plan ε for it. `mechanism` is a name, also wrapped as in "Remapped(LatticeGeometric)", or a class.

    With `public="nothing"` n stays private, and the n given or found is a guess that must not come from the data. Plan for one group of a
    table with the n of that group; if the total of the table alone is public, with `public="nothing"` and half the table's ε.
    """
    known, records = check_public(public), None if n is None else check_records(n)
    level = None if epsilon is None else check_positive(epsilon, "epsilon")
    chosen = maker(mechanism)
    ask = WidthQuestion(*chosen, prior, known, expect, worst, progress)
    if width is price is error is None and records is not None and level is not None:
        return width_given(ask, records, level)
    goal, target = _goal({"width": width, "price": price, "error": error})
    if (n is None) == (epsilon is None):
        raise InvalidInputError("give either n, to find epsilon, or epsilon, to find n; or both and no goal, to see what they give")
    if goal != "error":
        return plan_width(ask, goal, target, records, level)
    if expect is not None:
        raise InvalidInputError("expect is for a width or a price; an error is averaged over the prior predictive: leave expect out")
    return _plan_error(chosen, prior, target, records, level, "worst" if worst else "predictive", known, distance, progress)


def _goal(goals: dict[Literal["width", "price", "error"], Number | None]) -> tuple[Literal["width", "price", "error"], float]:
    """The one goal that is given, and its value."""
    given = [(name, value) for name, value in goals.items() if value is not None]
    if len(given) != 1:
        many = f"got {' and '.join(name for name, _ in given)}" if given else "got none"
        raise InvalidInputError(
            f"give one goal: width=0.04 (four points), price=1.1 (10 % wider than without privacy) or error=0.05; {many}"
        )
    [(goal, value)] = given
    target = float(check_positive(value, goal))
    if goal == "width" and target >= 1.0:
        raise InvalidInputError(
            f"width must be below 1, the whole range of a probability, got {target:g}; four points are 0.04, or 4% in the shell"
        )
    if goal == "price" and target <= 1.0:
        raise InvalidInputError(f"price must be above 1, such as 1.1 for intervals 10 % wider than without privacy, got {target:g}")
    return goal, target


def _plan_error(
    chosen: tuple[str, Maker],
    prior: Prior,
    target: float,
    n: int | None,
    epsilon: Fraction | None,
    over: Literal["predictive", "worst"],
    public: Public,
    distance: Distance,
    progress: Progress | None,
) -> Plan:
    """The ε or the n at which the mean error reaches the target.

    ε is the least to three significant digits; n is the least from which the error falls below the target and, at every n tried on the
    way up, stays there (it can rise first while the prior outweighs the data). By bracketing computed mean errors; where those are
    simulated, the answer is as exact as they are.
    """
    if distance is hellinger and target >= 1.0:
        raise InvalidInputError(f"error must be below 1, the largest Hellinger distance, got {target:g}; 0.05 is hard to see in a plot")
    name, make = chosen
    tried = 0

    def made(records: int, level: Fraction) -> Mechanism:
        return make(prior, records if public == "total" else None, level)

    def error_at(records: int, level: Fraction) -> ExpectedError:
        nonlocal tried
        tried += 1
        if progress is not None:
            progress(tried, 0, f"n = {records}, ε = {float(level):g}")
        return planning_error(made(records, level), records, over, distance)

    if n is not None:
        level, error = _least_epsilon(lambda candidate: error_at(n, candidate), target)
        return Plan(name, target, n, level, error, over, "epsilon", public)
    level = epsilon or Fraction(1)
    # Averaged over the predictive, the error of noise that does not depend on the data falls to 0 in the end, however late that begins.
    falls = over == "predictive" and made(1, level).noise is not None
    level_from = inf if falls else _LEVEL_FROM * max(1.0, float(level) ** -2)
    doubled_to = 1 if falls and prior.k > _MANY_CATEGORIES else _DOUBLED_TO
    records, error = _least_records(lambda candidate: error_at(candidate, level), target, level_from, doubled_to)
    return Plan(name, target, records, level, error, over, "n", public)


def _least_epsilon(error_at: Callable[[Fraction], ExpectedError], target: float) -> tuple[Fraction, ExpectedError]:
    low: tuple[Fraction, ExpectedError] | None = None
    high = (Fraction(1), error_at(Fraction(1)))
    while high[1] > target:
        if high[0] * _ERROR_EPSILON_STEP > _LARGEST_ERROR_EPSILON:
            raise InvalidInputError(
                f"the error stays at {float(high[1]):.4g} however large epsilon is; aim for a larger error, or use more records"
            )
        low, high = high, (high[0] * _ERROR_EPSILON_STEP, error_at(high[0] * _ERROR_EPSILON_STEP))
    while low is None and high[0] / _ERROR_EPSILON_STEP >= _SMALLEST_ERROR_EPSILON:
        smaller = rounded_up(high[0] / _ERROR_EPSILON_STEP, _DIGITS)
        found = error_at(smaller)
        if found > target:
            low = (smaller, found)
        else:
            high = (smaller, found)
    return (
        high
        if low is None
        else narrowed(error_at, target, low, high, lambda value: rounded_up(value, _DIGITS), lambda value: unit(value, _DIGITS))
    )


def _least_records(
    error_at: Callable[[int], ExpectedError], target: float, level_from: float, doubled_to: int
) -> tuple[int, ExpectedError]:
    tried = [(1, error_at(1))]
    while len(tried) < 2 or not (tried[-1][1] <= target and tried[-1][1] < tried[-2][1]):
        n, error = tried[-1]
        following = n * (2 if n < doubled_to else _ERROR_RECORDS_STEP)
        level = n >= level_from and error > target and abs(error - tried[-3][1]) <= _LEVEL * error
        if level or following > limits.PLANNED_RECORDS:
            ends = "levels off at" if level else "is still"
            raise InvalidInputError(f"the error {ends} {float(error):.4g} at n = {n}; aim for a larger error, or use a larger epsilon")
        tried.append((following, error_at(following)))
    above = [i for i, (_, error) in enumerate(tried) if error > target]
    if not above:
        return tried[0]
    return narrowed(error_at, target, tried[above[-1]], tried[above[-1] + 1], ceil, lambda _: 1)
