"""Nothing private leaves: secrets planted in the data are looked for in everything a release says, writes, logs, raises or draws.

The draw itself is replaced by one that ignores the data. Whatever then still depends on the data is a leak; and with a draw that repeats
the data, the same search must find it.
"""

import io
import json
import logging
import os
import pickle
import re
import sqlite3
import subprocess
import sys
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from pprint import pformat
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from rich.pretty import pretty_repr
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.data.count import CategoryCounts, count
from discreet.errors import DiscreetError
from discreet.ledger.ledger import Ledger
from tests.support import planted

LABELS = ("never", "former", "current")
COUNTS = (31337, 27183, 16180)
TOTAL = sum(COUNTS)
VALUE, PERSON, REMARK = "hunter2-Köhler", "patient-9f3a77c1", "Whistlerstraße 4711"
NUMBERS = [text for c in COUNTS for text in (str(c), f"{c:,}", f"{c / TOTAL:.4f}")]
DRAWN = (24000, 25000, TOTAL - 49000)
"""What the mechanism draws here, whatever the data."""


def spellings(secret: str) -> list[bytes]:
    """A text as a file or a message may hold it."""
    plain = [secret, repr(secret), json.dumps(secret).strip('"'), secret.encode("unicode_escape").decode(), secret.encode().hex()]
    codes = [secret.encode(codec) for codec in ("utf-8", "utf-16-le", "utf-16-be", "latin-1")]
    return [*(text.encode() for text in plain), *codes, b64encode(secret.encode()).rstrip(b"=")[:-1]]


SECRETS = {secret: spellings(secret) for secret in (VALUE, PERSON, REMARK, *NUMBERS)}


CLOCKS = re.compile(rb"\[(generated in|cached since) [^]\n]{1,20}\]|\d\d:\d\d:\d\d\.\d{6}|\b0x[0-9a-f]{12,16}\b")
"""Times in SQLAlchemy's log and in a picture, and addresses in memory: their digits look like anything now and then."""


def found_in(content: bytes | str) -> set[str]:
    """The secrets that a text or a file holds."""
    data = CLOCKS.sub(b"", content.encode(errors="surrogateescape") if isinstance(content, str) else content)
    return {secret for secret, known in SECRETS.items() if any(spelling in data for spelling in known)}


def said(error: BaseException | None) -> str:
    """An error with its causes and contexts, shown or not, and their tracebacks."""
    texts, waiting, seen = [], [error], set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        texts += [str(one), repr(one), repr(one.args), repr(vars(one)), *getattr(one, "__notes__", ()), *traceback.format_exception(one)]
        waiting += [one.__cause__, one.__context__]
    return "\n".join(texts)


# --- data with secrets in it ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person a row. The undeclared value is to be counted as "current"."""
    answers = np.repeat(np.array([*LABELS, VALUE], dtype=object), [*COUNTS[:2], COUNTS[2] - 7, 7])
    people = [PERSON, *(f"person {number}" for number in range(1, TOTAL))]
    columns = {"smoking": answers, "who": people, "remark": [REMARK] * TOTAL}
    path = tmp_path_factory.mktemp("data") / "survey.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def oblivious() -> Iterator[None]:
    with planted(dc.LatticeGeometric, DRAWN):
        yield


