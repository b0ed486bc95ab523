"""The screen for plans over HTTP: its numbers are the library's, what is wrong is said beside its field, and what it shows to copy runs."""

import html
import json
import re
import shlex
from threading import Event
from time import sleep
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from anyio import create_task_group, run, to_thread
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.planning.comparison import points
from discreet.present.page_words import odds_factor, surest
from discreet.progress import Progress
from discreet.requests.fields import labelled
from discreet.requests.plan_screen import PlanQuestion
from discreet.requests.release import MECHANISMS
from discreet.web.state import SupersededError, Turns
from tests.web.server import Server, copied

FORM = {"categories": "3", "n": "300", "public": "total", "epsilon": "0.2"}
CASES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "two": ({"categories": "2"}, {"prior": dc.Dirichlet.uniform(2), "n": 300, "epsilon": "0.2"}),
    "three": ({}, {"prior": dc.Dirichlet.uniform(3), "n": 300, "epsilon": "0.2"}),
    "private": ({"public": "nothing"}, {"prior": dc.Dirichlet.uniform(3), "n": 300, "epsilon": "0.2", "public": "nothing"}),
    "fraction": (
        {"categories": "a,b", "prior": "1/2, 2", "expect": "90%,10%", "epsilon": "1/3", "mechanism": "LaplaceHistogram"},
        {"prior": dc.Dirichlet(["1/2", "2"]), "n": 300, "epsilon": "1/3", "expect": ["0.9", "0.1"], "mechanism": "LaplaceHistogram"},
    ),
    "sizes": (
        {"public": "sizes", "groups": "10", "size": "40"},
        {"prior": dc.Dirichlet.uniform(3), "n": 40, "epsilon": "0.2"},
    ),
    "table": ({"groups": "10"}, {"prior": dc.Dirichlet.uniform(3), "n": 30, "epsilon": "0.1", "public": "nothing"}),
    "hidden table": (
        {"groups": "2", "public": "nothing", "epsilon": "1"},
        {"prior": dc.Dirichlet.uniform(3), "n": 150, "epsilon": 1, "public": "nothing"},
    ),
}


def asked(server: Server, place: str, **fields: str) -> str:
    status, text = server.post(f"/plan/{place}", **(FORM | fields))
    assert status == 200
    return text


def run_command(text: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*shlex.split(text)[1:], "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run_python(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 - what the page shows is to be run
    return names


# --- at once --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_the_librarys(server: Server, name: str) -> None:
    fields, options = CASES[name]
    text = asked(server, "answer", **fields)
    found: Any = dc.plan(options.pop("prior"), **options)
    if "groups" in fields:
        whole = f"With ε = {fields.get('epsilon', FORM['epsilon'])} for the whole table, the intervals of a group of {found.n} records"
        assert f"{whole} will be about {points(found.width)} points wide; without privacy {points(found.plain)}." in text
    else:
        assert html.escape(found.sentence) in text
    for width in (found.plain, found.noise_alone, found.width):
        assert f"{points(width)} points</b>" in text
    assert float(run_command(copied(text, "plan-width-command"))["width"]) == float(found.width)
    assert run_python(copied(text, "plan-width-python"))["found"] == found
    assert f"factor of at most <strong>{odds_factor(float(found.epsilon) * (2 if name == 'table' else 1))}</strong>" in text


@pytest.mark.parametrize("public", ["sizes", pytest.param("nothing", marks=pytest.mark.slow)])
def test_groups_that_are_read_together_are_planned_as_the_library_does(server: Server, public: Literal["sizes", "nothing"]) -> None:
    fields = {"categories": "2", "groups": "3", "size": "8", "epsilon": "1", "public": public, "pooled": "together"}
    assert "Computing" in asked(server, "answer", **fields, expect_strength="20")
    text = asked(server, "slowly", **fields, expect_strength="20")
    known: Any = {"public": "total" if public == "sizes" else "nothing", "pooled": 3, "expect_strength": 20}
    found: Any = dc.plan(dc.Dirichlet.uniform(2), n=8, epsilon=1, **known)
    assert f"about {points(found.width)} points wide; without privacy {points(found.plain)}, and {points(found.alone)} if each" in text
    assert "They are read together." in text
    assert "--pooled 3 --expect-strength 20" in copied(text, "plan-width-command")
    assert "pooled=3, expect_strength=20" in copied(text, "plan-width-python")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"groups": "3"}, "where only the total is public it ties the sizes of all groups"),
        ({"public": "nothing"}, "say how many there are, 2 or more"),
        ({"groups": "3", "public": "sizes", "pooled": "alone", "expect_strength": "20"}, "say that they are, or leave it empty"),
    ],
)
def test_groups_that_cannot_be_read_together_are_refused_beside_the_field(server: Server, fields: dict[str, str], says: str) -> None:
    assert says in asked(server, "answer", **({"pooled": "together"} | fields))


