"""A public record in words and in fields: what it says of itself, what it promises, and what a verification of that found."""

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from discreet import limits
from discreet.present.figures import (
    CellFigures,
    CellNumbers,
    group_field,
    group_sizes,
    sizes_laid_out,
)
from discreet.present.how_read import AS_RELEASED, HowRead, whose_lines
from discreet.present.terminal import Lines, notice, print_lines, print_table
from discreet.text import listed, more, plain, shown

if TYPE_CHECKING:
    from discreet.analysis.privacy import Verification
    from discreet.mechanisms import Mechanism
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.about import CountingRule
    from discreet.record.guarantee import Guarantee
    from discreet.record.release import Release


def print_record(
    found: "Release",
    after: Lines = (),
    how: HowRead = AS_RELEASED,
    *,
    computed: bool = True,
    hint: str = "",
    err: bool = False,
) -> None:
    """The posterior as a table, and what is promised about it; with what else a command has to say.

    `hint` is put after the words about rows that are records. `computed` says whether a promise by computation was computed here, and is
    not only what a record says. With `err` all of it is printed on standard error.
    """
    numbers = CellNumbers.of(found, how)
    figures = numbers.figures
    print_table(numbers.laid_out(how), err=err)
    if found.by.columns:
        _print_sizes(found, how, err=err)
    lines = [*about_lines(found, hint), *whose_lines(found, how, figures.none, numbers.noise), *prior_lines(how.reader)]
    print_lines([*lines, *_size_line(found, figures, how.mass), *promise_lines(found, computed=computed), *after], err=err)
    if numbers.caution is not None:
        notice(numbers.caution)


def _print_sizes(found: "Release", how: HowRead, *, err: bool) -> None:
    """Print the number of records of each group, where nothing about that is public."""
    groups = len(found.cells.groups)
    if found.n is None and groups > limits.GROUP_SIZES:
        words = (
            f"private; those of {groups:,} groups are not shown, of up to {limits.GROUP_SIZES:,} they are: posterior.size[group] has one"
        )
        print_lines([("Sizes", words)], err=err)
    elif sizes := group_sizes(found, how):
        print_table(sizes_laid_out(found, sizes, how.mass), err=err)


def promise(guarantee: "Guarantee") -> str:
    """The guarantee without the words of the theory."""
    if guarantee.basis == "none":
        return str(guarantee)
    differ = "one person's answers" if guarantee.unit == "person" else "one record"
    stays = f" and in nobody's {guarantee.neighbours.columns}" if guarantee.neighbours.within else ""
    compared = f"with and without one {guarantee.unit}" if guarantee.hides_presence else f"that differ in {differ}{stays}"
    during = "" if guarantee.period is None else f", in one {guarantee.period.every}"
    return f"{guarantee.level} differential privacy by {guarantee.grounds}; it compares datasets {compared}{during}"


def guarantee_fields(guarantee: "Guarantee") -> dict[str, Any]:
    """The fields of a guarantee; ε and δ are None where nothing is promised."""
    promised = guarantee.basis != "none"
    return {
        "epsilon": guarantee.epsilon if promised else None,
        "delta": guarantee.delta if promised else None,
        "basis": guarantee.basis,
        "unit": guarantee.unit,
        "neighbours": str(guarantee.neighbours),
        **({} if guarantee.period is None else {"period": str(guarantee.period)}),
    }


def record_fields(found: "Release", how: HowRead = AS_RELEASED) -> dict[str, Any]:
    """Return the answer of `show` as fields, with None for what is not available. docs/reference/release.md describes them."""
    from discreet.record.json import written_label

    known = {
        "about": about_fields(found),
        "mechanism": found.mechanism.title,
        "n": found.n,
        "guarantee": guarantee_fields(found.guarantee),
        **({} if found.mechanism._publisher is None else {"promised_by": found.mechanism._publisher}),
        "verified": {"proof": True, "computation": False, "none": None}[found.guarantee.basis],
        "mass": how.mass,
        "reader_prior": None if how.reader is None else how.reader.concentration.tolist(),
        "shares_of": how.about,
    }
    numbers = CellNumbers.of(found, how)
    figures, noise = numbers.figures, numbers.noise
    said = {"not_available": figures.reason, **noise.fields(figures.none)}
    if found.by.columns:
        sizes = [(group_field(found.cells, group), size) for group, size in enumerate(group_sizes(found, how))]
        named = [{"group": group, "mean": mean, "low": low, "high": high} for group, (mean, low, high) in sizes]
        return known | said | {"sizes": named or None, "cells": numbers.fields()}
    shares = found.prior.plus(found.counts).concentration
    means = (shares / shares.sum()).tolist()
    size = None if figures.size is None else dict(zip(("mean", "low", "high"), figures.size, strict=True))
    rows = [
        {"category": written_label(category), "reported_count": count, "reported_mean": mean, **figures.fields((0, i)), **noise.row((0, i))}
        for i, (category, count, mean) in enumerate(zip(found.prior.categories, found.counts, means, strict=True))
    ]
    return known | {"size": size} | said | {"categories": rows}


