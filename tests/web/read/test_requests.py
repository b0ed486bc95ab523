"""The screen of `discreet explore` on which a record is read. The server is real; every number is compared with the library's own."""

import io
import json
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet import limits
from discreet.arrays import Counts
from discreet.cli import app
from discreet.present.contrasts import quantity_words
from discreet.record.release import is_table
from discreet.text import chance, evenly
from discreet.web.state import read
from tests.present.test_page import single
from tests.support import lowered, mostly_slow
from tests.web.read.reader import BY, CATEGORIES, COUNTS, PRIOR, PUBLIC, SINGLE, Reader, assert_shown, expected_of, opened, released
from tests.web.server import Server

# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", mostly_slow(SINGLE, 2))
def test_the_answer_is_the_posterior_of_the_library(server: Server, kind: str) -> None:
    release = SINGLE[kind]()
    reader, posterior = opened(server, release), release.noise_aware()
    for level in ("50", "95", "99.9"):
        answer = reader.ask("answer", level=level)
        assert_shown(answer.shares(), expected_of(posterior, float(level) / 100))
        assert f"{level} %" in answer.words
    assert "the record's own" in answer.words
    if release.n is None:
        low, high = posterior.size.interval(0.999)
        assert f"between {low:,} and {high:,}" in answer.words


@pytest.mark.parametrize("public", PUBLIC)
def test_a_table_has_the_posteriors_of_the_library(server: Server, public: str) -> None:
    release = released(public)
    reader, figures = opened(server, release), release.noise_aware().figures(0.9)
    shown = reader.ask("answer", level="90").shares()
    groups = [" · ".join(map(str, release.cells.groups.key(group))) for group in range(4)]
    assert len(shown) == 12
    for category in range(3):
        numbers = zip(figures.mean[:, category], figures.low[:, category], figures.high[:, category], strict=True)
        assert_shown(shown[4 * category : 4 * category + 4], dict(zip(groups, numbers, strict=True)))
    one = reader.ask("answer", level="90", group="2")
    assert "In the group south · f alone." in one.words
    assert_shown(one.shares(), dict(zip(CATEGORIES, zip(figures.mean[2], figures.low[2], figures.high[2], strict=True), strict=True)))
    assert reader.ask("answer", group="4").by_id["read-group-error"] == "Choose one of the list"


def test_the_page_shows_shares_of_the_records_and_the_interval_of_the_noise(server: Server) -> None:
    release = SINGLE["public n"]()
    reader, records = opened(server, release), release.noise_aware().records
    assert {"population", "records"} <= {found.get("value") for tag, found in reader.view.tags if tag == "option"}
    answer = reader.ask("answer", level="90", about="records")
    assert_shown(answer.shares(), expected_of(records, 0.9))
    assert f"Shares of these {release.n:,} records" in answer.words
    noise = {row[0]: row[4] for row in answer.rows if len(row) == 5}
    low, high = 100.0 * release.noise_interval(0.9)[0]
    shown_low, shown_high = map(float, noise["never"].removesuffix(" %").split(" to "))
    assert (shown_low, shown_high) == pytest.approx((low, high), abs=0.0501)
    assert "--about records" in answer.by_id["read-answer-command"]
    assert "posterior.records.summary(0.9)" in answer.by_id["read-answer-python"]
    compared = records.contrast("never", "former")
    shown = reader.ask("contrast", first="0", second="1", about="records")
    assert quantity_words(compared.difference, 0.95)[2] in shown.words
    assert chance(compared.equal) in shown.words
    for law, row in zip((compared.ratio, compared.odds_ratio), shown.rows[2:], strict=True):
        assert row[1:] == list(quantity_words(law, 0.95)[1:])
    law = records.marginal("never")
    above = reader.ask("above", of="0", threshold="40", about="records")
    assert f"with probability {chance(float(law.sf(0.4)))}, and just that with probability {chance(float(law.pmf(0.4)))}" in above.words
    assert "of the population they were drawn from" in reader.ask("answer").words
    assert "Whose shares must be" in reader.ask("answer", about="both").by_id["read-about-error"]


