"""One request is charged once. Races and kills: tests/ledger/test_faults.py and tests/cli/release_faults.py."""

from pathlib import Path

import pytest

import discreet as dc
from tests.ledger.conftest import make_older

KEY = "3f0c8a7f"


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    made = dc.Ledger(tmp_path / "ledger.db")
    made.create("survey", 3)
    made.create("other", 3)
    return made


def test_the_second_time_nothing_is_charged(ledger: dc.Ledger) -> None:
    line = ledger.spend("survey", 1, request=KEY)
    assert line.request == KEY
    with pytest.raises(dc.RepeatedError, match=rf"line {line.number} of {line.day}"):
        ledger.spend("survey", 1, request=KEY)
    assert ledger.history("survey") == (line,)


def test_the_second_time_nothing_is_drawn(ledger: dc.Ledger) -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), n=50, epsilon=1)
    ledger.release("survey", mechanism, [20, 30], request=KEY)
    with pytest.raises(dc.RepeatedError):
        ledger.release("survey", mechanism, [20, 30], request=KEY)
    with pytest.raises(dc.RepeatedError):
        ledger.draw("survey", mechanism.prepare([20, 30]), request=KEY)
    assert ledger.spent("survey").epsilon == 1


def test_a_repeated_request_is_told_so_also_where_the_budget_is_gone(ledger: dc.Ledger) -> None:
    ledger.spend("survey", 3, request=KEY)
    with pytest.raises(dc.RepeatedError):
        ledger.spend("survey", 3, request=KEY)
    with pytest.raises(dc.BudgetError):
        ledger.spend("survey", 3, request="another")


def test_other_requests_none_and_other_datasets_are_charged(ledger: dc.Ledger) -> None:
    ledger.spend("survey", "0.5", request=KEY)
    ledger.spend("survey", "0.5", request=KEY + " ")
    ledger.spend("survey", "0.5")
    ledger.spend("survey", "0.5")
    ledger.spend("other", "0.5", request=KEY)
    assert [line.request for line in ledger.history("survey")] == [KEY, KEY + " ", None, None]


def test_a_refused_request_may_be_sent_again(ledger: dc.Ledger) -> None:
    with pytest.raises(dc.BudgetError):
        ledger.spend("survey", 4, request=KEY)
    ledger.spend("survey", 1, request=KEY)


@pytest.mark.parametrize("key", ["", " ", "x" * 1000, "a\x00b", 7])
def test_a_key_is_printable_text(ledger: dc.Ledger, key: str) -> None:
    with pytest.raises(dc.InvalidInputError, match="request must be printable text"):
        ledger.spend("survey", 1, request=key)
    assert ledger.history("survey") == ()


def test_a_ledger_of_the_fourth_version_gets_the_column(ledger: dc.Ledger, tmp_path: Path) -> None:
    ledger.spend("survey", 1)
    make_older(tmp_path / "ledger.db", 4)
    assert [line.request for line in ledger.history("survey")] == [None]
    assert ledger.charged("survey", KEY) is None
    ledger.spend("survey", 1, request=KEY)
    with pytest.raises(dc.RepeatedError):
        ledger.spend("survey", 1, request=KEY)


def test_the_spend_of_a_request_is_found(ledger: dc.Ledger) -> None:
    assert ledger.charged("survey", KEY) is None
    ledger.spend("survey", "0.1", request="another")
    line = ledger.spend("survey", "0.2", request=KEY)
    ledger.create("panel", epsilon=1)
    assert ledger.charged("survey", KEY) == line
    assert ledger.charged("panel", KEY) is None
    with pytest.raises(dc.LedgerError, match="not in the ledger"):
        ledger.charged("nobody", KEY)