def test_odds_and_the_computed_loss(server: Server) -> None:
    text = asked(server, "answer", mechanism="LaplaceDimension", epsilon="1")
    made = run_python(copied(text, "plan-odds-python"))["made"]
    assert made == dc.LaplaceDimension(dc.Dirichlet.uniform(3), 300, 1)
    loss = dc.privacy_loss(made).value
    assert f"privacy loss is {loss:.4g}, less than ε = 1 allows" in text
    assert odds_factor(loss) in text
    for before in (0.5, 0.1, 0.01):
        assert surest(before, 1.0) in text


@pytest.mark.parametrize(("before", "epsilon"), [(0.5, 0.01), (0.1, 1.0), (0.01, 5.0), (0.5, 12.0)])
def test_a_suspicion_is_bounded_by_the_odds(before: float, epsilon: float) -> None:
    """Bayes' rule with a likelihood ratio of e^ε; rounded up, and by no more than the last digit."""
    odds = before / (1.0 - before) * 2.718281828459045**epsilon
    said = surest(before, epsilon)
    number = said.removesuffix("\u00a0%")
    last = 10.0 ** -len(number.partition(".")[2])
    assert 0.0 <= float(number) - 100.0 * odds / (1.0 + odds) <= 1.000001 * last
    assert surest(before, 50.0) == "practically certain"


@pytest.mark.parametrize(
    ("fields", "guess", "half", "group"),
    [
        ({}, False, False, False),
        ({"public": "nothing"}, True, False, False),
        ({"groups": "4"}, False, True, True),
        ({"groups": "4", "public": "nothing"}, True, False, True),
        ({"groups": "4", "public": "sizes"}, False, False, True),
    ],
)
def test_what_is_to_be_known_about_the_numbers_of_a_plan(
    server: Server, fields: dict[str, str], guess: bool, half: bool, group: bool
) -> None:
    """A private n is guessed and not looked up; a table with a public total alone takes half of ε for one group."""
    text = asked(server, "answer", **fields)
    assert ("the number here is a guess, and must not come from the data" in text) is guess
    assert ("one group is planned with half of your ε" in text) is half
    assert ("This is one of 4 groups" in text) is group


@pytest.mark.parametrize("fields", [{}, {"public": "nothing"}, {"public": "sizes", "groups": "4"}, {"groups": "4", "epsilon": "2"}])
def test_the_example_is_made_up_and_really_released(server: Server, fields: dict[str, str]) -> None:
    text = asked(server, "example", categories="yes,no", **fields)
    assert "Made up" in text
    assert 'class="bar"' in text
    names = run_python(copied(text, "plan-example-python"))
    assert isinstance(names["release"], dc.Release)
    assert names["prior"].categories == ("yes", "no")
    space = names["made"].space
    assert space.n == (None if fields.get("public") == "nothing" else 300)


def test_a_mechanism_without_a_promise_says_so(server: Server) -> None:
    text = asked(server, "slowly", categories="2", n="20", mechanism="HellingerLocal")
    assert "promises nothing" in text


# --- later ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", ["total", "nothing", "sizes"])
def test_a_plan_leads_to_its_release(server: Server, public: str) -> None:
    """But for the sizes of groups, which the page does not release."""
    assert ("Release as planned" in asked(server, "answer", public=public, groups="4")) == (public != "sizes")


