"""The card of a dataset: its budget, what is left of it as a picture, and what one more release would leave."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from discreet.errors import BudgetError, InvalidInputError
from discreet.ledger.budgets import Charge, Loss, Spend, checked_promise, period_words
from discreet.ledger.charges import charge_for
from discreet.ledger.statements import Statement, check_affordable
from discreet.present.budgets import hidden, left_words
from discreet.present.html import Html, element, isolated, joined
from discreet.record.guarantee import Guarantee, stay_words

_NARROW_SEGMENT = 0.5
"""Per cent of a bar: a narrower segment has no gap around it, which would leave nothing of it."""
Promised = Guarantee | Loss
"""The promise of one more release: a loss alone is taken to be about the budget's own neighbours."""


def budget_card(statement: Statement, release: Promised | Charge | None = None, *, place: str = "budget") -> Html:
    """The card of a statement, whose latest spends have a segment each.

    With `release`, the guarantee of one that is about to be made, the card also says what it would be charged and what would be left,
    or why it would be refused. `place` is unique on the page.
    """
    budget, charge, refusal = statement.budget, None, None
    if release is not None:
        try:
            charge = release if isinstance(release, Charge) else charge_for(budget, checked_promise(release, 0), None)
            check_affordable(statement, charge)
        except (BudgetError, InvalidInputError) as error:
            refusal = str(error)
    parts = [
        element("h3", isolated(budget.dataset), class_="budget-name"),
        element("p", _lead(statement), class_="budget-lead"),
        *_bars(statement, charge, refused=refusal is not None, place=place),
        *([_legend(statement, charge, refused=refusal is not None)] if statement.spends or charge is not None else []),
        *_preview(statement, charge, refusal),
        _facts(statement),
    ]
    return element("article", *parts, class_="budget-card")


def _lead(statement: Statement) -> Html:
    total, left, where = statement.budget.total, element("strong", str(statement.remaining)), period_words(statement.period)
    return joined(
        left, f" left{where} of {total}" if statement.budget.filter is None else f" left{where} in one release, of {total} in all"
    )


def spends_counted(number: int) -> str:
    """Describe the number of spends in words."""
    return "nothing has been spent" if number == 0 else "1 spend" if number == 1 else f"{number:,} spends"


# --- the picture ------------------------------------------------------------------------------------------------------


def _bars(statement: Statement, charge: Charge | None, *, refused: bool, place: str) -> Iterable[Html]:
    """A bar for the sum of ε, and one for the filter or for the sum of δ where there is such."""
    budget, spent, count = statement.budget, statement.spent, spends_counted(statement.spends)
    kept = budget.filter
    name = "ε" if kept is None else "ε by the plain sum, which the filter may go beyond"

    def bar(title: str, key: str, amount: Callable[[Spend | Charge], Fraction], used: Fraction, whole: Fraction) -> Html:
        segments = [BarSegment("spend", amount(line), line_words(line)) for line in statement.latest]
        if earlier := statement.spends - len(segments):
            segments.insert(0, BarSegment("earlier", used - sum((one.amount for one in segments), Fraction(0)), _earlier(earlier)))
        if charge is not None:
            segments.append(BarSegment("refused" if refused else "preview", amount(charge), "this release"))
        ratio = used / whole
        words = f"{title}: {_share(ratio)} used by {count}" if statement.spends else f"{title}: {count}"
        head = element("p", element("span", title), element("span", f"{_share(ratio)} used"), class_="bar-words")
        return joined(head, spends_bar(f"{place}-{key}", [one for one in segments if one.amount > 0], whole, words))

    yield bar(name, "epsilon", lambda one: one.loss.epsilon, spent.epsilon, budget.total.epsilon)
    if kept is not None and statement.divergence is not None:
        title = f"Rényi divergence by the {kept}"
        yield bar(title, "filter", lambda one: one.divergence or Fraction(0), statement.divergence, kept.limit)
    elif budget.total.delta:
        yield bar("δ", "delta", lambda one: one.loss.delta, spent.delta, budget.total.delta)


def _earlier(number: int) -> str:
    return "1 earlier spend" if number == 1 else f"{number:,} earlier spends together"


def line_words(line: Spend) -> str:
    """A spend in one line."""
    note = f": {line.note}" if line.note else ""
    return f"{line.loss} on {line.day}{note}"


def _share(ratio: Fraction) -> str:
    """A share in per cent: 0 and 100 are those alone."""
    if ratio in (0, 1):
        return f"{100 * ratio} %"
    return (
        "less than 0.1 %"
        if ratio < Fraction(1, 1000)
        else "more than 99.9 %"
        if Fraction(999, 1000) < ratio < 1
        else f"{float(100 * ratio):.3g} %"
    )