@pytest.mark.parametrize("public", PUBLIC)
def test_a_table_on_the_page_has_shares_of_its_records(server: Server, public: str) -> None:
    release = released(public)
    reader, records = opened(server, release), release.noise_aware().records
    means, ends = records.mean(), records.interval(0.9)
    one = reader.ask("answer", level="90", group="2", about="records")
    exact = dict(zip(CATEGORIES, zip(means[2], ends[2, :, 0], ends[2, :, 1], strict=True), strict=True))
    assert_shown(one.shares(), exact)
    assert "noise alone" in one.words
    if public != "nothing":
        assert "for shares of the population" in reader.ask("margins", over="", about="records").words


@pytest.mark.parametrize(("fields", "prior"), [({"prior": "60, 1/2,20"}, [60, "1/2", 20]), ({"prior": "jeffreys"}, ["1/2"] * 3)])
def test_the_readers_own_prior_is_used_and_named(server: Server, fields: dict[str, str], prior: list[Any]) -> None:
    release = SINGLE["public n"]()
    reader, own = opened(server, release), release.noise_aware(dc.Dirichlet(prior))
    answer = reader.ask("answer", **fields)
    assert_shown(answer.shares(), expected_of(own, 0.95))
    assert "Prior: yours" in answer.words
    assert "in place of the record's" in answer.words
    compared = own.contrast("never", "former").difference
    shown = reader.ask("contrast", first="0", second="1", **fields)
    assert shown.rows[1][1:] == list(quantity_words(compared, 0.95)[1:])


def test_two_categories_are_compared(server: Server) -> None:
    release = SINGLE["private n"]()
    compared = release.noise_aware().contrast("former", "current")
    shown = opened(server, release).ask("contrast", first="1", second="2", level="80")
    for row, quantity in zip(shown.rows[1:], (compared.difference, compared.ratio, compared.odds_ratio), strict=True):
        assert row[1:] == list(quantity_words(quantity, 0.8)[1:])
    assert f"with probability {chance(compared.probability)}" in shown.words


@pytest.mark.parametrize("public", mostly_slow(PUBLIC, 1))
def test_two_groups_are_compared(server: Server, public: str) -> None:
    release = released(public)
    compared = release.noise_aware().contrast(("north", "m"), ("south", "f"), "current")
    shown = opened(server, release).ask("contrast", first="1", second="2", category="2")
    assert shown.rows[1][1:] == list(quantity_words(compared.difference, 0.95)[1:])
    assert f"with probability {chance(compared.probability)}" in shown.words


def test_the_probability_of_a_threshold(server: Server) -> None:
    release = SINGLE["public n"]()
    above = float(release.noise_aware().marginal("former").sf(0.25))
    assert chance(above) in opened(server, release).ask("above", of="1", threshold="25").words
    in_a_group = float(released_once().noise_aware()["south", "f"].marginal("current").sf(0.4))
    assert chance(in_a_group) in opened(server, released_once()).ask("above", of="2", within="2", threshold="40").words


def test_groups_stand_in_their_order_or_by_their_shares(server: Server) -> None:
    release = released_once()
    means = release.noise_aware().figures().mean
    reader = opened(server, release)
    declared, ranked = (reader.ask("answer", order=order).shares() for order in ("declared", "share"))
    for c in range(3):
        place = slice(4 * c, 4 * c + 4)
        assert [mean for _, mean, *_ in declared[place]] == pytest.approx(list(means[:, c]), abs=0.000501)
        assert ranked[place] == sorted(declared[place], key=lambda row: -row[1])
    assert declared != ranked
    assert "Groups with the largest share come first" not in reader.ask("answer").words


def released_once() -> dc.Release[Counts]:
    """Noisy counts that are always the same."""
    raw = COUNTS + np.array([[1, -1, 0], [0, 2, -2], [0, 0, 0], [-1, 0, 1]])
    mechanism = dc.LatticeGeometric(PRIOR, PUBLIC["sizes"], "0.5", by=BY)
    return dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report(raw))


