"""`discreet release` and `discreet ledger`, as a data steward meets them, and the Python calls behind them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import discreet as dc
from discreet.cli import app
from discreet.cli import output_files as files
from discreet.data.count import CategoryCounts
from discreet.errors import BudgetError, DiscreetError, InvalidInputError, RefusedError, TooLargeError
from discreet.ledger.ledger import Ledger, Loss
from tests.cli.support import invoke
from tests.support import LOCKED, lost_after_a_spend, says_interval

ANSWERS = ["never"] * 30 + ["former"] * 18 + ["current"] * 12
LABELS = "never,former,current"
SIGNATURES = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF"}

Invoke = Callable[..., Result]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """60 rows of 45 persons: every third one answered twice."""
    path = tmp_path / "survey.csv"
    rows = [f"P{number % 45},{answer}" for number, answer in enumerate(ANSWERS)]
    path.write_text("who,smoking\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def release(survey: Path) -> Invoke:
    """The command with what it cannot do without; later options win."""

    def call(*arguments: str | Path, file: Path = survey, categories: str = LABELS, epsilon: str = "1") -> Result:
        return invoke("release", file, "--column", "smoking", "--categories", categories, "--epsilon", epsilon, *arguments)

    return call


def assert_refused(result: Result, says: str) -> None:
    """Exit code 2 and one line, on standard error alone."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ")
    assert says in result.stderr


# --- what is printed --------------------------------------------------------------------------------------------------


def test_the_promise_the_unit_the_neighbours_and_what_is_public(release: Invoke) -> None:
    rows = release()
    assert rows.exit_code == 0, rows.output
    promise = "ε = 1 differential privacy by proof (checked: fixed_total_private); it compares datasets that differ in one record"
    assert promise in rows.stderr
    assert "Protected what a record says; not that it is in the data" in rows.stderr
    assert "n = 60 records, the categories, the prior and the mechanism" in rows.stderr
    people = release("--privacy-id", "who")
    assert "it compares datasets that differ in one person's answers" in people.stderr
    assert "Protected what a person answered, in all their rows; not that they took part" in people.stderr
    assert "n = 45 persons" in people.stderr
    assert all(label in rows.stderr for label in LABELS.split(","))


def test_it_says_how_rows_were_counted(release: Invoke) -> None:
    assert "Counted   every row is a record; a person with several rows is protected less (--privacy-id)" in release().stderr
    counted = "Counted   each person once, in the first of never, former, current that any of their rows says"
    assert counted in release("--privacy-id", "who").stderr


def test_no_mechanism_is_praised(release: Invoke) -> None:
    """How accurate one is depends on n, k, ε and the prior; `compare` computes it."""
    for name in ("LatticeGeometric", "LaplaceHistogram"):
        words = release("--mechanism", name).stderr
        assert name in words
        assert not any(praise in words for praise in ("accurate", "best", "percent", "optimal"))


def test_where_only_the_prior_speaks_it_says_so_before_the_spend(release: Invoke, book: Ledger, tmp_path: Path) -> None:
    """n = 60: from ε = 1/60 down no two datasets are told apart by odds of more than e."""
    says = "notice: ε is so small for n = 60 that only the prior speaks"
    assert says in release(epsilon="1/60").stderr
    assert says not in release(epsilon="1/59").stderr
    book.create("spent", "0.0001")
    refused = release("--ledger", tmp_path / "ledger.db", "--dataset", "spent", epsilon="0.001")
    assert refused.exit_code == 2
    assert refused.stderr.startswith(says)
    assert book.history("spent") == ()


def test_without_a_ledger_it_says_so(release: Invoke, book: Ledger, tmp_path: Path) -> None:
    assert "none was named" in release().stderr
    for options in ([], ["--json"], ["--quiet", "--output", tmp_path / "out.json"]):
        assert release(*options).stderr.startswith("notice: no ledger was named, so nobody adds up")
    charged = release("--ledger", tmp_path / "ledger.db", "--dataset", "survey", "--json")
    assert charged.stderr == ""
    charged = release("--ledger", tmp_path / "ledger.db", "--dataset", "survey")
    assert "spent before the draw; ε = 0 left for 'survey'" in charged.stderr


