"""What goes where: a record alone into files and pipes, numbers and fields in JSON, and questions before a budget is spent."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.ledger.ledger import Ledger
from tests.cli.support import CATEGORIES, PRIOR, invoke
from tests.support import says_interval

LABELS = ",".join(CATEGORIES)
CONFIGURED = ["--n", "20", "--epsilon", "1", "--prior", "1,1"]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """450 rows: with three categories more possible counts than HellingerSmooth has intervals for."""
    path = tmp_path / "survey.csv"
    path.write_text("smoking\n" + "never\nformer\ncurrent\n" * 150)
    return path


def words_of_release(survey: Path, *more: str | Path) -> list[str]:
    charged = ["--ledger", survey.with_name("ledger.db"), "--dataset", "survey"]
    return [str(word) for word in ("release", survey, "-c", "smoking", "--categories", LABELS, "-e", "0.5", *charged, *more)]


# --- release: the record on one stream, words for people on the other -------------------------------------------------


def test_a_redirected_release_is_the_record_alone(survey: Path, book: Ledger) -> None:
    result = invoke(*words_of_release(survey))
    assert dc.Release.from_json(result.stdout).n == 450
    assert "Private posterior" in result.stderr
    assert "Promise   ε = 0.5 differential privacy by proof" in result.stderr


def test_a_release_is_piped_into_show_and_verify(survey: Path, book: Ledger) -> None:
    record = invoke(*words_of_release(survey, "--json")).stdout
    shown, verified = invoke("show", "-", given=record), invoke("verify", "-", given=record)
    assert (shown.exit_code, verified.exit_code) == (0, 0), shown.output + verified.output
    assert "n = 450 records" in shown.stdout
    assert "discreet verify RECORD computes" in shown.stdout
    assert "Verdict   holds" in verified.stdout
    for command in ("show", "verify"):
        refused = invoke(command, "-", given="smoking\nnever\n")
        assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)


@pytest.fixture
def terminal() -> Iterator[tuple[int, Callable[[], str]]]:
    """A real terminal: what a program is given, and what it has printed there."""
    ours, theirs = pty.openpty()

    def printed() -> str:
        os.set_blocking(ours, False)
        parts = []
        while True:
            try:
                parts.append(os.read(ours, 1 << 16))
            except OSError:
                return b"".join(parts).decode().replace("\r\n", "\n")

    try:
        os.set_blocking(ours, True)
        yield theirs, printed
    finally:
        os.close(ours)
        os.close(theirs)


def run(words: list[str], **streams: Any) -> subprocess.CompletedProcess[bytes]:
    """The command as a process of its own."""
    plain = {**os.environ, "COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    return subprocess.run([sys.executable, "-m", "discreet", *words], check=False, timeout=120, env=plain, **streams)  # noqa: S603


def answered(words: list[str], answer: bytes, terminal: tuple[int, Callable[[], str]]) -> tuple[subprocess.CompletedProcess[bytes], str]:
    """The command with a keyboard at which this is typed, and what it said on its terminal."""
    theirs, printed = terminal
    keyboard, slave = pty.openpty()
    try:
        os.write(keyboard, answer)
        done = run(words, stdin=slave, stdout=subprocess.PIPE, stderr=theirs)
    finally:
        os.close(keyboard)
        os.close(slave)
    return done, printed()


def test_on_a_terminal_the_record_and_the_table_are_both_there(
    survey: Path, book: Ledger, terminal: tuple[int, Callable[[], str]], tmp_path: Path
) -> None:
    theirs, printed = terminal
    done = run(words_of_release(survey, "--output", tmp_path / "out.json"), stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Private posterior" in printed()


# --- release: what will be missing is said before the spend -----------------------------------------------------------

LACKING = ["--mechanism", "EHDS"]


def test_without_a_terminal_what_will_be_missing_is_an_error_before_the_spend(survey: Path, book: Ledger) -> None:
    refused = invoke(*words_of_release(survey, *LACKING))
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "HellingerSmooth with n = 450 and 3 categories will have no intervals that allow for the noise" in refused.stderr
    assert "--mechanism LatticeGeometric has both" in refused.stderr
    assert "--yes" in refused.stderr
    assert book.history("survey") == ()


def test_with_yes_it_is_said_and_released(survey: Path, book: Ledger) -> None:
    result = invoke(*words_of_release(survey, *LACKING, "--yes", "--json"))
    assert result.exit_code == 0, result.output
    assert dc.Release.from_json(result.stdout).mechanism.title == "HellingerSmooth"
    assert result.stderr.startswith("notice: a release of HellingerSmooth with n = 450 and 3 categories will have no intervals")
    assert len(book.history("survey")) == 1


@pytest.mark.parametrize(("answer", "code", "lines"), [(b"n\n", 1, 0), pytest.param(b"\n", 1, 0, marks=pytest.mark.slow), (b"y\n", 0, 1)])
def test_on_a_terminal_it_is_asked_for(
    survey: Path, book: Ledger, terminal: tuple[int, Callable[[], str]], tmp_path: Path, answer: bytes, code: int, lines: int
) -> None:
    done, said = answered(words_of_release(survey, *LACKING, "--output", tmp_path / "out.json"), answer, terminal)
    assert done.returncode == code, said
    assert "Release all the same? [y/N]" in said
    assert len(book.history("survey")) == lines
    assert (tmp_path / "out.json").exists() == bool(lines)
    assert ("nothing was spent" in said) == (lines == 0)


def test_nothing_is_asked_where_nothing_will_be_missing(survey: Path, book: Ledger) -> None:
    assert invoke(*words_of_release(survey, "--json")).stderr == ""


@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 1), (b"y\n", 0)])
@pytest.mark.parametrize("doubt", ["no ledger was named, so nobody adds up", "this source was charged to 'survey' before", "ε is above 5"])
def test_on_a_terminal_a_doubt_about_the_budget_is_asked_for_before_the_draw(
    survey: Path, book: Ledger, terminal: tuple[int, Callable[[], str]], tmp_path: Path, doubt: str, answer: bytes, code: int
) -> None:
    epsilon = "6" if doubt.startswith("ε") else "0.5"
    words = ["release", str(survey), "-c", "smoking", "--categories", LABELS, "-e", epsilon, "--output", str(tmp_path / "out.json")]
    if doubt.startswith("this source"):
        assert invoke(*words_of_release(survey)).exit_code == 0
        book.create("another name", 1)
        words += ["--ledger", str(tmp_path / "ledger.db"), "--dataset", "another name"]
    done, said = answered(words, answer, terminal)
    assert done.returncode == code, said
    assert said.index(f"notice: {doubt}") < said.index("Release all the same? [y/N]")
    assert (tmp_path / "out.json").exists() == (code == 0)
    assert not code or "nothing was spent" in said


def test_a_mechanism_without_a_guarantee_is_refused_and_not_asked_about(survey: Path, book: Ledger) -> None:
    refused = invoke(*words_of_release(survey, "-m", "EHDL"))
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "has no privacy guarantee" in refused.stderr
    assert "allow_nonprivate" not in refused.stderr  # advice for Python
    with pytest.raises(dc.RefusedError, match="allow_nonprivate=True"):
        dc.HellingerLocal(PRIOR, 3, 1).release([1, 1, 1])


# --- capabilities: the same question in Python ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "noise_aware", "loss"),
    [
        (dc.HellingerSmooth(dc.Beta(1, 1), 10_000, 1), True, True),
        (dc.HellingerSmooth(dc.Beta(1, 1), 10_001, 1), True, False),
        (dc.HellingerSmooth(dc.Beta(1, 1), 100_001, 1), False, False),
        (dc.HellingerSmooth(PRIOR, 108, 1), True, True),
        (dc.HellingerSmooth(PRIOR, 109, 1), True, False),
        (dc.HellingerSmooth(PRIOR, 446, 1), False, False),
        (dc.Remapped(dc.HellingerSmooth(PRIOR, 10, 1)), True, True),
        (dc.LatticeGeometric(PRIOR, 2**53, 1), True, True),
        (dc.Remapped(dc.LatticeGeometric(PRIOR, 10**12, 1)), True, True),
        (dc.LaplaceHistogram(PRIOR, 10**12, "1e-9"), False, True),
        (dc.LatticeGeometric(PRIOR, 10**12, "1e-9"), False, True),
        (dc.LatticeGeometric(PRIOR, 10**6, "1e-9"), True, True),
    ],
)
def test_what_can_be_computed_is_known_from_public_numbers(mechanism: Any, noise_aware: bool, loss: bool) -> None:
    found = dc.capabilities(mechanism)
    assert (found.noise_aware, found.privacy_loss) == (noise_aware, loss)
    assert all(reason is None or len(reason.splitlines()) == 1 for reason in (found.no_noise_aware, found.no_privacy_loss))


def test_capabilities_are_about_a_mechanism() -> None:
    with pytest.raises(dc.InvalidInputError, match="give a mechanism, not str"):
        dc.capabilities("LatticeGeometric")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "mechanism",
    [
        *(dc.LatticeGeometric(PRIOR, n, epsilon) for n in (50, 10**7, 10**9) for epsilon in ("1", "0.001", "0.0004", "1e-5")),
        *(dc.LaplaceZhang(PRIOR, 10**8, epsilon) for epsilon in ("0.001", "0.0001")),
        *(dc.LaplaceHistogram(PRIOR, 10**8, epsilon) for epsilon in ("0.001", "0.0001")),
        *(dc.HellingerSmooth(PRIOR, n, 1) for n in (5, 88, 446)),
        *(dc.HellingerSmoothDelta(dc.Beta(1, 1), n, 1) for n in (20, 100_001)),
    ],
    ids=lambda mechanism: f"{type(mechanism).__name__}-{mechanism.n}-{float(mechanism.epsilon):g}",
)
def test_capabilities_agree_with_what_releases_give(mechanism: dc.LatticeGeometric) -> None:
    """The oracle is the posterior of an outcome without noise, which has or has not been computed."""
    counts = [mechanism.space.total - (mechanism.k - 1) * (mechanism.space.total // 3), *[mechanism.space.total // 3] * (mechanism.k - 1)]
    raw = tuple(counts[: mechanism.k - 1] if isinstance(mechanism, dc.LaplaceHistogram) else counts)
    made = dc.Release(mechanism, mechanism._claim, raw, tuple(counts))
    try:
        made.noise_aware()
        had = True
    except dc.TooLargeError:
        had = False
    assert dc.capabilities(mechanism).noise_aware == had


# --- one reader of names ----------------------------------------------------------------------------------------------

WRAPPED = ["Remapped(LatticeGeometric)", "Calibrated(HellingerSmooth)", " remapped ( calibrated(EHDS) ) "]


@pytest.mark.parametrize("name", WRAPPED)
def test_every_command_knows_wrapped_mechanisms(name: str, tmp_path: Path) -> None:
    made = dc.mechanism(name, dc.Beta(1, 1), 20, 1)
    (tmp_path / "x.csv").write_text("x\n" + "a\nb\n" * 10)
    released = invoke("release", tmp_path / "x.csv", "-c", "x", "--categories", "a,b", "-e", "1", "-m", name, "--json")
    assert released.exit_code == 0, released.output
    found = dc.Release.from_json(released.stdout)
    assert (found.mechanism.title, found.parameters.keys()) == (made.title, made.parameters.keys())
    verified = json.loads(invoke("verify", name, *CONFIGURED, "--json").stdout)
    assert (verified["holds"], verified["claimed"]["epsilon"]) == (True, 1.0)
    assert dc.mechanism(verified["mechanism"], dc.Beta(1, 1), 20, 1) == made  # the name that is printed is read back
    assert invoke("plan", "--error", "0.3", "--n", "20", "-m", name, "--json").exit_code == 0


def test_compare_lists_names_that_are_read_back() -> None:
    rows = json.loads(invoke("compare", "--n", "4", "--json").stdout)["rows"]
    for row in rows:
        assert dc.mechanism(row["mechanism"], dc.Beta(1, 1), 4, 1).title == row["mechanism"]
    assert {"Remapped(LatticeGeometric)", "Calibrated(HellingerSmooth)"} <= {row["mechanism"] for row in rows}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Remapped(latice)", "no mechanism is called 'latice'; did you mean lattice?"),
        ("Remapped()", "no mechanism is called ''"),
        ("Calibrated(LatticeGeometric)", "Calibrated takes a Hellinger mechanism, not LatticeGeometric"),
        ("Remapped(" * 1000 + "lattice" + ")" * 1000, "a mechanism can be wrapped 4 times"),
        ("Remapped(lattice", "no mechanism is called 'Remapped(lattice'"),
    ],
)
def test_names_that_are_no_mechanisms(name: str, says: str, survey: Path, book: Ledger) -> None:
    with pytest.raises(dc.InvalidInputError) as raised:
        dc.mechanism(name, PRIOR, 20, 1)
    assert says in str(raised.value)
    for words in (words_of_release(survey, "-m", name), ["verify", name, *CONFIGURED], ["plan", "--error", "0.3", "--n", "20", "-m", name]):
        result = invoke(*words)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
        assert says in result.stderr
    assert book.history("survey") == ()


# --- JSON: numbers and fields -----------------------------------------------------------------------------------------


def test_show_as_json(record: Path) -> None:
    found, shown = dc.Release.from_json(record.read_text()), json.loads(invoke("show", record, "--json", "--mass", "0.9").stdout)
    rows = shown.pop("categories")
    assert shown == {
        "about": None,
        "mechanism": "LatticeGeometric",
        "n": 60,
        "size": None,
        "guarantee": {"epsilon": 0.5, "delta": 0.0, "basis": "proof", "unit": "person", "neighbours": "replace one"},
        "verified": True,
        "mass": 0.9,
        "reader_prior": None,
        "shares_of": "population",
        "not_available": None,
    }
    aware = found.noise_aware()
    for row, label, count, mean, (low, high) in zip(rows, CATEGORIES, found.counts, aware.mean(), aware.interval(0.9), strict=True):
        assert (row["category"], row["reported_count"], row["mean"], row["low"], row["high"]) == (label, count, mean, low, high)
        assert row["reported_mean"] == pytest.approx((1 + count) / 63)


@pytest.mark.parametrize("mass", ["1/2", "50%"])
def test_another_mass_in_the_table(record: Path, mass: str) -> None:
    low, high = dc.Release.from_json(record.read_text()).noise_aware().interval(0.5)[0]
    shown = invoke("show", record, "--mass", mass).stdout
    assert "50 % interval" in shown
    assert says_interval(shown, low, high)


@pytest.mark.parametrize("mass", ["0", "1", "-0.5", "95", "nan", "", "x", "1e-99999", "1e-500"])
def test_a_mass_that_is_none(record: Path, mass: str) -> None:
    result = invoke("show", record, f"--mass={mass}")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "--mass must be a number between 0 and 1, such as 0.9" in result.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "RECORD", "--mass", "95"], "got '95'; for 95 percent write 95%"),
        (["plan", "--n", "100", "--epsilon", "1,500"], "got '1,500'; write 1.500, or 1500 without a comma"),
        (["plan", "--n", "0,5", "--epsilon", "1"], "--n must be a whole number such as 1500 or 1,500, got '0,5'\n"),
        (
            ["plan", "--n", "100", "--epsilon", "1", "--expect", "20%,25%,50%"],
            "--expect must have a share for each of the 2 categories; got 1/5, 1/4, 1/2\n",
        ),
        (["plan", "--n", "100", "--epsilon", "half"], "--epsilon must be a number such as 0.5 or 1/3, got 'half'\n"),
    ],
)
def test_a_number_that_is_spelt_in_another_way_is_answered_with_ours(record: Path, words: list[str], says: str) -> None:
    result = invoke(*(record if word == "RECORD" else word for word in words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


def test_json_of_what_is_not_available_is_null(tmp_path: Path) -> None:
    (path := tmp_path / "x.json").write_text(dc.HellingerSmooth(PRIOR, 450, 1).release([250, 150, 50]).to_json())
    shown = json.loads(invoke("show", path, "--json").stdout)
    assert "no noise-aware posterior" in shown["not_available"]
    assert {row["mean"] for row in shown["categories"]} == {row["low"] for row in shown["categories"]} == {None}


def test_verify_as_json() -> None:
    found = json.loads(invoke("verify", "lattice", *CONFIGURED, "--json").stdout)
    assert found["claimed"] == {"epsilon": 1.0, "delta": 0.0, "basis": "proof", "unit": "record", "neighbours": "replace one"}
    assert (found["mechanism"], found["n"], found["loss"], found["slack"], found["holds"]) == ("LatticeGeometric", 20, 1.0, 0.0, True)
    none = json.loads(invoke("verify", "EHDL", *CONFIGURED, "--json").stdout)
    assert (none["claimed"]["epsilon"], none["claimed"]["basis"], none["holds"]) == (None, "none", False)
    large = json.loads(invoke("verify", "EHDS", "--n", "1000000", "--json").stdout)
    assert (large["loss"], large["holds"]) == (None, None)
    assert "outcomes" in large["reason"]


def test_compare_as_json() -> None:
    found = json.loads(invoke("compare", "--n", "4", "--prior", "1/2,2", "--json").stdout)
    assert (found["prior"], found["n"], found["epsilon"]) == ([0.5, 2.0], 4, 1.0)
    rows = {row["mechanism"]: row for row in found["rows"]}
    assert [rows["HellingerLocal"][name] for name in ("basis", "epsilon", "delta")] == ["none", None, None]
    assert [rows["HellingerSmoothDelta"][name] for name in ("basis", "epsilon", "delta")] == ["computation", 1.0, 1e-8]


# --- pictures that may be drawn again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "PNG"])
def test_show_replaces_a_picture_of_its_own(record: Path, tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"posterior.{ending}"
    assert invoke("show", record, "--plot", picture).exit_code == 0
    first = picture.read_bytes()
    assert invoke("show", record, "--plot", picture, "--mass", "0.5").exit_code == 0
    assert picture.read_bytes() != first
    assert {path.name for path in tmp_path.iterdir()} == {"posterior.json", picture.name}


def test_show_replaces_nothing_else(record: Path, survey: Path, tmp_path: Path) -> None:
    words: list[str | Path] = ["show", record, "--plot"]
    assert invoke(*words, tmp_path / "own.png").exit_code == 0
    assert invoke("release", survey, "-c", "smoking", "--categories", LABELS, "-e", "1", "--plot", tmp_path / "released.png").exit_code == 0
    (tmp_path / "renamed.svg").write_bytes((tmp_path / "own.png").read_bytes())
    (tmp_path / "data.png").write_bytes(survey.read_bytes())
    (tmp_path / "link.png").symlink_to("own.png")
    (tmp_path / "dangling.png").symlink_to("nowhere.png")
    (tmp_path / "empty.png").touch()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.exists()}
    for name in ("released.png", "renamed.svg", "data.png", "link.png", "dangling.png", "empty.png"):
        refused = invoke(*words, tmp_path / name)
        assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert "exists; it is not a picture that discreet show drew, so it is not overwritten" in refused.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.exists()} == before


# --- shell advice -----------------------------------------------------------------------------------------------------


def test_advice_in_the_shell_can_be_typed(record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spaced = record.rename("my posterior.json")
    assert "discreet verify 'my posterior.json' computes" in invoke("show", spaced).stdout
    (tmp_path / "no.json").write_text("never")
    for command in ("show", "verify"):
        said = invoke(command, "no.json").stderr
        assert "name the JSON file that `discreet release --output` wrote" in said
        assert "from_json" not in said
    with pytest.raises(dc.InvalidInputError, match=r"Release.from_json\(Path"):
        dc.Release.from_json("never")


def test_what_cannot_be_verified_is_not_advised(tmp_path: Path) -> None:
    (path := tmp_path / "x.json").write_text(dc.HellingerSmooth(PRIOR, 120, 1).release([60, 40, 20]).to_json())
    assert "cannot be computed at this size" in invoke("show", path).stdout
