"""Tables for tests, and what an attempt was refused with."""

from collections.abc import Callable
from typing import Any

import numpy as np

import discreet as dc
from discreet.arrays import Counts
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.record.release import is_table
from tests.sampling.support import PretendedSecret

KEY = b"discreet release"
"""Of the header in the metadata of a Parquet file."""
CATEGORIES = ("never", "former", "current")
BY = {"region": ["north", "south"], "year": [2023, 2024]}
COUNTS = np.array([[3, 0, 2], [5, 1, 1], [0, 4, 4], [2, 2, 2]])
PUBLIC: dict[str, Any] = {"sizes": COUNTS.sum(axis=1), "total": int(COUNTS.sum()), "nothing": None}


def released(public: str = "sizes", seed: int = 1, **options: Any) -> dc.Release[Counts]:
    prior = dc.Dirichlet([1, 0.5, 2], categories=CATEGORIES)
    options = {"impossible": [("north", 2023, "former")], **options}
    made = LatticeGeometric(prior, PUBLIC[public], "0.5", by=BY, **options)
    found = made.release(COUNTS, unit="person", source=PretendedSecret(seed), steady=False)
    assert is_table(found)
    return found


def refusal(call: Callable[[], Any]) -> str:
    """The one line that a call is refused with, or nothing."""
    try:
        call()
    except (dc.InvalidInputError, dc.ClaimError) as error:
        said = str(error)
    else:
        return ""
    return said if said and len(said.splitlines()) == 1 and len(said) < 600 else f"not one line: {said}"