def observed(
    survey: Path, folder: Path, caplog: pytest.LogCaptureFixture, meanwhile: Callable[[Ledger], object] = lambda _: None
) -> dict[str, bytes]:
    """All that a release, its record, its pictures and its ledger show to anyone, if someone does this meanwhile."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="sqlalchemy")
    caplog.clear()
    book = Ledger(folder / "ledger.db")
    book.create("survey", 100)
    meanwhile(book)
    seen: dict[str, bytes] = {}

    def run(name: str, *arguments: str) -> None:
        result = CliRunner(env={"COLUMNS": "160"}).invoke(app, list(arguments))
        assert result.exit_code == 0, result.output
        seen[name] = result.output.encode()

    base = ["release", str(survey), "-c", "smoking", "--categories", ",".join(LABELS), "-e", "1", "--other", "current"]
    charged = ["--ledger", str(folder / "ledger.db"), "--dataset", "survey"]
    for unit, more in (("record", []), ("person", ["--privacy-id", "who"])):
        pictures = ["--output", str(folder / f"{unit}.json"), "--plot", str(folder / f"{unit}.svg")]
        run(f"table, {unit}", *base, *charged, *more, *pictures)
        run(f"printed json, {unit}", *base, *charged, *more, "--json", "--plot", str(folder / f"{unit}.png"))
        seen |= {f"{ending}, {unit}": (folder / f"{unit}.{ending}").read_bytes() for ending in ("json", "svg", "png")}
    run("history", "ledger", "history", str(folder / "ledger.db"), "survey")
    run("history as json", "ledger", "history", str(folder / "ledger.db"), "survey", "--json")
    run("show", "ledger", "show", str(folder / "ledger.db"))

    counts = count(survey, "smoking", LABELS, other="current")
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=LABELS), counts.total, 1)
    found = book.release("survey", mechanism, counts)
    shown = [counts, mechanism, found, found.noise_aware(), found.reported, book, book.history("survey"), book.accountant("survey")]
    seen["repr"] = "\n".join(f"{thing!r} {thing} {pformat(thing)}" for thing in shown).encode()
    seen["html"] = "\n".join(thing._repr_html_() for thing in shown if hasattr(thing, "_repr_html_")).encode()
    seen["pickle"] = pickle.dumps(found)
    seen["law"] = repr(mechanism.release(counts)).encode() + repr(mechanism._loss_atoms()).encode()
    seen["ledger file"] = (folder / "ledger.db").read_bytes()
    seen["ledger rows"] = _rows(folder / "ledger.db")
    seen["log"] = "\n".join(f"{record.getMessage()} {_timeless(record)}" for record in caplog.records).encode()
    return seen


def _timeless(record: logging.LogRecord) -> dict[str, Any]:
    """What a log's record holds but for clocks and numbers of processes and threads, whose digits look like anything now and then."""
    clocks = ("created", "msecs", "relativeCreated", "thread", "process")
    return {name: value for name, value in vars(record).items() if name not in clocks}


def _rows(path: Path) -> bytes:
    connection = sqlite3.connect(path)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = [row for name in names for row in connection.execute(f"SELECT * FROM {name}")]  # noqa: S608 - names from the file
    connection.close()
    return repr(rows).encode()


def test_nothing_that_is_shown_holds_a_secret(survey: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, oblivious: None) -> None:
    seen = observed(survey, tmp_path, caplog)
    assert {name: found_in(content) for name, content in seen.items() if found_in(content)} == {}
    assert all(seen.values())  # every channel has something to look at, the log included
    assert b"INSERT INTO discreet_spend" in seen["log"]


def test_what_is_shown_does_not_depend_on_the_answers(tmp_path: Path) -> None:
    """Two surveys that differ in every answer, with the same public numbers, give the same bytes."""
    records, seen = [], []
    for folder, answers in (("one", ["never"] * 60), ("two", ["former", "current", VALUE] * 20)):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "survey.csv"
        path.write_text("smoking\n" + "\n".join(answers) + "\n", encoding="utf-8")
        base = ["release", str(path), "-c", "smoking", "--categories", ",".join(LABELS), "-e", "1", "--other", "current"]
        for name, more in (("table", []), ("json", ["--json"])):
            output = tmp_path / folder / f"{name}.json"
            with planted(dc.LatticeGeometric, (10, 20, 30)):
                result = CliRunner().invoke(app, [*base, *more, "--output", str(output)])
            assert result.exit_code == 0, result.output
            seen.append((folder, result.output))
            records.append((name, output.read_bytes()))
    assert records[:2] == records[2:]
    assert [text for folder, text in seen if folder == "one"] == [text for folder, text in seen if folder == "two"]


# --- errors -----------------------------------------------------------------------------------------------------------