@pytest.mark.parametrize("public", mostly_slow(["sizes", "total"], 1))
def test_groups_are_put_together(server: Server, public: str) -> None:
    release = released(public)
    reader, weights = opened(server, release), release.sizes
    over: Any = release.noise_aware().over("sex", weights=weights)
    answer = reader.ask("margins", over="1")
    shown = answer.shares()
    assert "discreet show record.json --over region" in answer.words
    for place, label in enumerate(("f", "m")):
        mean, ends = over[label].mean(), over[label].interval(0.95)
        for category in range(3):
            name, *numbers = shown[2 * category + place]
            assert name == label
            assert numbers == pytest.approx([mean[category], *ends[category]], abs=0.000501)
    whole: Any = release.noise_aware().over(weights=weights)
    assert_shown(
        reader.ask("margins", over="").shares(), dict(zip(CATEGORIES, zip(whole.mean(), *whole.interval(0.95).T, strict=True), strict=True))
    )
    assert "not public" in opened(server, released("nothing")).view.words


def test_the_promise_is_computed(server: Server) -> None:
    honest = dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), 20, 1))
    text = honest.release([12, 8]).to_json()
    shown = opened(server, text.encode()).ask("verify")
    assert "The promise holds." in shown.words
    assert f"{dc.privacy_loss(honest).value:.10g}" in shown.words
    forged = text.replace(f'"factor": "{honest.factor}"', f'"factor": "{5 * honest.factor}"')
    assert "The promise does not hold." in opened(server, forged.encode()).ask("verify").words


@pytest.mark.parametrize("part", ["open", "answer", "contrast", "above", "margins", "verify", "report", "table", "csv", "xlsx", "parquet"])
def test_nothing_is_answered_without_the_token(server: Server, part: str) -> None:
    headers = server.headers()
    del headers["X-Discreet-Token"]
    assert server.ask("POST", f"/read/{part}", headers, b"{}")[0] == 403


# --- what does the same by hand ---------------------------------------------------------------------------------------

NAMES = ['-it\'s "mine" & <b>$HOME.json', "résumé 2024.json"]


def run(command: str) -> Any:
    """What a command that was shown prints as JSON: it is taken apart as a shell does."""
    program, *words = shlex.split(command)
    assert program == "discreet"
    place = words.index("--") if "--" in words else len(words)
    done = CliRunner().invoke(app, [*words[:place], "--json", *words[place:]])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def executed(code: str) -> dict[str, Any]:
    """The names that a piece of Python leaves, which must print something."""
    found: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(code, found)  # noqa: S102 - what the page shows is what is tested
    assert printed.getvalue().strip()
    return found


@pytest.mark.parametrize("name", mostly_slow(NAMES, 1))
def test_what_is_shown_for_one_variable_runs_and_says_the_same(
    server: Server, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    labels = ["-x", 'it\'s a,b مدخّن "q"', "z"]
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=labels), None, 1).release([231, 112, 77])
    Path(name).write_text(release.to_json())
    reader = opened(server, release, name)
    fields = {"level": "87.5", "prior": "2,3,4"}
    answer = reader.ask("answer", **fields)
    printed = run(answer.by_id["read-answer-command"])
    assert printed["mass"] == 0.875
    assert_shown(answer.shares(), {row["category"]: (row["mean"], row["low"], row["high"]) for row in printed["categories"]})
    posterior = executed(answer.by_id["read-answer-python"])["posterior"]
    assert_shown(answer.shares(), expected_of(posterior, 0.875))
    shown = reader.ask("contrast", first="0", second="1", **fields)
    printed = run(shown.by_id["read-contrast-command"])
    assert [printed["first"], printed["second"]] == labels[:2]
    assert shown.rows[1][1:] == list(evenly([tuple(100.0 * printed["difference"][name] for name in ("median", "low", "high"))])[0])
    assert executed(shown.by_id["read-contrast-python"])["contrast"].probability == printed["probability"]
    assert run(reader.ask("verify").by_id["read-verify-command"])["holds"] is True
    executed(reader.ask("verify").by_id["read-verify-python"])
    above = reader.ask("above", of="1", threshold="30", **fields)
    assert chance(float(executed(above.by_id["read-above-python"])["posterior"].marginal(labels[1]).sf(0.3))) in above.words