def prior_lines(reader: "Dirichlet | None") -> Lines:
    """Return which prior was used, if it is not the record's."""
    return [] if reader is None else [("Prior", f"yours, in place of the record's: {', '.join(f'{a:g}' for a in reader.concentration)}")]


def promise_lines(found: "Release", *, computed: bool) -> Lines:
    """Return the lines about a release's promise, what that protects and what is public, in words."""
    claimed = "" if computed or found.guarantee.basis != "computation" else "not verified; the record claims "
    return [
        ("Promise", f"{claimed}{promise(found.guarantee)}" if found.mechanism._publisher is None else found.promise),
        ("Protected", f"{'if that is so, ' if claimed else ''}{_protected(found)}"),
        *_period_lines(found),
        ("Public", _public(found)),
        ("Mechanism", found.mechanism.title),
        *_noise_lines(found),
    ]


def _noise_lines(found: "Release") -> Lines:
    """Return the line about the noise of counts that others published, and about what they did after it."""
    from discreet.mechanisms.observed import Observed
    from discreet.mechanisms.published import noise_of

    if not isinstance(found.mechanism, Observed):
        return []
    steps = found.mechanism.steps
    return [("Noise", f"{noise_of(found.mechanism.published_noise).words}{f', then {steps}' if steps else ''}")]


def _period_lines(found: "Release") -> Lines:
    """Return which periods were read, who says so, and what someone has left who is there for several."""
    guarantee = found.guarantee
    if guarantee.period is None:
        return []
    rule = None if found.about is None else found.about.counting
    dated = None if rule is None or isinstance(rule, str) else rule.dated
    known = "declared, not checked" if dated is None else f"rows of other dates in {dated[0]!r} were left out"
    said = "" if guarantee.basis == "none" else f"; {guarantee.protects}"
    return [("Period", f"{guarantee.period}, {known}{said}")]


def _protected(found: "Release") -> str:
    """Describe what nobody can tell from a release, and what they can. In a table, also whether the group is told."""
    if found.guarantee.basis == "none":
        return "nothing" if found.mechanism._publisher is None else "what its publisher says"
    kept, columns = found.guarantee.neighbours.columns, listed(found.by.columns)
    person = found.guarantee.unit == "person"
    whose, presence = ("their", "that they took part") if person else ("its", "that it is in the data")
    rule = None if found.about is None else found.about.counting
    rows = "in the one row that each has" if rule and not isinstance(rule, str) and rule.one_row_per_person else "in all their rows"
    during = "" if found.guarantee.period is None else f" of one {found.guarantee.period.every}"
    answer = f"what a person answered, {rows}{during}" if person else "what a record says"
    group = f", {whose} {columns} included" if columns else ""
    if found.guarantee.hides_presence:
        hidden = f"whether a person took part{during.replace(' of ', ' in ')}, and what they answered"
        hidden = hidden if person else "whether a record is in the data, and what it says"
        return f"{hidden}{group}"
    return f"{answer}; not {whose} {kept}, and not {presence}" if kept else f"{answer}{group}; not {presence}"


def _public(found: "Release") -> str:
    units, space = f"{found.guarantee.unit}s", found.mechanism.space
    context = f"{'the groups, ' if found.by.columns else ''}the categories, the prior and the mechanism"
    if found.n is None:
        return f"{context}; not exactly how many {units} there are"
    sizes = f" and how many there are in each group by {space.relation.columns}" if space.relation.within else ""
    also = "" if found.guarantee.period is None else f", as every {found.guarantee.period.every}'s n is"
    return f"n = {found.n:,} {units}{also}{sizes}, {context}"


