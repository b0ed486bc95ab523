"""`discreet contrast`: how one probability differs from another, from public records alone; and all groups against one, for `show`."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from discreet import limits
from discreet.commands.files import check_different, read_record
from discreet.commands.options import (
    JsonOption,
    Lines,
    ReaderPriorOption,
    SlowOption,
    cell,
    errors_in_one_line,
    notice,
    parse_list,
    parse_mass,
    parse_reader_prior,
    print_json,
    print_lines,
    print_table,
)
from discreet.commands.progress import progress_bar
from discreet.commands.record import MASS, check_pairs, prior_lines, promise_lines
from discreet.errors import InvalidInputError
from discreet.text import evenly, listed, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.inference.contrasts import Contrast, Quantity
    from discreet.inference.noise_aware import NoiseAware
    from discreet.inference.tables.contrasts import ContrastSummary
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release
    from discreet.record.table_release import TableRelease

_SURE = 1e-4
"""Probabilities nearer to 0 or 1 are shown as that."""
QUANTITIES = ("difference", "ratio", "odds_ratio")


def contrast(
    record: Annotated[
        str,
        typer.Argument(
            help="The file of a release (JSON, Parquet, or a page of discreet report), or - for standard input.", show_default=False
        ),
    ],
    first: Annotated[
        str,
        typer.Argument(
            help="A group, such as north,f; in a record without groups, a category; or the file of a second release.", show_default=False
        ),
    ],
    second: Annotated[str | None, typer.Argument(help="What it is compared with; left out for two releases.", show_default=False)] = None,
    category: Annotated[
        str | None, typer.Argument(help="The category whose probability is compared in two groups.", show_default=False)
    ] = None,
    category_option: Annotated[
        str | None, typer.Option("--category", "-c", help="The same; the only way to name it where two releases are compared.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Where two tables are compared: the group of both, such as north,f.")] = None,
    mass: Annotated[str, typer.Option(help="How much probability an interval holds, between 0 and 1, or such as 90%.")] = str(MASS),
    prior: ReaderPriorOption = None,
    slow: SlowOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two groups of a table, two categories, or two releases: difference, ratio and odds ratio, noise allowed for.

    Two releases must be about different records, such as those of two years: what is known of either is then independent of the other.

    Examples: discreet contrast table.json north,f north,m current, or discreet contrast posterior.json never current, or
    discreet contrast 2024.json 2025.json --category current
    """
    with errors_in_one_line():
        level, chosen = parse_mass(mass), _category(category, category_option)
        if second is None:
            _contrast_records((record, first), chosen, group, prior, level, slow=slow, as_json=as_json)
            return
        if group is not None:
            raise InvalidInputError("--group is for two releases: two groups of one are named as in RECORD GROUP GROUP CATEGORY")
        found = read_record(record)
        reader = parse_reader_prior(prior, found)
        if not slow:
            check_pairs([found], "discreet contrast ... --slow")
        compared = _contrast(found, first, second, chosen, reader)
        if as_json:
            print_json(_fields(compared, chosen, level))
        else:
            _print(compared, chosen, level, [*prior_lines(reader), *promise_lines(found, computed=False)])


def _category(argument: str | None, option: str | None) -> str | None:
    if argument is not None and option is not None:
        raise InvalidInputError("the category is named twice, as an argument and with --category: leave one out")
    return option if argument is None else argument


def _contrast(found: "Release", first: str, second: str, category: str | None, reader: "Dirichlet | None") -> "Contrast":
    from discreet.record.table_release import TableRelease

    if isinstance(found, TableRelease):
        if category is None:
            columns = ",".join(found.cells.groups.columns)
            raise InvalidInputError(
                f"this record has groups by {columns}: name two of them and a category, as in RECORD GROUP GROUP CATEGORY"
            )
        return found.noise_aware(reader).contrast(group_key(first, "the first group"), group_key(second, "the second group"), category)
    if category is not None:
        raise InvalidInputError("this record has no groups: name two of its categories and nothing more")
    with progress_bar() as tell:
        return found.noise_aware(reader, progress=tell).contrast(first, second)