@pytest.mark.parametrize("case", mostly_slow([("parquet", "sizes"), ("json", "total"), ("html", "sizes")], 1))
def test_what_is_shown_for_a_table_runs_and_says_the_same(
    server: Server, case: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, public = case
    by = {"region": ["-n", 'a "b", c'], "year": [2023, 2024]}
    release = dc.LatticeGeometric(PRIOR, PUBLIC[public], 1, by=by).release(COUNTS)
    assert is_table(release)
    Path("table.json").write_text(release.to_json())
    if kind == "parquet":
        release.to_parquet("table.parquet")
    elif kind == "html":
        assert CliRunner().invoke(app, ["report", "table.json", "--output", "table.html"]).exit_code == 0
    reader = opened(server, Path(f"table.{kind}").read_bytes(), f"table.{kind}")
    answer = reader.ask("answer", level="90", group="2")
    printed = run(answer.by_id["read-answer-command"])["cells"][6:9]
    assert_shown(answer.shares(), {row["category"]: (row["mean"], row["low"], row["high"]) for row in printed})
    left = executed(answer.by_id["read-answer-python"])
    assert left["figures"].low[left["group"]].tolist() == [row["low"] for row in printed]
    executed(reader.ask("answer").by_id["read-answer-python"])
    shown = reader.ask("contrast", first="0", second="3", category="1")
    printed = run(shown.by_id["read-contrast-command"])
    assert shown.rows[1][1:] == list(evenly([tuple(100.0 * printed["difference"][name] for name in ("median", "low", "high"))])[0])
    assert executed(shown.by_id["read-contrast-python"])["contrast"].probability == printed["probability"]
    over = reader.ask("margins", over="0")
    means = executed(over.by_id["read-margins-python"])["over"]["-n"].mean()
    assert [share for label, share, *_ in over.shares() if label == "-n"] == pytest.approx(means.tolist(), abs=0.000501)
    executed(reader.ask("margins", over="").by_id["read-margins-python"])
    executed(reader.ask("above", of="0", within="3", threshold="30").by_id["read-above-python"])


def test_groups_put_together_are_compared(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    release = released("sizes")
    Path("record.json").write_text(release.to_json())
    reader = opened(server, release)
    assert "All of north" in reader.view.words
    shown = reader.ask("contrast", first="6", second="7", category="1")  # behind four groups and two regions
    over: Any = release.noise_aware().over("sex", weights=release.sizes)
    expected = over.contrast("f", "m", "former")
    assert f"with probability {chance(expected.probability)}" in shown.words
    assert executed(shown.by_id["read-contrast-python"])["contrast"].probability == expected.probability
    assert run(shown.by_id["read-contrast-command"])["probability"] == expected.probability
    refused = reader.ask("contrast", first="0", second="7", category="1")
    assert refused.by_id["read-second-error"] == "Choose two single groups, or two labels of one column"
    assert "shares of the population" in reader.ask("contrast", first="6", second="7", category="1", about="records").words
    assert "All of north" not in opened(server, released("nothing")).view.words


@pytest.mark.parametrize("about", ["population", "records"])
def test_two_records_are_compared(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, about: str) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = SINGLE["public n"](), SINGLE["public n"]()
    Path("first.json").write_text(first.to_json())
    Path("second.json").write_text(second.to_json())
    other = opened(server, first, "first.json")
    reader = opened(server, second, "second.json")
    assert "first.json" in reader.view.words
    shown = reader.ask("other", against=other.key, shared="2", about=about)
    printed = run(shown.by_id["read-other-command"])
    assert f"with probability {chance(printed['probability'])}" in shown.words
    assert (printed["first"], printed["second"], printed["category"]) == ("second.json", "first.json", "current")
    assert "about different records" in shown.words
    assert "not open any more" in reader.ask("other", against="x", shared="2").words
    table = opened(server, released("sizes"), "table.json")
    assert "compare two tables, or two of one variable" in reader.ask("other", against=table.key, shared="2").words
    assert "more common than" in table.ask("other", against=table.key, shared="0", inside="3").words


def test_a_prior_that_does_not_fit_the_other_record_is_refused_by_the_name_of_its_field(server: Server) -> None:
    fewer = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["never", "current"]), 10, 1).release([4, 6])
    reader, other = opened(server, SINGLE["public n"]()), opened(server, fewer, "fewer.json")
    refused = reader.ask("other", against=other.key, shared="2", prior="1,2,3").by_id["read-prior-error"]
    assert "Your own prior must be" in refused
    assert "--" not in refused


