"""A release is looked at, then charged once and drawn once, whatever becomes of the browser or of this process meanwhile.

The question is on the disk with its key before anything is charged, the charge carries the key, and the record is on the disk before it is
shown. Where a process ends between the charge and the record, nothing was seen of a draw, and the next one takes its place.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from discreet import limits
from discreet.errors import BudgetError, DiscreetError, InvalidInputError
from discreet.frames import forgets_variables
from discreet.ledger.budgets import Charge, Spend, as_json, checked_promise
from discreet.ledger.charges import charge_for, second_budget_words
from discreet.ledger.descriptions import described
from discreet.ledger.ledger import Ledger
from discreet.ledger.statements import Statement, check_affordable
from discreet.mechanisms.base import Mechanism, Prepared
from discreet.mechanisms.steady import whole_quanta
from discreet.model.datasets import Relation
from discreet.record.release import Release
from discreet.requests.fields import WrongError, spoken
from discreet.requests.release import ReleaseRequest
from discreet.requests.release_steps import check_budget, longest_text, printable, source_of, stand_in
from discreet.web.release.question import ReleaseQuestion, read
from discreet.web.release.store import KeptRelease, Store

_COUNTING_QUANTUM = 0.25
"""Seconds, at whose multiples counting ends: how long it takes may depend on what is counted."""
State = Literal["drawn", "drawing", "charged", "asked", "unknown"]


@dataclass(frozen=True)
class ReleasePreview:
    """The preview of a release before it is confirmed: all of it is public, or is made public by the release."""

    question: ReleaseQuestion
    described: Mapping[str, Any]
    stand_in: Release
    """A record that says what the release will say, but for its outcome: that is no draw, and is not shown."""
    statement: Statement
    charge: Charge
    second_budget: str | None
    """The warning where the same source was charged to another dataset before; None elsewhere."""


@forgets_variables
def look(question: ReleaseQuestion, source: Path | str, declared: str | None, ledger: Ledger) -> ReleasePreview:
    """Preview what a release would publish and cost. Whatever can be refused is refused here or, in the same words, before the charge.

    `declared` is what the ledger will keep as the source.
    """
    _check_kind(question, ledger)
    ready = _prepared(question, source)
    statement = ledger.statement(question.dataset, latest=limits.LEDGER_SPENDS, period=question.request.period)
    charge = charge_for(statement.budget, checked_promise(ready.guarantee, 0), ready.mechanism)
    check_affordable(statement, charge)
    second = None if declared is None else second_budget_words(ledger.charged_elsewhere(question.dataset, declared))
    return ReleasePreview(question, _description(ready.mechanism), stand_in(ready), statement, charge, second)


def declared_source(kept: Mapping[str, str]) -> str | None:
    """Return a ledger's source of a question as it is kept: its path, or the name of a file that was sent to the page."""
    return source_of(kept["file"]) if kept.get("file") else printable(f"{kept.get('upload', '')} (sent to the page)")


def _check_kind(question: ReleaseQuestion, ledger: Ledger) -> None:
    """Refuse what the budget allows at no ε, beside the field that can be changed for it."""
    asked = question.request
    try:
        check_budget(ledger, question.dataset, asked.unit, asked.relation, asked.period)
    except BudgetError as error:
        budget = ledger.budget(question.dataset)
        if (budget.every is None) == (asked.period is not None):
            raise WrongError({"period": spoken(error.in_shell, ReleaseRequest, "form")}) from None
        if budget.unit == "person" and asked.unit == "record":
            told = "name the column that tells them apart or, if every row is another person’s, declare that below"
            raise WrongError({"privacy_id": f"the budget of {budget.dataset!r} protects persons: {told}"}) from None
        if budget.neighbours == Relation.ADD_REMOVE_ONE and asked.public != "nothing":
            hidden = f"the budget of {budget.dataset!r} hides whether someone took part, so how many there are cannot be published from it"
            raise WrongError({"public": f"{hidden}: choose “Nothing”"}) from None
        raise


@forgets_variables
def draw_once(store: Store, key: str, source: Path | str, ledger: Ledger) -> KeptRelease:
    """The question with its record, which is drawn and charged now unless it was before. Nothing else sees what is drawn."""
    with store.alone(key) as asked:
        if asked.record is not None:
            return asked
        question = read(asked.fields)
        ready = _prepared(question, source)
        line = ledger.charged(question.dataset, key)
        if _description(ready.mechanism) != asked.described:
            paid = "nothing was spent: look again" if line is None else "its charge stands: draw it from the file as it was, or give it up"
            raise InvalidInputError(f"the file has another number of records than when you looked; {paid}")
        with store.room(asked, longest_text(ready)) as keep:
            if line is None:
                note, declared = question.request.ledger_note, declared_source(asked.fields)
                drawn = ledger.draw(question.dataset, ready, note=note, request=key, source=declared)
            else:
                _check_line(line, ready)
                drawn = ready.draw()
            return keep(drawn.to_json())


def state(asked: KeptRelease, ledger: Ledger) -> State:
    """Return the state of a question. Raises LedgerError if its ledger does not say."""
    if asked.record is not None:
        return "drawn"
    return "asked" if ledger.charged(asked.fields.get("dataset", ""), asked.key) is None else "charged"


def _prepared(question: ReleaseQuestion, source: Path | str) -> Prepared:
    """Everything but the draw. Answers and groups without a place are refused, as at any desk of a curator, unless others ask: strictly
    counted, no cell of the data decides whether it succeeds, or what is said."""
    with whole_quanta(_COUNTING_QUANTUM):
        return question.request.prepared(question.request.counted(str(source)))


def _description(mechanism: Mechanism) -> Mapping[str, Any]:
    """Return the ledger's description of a mechanism, as it is read back."""
    found: dict[str, Any] = json.loads(as_json(described(mechanism)))
    return found


def _check_line(line: Spend, ready: Prepared) -> None:
    """Refuse to draw for a charge that was for something else."""
    promise = checked_promise(ready.guarantee, 0)
    same = (line.description, line.guarantee, line.unit, line.neighbours, line.period) == (
        _description(ready.mechanism),
        promise.loss,
        promise.unit,
        promise.neighbours,
        promise.period,
    )
    if not same:
        raise DiscreetError(f"line {line.number} of the ledger was charged for something else; nothing is drawn for it")
