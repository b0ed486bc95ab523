"""Every mechanism side by side.

The comparison looks at widths of readers' intervals and at errors, averaged over the prior predictive or at the worst dataset: functions
of public parameters, so choosing by them costs no privacy. Choosing by the error of the private counts would.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from discreet import limits
from discreet.analysis.dataset_errors import Distance
from discreet.analysis.error_laws import ExpectedError, error_summary
from discreet.analysis.optimum import TOLERANCE, constraint_count, optimal
from discreet.errors import InternalError, RefusedError, TooLargeError
from discreet.mechanisms import MECHANISMS, Mechanism, mechanism
from discreet.model.datasets import Relation, Space
from discreet.model.dirichlet import Prior
from discreet.model.distances import hellinger
from discreet.planning.expected_widths import Believed, ExpectedWidth, plain_width, width_of
from discreet.planning.level_widths import LevelWidth, level_widths
from discreet.progress import Progress
from discreet.record.guarantee import Guarantee
from discreet.text import html_table, plain
from discreet.validation import Number, Public, check_positive, check_public, check_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PUBLIC_CHOICE = (
    "Choosing by these errors is public: they depend on the prior, n and ε alone. Choosing by the error of the private counts would not be."
)
PUBLIC_GUESS = (
    "Choosing by these errors is public: they depend on the prior, ε and a guess of n alone, if the guess does not come from the data. "
    "Choosing by the error of the private counts would not be. This ε is about someone who comes or goes: an answer that is "
    "replaced is protected by 2ε, so do not compare these errors with those of a public n at the same ε."
)

Maker = Callable[[Prior, int | None, Fraction], Mechanism]
"""A maker of a mechanism from the prior, n (None if it is private) and ε."""

LEFT_OUT = "Mechanisms that need a public n are left out: their promise is about replacing one among a public number of records."
_COMPARED = 0.25
"""Widths are simulated with so much less work than where one is asked for by itself."""
_TOLD_FROM_NONE = 1_000
"""Errors are divided by an optimum that is at least this many times the solver's tolerance."""


def maker(chosen: str | Maker) -> tuple[str, Maker]:
    """A mechanism by any name that `mechanism` reads, or a class or function of (prior, n, epsilon): its name, and how it is made."""
    if isinstance(chosen, str):
        return chosen, partial(mechanism, chosen)
    return getattr(chosen, "__name__", str(chosen)), chosen


@dataclass(frozen=True)
class ComparisonRow:
    """One mechanism of a comparison."""

    mechanism: str
    guarantee: Guarantee | None = None
    """The promise of the mechanism; like all that follows, None where it cannot be had at this size."""
    width: ExpectedWidth | None = None
    """The expected width of the 95 % intervals that readers compute from a release, averaged over the categories."""
    loss: float | None = None
    """The computed privacy loss."""
    error: ExpectedError | None = None
    """Mean error over the prior predictive."""
    worst: ExpectedError | None = None
    """Mean error at the worst dataset."""
    quantile: float | None = None
    """The error that is not exceeded with probability 95 %, data drawn from the prior predictive."""
    ratio: ExpectedError | None = None
    """Mean error over the optimum's, where that is known. Below 1 only without an ε guarantee, or within the error of a simulation."""
    reason: str | None = None
    """The reason why the mean error is not computed, where it is not."""
    no_width: str | None = None
    """The reason why the width is not computed, where it is not."""


