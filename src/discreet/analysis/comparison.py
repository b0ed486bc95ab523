"""Every mechanism side by side, and the ε or n that a target error asks for.

Both look at errors averaged over the prior predictive or at the worst dataset: functions of public parameters, so choosing by them costs
no privacy. Choosing by the error of the private counts would.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from html import escape
from math import ceil, floor, inf, log, log10
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from discreet import limits
from discreet.analysis.dataset_errors import Distance
from discreet.analysis.error_laws import ExpectedError, error_summary, planning_error
from discreet.analysis.optimum import TOLERANCE, constraint_count, optimal
from discreet.errors import InternalError, InvalidInputError, RefusedError, TooLargeError
from discreet.mechanisms import MECHANISMS, Mechanism, mechanism
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger
from discreet.record.guarantee import Guarantee
from discreet.text import plain
from discreet.validation import Number, check_positive, check_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PUBLIC_CHOICE", "Comparison", "Plan", "Row", "compare", "plan"]

PUBLIC_CHOICE = (
    "Choosing by these errors is public: they depend on the prior, n and ε alone. "
    "Looking at the error of the private counts before choosing is not."
)

Prior = Dirichlet | Beta
Value = TypeVar("Value", int, Fraction)
Maker = Callable[[Prior, int, Fraction], Mechanism]
Progress = Callable[[int, int, str], None]
"""Called with the steps done, the steps in all and what comes next."""

_TOLD_FROM_NONE = 1_000
"""Errors are divided by an optimum that is at least this many times the solver's tolerance."""


@dataclass(frozen=True)
class Row:
    """One mechanism of a comparison."""

    mechanism: str
    guarantee: Guarantee | None
    """What it promises; None where it cannot be had at this size."""
    loss: float | None
    """Computed privacy loss; None where it cannot be computed at this size."""
    error: ExpectedError | None
    """Mean error over the prior predictive; None where it cannot be computed at this size."""
    worst: ExpectedError | None
    """Mean error at the worst dataset."""
    quantile: float | None
    """The error that is not exceeded with probability 95 %, data drawn from the prior predictive."""
    ratio: ExpectedError | None
    """Mean error over the optimum's, where that is known. Below 1 only without an ε guarantee, or within the error of a simulation."""
    reason: str | None = None
    """Why the mean error is not computed, where it is not."""


