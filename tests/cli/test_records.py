"""`discreet show` and `discreet verify`, as whoever was given a record meets them."""

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.sampling import SeededBits
from tests.cli.support import CATEGORIES, PRIOR, invoke
from tests.support import says_interval

# --- show -------------------------------------------------------------------------------------------------------------


def test_show_prints_what_release_printed(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text("smoking\n" + "never\nformer\ncurrent\n" * 20)
    asked = ["--column", "smoking", "--categories", ",".join(CATEGORIES), "--epsilon", "0.5"]
    released = invoke("release", tmp_path / "survey.csv", *asked, "--output", tmp_path / "posterior.json")
    shown = invoke("show", tmp_path / "posterior.json")
    assert (released.exit_code, shown.exit_code) == (0, 0), shown.output
    own = ("Counted", "Ledger", "Check", "notice:")

    def common(text: str) -> list[str]:
        return [line.rstrip() for line in text.splitlines() if not line.startswith(own)]

    assert common(shown.stdout) == common(released.stderr)
    assert released.stdout == ""
    promise = "ε = 0.5 differential privacy by proof (checked: fixed_total_private); it compares datasets that differ in one record"
    assert f"Promise   {promise}" in shown.stdout


def test_show_needs_nothing_but_the_record(record: Path, tmp_path: Path) -> None:
    found, shown = dc.Release.from_json(record.read_text()), invoke("show", record, "--plot", tmp_path / "new.png").stdout
    for label, count, (low, high) in zip(CATEGORIES, found.counts, found.noise_aware().interval(0.95), strict=True):
        assert [label, str(count)] == next(line for line in shown.splitlines() if f" {label} " in line).replace("│", "").split()[:2]
        assert says_interval(shown, low, high)
    assert (tmp_path / "new.png").read_bytes().startswith(b"\x89PNG")


def test_show_tells_of_no_guarantee(tmp_path: Path) -> None:
    drawn = dc.LatticeGeometric(PRIOR, 60, 1).release([30, 18, 12], source=SeededBits(1))
    (tmp_path / "study.json").write_text(drawn.to_json())
    shown = invoke("show", tmp_path / "study.json").stdout
    assert "Promise   no privacy guarantee" in shown
    assert "Protected nothing" in shown


def test_show_never_cuts_a_category(tmp_path: Path) -> None:
    long = "a_category_with_a_name_that_does_not_fit_anywhere_" * 2
    prior = dc.Dirichlet.uniform(categories=[long, "other"])
    (tmp_path / "long.json").write_text(dc.LatticeGeometric(prior, 60, 1).release([30, 30]).to_json())
    shown = invoke("show", tmp_path / "long.json", columns=80).stdout
    assert "…" not in shown
    assert "".join(line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")).startswith(long)
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["none.json"], "none.json cannot be read (No such file or directory): name the JSON file that `discreet release --output` wrote"),
        (["."], "cannot be read"),
        (["survey.csv"], "this is not a release: survey.csv is no JSON"),
        (["posterior.json", "--plot", "posterior.gif"], ".png, .svg or .pdf"),
        (["posterior.json", "--plot", "old.png"], "old.png exists"),
        (["posterior.json", "--plot", "same.png"], "--plot same.png is also the record"),
    ],
)
def test_what_show_refuses(record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text("smoking\nnever\n")
    (tmp_path / "old.png").touch()
    (tmp_path / "same.png").symlink_to("posterior.json")
    result = invoke("show", *words)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert says in result.stderr
    assert "smoking" not in result.stderr


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify_a_record(record: Path, tmp_path: Path) -> None:
    result = invoke("verify", record)
    assert result.exit_code == 0, result.output
    assert "LatticeGeometric, n = 60, prior 1,1,1" in result.stdout
    assert "Claimed   ε = 0.5 differential privacy by proof (checked: fixed_total_private)" in result.stdout
    assert "it compares datasets that differ in one person's answers" in result.stdout
    assert "Verdict   holds" in result.stdout
    assert "a record is as trustworthy as its source" in result.stdout
    (tmp_path / "record").write_text(record.read_text())
    assert json.loads(invoke("verify", tmp_path / "record", "--json").stdout)["holds"] is True


@pytest.mark.parametrize("epsilon", ["0.25", "2.0", "0", "inf"])
def test_a_record_that_claims_another_promise_than_its_mechanism_is_refused(record: Path, epsilon: str) -> None:
    text = record.read_text()
    record.write_text(text.replace('"epsilon": "0.5"', f'"epsilon": "{epsilon}"'))
    assert record.read_text() != text
    shown, verified, fields = invoke("show", record), invoke("verify", record), invoke("verify", record, "--json")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "do not rely on this record" in shown.stderr
    assert (verified.exit_code, verified.stderr, fields.exit_code) == (1, "", 1)
    assert "Verdict does not hold: the record claims" in verified.stdout
    assert json.loads(fields.stdout)["holds"] is False


def test_a_record_that_claims_nothing_is_verified_as_such(tmp_path: Path) -> None:
    (path := tmp_path / "seeded.json").write_text(
        dc.LatticeGeometric(dc.Beta(1, 1), 20, 1).release([12, 8], source=SeededBits(1)).to_json()
    )
    result = invoke("verify", path)
    assert result.exit_code == 1
    assert "Verdict   nothing is claimed" in result.stdout


def test_a_calibrated_record_is_verified_by_its_factor(tmp_path: Path) -> None:
    mechanism = dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), 20, 1))
    (path := tmp_path / "calibrated.json").write_text(text := mechanism.release([12, 8]).to_json())
    result = invoke("verify", path)
    assert result.exit_code == 0, result.output
    assert "Calibrated(HellingerSmooth), n = 20" in result.stdout
    path.write_text(text.replace(f'"factor": "{mechanism.factor}"', f'"factor": "{2 * mechanism.factor}"'))
    assert invoke("verify", path).exit_code == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["posterior.json", "--n", "10"], "posterior.json is a record, which has its own n, epsilon and prior: leave out --n"),
        (["posterior.json", "-e", "1", "--prior", "1,1", "--calibrated"], "leave out --epsilon, --prior, --calibrated"),
        (["none.json"], "none.json cannot be read"),
        (["a\0b.json"], "cannot be read (not a path)"),
        (["lattice", "--n", "10", "--epsilon", ""], "--epsilon must be a number such as 0.5 or 1/3, got ''"),
        (["lattice"], "--n is missing: give the number of records, or --public nothing if it is private, or the JSON file"),
        (["lattice", "--n", "10", "--public", "nothing"], "with --public nothing there is none: leave one of them out"),
        (["lattice", "--public", "n"], "--public must be total (n is published) or nothing (n stays private), got 'n'"),
        (["posterior.json", "--public", "nothing"], "leave out --public"),
        (["EHDS", "--public", "nothing"], "HellingerSmooth needs a public n"),
        (["lattice", "--n", "10", "--prior", "uniform"], "such as uniform:3; got 'uniform'"),
        (["lattice", "--n", "10", "--epsilon", "0;5"], "--epsilon must be a number such as 0.5 or 1/3, got '0;5'"),
        (["lattice", "--n", "10", "--prior", "0,0"], "--prior must be uniform:K, jeffreys:K or a number from 1e-100"),
    ],
)
def test_what_verify_refuses(record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("verify", *words)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert says in result.stderr


def test_verify_says_what_its_numbers_are() -> None:
    shown = invoke("verify", "EHDS", "--n", "100").stdout
    assert "Loss      0.3999334322, with all rounding at most 0.39993343" in shown
    assert "how much ln(probability) of an outcome can change when a row changes" in shown
    assert "Largest   between the counts (1, 99) and (2, 98)" in shown
    assert "Unused    60.0% of the claimed ε: noise that this configuration would not need" in shown
