"""The ε or the n with which the published intervals are as narrow as wanted: functions of public numbers (docs/howto/planning.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any, Literal

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.mechanisms import Mechanism
from discreet.model.dirichlet import Beta, Dirichlet, Prior
from discreet.numerics.roots import bracket, narrowed, rounded_up, unit
from discreet.planning.comparison import PUBLIC_CHOICE, PUBLIC_GUESS, Maker, points
from discreet.planning.expected_widths import Believed, ExpectedWidth, plain_width, width_of
from discreet.progress import Progress
from discreet.text import html_fields
from discreet.validation import Number, Public

_EXACT_DIGITS, _SIMULATED_DIGITS = 3, 2
"""Significant digits of what is found: as many as the method knows."""
SEARCHED = 0.4
"""A search, and each point of a curve, simulates so much less than the width that is given in the end."""
_LOOKED_AT = 0.15
"""The precision, against that of a search, of the simulation for a given n and ε: it answers while someone moves a slider."""
_SMALLEST_EPSILON, _LARGEST_EPSILON, _EPSILON_STEP = Fraction(1, 10**9), Fraction(50), 6
_RECORDS_STEP = 4
_GUESSES = 6
_QUADRATURE, _NOT_SEEN = 4e-5, 1e-3
"""Error of an integrated width, relative to it, and of W² - W₀² that three digits of ε allow."""
_SURE = 2.0
"""Standard errors on either side that a bracket allows for."""
_RESOLVED = 1e-4
"""Widths nearer to that without privacy than this part of it are not told apart."""


@dataclass(frozen=True)
class WidthPlan:
    """A plan for a target width of the published 95 % intervals."""

    mechanism: str
    goal: Literal["width", "price"] | None
    """The goal: a width, or how many times as wide as without privacy the intervals may be; None if n and ε were given."""
    target: float | None
    n: int
    epsilon: Fraction
    width: ExpectedWidth
    """The expected width with this n and ε."""
    plain: ExpectedWidth
    """The expected width without privacy, with this n."""
    bracket: tuple[float, float] | None
    """The interval, of two standard errors, of the least ε (or n) if the width is simulated. The one given is its upper end, rounded up."""
    over: Literal["average", "worst"]
    """Whether the width is averaged over the categories or that of the widest."""
    sought: Literal["epsilon", "n"] | None
    """The quantity that was looked for, where the other was given; None if both were given, to see what they are worth."""
    expect: tuple[float, ...] | None = None
    """Guessed shares; None: data come from the prior predictive."""
    public: Public = "total"
    """The part of the data that is public beside the categories: n, or nothing; then n is a guess."""
    pooled: int | None = None
    """The number of groups, of n records each, that are read together."""
    alone: ExpectedWidth | None = None
    """The expected width if each of these groups is read by itself."""

    @property
    def noise_alone(self) -> float:
        """The width that the noise would have by itself: uncertainties add up as squares, so it is √(W² - W₀²)."""
        return sqrt(max(0.0, float(self.width) ** 2 - float(self.plain) ** 2))

    @property
    def choice(self) -> str:
        """The reason why choosing by the plan is public."""
        return (PUBLIC_CHOICE if self.public == "total" else PUBLIC_GUESS).replace("errors", "widths")

    @property
    def sentence(self) -> str:
        """The plan in one sentence for a manager."""
        records = f"{self.n:,} records" + (" (a guess)" if self.public == "nothing" and self.sought != "n" else "")
        together = "" if self.pooled is None else f" in each of {self.pooled:,} groups that are read together"
        kind = "intervals" if self.over == "average" else "widest intervals"
        alone = "" if self.alone is None else f", and {points(self.alone)} if each group is read by itself"
        return (
            f"With ε = {float(self.epsilon):g} and {records}{together} the {kind} will be about {points(self.width)} points wide; "
            f"without privacy {points(self.plain)}{alone}."
        )

    @property
    def precision(self) -> str:
        """The way in which the answer was found, and how far it may be off."""
        if self.sought is None:
            off = f", ± {100.0 * self.width.standard_error:.2g} points" if self.width.standard_error else ""
            return f"Found by {self.width.method}{off}."
        if self.bracket is None:
            return f"Found by {self.width.method}: three digits of {'ε' if self.sought == 'epsilon' else 'n'} are right."
        name, digits = ("ε", ".3g") if self.sought == "epsilon" else ("n", ",.0f")
        low, high = (format(end, digits) for end in self.bracket)
        shown = f"{name} = {low}" if low == high else f"{name} from {low} to {high}"
        return f"Found by {self.width.method}, width ± {100.0 * self.width.standard_error:.2g} points: the least is {shown}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        names = ("mechanism", "goal", "target", "n", "over", "sought", "public")
        numbers = {"epsilon": float(self.epsilon), "width": float(self.width), "width_without_privacy": float(self.plain)}
        found = {"method": self.width.method, "standard_error": self.width.standard_error, "price": self.width / self.plain}
        rest = {"bracket": self.bracket, "expect": self.expect}
        pooled = {} if self.alone is None else {"pooled": self.pooled, "width_by_itself": float(self.alone)}
        return {name: getattr(self, name) for name in names} | numbers | found | rest | pooled

    def _repr_html_(self) -> str:
        fields = {
            "n": f"{self.n:,}",
            "ε": f"{float(self.epsilon):g}",
            "width of 95 % intervals": f"{points(self.width)} points",
            "without privacy": f"{points(self.plain)} points",
        }
        asked = {"epsilon": "the ε that a", "n": "the n that a", None: "what n and ε give"}[self.sought]
        goal = "" if self.goal is None else f" {self.goal} of {self.target:g} asks for"
        return html_fields(f"{self.mechanism}: {asked}{goal}", fields, self.sentence, self.precision, self.choice)

    def __str__(self) -> str:
        return f"{self.sentence} {self.precision} {self.choice}"


@dataclass(frozen=True)
class WidthQuestion:
    """The width of a mechanism as a function of n and ε."""

    name: str
    make: Maker
    prior: Prior
    public: Public
    expect: Sequence[Number] | None
    worst: bool
    progress: Progress | None
    groups: int | None = None
    """The number of groups, of n records each, that are read together."""

    @property
    def over(self) -> Literal["average", "worst"]:
        """Return which of the categories' widths is meant."""
        return "worst" if self.worst else "average"

    def made(self, n: int, epsilon: Fraction) -> Mechanism:
        return self.make(self.prior, n if self.public == "total" else None, epsilon)

    def width(self, n: int, epsilon: Fraction, effort: float = 1.0, *, coarse: bool = False) -> ExpectedWidth:
        if self.progress is not None:
            self.progress(0, 0, f"n = {n}, ε = {float(epsilon):g}")
        return width_of(self.made(n, epsilon), Believed.of(self.prior, n, self.expect), worst=self.worst, effort=effort, coarse=coarse)

    def plain(self, n: int) -> ExpectedWidth:
        return plain_width(Believed.of(self.prior, n, self.expect), worst=self.worst)

    def shares(self, n: int) -> tuple[float, ...] | None:
        """The guessed shares, if there are any, which add up to 1."""
        return None if self.expect is None else tuple(float(s) for s in Believed.of(self.prior, n, self.expect).shares or ())

    def alone(self, n: int, epsilon: Fraction) -> ExpectedWidth | None:  # noqa: ARG002
        """Return the width in a group that is read by itself, where groups are read together."""
        return None

    def prior_width(self) -> float:
        """The width of the intervals of the prior itself."""
        law = Dirichlet(self.prior.exact)
        found = [_interval(law.marginal(c)) for c in law.categories] if law.k <= _FEW else [_interval(law.marginal(law.categories[0]))]
        return max(found) if self.worst else sum(found) / len(found)


