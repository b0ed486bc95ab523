"""A ledger with one dataset; a module may have another."""

from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.db")
    made.create("survey", 1)
    return made