def group_key(text: str, what: str) -> Hashable:
    labels = parse_list(text, what)
    return labels[0] if len(labels) == 1 else tuple(labels)


def _print(compared: "Contrast", category: str | None, mass: float, lines: Lines) -> None:
    names = [named(name) for name in compared.names]
    table = Table(title=cell(f"{'' if category is None else f'{category}: '}{names[0]} against {names[1]}"))
    for heading in ("contrast", "median", f"{100.0 * mass:g} % interval,\nnoise allowed for"):
        table.add_column(heading, justify="left" if heading == "contrast" else "right", no_wrap=True)
    for name in QUANTITIES:
        quantity: Quantity = getattr(compared, name)
        table.add_row(quantity.name, *evenly([(quantity.median(), *quantity.interval(mass))])[0])
    print_table(table)
    larger = f"{names[0]} has the larger probability with probability {chance(compared.probability)}"
    print_lines([("Larger", larger), *lines])


def _fields(compared: "Contrast", category: str | None, mass: float) -> dict[str, Any]:
    return {
        **dict(zip(("first", "second"), map(_written, compared.names), strict=True)),
        "category": category,
        "mass": mass,
        "probability": compared.probability,
        "error": compared.error,
        **{name: _quantity_fields(getattr(compared, name), mass) for name in QUANTITIES},
    }


def _quantity_fields(quantity: "Quantity", mass: float) -> dict[str, float]:
    low, high = quantity.interval(mass)
    return {"mean": quantity.mean(), "sd": quantity.std(), "median": quantity.median(), "low": low, "high": high}


def named(name: Hashable) -> str:
    """A group or a category in words."""
    return ",".join(map(plain, name)) if isinstance(name, tuple) else plain(name)


def _written(name: Hashable) -> Any:
    """A group or a category in JSON."""
    from discreet.record.json import written_label

    return [written_label(part) for part in name] if isinstance(name, tuple) else written_label(name)


def chance(value: float) -> str:
    """A probability, which is never shown as 0 or 1."""
    if not _SURE <= value <= 1.0 - _SURE:
        return f"below {_SURE:g}" if value < 0.5 else f"above {1.0 - _SURE:g}"
    return f"{value:.4f}"


# --- two releases -----------------------------------------------------------------------------------------------------


def _contrast_records(
    paths: tuple[str, str], category: str | None, group: str | None, prior: str | None, mass: float, *, slow: bool, as_json: bool
) -> None:
    """One category in two releases about different records, whose posteriors are independent."""
    from discreet.inference.contrasts import independent_contrast
    from discreet.inference.several.combine import drawn_alike

    if category is None:
        raise InvalidInputError(
            "say what to compare: RECORD GROUP GROUP CATEGORY, RECORD CATEGORY CATEGORY, or RECORD RECORD --category CATEGORY"
        )
    check_different(paths, "a release does not differ from itself")
    found = [read_record(path) for path in paths]
    if drawn_alike(*found):
        notice("both records have the same mechanism and the same outcome; if they are copies of one draw, they are not two groups")
    readers = [parse_reader_prior(prior, one) for one in found]
    if not slow:
        check_pairs(found, "discreet contrast ... --slow")
    if group is not None and all(one.mechanism.space.groups is None for one in found):
        raise InvalidInputError("--group is for tables, and these records have no groups")
    names = (Path(paths[0]).name, Path(paths[1]).name)
    names = paths if names[0] == names[1] else names
    posteriors = [_posterior(one, reader, group) for one, reader in zip(found, readers, strict=True)]
    compared = independent_contrast(
        *(posterior.marginal(category) for posterior in posteriors),
        names=names,
        priors=(_parameters(posteriors[0], category), _parameters(posteriors[1], category)),
    )
    if as_json:
        print_json({**_fields(compared, category, mass), "group": None if group is None else parse_list(group, "--group")})
        return
    taken = ("Taken to be", "about different records; two releases about the same records are not compared like this")
    promises = [("Promise", f"{name}: {promise_lines(one, computed=False)[0][1]}") for name, one in zip(names, found, strict=True)]
    title = category if group is None else f"{category} in {group}"
    _print(compared, title, mass, [taken, *prior_lines(readers[0]), *promises])