def _size_line(found: "Release", figures: CellFigures, mass: float) -> Lines:
    """Return how many records there may be, if that is private."""
    if figures.size is None:
        return []
    mean, low, high = figures.size
    estimate = f"about {mean:,.0f}, between {low:,} and {high:,} with probability {100.0 * mass:g} % or more"
    return [(f"{found.guarantee.unit.title()}s", f"estimated from the noisy counts: {estimate}")]


_MOST_SHOWN = 10
"""Categories of a dataset that is written out."""
_SHOWN_AS_ZERO = 5e-4
"""A part of ε that is printed as 0.0 %."""


def verification_lines(subject: "Mechanism | Release", result: "Verification") -> Lines:
    from discreet.analysis.privacy import mechanism_of

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


_LISTED_LABELS = 6
"""Labels that a line lists before it is cut."""
_LONGEST_VALUE = 60
"""Longer values are shortened."""


def about_lines(found: "Release", hint: str = "") -> Lines:
    """Return a record's words about itself, each after its name; `hint` is put after the words about rows that are records."""
    from discreet.record.about import PUBLIC_WORDS

    if found.about is None:
        return []
    lines = [(word, str(text)) for name, word in PUBLIC_WORDS.items() if (text := getattr(found.about, name)) is not None]
    counted = counted_words(found, hint)
    return [*lines, *([] if counted is None else [("Counted", counted)])]


def about_fields(found: "Release") -> dict[str, Any] | None:
    """Return the words of a record as `show --json` has them."""
    from discreet.record.json import written_about

    return None if found.about is None else written_about(found.about)


def counted_words(found: "Release", hint: str = "") -> str | None:
    """Return the words about how records were counted; None if the record does not say it."""
    rule = None if found.about is None else found.about.counting
    if rule is None or isinstance(rule, str):
        return rule
    return "; ".join([_unit_words(found, rule, hint), *_elsewhere(rule)])


def _unit_words(found: "Release", rule: "CountingRule", hint: str) -> str:
    """Describe the unit of those counted."""
    if rule.weight is not None:
        return f"each row as many times as {rule.weight!r} says: a record is one unit of its weight"
    if rule.one_row_per_person:
        return "every row as another person, which was declared and not checked: a person with several rows is protected less"
    if rule.privacy_id is None:
        return f"every row is a record; a person with several rows is protected less{hint}"
    where = "in the first declared group that any of their rows has, and there " if found.by.columns else ""
    once = f"each person once, {where}in the first of {_several(found.prior.categories)} that any of their rows says"
    if found.n is None:
        return f"{once}; the exact number of persons is not published"
    unread = ", of rows without one and of rows that cannot be read" if rule.strict else ""
    where = " in every group" if found.mechanism.space.relation.within else ""
    return f"{once}; n is the number of distinct {rule.privacy_id!r}{unread}{where}, and published"


def _elsewhere(rule: "CountingRule") -> list[str]:
    """Describe where answers went that have no category or group of their own: a misspelt label would vanish there."""
    from discreet.record.about import SPELLING_RULES

    taken = {"missing": rule.nulls, "undeclared": rule.other}
    words = [SPELLING_RULES[name] for name in rule.spelling]
    words += ["curator's corrections of spellings allowed"] if rule.corrections else []
    words += [f"{kind} answers as {shown(category)!r}" for kind, category in taken.items() if category is not None]
    if rule.na_values:
        words.append(f"{_several(rule.na_values, quoted=True)} as missing")
    mapped: dict[Hashable, list[Hashable]] = {}
    for value, category in rule.mapping:
        mapped.setdefault(category, []).append(value)
    words += [f"{_several(values, quoted=True)} as {shown(category)!r}" for category, values in list(mapped.items())[:_LISTED_LABELS]]
    if len(mapped) > _LISTED_LABELS:
        words.append(f"other words for {more(len(mapped) - _LISTED_LABELS, 'category', 'categories')}")
    return words + [f"undeclared and missing {shown(column)} as {shown(group)!r}" for column, group in rule.other_groups]


def _quoted(label: Hashable) -> str:
    """A value of the data in quotes, with all its blanks: they make it another value."""
    text = str(label) if isinstance(label, str) else shown(label)
    return f"'{plain(text)}'" if len(text) <= _LONGEST_VALUE else repr(shown(label))


def _several(labels: Iterable[Hashable], *, quoted: bool = False) -> str:
    """Labels in a row, the first few if they are many."""
    every = list(labels)
    listed = [_quoted(label) if quoted else shown(label) for label in every[:_LISTED_LABELS]]
    return ", ".join(listed) + (", ..." if len(every) > _LISTED_LABELS else "")
