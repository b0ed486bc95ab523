"""`--public nothing`: no word, file or exit code depends on how many records there are.

Oracle: two neighbouring datasets, one of them empty, and others whose sizes differ. The draw is replaced by one that ignores the counts;
then all that is left must be the same, byte by byte. The negative control is a public n, where the same search finds the size.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.ledger.ledger import Ledger
from discreet.sampling import SeededBits
from discreet.sampling.bits import CountedBits
from tests.cli.support import assert_refused, invoke
from tests.support import mostly_slow, planted

LABELS = ("low", "high", "rest", "none")
ASKED = ["-c", "risk", "--categories", ",".join(LABELS), "-e", "1", "--yes"]
PRIVATE = [*ASKED, "--public", "nothing"]
STRICT = ["--nulls", "none", "--other", "rest", "--strict"]

Rows = list[tuple[str, str | None]]
NOBODY: Rows = []
SIZES: dict[str, Rows] = {
    "nobody": NOBODY,
    "one": [("P1", "low")],
    "three": [("P1", "low"), ("P2", "low"), ("P3", "high")],
    "many": [(f"P{number}", LABELS[number % 4]) for number in range(20_000)],
}
"""Datasets of all sizes: whoever cannot tell neighbours apart cannot tell these apart."""


def write_csv(rows: Rows, path: Path) -> None:
    path.write_text("who,risk\n" + "".join(f"{who},{answer or ''}\n" for who, answer in rows))


def write_parquet(rows: Rows, path: Path) -> None:
    columns = {"who": [who for who, _ in rows], "risk": [answer for _, answer in rows]}
    pq.write_table(pa.table(columns, pa.schema([("who", pa.string()), ("risk", pa.string())])), path)


def write_json(rows: Rows, path: Path) -> None:
    path.write_text("".join(json.dumps({"who": who, "risk": answer}) + "\n" for who, answer in rows))


FORMATS: dict[str, Callable[[Rows, Path], None]] = {"csv": write_csv, "parquet": write_parquet, "jsonl": write_json}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _planted() -> Iterator[None]:
    with planted(dc.LatticeGeometric, (3, -1, 2, 0)):
        yield


# --- the search -------------------------------------------------------------------------------------------------------


def everything(kind: str, rows: Rows, more: Sequence[str]) -> tuple[Any, ...]:
    """All that a release leaves behind: exit codes, both streams, the record, the ledger, and what `show` and `verify` say."""
    for left in ("record.json", "ledger.db"):
        Path(left).unlink(missing_ok=True)
    FORMATS[kind](rows, Path(f"survey.{kind}"))
    results = [
        invoke("release", f"survey.{kind}", *more, "--output", "record.json"),
        invoke("show", "record.json"),
        invoke("show", "record.json", "--json"),
        invoke("verify", "record.json"),
    ]
    book = Ledger("ledger.db")
    book.create("s", 3, unit="person" if "--privacy-id" in more else "record")
    results.append(invoke("release", f"survey.{kind}", *more, "--ledger", "ledger.db", "--dataset", "s"))
    spends = [(line.loss, line.note, line.description) for line in book.history("s")]
    said = [(result.exit_code, result.stdout, result.stderr, type(result.exception)) for result in results]
    return said, Path("record.json").read_text(), spends, sorted(path.name for path in Path().iterdir())


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize("more", [[], ["--privacy-id", "who"], STRICT, [*STRICT, "--privacy-id", "who"]], ids=lambda more: " ".join(more))
@pytest.mark.parametrize("kind", mostly_slow(FORMATS, 1))
def test_datasets_of_all_sizes_leave_the_same_behind(kind: str, more: list[str]) -> None:
    seen = {name: everything(kind, rows, [*PRIVATE, *more]) for name, rows in SIZES.items()}
    assert [code for code, *_ in seen["nobody"][0][:4]] == [0] * 4, seen["nobody"][0]
    assert {name for name, found in seen.items() if found != seen["nobody"]} == set()


@pytest.mark.usefixtures("_planted")
def test_pictures_of_datasets_of_all_sizes_are_the_same() -> None:
    drawn = []
    for rows in (NOBODY, SIZES["three"]):
        write_csv(rows, Path("survey.csv"))
        Path("picture.svg").unlink(missing_ok=True)
        assert invoke("release", "survey.csv", *PRIVATE, "--plot", "picture.svg").exit_code == 0
        drawn.append(Path("picture.svg").read_text())
    assert drawn[0] == drawn[1]
    assert "Estimated from a private number of records" in drawn[0]


def test_with_a_public_n_the_same_search_finds_the_size() -> None:
    sizes: list[Rows] = [SIZES["one"], [("P1", "high")], SIZES["three"]]
    found = []
    for rows in sizes:
        with planted(dc.LatticeGeometric, (len(rows), 0, 0, 0)):
            found.append(everything("csv", rows, ASKED))
    assert found[0] == found[1]
    assert found[0][0][0] != found[2][0][0]


@pytest.mark.parametrize("kind", mostly_slow(["csv", "parquet"], 1))
def test_nobody_and_somebody_in_processes_of_their_own(kind: str) -> None:
    """The real program with the real draw: but for the noise, nothing differs."""
    seen = []
    for rows in (NOBODY, SIZES["one"]):
        Path("record.json").unlink(missing_ok=True)
        FORMATS[kind](rows, Path(f"survey.{kind}"))
        command = [sys.executable, "-m", "discreet", "release", f"survey.{kind}", *PRIVATE, "--quiet", "--output", "record.json"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
        record = json.loads(Path("record.json").read_text())
        assert len(record.pop("raw")) == len(record.pop("counts")) == len(LABELS)
        seen.append((found.returncode, found.stdout, found.stderr, record))
    assert seen[0][0] == 0
    assert seen[0] == seen[1]


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize("kind", mostly_slow(FORMATS, 1))
def test_strictly_a_row_that_comes_may_say_anything(kind: str) -> None:
    """An undeclared answer and a missing one are answers like any others, also of the only person there is."""
    asked = [*PRIVATE, *STRICT, "--privacy-id", "who"]
    before = everything(kind, NOBODY, asked)
    for answer in ("zebra", None, "low"):
        assert everything(kind, [("P1", answer)], asked) == before
        assert everything(kind, [("P1", "low"), ("P2", answer)], asked) == before


def test_without_strict_an_undeclared_answer_refuses_and_its_absence_does_not() -> None:
    write_csv([("P1", "zebra")], Path("a.csv"))
    write_csv(NOBODY, Path("b.csv"))
    assert invoke("release", "a.csv", *PRIVATE).exit_code == 2
    assert invoke("release", "b.csv", *PRIVATE).exit_code == 0


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize("epsilon", ["1e-9", "0.5", "9"])
def test_no_notice_about_epsilon_depends_on_the_size(epsilon: str) -> None:
    """With a public n a tiny ε is said to be too small for it."""
    seen = []
    for rows in (NOBODY, SIZES["one"], SIZES["three"]):
        write_csv(rows, Path("survey.csv"))
        result = invoke("release", "survey.csv", *PRIVATE, "-e", epsilon, "--json")
        seen.append((result.exit_code, result.stdout, result.stderr))
    assert seen[0] == seen[1] == seen[2]
    assert "only the prior speaks" not in seen[0][2]
    assert "only the prior speaks" in invoke("release", "survey.csv", *ASKED, "-e", "1e-9", "--json").stderr


@pytest.mark.usefixtures("_planted")
def test_no_weight_in_all_is_too_little_or_too_much() -> None:
    seen = []
    for weights in ([], [0], [1], [10**15 - 1] * 20):
        Path("survey.csv").write_text("risk,freq\n" + "".join(f"low,{weight}\n" for weight in weights))
        result = invoke("release", "survey.csv", *PRIVATE, "--weight", "freq")
        seen.append((result.exit_code, result.stdout, result.stderr))
    assert seen[0][0] == 0
    assert seen.count(seen[0]) == 4
    refused = invoke("release", "survey.csv", *ASKED, "--weight", "freq")
    assert (refused.exit_code, "add up to 2**53 or more" in refused.stderr) == (2, True)


# --- dataframes -------------------------------------------------------------------------------------------------------

FRAMES: dict[str, Callable[[Rows], Any]] = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=["who", "risk"]).astype("string"),
    "polars": lambda rows: pl.DataFrame(rows, schema={"who": pl.String, "risk": pl.String}, orient="row"),
    "polars, lazy": lambda rows: pl.LazyFrame(rows, schema={"who": pl.String, "risk": pl.String}, orient="row"),
    "pyarrow": lambda rows: pa.table(
        {"who": pa.array([who for who, _ in rows], pa.string()), "risk": pa.array([answer for _, answer in rows], pa.string())}
    ),
}


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize("privacy_id", [None, "who"])
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_tables_of_all_sizes_have_the_same_counts_to_look_at_and_the_same_release(
    make: Callable[[Rows], Any], privacy_id: str | None
) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=LABELS), epsilon=1)
    seen = set()
    for rows in SIZES.values():
        counts = dc.count(make(rows), "risk", LABELS, privacy_id)
        assert counts.total == len(rows)
        release = mechanism.release(counts)
        assert release.n is None
        seen.add((repr(counts), str(counts), len(counts), counts.unit, repr(release), release._repr_html_(), release.to_json()))
    assert len(seen) == 1


def test_one_more_record_moves_one_count_by_one() -> None:
    """So that what is promised of counts is promised of tables."""
    for answer, place in (("low", 0), ("high", 1), ("zebra", 2), (None, 3)):
        for privacy_id in (None, "who"):
            before, after = (
                np.asarray(dc.count(FRAMES["polars"](rows), "risk", LABELS, privacy_id, nulls="none", other="rest", strict=True))
                for rows in (NOBODY, [("P1", answer)])
            )
            assert (after - before).tolist() == [int(position == place) for position in range(4)]


@pytest.mark.parametrize("made", [dict, Counter, pd.Series, lambda counts: pd.Series(list(Counter(counts).elements())).value_counts()])
def test_a_label_that_nobody_has_is_a_count_of_zero_where_n_is_private(made: Callable[[dict[str, int]], Any]) -> None:
    """What `value_counts()` leaves out must not refuse: whether a category has records is private, and so is whether any has."""
    prior = dc.Dirichlet.uniform(categories=LABELS)
    private, public = dc.LatticeGeometric(prior, epsilon=1), dc.LatticeGeometric(prior, 3, 1)
    assert private._checked(made({"high": 2, "low": 1})).tolist() == [1, 2, 0, 0]
    assert private._checked(made({})).tolist() == [0, 0, 0, 0]
    with pytest.raises(dc.InvalidInputError, match="labels of their own"):
        private._checked(made({"High": 2}))
    with pytest.raises(dc.InvalidInputError, match="labels of their own"):
        public._checked(made({"high": 2, "low": 1}))


# --- the same law -----------------------------------------------------------------------------------------------------


def test_the_release_of_nobody_is_noise_around_zero() -> None:
    """The command draws from the law of the mechanism: at ε = 40 every count is as it is, but for a chance below 1e-16."""
    for name in ("nobody", "three"):
        write_csv(SIZES[name], Path("survey.csv"))
        result = invoke("release", "survey.csv", *PRIVATE, "-e", "40", "--json")
        record = json.loads(result.stdout)
        assert (record["version"], record["n"]) == (4, None)
        assert record["raw"] == ([0, 0, 0, 0] if name == "nobody" else [2, 1, 0, 0])
        assert record["guarantee"]["neighbours"] == "add or remove one"


def test_bits_taken_do_not_depend_on_the_size() -> None:
    """Noise is drawn without a look at the counts, so nothing about the draw can tell them apart."""

    mechanism, seen = dc.LatticeGeometric(dc.Beta(1, 1), epsilon="0.1"), set()
    for counts in ([0, 0], [1, 0], [10**15, 7]):
        source = CountedBits(SeededBits(1))
        raw = mechanism.release(counts, source=source).raw
        seen.add((source.taken, raw[0] - counts[0], raw[1] - counts[1]))
    assert len(seen) == 1


# --- the words --------------------------------------------------------------------------------------------------------


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            ["--public", "nothing"],
            [
                "ε = 1 differential privacy by proof (checked: cells_private); it compares datasets with and without one record",
                "Protected whether a record is in the data, and what it says",
                "Public the categories, the prior and the mechanism; not exactly how many records there are",
            ],
        ),
        (
            ["--public", "nothing", "--privacy-id", "who"],
            [
                "ε = 1 differential privacy by proof (checked: cells_private); it compares datasets with and without one person",
                "Protected whether a person took part, and what they answered",
                "Public the categories, the prior and the mechanism; not exactly how many persons there are",
                "in the first of low, high, rest, none that any of their rows says; the exact number of persons is not published",
            ],
        ),
        (
            ["--public", "total", "--privacy-id", "who"],
            [
                "it compares datasets that differ in one person's answers",
                "Protected what a person answered, in all their rows; not that they took part",
                "Public n = 3 persons, the categories, the prior and the mechanism",
                "n is the number of distinct 'who', and published",
            ],
        ),
    ],
    ids=["records", "persons", "public"],
)
def test_what_is_said_of_both_promises(more: list[str], says: list[str]) -> None:
    write_csv(SIZES["three"], Path("survey.csv"))
    result = invoke("release", "survey.csv", *ASKED, *more, "--output", "record.json")
    for words in says:
        assert words in flat(result.stderr)
    shown = flat(invoke("show", "record.json").stdout)
    for words in says[:3]:
        assert words in shown


def test_verify_says_what_comes_and_goes() -> None:
    said = flat(invoke("verify", "lattice", "--public", "nothing", "-e", "1/2", "--prior", "uniform:3").stdout)
    assert "LatticeGeometric, private n, prior 1,1,1" in said
    assert (
        "Loss 0.5, with all rounding at most 0.5: how much ln(probability) of an outcome can change when a row is added or removed" in said
    )
    assert "between the counts (0, 0, 0) and (1, 0, 0)" in said
    fields = json.loads(invoke("verify", "lattice", "--public", "nothing", "-e", "1/2", "--json").stdout)
    assert (fields["n"], fields["holds"], fields["claimed"]["neighbours"]) == (None, True, "add or remove one")


def test_show_says_how_many_there_may_be() -> None:
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=LABELS), epsilon=1).release([900, 50, 40, 10], unit="person")
    Path("record.json").write_text(release.to_json())
    size = release.noise_aware().size
    low, high = size.interval(0.9)
    shown = json.loads(invoke("show", "record.json", "--json", "--mass", "0.9").stdout)
    assert shown["size"] == {"mean": float(size.mean()), "low": int(low), "high": int(high)}
    said = flat(invoke("show", "record.json", "--mass", "0.9").stdout)
    estimate = f"about {size.mean():,.0f}, between {low:,} and {high:,} with probability 90 % or more"
    assert f"Persons estimated from the noisy counts: {estimate}" in said


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--public", "nothing", "-m", "EHDS"], "HellingerSmooth needs a public n"),
        (["--public", "nothing", "-m", "LaplaceZhang"], "use --public total, or LatticeGeometric, which can do without"),
        (["--public", "n"], "--public must be total (n is published) or nothing (n stays private), got 'n'"),
        ([], "there are no records to count, and their number is public; --public nothing keeps it private"),
    ],
)
def test_what_is_refused_in_one_line(more: list[str], says: str) -> None:
    write_csv(NOBODY, Path("survey.csv"))
    result = invoke("release", "survey.csv", *ASKED, *more)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert says in result.stderr


@pytest.mark.parametrize("rows", SIZES.values(), ids=SIZES)
def test_a_release_with_n_from_a_budget_that_hides_it_is_refused_before_anything_is_counted(rows: Rows) -> None:
    """Also where there is nothing to count, or a file that cannot be counted: what is said depends on the budget alone."""
    Ledger("ledger.db").create("s", 3, neighbours="add or remove one")
    write_csv(rows, Path("survey.csv"))
    refused = [invoke("release", name, *ASKED, "--ledger", "ledger.db", "--dataset", "s") for name in ("survey.csv", "missing.csv")]
    assert {(result.exit_code, result.stdout) for result in refused} == {(2, "")}
    assert {result.stderr for result in refused} == {refused[0].stderr}
    assert "--public nothing" in refused[0].stderr
    assert Ledger("ledger.db").history("s") == ()


@pytest.mark.parametrize(("neighbours", "told"), [("replace one", True), ("add or remove one", False)])
def test_a_release_that_costs_more_than_its_epsilon_says_so_and_why(neighbours: str, told: bool) -> None:
    Ledger("ledger.db").create("s", 3, neighbours=neighbours)
    write_csv(SIZES["three"], Path("survey.csv"))
    words = [word for word in PRIVATE if word != "--yes"]
    asked = ["release", "survey.csv", *words, "--ledger", "ledger.db", "--dataset", "s", "--json"]
    if told:
        assert_refused(invoke(*asked), "would be charged ε = 2 (its own ε = 1", "nothing was spent: with --public total", "--yes")
        assert not Ledger("ledger.db").history("s")
    result = invoke(*asked, *(["--yes"] if told else []))
    assert result.exit_code == 0, result.output
    assert Ledger("ledger.db").spent("s").epsilon == (2 if told else 1)
    said = flat(result.stderr)
    assert ("the budget of 's' would be charged ε = 2" in said) == told
    assert ("replacing one is removing one and adding another" in said) == told