def test_every_mechanism_side_by_side(server: Server) -> None:
    text = asked(server, "compared", n="20", categories="2")
    found = dc.compare(dc.Dirichlet.uniform(2), 20, "0.2", errors=False)
    for row in found.rows:
        assert row.mechanism in re.sub(r"</?wbr>", "", text)
        assert row.width is None or f"<td>{points(row.width)}</td>" in text
        assert row.loss is None or f"<td>{row.loss:.4g}</td>" in text
    command = run_command(copied(text, "plan-compared-command"))
    assert [row["width"] for row in command["rows"]] == [row["width"] for row in found.to_dicts()]
    assert run_python(copied(text, "plan-compared-python"))["found"].rows == found.rows


def test_mechanisms_that_cannot_say_why(server: Server) -> None:
    text = asked(server, "compared", n="20", categories="2", public="nothing")
    assert "Why some numbers are missing" in text
    assert "Mechanisms that need a public n are left out" in text
    many = dc.compare(dc.Dirichlet.uniform(3), 200, "0.2", errors=False)
    assert html.escape(many.reasons[0]) in asked(server, "compared", n="200")


@pytest.mark.slow
def test_curves(server: Server) -> None:
    text = asked(server, "curves", n="50", mechanism="LaplaceHistogram")
    over_epsilon = run_command(copied(text, "plan-over-epsilon-command"))["rows"]
    ends = dc.width_curve(dc.Dirichlet.uniform(3), 50, epsilons=["0.01", 10], mechanism="LaplaceHistogram")
    assert [over_epsilon[0], over_epsilon[-1]] == ends.to_dicts()
    over_records = run_python(copied(text, "plan-over-records-python"))["found"]
    assert (over_records.mechanism, float(over_records.given)) == ("LaplaceHistogram", 0.2)
    assert all(option in copied(text, "plan-over-records-command") for option in ("--curve", "--epsilon 0.2"))
    for row in (*over_epsilon, *over_records.to_dicts()):
        assert f"<td>{points(row['width'])}</td>" in text
    assert text.count("<title>") == text.count("<desc>") == 2


@pytest.mark.parametrize(
    ("fields", "arguments", "factor"),
    [
        ({"goal": "40", "n": "40"}, {"n": 40, "width": "0.4"}, 1),
        ({"goal": "1.5", "kind": "price", "n": "40"}, {"n": 40, "price": "1.5"}, 1),
        ({"goal": "40%", "public": "sizes", "groups": "3", "size": "40"}, {"n": 40, "width": "0.4"}, 1),
        pytest.param(
            {"goal": "40", "groups": "3", "size": "40"}, {"n": 40, "width": "0.4", "public": "nothing"}, 2, marks=pytest.mark.slow
        ),
    ],
)
def test_the_epsilon_that_a_goal_asks_for(server: Server, fields: dict[str, str], arguments: dict[str, Any], factor: int) -> None:
    text = asked(server, "goal", categories="2", **fields)
    found = dc.plan(dc.Dirichlet.uniform(2), **arguments)
    assert f'data-epsilon="{float(found.epsilon * factor):g}"' in text
    assert run_command(copied(text, "plan-goal-command"))["epsilon"] == float(found.epsilon)
    assert run_python(copied(text, "plan-goal-python"))["found"] == found


def test_what_is_not_wanted_any_more_ends() -> None:
    """A computation that nobody waits for ends when it next looks; one of another part goes on."""

    async def computed() -> list[str]:
        turns, started, ended = Turns(), Event(), []

        def compute(check: Progress) -> str:
            started.set()
            while True:
                check(0, 0, "")
                sleep(0.01)

        async def asked_for() -> None:
            try:
                await turns.run("tab plan compared", compute)
            except SupersededError:
                ended.append("superseded")

        async with create_task_group() as tasks:
            tasks.start_soon(asked_for)
            await to_thread.run_sync(started.wait)
            turns.end("tab plan curves")
            assert ended == []
            turns.end("tab plan compared")
        return [*ended, await turns.run("tab plan compared", lambda _: "again")]

    assert run(computed) == ["superseded", "again"]


