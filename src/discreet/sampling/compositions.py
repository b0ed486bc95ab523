"""Uniform compositions: a number of records spread over the categories, every way of it equally likely (docs/proofs/exactness.md)."""

from discreet.sampling.bits import BitSource, uniform


def composition(source: BitSource, total: int, parts: int) -> list[int]:
    """A uniform composition of `total` into `parts` counts >= 0: stars and bars, choosing whichever there are fewer of."""
    places = total + parts - 1
    counts = [0] * parts
    if total < parts - 1:
        for before, place in enumerate(_subset(source, total, places)):
            counts[place - before] += 1
        return counts
    previous = -1
    for part, place in enumerate(_subset(source, parts - 1, places)):
        counts[part] = place - previous - 1
        previous = place
    counts[-1] = places - previous - 1
    return counts


def _subset(source: BitSource, size: int, places: int) -> list[int]:
    """A uniform subset of {0 .. places-1} of the given size, in order (Floyd's algorithm)."""
    chosen: set[int] = set()
    for last in range(places - size, places):
        pick = uniform(source, last + 1)
        chosen.add(last if pick in chosen else pick)
    return sorted(chosen)
