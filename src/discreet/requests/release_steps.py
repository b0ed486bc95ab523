"""What the command line and the page do alike from counts to a release that is charged, and the warnings before it."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import exp, log, log1p
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from discreet import limits
from discreet.data.engines import removed_on_termination
from discreet.errors import InvalidInputError, SourceError
from discreet.requests.parsing import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from discreet.data.count import CategoryCounts, TableCounts
    from discreet.ledger.budgets import Charge, Spend, Unit
    from discreet.ledger.ledger import Ledger
    from discreet.mechanisms.base import Mechanism, Prepared
    from discreet.model.datasets import Relation
    from discreet.record.guarantee import Guarantee
    from discreet.record.release import Release
    from discreet.validation import Public


@contextmanager
def opened(file: str) -> Iterator[str | BinaryIO]:
    """Open the path, or standard input, for counting. Whatever spills meanwhile is removed even if the process is told to end."""
    if file == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
        raise InvalidInputError("FILE is -, which means a CSV file on standard input, and none is there: pipe one in, as in `cat a.csv |`")
    with removed_on_termination():
        yield sys.stdin.buffer if file == STANDARD_INPUT else file


def relation_of(published: "Public", columns: tuple[str, ...]) -> "Relation":
    """The neighbours that a release is about, by what is public."""
    from discreet.model.datasets import Relation

    if published == "nothing":
        return Relation.ADD_REMOVE_ONE
    return Relation("replace one", columns if published == "sizes" else ())


def check_strict(published: "Public", *, is_strict: bool) -> None:
    """Refuse public sizes where nothing in the data may be refused."""
    if is_strict and published == "sizes":
        raise InvalidInputError(
            "--strict and --public sizes do not go together: an answer that makes its line unreadable would move a published size; use "
            "--public total or --public nothing"
        )


def check_dated(period: str | None, column: str | None) -> None:
    """Refuse a column of dates where no period says which of its rows are counted."""
    if column is not None and period is None:
        raise InvalidInputError("--period-column names the dates of rows, and needs --period, which says which of them are counted")


def check_budget(ledger: "Ledger", dataset: str, unit: "Unit", relation: "Relation", period: str | None = None) -> None:
    """Refuse a release that the budget cannot allow at any ε before the data are counted, so that no refusal says how many there are."""
    from discreet.ledger.charges import check_chargeable
    from discreet.model.periods import PeriodRange

    check_chargeable(ledger.budget(dataset), unit, relation, None if period is None else PeriodRange.read(period))


def note_of(column: str, columns: tuple[str, ...], file: str) -> str:
    """Return a ledger's note of a release: the column, those of its groups, and the file.

    It keeps printable text alone, of which no name stops a release.
    """
    from discreet.data.databases import name_of

    by = f" by {', '.join(columns)}" if columns else ""
    text = f"{column}{by} of {'standard input' if file == STANDARD_INPUT else name_of(file)}"
    return printable(text)[: limits.NOTE_CHARACTERS]


def source_of(file: str) -> str | None:
    """Return a ledger's source of a release: an address, with a digest of a query, or the path from the root on, without links.

    None for standard input. It keeps printable text alone, and of a very long one the end.
    """
    from discreet.data.databases import is_address, kept_address

    if file == STANDARD_INPUT:
        return None
    try:
        path = kept_address(file) if is_address(file) else str(Path(file).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):  # counting says what is wrong with it
        return None
    return printable(path)[-limits.NOTE_CHARACTERS :]


def printable(text: str) -> str:
    """A text with _ for each character that a ledger would refuse."""
    return "".join(character if character.isprintable() else "_" for character in text)


def published_sizes(counts: "CategoryCounts | TableCounts", published: "Public") -> Any:
    """The number of records, or those of all groups, where they are public, and only there may a refusal depend on them."""
    from discreet.data.count import TableCounts

    if published == "nothing":
        return None
    if not counts.total:
        raise SourceError("there are no records to count, and their number is public; --public nothing keeps it private")
    if counts.total > limits.COUNT:
        raise SourceError("the weights add up to 2**53 or more")
    return counts.sizes if published == "sizes" and isinstance(counts, TableCounts) else counts.total


def charge_of(ledger: "Ledger", dataset: str, releases: "Iterable[Prepared | Release]") -> "Charge":
    """Return the charge of these releases together to the dataset."""
    from discreet.ledger.charges import charge_for_all, exact_promise

    return charge_for_all(ledger.budget(dataset), [(exact_promise(one), one.mechanism) for one in releases])


def description_of(ready: "Mapping[str, Prepared]") -> dict[str, Any]:
    """Return the ledger's description of releases, as it is read back."""
    from discreet.ledger.budgets import as_json
    from discreet.ledger.charges import described_together

    found: dict[str, Any] = json.loads(as_json(described_together(ready)))
    return found


def check_charged(ledger: "Ledger", line: "Spend", ready: "Mapping[str, Prepared]", give_up: str) -> None:
    """Refuse to draw for a charge that was for something else, or for less; `give_up` says how to leave it as it is.

    Version 0.2.0 charged a fraction such as 1/3 rounded up.
    """
    charge = charge_of(ledger, line.dataset, ready.values())
    own = charge.promise
    is_enough = line.loss.epsilon >= charge.loss.epsilon and line.loss.delta >= charge.loss.delta
    asked = (description_of(ready), own.unit, own.neighbours, own.period)
    if not is_enough or (line.description, line.unit, line.neighbours, line.period) != asked:
        raise InvalidInputError(
            f"line {line.number} of the ledger was charged for another release, such as one of another number of records, and its charge "
            f"stands: release the data as they were, or {give_up}"
        )