def test_a_label_that_cannot_be_typed_has_python_alone(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["\x1b[2J", "\u202ex"]), 60, 1).release([40, 20])
    Path("record.json").write_text(release.to_json())
    reader = opened(server, release, "\x1b\u202egnp.json")  # a name that cannot be typed either
    shown = reader.ask("contrast", first="0", second="1")
    assert "read-contrast-command" not in shown.by_id
    assert "cannot be typed" in shown.words
    assert executed(shown.by_id["read-contrast-python"])["contrast"].names == ("\x1b[2J", "\u202ex")


@pytest.mark.parametrize("name", ["smoking.json", "page.html"])
def test_the_report_is_that_of_the_command(server: Server, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first.json").write_text(single().to_json())
    Path(name).write_text(Path("first.json").read_text())
    if name.endswith("html"):
        Path(name).unlink()
        assert CliRunner().invoke(app, ["report", "first.json", "--output", name]).exit_code == 0
    reader = opened(server, Path(name).read_bytes(), name)
    fields = {"level": "90", "prior": "uniform"}
    command = reader.ask("answer", **fields).by_id["read-report-command"]
    status, headers, page = server.ask("POST", "/read/report", body=urlencode({"record": reader.key, **fields}).encode())
    assert (status, headers["content-disposition"], headers["content-type"]) == (200, "attachment", "application/octet-stream")
    words = shlex.split(command)[1:]
    assert CliRunner().invoke(app, words).exit_code == 0
    written = Path(words[words.index("--output") + 1])
    assert page == written.read_text("utf-8")
    assert CliRunner().invoke(app, ["show", str(written)]).exit_code == 0
    assert "90 %" in opened(server, page.encode(), str(written)).ask("answer", level="90").words


# --- what is wrong is said beside its field ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "fields", "wrong"),
    [
        *(("answer", {"level": level}, "level") for level in ("", "49", "100", "1e9", "nan", "ninety", "<b>", "9" * 5000)),
        *(("answer", {"prior": text}, "prior") for text in ("own", "1,2", "1,2,x", "1,2,0", "1,2,-3", '"', "uniform:4")),
        *(("contrast", {"first": place, "second": "1"}, "first") for place in ("", "3", "-1", "never", "9" * 5000, "١")),
        ("contrast", {"first": "1", "second": "1"}, "second"),
        *(("above", {"of": "0", "threshold": share}, "threshold") for share in ("", "0", "100", "x")),
    ],
)
def test_a_wrong_input_is_explained_beside_its_field(server: Server, part: str, fields: dict[str, str], wrong: str) -> None:
    shown = opened_once(server).ask(part, **fields)
    said = shown.by_id.pop(f"read-{wrong}-error")
    assert 10 < len(said) < 300
    assert set(shown.by_id.values()) <= {""}  # nothing else is said, and nothing computed


