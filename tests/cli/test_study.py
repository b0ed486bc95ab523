"""The commands of a study, as they are typed; what `check` shows is in no other output."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.ledger.ledger import Ledger
from tests.cli.support import assert_refused, invoke
from tests.requests.study_support import STUDY, written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path)
    Ledger(tmp_path / "ledger.db").create("survey", 1, unit="person")
    return tmp_path


def test_the_whole_walk(folder: Path) -> None:
    study, published = folder / "study.toml", folder / "published"
    assert invoke("check", study).exit_code == 0
    assert "smoking" in invoke("plan", study, "--records", 600).stdout
    released = invoke("release", study, "--ledger", folder / "ledger.db", "--output", published)
    assert released.exit_code == 0, released.output
    assert "ε = 0 left" in released.stdout
    [line] = Ledger(folder / "ledger.db").history("survey")
    assert line.loss.epsilon == 1
    again = invoke("release", study, "--ledger", folder / "ledger.db", "--output", published)
    assert "nothing was charged or drawn now" in again.stdout
    assert len(Ledger(folder / "ledger.db").history("survey")) == 1
    assert invoke("contrast", published / "smoking.json", "18-34", "55+", "current").exit_code == 0
    assert "3 to under 7" in invoke("show", published / "exercise.json").stdout
    assert invoke("report", published, "--output", folder / "study.html").exit_code == 0
    page = (folder / "study.html").read_text()
    assert page.count("Health survey 2026") > 2
    assert "read alone" in page
    assert "adds up to ε = 1: reading all of them changes the odds of a guess about what a certain person answered" in page
    assert "by a factor of at most 2.72. Each" in page  # all tables: e to the power of 1
    assert "reading this page" not in page
    assert page.count("reading this table changes the odds of that guess") == 2
    assert page.count("discreet-release") == 2
    assert_refused(invoke("show", folder / "study.html"), "records in the study's folder")
    for place in (published, published / "study.json"):
        shown = invoke("show", place, columns=300)
        assert shown.exit_code == 0, shown.output
        assert "Health survey 2026" in shown.stdout
        for words in ("smoking.json", "exercise.json", "0.6667", "60", f"discreet report {published} --output study.html"):
            assert words in "".join(shown.stdout.split("\n")) or words in " ".join(shown.stdout.split())
    assert json.loads(invoke("show", published, "--json").stdout)["tables"]["smoking"]["n"] == 60
    assert_refused(invoke("show", folder), "is not a folder that")
    assert_refused(invoke("contrast", published / "study.json", "a", "b"), "name the record of one, which lies beside it")
    history = invoke("ledger", "history", folder / "ledger.db", "survey").stdout
    assert "LatticeGeometric: 2 tables" in " ".join(history.split())
    for command in ("check", "plan", "release", "show", "report"):
        assert "of a study" in invoke(command, "--help").stdout
    assert invoke("report", published / "smoking.json", "--output", folder / "one.html").exit_code == 0


def test_a_dry_run_says_what_will_be_public_and_spends_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    found = invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--dry-run")
    assert found.exit_code == 0, found.output
    for word in (
        "n = 60 persons",
        "never, former, current",
        "18-34, 35-54, 55+",
        "0 to under 1",
        "Health survey 2026",
        "ε = 1 to 'survey', which has ε = 1 left",
    ):
        assert word in " ".join(found.stdout.split())
    assert sorted(folder.iterdir()) == before
    (folder / "study.toml").write_text(STUDY.replace('public = "total"', 'public = "sizes"'))
    refused = invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--dry-run")
    assert_refused(refused, 'release with study.public = "total", or charge a dataset that was created with --public sizes --by age (')
    assert not Ledger(folder / "ledger.db").history("survey")


SECRETS = ["Nevver-secret", "fifty-secret", "hours-secret"]


def test_planted_secrets_of_check_are_in_no_other_output(folder: Path) -> None:
    study = STUDY.replace("epsilon = 1.0", 'epsilon = 1.0\ncorrections = "c.toml"').replace("bands = [0, 1, 3, 7]", "bands = [0, 1]")
    study += 'other = "1 and more"\n'
    written(folder, study, "p61,Nevver-secret,1,55+", "p62,never,1,fifty-secret", "p63,never,hours-secret,55+")
    checked = invoke("check", folder / "study.toml")
    assert checked.exit_code == 1
    assert checked.stdout.startswith("private: do not publish")
    assert all(secret in checked.stdout for secret in SECRETS)
    assert "declare no category because it is listed here" in checked.stdout.splitlines()[-1]
    assert checked.stderr == ""
    refused = invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--output", folder / "published")
    assert_refused(refused, "tables.smoking: column 'age'", "c.toml, which study.corrections names, is not there")
    assert "c.toml, which study.corrections names, is not there" in checked.stdout
    (folder / "c.toml").write_text('[smoking]\nNevver-secret = "never"\n[age]\nfifty-secret = "55+"\n')
    outputs = [refused.output]
    for words in (
        ("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--dry-run"),
        ("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--output", folder / "published"),
        ("report", folder / "published", "--output", folder / "study.html"),
        ("show", folder / "published" / "smoking.json"),
    ):
        done = invoke(*words)
        assert done.exit_code == 0, done.output
        outputs.append(done.output)
    assert "curator's corrections of spellings allowed" in " ".join(outputs[-1].split())
    files = [folder / "ledger.db", folder / "study.html", *(folder / "published").iterdir()]
    for secret in SECRETS:
        assert not any(secret in output for output in outputs)
        assert not any(secret.encode() in path.read_bytes() for path in files)


def test_the_exit_code_of_check_says_whether_a_release_would_be_refused_and_nothing_else(folder: Path) -> None:
    codes = []
    for more in ([], ["p1,former,1,18-34"], ["p61,x,1,55+"], ["p61,x,1,55+", "p62,y,,55+", "p63,,1,"]):
        written(folder, STUDY, *more)
        codes.append(invoke("check", folder / "study.toml").exit_code)
    assert codes == [0, 0, 1, 1]


@pytest.mark.parametrize("command", ["check", "plan", "release"])
def test_a_bad_study_is_refused_in_one_line(folder: Path, command: str) -> None:
    (folder / "study.toml").write_text(STUDY + "colour = 1\n")
    options = ["--ledger", folder / "ledger.db", "--output", folder / "published"] if command == "release" else []
    assert_refused(invoke(command, folder / "study.toml", *options), "unknown key 'colour'")
    assert not Ledger(folder / "ledger.db").history("survey")


def test_with_nothing_public_only_the_draws_depend_on_the_data(folder: Path) -> None:
    """What commands say, their exit codes, the ledger and what else is published are the same of 60 persons, of 7 and of nobody."""

    def told(people: int, public: str) -> tuple[object, ...]:
        place = folder / f"{public}{people}"
        place.mkdir()
        written(place, STUDY.replace('"total"', f'"{public}"'))
        (place / "survey.csv").write_text("\n".join((place / "survey.csv").read_text().splitlines()[: people + 1]) + "\n")
        ledger = Ledger(place / "ledger.db")
        ledger.create("survey", 3, unit="person")
        options = [place / "study.toml", "--ledger", place / "ledger.db"]
        said = [invoke("release", *options, *more) for more in (["--dry-run"], ["--output", place / "published", "--yes"])]
        records = [json.loads(path.read_text()) for path in sorted((place / "published").iterdir())]
        outputs = [(one.exit_code, (one.stdout + one.stderr).replace(str(place), "")) for one in said]
        public_parts = [{name: part for name, part in record.items() if name not in ("raw", "counts")} for record in records]
        [line] = ledger.history("survey")
        return outputs, public_parts, line.description, line.note, line.loss

    assert told(60, "nothing") == told(7, "nothing") == told(0, "nothing")
    assert told(60, "total") != told(7, "total")  # the control


def test_places_that_are_taken_are_refused_before_the_charge(folder: Path) -> None:
    (folder / "taken").mkdir()
    (folder / "taken" / "file").write_text("")
    ledger = ["--ledger", folder / "ledger.db"]
    assert_refused(invoke("release", folder / "study.toml", *ledger, "--output", folder / "taken"), "no empty folder")
    assert_refused(invoke("release", folder / "study.toml", *ledger, "--output", folder / "none" / "here"), "cannot be written")
    assert_refused(invoke("release", folder / "study.toml", *ledger), "--output must name")
    assert_refused(invoke("report", folder / "taken", "--output", folder / "x.html"), "is not a folder that")
    assert not Ledger(folder / "ledger.db").history("survey")


def test_what_is_said_to_be_charged_is_what_the_ledger_has(folder: Path) -> None:
    """A study that hides who took part costs a budget with a public n twice its ε."""
    (folder / "study.toml").write_text(STUDY.replace('public = "total"', 'public = "nothing"').replace("epsilon = 1.0", "epsilon = 0.25"))
    done = invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--output", folder / "published", "--yes")
    assert done.exit_code == 0, done.output
    [line] = Ledger(folder / "ledger.db").history("survey")
    assert line.loss.epsilon == Fraction(1, 2)
    assert "; ε = 0.5 (its own ε = 0.25, for two steps" in done.stdout
    assert "charged at once; ε = 0.5 left" in done.stdout


def test_a_study_without_a_ledger_or_dataset(folder: Path) -> None:
    done = invoke("release", folder / "study.toml", "--output", folder / "published", "--yes")
    assert done.exit_code == 0
    assert "no ledger was named" in done.stderr
    (folder / "study.toml").write_text(STUDY.replace('dataset = "survey"\n', ""))
    assert_refused(invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--output", folder / "next"), "no dataset")


def test_plan_as_json_has_every_table(folder: Path) -> None:
    done = invoke("plan", folder / "study.toml", "--json")
    assert done.exit_code == 0, done.output
    assert done.stdout.count('"smoking"') == 6  # three numbers of records, by two splits
    assert_refused(invoke("plan", folder / "study.toml", "--records", 0), "n must be")


def test_each_record_is_read_alone(folder: Path) -> None:
    invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--output", folder / "published")
    record = dc.Release.from_json((folder / "published" / "exercise.json").read_text())
    assert record.n == 60
    assert record.guarantee.unit == "person"


def test_a_published_study_is_shown_as_it_is_told_to_be_read(folder: Path) -> None:
    done = invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--output", folder / "published")
    assert done.exit_code == 0, done.output
    listed = invoke("show", folder / "published").stdout
    assert "noise\nalone" not in listed
    shown = invoke("show", folder / "published", "--about", "records", "--mass", "0.9").stdout
    for name in ("smoking", "exercise"):
        alone = invoke("show", folder / "published" / f"{name}.json", "--about", "records", "--mass", "0.9").stdout
        table = [line for line in alone.splitlines() if line.startswith("│")]
        assert table
        assert "\n".join(table) in shown
    fields = json.loads(invoke("show", folder / "published", "--about", "records", "--json").stdout)
    single = json.loads(invoke("show", folder / "published" / "smoking.json", "--about", "records", "--json").stdout)
    assert fields["records"]["smoking"] == single
    assert list(fields["tables"]) == ["smoking", "exercise"]


def test_a_third_of_epsilon_is_shown_in_six_digits_and_not_understated(folder: Path) -> None:
    done = invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--output", folder / "published")
    assert done.exit_code == 0, done.output
    said = invoke("show", folder / "published" / "exercise.json").stdout
    assert "ε = 0.333334 differential privacy" in said


def test_tables_of_a_study_and_of_a_ledger_fit_a_terminal(folder: Path) -> None:
    done = invoke("release", folder / "study.toml", "--ledger", folder / "ledger.db", "--output", folder / "published")
    assert done.exit_code == 0, done.output
    for words in (
        ["plan", folder / "study.toml"],
        ["show", folder / "published" / "smoking.json", "--reference", "18-34", "--category", "never"],
        ["ledger", "history", folder / "ledger.db", "survey"],
        ["ledger", "show", folder / "ledger.db"],
    ):
        found = invoke(*words, columns=80)
        assert found.exit_code == 0, found.output
        rows = found.stdout.splitlines()
        body = [line for line in rows if "│" in line or "──" in line or "┃" in line] or rows
        last = max(number for number, line in enumerate(rows) if line in body)
        assert max(map(len, rows[: last + 1])) <= 80


def test_check_says_what_helps_also_where_ids_are_missing(folder: Path) -> None:
    written(folder, STUDY, "p98,Nevr,1,55+")
    assert "study.corrections" in invoke("check", folder / "study.toml").stdout
    written(folder, STUDY, "p98,Nevr,1,55+", ",never,1,55+")
    said = invoke("check", folder / "study.toml").stdout
    assert "some rows have no id" in said
    assert "study.corrections" in said
    written(folder, STUDY, ",never,1,55+")
    assert "study.corrections" not in invoke("check", folder / "study.toml").stdout


def test_what_would_be_charged_twice_is_refused_in_the_words_of_the_study(folder: Path) -> None:
    Ledger(folder / "large.db").create("survey", 5, unit="person")
    written(folder, STUDY.replace('public = "total"', 'public = "nothing"'))
    refused = invoke("release", folder / "study.toml", "--ledger", folder / "large.db", "--output", folder / "published")
    assert_refused(refused, 'with study.public = "total" it is charged its own ε', "nothing was spent")
    assert not Ledger(folder / "large.db").history("survey")


@pytest.mark.parametrize(("given", "key"), [("epsilon = 1.0", "study.epsilon"), ("weight = 2", "tables.smoking.weight")])
def test_a_number_that_is_none_is_asked_for_without_words_of_python(folder: Path, given: str, key: str) -> None:
    written(folder, STUDY.replace(given, f'{given.split(" ")[0]} = "much"'))
    refused = invoke("plan", folder / "study.toml")
    assert_refused(refused, f"{key} must be a finite number such as 0.5 or 1/3")
    assert "Fraction" not in refused.stderr