def failing(folder: Path, survey: Path) -> dict[str, Callable[[], Any]]:
    """Calls that must fail, each with a secret at hand."""
    prior = dc.Dirichlet([1, 1, 1], categories=LABELS)
    mechanism = dc.LatticeGeometric(prior, TOTAL, 1)
    frame = {"smoking": [VALUE, None, "never"], "who": [PERSON, None, PERSON]}
    book = Ledger(folder / "ledger.db")
    book.create("survey", "0.5")
    (folder / "bare.csv").write_text(f"{VALUE},{PERSON}\nnever,{REMARK}\n", encoding="utf-8")
    (folder / "ragged.csv").write_text(f"smoking\nnever\n{VALUE},{PERSON},{REMARK}\n", encoding="utf-8")
    (folder / "broken.json").write_text('[{"smoking": "' + VALUE, encoding="utf-8")
    (folder / "broken.parquet").write_text(VALUE, encoding="utf-8")
    (folder / "latin.csv").write_bytes(f"smoking,who\n{VALUE},{PERSON}\n".encode("latin-1"))
    calls: dict[str, Callable[[], Any]] = {
        "undeclared": lambda: count(survey, "smoking", LABELS),
        "undeclared, by person": lambda: count(survey, "smoking", LABELS, privacy_id="who"),
        "no such column": lambda: count(survey, "Smoking", LABELS),
        "not of this kind": lambda: count(survey, "smoking", LABELS, nulls="pipe"),
        "cast": lambda: count(duckdb.read_parquet(str(survey)).project("CAST(smoking AS INTEGER) AS smoking"), "smoking", [1, 2]),
        "undeclared group": lambda: count(survey, "who", ["x", "y"], other="x", by={"smoking": LABELS}),
        "undeclared group, by person": lambda: count(survey, "remark", ["x", "y"], "who", other="x", by={"smoking": LABELS}),
        "wrong total": lambda: dc.LatticeGeometric(prior, 60, 1).release(COUNTS),
        "wrong length": lambda: mechanism.release(COUNTS[:2]),
        "negative": lambda: mechanism.release([-COUNTS[0], *COUNTS[1:]]),
        "fraction": lambda: mechanism.release([COUNTS[0] + 0.5, *COUNTS[1:]]),
        "text": lambda: mechanism.release([VALUE, PERSON, str(COUNTS[0])]),
        "huge": lambda: mechanism.release([COUNTS[0] * 10**40, 1, 1]),
        "nested": lambda: mechanism.release([[VALUE], [str(COUNTS[0]), "2"]]),
        "other categories": lambda: mechanism.release(CategoryCounts(np.array(COUNTS), (VALUE, PERSON, REMARK), "record")),
        "unit": lambda: mechanism.release(CategoryCounts(np.array(COUNTS), LABELS, "person"), unit="record"),
        "no guarantee": lambda: dc.HellingerLocal(prior, TOTAL, 1).release(COUNTS),
        "too large": lambda: dc.HellingerGlobal(dc.Dirichlet([1] * 10), 10 * TOTAL, 1).release([*COUNTS, *[TOTAL] * 9][:10]),
        "no budget": lambda: book.release("survey", mechanism, COUNTS),
        "no dataset": lambda: book.release("panel", mechanism, COUNTS),
        "counts in a description": lambda: book.spend("survey", "0.1", description={"counts": np.array(COUNTS)}),
        "counts as a note": lambda: book.spend("survey", "0.1", note=COUNTS),  # type: ignore[arg-type]
        "no bits": lambda: mechanism.release(COUNTS, source=_Dry()),
        "no random numbers": lambda: mechanism.simulate(COUNTS, 0),
        "not an outcome": lambda: mechanism.log_prob(COUNTS, [VALUE] * 3),
        "too large to list": lambda: dc.HellingerLocal(prior, TOTAL, 1).law(COUNTS),
    }
    for table in (pd.DataFrame(frame), pl.DataFrame(frame), pl.LazyFrame(frame), pa.table(frame)):
        kind = f"{type(table).__module__}.{type(table).__name__}"
        calls |= {
            f"undeclared, {kind}": partial(count, table, "smoking", LABELS, nulls="never"),
            f"null, {kind}": partial(count, table, "smoking", LABELS, other="never"),
            f"no id, {kind}": partial(count, table, "smoking", LABELS, privacy_id="who", nulls="never", other="never"),
        }
    files = ("bare.csv", "ragged.csv", "broken.json", "broken.parquet", "latin.csv")
    return calls | {file: partial(count, folder / file, "smoking", LABELS) for file in files}


class _Dry:
    """A source of random bits that has none."""

    secret = True

    def bits(self, count: int) -> int:
        return -count


def test_no_error_holds_a_secret(survey: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="sqlalchemy")
    for name, call in failing(tmp_path, survey).items():
        aside = io.StringIO()
        with redirect_stdout(aside), redirect_stderr(aside), pytest.raises(DiscreetError) as caught:
            call()
        # The traceback quotes this file's own lines, in which the secrets have names and not values.
        assert found_in(said(caught.value) + aside.getvalue()) == set(), name
    assert found_in("\n".join(f"{record.getMessage()} {record.exc_text}" for record in caplog.records)) == set()
    assert found_in((tmp_path / "ledger.db").read_bytes()) == set()


@pytest.mark.parametrize("categories", ["never,former", "never,former,current"])
def test_no_refusal_of_the_command_holds_a_secret(survey: Path, categories: str) -> None:
    result = CliRunner().invoke(app, ["release", str(survey), "-c", "smoking", "--categories", categories, "-e", "1"])
    assert result.exit_code == 2
    assert found_in(result.output + said(result.exception)) == set()