@dataclass(frozen=True)
class Comparison:
    """The mechanisms of one (prior, n, ε) side by side, those with the narrowest intervals first."""

    prior: Prior
    n: int
    """The number of records or, where nothing is public, a guess of it."""
    epsilon: Fraction
    rows: tuple[ComparisonRow, ...]
    optimum: float | None
    """The least mean error of any ε-DP mechanism that reports counts of total n, where it is known."""
    plain: ExpectedWidth
    """The expected width of the 95 % intervals without privacy."""
    public: Public = "total"
    """The part of the data that is public beside the categories: n, or nothing."""
    levels: tuple[LevelWidth, ...] = ()
    """The widths at every level of nested categories, from `Nested` and from `LatticeGeometric`, if levels were given."""

    @property
    def relation(self) -> Relation:
        """Return which datasets are neighbours: what the guarantees of the rows are about."""
        return Space(self.prior.k, self.n if self.public == "total" else None).relation

    @property
    def choice(self) -> str:
        """The reason why choosing by these errors, or by the widths where there are no errors, is public."""
        words = PUBLIC_CHOICE if self.public == "total" else PUBLIC_GUESS
        return words if any(row.error is not None for row in self.rows) else words.replace("errors", "widths")

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why rows have no mean error or no width, each once, with the mechanisms it is about."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if row.reason is not None:
                found.setdefault(f"not computed; {row.reason}", []).append(row.mechanism)
            if row.no_width not in (None, row.reason):
                found.setdefault(f"no width; {row.no_width}", []).append(row.mechanism)
        missing = () if self.public == "total" else (LEFT_OUT,)
        return (*(f"{', '.join(names)}: {reason}" for reason, names in found.items()), *missing, *map(_level_words, self.levels))

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain values."""
        return [_plain(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        return _optional("pandas").DataFrame(self.to_dicts())

    def to_polars(self) -> Any:
        """The rows as a Polars frame."""
        return _optional("polars").DataFrame(self.to_dicts())

    def cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Headings and formatted cells, for printing; without columns in which nothing could be computed."""
        headings = ("mechanism", "width", "guarantee", "loss", "mean error", "worst", "95 %", "× best")
        rows = [
            (r.mechanism, _points(r.width), _promised(r.guarantee), *map(_shown, (r.loss, r.error, r.worst, r.quantile, r.ratio)))
            for r in self.rows
        ]
        kept = [i for i in range(len(headings)) if any(row[i] != "-" for row in rows)]
        return tuple(headings[i] for i in kept), [tuple(row[i] for i in kept) for row in rows]

    @property
    def caption(self) -> str:
        known = "" if self.optimum is None else f"; least mean error of any ε-DP mechanism reporting counts of total n: {self.optimum:.4g}"
        guess = "" if self.public == "total" else " (a guess: n is private)"
        width = f"; width of 95 % intervals without privacy: {points(self.plain)} points"
        return f"{self.prior}, n = {self.n}{guess}, ε = {float(self.epsilon):g}, neighbours: {self.relation} record{width}{known}"

    def __str__(self) -> str:
        headings, rows = self.cells()
        widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [headings, *rows]]
        return "\n".join([self.caption, *lines, *self.reasons, self.choice])

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} mechanisms; {self.caption})"

    def _repr_html_(self) -> str:
        return html_table(self.caption, *self.cells()) + "".join(f"<p>{escape(plain(line))}</p>" for line in (*self.reasons, self.choice))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Mean and 95 % quantile of the error of every mechanism, in the order of the table."""
        from discreet.plotting import plot_errors

        rows = [row for row in self.rows if row.error is not None]
        known = "" if self.public == "total" else " (a guess)"
        return plot_errors(
            [row.mechanism for row in rows],
            [float(row.error or 0.0) for row in rows],
            [row.quantile for row in rows],
            ax,
            optimum=self.optimum,
            title=f"How far off the reported posterior is: n = {self.n:,}{known}, ε = {float(self.epsilon):g}",
        )


def _level_words(row: LevelWidth) -> str:
    """Return whether noise at every level helps one of them."""
    verdict = {True: "narrower with levels", False: "wider with levels", None: "no difference that the simulation tells"}[row.helps]
    return f"{row.level} ({row.nodes}): {points(row.nested)} points by Nested, {points(row.flat)} by LatticeGeometric: {verdict}"


def _plain(row: ComparisonRow) -> dict[str, Any]:
    """Return the numbers and words of one row by name; None for what could not be computed, and for ε and δ where nothing is promised."""
    promised = row.guarantee if row.guarantee is not None and row.guarantee.basis != "none" else None
    numbers = {name: getattr(row, name) for name in ("width", "loss", "error", "worst", "quantile", "ratio")}
    return {
        "mechanism": row.mechanism,
        "basis": None if row.guarantee is None else row.guarantee.basis,
        "epsilon": None if promised is None else promised.epsilon,
        "delta": None if promised is None else promised.delta,
        "neighbours": None if promised is None else str(promised.neighbours),
        **{name: None if value is None else float(value) for name, value in numbers.items()},
        "method": None if row.error is None else row.error.method,
        "standard_error": None if row.error is None else row.error.standard_error,
        "width_method": None if row.width is None else row.width.method,
        "width_standard_error": None if row.width is None else row.width.standard_error,
    }


def _promised(guarantee: Guarantee | None) -> str:
    if guarantee is None:
        return "not available at this size"
    if guarantee.basis == "none":
        return "none"
    limit = f"ε = {guarantee.epsilon:g}" if guarantee.delta == 0 else f"ε = {guarantee.epsilon:g}, δ = {guarantee.delta:g}"
    return f"{limit} by {guarantee.basis}"


def points(width: float) -> str:
    """A width in percentage points, as people say it: two digits, or three from 10 on."""
    share = 100.0 * width
    return f"{share:#.{2 if share < 9.95 else 3}g}".rstrip(".")


def _points(width: ExpectedWidth | None) -> str:
    return "-" if width is None else points(width)


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


def _makers(delta: Number, public: Public) -> dict[str, Maker]:
    """Every mechanism that is compared, by the name it is shown under."""
    if public == "nothing":
        alone = [cls.__name__ for cls in MECHANISMS if not cls._needs_total]
        return {name: partial(mechanism, name) for inside in alone for name in (inside, f"Remapped({inside})")}
    names = [*(cls.__name__ for cls in MECHANISMS), "Calibrated(HellingerSmooth)", "Remapped(LatticeGeometric)"]
    makers: dict[str, Maker] = {name: partial(mechanism, name) for name in names}
    return makers | {"HellingerSmoothDelta": partial(mechanism, "HellingerSmoothDelta", delta=delta)}


def compare(
    prior: Prior,
    n: int,
    epsilon: Number,
    *,
    public: Public = "total",
    delta: Number = "1e-8",
    distance: Distance = hellinger,
    errors: bool = True,
    progress: Progress | None = None,
    levels: Any = None,
) -> Comparison:
    """Compare all mechanisms by the expected width of readers' 95 % intervals, which ranks them, and by the papers' errors.

    Args:
        prior, n, epsilon: public numbers; with `public="nothing"` n is a guess, and mechanisms that need a public n are left out.
        delta: that of `HellingerSmoothDelta`.
        errors: False leaves widths, guarantees and losses alone, which are found sooner.
        levels: Levels of nested categories, as `Nested` takes them; the comparison then says at which of them noise of its own helps.

    Returns rows with the mean error of the reported posterior over the prior predictive and at the worst dataset, its 95 % quantile, and
    the ratio to the optimum where its linear program can be solved. What is not computed is None, and `reasons` says why.
    """
    records, level, known = check_records(n), check_positive(epsilon, "epsilon"), check_public(public)
    tell = progress or (lambda *_: None)
    makers = _makers(delta, known)
    steps, believed = len(makers) + 1, Believed.of(prior, records, None)
    tell(0, steps, "optimum")
    optimum = _least_error(prior, records, level, distance) if errors and known == "total" else None
    given = records if known == "total" else None
    rows = []
    for done, (name, make) in enumerate(makers.items(), start=1):
        tell(done, steps, name)
        try:
            rows.append(_row(name, make(prior, given, level), believed, distance if errors else None, optimum))
        except (TooLargeError, RefusedError) as error:  # such as Calibrated, which needs the exact loss
            rows.append(ComparisonRow(name, reason=str(error), no_width=str(error)))
    tell(steps, steps, "done")
    rows.sort(key=lambda row: tuple(float("inf") if value is None else float(value) for value in (row.width, row.error)))
    nested = () if levels is None else level_widths(prior, believed, given, level, levels)
    return Comparison(prior, records, level, tuple(rows), optimum, plain_width(believed), known, nested)


def _least_error(prior: Prior, n: int, epsilon: Fraction, distance: Distance) -> float | None:
    """The optimum of the linear program; None where that takes long, or where the solver cannot tell it from 0."""
    if constraint_count(n, prior.k) > limits.COMPARED_CONSTRAINTS:
        return None
    try:
        value = optimal(prior, n, epsilon, distance=distance).value
    except (TooLargeError, InternalError):
        return None
    return value if value > _TOLD_FROM_NONE * TOLERANCE else None


def _row(name: str, made: Mechanism, believed: Believed, distance: Distance | None, optimum: float | None) -> ComparisonRow:
    """Return all that is known of one mechanism; without a distance, no errors."""
    from discreet.analysis.privacy import privacy_loss

    try:
        loss: float | None = privacy_loss(made).value
    except TooLargeError:
        loss = None
    width, no_width = _width(made, believed)
    if distance is None:
        return ComparisonRow(name, made.guarantee, width, loss, no_width=no_width)
    try:
        summary = error_summary(made, distance, n=believed.n)
    except TooLargeError as error:
        return ComparisonRow(name, made.guarantee, width, loss, reason=str(error), no_width=no_width)
    quantile = None if summary.law is None else float(summary.law.quantile(0.95))
    ratio = None if optimum is None else summary.predictive.over(optimum)
    return ComparisonRow(name, made.guarantee, width, loss, summary.predictive, summary.worst, quantile, ratio, no_width=no_width)


def _width(made: Mechanism, believed: Believed) -> tuple[ExpectedWidth | None, str | None]:
    """The expected width, or why there is none. A report is no part of it: readers start from the raw outcome."""
    try:
        return width_of(made, believed, effort=_COMPARED), None
    except TooLargeError as error:
        return None, str(error)
