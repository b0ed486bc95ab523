"""The posterior of each group of a table. Oracle: all tables listed, with the textbook's weights (tests/table_worlds.py)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from tests.table_worlds import random_world

# --- against the definition -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [*range(24), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(24, 120))])
def test_random_tables_match_the_definition(seed: int) -> None:
    world = random_world(seed)
    posterior = world.posterior()
    assert world.difference(posterior) < 1e-10
    assert all(posterior[world.groups[i]].omitted < 1e-16 for i in world.open_groups())
