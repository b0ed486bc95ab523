"""What the screen for plans answers a little later: every mechanism side by side, curves, and the ε that a goal asks for."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

from discreet.errors import InvalidInputError
from discreet.planning.comparison import ComparisonRow, compare, points
from discreet.planning.records_curves import RecordsCurve, records_curve
from discreet.planning.width_plans import WidthCurve, WidthPlan, width_curve
from discreet.present.html import Html, element, joined
from discreet.progress import Progress
from discreet.requests.kinds import number_words
from discreet.requests.parsing import parse_number, parse_share
from discreet.web.code_to_copy import request_command, same
from discreet.web.forms import field
from discreet.web.pictures import Curve, curve
from discreet.web.plan.answer import planned
from discreet.web.plan.commands import same_plan
from discreet.web.plan.question import PlanQuestion

GOAL_FIELDS = ("goal",)
_MOST_TIMES, _LEAST_WIDTH = 1_000_000, Fraction(1, 10**9)
"""Goals that someone may have."""

# --- every mechanism ----------------------------------------------------------------------------------------------------


def compared(question: PlanQuestion, progress: Progress) -> Html:
    """Every mechanism side by side, those with the narrowest intervals first, and why some have no number."""
    level, public = question.planned_epsilon, question.planned_public
    found = compare(question.prior, question.size, level, public=public, errors=False, progress=progress)
    heads = ("mechanism", "width, points", "promise", "computed loss")
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in heads)))
    rows = [_compared_row(row, chosen=row.mechanism == question.mechanism) for row in found.rows]
    caption = f"Expected width of readers' 95 % intervals; without privacy {points(found.plain)} points."
    table = element("table", element("caption", caption), head, element("tbody", *rows), class_="compared")
    reasons = [element("li", reason) for reason in found.reasons]
    why = [element("details", element("summary", "Why some numbers are missing"), element("ul", *reasons))] if reasons else []
    notes = []
    if question.expect is not None:
        notes.append("Data are expected as the prior has them here, and not with the shares you expect. ")
    if question.groups is not None:
        notes.append("This is about one group; a table is released by LatticeGeometric. ")
    asked = question.asks_to_compare()
    ways = same("plan-compared", request_command("compare", asked), asked.python())
    return joined(table, element("p", *notes, found.choice, class_="quiet"), *why, ways)


def _compared_row(row: ComparisonRow, *, chosen: bool) -> Html:
    promise = "not available at this size"
    if row.guarantee is not None:
        promise = "none" if row.guarantee.basis == "none" else f"{row.guarantee.level} by {row.guarantee.basis}"
    name = element("th", _breakable(row.mechanism), *([element("span", " your choice", class_="chosen")] if chosen else []), scope="row")
    width, loss = "–" if row.width is None else points(row.width), "–" if row.loss is None else f"{row.loss:.4g}"
    cells = element("td", width), element("td", promise, class_="promise"), element("td", loss)
    return element("tr", name, *cells, **({"class_": "mine"} if chosen else {}))


def _breakable(name: str) -> Html:
    """The name of a mechanism, which a narrow column may break where a new word begins."""
    parts = re.split(r"(?<=[a-z(])(?=[A-Z])", name)
    return joined(*(part for word in parts for part in (element("wbr"), word)))


# --- curves -------------------------------------------------------------------------------------------------------------


def curves(question: PlanQuestion, progress: Progress) -> Html:
    """The width against ε, and against n."""
    here = planned(question, epsilon=question.planned_epsilon)
    options = {"mechanism": question.mechanism, "expect": question.expect, "public": question.planned_public, "progress": progress}
    over_epsilon = width_curve(question.prior, question.size, **options)  # type: ignore[arg-type]
    over_records = records_curve(question.prior, question.planned_epsilon, **options)  # type: ignore[arg-type]
    return joined(_over_epsilon(question, here, over_epsilon), _over_records(question, here, over_records))


def _over_epsilon(question: PlanQuestion, here: WidthPlan, found: WidthCurve) -> Html:
    level, half = float(question.planned_epsilon), " (half of yours)" if question.halved else ""
    drawn = Curve(
        "Width of the 95 % intervals in points, against ε",
        "ε",
        [float(e) for e in found.epsilons],
        [float(w) for w in found.widths],
        [float(found.plain)] * len(found.widths),
        (level, float(here.width)),
        f"you: ε = {level:g}{half}, {points(here.width)} points",
        steep=False,
    )
    rows = [
        (f"{row['epsilon']:g}", points(row["width"]), points(row["width_without_privacy"]), f"{row['price']:.2f}")
        for row in found.to_dicts()
    ]
    table = _table(("ε", "width, points", "without privacy", "times as wide"), rows)
    ways = same_plan("plan-over-epsilon", question.asks(curve=True, n=question.size))
    return element("div", element("h3", f"With more or less ε, at n = {question.size:,}"), curve(drawn), table, ways)


def _over_records(question: PlanQuestion, here: WidthPlan, found: RecordsCurve) -> Html:
    drawn = Curve(
        "Width of the 95 % intervals in points, against the number of records",
        "records",
        [float(n) for n in found.records],
        [float(w) for w in found.widths],
        [float(w) for w in found.plain],
        (float(question.size), float(here.width)),
        f"you: {question.size:,} records, {points(here.width)} points",
        steep=True,
    )
    headings, rows = found.cells()
    ways = same_plan("plan-over-records", question.asks(curve=True, epsilon=question.planned_epsilon))
    return element(
        "div",
        element("h3", f"With more or fewer records, at ε = {number_words(question.planned_epsilon)}"),
        curve(drawn),
        _table(headings, rows),
        ways,
    )


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Html:
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in headings)))
    body = element("tbody", *(element("tr", *(element("td", text) for text in row)) for row in rows))
    return element("details", element("summary", "The numbers of the picture"), element("table", head, body))


# --- the ε that a goal asks for -----------------------------------------------------------------------------------------


def goal(question: PlanQuestion, fields: Mapping[str, str], progress: Progress) -> Html:
    """The least ε for a goal; the page puts it into its field."""
    with field("goal"):
        kind, target = _goal(fields)
        found = planned(question, progress=progress, **{kind: target})
    needed = found.epsilon * 2 if question.halved else found.epsilon
    twice = " That is twice what one group needs, since only the total of the table is public." if question.halved else ""
    words = f"You need ε = {number_words(needed)} or more. The slider is set to it.{twice} {found.precision}"
    ways = same_plan("plan-goal", question.asks(n=question.size, **{kind: target}))
    return joined(element("p", words, data_epsilon=number_words(needed), role="status"), ways)


def _goal(fields: Mapping[str, str]) -> tuple[str, Fraction]:
    """Which goal it is, and its value."""
    text = fields.get("goal", "")
    if not text:
        raise InvalidInputError("say how wide the intervals may be, such as 4")
    if fields.get("kind") == "price":
        price = parse_number(text, "how many times as wide")
        if not 1 < price <= _MOST_TIMES:
            raise InvalidInputError(f"say how many times as wide as without privacy: more than 1, and up to {_MOST_TIMES:,}")
        return "price", price
    width = parse_share(text if text.endswith("%") else f"{text}%", "the width in points")
    if not _LEAST_WIDTH <= width < 1:
        raise InvalidInputError(f"the width must be from {float(_LEAST_WIDTH * 100):g} to below 100 points")
    return "width", width
