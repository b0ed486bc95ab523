"""No error takes private counts with it: every frame of every error, and of what led to it, is searched as a collector of errors would.

What counts as the library's is every frame below the call; the caller's own variables are the caller's.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.count import CategoryCounts, TableCounts, count
from discreet.errors import EntropyError, InternalError
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.mechanisms.reports import Projected, Report

LABELS = ("never", "former", "current")
COUNTS = (31337, 27183, 16180)
TOTAL = sum(COUNTS)
SECRETS = frozenset(COUNTS)
PEOPLE = "patient-9f3a77c1"


# --- the search -------------------------------------------------------------------------------------------------------


def frames_of(error: BaseException) -> Iterator[FrameType]:
    """The frames of an error, of its causes and of its contexts, shown or not."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        trace = one.__traceback__
        while trace is not None:
            yield trace.tb_frame
            trace = trace.tb_next
        waiting += [one.__cause__, one.__context__]


def holds_a_secret(value: Any, depth: int = 4) -> bool:
    """Whether a value is, contains or shows a count or a person, looking into containers, arrays, tables and objects."""
    if isinstance(value, str):
        return PEOPLE in value
    if isinstance(value, (int, float, np.number)):
        return value in SECRETS
    if depth == 0 or value is None or isinstance(value, (type, bytes)) or callable(value):
        return False
    if isinstance(value, (CategoryCounts, TableCounts)):
        return holds_a_secret(value.counts)
    if isinstance(value, np.ndarray):
        return any(holds_a_secret(item, depth - 1) for item in value.ravel()[:100].tolist())
    if isinstance(value, (pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.Table)):
        return True  # a table is private whatever it shows
    if isinstance(value, dict):
        return any(holds_a_secret(item, depth - 1) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(holds_a_secret(item, depth - 1) for item in value)
    fields = getattr(value, "__dict__", {})
    return any(holds_a_secret(item, depth - 1) for item in fields.values())


HERE = Path(__file__)


def found_in(error: BaseException) -> list[str]:
    """Which variables of which functions of the library, or of what it called, hold a secret."""
    return [
        f"{frame.f_code.co_qualname}: {name}"
        for frame in frames_of(error)
        if Path(frame.f_code.co_filename) != HERE
        for name, value in frame.f_locals.items()
        if holds_a_secret(value)
    ]


def raised_by(call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


# --- errors of counting -----------------------------------------------------------------------------------------------


def answers(*extra: str | None) -> dict[str, list[Any]]:
    values = [label for label, times in zip(LABELS, COUNTS, strict=True) for _ in range(times)] + list(extra)
    columns: dict[str, list[Any]] = {"smoking": values, "who": [PEOPLE, *map(str, range(1, len(values)))]}
    return columns | {"weight": [1.0] * (len(values) - 1) + [0.5], "group": ["a"] * len(values)}


UNKNOWN_GROUPS, ALL_GROUPS = {"group": ["b"]}, {"group": ["a"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_refusals_of_counting(make: Callable[[Any], Any], tmp_path: Path) -> None:
    undeclared, missing = answers("pipe"), answers(None)
    nameless = answers("never")
    nameless["who"][-1] = None
    for call in (
        lambda: count(make(undeclared), "smoking", LABELS),
        lambda: count(make(undeclared), "smoking", LABELS, "who"),
        lambda: count(make(missing), "smoking", LABELS),
        lambda: count(make(nameless), "smoking", LABELS, "who"),
        lambda: count(make(nameless), "smoking", LABELS, weight="weight"),
        lambda: count(make(nameless), "Smoking", LABELS),
        lambda: count(make(undeclared), "smoking", LABELS, by=UNKNOWN_GROUPS),
        lambda: count(make(answers()), "smoking", LABELS, "who", by=UNKNOWN_GROUPS),
        lambda: count(make(answers()), "smoking", LABELS, by=ALL_GROUPS, impossible=[("a", LABELS[0])]),
    ):
        error = raised_by(call)
        assert isinstance(error, (dc.SourceError, dc.InvalidInputError)), error
        assert found_in(error) == []


@pytest.mark.parametrize("last", ["pipe", "never,1", '"never', ""])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_refusals_of_counting_files(tmp_path: Path, last: str, encoding: str) -> None:
    rows = answers()
    lines = [f"{who},{smoking}" for who, smoking in zip(rows["who"], rows["smoking"], strict=True)]
    (tmp_path / "survey.csv").write_text("who,smoking\n" + "\n".join(lines) + f"\nx,{last}\n")
    error = raised_by(lambda: count(tmp_path / "survey.csv", "smoking", LABELS, "who", encoding=encoding))
    assert isinstance(error, dc.SourceError)
    assert found_in(error) == []


# --- errors of releasing ----------------------------------------------------------------------------------------------

PRIOR = dc.Dirichlet([1, 1, 1], categories=LABELS)
MECHANISM = dc.LatticeGeometric(PRIOR, TOTAL, 1)
PRIVATE: dict[str, Any] = {
    "list": list(COUNTS),
    "array": np.array(COUNTS),
    "counted": CategoryCounts(np.array(COUNTS), LABELS, "record"),
    "mapping": dict(zip(LABELS, COUNTS, strict=True)),
    "series": pd.Series(COUNTS, index=LABELS),
}


class Dry:
    """A source of random bits that has none."""

    secret = True

    def bits(self, count: int) -> int:
        return -count


@pytest.mark.parametrize("given", PRIVATE)
def test_refusals_of_release(given: str) -> None:
    private = PRIVATE[given]
    for call, kind in (
        (lambda: dc.LatticeGeometric(PRIOR, TOTAL + 1, 1).release(private), dc.InvalidInputError),
        (lambda: dc.LatticeGeometric(dc.Dirichlet([1, 1]), TOTAL, 1).prepare(private), dc.InvalidInputError),
        (lambda: dc.HellingerLocal(PRIOR, TOTAL, 1).release(private), dc.RefusedError),
        (lambda: MECHANISM.release(private, unit="household"), dc.InvalidInputError),  # type: ignore[arg-type]
        (lambda: MECHANISM.release(private, source=Dry()), EntropyError),
        (lambda: dc.HellingerGlobal(PRIOR, TOTAL, 1).release(private, source=Dry(), steady=False), EntropyError),
    ):
        error = raised_by(call)
        assert isinstance(error, kind), error
        assert found_in(error) == []


@pytest.mark.parametrize("kind", [InternalError, EntropyError, KeyboardInterrupt, ZeroDivisionError, MemoryError])
@pytest.mark.parametrize("where", ["draw", "report"])
def test_errors_in_the_middle_of_a_draw(kind: type[BaseException], where: str, tmp_path: Path) -> None:
    """Whatever goes wrong inside, at the depth where the counts are plain numbers, with one error on top of another."""

    def fails(_self: Any, counts: Any, *_: Any) -> Any:
        found = tuple(counts)
        try:
            deepest = list(found)
            raise RuntimeError(f"{len(deepest)}")  # noqa: TRY301
        except RuntimeError:
            raise kind from None

    class FailingReport(Projected):
        one = fails  # type: ignore[assignment]

    class InReport(LatticeGeometric):
        def _own_report(self) -> Report:
            return FailingReport(self.space.total)

    class InDraw(LatticeGeometric):
        _sampler = fails

        @property
        def _claim(self) -> dc.Guarantee:
            return self._by_proof()

    failing = (InDraw if where == "draw" else InReport)(PRIOR, TOTAL, 1)
    book = Ledger(tmp_path / "ledger.db")
    book.create("survey", 1)
    for call in (lambda: failing.release(COUNTS), lambda: book.release("survey", failing, np.array(COUNTS))):
        error = raised_by(call)
        assert type(error) is kind
        inside = [frame for frame in frames_of(error) if frame.f_code is fails.__code__]
        assert len(inside) >= 2  # it says where it came from, and the error before it too
        assert [frame.f_locals for frame in inside] == [{}] * len(inside)
        assert found_in(error) == []
    assert len(book.history("survey")) == 1


def test_refusals_of_the_ledger(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.create("survey", "0.5")
    for call in (lambda: book.release("survey", MECHANISM, COUNTS), lambda: book.release("panel", MECHANISM, list(COUNTS))):
        error = raised_by(call)
        assert isinstance(error, dc.LedgerError)
        assert found_in(error) == []

    class Interrupted(LatticeGeometric):
        def _described(self) -> Any:
            raise KeyboardInterrupt

        _claim = LatticeGeometric._claim

    error = raised_by(lambda: book.release("survey", Interrupted(PRIOR, TOTAL, 1), COUNTS))
    assert isinstance(error, KeyboardInterrupt)
    assert found_in(error) == []


def test_the_errors_a_caller_was_handling_keep_their_variables() -> None:
    def careless(mine: int) -> None:
        raise KeyError(mine)

    with pytest.raises(KeyError) as before:
        careless(7)
    try:
        raise before.value
    except KeyError:
        error = raised_by(lambda: dc.LatticeGeometric(PRIOR, TOTAL + 1, 1).release(COUNTS))
    assert error.__context__ is before.value
    assert [frame.f_locals["mine"] for frame in frames_of(before.value) if "mine" in frame.f_locals] == [7]


# --- the same search, where there is something to find ----------------------------------------------------------------


def test_without_the_wrapper_the_search_finds_the_counts() -> None:
    """Functions underneath the wrappers, which `functools.wraps` keeps."""
    bare = LatticeGeometric.release.__wrapped__  # type: ignore[attr-defined]
    checked = LatticeGeometric.prepare.__wrapped__  # type: ignore[attr-defined]
    counting = count.__wrapped__  # type: ignore[attr-defined]
    assert "Mechanism.release: counts" in found_in(raised_by(lambda: bare(MECHANISM, COUNTS, source=Dry())))
    wrong = dc.LatticeGeometric(PRIOR, TOTAL + 1, 1)
    for private in PRIVATE.values():
        assert found_in(raised_by(lambda: checked(wrong, private)))  # noqa: B023
    found = found_in(raised_by(lambda: counting(pd.DataFrame(answers("pipe")), "smoking", LABELS)))
    assert {"count: source", "Tallied.settled: self", "_settled: found"} <= set(found)


@pytest.mark.parametrize("hidden", [COUNTS, np.array(COUNTS), {"a": [COUNTS]}, CategoryCounts(np.array(COUNTS), LABELS, "record"), PEOPLE])
def test_secrets_are_found_wherever_they_are(hidden: Any) -> None:
    exec_globals = {"hidden": hidden}
    code = compile(
        "def f(value):\n    try:\n        raise KeyError\n    except KeyError:\n        raise ValueError from None\n", os.devnull, "exec"
    )
    exec(code, exec_globals)  # noqa: S102 - a function of another file than this one
    assert len(found_in(raised_by(lambda: exec_globals["f"](hidden)))) == 2
