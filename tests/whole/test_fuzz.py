"""Whatever is typed or passed: a valid release, or a DiscreetError in one line; never a traceback, never a charge without its release."""

import csv
import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import Result

import discreet as dc
from discreet.data.count import CategoryCounts, count
from discreet.errors import DiscreetError
from discreet.ledger.ledger import Budget, Ledger, Loss, Spend
from discreet.mechanisms import MECHANISMS
from discreet.record.release import Release
from discreet.requests.parsing import parse_prior
from tests.cli.support import invoke

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

CALLS = {"release": (45, 400), "ledger": (25, 200), "count": (60, 400), "draw": (40, 500), "spend": (20, 300)}
"""Calls of each kind in the normal run and in the slow one."""
DATASET = "survey"
DISTINCT = 50
NEW = "(new)"
"""Stands for the next of the new names: a name that nothing has yet."""

NASTY = [
    *("", " ", "\n", "a\nb", "\t", "\x00", "a\x00b", "\x1b[31m", "\u2028", "\ufeff", "\udcff", "🙂", "e\u0301", "İ", "\u202e", "٣"),
    *("[bold]", "[/]", "[/bold]", "[link=x]", "\\", "back\\[", ":smile:", "$x^2$", "$", "%s", "{0}", "_hidden", "^.*$", "*", "a,b", ",,,"),
    *("'", '"', "'; DROP TABLE discreet_spend; --", '" OR 1=1 --', "--json", "-q", "--", "-", "--ledger=x", "null", "None", "NaN", "error"),
    *("~", "~nobody-of-this-name", "../..", "/", "x" * 300, "x" * 5000, "s3://bucket/x", "sqlite://", ":memory:", "0"),
]
NUMBERS = [
    *("1", "0.5", "1/3", "2", "1e-14", "1e15", "0.001", "30"),
    *("0", "-1", "-0", "nan", "inf", "-inf", "sNaN", "", " ", "1/0", "1e999999999", "-1e999999999", "1e-999999999", "0e999999999"),
    *("9" * 100_000, "0." + "3" * 100_000, "1e16", "1e-16", "1e400", "1_000", "0x10", "½", "²", "٣", "1,5", "1e", "[bold]1", "1\n", "\x00"),
]
OBJECTS = [
    *(None, True, 0, -1, 1, 0.5, -0.5, float("nan"), float("inf"), 1e308, 5e-324, 10**400),
    *(b"a", (), [], {}, object(), 1j, range(3), *NASTY, *NUMBERS),
]

nasty = st.sampled_from(NASTY) | st.text(max_size=8)
number = st.sampled_from(NUMBERS) | st.floats().map(str) | st.fractions().map(str) | nasty
huge = st.integers(0, 2).map(lambda which: (10**5000, -(10**5000), Fraction(1, 10**5000))[which])  # too long for a repr
anything = st.sampled_from(OBJECTS) | huge | st.integers() | st.floats() | nasty | st.lists(st.integers(-2, 40), max_size=4)
sizes = st.integers(2, DISTINCT)
names = st.sampled_from([*(cls.__name__ for cls in MECHANISMS), "lattice", "EHD", "EHDS", "LATTICE"])


def labels(k: int) -> list[str]:
    return [f"c{i}" for i in range(k)]


def odd_ones(arguments: list[str], oddities: int) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from(arguments), min_size=oddities, max_size=oddities)


def some(draw: st.DrawFn, odd: set[str], name: str, usual: st.SearchStrategy[Any], unusual: st.SearchStrategy[Any]) -> Any:
    """An argument as it should be, unless it is one of the odd ones of this call."""
    return draw(unusual if name in odd else usual)


# --- a place to work in -----------------------------------------------------------------------------------------------