@dataclass(frozen=True)
class Comparison:
    """The mechanisms of one (prior, n, ε) side by side, the most accurate first."""

    prior: Prior
    n: int
    epsilon: Fraction
    rows: tuple[Row, ...]
    optimum: float | None
    """The least mean error of any ε-DP mechanism that reports counts of total n, where it is known."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why rows have no mean error, each reason once, with the mechanisms it is about."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if row.reason is not None:
                found.setdefault(row.reason, []).append(row.mechanism)
        return tuple(f"{', '.join(names)}: not computed; {reason}" for reason, names in found.items())

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain values."""
        return [_plain(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return _optional("pandas").DataFrame(self.to_dicts())

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame."""
        return _optional("polars").DataFrame(self.to_dicts())

    def cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Headings and formatted cells, for printing; without columns in which nothing could be computed."""
        headings = ("mechanism", "guarantee", "loss", "mean error", "worst", "95 %", "× best")
        rows = [
            (r.mechanism, _promised(r.guarantee), *(_shown(value) for value in (r.loss, r.error, r.worst, r.quantile, r.ratio)))
            for r in self.rows
        ]
        kept = [i for i in range(len(headings)) if any(row[i] != "-" for row in rows)]
        return tuple(headings[i] for i in kept), [tuple(row[i] for i in kept) for row in rows]

    @property
    def caption(self) -> str:
        """What is compared."""
        known = "" if self.optimum is None else f"; least mean error of any ε-DP mechanism reporting counts of total n: {self.optimum:.4g}"
        return f"{self.prior}, n = {self.n}, ε = {float(self.epsilon):g}{known}"

    def __str__(self) -> str:
        headings, rows = self.cells()
        widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [headings, *rows]]
        return "\n".join([self.caption, *lines, *self.reasons, PUBLIC_CHOICE])

    def _repr_html_(self) -> str:
        headings, rows = self.cells()
        head = "".join(f"<th>{escape(plain(h))}</th>" for h in headings)
        body = "".join("<tr>" + "".join(f"<td>{escape(plain(cell))}</td>" for cell in row) + "</tr>" for row in rows)
        table = f"<table><caption>{escape(plain(self.caption))}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return table + "".join(f"<p>{escape(plain(line))}</p>" for line in (*self.reasons, PUBLIC_CHOICE))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Mean and 95 % quantile of the error of every mechanism, the most accurate on top."""
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        rows = [row for row in reversed(self.rows) if row.error is not None]
        names = [row.mechanism for row in rows]
        ax.barh(names, [float(row.error or 0.0) for row in rows], color="tab:blue", label="mean over the prior predictive")
        known = [(row.quantile, row.mechanism) for row in rows if row.quantile is not None]
        if known:
            ax.plot(*zip(*known, strict=True), "k|", markersize=10, label="95 % quantile")
        if self.optimum is not None:
            ax.axvline(self.optimum, color="tab:red", linestyle="--", label="least possible mean")
        ax.set_xlabel("error")
        ax.set_title(f"n = {self.n}, ε = {float(self.epsilon):g}")
        ax.legend(loc="upper right", bbox_to_anchor=(1.0, -0.12), ncols=2)  # below: inside it would hide the best bars
        return ax


def _plain(row: Row) -> dict[str, Any]:
    """One row's numbers and words by name; None for what could not be computed, and for ε and δ where nothing is promised."""
    promised = row.guarantee if row.guarantee is not None and row.guarantee.basis != "none" else None
    numbers = {name: getattr(row, name) for name in ("loss", "error", "worst", "quantile", "ratio")}
    return {
        "mechanism": row.mechanism,
        "basis": None if row.guarantee is None else row.guarantee.basis,
        "epsilon": None if promised is None else promised.epsilon,
        "delta": None if promised is None else promised.delta,
        **{name: None if value is None else float(value) for name, value in numbers.items()},
        "method": None if row.error is None else row.error.method,
        "standard_error": None if row.error is None else row.error.standard_error,
    }


def _promised(guarantee: Guarantee | None) -> str:
    if guarantee is None:
        return "not available at this size"
    if guarantee.basis == "none":
        return "none"
    limit = f"ε = {guarantee.epsilon:g}" if guarantee.delta == 0 else f"ε = {guarantee.epsilon:g}, δ = {guarantee.delta:g}"
    return f"{limit} by {guarantee.basis}"


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    spread = getattr(value, "standard_error", 0.0)
    return f"{float(value):.4f}" + (f" ± {spread:.4f}" if spread else "")


def _optional(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"to_{name}() needs {name}, which is not installed: pip install {name}") from None


# --- compare ----------------------------------------------------------------------------------------------------------


def _makers(delta: Number) -> dict[str, Maker]:
    """Every mechanism that is compared, by the name it is shown under."""
    names = [*(cls.__name__ for cls in MECHANISMS), "Calibrated(HellingerSmooth)", "Remapped(LatticeGeometric)"]
    makers: dict[str, Maker] = {name: partial(mechanism, name) for name in names}
    return makers | {"HellingerSmoothDelta": partial(mechanism, "HellingerSmoothDelta", delta=delta)}


def compare(
    prior: Prior,
    n: int,
    epsilon: Number,
    *,
    delta: Number = "1e-8",
    distance: Distance = hellinger,
    progress: Progress | None = None,
) -> Comparison:
    """Every mechanism side by side: mean error over the prior predictive, worst case, 95 % quantile, computed loss, ratio to the optimum.

    All of it is public. The optimum is that of the linear program where it is small enough to be solved; `delta` is that of
    `HellingerSmoothDelta`. What cannot be computed at this size is None, and `reasons` says why.
    """
    records, level = check_records(n), check_positive(epsilon, "epsilon")
    tell = progress or (lambda *_: None)
    makers = _makers(delta)
    steps = len(makers) + 1
    tell(0, steps, "optimum")
    optimum = _least_error(prior, records, level, distance)
    rows = []
    for done, (name, make) in enumerate(makers.items(), start=1):
        tell(done, steps, name)
        try:
            rows.append(_row(name, make(prior, records, level), distance, optimum))
        except (TooLargeError, RefusedError) as error:  # such as Calibrated, which needs the exact loss
            rows.append(Row(name, None, None, None, None, None, None, str(error)))
    tell(steps, steps, "done")
    rows.sort(key=lambda row: float("inf") if row.error is None else float(row.error))
    return Comparison(prior, records, level, tuple(rows), optimum)


def _least_error(prior: Prior, n: int, epsilon: Fraction, distance: Distance) -> float | None:
    """The optimum of the linear program, where that is quick and is told from 0."""
    if constraint_count(n, prior.k) > limits.COMPARED_CONSTRAINTS:
        return None
    try:
        value = optimal(prior, n, epsilon, distance=distance).value
    except (TooLargeError, InternalError):
        return None
    return value if value > _TOLD_FROM_NONE * TOLERANCE else None


def _row(name: str, made: Mechanism, distance: Distance, optimum: float | None) -> Row:
    from discreet.analysis.privacy import privacy_loss

    try:
        loss: float | None = privacy_loss(made).value
    except TooLargeError:
        loss = None
    promise = made.guarantee
    try:
        summary = error_summary(made, distance)
    except TooLargeError as error:
        return Row(name, promise, loss, None, None, None, None, str(error))
    quantile = None if summary.law is None else float(summary.law.quantile(0.95))
    ratio = None if optimum is None else summary.predictive.over(optimum)
    return Row(name, promise, loss, summary.predictive, summary.worst, quantile, ratio)


# --- plan -------------------------------------------------------------------------------------------------------------


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

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        found = {"error": float(self.error), "method": self.error.method, "standard_error": self.error.standard_error}
        return plain | {"epsilon": float(self.epsilon)} | found

    def __str__(self) -> str:
        need = f"ε = {float(self.epsilon):g}" if self.sought == "epsilon" else f"n = {self.n}"
        given = f"n = {self.n}" if self.sought == "epsilon" else f"ε = {float(self.epsilon):g}"
        kind = "mean error over the prior predictive" if self.over == "predictive" else "worst-case mean error"
        return f"{self.mechanism} with {given} needs {need} for a {kind} of {self.target_error:g}: it is {self.error!r}. {PUBLIC_CHOICE}"


_SMALLEST_EPSILON, _LARGEST_EPSILON = Fraction(1, 2**40), Fraction(1024)
_EPSILON_STEP = 8
"""From one ε to the next that is tried in search of a bracket: the error is nearly a power of ε over long ranges."""
_DIGITS = 3  # significant digits of the ε that is found
_DOUBLED_TO, _RECORDS_STEP = 1024, 4
"""While the prior may outweigh the data n is doubled; beyond, this many times as many records are tried next."""
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
    distance: Distance = hellinger,
    progress: Progress | None = None,
) -> Plan:
    """The ε (given n) or the n (given ε) at which this mechanism's mean error reaches the target. Public: no data are looked at.

    `mechanism` is a name, also wrapped as in "Remapped(LatticeGeometric)", or a class. ε is the least to three significant digits; n is
    the least from which the error falls below the target and, at every n tried on the way up, stays there (it can rise first while the
    prior outweighs the data). By bracketing computed mean errors; where those are simulated, the answer is as exact as they are: see
    `error.standard_error`. A worst-case error does not fall to 0 as n grows, since a category with a record or two stays as hard as it
    was: plan ε for it.
    """
    if (n is None) == (epsilon is None):
        raise InvalidInputError("give either n, to find epsilon, or epsilon, to find n")
    target = float(check_positive(target_error, "target_error"))
    if distance is hellinger and target >= 1.0:
        raise InvalidInputError(
            f"target_error must be below 1, the largest Hellinger distance, got {target:g}; 0.05 is hard to see in a plot"
        )
    name, make = _maker(mechanism)
    tried = 0

    def error_at(records: int, level: Fraction) -> ExpectedError:
        nonlocal tried
        tried += 1
        if progress is not None:
            progress(tried, 0, f"n = {records}, ε = {float(level):g}")
        return planning_error(make(prior, records, level), over, distance)

    if n is not None:
        records = check_records(n)
        level, error = _least_epsilon(lambda candidate: error_at(records, candidate), target)
        return Plan(name, target, records, level, error, over, "epsilon")
    level = check_positive(epsilon, "epsilon")
    records, error = _least_records(lambda candidate: error_at(candidate, level), target, _LEVEL_FROM * max(1.0, float(level) ** -2))
    return Plan(name, target, records, level, error, over, "n")


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
            raise InvalidInputError(f"the error stays at {float(high[1]):.4g} however large epsilon is; aim for more, or use more records")
        low, high = high, (high[0] * _EPSILON_STEP, error_at(high[0] * _EPSILON_STEP))
    while low is None and high[0] / _EPSILON_STEP >= _SMALLEST_EPSILON:
        smaller = _rounded_up(high[0] / _EPSILON_STEP)
        found = error_at(smaller)
        if found > target:
            low = (smaller, found)
        else:
            high = (smaller, found)
    return high if low is None else _narrowed(error_at, target, low, high, _rounded_up, _unit)


def _least_records(error_at: Callable[[int], ExpectedError], target: float, level_from: float) -> tuple[int, ExpectedError]:
    tried = [(1, error_at(1))]
    while len(tried) < 2 or not (tried[-1][1] <= target and tried[-1][1] < tried[-2][1]):
        n, error = tried[-1]
        following = n * (2 if n < _DOUBLED_TO else _RECORDS_STEP)
        level = n >= level_from and error > target and abs(error - tried[-3][1]) <= _LEVEL * error
        if level or following > limits.PLANNED_RECORDS:
            ends = "levels off at" if level else "is still"
            raise InvalidInputError(f"the error {ends} {float(error):.4g} at n = {n}; aim for more, or use a larger epsilon")
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