def test_not_even_a_defect_shows_the_data(survey: Path) -> None:
    """A crash prints where it happened, and none of the variables there."""
    crash = "from discreet.mechanisms.lattice import LatticeGeometric as L; L._draw_noise = lambda self, source: 1 / 0; "
    run = f"{crash}from discreet.cli import app; app()"
    asked = ["release", str(survey), "-c", "smoking", "--categories", ",".join(LABELS), "-e", "1", "--other", "current"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", run, *asked], capture_output=True, check=False, timeout=120, env={**os.environ, "COLUMNS": "300"}
    )
    assert b"ZeroDivisionError" in done.stderr
    assert found_in(done.stdout + done.stderr) == set()


# --- the same search, where there is something to find ----------------------------------------------------------------


def test_a_draw_that_repeats_the_data_is_found(survey: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with planted(dc.LatticeGeometric, None):
        seen = observed(survey, tmp_path, caplog)
    for name in ("table, record", "printed json, record", "json, record", "json, person", "repr", "html"):
        assert str(COUNTS[0]) in found_in(seen[name]), name


def test_counts_in_the_ledger_the_log_and_the_picture_are_found(
    survey: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, oblivious: None
) -> None:
    save = Figure.savefig

    def careless(book: Ledger) -> None:
        logging.getLogger("discreet").debug("remark %s", REMARK)
        book.spend("survey", 1, description={"counts": list(COUNTS), "first": PERSON})

    def labelled(figure: Figure, *arguments: Any, **options: Any) -> None:
        figure.suptitle(VALUE)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", labelled)
    seen = observed(survey, tmp_path, caplog, careless)
    for name in ("ledger file", "ledger rows"):
        assert {str(COUNTS[0]), PERSON} <= found_in(seen[name]), name
    assert REMARK in found_in(seen["log"])
    assert VALUE in found_in(seen["svg, record"])


@pytest.mark.parametrize("hidden", ["message", "cause", "context", "argument", "note"])
def test_secrets_anywhere_in_an_error_are_found(hidden: str) -> None:
    error = DiscreetError(VALUE if hidden == "message" else "all is well")
    if hidden == "cause":
        error.__cause__ = KeyError(VALUE)
    if hidden == "context":
        error.__context__ = ValueError("outer")
        error.__context__.__cause__ = ValueError(VALUE)
    if hidden == "argument":
        error.args = ("all is well", [VALUE])
    if hidden == "note":
        error.add_note(VALUE)
    assert VALUE in found_in(said(error))


def test_every_spelling_is_found() -> None:
    for secret in SECRETS:
        for text in (secret, json.dumps(secret), repr(secret), ascii(secret)):
            assert secret in found_in(f"before {text} after")
        assert secret in found_in(secret.encode("utf-16"))
    assert found_in("n = 74,700 records, 24000, 25000") == set()
    assert found_in("[cached since 0.4195s ago] at 10:20:30.313370, <Row at 0x7f0031337a10>") == set()
    assert found_in("[cached since 0.4195s ago] 31337 at 10:20:30, 0x31337") == {"31337"}


def test_what_an_engine_said_is_not_kept_in_a_frame_of_the_error(tmp_path: Path) -> None:
    """Reporters of errors look into the variables of every frame."""
    (tmp_path / "ragged.csv").write_text("a,b\n" + "x,1\n" * 30_000 + "telltale,1,2,3\n")
    with pytest.raises(dc.SourceError) as caught:
        dc.count(tmp_path / "ragged.csv", "a", ["x", "y"])
    frames = [entry.frame for entry in caught.traceback if Path(entry.path).is_relative_to(Path(dc.__file__).parent)]
    assert frames
    assert not [name for frame in frames for name, value in frame.f_locals.items() if isinstance(value, str) and "telltale" in value]


def test_rich_does_not_print_what_is_held_for_a_draw() -> None:
    """It prints the fields of a class, also of one that has no repr."""
    single = dc.LatticeGeometric(dc.Beta(1, 1), None, 1)
    table = dc.LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": ["a", "b"]})
    held = [single.prepare([31337, 4]), single._sampler((31337, 4)), table.prepare([[31337, 4], [2, 1]])]
    held.append(table._sampler(np.array([[31337, 4], [2, 1]])))
    assert all("31337" not in pretty_repr(thing) for thing in held)
    assert "guarantee" in pretty_repr(held[0])  # rich does look at the fields
    law = dc.LatticeGeometric(dc.Beta(1, 1), 3, 1).law([2, 1])
    assert "log_probability" not in pretty_repr(law)