def _legend(statement: Statement, charge: Charge | None, *, refused: bool) -> Html:
    keys = [element("span", "a spend", class_="key")] if statement.latest else []
    earlier = statement.spends - len(statement.latest)
    if earlier:
        keys.append(element("span", _earlier(earlier), class_="key earlier-key"))
    if charge is not None:
        keys.append(element("span", "this release", class_="key refused-key" if refused else "key preview-key"))
    after = statement if charge is None else statement.after(charge)
    if min(after.left.epsilon, after.left.delta, after.filter_left or 0) < 0:
        keys.append(element("span", "where the budget ends", class_="key end-key"))
    keys.append(element("span", "left", class_="key left-key"))
    return element("p", *keys, class_="legend")


@dataclass(frozen=True)
class BarSegment:
    """A part of a bar: a spend, all spends before the latest ones, or what a release would take."""

    kind: Literal["spend", "earlier", "preview", "refused"]
    amount: Fraction
    words: str
    """The words shown where someone points at it."""


def spends_bar(place: str, segments: Sequence[BarSegment], whole: Fraction, words: str) -> Html:
    """A bar as long as the whole, or as all segments if these are longer; the whole has its mark then. `place` is unique on the page."""
    taken = sum((segment.amount for segment in segments), Fraction(0))
    length = max(whole, taken) or Fraction(1)
    starts = accumulate((segment.amount for segment in segments), initial=Fraction(0))
    hatch = f"{place}-hatch"
    parts = [
        _rect(segment, 100 * start / length, 100 * segment.amount / length, number, hatch)
        for number, (segment, start) in enumerate(zip(segments, starts, strict=False))
    ]
    end = _percent(100 * whole / length)
    mark = [element("line", class_="spends-end", x1=end, x2=end, y1="-12%", y2="112%")] if taken > whole else []
    picture = element("svg", _hatch(hatch), *parts, *mark, role="img", aria_label=words)
    return element("div", picture, class_="spends-bar")


def _rect(segment: BarSegment, start: Fraction, width: Fraction, number: int, hatch: str) -> Html:
    kinds = [segment.kind, *(["other"] if number % 2 else []), *(["narrow"] if width < _NARROW_SEGMENT else [])]
    fill = {"fill": f"url(#{hatch})"} if segment.kind in ("preview", "refused") else {}
    title = element("title", segment.words)
    return element("rect", title, class_=" ".join(kinds), x=_percent(start), width=_percent(width), y="0", height="100%", **fill)


def _hatch(name: str) -> Html:
    ground = element("rect", class_="hatch-ground", width="8", height="8")
    line = element("line", class_="hatch-line", x1="0", x2="0", y1="0", y2="8")
    sizes = {"width": "8", "height": "8", "patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    return element("defs", element("pattern", ground, line, id=name, **sizes))


def _percent(value: Fraction) -> str:
    return f"{float(value):.4f}%"


# --- words ------------------------------------------------------------------------------------------------------------


def _preview(statement: Statement, charge: Charge | None, refusal: str | None) -> list[Html]:
    """Show what the release would be charged and leave, or why it would be refused."""
    if refusal is not None:
        return [element("p", f"It would be refused: {refusal}.", class_="warn")]
    if charge is None:
        return []
    after = left_words(statement.after(charge).remaining, statement.budget)
    why = f" (its own {charge.promise.loss}, for two steps: {charge.why})" if charge.why else ""
    loss = element("strong", str(charge.loss))
    return [element("p", "This release would be charged ", loss, f"{why} and leave {after}.", class_="budget-preview")]


def _facts(statement: Statement) -> Html:
    """Describe a budget's subject and how it is kept, in plain words."""
    budget, kept = statement.budget, statement.budget.filter
    during = "" if budget.every is None else f" in one {budget.every}"
    rows = {"About": f"one {budget.unit}{during} (neighbours: {budget.step})", "Hides": hidden(budget)}
    if budget.every is not None:
        rows["Periods"] = f"each {budget.every} has this budget: it {stay_words(budget.every, budget.total)}"
    if kept is None or statement.divergence is None:
        rows["Kept by"] = "the plain sum of what is charged"
    else:
        rows["Kept by"] = f"a {kept}: releases are taken beyond the plain sum, however each is chosen in view of the earlier ones"
        rows["Filter"] = f"a divergence of {float(statement.divergence):.6g} is spent of {float(kept.limit):.6g}"
    rows["Since"] = f"{budget.created} (UTC)"
    return element("dl", *(joined(element("dt", word), element("dd", text)) for word, text in rows.items()), class_="budget-facts")