def longest_text(ready: "Prepared") -> str:
    """A text at least as long as any record that will be drawn."""
    import numpy as np

    record = stand_in(ready)
    return record.to_json() + " " * (_COUNT_DIGITS * (np.size(record.raw) + np.size(record.counts)))


_COUNT_DIGITS = 24
"""The digits of a count. ε is 1e-15 or more, so that noise with as many has a chance far below 2^-1000."""


def stand_in(ready: "Prepared") -> "Release":
    """A record that says what the release will say, but for its outcome: that is no draw."""
    return ready.mechanism._recorded(ready.guarantee, _no_outcome(ready.mechanism), ready.about)


def _no_outcome(mechanism: "Mechanism") -> Any:
    """An outcome that every dataset of this size may have."""
    import numpy as np

    space = mechanism.space
    if not space.groups.columns:
        return (space.n or 0, *[0] * (mechanism.k - 1))
    return np.zeros((len(space.groups), mechanism.prior.k), dtype=np.int64)


_LITTLE_PROTECTION = 5
"""The ε above which docs/howto/choosing.md speaks of little protection."""


def little_said(n: int, epsilon: Fraction, public: "Public" = "total") -> str | None:
    """Return the warning where only the prior speaks; None where the data do too."""
    from discreet.analysis.privacy import only_prior_speaks

    steps = n if public == "total" else 2 * n  # to replace a record is to remove one and to add another
    if not only_prior_speaks(steps, epsilon):
        return None
    factor, size = f"{exp(steps * epsilon):.2f}", "datasets" if public == "total" else "datasets of this size"
    return (
        f"ε is so small for n = {n:,} that only the prior speaks: whatever the data are, a release changes the odds between any two "
        f"{size} by a factor of at most {factor}"
    )


def lacks(mechanism: "Mechanism") -> tuple[str, str] | None:
    """Return what readers of a release will not be able to compute, and what helps; None where they will have all of it."""
    from discreet.inference.capabilities import capabilities

    found = capabilities(mechanism)
    missing = [
        word
        for word, reason in (
            ("no intervals that allow for the noise", found.no_noise_aware),
            ("no privacy loss that `discreet verify` could compute", found.no_privacy_loss),
        )
        if reason is not None
    ]
    if not missing:
        return None
    size = "a private n" if mechanism.space.n is None else f"n = {mechanism.space.n:,}"
    release = f"a release of {mechanism.title} with {size} and {mechanism.k} categories"
    return f"{release} will have {' and '.join(missing)}", _alternative(mechanism)


def strong_shares(mechanism: "Mechanism") -> str | None:
    """Return the warning where the prior of the groups' shares outweighs a noisy count about their sizes; None elsewhere.

    With a public total N and a prior Dir(b) of the shares, one record more in a group changes the prior odds of its size by about
    ln(1 + Σb/N), and the odds that its noisy counts give by ε/2. A function of public numbers.
    """
    from discreet.mechanisms.lattice import LatticeGeometric

    if not isinstance(mechanism, LatticeGeometric) or not mechanism.by.columns or mechanism._table.published != "total":
        return None
    groups, n = len(mechanism.by), mechanism._table.n or 1
    strength = float(groups if mechanism.shares is None else sum(mechanism.shares))
    if log1p(strength / n) < float(mechanism.epsilon) / 2:
        return None
    return (
        f"{groups:,} groups share n = {n:,}, and ε is so small that the prior of their shares outweighs the noisy counts: posteriors "
        "will say little about single groups; fewer groups or a larger --epsilon help"
    )


def _alternative(mechanism: "Mechanism") -> str:
    """Return a mechanism that lacks nothing at the same size and ε, or how to come nearer."""
    from discreet.inference.capabilities import capabilities
    from discreet.mechanisms.lattice import LatticeGeometric

    if mechanism.n is None and min(mechanism.prior.exact) < limits.LEAST_PRIOR:
        return f"prior parameters of {limits.LEAST_PRIOR:g} or more have them"
    if mechanism._layout:  # LatticeGeometric itself
        return "a larger --epsilon has less noise to allow for"
    found = capabilities(LatticeGeometric(mechanism.prior, mechanism.n, mechanism.epsilon))
    if found.noise_aware and found.privacy_loss:
        return "--mechanism LatticeGeometric has both"
    return "a larger --epsilon has less noise to allow for"


def little_protection(guarantee: "Guarantee") -> str | None:
    """Return the warning where ε is large; None where it is not."""
    if guarantee.epsilon <= _LITTLE_PROTECTION:
        return None
    hidden = "whether someone took part" if guarantee.hides_presence else "what someone answered"
    return f"ε is above {_LITTLE_PROTECTION}: the odds of {hidden} may change by a factor of {_factor(guarantee.epsilon)}"


def periods_beyond(guarantee: "Guarantee", mechanism: "Mechanism") -> str | None:
    """Return the warning where groups or categories are periods that a release is not charged to; None where none are."""
    from discreet.model.periods import PeriodRange, named

    period, groups = guarantee.period, mechanism.space.groups
    if period is None:
        return None
    places = {f"groups by {column}": labels for column, labels in zip(groups.columns, groups.labels, strict=True)}
    for what, labels in (places | {"categories": mechanism.prior.categories}).items():
        for label in labels:
            every, day = named(str(label)) or (None, period.first)
            if every == period.every and PeriodRange(period.every, day, day) not in period:
                return (
                    f"there are {what} such as {label}, and the release is charged to {period}: if they are made of the dates of rows, "
                    "name all that are read as its period"
                )
    return None


def _factor(epsilon: float) -> str:
    """e^ε, for people: a whole number, or where that has many digits the power of ten below it."""
    digits = epsilon / log(10)
    return f"{exp(epsilon):,.0f}" if digits < _WRITTEN_DIGITS else f"more than 10^{int(digits)}"


_WRITTEN_DIGITS = 6
