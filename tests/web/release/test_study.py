"""A study on the page, by its requests: planned without data, charged by one line, drawn once, and read again. The server is real."""

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

import discreet as dc
from discreet.requests.studies.published import read_folder
from tests.web.release.releases import SECRET, Survey
from tests.web.server import Server, copied


def text_of(survey: Survey, epsilon: float) -> str:
    lines = [f'source = "{survey.file}"', 'dataset = "survey"', 'id = "who"', f"epsilon = {epsilon}"]
    table = 'column = "risk"\ncategories = ["low", "high", "other"]\nother = "other"\nnulls = "other"\n'
    by = 'by.region = ["north", "south"]\nweight = 3\n'
    return "\n".join(["[study]", *lines, "[tables.risk]", table, "[tables.by_region]", table, by])


def look(server: Server, survey: Survey, text: str) -> tuple[str, str]:
    """The answer to a study, and the key in it, if there is one."""
    status, answer = server.post("/study/look", text=text, ledger=survey.ledger)
    assert status == 200, answer
    found = re.search(r'name="key" value="([0-9a-f]+)"', answer)
    return unescape(answer), "" if found is None else found[1]


def wrong(answer: str) -> str:
    found = re.search(r'<p id="study-text-error"[^>]*>(.*?)</p>', answer)
    assert found is not None, answer
    return unescape(found[1])


def test_a_study_is_charged_by_one_line_and_drawn_once(server: Server, survey: Survey, tmp_path: Path) -> None:
    before, text = survey.spends(), text_of(survey, 0.4)
    answer, key = look(server, survey, text)
    assert survey.spends() == before
    for said in ("risk</bdi>: ε = 0.1", "by_region</bdi>: ε = 0.3", "Charge ε = 0.4 and release"):
        assert said in answer
    assert copied(answer, "release-command") == f"discreet release study.toml --output published --ledger {survey.ledger}"
    with ThreadPoolExecutor(8) as pool:
        drawn = set(pool.map(lambda _: server.ask("POST", "/release/draw", body=f"key={key}".encode())[2], range(8)))
    assert len(drawn) == 1
    assert "Done." in drawn.pop()
    (line,) = dc.Ledger(survey.ledger).history("survey")[before:]
    assert (line.loss.epsilon, line.request, line.note) == (dc.Study.of_text(text, ".").epsilon, key, "study of 2 tables: risk, by_region")
    packed = server.fetch("POST", "/release/record", body=f"key={key}".encode())[2]
    ZipFile(BytesIO(packed)).extractall(tmp_path)
    records = read_folder(tmp_path / "published")
    assert {name: float(one.mechanism.epsilon) for name, one in records.items()} == {"risk": 0.1, "by_region": 0.3}
    assert "Done." in look(server, survey, text)[0]  # the same is shown, with nothing charged
    assert "Study of 2 tables" in server.post("/release/list")[1]
    assert survey.spends() == before + 1
    page = server.post("/release/report", key=key)[1]
    opened = server.ask("POST", "/read/open", server.headers() | {"X-Discreet-Name": "x.html"}, page.encode())[2]
    record = re.search(r'name="record" value="([^"]+)"', opened)
    assert record is not None
    shown = unescape(server.post("/read/study", record=record[1], level="90", about="population")[1])
    assert shown.count("90 % interval") >= 2
    assert "risk by region" in shown
    alone = server.post("/read/alone", record=record[1], table="risk by region")[1]
    assert "risk by region.json" in alone
    assert "not open any more" in server.post("/read/alone", record=record[1], table="another")[1]


def test_another_draw_of_a_study_costs_again(server: Server, survey: Survey) -> None:
    text = text_of(survey, 0.41)
    server.post("/release/draw", key=look(server, survey, text)[1])
    before = survey.spends()
    answer = server.post("/study/look", text=text, ledger=survey.ledger, again="yes")[1]
    assert "Nothing has been drawn or charged" in answer
    found = re.search(r'name="key" value="([0-9a-f]+)"', answer)
    assert found is not None
    server.post("/release/draw", key=found[1])
    assert survey.spends() == before + 1


def test_a_plan_of_a_study_reads_no_data(server: Server, survey: Survey) -> None:
    text = text_of(survey, 1.0).replace(str(survey.file), "/nowhere.csv")
    status, answer = server.post("/study/plan", text=text, n="5000")
    planned = dc.Study.of_text(text, ".").plan(5000).declared
    assert status == 200
    for one in planned:
        assert f"<td>{100.0 * one.width:.2g}</td>" in answer
    assert copied(answer, "study-plan-command") == "discreet plan study.toml --records 5000"
    assert wrong(server.post("/study/plan", text="")[1]) == ""  # nothing is wrong with nothing


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[study", "cannot be read"),
        ("[study]\nepsilon = 1\n", "study has no source"),
        ('[study]\nsource = "x.csv"\nepsilon = 1\n', "at least one table"),
        ('[study]\nsource = "-"\nepsilon = 1\n[tables.x]\ncolumn = "a"\ncategories = ["a", "b"]', "standard input"),
        ('[study]\nsource = "x.csv"\nepsilon = 1\n[tables.x]\ncolumn = "a"\ncategories = ["a", "b"]', "the study has no dataset"),
    ],
)
def test_what_is_wrong_with_a_study_is_said_beside_it(server: Server, survey: Survey, text: str, told: str) -> None:
    answer, key = look(server, survey, text)
    assert told in wrong(answer)
    assert not key


def test_an_overspend_and_secrets(server: Server, survey: Survey) -> None:
    before = survey.spends()
    answer, key = look(server, survey, text_of(survey, 1000.0))
    assert not key
    assert "the release needs ε = 1000" in wrong(answer)
    answer = look(server, survey, text_of(survey, 0.1).replace('other = "other"\n', ""))[0]
    assert "tables.risk" in wrong(answer)
    assert SECRET not in answer
    checked = server.post("/study/check", text=text_of(survey, 0.1).replace('other = "other"\n', ""))[1]
    assert SECRET in checked  # for the curator alone
    assert survey.spends() == before
    assert not [place for place in survey.kept.glob("*") if SECRET.encode() in place.read_bytes()]


def test_a_table_is_added_to_a_study(server: Server, survey: Survey) -> None:
    fields = survey.fields(epsilon="0,5")
    _, answer = server.post("/study/add", **fields, key="k1", text="", folder="")
    assert "[tables.risk]" in unescape(answer)
    again = server.post("/study", key="k1")[1]
    assert "[tables.risk]" in unescape(again)
    assert 'value="k1"' in again
    refused = server.post("/study/add", **survey.fields(file="", upload="x"), key="k1", text="")[1]
    assert "names its file by a path" in refused
    assert "[tables.risk]" not in unescape(server.post("/study", key="k2")[1])


def test_how_many_rows_are_counted_is_said(server: Server, survey: Survey) -> None:
    assert server.post("/release/rows", file=str(survey.file))[1] == "12,259 rows"
    assert server.post("/release/rows", text=text_of(survey, 1.0))[1] == "12,259 rows"
    for fields in ({"file": "/nowhere.csv"}, {}, {"upload": "x"}, {"text": "x"}):
        assert server.post("/release/rows", **fields) == (200, "")
