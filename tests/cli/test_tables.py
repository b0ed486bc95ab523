"""Tables on the command line: releases by groups, what is said of them, and what is refused before anything is spent.

Oracle: counting and posteriors in Python, which have their own. Nothing is drawn twice: a record that was written is what is shown.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import discreet as dc
from discreet.arrays import Counts
from discreet.cli import app
from discreet.ledger.ledger import Ledger
from discreet.record.release import is_table
from tests.support import lowered

ROWS = [("north", "f", "yes")] * 30 + [("north", "m", "no")] * 20 + [("south", "f", "no")] * 25 + [("south", "m", "yes")] * 5
ASKED = ["--column", "risk", "--categories", "yes,no", "--by", "region=north,south", "--by", "sex=f,m", "--epsilon", "1"]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    lines = [f"P{i},{','.join(row)}" for i, row in enumerate(ROWS)]
    (tmp_path / "survey.csv").write_text("\n".join(["who,region,sex,risk", *lines]))
    return tmp_path


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(app, [words[0], str(folder / "survey.csv"), *words[1:]])


def released(folder: Path, *words: str, name: str = "table.json") -> dc.Release[Counts]:
    done = run(folder, "release", *ASKED, *words, "--output", str(folder / name), "--quiet")
    assert done.exit_code == 0, done.output
    path = folder / name
    found = dc.Release.from_parquet(path) if name.endswith(".parquet") else dc.Release.from_json(path.read_text())
    assert is_table(found)
    return found


@pytest.mark.parametrize("public", ["sizes", "total", "nothing"])
def test_a_table_is_released_shown_and_verified(survey: Path, public: str) -> None:
    found = released(survey, "--public", public, "--privacy-id", "who")
    assert found.sizes == ((30, 20, 25, 5) if public == "sizes" else None)
    assert found.n == (None if public == "nothing" else len(ROWS))
    assert list(found.cells.groups) == [("north", "f"), ("north", "m"), ("south", "f"), ("south", "m")]
    shown = CliRunner().invoke(app, ["show", str(survey / "table.json"), "--json", "--mass", "0.9"])
    fields = json.loads(shown.output)
    cells, posterior = fields["cells"], found.noise_aware()
    if public == "nothing":
        assert [tuple(size["group"].values()) for size in fields["sizes"]] == list(found.cells.groups)
        laws = [posterior.size[group] for group in found.cells.groups]
        assert [size["mean"] for size in fields["sizes"]] == pytest.approx([law.mean() for law in laws])
        assert [(size["low"], size["high"]) for size in fields["sizes"]] == [law.interval(0.9) for law in laws]
    else:
        assert fields["sizes"] is None
    figures = found.noise_aware().figures(0.9)
    assert [cell["low"] for cell in cells] == pytest.approx(figures.low.ravel().tolist())
    assert [cell["reported_count"] for cell in cells] == found.counts.ravel().tolist()
    words = " ".join(CliRunner().invoke(app, ["show", str(survey / "table.json")]).output.split())
    assert ("Number of persons in each group" in words) == (public == "nothing")
    with lowered(GROUP_SIZES=3):
        many = " ".join(CliRunner().invoke(app, ["show", str(survey / "table.json")]).output.split())
    assert ("Sizes private; those of 4 groups are not shown" in many) == (public == "nothing")
    promised = {
        "sizes": "not their region and sex",
        "total": "their region and sex included; not that",
        "nothing": "whether a person took part",
    }
    assert promised[public] in words
    assert CliRunner().invoke(app, ["verify", str(survey / "table.json")]).exit_code == 0


def test_large_tables_are_written_as_parquet(survey: Path) -> None:
    with lowered(RECORD_CELLS=4):
        refused = run(survey, "release", *ASKED, "--output", str(survey / "table.json"))
        assert refused.exit_code == 2
        assert "--output TABLE.parquet" in " ".join(refused.output.split())
        assert released(survey, name="table.parquet").n == len(ROWS)
    assert CliRunner().invoke(app, ["show", str(survey / "table.parquet")]).exit_code == 0


def test_groups_from_a_file_and_cells_that_cannot_occur(survey: Path) -> None:
    (survey / "regions.txt").write_text("north\nsouth\neast\n")
    by = ["--by", f"region=@{survey / 'regions.txt'}", "--impossible", "east,yes", "--impossible", "east,no"]
    asked = ["--column", "risk", "--categories", "yes,no", "--epsilon", "1", *by, "--output", str(survey / "out.json"), "--quiet"]
    assert run(survey, "release", *asked).exit_code == 0
    found = dc.Release.from_json((survey / "out.json").read_text())
    assert is_table(found)
    assert found.raw[2].tolist() == [0, 0]
    assert found.cells.possible[2].any() == np.False_


def test_a_picture_is_drawn(survey: Path) -> None:
    assert run(survey, "release", *ASKED, "--plot", str(survey / "table.png"), "--output", str(survey / "t.json")).exit_code == 0
    assert (survey / "table.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "region"], "--by must be COLUMN=GROUP"),
        (["--by", "age=young,old"], "age"),
        (["--by", "sex=f,m"], "twice"),
        (["--by", "ward=a,a"], "declared twice"),
        (["--by", "ward=a,,b"], "without a name"),
        (["--impossible", "north,yes"], "a label for each"),
        (["--impossible", "north,m,perhaps"], "declared category"),
        (["--impossible", "north,f,yes"], "impossible"),
        (["--other-group", "region"], "COLUMN=GROUP"),
        (["--mechanism", "HellingerSmooth"], "LatticeGeometric"),
        (["--public", "groups"], "sizes (of every group)"),
    ],
)
def test_bad_groups_are_refused_in_one_line_before_anything_is_spent(survey: Path, words: list[str], said: str) -> None:
    ledger = Ledger(survey / "ledger.db")
    ledger.create("survey", 3)
    charged = ["--ledger", str(survey / "ledger.db"), "--dataset", "survey", "--output", str(survey / "out.json")]
    refused = run(survey, "release", *ASKED, *words, *charged)
    assert refused.exit_code == 2, refused.output
    assert said in " ".join(refused.output.split())
    assert ledger.spent("survey").epsilon == 0
    assert not (survey / "out.json").exists()


def test_groups_options_need_groups(survey: Path) -> None:
    asked: list[Any] = ["--column", "risk", "--categories", "yes,no", "--epsilon", "1"]
    for words, said in ((["--public", "sizes"], "none are declared"), (["--impossible", "a,b"], "declare them with --by")):
        refused = run(survey, "release", *asked, *words)
        assert refused.exit_code == 2
        assert said in " ".join(refused.output.split())


@pytest.mark.parametrize(
    ("made", "public", "charged"),
    [
        (["--public", "sizes", "--by", "region,sex"], "sizes", 1),
        (["--public", "total"], "total", 1),
        (["--public", "total"], "nothing", 2),
        (["--public", "total"], "sizes", None),
        (["--public", "nothing"], "total", None),
    ],
)
def test_all_groups_are_charged_once(survey: Path, made: list[str], public: str, charged: int | None) -> None:
    place = str(survey / "ledger.db")
    assert CliRunner().invoke(app, ["ledger", "create", place, "survey", "--epsilon", "5", *made]).exit_code == 0
    asked = [*ASKED, "--public", public, "--ledger", place, "--dataset", "survey", "-o", str(survey / "o.json"), "-q"]
    if charged == 2:
        assert "nothing was spent" in run(survey, "release", *asked).output
    done = run(survey, "release", *asked, "--yes")
    assert (done.exit_code == 0) == (charged is not None), done.output
    assert Ledger(place).spent("survey").epsilon == (charged or 0)


def test_a_prior_that_outweighs_the_noisy_counts_is_said_before_the_spend(survey: Path) -> None:
    weak = run(survey, "release", *ASKED[:-2], "--epsilon", "0.05", "--output", str(survey / "weak.json"))
    assert "outweighs the noisy counts" in " ".join(weak.output.split())
    strong = run(survey, "release", *ASKED, "--output", str(survey / "strong.json"))
    assert "outweighs" not in strong.output


def test_a_budget_takes_its_columns_in_one_option_or_in_several(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    made = ["ledger", "create", place]
    assert CliRunner().invoke(app, [*made, "one", "--epsilon", "1", "--public", "sizes", "--by", "region,sex"]).exit_code == 0
    assert (
        CliRunner().invoke(app, [*made, "several", "--epsilon", "1", "--public", "sizes", "--by", "region", "--by", "sex"]).exit_code == 0
    )
    assert Ledger(place).budget("one").neighbours == Ledger(place).budget("several").neighbours
    refused = CliRunner().invoke(app, [*made, "wrong", "--epsilon", "1", "--public", "sizes", "--by", "region=north,south"])
    assert refused.exit_code == 2
    assert "names columns alone, without their groups" in " ".join(refused.output.split())


def test_values_without_a_group_are_told_of_in_the_words_of_the_shell(survey: Path) -> None:
    asked = ["--column", "risk", "--categories", "yes,no", "--epsilon", "1", "--by", "region=north"]
    refused = " ".join(run(survey, "release", *asked).output.split())
    assert "--other-group region=GROUP" in refused
    assert "other_groups" not in refused


def test_labels_too_long_for_json_are_refused_before_the_spend(survey: Path) -> None:
    """3,000 groups of 4,000 characters that JSON writes as six each are more than a record may have."""
    book = Ledger(survey / "ledger.db")
    book.create("survey", 1)
    (survey / "groups.txt").write_text("\n".join(["north", "south", *(f"{i:04}" + "é" * 3996 for i in range(3000))]))
    asked = ["--column", "risk", "--categories", "yes,no", "--by", f"region=@{survey / 'groups.txt'}", "--epsilon", "1"]
    charged = [*asked, "--ledger", str(survey / "ledger.db"), "--dataset", "survey", "--yes", "--quiet", "--output"]
    refused = run(survey, "release", *charged, str(survey / "table.json"))
    assert refused.exit_code == 2
    assert "the labels of this table are too long for JSON: name a file with --output TABLE.parquet" in " ".join(refused.output.split())
    assert not book.history("survey")
    assert run(survey, "release", *charged, str(survey / "table.parquet")).exit_code == 0
    assert len(dc.Release.from_parquet(survey / "table.parquet").counts) == 3002


@pytest.mark.parametrize("to_a_file", [True, False])
def test_a_record_that_proves_too_long_for_json_is_kept(survey: Path, to_a_file: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that cannot occur are measured on one line, and written on four: the limit is put between the two."""
    (survey / "kept").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(survey / "kept"))
    book = Ledger(survey / "ledger.db")
    book.create("survey", 1)
    more = [f"{i}" for i in range(40)]
    asked = ["--column", "risk", "--categories", "yes,no", "--by", f"region=north,south,{','.join(more)}", "--epsilon", "1"]
    left_out = [word for group in more for word in ("--impossible", f"{group},yes")]
    charged = ["--ledger", str(survey / "ledger.db"), "--dataset", "survey"]
    written = ["--quiet", "--output", str(survey / "table.json")] if to_a_file else ["--json"]
    with lowered(RECORD_CHARACTERS=3000):
        done = run(survey, "release", *asked, *left_out, *charged, *written)
    assert done.exit_code == 2
    (kept,) = (survey / "kept").iterdir()
    assert "the release was drawn and charged, but" in " ".join(done.output.split())
    assert kept.name in "".join(done.output.split())
    assert len(book.history("survey")) == 1
    assert dc.Release.from_parquet(kept).n == len(ROWS)