def test_much_epsilon_is_remarked_on(release: Invoke) -> None:
    assert "ε is above" not in release(epsilon="5").stderr
    for epsilon, factor in (("5.01", "150"), ("10", "22,026"), ("1000", "more than 10^434")):
        said = f"notice: ε is above 5: the odds of what someone answered may change by a factor of {factor}"
        assert [line for line in release(epsilon=epsilon).stderr.splitlines() if line.startswith("notice: ε")] == [said]


def test_much_epsilon_is_remarked_on_before_the_spend(release: Invoke, book: Ledger, tmp_path: Path) -> None:
    refused = release("--ledger", tmp_path / "ledger.db", "--dataset", "survey", epsilon="6")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("notice: ε is above 5")
    assert book.history("survey") == ()


def test_the_table_is_about_the_release(release: Invoke, tmp_path: Path) -> None:
    result = release("--output", tmp_path / "out.json")
    found = dc.Release.from_json((tmp_path / "out.json").read_text())
    aware = found.noise_aware()
    for label, count, mean, (low, high) in zip(found.prior.categories, found.counts, aware.mean(), aware.interval(), strict=True):
        row = next(line for line in result.stderr.splitlines() if f" {label} " in line)
        cells = [cell.strip() for cell in row.strip("│").split("│")]
        assert cells[:2] == [str(label), str(count)]
        assert float(cells[2].removesuffix(" %")) == pytest.approx(100 * mean, abs=0.051)
        assert says_interval(cells[3], low, high)


def test_where_no_interval_allows_for_the_noise_it_says_so(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["a", "b", "c"] * 150}), tmp_path / "x.parquet")
    result = invoke("release", tmp_path / "x.parquet", "-c", "x", "--categories", "a,b,c", "-e", "1", "-m", "EHDS", "--yes")
    assert result.exit_code == 0, result.output
    assert "not available" in result.stderr
    assert "no noise-aware posterior of HellingerSmooth" in result.stderr


def test_labels_are_shown_as_they_are(release: Invoke) -> None:
    odd = ["[bold]x", ":smile:", "back\\", "[/]", "🙂", "link=[url]"]
    result = release(categories=f"{LABELS},{','.join(odd)}")
    assert result.exit_code == 0, result.output
    assert all(f" {label} " in result.stderr for label in odd)


# --- what is written --------------------------------------------------------------------------------------------------


def test_json_reads_back_as_the_release(release: Invoke, tmp_path: Path) -> None:
    result = release("--json", "--output", tmp_path / "out.json", "--privacy-id", "who", "--prior", "jeffreys", "--epsilon", "1/3")
    found = dc.Release.from_json(result.stdout)
    assert found == dc.Release.from_json((tmp_path / "out.json").read_bytes())
    assert (found.mechanism.title, found.n, found.guarantee.unit) == ("LatticeGeometric", 45, "person")
    assert found.parameters["epsilon"] == Fraction(1, 3)
    assert found.prior.exact == (Fraction(1, 2),) * 3
    assert found.prior.categories == ("never", "former", "current")
    assert found.guarantee.epsilon >= Fraction(1, 3)


@pytest.mark.parametrize("mechanism", ["lattice", "LaplaceZhang", "laplacedimension", "LapHist", "EHD", "EHDS"])
def test_mechanisms_by_any_of_their_names(release: Invoke, mechanism: str) -> None:
    known = dc.mechanism(mechanism, dc.Dirichlet([1, 1, 1]), 60, 1) if mechanism != "LapHist" else None
    result = release("--json", "--mechanism", mechanism)
    if known is None:
        assert_refused(result, "did you mean")
    else:
        assert dc.Release.from_json(result.stdout).mechanism.title == type(known).__name__


def test_options_of_a_mechanism(release: Invoke) -> None:
    found = dc.Release.from_json(release("--json", "--mechanism", "HellingerSmooth", "--gamma", "1/2").stdout)
    assert found.parameters["gamma"] == Fraction(1, 2)
    assert_refused(release("--gamma", "1"), "LatticeGeometric has no option 'gamma'")


def test_a_prior_of_ones_own(release: Invoke) -> None:
    found = dc.Release.from_json(release("--json", "--prior", "0.5, 2,1/3").stdout)
    assert found.prior.exact == (Fraction(1, 2), Fraction(2), Fraction(1, 3))


def test_nulls_and_undeclared_values_go_where_they_are_told(survey: Path, release: Invoke) -> None:
    survey.write_text(survey.read_text() + "P90,\nP91,pipe\n")
    found = dc.Release.from_json(release("--json", "--nulls", "never", "--other", "current").stdout)
    assert found.n == 62


