"""No written file holds a clock: how long a draw takes may depend on the data, so when a file was written is not for its readers.

Everything is written three times: as it is, in another time zone, and at the time that SOURCE_DATE_EPOCH names, which Matplotlib and others
take for theirs. The files must be the same, byte by byte, and none may have today's date as text. The negative control is Matplotlib's own
way to save a figure.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.record.release import is_table
from discreet_papers.run import ReproductionPlan, reproduce_all
from tests.support import planted
from tests.web.release.releases import Survey, drawn, look
from tests.web.server import explore

ASKED = ["-c", "risk", "--categories", "low,high", "-e", "1", "--yes", "--quiet"]
KINDS = ("png", "svg", "pdf")
CLOCKS: tuple[dict[str, str], ...] = ({"TZ": "Etc/GMT+11"}, {"TZ": "Etc/GMT-13"}, {"SOURCE_DATE_EPOCH": "315532800"})


@contextmanager
def clock(settings: dict[str, str]) -> Iterator[None]:
    """The time by these settings of the environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        time.tzset()
        yield
    time.tzset()


def clocks_in(written: Callable[[], dict[str, bytes]]) -> set[str]:
    """The names of the files that depend on when they are written, or that name a day about now."""
    runs = []
    for settings in CLOCKS:
        with clock(settings):
            runs.append(written())
    first, *others = runs
    assert all(set(run) == set(first) for run in others)
    days = [datetime.now(UTC) + timedelta(days) for days in (-1, 0, 1)] + [datetime.fromtimestamp(315532800, UTC)]
    said = [day.strftime(form).encode() for day in days for form in ("%Y-%m-%d", "%Y%m%d", "%d %b %Y", "%d/%m/%Y", "%m/%d/%Y")]
    dated = {name for run in runs for name, content in run.items() if any(text in content for text in said)}
    return dated | {name for name in first if any(run[name] != first[name] for run in others)}


def command(*words: object) -> None:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """New empty folders, one with each call."""
    return lambda: tmp_path_factory.mktemp("written")


def test_the_search_finds_the_clock_in_what_matplotlib_writes_by_itself(fresh: Callable[[], Path]) -> None:
    def saved() -> dict[str, bytes]:
        figure, folder = Figure(), fresh()
        for kind in ("svg", "pdf", "eps"):
            figure.savefig(folder / f"a.{kind}")
        return files_below(folder)

    assert clocks_in(saved) == {"a.svg", "a.pdf", "a.eps"}


def test_release_show_and_report_write_no_clock(tmp_path: Path, fresh: Callable[[], Path]) -> None:
    survey = tmp_path / "survey.csv"
    survey.write_text("risk,region\n" + "low,north\nhigh,north\nlow,south\n" * 20)

    def written() -> dict[str, bytes]:
        folder = fresh()
        record, table = folder / "record.json", folder / "table.json"
        with planted(dc.LatticeGeometric, (41, 19)):
            command("release", survey, *ASKED, "--output", record, "--plot", folder / "release.pdf")
        with planted(dc.LatticeGeometric, None):
            command("release", survey, *ASKED, "--by", "region=north,south", "--output", table)
        for kind in KINDS:
            command("show", record, "--plot", folder / f"show.{kind}")
        command("show", table, "--reference", "north", "--category", "low", "--plot", folder / "forest.svg")
        command("report", table, "--output", folder / "page.html")
        found = dc.Release.from_json(table.read_text())
        assert is_table(found)
        found.to_parquet(folder / "table.parquet")
        return files_below(folder)

    assert clocks_in(written) == set()


def test_plan_writes_no_clock(fresh: Callable[[], Path]) -> None:
    def written() -> dict[str, bytes]:
        folder = fresh()
        for kind in KINDS:
            command("plan", "--curve", "--n", "20", "--plot", folder / f"curve.{kind}")
        return files_below(folder)

    assert clocks_in(written) == set()


@pytest.mark.slow
def test_reproduce_writes_no_clock(fresh: Callable[[], Path]) -> None:
    def written() -> dict[str, bytes]:
        folder = fresh()
        reproduce_all(ReproductionPlan.of(folder, ["000-figure-1", "000-section-3"], quick=True))
        return files_below(folder)

    assert clocks_in(written) == set()
    assert {Path(name).suffix for name in written()} >= {".svg", ".png", ".html", ".csv", ".parquet", ".json", ".md"}


@pytest.mark.slow
def test_the_page_of_explore_hands_out_no_clock(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    with explore(XDG_DATA_HOME=survey.home) as server:
        _, key = look(server, survey.fields())
        drawn(server, key)

    def downloaded() -> dict[str, bytes]:
        with explore(XDG_DATA_HOME=survey.home) as server:
            answers = {name: server.post(f"/release/{name}", key=key) for name in ("record", "report", "svg")}
        assert {status for status, _ in answers.values()} == {200}
        return {name: text.encode() for name, (_, text) in answers.items()}

    assert clocks_in(downloaded) == set()
