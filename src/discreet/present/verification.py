"""Words about the result of a verification."""

from typing import TYPE_CHECKING, Any

from discreet.present.record import promise
from discreet.present.terminal import Lines

if TYPE_CHECKING:
    from discreet.analysis.privacy import Verification
    from discreet.mechanisms import Mechanism
    from discreet.record.guarantee import Guarantee
    from discreet.record.release import Release

_MOST_SHOWN = 10
"""Categories of a dataset that is written out."""
_SHOWN_AS_ZERO = 5e-4
"""A part of ε that is printed as 0.0 %."""


def verification_lines(subject: "Mechanism | Release", result: "Verification") -> Lines:
    from discreet.analysis.privacy import mechanism_of
    from discreet.validation import shown

    mechanism, loss, unused = mechanism_of(subject), result.loss, result.slack
    prior = shown(",".join(map(str, mechanism.prior.exact)))
    size = "private n" if mechanism.space.n is None else f"n = {mechanism.space.n:,}"
    lines = [("Mechanism", f"{mechanism.title}, {size}, prior {prior}"), ("Claimed", promise(result.claimed))]
    if loss is not None:
        value = f"{loss.value:.10g}, with all rounding at most {loss.bound:.10g}"
        lines.append(("Loss", f"{value}: how much ln(probability) of an outcome can change when {_step(result.claimed)}"))
        lines += _largest(mechanism, loss.at)
    if unused is not None and unused > _SHOWN_AS_ZERO:
        lines.append(("Unused", f"{unused:.1%} of the claimed ε: noise that this configuration would not need"))
    if result.delta is not None and result.claimed.basis != "none" and max(result.delta.bound, result.claimed.delta) > 0:
        lines.append(("δ", f"at most {result.delta.bound:.3g} at the claimed ε, and {result.claimed.delta:g} is claimed"))
    lines.append(("Verdict", result.verdict))
    if subject is not mechanism:
        lines.append(("Not seen", "whether the outcome was drawn from this mechanism: a record is as trustworthy as its source"))
    return lines


def _largest(mechanism: "Mechanism", at: Any) -> list[tuple[str, str]]:
    """Describe where the loss is largest. Of a table some cells stand for all, and it is said for how many."""
    from discreet.model.tables import TableSpace

    space, between = mechanism.space, f"between the counts {at[0]} and {at[1]}"
    if not isinstance(space, TableSpace):
        return [("Largest", between)] if mechanism.k <= _MOST_SHOWN else []
    cells, where = space.fewest, "the table" if space.sizes is None else "a group"
    if len(at[0]) == cells:
        return [("Largest", f"{between} of all cells of {where}")]
    others = "alike in both" if space.n is None else "0"
    return [("Largest", f"{between} of {len(at[0])} of the {cells:,} cells of {where}; its other cells are {others}")]


def _step(claimed: "Guarantee") -> str:
    """Describe the step between neighbouring datasets."""
    if claimed.hides_presence:
        return f"a {'person' if claimed.unit == 'person' else 'row'} is added or removed"
    stays = f" and nobody's {claimed.neighbours.columns}" if claimed.neighbours.within else ""
    return ("a person's answers change" if claimed.unit == "person" else "a row changes") + stays