@pytest.mark.parametrize(
    ("n", "says"),
    [
        (40, "(40, 0, 0, 0, 0, 0, 0, 0) and (39, 1, 0, 0, 0, 0, 0, 0) of 8 of the 40 cells of the table; its other cells are 0"),
        ([2] * 20, "(2, 0) and (1, 1) of all cells of a group"),
        (None, "(0,) and (1,) of 1 of the 40 cells of the table; its other cells are alike in both"),
    ],
)
def test_verify_says_for_how_many_cells_of_a_table_its_counts_stand(n: int | list[int] | None, says: str, tmp_path: Path) -> None:
    found = dc.LatticeGeometric(dc.Beta(1, 1), n=n, epsilon=1, by={"region": list(range(20))}).release([[1, 1]] * 20)
    (tmp_path / "table.json").write_text(found.to_json())
    verified = CliRunner().invoke(app, ["verify", str(tmp_path / "table.json")])
    assert verified.exit_code == 0, verified.output
    assert f"between the counts {says}" in " ".join(verified.output.split())


def test_intervals_that_take_minutes_are_announced(tmp_path: Path) -> None:
    """By public numbers: the noise is so wide, and the groups are so many, that going through their counts takes minutes."""
    by = {"region": [f"region {i}" for i in range(300)]}
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(3), epsilon="0.1", by=by).release(np.full((300, 3), 30))
    (tmp_path / "table.json").write_text(release.to_json())
    for command in (
        ["show", str(tmp_path / "table.json")],
        ["report", str(tmp_path / "table.json"), "--output", str(tmp_path / "page.html")],
    ):
        done = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
        assert done.exit_code == 0
        assert "for minutes" in done.output
        assert "--slow" in done.output
