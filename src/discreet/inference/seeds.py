"""The beginning of draws: the seed or generator that is given, and otherwise a seed that follows from what is public.

So two readers of one record who ask the same question publish the same number, and one reader who asks twice gets it twice.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism

Rng = np.random.Generator | int | None
"""A generator, a seed, or None for the seed of the record."""


def seed_of(*public: object) -> int:
    """A seed that follows from public values alone, by their text."""
    return int.from_bytes(sha256(repr(public).encode()).digest()[:16])


def seed_of_outcome(mechanism: "Mechanism", raw: Any) -> int:
    """The seed of what one mechanism drew."""
    outcome = raw.tolist() if isinstance(raw, np.ndarray) else list(raw)
    return seed_of(mechanism._described(), mechanism.prior.exact, mechanism.space.n, outcome)


def generator(rng: Rng, seed: Rng) -> np.random.Generator:
    """The generator that is given or that begins at the seed that is given, and otherwise one that begins at `seed`.

    Where there is neither, as of a posterior that was made by hand, draws are others every time.
    """
    return np.random.default_rng(seed if rng is None else rng)