_FEW = 100


def _interval(marginal: Beta) -> float:
    low, high = marginal.interval()
    return high - low


def plan_width(ask: WidthQuestion, goal: Literal["width", "price"], target: float, n: int | None, epsilon: Fraction | None) -> WidthPlan:
    """The least ε (given n) or the least n (given ε) for a target width, or for a width so many times that without privacy."""
    found = _least_epsilon(ask, goal, target, n) if n is not None else _least_records(ask, goal, target, epsilon or Fraction(1))
    records, level, bracket = found
    return WidthPlan(
        ask.name,
        goal,
        target,
        records,
        level,
        ask.width(records, level),
        ask.plain(records),
        bracket,
        ask.over,
        "epsilon" if n is not None else "n",
        ask.shares(records),
        ask.public,
        ask.groups,
        ask.alone(records, level),
    )


def width_given(ask: WidthQuestion, n: int, epsilon: Fraction) -> WidthPlan:
    """The width that an n and an ε give."""
    width, plain = ask.width(n, epsilon, _LOOKED_AT, coarse=True), ask.plain(n)
    pooled = ask.groups, ask.alone(n, epsilon)
    return WidthPlan(ask.name, None, None, n, epsilon, width, plain, None, ask.over, None, ask.shares(n), ask.public, *pooled)