def _posterior(found: "Release", reader: "Dirichlet | None", group: str | None) -> "NoiseAware":
    """The posterior of a release, or of one group of a table."""
    from discreet.record.table_release import TableRelease

    if isinstance(found, TableRelease):
        if group is None:
            raise InvalidInputError(f"a record has groups by {listed(found.cells.groups.columns)}: name one of them with --group")
        return found.noise_aware(reader)[group_key(group, "--group")]
    with progress_bar() as tell:
        return found.noise_aware(reader, progress=tell)


def _parameters(posterior: "NoiseAware", category: str) -> tuple[float, float]:
    """The prior parameters of a category, and of all others together."""
    from discreet.validation import category_index

    own = posterior.prior.exact[category_index(posterior.prior.categories, category)]
    return float(own), float(posterior.prior.exact_total - own)


# --- all groups against one -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """The groups of a record against one of them, in one category."""

    release: "TableRelease"
    reference: Hashable
    category: Hashable
    mass: float
    rows: "list[ContrastSummary]"

    def laid_out(self) -> Table:
        """A row a group: difference and odds ratio with intervals, and the probability that the category is more likely there."""
        table = Table(title=cell(f"{plain(self.category)}: every group against {named(self.reference)}"))
        for name in self.release.cells.groups.columns:
            table.add_column(cell(name))
        interval = f"{100.0 * self.mass:g} % interval,\nnoise allowed for"
        for heading in ("difference", interval, "odds\nratio", interval, "probability of\nbeing larger"):
            table.add_column(heading, justify="right", no_wrap=True)
        columns = evenly([row.difference for row in self.rows]), evenly([row.odds_ratio for row in self.rows])
        for row, difference, odds_ratio in zip(self.rows, *columns, strict=True):
            key = row.group if isinstance(row.group, tuple) else (row.group,)
            table.add_row(*map(cell, (*key, *difference, *odds_ratio, chance(row.probability))))
        return table

    def fields(self) -> dict[str, Any]:
        """The same as `show --json` says it."""
        rows = [
            {
                "group": _written(row.group),
                **{name: dict(zip(("median", "low", "high"), getattr(row, name), strict=True)) for name in ("difference", "odds_ratio")},
                "probability": row.probability,
            }
            for row in self.rows
        ]
        return {"reference": _written(self.reference), "category": _written(self.category), "mass": self.mass, "contrasts": rows}

    def draw_on(self, figure: "Figure") -> None:
        """A forest plot."""
        from discreet.plotting import draw_contrasts

        draw_contrasts(self.release, figure, self.rows, self.mass, reference=self.reference, category=self.category)


def compared_with(
    found: "Release", reference: str, category: str, mass: float, reader: "Dirichlet | None" = None, *, quiet: bool
) -> Compared:
    """Every group of a record, up to some hundred, against a reference group; `quiet` draws no progress bar."""
    from discreet.inference.tables.contrasts import comparable, summarised
    from discreet.record.table_release import TableRelease
    from discreet.validation import category_index

    if not isinstance(found, TableRelease):
        raise InvalidInputError("--reference is for a record with groups; discreet contrast RECORD CATEGORY CATEGORY compares categories")
    posterior, key = found.noise_aware(reader), group_key(reference, "--reference")
    chosen = islice(posterior.contrasts(key, category), limits.GROUPS_COMPARED)
    others = len(comparable(posterior, category)) - 1
    with progress_bar(not quiet) as tell:
        rows = summarised(_told(chosen, min(others, limits.GROUPS_COMPARED), tell), mass)
    left_out = others - len(rows)
    if left_out:
        notice(f"{left_out:,} more groups are not compared here: contrasts() of the posterior compares all")
    cells = found.cells
    return Compared(found, cells.groups[cells.groups.index(key)], cells.categories[category_index(cells.categories, category)], mass, rows)


def _told(contrasts: "Iterator[tuple[Hashable, Contrast]]", total: int, tell: "Callable[[int, int, str], None] | None") -> Iterator[Any]:
    """The same contrasts, with a word to the progress bar before each."""
    for done, one in enumerate(contrasts):
        if tell is not None:
            tell(done, total, "comparing groups")
        yield one
