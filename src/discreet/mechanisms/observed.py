"""Counts that others published, as a record of a mechanism that draws nothing and promises nothing (docs/howto/observed.md).

Such a record is read like our own. The noise may be read off what another library says of it: none of them is imported, and each of them
is known by its own words.

- OpenDP: the table of `query.summarize()`, with the columns `distribution` and `scale`.
- Tumult Analytics: the budget of one evaluation, `PureDPBudget` or `RhoZCDPBudget`.
- PipelineDP: the text of an `ExplainComputationReport`, which names the mechanism of the count and its parameter.
- diffprivlib: the mechanism itself.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Counts, Drawn, Mask
from discreet.errors import InvalidInputError, RefusedError
from discreet.mechanisms.changed_counts import RandomizedAnswers, ReadNoise
from discreet.mechanisms.laws import Law
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.published import (
    SUPPRESSED,
    PublishedGaussian,
    PublishedGeometric,
    PublishedLaplace,
    PublishedNoise,
    PublishedRoundedGaussian,
    noise_of,
    stepped,
    steps_of,
)
from discreet.mechanisms.reports import Clamped, Report
from discreet.mechanisms.tabled import Tabled
from discreet.model.size_priors import size_prior_of
from discreet.record.about import check_text
from discreet.validation import check_moderate, check_records, shown


def _noise_text(value: Any) -> str:
    return str(noise_of(value))


def _steps_text(value: Any) -> str:
    return ",".join(map(str, steps_of(value)))


@define(frozen=True, slots=False, repr=False)
class Observed(Tabled[Drawn]):
    """A mechanism of somebody else: noise on every cell, and steps after it. It promises nothing and releases nothing.

    Args:
        prior: What readers begin with; it names the categories, in their order.
        n: What is public about the number of records, as for `LatticeGeometric`.
        published_noise: The noise, as text: "geometric:1/2", "gaussian:4", "zcdp:1/32", "laplace:2", "randomized:1", "random-rounding:3"
            or "matrix:" and its rows.
        steps: What was done after it, in order, as text: "clamped:0,rounded:5,suppressed:10".
        size_prior: What is believed about a private number of records, as text: "flat" or "poisson:180".
        source: Who published the counts and whose promise it is, in words.
    """

    epsilon: None = field(default=None, init=False)  # type: ignore[assignment]
    published_noise: str = field(default="", kw_only=True, converter=_noise_text)
    steps: str = field(default="", kw_only=True, converter=_steps_text)
    size_prior: str = field(default="flat", kw_only=True)
    source: str = field(default="", kw_only=True)

    _look: ClassVar[tuple[Any, ...]] = ("#2f6f8f", "D", (0, (4, 1)), "..")

    def __attrs_post_init__(self) -> None:
        check_text(self.source or None, "source")
        check_text(self.size_prior, "size_prior")
        size_prior_of(self.size_prior)
        super().__attrs_post_init__()
        _ = self.noise
        if self._answers is not None and (self.by.columns or self.steps or self.size_prior != "flat" or self.n is None):
            raise InvalidInputError(
                "randomized answers are read of one question with public n, without by, steps and size_prior: give each group by itself"
            )

    @property
    def _options(self) -> dict[str, Any]:
        """The options of a record: there is no ε that discreet knows of."""
        return {name: value for name, value in super()._options.items() if name != "epsilon"}

    @property
    def _size_prior(self) -> str:
        """The prior of a private number of records that its record says."""
        return self.size_prior

    @property
    def _publisher(self) -> str:
        """The publisher of the counts, in words."""
        return self.source or "whoever published the counts"

    @cached_property
    def noise(self) -> CellNoise | None:  # type: ignore[override] # it is None for one variable alone: tables of answers are refused
        """The noise of every cell, with what was done after it; None where answers are randomized."""
        added = noise_of(self.published_noise).on(self.space.k)
        return None if added is None else stepped(added, steps_of(self.steps))

    @property
    def _answers(self) -> RandomizedAnswers | None:
        """The randomization of the answers; None if noise was added to counts."""
        return noise_of(self.published_noise).answers(self.space.k)

    def _raw_law(self, counts: Counts) -> Law:  # noqa: ARG002
        """Refused: there is nothing to study here."""
        raise RefusedError("counts that others published are read; discreet neither draws nor lists them")

    def log_prob(self, counts: ArrayLike, raw: ArrayLike) -> float:  # noqa: ARG002
        """Refused: there is nothing to study here."""
        raise RefusedError("counts that others published are read; discreet neither draws nor lists them")

    def _own_report(self) -> Report:
        """The published counts, none below 0 or above a public total; 0 for one that was not published."""
        return Clamped(self.n if isinstance(self.n, int) else None if self.n is None else max(self.n))

    def _is_outcome(self, raw: Any) -> bool:
        """Return whether each of these counts can be published; noise on every cell keeps no totals."""
        array = np.asarray(raw)
        possible = np.ones(self.k, dtype=np.bool_) if not self.by.columns else self._table.cells.possible
        if array.shape != possible.shape or array.dtype.kind not in "iu" or array[~possible].any():
            return False
        if (np.abs(array[array != SUPPRESSED]) > limits.COUNT).any():
            return False
        if self._answers is not None:
            return bool((array >= 0).all() and array.sum() == self.n)
        if not isinstance(self.noise, ReadNoise):
            return not (array == SUPPRESSED).any()
        return self._fits(self.noise, array, possible)

    def _fits(self, noise: ReadNoise, published: Counts, possible: Mask) -> bool:
        """Return whether there are true counts, with the public total or sizes, of which each cell can have been published so."""
        values, place = np.unique(published[possible], return_inverse=True)
        every = [noise.seen(z) for z in values.tolist()]
        seen = [one for one in every if one is not None]
        if len(seen) < len(every):
            return False
        least, most = np.zeros((2, *published.shape))
        least[possible] = np.array([float(one.first) for one in seen])[place]
        most[possible] = np.array([inf if one.last is None else float(one.last) for one in seen])[place]
        kept = None if isinstance(self.n, int) else -1
        return self.n is None or bool((least.sum(kept) <= self.n).all() and (most.sum(kept) >= self.n).all())


_COUNTED = re.compile(r"Computed DP (?:privacy id )?count with\s+(\w+) mechanism:\s+parameter=([0-9.eE+-]+)")
"""The words in which a report of PipelineDP describes a count."""
_OF_OPENDP: Mapping[str, Callable[[Fraction], PublishedNoise]] = {
    "Integer Laplace": lambda scale: PublishedGeometric(1 / scale),
    "Integer Gaussian": PublishedGaussian,
}
_OF_PIPELINEDP: Mapping[str, Callable[[Fraction], PublishedNoise]] = {"Laplace": PublishedLaplace, "Gaussian": PublishedRoundedGaussian}
_OF_TUMULT: Mapping[str, Callable[[Fraction, int], PublishedNoise]] = {
    "PureDPBudget": lambda epsilon, rows: PublishedGeometric(epsilon / rows),
    "RhoZCDPBudget": lambda rho, rows: PublishedGaussian(rho=rho / rows**2),
}


def noise_of_library(said: Any, rows: int = 1) -> PublishedNoise:
    """The noise on counts that another library says it adds.

    Args:
        said: The table of OpenDP's `summarize()`, for one count; a `PureDPBudget` or `RhoZCDPBudget` of Tumult Analytics, the budget of
            the one evaluation; the text of PipelineDP's `ExplainComputationReport`; or a mechanism of diffprivlib.
        rows: For a budget of Tumult: how many rows of one protected unit the table may have, as in `AddMaxRows(rows)`.

    Returns:
        The noise, for `dc.observed(counts, noise=...)`. Steps are said there: OpenDP's counts without a sign, and the histograms of
        diffprivlib, are clamped at 0.

    Raises:
        InvalidInputError: It is none of these.
        RefusedError: The noise has no likelihood that is computed here.
    """
    name = type(said).__name__
    if name in _OF_TUMULT:
        return _OF_TUMULT[name](check_moderate(str(said.value), "the budget"), check_records(rows, "rows"))
    if isinstance(said, str):
        return _of_report(said)
    if name in _OF_DIFFPRIVLIB:
        return _of_mechanism(said, name)
    try:
        laws, scales = set(said["distribution"]), set(said["scale"])
    except (TypeError, KeyError, IndexError, AttributeError, ValueError):
        raise InvalidInputError(
            "said must be the table of OpenDP's summarize(), a PureDPBudget or RhoZCDPBudget of Tumult Analytics, the text of PipelineDP's "
            f"report, or a mechanism of diffprivlib; got {shown(name)}: say dc.noise.Geometric(epsilon=...) or another noise yourself"
        ) from None
    except Exception as error:  # tables of other libraries have errors of their own
        raise InvalidInputError(
            f"the table has no columns distribution and scale, as one of summarize() has: {type(error).__name__}"
        ) from None
    if len(laws) != 1 or len(scales) != 1:
        raise InvalidInputError("the table of summarize() must be of one kind of count: keep the row of that aggregate alone")
    return _named(_OF_OPENDP, laws.pop(), scales.pop())


def _named(known: Mapping[str, Callable[[Fraction], PublishedNoise]], law: Any, scale: Any) -> PublishedNoise:
    if law not in known:
        raise RefusedError(f"{shown(law)} noise is not read; {' and '.join(known)} are")
    return known[law](check_moderate(str(scale), "scale"))


def _of_report(text: str) -> PublishedNoise:
    """The noise of the only count that a report of PipelineDP names."""
    found = set(_COUNTED.findall(text))
    if len(found) != 1:
        raise InvalidInputError("the report of PipelineDP must name the mechanism of one count, as it does once budgets are computed")
    return _named(_OF_PIPELINEDP, *found.pop())


def _of_geometric(mechanism: Any) -> PublishedNoise:
    return PublishedGeometric(check_moderate(mechanism.epsilon, "epsilon") / check_moderate(mechanism.sensitivity, "sensitivity"))


def _of_laplace(mechanism: Any) -> PublishedNoise:
    if mechanism.delta:
        raise RefusedError("Laplace noise of diffprivlib with a delta is not read: say its scale, dc.noise.Laplace(scale=...)")
    return PublishedLaplace(check_moderate(mechanism.sensitivity, "sensitivity") / check_moderate(mechanism.epsilon, "epsilon"))


_OF_DIFFPRIVLIB: Mapping[str, Callable[[Any], PublishedNoise]] = {
    "Geometric": _of_geometric,
    "GeometricTruncated": _of_geometric,
    "Laplace": _of_laplace,
    "LaplaceTruncated": _of_laplace,
    "GaussianDiscrete": lambda mechanism: PublishedGaussian(check_moderate(mechanism._scale, "sigma")),
}


def _of_mechanism(mechanism: Any, name: str) -> PublishedNoise:
    """The noise of a mechanism of diffprivlib. One that was cut from above has lost what no step here describes."""
    if name.endswith("Truncated") and getattr(mechanism, "upper", 0) < 2**31:
        raise RefusedError("noise that was cut from above is not read: dc.noise.clamped(at=...) is a cut from below alone")
    return _OF_DIFFPRIVLIB[name](mechanism)