def _least_epsilon(
    ask: WidthQuestion, goal: Literal["width", "price"], target: float, n: int
) -> tuple[int, Fraction, tuple[float, float] | None]:
    plain = ask.plain(n)
    wanted = target if goal == "width" else target * float(plain)
    if wanted <= plain * (1.0 + _RESOLVED):
        raise InvalidInputError(_too_narrow(ask, wanted, plain, n))
    if wanted >= ask.prior_width():
        raise InvalidInputError(
            f"the prior alone gives intervals {points(ask.prior_width())} points wide, so {points(wanted)} points need no data; "
            "aim for narrower ones"
        )
    known: dict[Fraction, ExpectedWidth] = {}

    def excess(level: Fraction) -> float:
        """W² - W₀², which is nearly a power of ε."""
        known[level] = ask.width(n, level, SEARCHED)
        return float(known[level]) ** 2 - float(plain) ** 2

    aim = wanted**2 - float(plain) ** 2
    level = rounded_up(Fraction(min(max(8.0 / (n * aim**0.5), float(_SMALLEST_EPSILON)), float(_LARGEST_EPSILON))), _SIMULATED_DIGITS)

    def larger(value: Fraction, _: float) -> Fraction:
        if value * _EPSILON_STEP > _LARGEST_EPSILON:
            raise InvalidInputError("no ε up to 50 gives intervals that narrow; aim for wider ones, or use more records")
        return rounded_up(value * _EPSILON_STEP, _SIMULATED_DIGITS)

    def smaller(value: Fraction) -> Fraction | None:
        return rounded_up(value / _EPSILON_STEP, _SIMULATED_DIGITS) if value / _EPSILON_STEP >= _SMALLEST_EPSILON else None

    low, high = bracket(excess, aim, level, larger, smaller)
    if low is None:
        raise InvalidInputError("an ε below 1e-9 gives intervals that narrow; aim for narrower ones, or use fewer records")
    digits = _SIMULATED_DIGITS if known[level].method == "simulation" else _EXACT_DIGITS
    best = narrowed(excess, aim, low, high, lambda value: rounded_up(value, digits), lambda value: unit(value, digits))
    final = ask.width(n, best[0])
    off = _QUADRATURE if final.method == "quadrature" else 0.0
    if final.method != "simulation" and off * wanted**2 < _NOT_SEEN * aim:
        return n, best[0], None
    return n, *_allowing(best[0], final, wanted, float(plain))