@dataclass
class Place:
    """Files to read and a ledger to charge."""

    folder: Path
    new_names: Iterator[str] = field(default_factory=lambda: map("new{}".format, itertools.count()))

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.db"

    def lines(self) -> int:
        with closing(sqlite3.connect(self.ledger)) as connection:
            return int(connection.execute("SELECT count(*) FROM discreet_spend").fetchone()[0])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")  # whatever a call may write, it writes here
    for k in (2, 3, DISTINCT):
        values = (labels(k) * 60)[:60]
        rows = pa.table({"answer": values, "who": [f"p{i // 2}" for i in range(60)], "gap": [None, *values[1:]]})
        pq.write_table(rows, tmp_path / f"k{k}.parquet")
        pd.DataFrame(rows.to_pydict()).to_csv(tmp_path / f"k{k}.csv", index=False)
    (tmp_path / "broken.csv").write_bytes(b'answer,who\n"c0,\xff\n')
    (tmp_path / "empty.parquet").touch()
    Ledger(tmp_path / "ledger.db").create(DATASET, 10**30)
    yield Place(tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def fuzzed(strategy: Callable[[int], st.SearchStrategy[Any]], answered: Callable[[Any], bool], calls: int) -> None:
    """Make this many calls, with no, one and two odd arguments. `answered` checks what comes of a call and says whether it is an answer,
    which it has to be if nothing is odd. A call that fails is made smaller before it is shown."""

    def refused(odd: int) -> int:
        tally = [0, 0]

        @settings(max_examples=-(-calls // 3), suppress_health_check=list(HealthCheck))
        @given(strategy(odd))
        def one(call: Any) -> None:
            is_answered = answered(call)
            assert odd or is_answered, f"nothing is odd about {call}"
            tally[is_answered] += 1

        one()
        assert not odd or sum(tally) >= calls // 3  # of calls with nothing odd there may be fewer
        return tally[False]

    assert sum(map(refused, range(3))) > 0


def how_many(kind: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    sample, whole = CALLS[kind]
    return pytest.mark.parametrize("calls", [sample, pytest.param(whole, marks=pytest.mark.slow)])


def assert_one_line(error: BaseException) -> None:
    assert isinstance(error, DiscreetError), repr(error)
    assert len(str(error).splitlines()) == 1, str(error)[:200]
    assert len(str(error)) < 12_000  # what the caller wrote may be quoted, once


# --- discreet release -------------------------------------------------------------------------------------------------


@st.composite
def release_calls(draw: st.DrawFn, oddities: int) -> list[str]:
    odd = draw(odd_ones(["file", "column", "categories", "epsilon", "options", "more"], oddities))
    k = draw(st.sampled_from([2, 3, DISTINCT]))
    odd_files = st.sampled_from(["../broken.csv", "../empty.parquet", "../*.csv", ".."])
    ending = draw(st.sampled_from(["parquet", "csv"]))
    file = some(draw, odd, "file", st.just(f"../k{k}.{ending}"), nasty | odd_files)
    column = some(draw, odd, "column", st.just("answer"), nasty | st.sampled_from(["gap", "who"]))
    listed = st.lists(nasty, max_size=4).map(lambda more: ",".join([*labels(k), *more])) | st.lists(nasty, max_size=4).map(",".join)
    categories = some(draw, odd, "categories", st.just(",".join(labels(k))), listed)
    epsilon = some(draw, odd, "epsilon", st.sampled_from(NUMBERS[:8]), number)
    call = ["release", file, f"--column={column}", f"--categories={categories}", f"--epsilon={epsilon}"]
    usual: dict[str, st.SearchStrategy[str]] = {
        "--mechanism": st.sampled_from(["lattice", "LaplaceHistogram", "LaplaceZhang", "LaplaceDimension"]),
        "--prior": st.sampled_from(["uniform", "jeffreys", ",".join(["1/2"] * k)]),
        "--privacy-id": st.just("who"),
        "--nulls": st.just("c0"),
        "--other": st.just("c1"),
        "--output": st.sampled_from([f"{NEW}.json", f"[bold]{NEW}.json", f"../{NEW}.json"]),
    }
    priors = st.lists(st.sampled_from(NUMBERS), min_size=k - 1, max_size=k + 1).map(",".join) | nasty
    unusual = dict.fromkeys(usual, nasty) | {"--gamma": number, "--delta": number, "--prior": priors, "--mechanism": names | nasty}
    options = unusual if "options" in odd else usual
    chosen = draw(st.lists(st.sampled_from(sorted(options)), unique=True, max_size=3))
    call += [f"{name}={draw(options[name])}" for name in chosen]
    if draw(st.booleans()):
        call += ["--ledger=../ledger.db", f"--dataset={DATASET}"]
    quiet = ["--quiet"] if "--output" in chosen or "options" in odd else []  # without a file, nothing would be left of it
    call += draw(st.lists(st.sampled_from(["--json", *quiet]), max_size=1))
    return call + (draw(st.lists(nasty, max_size=2)) if "more" in odd else [])


def called(place: Place, call: list[str]) -> Result:
    return invoke(*(part.replace(NEW, next(place.new_names)) for part in call), columns=120)


def command_answered(place: Place, call: list[str]) -> bool:
    """Whether a command answered. If not, it refused in one line and charged nothing."""
    before = place.lines()
    result = called(place, call)
    charged = place.lines() - before
    assert "Traceback" not in result.output
    if result.exit_code == 0:
        assert result.exception is None
        if call[0] == "release" and "--help" not in call:
            assert charged == any(part.startswith("--ledger=") for part in call)
            if "--json" in call and "--quiet" not in call:
                assert isinstance(Release.from_json(result.stdout), Release)
        if call[:2] == ["ledger", "spend"] and "--help" not in call:
            assert charged == ("../ledger.db" in call)  # any other ledger is one that an earlier call has made
        return True
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 2
    assert charged == 0
    assert result.stdout == ""
    # What the parser of the command line refuses comes with a reminder of the usage.
    said = [line for line in result.stderr.splitlines(keepends=True) if not line.startswith("notice: ")]
    assert "Usage: " in result.stderr or (len(said) == 1 and said[0].startswith("error: ")), result.stderr
    return False


@how_many("release")
def test_the_release_command(place: Place, calls: int) -> None:
    fuzzed(release_calls, lambda call: command_answered(place, call), calls)


# --- discreet ledger --------------------------------------------------------------------------------------------------


@st.composite
def ledger_calls(draw: st.DrawFn, oddities: int) -> list[str]:
    odd = draw(odd_ones(["location", "dataset", "epsilon", "options"], oddities))
    odd_places = st.sampled_from(["../k2.csv", "..", "new.db", "sqlite:///new.db", "postgresql://%", "x://y"])
    location = some(draw, odd, "location", st.just("../ledger.db"), nasty | odd_places)
    action = draw(st.sampled_from(["create", "show", "history", "spend"]))
    dataset = some(draw, odd, "dataset", st.just(NEW if action == "create" else DATASET), nasty)
    call = ["ledger", action, *draw(st.just(["--"]) | st.just([])), location]
    if action != "show":
        call.append(dataset)
    if action in ("create", "spend"):
        options = ("delta", "planned-epsilon") if action == "create" else ("delta", "note")
        chosen = draw(st.sets(st.sampled_from(options))) if "options" in odd else ()
        given = [f"--{option}={draw(nasty if option == 'note' else number)}" for option in sorted(chosen)]
        call[2:2] = [f"--epsilon={some(draw, odd, 'epsilon', st.sampled_from(NUMBERS[:8]), number)}", *given]
    return [*call[:2], *draw(st.just([]) | st.just(["--json"])), *call[2:]] if action in ("show", "history") else call


@how_many("ledger")
def test_the_ledger_commands(place: Place, calls: int) -> None:
    fuzzed(ledger_calls, lambda call: command_answered(place, call), calls)


# --- count ------------------------------------------------------------------------------------------------------------

TABLES: list[Callable[[dict[str, Any]], Any]] = [
    pa.table,
    lambda columns: pl.DataFrame(columns, strict=False),
    lambda columns: pd.DataFrame(columns),
]


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """A table of labels."""
    answers = draw(st.lists(st.sampled_from(labels(3)), min_size=1, max_size=8))
    who = draw(st.lists(st.sampled_from(labels(3)), min_size=len(answers), max_size=len(answers)))
    return draw(st.sampled_from(TABLES))({"answer": answers, "who": who})


@st.composite
def odd_tables(draw: st.DrawFn) -> Any:
    rows = draw(st.integers(0, 8))
    text = st.sampled_from([*labels(3), None]) | st.text(st.characters(codec="utf-8"), max_size=4)
    values = draw(st.sampled_from([text, st.integers(-3, 3) | st.none(), st.floats(width=32), st.booleans(), st.binary(max_size=2)]))
    columns = {"answer": draw(st.lists(values, min_size=rows, max_size=rows)), "who": draw(st.lists(text, min_size=rows, max_size=rows))}
    return draw(st.sampled_from(TABLES))(columns)


@st.composite
def counts_calls(draw: st.DrawFn, oddities: int) -> tuple[Any, dict[str, Any]]:
    odd = draw(odd_ones(["source", "column", "categories", "privacy_id", "nulls", "other"], oddities))
    return some(draw, odd, "source", tables(), odd_tables() | anything), {
        "column": some(draw, odd, "column", st.just("answer"), anything),
        "categories": some(draw, odd, "categories", st.just([*labels(3), 0, 1, "true"]), st.lists(anything, max_size=4) | anything),
        "privacy_id": some(draw, odd, "privacy_id", st.none() | st.just("who"), anything),
        "nulls": some(draw, odd, "nulls", st.sampled_from(["c0", "error", 0]), anything),
        "other": some(draw, odd, "other", st.sampled_from(["c1", "error", 1]), anything),
    }


@how_many("count")
def test_counting(place: Place, calls: int) -> None:
    def answered(call: tuple[Any, dict[str, Any]]) -> bool:
        source, arguments = call
        try:
            found = count(source, **arguments)
        except Exception as error:
            assert_one_line(error)
            return False
        assert isinstance(found, CategoryCounts)
        assert found.counts.min() >= 0
        assert found.total == len(source) if found.unit == "record" else found.total <= len(source)
        return True

    fuzzed(counts_calls, answered, calls)


# --- mechanisms and their releases ------------------------------------------------------------------------------------


@st.composite
def draws(draw: st.DrawFn, oddities: int) -> dict[str, Any]:
    odd = draw(odd_ones(["name", "prior", "n", "epsilon", "counts", "options", "unit"], oddities))
    promising = names.filter(
        lambda name: name not in ("HellingerLocal", "HellingerSmoothDelta", "DiscreteGaussian")
    )  # no promise; and a δ, where none is left
    name = some(draw, odd, "name", promising, names | anything)
    k = draw(st.integers(2, 3) if isinstance(name, str) and name[:1] in "EH" else sizes)  # exact draws of large tables take their time
    counts = [draw(st.integers(1, 12)), *draw(st.lists(st.integers(0, 12), min_size=k - 1, max_size=k - 1))]
    return {
        "name": name,
        "prior": some(draw, odd, "prior", st.just(["1/2"] * k), st.lists(anything, min_size=k - 1, max_size=k) | anything),
        "n": some(draw, odd, "n", st.just(sum(counts)), anything),
        "epsilon": some(draw, odd, "epsilon", st.sampled_from(["1", 0.5, Fraction(1, 3)]), anything | number),
        "counts": some(draw, odd, "counts", st.just(counts), st.lists(anything, min_size=k, max_size=k) | anything),
        "options": some(draw, odd, "options", st.just({}), st.dictionaries(st.sampled_from(["gamma", "delta", "x"]), anything | number)),
        "unit": some(draw, odd, "unit", st.sampled_from([None, "record", "person"]), anything),
    }


@how_many("draw")
def test_releasing(place: Place, calls: int) -> None:
    ledger = Ledger(place.ledger)

    def answered(call: dict[str, Any]) -> bool:
        before = place.lines()
        try:
            prior = dc.Dirichlet(call["prior"])
            mechanism = dc.mechanism(call["name"], prior, call["n"], call["epsilon"], **call["options"])
            found = ledger.release(DATASET, mechanism, call["counts"], unit=call["unit"])
        except Exception as error:
            assert_one_line(error)
            assert place.lines() == before
            return False
        assert place.lines() == before + 1
        assert Release.from_json(found.to_json()) == found
        assert found.guarantee.basis != "none"
        return True

    fuzzed(draws, answered, calls)


# --- the ledger -------------------------------------------------------------------------------------------------------


@st.composite
def spends(draw: st.DrawFn, oddities: int) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    odd = draw(odd_ones(["dataset", "amount", "delta", "unit", "note", "description"], oddities))
    amount = some(draw, odd, "amount", st.sampled_from(["0.1", Fraction(1, 3), 1, 0.1]), anything | number | st.just(Loss(Fraction(1, 7))))
    delta = some(draw, odd, "delta", st.just(0), anything | number)
    if draw(st.booleans()):
        dataset = some(draw, odd, "dataset", st.just(NEW), anything)
        return "create", (dataset, amount, delta), {"unit": some(draw, odd, "unit", st.sampled_from(["record", "person"]), anything)}
    dataset = some(draw, odd, "dataset", st.just(DATASET), anything)
    described = st.dictionaries(nasty, anything, max_size=2) | anything
    description = some(draw, odd, "description", st.none() | st.just({"mechanism": "by hand"}), described)
    return "spend", (dataset, amount, delta), {"note": some(draw, odd, "note", st.just("why"), anything), "description": description}


@how_many("spend")
def test_creating_and_spending(place: Place, calls: int) -> None:
    ledger = Ledger(place.ledger)

    def answered(call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> bool:
        action, arguments, options = call
        before = place.lines()
        try:
            dataset, *amounts = arguments
            found = getattr(ledger, action)(next(place.new_names) if dataset == NEW else dataset, *amounts, **options)
        except Exception as error:
            assert_one_line(error)
            assert place.lines() == before
            return False
        assert isinstance(found, Spend if action == "spend" else Budget)
        assert place.lines() == before + (action == "spend")
        assert ledger.remaining(found.dataset).epsilon >= 0
        return True

    fuzzed(spends, answered, calls)


# --- once found ---------------------------------------------------------------------------------------------------------

PRIOR = dc.Dirichlet([1, 1])
HUGE = 10**5000
"""Python refuses to write out an integer of so many digits, in a message too."""


@pytest.mark.parametrize(
    "call",
    [
        lambda: dc.LatticeGeometric(PRIOR, 10, HUGE),
        lambda: dc.LatticeGeometric(PRIOR, -HUGE, 1),
        lambda: dc.LatticeGeometric(PRIOR, 10, 1).release([5, 5], unit=HUGE),  # type: ignore[arg-type]
        lambda: dc.mechanism(HUGE, PRIOR, 10, 1),  # type: ignore[arg-type]
        lambda: dc.Dirichlet([1, -HUGE]),
        lambda: dc.Dirichlet(["1", "1e1000"]),
        lambda: dc.Dirichlet(["1", "1e-1000"]),
        lambda: Ledger("new.db").create(DATASET, -HUGE),
        lambda: Ledger("new.db").create(DATASET, 1, HUGE),
        lambda: Ledger("new.db").create(DATASET, 1, unit=HUGE),  # type: ignore[arg-type]
        lambda: Ledger("~nobody-of-this-name/ledger.db"),
        lambda: Ledger("x" * 300),
        lambda: count("~nobody-of-this-name/survey.csv", "answer", labels(2)),
        lambda: count("x" * 300 + ".csv", "answer", labels(2)),
        lambda: count("a\x00b.csv", "answer", labels(2)),
        lambda: count(pa.table({"answer": ["c0"]}), "answer", ["c0", HUGE]),
        lambda: parse_prior("uniform:²"),
        lambda: parse_prior("uniform:" + "9" * 5000),
    ],
)
def test_what_was_a_traceback_once(place: Place, call: Callable[[], Any]) -> None:
    with pytest.raises(DiscreetError) as caught:
        call()
    assert_one_line(caught.value)
    assert not Path("new.db").exists()


# --- the whole of the nasty labels, and what must be found out --------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Glyph", "ignore:Matplotlib currently does not support")
def test_any_label_can_be_drawn_and_printed(place: Place) -> None:
    odd = [label.strip() for label in NASTY if label.strip() and "\udcff" not in label and "\x00" not in label and len(label) < 50]
    csv.writer(line := StringIO(), quoting=csv.QUOTE_ALL, lineterminator="").writerow(dict.fromkeys([*labels(3), *odd]))
    categories = line.getvalue()
    for picture in ("odd.svg", "odd.png"):
        call = ["release", "../k3.csv", "--column=answer", f"--categories={categories}", "--epsilon=1", f"--plot={picture}"]
        result = called(place, call)
        assert result.exit_code == 0, (result.output, result.exception)
        assert Path(picture).stat().st_size > 2000


def test_a_traceback_is_found_out(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def crashes(*_arguments: Any, **_options: Any) -> None:
        raise KeyError("secret")

    monkeypatch.setattr("os.urandom", crashes)
    with pytest.raises(AssertionError, match="KeyError"):
        command_answered(place, ["release", "../k3.csv", "--column=answer", "--categories=c0,c1,c2", "--epsilon=1"])


def test_a_charge_without_its_release_is_found_out(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def charges_and_fails(*_arguments: Any, **_options: Any) -> None:
        Ledger(place.ledger).spend(DATASET, 1)
        raise DiscreetError("too late")

    monkeypatch.setattr("os.urandom", charges_and_fails)
    with pytest.raises(AssertionError, match="1 == 0"):
        command_answered(place, ["release", "../k3.csv", "--column=answer", "--categories=c0,c1,c2", "--epsilon=1"])
