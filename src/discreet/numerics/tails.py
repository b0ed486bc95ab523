"""Windows that hold the mass of laws: they leave out at most so much at either end, and say how much.

Both ends are added up from outside, so that a tail keeps its digits however small it is.
"""

import numpy as np

from discreet.arrays import Counts, Floats


def inner(law: Floats, tail: Floats | float) -> tuple[Counts, Counts]:
    """Return the first and the last place of each law (last axis) between which all but at most `tail` at either end is.

    At least one place is kept. `tail` is one number, or one for each law with 1 as its last axis.
    """
    first = _left_out(law, tail)
    return first, np.maximum(law.shape[-1] - 1 - _left_out(law[..., ::-1], tail), first)


def _left_out(law: Floats, tail: Floats | float) -> Counts:
    """The number of places at the beginning of each law that hold at most `tail`, and at most all but one of them.

    None lies beyond the first place that holds more by itself, so that sums go no further.
    """
    more = law > tail
    more[..., -1] = True
    to = np.cumsum(law[..., : int(more.argmax(axis=-1).max(initial=0)) + 1], axis=-1)
    return np.asarray(np.minimum((to <= tail).sum(axis=-1), law.shape[-1] - 1))


def between(to: Floats, onward: Floats, tail: Floats | float) -> tuple[Counts, Counts]:
    """Return the places of `inner` from both tails of each law, or bounds on them: the mass up to each place, and that from it on."""
    first = np.minimum((to <= tail).sum(axis=-1), to.shape[-1] - 1)
    return first, np.maximum(to.shape[-1] - 1 - (onward <= tail).sum(axis=-1), first)


def kept(law: Floats, tail: float) -> tuple[int, int, float]:
    """Return the places of `inner` for one law, and the mass of the ends that are left out."""
    first, last = (int(end) for end in inner(law, tail))
    return first, last, float(law[:first].sum() + law[last + 1 :].sum())


def even_windows(laws: Floats, tail: float) -> tuple[Counts, int]:
    """Return the beginnings of windows of one width that leave out at most this part of each row at either end; and the width."""
    first, last = inner(laws, tail * laws.sum(axis=-1, keepdims=True))
    width = int((last - first).max(initial=0)) + 1
    return np.minimum(first, laws.shape[-1] - width), width


def likeliest(law: Floats, tail: float) -> tuple[Counts, float]:
    """The places of one law, in order, without its least likely ones, which hold at most `tail` together; and what those hold.

    At least one place is kept.
    """
    order = np.argsort(law, kind="stable")
    to = np.cumsum(law[order])
    first = int(between(to, np.full(len(law), np.inf), tail)[0])
    return np.sort(order[first:]), float(to[first - 1]) if first else 0.0