@pytest.mark.parametrize("ending", SIGNATURES)
def test_the_plot_is_a_picture(release: Invoke, tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"posterior{ending}"
    assert release("--plot", picture).exit_code == 0
    assert picture.read_bytes().startswith(SIGNATURES[ending])
    assert picture.stat().st_size > 2000


def test_the_plot_names_the_variable(release: Invoke, tmp_path: Path) -> None:
    assert release("--plot", tmp_path / "posterior.svg").exit_code == 0
    assert "How common is each value of “smoking”?" in (tmp_path / "posterior.svg").read_text()


@pytest.mark.slow
def test_a_picture_of_many_categories_has_a_largest_size(release: Invoke, tmp_path: Path) -> None:
    labels = [LABELS + "".join(f",c{number}" for number in range(more)) for more in (70, 90)]
    for number, categories in enumerate(labels):
        names: list[str | Path] = ["--output", tmp_path / f"{number}.json", "--plot", tmp_path / f"{number}.png"]
        result = release("--quiet", *names, categories=categories)
        assert result.exit_code == 0, result.output
    first, second = (plt.imread(tmp_path / f"{number}.png").shape for number in range(2))
    assert first == second


def test_quiet_prints_nothing(release: Invoke, tmp_path: Path) -> None:
    for name, more in (("one.json", []), ("two.json", ["--json"])):
        result = release("--quiet", "--output", tmp_path / name, *more)
        assert (result.exit_code, result.stdout) == (0, "")
        dc.Release.from_json((tmp_path / name).read_text())
    assert_refused(release("--quiet"), "--output")


def full_disk(monkeypatch: pytest.MonkeyPatch, file: Path | None = None) -> None:
    """A disk on which new files, or only this one, can be made and have no room for anything."""
    opened = Path.open

    def without_room(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        found = opened(path, mode, *arguments, **options)
        if "x" not in mode or file not in (None, path):
            return found
        found.close()
        return opened(Path("/dev/full"), "wb")

    monkeypatch.setattr(Path, "open", without_room)


def fails_to_link(_source: Path, _place: Path) -> None:
    raise OSError(1, "Operation not permitted")


def test_an_output_is_whole_or_printed(release: Invoke, book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "out.json"
    monkeypatch.setattr(os, "link", fails_to_link)
    full_disk(monkeypatch, output)
    result = release("--ledger", tmp_path / "ledger.db", "--dataset", "survey", "--quiet", "--output", output)
    assert result.exit_code == 2
    assert "was drawn and charged, but" in result.stderr
    assert "No space left on device; its record was printed instead: keep it" in result.stderr
    assert dc.Release.from_json(result.stdout).n == 60
    assert len(book.history("survey")) == 1
    assert not list(tmp_path.glob("out*"))


def test_a_picture_that_fails_loses_no_release(release: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_disk(monkeypatch)
    result = release("--json", "--plot", tmp_path / "out.png")
    assert result.exit_code == 2
    assert "discreet show RECORD --plot FILE draws it without another release" in result.stderr
    assert dc.Release.from_json(result.stdout).n == 60


def test_a_folder_that_goes_away_is_an_error_that_is_caught(tmp_path: Path) -> None:
    """Then the clean-up fails as well, and must not hide why."""
    (tmp_path / "gone").write_text("a file by now")
    with pytest.raises(DiscreetError, match="could not be written"):
        files.write_new(tmp_path / "gone" / "out.json", b"{}")


@pytest.mark.parametrize("form", [["--json"], []], ids=["json", "table"])
def test_a_record_that_cannot_be_printed_is_not_lost(survey: Path, book: Ledger, tmp_path: Path, form: list[str]) -> None:
    words = ["release", str(survey), "--column", "smoking", "--categories", LABELS, "--epsilon", "1", *form]
    charged = ["--ledger", str(tmp_path / "ledger.db"), "--dataset", "survey"]
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "discreet", *words, *charged]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603 - our own interpreter
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    record, says = done.stderr.rsplit("}", 1)
    assert dc.Release.from_json(record + "}").n == 60
    assert "was drawn and charged, but No space left on device" in says
    assert len(book.history("survey")) == 1


def test_nothing_is_charged_where_nothing_can_be_told(survey: Path, book: Ledger, tmp_path: Path) -> None:
    words = [str(survey), "--column", "smoking", "--categories", LABELS, "--epsilon", "1", "--output", str(tmp_path / "out.json")]
    charged = ["--ledger", str(tmp_path / "ledger.db"), "--dataset", "survey"]
    command = [sys.executable, "-m", "discreet", "release", *words, *charged]
    closed = lambda: os.close(1)  # noqa: E731
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=closed)  # noqa: S603
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "closed" in done.stderr
    assert not book.history("survey")


def test_the_record_is_kept_before_anything_else_is_asked(release: Invoke, book: Ledger, tmp_path: Path) -> None:
    charged: list[str | Path] = ["--ledger", tmp_path / "ledger.db", "--dataset", "survey"]
    with lost_after_a_spend(KeyboardInterrupt()):
        assert release(*charged, "--output", tmp_path / "out.json").exit_code != 0
    assert dc.Release.from_json((tmp_path / "out.json").read_text()).n == 60
    with lost_after_a_spend(KeyboardInterrupt()):
        interrupted = release(*charged)
    assert interrupted.exit_code != 0
    assert '"n": 60' in interrupted.stdout


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_overwritten(
    release: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    random, output = os.urandom, tmp_path / "out.json"

    def slow(size: int) -> bytes:
        for name in ("out.json", "out-2.json"):
            (tmp_path / name).write_text("someone else's")
        return random(size)

    monkeypatch.setattr(os, "urandom", slow)
    if not links:
        monkeypatch.setattr(os, "link", fails_to_link)
    result = release("--quiet", "--output", output)
    assert result.exit_code == 0
    assert f"look for {tmp_path / 'out-3.json'}" in result.stderr
    assert output.read_text() == (tmp_path / "out-2.json").read_text() == "someone else's"
    assert dc.Release.from_json((tmp_path / "out-3.json").read_text()).n == 60
    assert not list(tmp_path.glob("*.partial"))


def test_nothing_is_overwritten(release: Invoke, survey: Path, book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "diag.json").write_text("the last release")
    (tmp_path / "old.png").write_text("its picture")
    (tmp_path / "link.json").symlink_to(survey)
    (tmp_path / "twin.json").hardlink_to(survey)
    (tmp_path / "nowhere.json").symlink_to("not-there.json")
    (tmp_path / "budget.svg").symlink_to("ledger.db")
    (tmp_path / "budget.json").symlink_to("ledger.db")
    (tmp_path / "a.svg").symlink_to("a.json")
    (tmp_path / "folder").symlink_to(".")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    exists = "exists; a release cannot be drawn again, so it is not overwritten: choose another name or move it away"
    for options, says in (
        (["--output", "diag.json"], f"error: diag.json {exists}"),
        (["--plot", "old.png"], f"old.png {exists}"),
        (["--output", "nowhere.json"], f"nowhere.json {exists}"),
        (["--output", "survey.csv"], "--output must end in .json, or for a table in .parquet, got survey.csv"),
        (["--output", "link.json"], "--output link.json is also the private data: choose another name"),
        (["--output", "twin.json"], "--output twin.json is also the private data"),
        (["--output", "budget.json"], "--output budget.json is also the ledger"),
        (["--plot", "budget.svg"], "--plot budget.svg is also the ledger"),
        (["--output", "a.json", "--plot", "folder/a.svg"], "--plot folder/a.svg is also --output"),
    ):
        assert_refused(release("--ledger", "ledger.db", "--dataset", "survey", *options), says)
        assert_refused(release("--ledger", f"sqlite:///{tmp_path}/ledger.db", "--dataset", "survey", *options), says)
        missing = release(*options, "--ledger", "ledger.db", "--dataset", "survey", "--column", "no such column")
        assert_refused(missing, says)  # found before the data are read
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert book.history("survey") == ()


def test_a_category_with_a_comma(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('answer\n"yes, often"\nno\n')
    base: list[str | Path] = ["release", tmp_path / "x.csv", "-c", "answer", "-e", "1", "--json"]
    for categories in ('"yes, often",no', 'no, "yes, often"'):
        found = dc.Release.from_json(invoke(*base, "--categories", categories).stdout)
        assert set(found.prior.categories) == {"yes, often", "no"}


def test_both_spellings_of_a_named_prior(release: Invoke) -> None:
    for prior in ("jeffreys", "jeffreys:3"):
        assert dc.Release.from_json(release("--json", "--prior", prior).stdout).prior.exact == (Fraction(1, 2),) * 3


def test_nothing_is_left_beside_the_output(release: Invoke, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    release("--output", tmp_path / "out.json", "--plot", tmp_path / "out.svg")
    assert set(tmp_path.iterdir()) - before == {tmp_path / "out.json", tmp_path / "out.svg"}


# --- what is refused, before anything is spent ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--categories", "never,former"], "values outside the declared categories"),
        (["--categories", "never"], "at least two"),
        (["--categories", ""], "at least two"),
        (["--categories", "never;former;current"], "--categories needs at least two, separated by commas"),
        (["--categories", "never,former,never"], "'never' is declared twice"),
        (["--categories", "never,former,current,"], "has one without a name"),
        (["--categories", '"never,former'], "with double quotes around a part that has one"),
        (["--column", "Smoking"], "no column 'Smoking'"),
        (["--privacy-id", "person"], "'person'"),
        (["--privacy-id", "smoking"], "--privacy-id must be another column"),
        (["--nulls", "pipe"], "nulls must be 'error' or one of the declared categories"),
        (["--epsilon", "0"], "epsilon must be greater than 0"),
        (["--epsilon=-1"], "epsilon must be greater than 0, got -1"),
        (["--epsilon", "nan"], "--epsilon must be a number such as 0.5 or 1/3, got 'nan'"),
        (["--epsilon", "0;5"], "--epsilon must be a number such as 0.5 or 1/3, got '0;5'"),
        (["--mechanism", "EHDS", "--gamma", "0;5"], "--gamma must be a number such as 0.5 or 1/3, got '0;5'"),
        (["--epsilon", "1e999999999"], "--epsilon must be a number such as 0.5 or 1/3"),
        (["--prior", "1,1"], "3 numbers, one for each category"),
        (["--prior", "1,1,none"], "--prior must be uniform, jeffreys or a number from 1e-100 to 1e100 for each"),
        (["--prior", "0,0,0"], "such as 1,1 or 1/2,1/2; got '0,0,0'"),
        (["--prior", "uniform:2"], "--prior is for 2 categories, and there are 3: write --prior uniform"),
        (["--prior", "uniform:"], "such as uniform:3; got 'uniform:'"),
        (["--prior", "1,1,1e1000"], "from 1e-100 to 1e100"),
        (["--prior", "1,1,1e-1000"], "from 1e-100 to 1e100"),
        (["--mechanism", "latice"], "did you mean lattice?"),
        (["--mechanism", "EHDL"], "has no privacy guarantee"),
        (["--output", "nowhere/out.json"], "a folder that exists"),
        (["--output", "."], "--output must end in .json, or for a table in .parquet, got ."),
        (["--output", "/dev/null"], "--output must end in .json, or for a table in .parquet, got null"),
        (["--output", "folder.json"], "must be a file"),
        (["--output", f"{'x' * 300}.json"], "cannot be written to"),
        (["--plot", "out.gif"], ".png, .svg or .pdf"),
        (["--dataset", "other"], "'other' is not in the ledger; those in it: 'survey'"),
        (["--epsilon", "2.0000001"], "'survey' has ε = 2 left of ε = 2; nothing was spent"),
        (["--ledger", "~nobody-of-this-name/ledger.db"], "home directory"),
        (["--ledger", "x" * 300], "cannot be looked up"),
    ],
)
def test_a_refusal_leaves_the_ledger_untouched(
    release: Invoke, book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    assert_refused(release("--ledger", tmp_path / "ledger.db", "--dataset", "survey", "--output", "out.json", *options), says)
    assert book.history("survey") == ()
    assert not (tmp_path / "out.json").exists()
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(("row", "says"), [("P90,pipe", "--other"), ("P90,", "--nulls"), (",never", "every row must say whose it is")])
def test_undeclared_missing_and_nameless_answers(survey: Path, release: Invoke, book: Ledger, tmp_path: Path, row: str, says: str) -> None:
    survey.write_text(f"{survey.read_text()}{row}\n")
    result = release("--ledger", tmp_path / "ledger.db", "--dataset", "survey", "--privacy-id", "who")
    assert_refused(result, says.removeprefix("--"))
    assert "pipe" not in result.output
    assert book.history("survey") == ()


def test_a_draw_that_is_too_large_is_refused_before_it_is_paid_for(tmp_path: Path, book: Ledger) -> None:
    labels = [f"code {number}" for number in range(300)]
    pq.write_table(pa.table({"code": pa.array(labels * 10).dictionary_encode()}), tmp_path / "codes.parquet")
    base: list[str | Path] = ["release", tmp_path / "codes.parquet", "--column", "code", "--categories", ",".join(labels), "--epsilon", "1"]
    charged: list[str | Path] = ["--ledger", tmp_path / "ledger.db", "--dataset", "survey"]
    assert_refused(invoke(*base, *charged, "--mechanism", "EHDS"), "use LatticeGeometric or a Laplace mechanism")
    assert book.history("survey") == ()
    assert dc.Release.from_json(invoke(*base, *charged, "--json").stdout).n == 3_000
    assert len(book.history("survey")) == 1


def test_a_budget_for_persons_takes_no_release_about_rows(release: Invoke, book: Ledger, tmp_path: Path) -> None:
    book.create("panel", 1, unit="person")
    charged: list[str | Path] = ["--ledger", tmp_path / "ledger.db", "--dataset", "panel"]
    assert_refused(release(*charged), "say whose a row is, with --privacy-id COLUMN")
    assert release(*charged, "--privacy-id", "who").exit_code == 0
    assert [line.unit for line in book.history("panel")] == ["person"]


def test_ledger_and_dataset_go_together(release: Invoke, tmp_path: Path) -> None:
    assert_refused(release("--ledger", tmp_path / "ledger.db"), "go together")
    assert_refused(release("--dataset", "survey"), "go together")


def test_missing_options_are_usage_errors(survey: Path) -> None:
    result = invoke("release", survey, "--column", "smoking")
    assert result.exit_code == 2
    assert "Missing option '--epsilon'" in result.output
    assert_refused(invoke("release", survey, "--column", "smoking", "--epsilon", "1"), "--categories is needed, or --bands")


# --- the order of things ----------------------------------------------------------------------------------------------


def test_the_ledger_is_charged_before_the_draw(release: Invoke, book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random, seen = os.urandom, []

    def watched(size: int) -> bytes:
        seen.append(len(book.history("survey")))
        return random(size)

    monkeypatch.setattr(os, "urandom", watched)
    charged: list[str | Path] = ["--ledger", tmp_path / "ledger.db", "--dataset", "survey"]
    assert release(*charged, "--output", tmp_path / "out.json").exit_code == 0
    assert set(seen) == {1}
    (line,) = book.history("survey")
    assert (line.loss, line.note, line.description["mechanism"]) == (Loss(Fraction(1)), "smoking of survey.csv", "LatticeGeometric")


def test_a_draw_that_fails_has_been_paid_for(release: Invoke, book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_size: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "urandom", fails)
    assert_refused(release("--ledger", tmp_path / "ledger.db", "--dataset", "survey", "--output", tmp_path / "out.json"), "random bits")
    assert len(book.history("survey")) == 1
    assert not (tmp_path / "out.json").exists()


def test_what_was_paid_for_is_printed_even_if_the_balance_cannot_be_read(release: Invoke, book: Ledger, tmp_path: Path) -> None:
    with lost_after_a_spend(LOCKED):
        result = release("--ledger", tmp_path / "ledger.db", "--dataset", "survey")
    assert result.exit_code == 0
    assert "what is left for 'survey' could not be read" in result.stderr


def test_a_budget_runs_out(release: Invoke, book: Ledger, tmp_path: Path) -> None:
    charged: list[str | Path] = ["--ledger", tmp_path / "ledger.db", "--dataset", "survey", "--json", "--epsilon", "0.5"]
    assert [release(*charged).exit_code for _ in range(5)] == [0, 0, 0, 0, 2]
    assert book.remaining("survey") == Loss(Fraction(0))


# --- discreet ledger --------------------------------------------------------------------------------------------------


def test_create_show_and_history(release: Invoke, tmp_path: Path) -> None:
    ledger = tmp_path / "new.db"
    made = invoke("ledger", "create", ledger, "survey [bold]", "--epsilon", "3", "--delta", "1e-6", "--unit", "person")
    assert made.exit_code == 0, made.output
    assert (
        made.stdout.strip()
        == "survey [bold]: ε = 3, δ = 0.000001; hides what someone answered, and n is public (neighbours: replace one person)"
    )
    for _ in range(2):
        assert release("--ledger", ledger, "--dataset", "survey [bold]", "--privacy-id", "who").exit_code == 0
    shown = json.loads(invoke("ledger", "show", ledger, "--json").stdout)
    left = "ε = 1, δ = 0.000001"
    numbers = {"epsilon": 3.0, "delta": 1e-6, "left_epsilon": 1.0, "left_delta": 1e-6, "filter": None}
    assert shown == [{"dataset": "survey [bold]", "unit": "person", "neighbours": "replace one", **numbers}]
    lines = json.loads(invoke("ledger", "history", ledger, "survey [bold]", "--json").stdout)
    assert [(line["number"], line["epsilon"], line["delta"], line["mechanism"], line["note"]) for line in lines] == [
        (number, 1.0, 0.0, "LatticeGeometric", "smoking of survey.csv") for number in (1, 2)
    ]
    table = invoke("ledger", "history", ledger, "survey [bold]").stdout
    assert f"spent in all: ε = 2; left: {left}" in table
    assert "survey [bold]" in invoke("ledger", "show", ledger).stdout
    narrow = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["ledger", "history", str(ledger), "survey [bold]"]).stdout
    assert all(line["day"] in narrow for line in lines)
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["create", "ledger.db", "survey", "--epsilon", "1"], "already in the ledger"),
        (["create", "ledger.db", "new", "--epsilon", "0"], "greater than 0"),
        (["create", "ledger.db", "new", "--epsilon", "0;5"], "--epsilon must be a number such as 0.5 or 1/3, got '0;5'"),
        (["create", "ledger.db", "new", "--epsilon", "1", "--delta", "1"], "below 1"),
        (["create", "ledger.db", "new", "--epsilon", "1", "--unit", "household"], "'record' or 'person'"),
        (["create", "ledger.db", "", "--epsilon", "1"], "printable text"),
        (["create", "nowhere/ledger.db", "new", "--epsilon", "1"], "does not exist"),
        (["show", "none.db"], "there is no ledger"),
        (["show", "survey.csv"], "something else"),
        (["history", "ledger.db", "Survey"], "those in it: 'survey'"),
        (["show", "mysql://user@host/name"], "not supported"),
    ],
)
def test_what_the_ledger_commands_refuse(
    survey: Path, book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(invoke("ledger", *arguments), says)
    assert [budget.dataset for budget in book.datasets()] == ["survey"]


# --- a process of its own ---------------------------------------------------------------------------------------------


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from discreet.cli import app; app()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=120, env={**os.environ, **environment})  # noqa: S603


def test_a_real_process(survey: Path, book: Ledger, tmp_path: Path) -> None:
    charged = ["--ledger", str(tmp_path / "ledger.db"), "--dataset", "survey"]
    base = ["release", str(survey), "-c", "smoking", "--categories", LABELS, "-e", "1", *charged]
    done = run(*base, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert dc.Release.from_json(done.stdout).n == 60
    # No ε in the terminal's alphabet: the release has been charged for, so it must be shown all the same.
    ascii_only = run(*base, PYTHONIOENCODING="ascii")
    assert ascii_only.returncode == 0, ascii_only.stderr
    assert rb"\u03b5 = 1 differential privacy" in ascii_only.stderr
    refused = run(*base)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert refused.stderr.count(b"\n") == 1
    assert len(book.history("survey")) == 2


# --- the Python calls -------------------------------------------------------------------------------------------------

COUNTS = (30, 18, 12)
PRIOR = dc.Dirichlet([1, 1, 1])


def test_release_through_the_ledger(book: Ledger) -> None:
    found = book.release("survey", dc.LatticeGeometric(PRIOR, 60, "0.5"), COUNTS, note="smoking")
    assert isinstance(found, dc.Release)
    (line,) = book.history("survey")
    assert (line.loss.epsilon, line.unit, line.note) == (Fraction(1, 2), "record", "smoking")
    assert line.description == {
        "mechanism": "LatticeGeometric",
        "parameters": {"epsilon": "1/2", "projection": found.parameters["projection"]},
        "prior": ["1", "1", "1"],
        "n": 60,
    }


def test_the_unit_of_the_counts_is_charged(book: Ledger) -> None:
    counts = CategoryCounts(np.array(COUNTS), (0, 1, 2), "person")
    found = book.release("survey", dc.LatticeGeometric(PRIOR, 60, 1), counts)
    assert found.guarantee.unit == book.history("survey")[0].unit == "person"
    with pytest.raises(InvalidInputError, match="another unit"):
        book.release("survey", dc.LatticeGeometric(PRIOR, 60, 1), counts, unit="record")


@pytest.mark.parametrize(
    ("mechanism", "counts", "error"),
    [
        (dc.LatticeGeometric(PRIOR, 60, 1), (30, 18, 13), InvalidInputError),
        (dc.LatticeGeometric(PRIOR, 60, 1), (30, 30), InvalidInputError),
        (dc.LatticeGeometric(PRIOR, 60, 1), (30.5, 17.5, 12), InvalidInputError),
        (dc.LatticeGeometric(PRIOR, 60, 1), None, InvalidInputError),
        (dc.HellingerLocal(PRIOR, 60, 1), COUNTS, RefusedError),
        (dc.HellingerSmooth(dc.Dirichlet([1] * 10), 10**8, 1), [10**7] * 10, TooLargeError),
        (dc.LatticeGeometric(PRIOR, 60, 3), COUNTS, BudgetError),
    ],
)
def test_a_refused_release_costs_nothing(book: Ledger, mechanism: Any, counts: Any, error: type[DiscreetError]) -> None:
    with pytest.raises(error):
        book.release("survey", mechanism, counts)
    assert book.history("survey") == ()


def test_the_accountant_knows_what_was_spent(book: Ledger, tmp_path: Path) -> None:
    pytest.importorskip("dp_accounting", reason="exact composition needs the extra `accounting`")
    book.create("many", 1)
    mechanism = dc.LatticeGeometric(PRIOR, 60, "0.1")
    for _ in range(10):
        book.release("many", mechanism, COUNTS)
    found = book.accountant("many")
    by_hand = dc.Accountant().add(mechanism, 10)
    assert found.basic == by_hand.basic == (Fraction(1), Fraction(0))
    assert book.remaining("many") == Loss(Fraction(0))
    assert found.is_exact
    assert found.epsilon("1e-6") == pytest.approx(by_hand.epsilon("1e-6"), rel=1e-3)
    assert found.epsilon("1e-2") < 0.9 < found.epsilon(0) == 1.0
    shown = invoke("ledger", "history", tmp_path / "ledger.db", "many").stdout
    assert "by exact composition, if this list had been fixed beforehand: ε = " in shown


def test_spends_that_describe_no_mechanism_are_composed_by_their_guarantees(book: Ledger) -> None:
    book.spend("survey", "0.25", note="a table of means, by hand")
    book.release("survey", dc.LaplaceHistogram(PRIOR, 60, "0.5"), COUNTS)
    # A description that promises more than was charged is not believed.
    forged = {"mechanism": "LatticeGeometric", "parameters": {"epsilon": "1/100"}, "prior": ["1", "1"], "n": 60}
    book.spend("survey", "0.5", description=forged)
    kinds = [type(part).__name__ for part, _ in book.accountant("survey").parts]
    assert kinds == ["Guarantee", "LaplaceHistogram", "Guarantee"]
    assert book.accountant("survey").basic == (Fraction(5, 4), Fraction(0))


@pytest.mark.parametrize(
    "words",
    [
        ["--privacy-id", "smoking"],
        ["--weight", "smoking"],
        ["--weight", "person", "--privacy-id", "day"],
        ["--other", "x"],
        ["--strict", "--other", "never", "--nulls", "never", "--by", "day=a,b"],
        ["--by", "day=a,b", "--other-group", "q=a"],
        ["--by", "day=a,b", "--other-group", "day=c"],
        ["--encoding", "nope"],
        ["--mechanism", "HellingerSmooth", "--gamma", "0"],
        ["--mechanism", "LatticeGeometric", "--delta", "0.1"],
        ["--epsilon", "0"],
    ],
)
def test_refusals_in_the_shell_name_options_and_no_arguments_of_python(survey: Path, words: list[str]) -> None:
    asked = [survey, "--column", "smoking", "--categories", "never,former,current", *([] if "--epsilon" in words else ["--epsilon", "1"])]
    refused = invoke("release", *asked, *words)
    assert_refused(refused, "--")
    assert not re.search(r"\b[a-z]+_[a-z_]+\b|\b[a-z_]+=\.\.\.|\bdc\.", refused.stderr.replace("one_row", ""))