def _allowing(level: Fraction, width: ExpectedWidth, wanted: float, plain: float) -> tuple[Fraction, tuple[float, float]]:
    """The ε that allows for the simulation's error, and both ends of where the least lies: W² - W₀² is about a power -2 of ε there."""
    error = max(width.standard_error, _QUADRATURE * float(width))
    excess, aim, off = width**2 - plain**2, wanted**2 - plain**2, _SURE * 2.0 * float(width) * error
    nearest = float(level) * (max(excess, 0.02 * aim) / aim) ** 0.5
    relative = min(off / aim, 0.9)
    low, high = nearest * (1.0 - relative) ** 0.5, nearest / (1.0 - relative) ** 0.5
    ends = min(low, float(level)), max(high, nearest)
    return rounded_up(Fraction(ends[1]), _SIMULATED_DIGITS), ends


def _too_narrow(ask: WidthQuestion, wanted: float, plain: ExpectedWidth, n: int) -> str:
    """Return the advice about a width that there would not be without privacy either."""
    prior, guess, width = float(ask.prior.concentration.sum()), float(n), float(plain)
    for _ in range(_GUESSES):  # the square of a width is about one over the records and those that the prior stands for
        guess = max((prior + guess) * (width / wanted) ** 2 - prior, 1.0)
        width = float(ask.plain(min(round(guess), limits.COUNT)))
    enough = f"n = {rounded_up(Fraction(guess), 2).__ceil__():,} would give it" if guess < limits.COUNT else "no n that can be had gives it"
    return (
        f"without privacy the intervals of n = {n:,} records are already {points(plain)} points wide, so {points(wanted)} points "
        f"cannot be had with any ε; without privacy {enough}"
    )


def _least_records(
    ask: WidthQuestion, goal: Literal["width", "price"], target: float, epsilon: Fraction
) -> tuple[int, Fraction, tuple[float, float] | None]:
    known: dict[int, ExpectedWidth] = {}

    def value(n: int) -> float:
        """The width, or the square of the price less 1: both are nearly powers of n."""
        known[n] = ask.width(n, epsilon, SEARCHED)
        return float(known[n]) if goal == "width" else max((known[n] / ask.plain(n)) ** 2 - 1.0, 1e-12)

    aim = target if goal == "width" else target**2 - 1.0
    if goal == "width" and target >= ask.prior_width():
        raise InvalidInputError(f"the prior alone gives intervals {points(ask.prior_width())} points wide; aim for narrower ones")
    n = rounded_up(Fraction(1.0 / target**2 if goal == "width" else 8.0 / (float(epsilon) ** 2 * aim)), 2).__ceil__()
    n = min(max(n, 1), limits.PLANNED_RECORDS)

    def larger(number: int, _: float) -> int:
        if number * _RECORDS_STEP > limits.PLANNED_RECORDS:
            raise InvalidInputError(f"the intervals are still {points(known[number])} points wide at n = {number:,}; aim for wider ones")
        return number * _RECORDS_STEP

    below, here = bracket(value, aim, n, larger, lambda number: max(1, number // _RECORDS_STEP) if number > 1 else None)
    if below is None:
        return here[0], epsilon, None
    digits = _SIMULATED_DIGITS if known[here[0]].method == "simulation" else _EXACT_DIGITS

    def whole(number: Fraction | int) -> int:
        return rounded_up(Fraction(number), digits).__ceil__()

    best = narrowed(value, aim, below, here, whole, lambda number: max(1, int(unit(Fraction(number), digits))))
    width = ask.width(best[0], epsilon)
    if width.method != "simulation":
        return best[0], epsilon, None
    steep = log(below[1] / here[1]) / log(here[0] / below[0])
    reference = float(width) if goal == "width" else max((width / ask.plain(best[0])) ** 2 - 1.0, 1e-12)
    off = width.standard_error if goal == "width" else 2.0 * width.standard_error * float(width) / float(ask.plain(best[0])) ** 2
    nearest = best[0] * (reference / aim) ** (1.0 / max(steep, 0.1))
    factor = exp(min(_SURE * off / aim / max(steep, 0.1), 1.0))
    ends = min(nearest / factor, float(best[0])), nearest * factor
    return max(whole(Fraction(ends[1])), 1), epsilon, ends