def test_a_decimal_comma_and_groups_by_their_names(server: Server) -> None:
    pattern = r'<p class="lead">(.*?)</p>'
    assert re.findall(pattern, asked(server, "slowly", epsilon="0,2")) == re.findall(pattern, asked(server, "slowly", epsilon="0.2"))
    named, counted = (asked(server, "slowly", groups=text) for text in ("region=north,south\nage=0-39,40-59,60+", "6"))
    assert re.findall(pattern, named) == re.findall(pattern, counted) != []


def test_what_was_typed_is_shown_again_to_its_tab_alone(server: Server) -> None:
    """It is in the memory of the server. Other tabs, and forms that nobody typed into, are as they were."""
    hostile = '"><script>GOAL'
    assert server.post("/typed/plan", epsilon="1/7", categories=hostile)[0] == 204
    assert server.post("/typed/goal", goal="FIELDS")[0] == 204
    own, other = (server.ask("GET", "/plan", server.headers() | {"X-Discreet-Tab": tab})[2] for tab in ("test", "another"))
    assert 'value="1/7"' in own
    assert html.escape(hostile) in own
    assert 'value="FIELDS"' in own
    assert "1/7" not in other
    assert other == server.ask("GET", "/plan", server.headers() | {"X-Discreet-Tab": "a third"})[2]
    assert server.ask("POST", "/typed/plan", {"Host": server.host, "Origin": f"http://{server.host}"}, b"epsilon=9")[0] == 403


