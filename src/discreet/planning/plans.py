"""The ε or the n that a goal asks for: functions of public parameters, so planning by them costs no privacy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from math import ceil, inf
from typing import Any, Literal

from discreet import limits
from discreet.analysis.dataset_errors import Distance
from discreet.analysis.error_laws import ExpectedError, planning_error
from discreet.errors import InvalidInputError
from discreet.mechanisms import Mechanism
from discreet.model.dirichlet import Prior
from discreet.model.distances import hellinger
from discreet.numerics.roots import bracket, narrowed, rounded_up, unit
from discreet.planning.comparison import PUBLIC_CHOICE, PUBLIC_GUESS, Maker, maker
from discreet.planning.pooled_widths import pooled_question
from discreet.planning.width_plans import WidthPlan, WidthQuestion, plan_width, width_given
from discreet.progress import Progress
from discreet.text import html_fields
from discreet.validation import Number, Public, check_positive, check_public, check_records


@dataclass(frozen=True)
class Plan:
    """A plan for a target error."""

    mechanism: str
    target_error: float
    n: int
    epsilon: Fraction
    error: ExpectedError
    """The mean error with this n and ε."""
    over: Literal["predictive", "worst"]
    sought: Literal["epsilon", "n"]
    """The quantity that was looked for; the other was given."""
    public: Public = "total"
    """The part of the data that is public beside the categories: n, or nothing; then n is a guess."""

    @property
    def choice(self) -> str:
        """The reason why choosing by the plan is public."""
        return PUBLIC_CHOICE if self.public == "total" else PUBLIC_GUESS

    def to_dict(self) -> dict[str, Any]:
        """The plan as a dictionary of plain values."""
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
"""The factor from one ε to the next that is tried in search of a bracket: the error is nearly a power of ε over long ranges."""
_DIGITS = 3  # significant digits of the ε that is found
_DOUBLED_TO, _ERROR_RECORDS_STEP = 1024, 4
"""While the prior may outweigh the data n is doubled; beyond, this many times as many records are tried next."""
_MANY_CATEGORIES = 20
"""The categories beyond which n is not doubled: every error is then a slow simulation."""
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
    pooled: int | None = None,
    expect_strength: Number | None = None,
    distance: Distance = hellinger,
    progress: Progress | None = None,
) -> WidthPlan | Plan:
    """Find the least ε (given n) or the least n (given ε) for a goal, without data.

    Args:
        prior, n, epsilon: public; n or ε is found if it is left out. Without a goal both are given, and the answer says what they give.
        width, price, error: the goal, at most one: the full width of the published 95 % intervals, in probability (0.04 is four points);
            how many times as wide as without privacy they may be (1.1); the papers' mean Hellinger error of the reported posterior.
        mechanism: a name, also wrapped as in "Remapped(LatticeGeometric)", or a class.
        expect: guessed shares that the data are expected to have, in place of the prior predictive; never from the data.
        worst: the width of the widest category, not the average; the error at the worst dataset, which does not fall to 0 as n grows.
        public: "nothing" keeps n private; the n given or found is then a guess. Plan one group of a table with the n of that group; if the
            total of the table alone is public, with "nothing" and half the table's ε.
        pooled: so many groups of n records each are read together (docs/howto/pooling.md); n is public, or with "nothing" a guess.
        expect_strength: how alike these groups are guessed to be, as so many records that all share; otherwise as the prior of readers
            says. Never from the data.

    Returns a `WidthPlan`, or for `error` a `Plan`. Where widths are simulated the answer is a bracket, and the ε given is its upper end.
    """
    known, records = check_public(public), None if n is None else check_records(n)
    level = None if epsilon is None else check_positive(epsilon, "epsilon")
    chosen = maker(mechanism)
    ask = WidthQuestion(*chosen, prior, known, expect, worst, progress)
    if pooled is not None:
        if error is not None:
            raise InvalidInputError("pooled is for a width or a price; an error is that of one release: leave pooled out")
        ask = pooled_question(ask, pooled, expect_strength)
    elif expect_strength is not None:
        raise InvalidInputError("expect_strength is about groups that are read together: give pooled, the number of groups")
    if width is price is error is None and records is not None and level is not None:
        return width_given(ask, records, level)
    goal, target = _goal({"width": width, "price": price, "error": error})
    if (n is None) == (epsilon is None):
        raise InvalidInputError("give either n, to find epsilon, or epsilon, to find n; or both and no goal, to see what they give")
    if goal != "error":
        return plan_width(ask, goal, target, records, level)
    if expect is not None:
        raise InvalidInputError("expect is for a width or a price; an error is averaged over the prior predictive: leave expect out")
    asked = _ErrorQuestion(*chosen, prior, known, "worst" if worst else "predictive", distance, progress)
    return asked.plan(target, records, level)


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


@dataclass(frozen=True)
class _ErrorQuestion:
    """The mean error of a mechanism as a function of n and ε."""

    name: str
    make: Maker
    prior: Prior
    public: Public
    over: Literal["predictive", "worst"]
    distance: Distance
    progress: Progress | None

    def made(self, records: int, level: Fraction) -> Mechanism:
        return self.make(self.prior, records if self.public == "total" else None, level)

    def error(self, records: int, level: Fraction) -> ExpectedError:
        if self.progress is not None:
            self.progress(0, 0, f"n = {records}, ε = {float(level):g}")
        return planning_error(self.made(records, level), records, self.over, self.distance)

    def plan(self, target: float, n: int | None, epsilon: Fraction | None) -> Plan:
        """The ε or the n at which the mean error reaches the target.

        ε is the least to three significant digits; n is the least from which the error falls below the target and, at every n tried on
        the way up, stays there (it can rise first while the prior outweighs the data). By bracketing computed mean errors; where those
        are simulated, the answer is as exact as they are.
        """
        if self.distance is hellinger and target >= 1.0:
            raise InvalidInputError(f"error must be below 1, the largest Hellinger distance, got {target:g}; 0.05 is hard to see in a plot")
        if n is not None:
            level, error = _least_epsilon(lambda candidate: self.error(n, candidate), target)
            return Plan(self.name, target, n, level, error, self.over, "epsilon", self.public)
        level = epsilon or Fraction(1)
        # Averaged over the predictive, the error of noise that does not depend on the data falls to 0 in the end, however late that begins.
        falls = self.over == "predictive" and self.made(1, level).noise is not None
        level_from = inf if falls else _LEVEL_FROM * max(1.0, float(level) ** -2)
        doubled_to = 1 if falls and self.prior.k > _MANY_CATEGORIES else _DOUBLED_TO
        records, error = _least_records(lambda candidate: self.error(candidate, level), target, level_from, doubled_to)
        return Plan(self.name, target, records, level, error, self.over, "n", self.public)


def _least_epsilon(error_at: Callable[[Fraction], ExpectedError], target: float) -> tuple[Fraction, ExpectedError]:
    def larger(level: Fraction, error: ExpectedError) -> Fraction:
        if level * _ERROR_EPSILON_STEP > _LARGEST_ERROR_EPSILON:
            raise InvalidInputError(
                f"the error stays at {float(error):.4g} however large epsilon is; aim for a larger error, or use more records"
            )
        return level * _ERROR_EPSILON_STEP

    def smaller(level: Fraction) -> Fraction | None:
        return rounded_up(level / _ERROR_EPSILON_STEP, _DIGITS) if level / _ERROR_EPSILON_STEP >= _SMALLEST_ERROR_EPSILON else None

    low, high = bracket(error_at, target, Fraction(1), larger, smaller)
    rounded, step = partial(rounded_up, digits=_DIGITS), partial(unit, digits=_DIGITS)
    return high if low is None else narrowed(error_at, target, low, high, rounded, step)


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
