"""How much the page of `discreet explore` takes, keeps and lists: everything up to a limit, and at one beyond it something is left out."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import discreet as dc
from discreet import limits
from discreet.requests.fields import WrongError
from discreet.requests.plan_screen import PlanQuestion
from discreet.requests.read_screen import is_listed
from discreet.web.budget.view import dataset_view, ledger_view
from discreet.web.state import GoneError, Opened, Record, Uploads, file_name, read
from tests.support import lowered
from tests.web.server import Server, explore

PLAN = {"categories": "3", "n": "300", "public": "total", "epsilon": "0.2"}


def _form(length: int) -> bytes:
    return b"categories=a,b&".ljust(length, b"x")


def test_a_form_is_taken_up_to_a_number_of_bytes(server: Server) -> None:
    assert server.ask("POST", "/plan/answer", body=_form(limits.FORM_BYTES))[0] == 200
    status, _, text = server.ask("POST", "/plan/answer", body=_form(limits.FORM_BYTES + 1))
    assert (status, "longer than the page takes" in text) == (413, True)


def test_a_request_is_taken_up_to_a_number_of_bytes() -> None:
    """In whatever parts its body comes: this one is longer than what a server reads at once."""
    most = 200_000
    with explore(before=f"from discreet import limits; limits.REQUEST_BYTES = {most}; ") as server:
        assert server.ask("POST", "/plan/answer", body=_form(most))[0] == 200
        assert server.ask("POST", "/plan/answer", body=_form(most + 1))[0] == 413
        assert server.ask("POST", "/plan/answer", body=_form(most))[0] == 200


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_a_form_has_at_most_two_hundred_fields(server: Server, more: int, is_read: bool) -> None:
    """One with more is read as an empty one."""
    fields = PLAN | {f"x{i}": "1" for i in range(200 + more - len(PLAN))}
    status, text = server.post("/plan/answer", **fields)
    assert (status, "points</b>" in text) == (200, is_read)


@pytest.mark.parametrize(
    ("name", "most", "beyond"),
    [
        ("categories", "1000", "1001"),
        ("categories", ",".join(map("c{}".format, range(1000))), ",".join(map("c{}".format, range(1001)))),
        ("categories", "2", "1"),
        ("categories", "a,b", "a"),
        ("groups", "1000000", "1000001"),
        ("prior", "1e9,1,1", "1000000001,1,1"),
        ("prior", "1,1e-6,1", "1,9e-7,1"),
    ],
)
def test_a_plan_is_asked_for_up_to_a_size(name: str, most: str, beyond: str) -> None:
    others = PLAN | ({"n": "1000000", "size": "1"} if name == "groups" else {})
    PlanQuestion.read(others | {name: most}, "form")
    with pytest.raises(WrongError) as refused:
        PlanQuestion.read(others | {name: beyond}, "form")
    assert name in refused.value.by_field


def test_the_last_eight_files_that_were_sent_are_kept(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path)

    async def parts() -> AsyncIterator[bytes]:
        yield b"x\n1\n"

    keys = [asyncio.run(uploads.take(f"file {i}.csv", parts())) for i in range(9)]
    with pytest.raises(dc.InvalidInputError, match="is not here any more"):
        uploads.path(keys[0])
    assert sorted(tmp_path.iterdir()) == sorted(uploads.path(key) for key in keys[1:])


def test_of_a_long_name_of_a_file_the_end_is_shown() -> None:
    for length in (200, 201):
        assert file_name("/folder/" + "x" * (length - 4) + ".csv") == "x" * 196 + ".csv"


def _record(**kept: int) -> Record:
    content = dc.LatticeGeometric(dc.Beta(1, 1), 5, 1).release([3, 2]).to_json().encode()
    found = read(content, "record.json")
    return Record(found.release, found.name, found.kind, kept.get("size", found.size))


def _still_open(opened: Opened, keys: list[str]) -> list[bool]:
    found = []
    for key in keys:
        try:
            opened.find(key)
            found.append(True)
        except GoneError:
            found.append(False)
    return found


@pytest.mark.parametrize(("limit", "kept"), [(3, [True, True, True]), (2, [False, True, True]), (1, [False, False, True])])
def test_the_last_records_are_kept_open(limit: int, kept: list[bool]) -> None:
    opened = Opened()
    with lowered(OPENED_RECORDS=limit):
        keys = [opened.keep(_record()) for _ in range(3)]
        assert _still_open(opened, keys) == kept


@pytest.mark.parametrize(("limit", "kept"), [(100, [True, True]), (99, [False, True]), (39, [False, True])])
def test_records_are_kept_open_up_to_their_bytes_and_the_last_always(limit: int, kept: list[bool]) -> None:
    opened = Opened()
    with lowered(REQUEST_BYTES=limit):
        keys = [opened.keep(_record(size=size)) for size in (60, 40)]
        assert _still_open(opened, keys) == kept


def test_the_three_results_that_were_asked_for_last_are_not_computed_again() -> None:
    opened, made = Opened(), list[str]()

    def asked(key: str) -> str:
        def compute() -> str:
            made.append(key)
            return key * 2

        return str(opened.computed(key, compute))

    assert [asked(key) for key in "abcabc"] == [key * 2 for key in "abcabc"]
    assert made == list("abc")
    asked("a")
    asked("d")  # b was asked for longest ago
    asked("a")
    asked("c")
    assert made == list("abcd")
    asked("b")
    assert made == list("abcdb")


def test_categories_are_listed_to_choose_from_up_to_a_number() -> None:
    assert is_listed(limits.OPENED_CHOICES)
    assert not is_listed(limits.OPENED_CHOICES + 1)


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    found = dc.Ledger(tmp_path / "ledger.db")
    for name in ("first", "second", "third"):
        found.create(name, 1)
    for amount in ("0.1", "0.2", "0.3"):
        found.spend("first", amount, note=f"for {amount}")
    return found


def test_datasets_are_listed_up_to_a_number(ledger: dc.Ledger) -> None:
    for most, more in ((3, None), (2, "1 more are not listed"), (1, "2 more are not listed")):
        with lowered(LEDGER_DATASETS=most):
            text = ledger_view(ledger, "ledger.db", "first")
        assert text.count('hx-post="/budget/dataset"') == most + (more is not None)
        assert ("not listed" in text) == (more is not None)
        assert more is None or more in text


def test_spends_are_listed_up_to_a_number_the_latest_first(ledger: dc.Ledger) -> None:
    for most, notes in ((3, ["0.3", "0.2", "0.1"]), (2, ["0.3", "0.2"])):
        with lowered(LEDGER_SPENDS=most):
            text = dataset_view(ledger, "ledger.db", "first")
        assert re.findall(r"for (0\.[0-9])<", text[text.index("budget-spends") :]) == notes
        assert ("What has been spent, latest first" in text) == (most == 3)
        assert ("The latest 2 of 3 spends" in text) == (most == 2)