# --- what is wrong --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("categories", "", "a number of categories"),
        ("categories", "1", "from 2 to 1,000"),
        ("categories", "1001", "from 2 to 1,000"),
        ("categories", "-3", "must be greater than 0"),
        ("categories", "yes", "got 1"),
        ("categories", "a,a", "distinct"),
        ("categories", '"a,b', "double quotes"),
        ("categories", "x" * 5000 + ",b", "at most"),
        ("prior", "1,1", "uniform, jeffreys or 3 numbers"),
        ("prior", "0,1,1", "from 1e-100"),
        ("prior", "uniform:4", "there are 3"),
        ("public", "sizes", "none are declared"),
        ("public", "all", "must be total"),
        ("n", "", "the number of records is needed"),
        ("n", "ten", "a whole number such as"),
        ("n", "1,5", "a whole number such as"),
        ("n", "1.500", "a whole number such as"),
        ("n", "0", "from 1 to 2**53"),
        ("n", "10.5", "whole number"),
        ("n", "1e400", "a whole number such as"),
        ("prior", "1e100,1,1", "from 1e-06 to 1,000,000,000"),
        ("prior", "1,1,1e-9", "from 1e-06 to 1,000,000,000"),
        ("epsilon", "", "ε is needed"),
        ("epsilon", "0", "greater than 0"),
        ("epsilon", "1,000", "a number such as 0.5"),
        ("epsilon", "1/0", "a number such as"),
        ("epsilon", "1000", "from 0.0001 to 100"),
        ("epsilon", "1e-9", "from 0.0001 to 100"),
        ("epsilon", "<script>", "a number such as"),
        ("mechanism", "Magic", "choose one of"),
        ("groups", "0", "from 1 to 1,000,000"),
        ("groups", "2.5", "a whole number such as"),
        ("groups", "region=north,north", "twice"),
        ("groups", "region=@groups.txt", "no file is read"),
        ("size", "10", "say how many there are"),
        ("expect", "0.5,0.5", "for each of the 3"),
        ("expect", "0.5,0.5,0.5", "add up to 1.5"),
        ("expect", "a,b,c", "a number such as"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(server: Server, field: str, value: str, said: str) -> None:
    status, headers, text = server.ask("POST", "/plan/answer", server.headers(), _body({**FORM, field: value}))
    assert (status, headers["hx-reswap"]) == (200, "none")
    wrong = {name: html.unescape(words) for name, words in re.findall(r'<p id="plan-(\w+)-error"[^>]*>(.*?)</p>', text, re.DOTALL)}
    assert set(wrong) == set(labelled(PlanQuestion))
    assert said in wrong[field]
    assert len(wrong[field]) < 400
    assert [name for name, words in wrong.items() if words] == [field]
    assert "<script>" not in text
    assert 'id="plan-stale"' in text


def _body(fields: dict[str, str]) -> bytes:
    return urlencode(fields).encode()


@pytest.mark.parametrize("place", ["slowly", "example", "curves", "compared"])
def test_slow_answers_leave_the_fields_alone(server: Server, place: str) -> None:
    """What they would say of a form that has changed since might come after the answer to the new one."""
    assert server.post(f"/plan/{place}", **(FORM | {"n": "x"})) == (204, "")


def test_all_that_is_wrong_is_said_at_once(server: Server) -> None:
    text = asked(server, "answer", n="x", epsilon="y", groups="z", mechanism="w", size="9")
    assert len(re.findall(r'<p id="plan-\w+-error"[^>]*>[^<]', text)) == 4


@pytest.mark.parametrize("fields", [{"public": "nothing", "mechanism": "LaplaceZhang"}, {"groups": "2", "mechanism": "LaplaceHistogram"}])
def test_a_mechanism_that_cannot_is_explained_beside_its_field(server: Server, fields: dict[str, str]) -> None:
    assert re.search(r'<p id="plan-mechanism-error"[^>]*>\w', asked(server, "answer", **fields))


@pytest.mark.parametrize(("value", "said"), [("", "say how wide"), ("x", "a number such as"), ("2", "cannot be had"), ("100", "below 1")])
def test_a_goal_that_cannot_be_had_is_explained(server: Server, value: str, said: str) -> None:
    found = re.search(r'<p id="plan-goal-error"[^>]*>(.*?)</p>', asked(server, "goal", goal=value))
    assert found is not None
    assert said in found[1]


def test_hostile_labels_are_shown_and_obeyed_by_nobody(server: Server) -> None:
    labels = "<script>alert(1)</script>\n\"'><img src=x onerror=alert(1)>\n\u202egnp.exe"
    for place in ("answer", "example"):
        text = asked(server, place, categories=labels, n="30", epsilon="1")
        assert "<script" not in text
        assert "<img" not in text
        assert "\u202e" not in text
    names = run_python(copied(asked(server, "example", categories=labels, n="30", epsilon="1"), "plan-example-python"))
    assert names["prior"].categories == tuple(labels.split("\n"))


# --- sizes, and the form itself -------------------------------------------------------------------------------------------


def test_what_takes_a_while_comes_later(server: Server) -> None:
    text = asked(server, "answer", categories="1000", n="1,000,000,000,000")
    assert 'hx-post="/plan/slowly"' in text
    assert "points wide" not in text
    slow = asked(server, "slowly", categories="1000", n="1,000,000,000,000")
    assert "1,000,000,000,000 records the intervals" in slow
    assert 'hx-post="/plan/example"' in slow


@pytest.mark.parametrize(
    "fields",
    [
        {"categories": "50", "n": "100000", "public": "nothing", "epsilon": "0.005"},
        {"categories": "8", "groups": "10", "public": "nothing"},
    ],
)
def test_an_example_that_would_take_minutes_is_left_out(server: Server, fields: dict[str, str]) -> None:
    assert "left out here" in asked(server, "example", **fields)


def test_the_form_has_every_field_with_its_label_and_message(server: Server) -> None:
    text = server.ask("GET", "/plan")[2]
    for name in labelled(PlanQuestion):
        assert f'<label for="plan-{name}">' in text
        assert f'name="{name}"' in text
        assert f'id="plan-{name}-error"' in text
    assert tuple(re.findall(r'<option value="([^"]*)"[^>]*>\1</option>', text)) == MECHANISMS
    assert "style=" not in text
    assert "onclick" not in text


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [("price", "1e400", "more than 1"), ("width", "1e400", "below 100"), ("width", "1e-400", "below 100"), ("price", "1", "more than 1")],
)
def test_goals_that_nobody_has(server: Server, kind: str, target: str, said: str) -> None:
    status, text = server.post("/plan/goal", **FORM, kind=kind, goal=target)
    assert status == 200
    assert said in text


@pytest.mark.slow
def test_a_form_of_any_length_is_not_taken(server: Server) -> None:
    assert server.post("/plan/answer", **(FORM | {"categories": "a," * 2**20}))[0] == 413