def test_a_group_is_not_compared_with_itself(server: Server) -> None:
    shown = opened(server, released("nothing")).ask("contrast", first="2", second="2", category="0")
    assert shown.by_id.pop("read-second-error") == "Choose two different groups"
    assert set(shown.by_id.values()) == {""}


_OPENED: dict[int, Reader] = {}


def opened_once(server: Server) -> Reader:
    """One record for many questions; it is opened again if others have taken its place."""
    known = _OPENED.get(server.port)
    if known is None or "open it again" in known.ask("verify").words:
        known = _OPENED[server.port] = opened(server, SINGLE["public n"]())
    return known


def test_a_record_that_is_gone_is_to_be_opened_again(server: Server) -> None:
    release = SINGLE["public n"]()
    first = opened(server, release)
    for _ in range(limits.OPENED_RECORDS - 1):
        opened(server, release)
    assert "open it again" not in first.ask("verify").words  # which makes it the last that was asked about
    for _ in range(limits.OPENED_RECORDS):
        opened(server, release)
    for part in ("answer", "contrast", "verify", "margins", "above"):
        assert "open it again" in first.ask(part).words
    for file in ("report", "csv", "xlsx", "parquet"):
        assert server.post(f"/read/{file}", record=first.key)[0] == 410
    assert "open it again" in Reader(server, "no such key", first.view).ask("answer").words


def test_much_work_is_announced_with_the_command_that_does_it(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(101), 4, 1).release([4, *[0] * 100])
    Path("many.json").write_text(release.to_json())
    reader = opened(server, release, "many.json")
    answer = reader.ask("answer")
    assert "the intervals of 101 categories take a while" in answer.words
    assert "do not allow for the noise" in answer.words
    assert answer.by_id["read-answer-command"] == "discreet show many.json --slow"
    assert run(answer.by_id["read-answer-command"])["not_available"] is None
    executed(answer.by_id["read-answer-python"])
    shown = answer.shares()
    assert len(shown) == limits.PAGE_ROWS
    for label, mean, low, high in shown[:: limits.PAGE_ROWS - 1]:
        share = release.reported.marginal(int(label))
        assert (mean, low, high) == pytest.approx((share.mean(), *share.interval(0.95)), abs=0.000501)
    assert "Not computed: the intervals of 101 categories" in reader.ask("contrast", first="0", second="1").words


def test_much_work_of_a_table_is_announced(server: Server) -> None:
    """The noise of a small epsilon leaves millions of pairs of counts possible in each of many groups."""
    for groups, epsilon, announced in ((400, "0.01", True), (3, "0.1", False)):
        wide = dc.LatticeGeometric(PRIOR, None, epsilon, by={"g": list(range(groups))}).release(np.full((groups, 3), 200))
        answer = opened(server, wide).ask("answer")
        assert ("pairs of possible counts, for minutes: discreet show RECORD --slow computes them" in answer.words) == announced
        assert ("do not allow for the noise" in answer.words) == announced


@pytest.mark.slow
def test_many_groups_are_named_and_not_listed(server: Server, tmp_path: Path) -> None:
    groups = 400
    release = dc.LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": [f"a,{i}" for i in range(groups)]}).release(np.full((groups, 2), 9))
    assert is_table(release)
    release.to_parquet(tmp_path / "groups.parquet")
    reader = opened(server, (tmp_path / "groups.parquet").read_bytes(), "groups.parquet")
    assert not any(tag == "option" and found["value"] == "399" for tag, found in reader.view.tags)
    figures = release.noise_aware().figures(0.95)
    shown = reader.ask("answer", group='"a,399"').shares()
    assert [numbers[1] for numbers in shown] == pytest.approx(figures.mean[399].tolist(), abs=0.000501)
    assert "must be one of" in reader.ask("answer", group="b").by_id["read-group-error"]
    with lowered(OPENED_CELLS=799), pytest.raises(dc.TooLargeError, match=r"discreet show groups\.parquet reads it"):
        read((tmp_path / "groups.parquet").read_bytes(), "/some/folder/groups.parquet")
