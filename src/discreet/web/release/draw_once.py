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
from discreet.errors import InvalidInputError
from discreet.frames import forgets_variables
from discreet.ledger.budgets import Charge
from discreet.ledger.charges import second_budget_words
from discreet.ledger.ledger import Ledger
from discreet.ledger.statements import Statement, check_affordable
from discreet.mechanisms.base import Prepared
from discreet.mechanisms.steady import whole_quanta
from discreet.record.release import Release
from discreet.requests.release_steps import charge_of, check_charged, description_of, longest_text, printable, source_of, stand_in
from discreet.web.release.question import read
from discreet.web.release.store import KeptRelease, Store
from discreet.web.release.study import Question, read_study

_COUNTING_QUANTUM = 0.25
"""Seconds, at whose multiples counting ends: how long it takes may depend on what is counted."""
State = Literal["drawn", "drawing", "charged", "asked", "unknown"]


@dataclass(frozen=True)
class ReleasePreview:
    """The preview of a release before it is confirmed: all of it is public, or is made public by the release."""

    question: Question
    described: Mapping[str, Any]
    stand_ins: Mapping[str, Release]
    """Records that say what the release, or each table of a study, will say, but for the outcome: that is no draw, and is not shown."""
    statement: Statement
    charge: Charge
    second_budget: str | None
    """The warning where the same source was charged to another dataset before; None elsewhere."""


@forgets_variables
def look(question: Question, source: Path | str, declared: str | None, ledger: Ledger) -> ReleasePreview:
    """Preview what a release would publish and cost. Whatever can be refused is refused here or, in the same words, before the charge.

    `declared` is what the ledger will keep as the source.
    """
    question.check(ledger)
    ready = _prepared(question, source)
    statement = ledger.statement(question.dataset, latest=limits.LEDGER_SPENDS, period=question.period)
    charge = charge_of(ledger, question.dataset, ready.values())
    check_affordable(statement, charge)
    second = None if declared is None else second_budget_words(ledger.charged_elsewhere(question.dataset, declared))
    records = {name: stand_in(one) for name, one in ready.items()}
    return ReleasePreview(question, description_of(ready), records, statement, charge, second)


def declared_source(kept: Mapping[str, str]) -> str | None:
    """Return a ledger's source of a question as it is kept: its path, or the name of a file that was sent to the page."""
    return source_of(kept["file"]) if kept.get("file") else printable(f"{kept.get('upload', '')} (sent to the page)")


@forgets_variables
def draw_once(store: Store, key: str, source: Path | str, ledger: Ledger) -> KeptRelease:
    """The question with its record, which is drawn and charged now unless it was before. Nothing else sees what is drawn."""
    with store.alone(key) as asked:
        if asked.record is not None:
            return asked
        question: Question = read_study(asked.fields) if "text" in asked.fields else read(asked.fields)
        ready = _prepared(question, source)
        line = ledger.charged(question.dataset, key)
        if description_of(ready) != asked.described:
            paid = "nothing was spent: look again" if line is None else "its charge stands: draw it from the file as it was, or give it up"
            raise InvalidInputError(f"the file has another number of records than when you looked; {paid}")
        with store.room(asked, _kept_text({name: longest_text(one) for name, one in ready.items()})) as keep:
            if line is None:
                source_kept = declared_source(asked.fields)
                ledger.charge_together(question.dataset, ready, note=question.ledger_note, request=key, source=source_kept)
            else:
                check_charged(ledger, line, ready, "give it up")
            return keep(_kept_text({name: one.draw().to_json() for name, one in ready.items()}))


def _kept_text(records: Mapping[str, str]) -> str:
    """The text that is kept of what was drawn: the record, or an object with that of each table of a study."""
    return records[""] if [*records] == [""] else json.dumps(records)


def records_of(asked: KeptRelease) -> dict[str, Release]:
    """The records that were drawn: those of a study's tables by their names, or one without a name."""
    if asked.record is None:
        raise InvalidInputError("this release was not drawn yet")
    texts = json.loads(asked.record) if "text" in asked.fields else {"": asked.record}
    return {name: Release.from_json(text) for name, text in texts.items()}


def state(asked: KeptRelease, ledger: Ledger) -> State:
    """Return the state of a question. Raises LedgerError if its ledger does not say."""
    if asked.record is not None:
        return "drawn"
    return "asked" if ledger.charged(asked.fields.get("dataset", ""), asked.key) is None else "charged"


def _prepared(question: Question, source: Path | str) -> Mapping[str, Prepared]:
    """Everything but the draws. Answers and groups without a place are refused, as at any desk of a curator, unless others ask: strictly
    counted, no cell of the data decides whether it succeeds, or what is said."""
    with whole_quanta(_COUNTING_QUANTUM):
        return question.prepared(source)
