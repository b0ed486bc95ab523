"""The laws of all counts of one release given their total, by one Fourier transform of each window (docs/proofs/inference.md)."""

import numpy as np

from discreet import limits
from discreet.arrays import Floats
from discreet.inference.fixed_totals import TiltedCategories
from discreet.inference.groups.sums import TotalBounds, Transforms
from discreet.inference.groups.windows import Windows
from discreet.inference.runs import Run
from discreet.numerics.transforms import fast_length, rounding

_WRAPPED_DEPTH = 45.0
"""The transform is so long that a total beyond it has a tilted probability of e^-45 at most."""
_LARGEST_MARGINAL_ERROR = 2e-12
"""Error up to which marginals by transform are used."""


def transformed_marginals(laws: TiltedCategories) -> tuple[list[Run], float] | None:
    """The law of every category's count and the tilted probability of the total; None where direct sums are shorter or more exact."""
    k = len(laws.laws)
    ranges = [laws.ranges[i] if i != laws.pivot else laws.laws[i].window() for i in range(k)]
    width = max(high - low + 1 for low, high in ranges)
    if k < _FEWEST_CATEGORIES or k * width > limits.WINDOWS_HELD:
        return None
    value = np.zeros((1, k, width))
    for i, (low, high) in enumerate(ranges):
        value[0, i, : high - low + 1] = laws.windows[i].value if i != laws.pivot else laws.laws[i].cells(low, high).value
    value /= value.sum(axis=2, keepdims=True)
    windows = Windows(np.array([[low for low, _ in ranges]]), value, np.zeros(1))
    total = np.array([laws.n])
    reach = TotalBounds.of(windows, total, -2.0 * float(np.log(limits.WINDOW_TAIL)) / width).distance(_WRAPPED_DEPTH)
    length = fast_length(max(int(np.ceil(reach[0])) + 1, width))
    if k * length > limits.WINDOWS_HELD:
        return None
    transforms = Transforms(windows, length)
    rest = (total - windows.low.sum(axis=1))[:, None] - np.arange(width)
    weight = np.maximum(np.take(transforms.of_others()[0], rest[0] % length, axis=1), 0.0) * value[0]
    completion = weight.sum(axis=1)
    if not rounding(length) + np.exp(-_WRAPPED_DEPTH) < _LARGEST_MARGINAL_ERROR * float(completion.min()):
        return None
    return [_run(low, high, row / mass) for (low, high), row, mass in zip(ranges, weight, completion, strict=True)], float(completion[0])


_FEWEST_CATEGORIES = 3
"""With two categories there is nothing to add up."""


def _run(low: int, high: int, law: Floats) -> Run:
    return Run(low, law[: high - low + 1])
