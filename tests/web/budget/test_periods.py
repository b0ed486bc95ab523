"""A budget for each month on the page: created, released from and shown, over HTTP and with real ledgers."""

import re
from html import unescape
from pathlib import Path

import pytest

import discreet as dc
from tests.web.release.releases import Survey, drawn, look
from tests.web.server import Server, copied


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    made = Survey(tmp_path_factory.mktemp("survey"))
    dc.Ledger(made.ledger).create("monthly", "0.2", unit="person", every="month")
    return made


@pytest.fixture(scope="module")
def variables(survey: Survey) -> dict[str, str]:
    return {"XDG_DATA_HOME": survey.home}


def words(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_a_dataset_is_created_with_periods(server: Server, tmp_path: Path) -> None:
    place = str(tmp_path / "new.db")
    new = {"dataset": "clinic", "epsilon": "0.2", "unit": "person", "public": "total", "every": "month", "request": "key"}
    _, text = server.post("/budget/create", ledger=place, **new)
    assert dc.Ledger(place).budget("clinic").every == "month"
    assert "someone who is there for m months is protected by m times ε = 0.2 in all" in words(text)
    assert "--every month" in copied(text, "budget-created-command")
    assert "every='month'" in copied(text, "budget-created-python")
    _, text = server.post("/budget/create", ledger=place, **{**new, "dataset": "rows", "unit": "record", "request": "other"})
    assert "is about all that a person has in it" in words(text)
    assert len(dc.Ledger(place).datasets()) == 1


def test_a_release_is_charged_to_its_month_and_shown_there(server: Server, survey: Survey) -> None:
    text, _ = look(server, survey.fields(dataset="monthly", epsilon="0.1"))
    assert "is for each month, and the release does not say which it reads: give “Period that the records are of”" in words(text)
    text, key = look(server, survey.fields(dataset="monthly", epsilon="0.1", period="2025-11"))
    assert "2025-11, declared, not checked" in words(text)
    assert str(drawn(server, key).guarantee.period) == "2025-11"
    ledger = dc.Ledger(survey.ledger)
    assert ledger.remaining("monthly", "2025-11").epsilon == ledger.remaining("monthly", "2025-10").epsilon / 2
    ledger.spend("monthly", "0.1", period="2025-11..2025-12")
    _, text = server.post("/budget/dataset", ledger=survey.ledger, dataset="monthly")
    said = words(text)
    assert "Periods each month has this budget" in said
    assert "ε = 0.1 left in 2025-12 of ε = 0.2" in said
    assert "Someone who was there in all 2 months that were charged is protected by ε = 0.3 in all." in said
    assert "2025-12 ε = 0.1 ε = 0.1 2025-11 ε = 0.2 ε = 0" in said
    assert "ε = 0.1 in each month of 2025-11..2025-12" in said
    text, _ = look(server, survey.fields(dataset="monthly", epsilon="0.1", period="2025-11"))
    assert "has ε = 0 left of ε = 0.2" in words(text) or "Done." in words(text)


def test_what_is_shown_to_copy_runs(server: Server, survey: Survey, capsys: pytest.CaptureFixture[str]) -> None:
    dc.Ledger(survey.ledger).spend("monthly", "0.05", period="2025-01")
    for place, shown in (("open", "budget-overview-python"), ("dataset", "budget-history-python")):
        _, text = server.post(f"/budget/{place}", ledger=survey.ledger, dataset="monthly")
        exec(copied(text, shown), {})  # noqa: S102 - what the page shows is to be run
        assert "'monthly' in 2025-01" in capsys.readouterr().out
