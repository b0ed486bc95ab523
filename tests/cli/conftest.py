"""A record and a ledger that commands are given."""

from pathlib import Path

import pytest

import discreet as dc
from discreet.ledger.ledger import Ledger
from tests.cli.support import PRIOR


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "posterior.json"
    path.write_text(dc.LatticeGeometric(PRIOR, 60, "0.5").release([30, 18, 12], unit="person").to_json())
    return path


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 2)
    return ledger
