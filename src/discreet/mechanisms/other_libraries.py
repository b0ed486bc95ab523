"""The noise of other libraries, read off what they say of it: none of them is imported, and each of them is known by its own words.

- OpenDP: the table of `query.summarize()`, with the columns `distribution` and `scale`.
- Tumult Analytics: the budget of one evaluation, `PureDPBudget` or `RhoZCDPBudget`.
- PipelineDP: the text of an `ExplainComputationReport`, which names the mechanism of the count and its parameter.
- diffprivlib: the mechanism itself.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidInputError, RefusedError
from discreet.mechanisms.published import (
    PublishedGaussian,
    PublishedGeometric,
    PublishedLaplace,
    PublishedNoise,
    PublishedRoundedGaussian,
)
from discreet.validation import check_moderate, check_records, shown

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
