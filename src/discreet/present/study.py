"""A study in words: what its release will publish, how wide its intervals will be, and the page of its tables."""

from collections.abc import Collection, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from discreet.present.how_read import HowRead
from discreet.present.html import Html, element, isolated, joined
from discreet.present.page import answered, document
from discreet.present.page_rows import shares_of
from discreet.present.page_words import counting, hidden, meaning, odds_factor, promise
from discreet.present.record import about_lines, promise_lines
from discreet.present.terminal import Lines, print_lines, print_table, table_of
from discreet.text import counted, plain, shown

if TYPE_CHECKING:
    from discreet.planning.table_widths import StudyPlan
    from discreet.record.release import Release

ALONE = "Each table is read alone: what several tables say together about the same people is not used."


def print_dry_run(records: "Mapping[str, Release]", charge: str | None) -> None:
    """Everything that a release will publish but its noisy counts; the records are no draws."""
    typer.echo("Nothing is charged or drawn. A release publishes, beside the noisy counts:")
    for name, found in records.items():
        typer.echo(f"\n{plain(name)}.json")
        print_lines([*_declared(found), *about_lines(found), *promise_lines(found, computed=True)])
    typer.echo("\nstudy.json lists the tables with their parts of ε, and has the title and a digest of what the study declares.")
    print_lines([("Charge", "no ledger was named" if charge is None else charge)])


def _declared(found: "Release") -> Lines:
    """The declared categories and groups, all of them, and the prior."""
    named = zip(found.by.columns, found.by.labels, strict=True)
    return [
        ("Categories", ", ".join(map(shown, found.prior.categories))),
        *((f"By {plain(column)}", ", ".join(map(shown, labels))) for column, labels in named),
        ("Prior", f"Dirichlet({', '.join(map(str, found.prior.exact))})"),
    ]


def print_study(folder: str, title: str | None, records: "Mapping[str, Release]") -> None:
    """The tables of a published study, and what can be typed next."""
    rows = []
    for name, found in records.items():
        groups, n = f"{len(found.by):,}" if found.by.columns else "", "private" if found.n is None else f"{found.n:,}"
        what = "" if found.about is None or found.about.variable is None else found.about.variable
        rows.append((f"{name}.json", what, found.prior.k, groups, n, "" if (epsilon := _promised(found)) is None else f"{epsilon:.4g}"))
    print_table(table_of(title, ("record", "what"), ("categories", "groups", "n", "ε"), rows))
    first = quote(str(Path(folder, f"{next(iter(records))}.json")))
    print_lines(
        [
            ("One table", f"discreet show {first}, and contrast, verify and report of the same"),
            ("All tables", f"discreet report {quote(folder)} --output study.html"),
        ]
    )


def _promised(release: "Release") -> float | None:
    """The ε that a record promises, or None where it promises nothing."""
    return None if release.guarantee.basis == "none" else float(release.mechanism.epsilon)


def study_fields(title: str | None, records: "Mapping[str, Release]") -> dict[str, Any]:
    """Return the answer as plain values."""
    tables = {
        name: {"categories": list(found.prior.categories), "n": found.mechanism.space.n, "epsilon": _promised(found)}
        for name, found in records.items()
    }
    return {"title": title, "tables": tables}


def plan_cells(plan: "StudyPlan") -> tuple[str, list[str], list[list[str]]]:
    """The caption, the headings and the rows of a study's plan, what matters most first; the even split widens all tables alike."""
    heads = ["table", "records /\ngroups", "ε", "width,\npoints", "times\nas wide", "even split:\nε", "times\nas wide", "without\nprivacy"]
    rows = []
    for own, other in zip(plan.declared, plan.even, strict=True):
        records = f"{own.records:,}" + (f" / {own.groups:,}" if own.groups > 1 else "")
        by_own, by_even = ((f"{float(one.epsilon):.3g}", f"{one.price:.2f}") for one in (own, other))
        rows.append([own.name, records, by_own[0], f"{100 * own.width:.2g}", by_own[1], *by_even, f"{100 * own.plain:.2g}"])
    return "Expected width of the 95 % intervals, and how many times as wide as without privacy", heads, rows


def print_plan(plan: "StudyPlan") -> None:
    """The expected widths of a study's tables, and three kinds of noise."""
    caption, heads, rows = plan_cells(plan)
    print_table(table_of(caption, heads[:1], heads[1:], rows))
    noise = plan.noise
    delta = f"at δ = {float(noise.delta):g}"
    kinds = (("This study", noise.pure, "at δ = 0"), ("Composed", noise.composed, delta), ("Gaussian", noise.gaussian, delta))
    less = "with a δ there would be less noise: DiscreteGaussian releases tables one by one from a budget with a filter"
    print_lines(
        [
            ("Groups", "taken to be equally large; the smaller a group is, the wider are its intervals"),
            ("Even split", "weights in proportion to its ε; choosing by this table is public, because no data were looked at"),
            ("Noise", f"that of a count, {counted(noise.tables, 'table')} with equal parts of ε = {float(noise.epsilon):g}"),
            *((name, f"standard deviation {size:.3g} {where}") for name, size, where in kinds),
            *([] if noise.least == "pure" else [("Less", less)]),
        ]
    )


def plan_fields(plan: "StudyPlan") -> dict[str, Any]:
    """Return the answer as plain values."""

    def row(one: Any) -> dict[str, Any]:
        names = ("name", "records", "groups", "width", "price")
        return {**{name: getattr(one, name) for name in names}, "epsilon": float(one.epsilon), "width_without_privacy": one.plain}

    noise = {name: float(getattr(plan.noise, name)) for name in ("epsilon", "delta", "pure", "composed", "gaussian")}
    kinds = {"tables": plan.noise.tables, **noise, "least": plan.noise.least}
    return {"declared": [row(one) for one in plan.declared], "even": [row(one) for one in plan.even], "noise": kinds}


def study_page(records: "Mapping[str, Release]", title: str | None, how: HowRead) -> bytes:
    """One page for all tables of a study, with the record of each inside."""
    return document(title or _UNTITLED, study_parts(records, title, how), [found.to_json() for found in records.values()]).encode()


_UNTITLED = "A study"


def study_parts(records: "Mapping[str, Release]", title: str | None, how: HowRead, beside: Mapping[str, Html] | None = None) -> Html:
    """The tables of a study, one below the other; `beside` has what stands below the name of each."""
    lead = (
        f"{counted(len(records), 'table')} that were released together; what they give away adds up{_together(records.values())}. {ALONE}"
    )
    kicker = element("p", "Results published with differential privacy", class_="kicker")
    top = element("header", kicker, element("h1", isolated(title or _UNTITLED)), element("p", lead, class_="lead"))
    return joined(top, *(part for name, found in records.items() for part in _part(name, found, how, (beside or {}).get(name, Html()))))


def _part(name: str, found: "Release", how: HowRead, beside: Html) -> list[Html]:
    shares = shares_of(found, how)
    return [
        element("h2", isolated(plain(name))),
        beside,
        answered(found, shares, one_table=True),
        meaning(found, shares),
        promise(found, "this table"),
        counting(found),
    ]


def _together(records: "Collection[Release]") -> str:
    """Describe the change that all tables together make for someone who guesses, if all promise such a bound about the same neighbours."""
    promises = [found.guarantee for found in records]
    if any(one.basis == "none" or one.delta for one in promises) or len({one.neighbours for one in promises}) > 1:
        return ""
    total, guess = sum(one.epsilon for one in promises), hidden(next(iter(records)))
    return f" to ε = {total:g}: reading all of them changes the odds of a guess about {guess} by a factor of at most {odds_factor(total)}"
