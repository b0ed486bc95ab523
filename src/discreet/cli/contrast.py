"""`discreet contrast` and `discreet combine`: two probabilities compared, and what several public records say together."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet import limits
from discreet.cli.questions import asks
from discreet.errors import DiscreetError, InvalidInputError, TooLargeError
from discreet.present.contrasts import QUANTITIES, larger_words, named, quantity_words, written_name
from discreet.present.figures import MOST_ROWS, check_pairs
from discreet.present.how_read import whose
from discreet.present.record import guarantee_fields, prior_lines, promise_lines
from discreet.present.terminal import (
    Lines,
    interval_heading,
    notice,
    print_json,
    print_lines,
    print_table,
    progress_bar,
    table_of,
    warnings_as_notices,
)
from discreet.requests.parsing import check_different, group_key, parse_list, parse_reader_prior, read_record
from discreet.requests.records import PERHAPS_ONE, TAKEN, CombineRequest, ContrastRequest, contrast_of_records
from discreet.text import in_percent, listed

if TYPE_CHECKING:
    from discreet.inference.noise_aware import NoiseAware
    from discreet.inference.quantities import Contrast, Quantity
    from discreet.inference.several.tables import CombinedTable
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release


@asks(ContrastRequest)
def contrast(asked: ContrastRequest) -> None:
    """Compare two groups of a table, two categories, or two releases: difference, ratio and odds ratio, noise allowed for.

    Two releases must be about different records, such as those of two years: what is known of either is then independent of the other.

    With --over groups are put together first, and named by the columns that are left.

    Examples: discreet contrast table.json north,f north,m current, or discreet contrast table.json f m current --over region, or
    discreet contrast posterior.json never current, or discreet contrast 2024.json 2025.json --category current
    """
    if asked.category is not None and asked.category_option is not None:
        raise InvalidInputError("the category is named twice, as an argument and with --category: leave one out")
    chosen = asked.category_option if asked.category is None else asked.category
    if asked.second is None:
        if asked.over:
            raise InvalidInputError("--over puts groups of one record together: for two releases leave it out")
        _contrast_records(asked, chosen)
        return
    if asked.group is not None:
        raise InvalidInputError("--group is for two releases: two groups of one are named as in RECORD GROUP GROUP CATEGORY")
    found = read_record(asked.record)
    reader = parse_reader_prior(asked.prior, found)
    if not asked.slow:
        check_pairs([found], "discreet contrast ... --slow")
    margins = asked.margins(found)
    compared = _contrast(found, asked, chosen, reader)
    if asked.as_json:
        together = {} if margins is None else {"over": list(margins.over), "weights": margins.weights}
        print_json({**_fields(compared, chosen, asked.mass), "shares_of": asked.about, **together})
    else:
        words = "" if margins is None else f"; {margins.words}"
        lines = [("Shares", f"{whose(found, asked.about)}{words}"), *prior_lines(reader), *promise_lines(found, computed=False)]
        _print(compared, chosen, asked.mass, lines)


def _contrast(found: "Release", asked: ContrastRequest, category: str | None, reader: "Dirichlet | None") -> "Contrast":
    first, second, of_records = asked.first, asked.second or "", asked.about == "records"
    if found.by.columns:
        margins = asked.margins(found)
        if category is None:
            columns = ",".join(found.by.columns if margins is None else margins.kept)
            raise InvalidInputError(
                f"this record has groups by {columns}: name two of them and a category, as in RECORD GROUP GROUP CATEGORY"
            )
        table = found.noise_aware(reader)
        groups = group_key(first, "the first group"), group_key(second, "the second group")
        if margins is not None:
            return margins.contrast(table, *groups, category)
        compared: Contrast = (table.records if of_records else table).contrast(*groups, category)
        return compared
    if category is not None:
        raise InvalidInputError("this record has no groups: name two of its categories and nothing more")
    with progress_bar() as tell:
        posterior = found.noise_aware(reader, progress=tell)
        compared = (posterior.records if of_records else posterior).contrast(first, second)
        return compared  # noqa: RET504 - of a known type


def _print(compared: "Contrast", category: str | None, mass: float, lines: Lines) -> None:
    names = [named(name) for name in compared.names]
    title = f"{'' if category is None else f'{category}: '}{names[0]} against {names[1]}"
    rows = [quantity_words(getattr(compared, name), mass) for name in QUANTITIES]
    print_table(table_of(title, ["contrast"], ("median", interval_heading(mass)), rows))
    print_lines([("Larger", larger_words(compared)), *([("Given", compared.given)] if compared.given else []), *lines])


def _fields(compared: "Contrast", category: str | None, mass: float) -> dict[str, Any]:
    return {
        **dict(zip(("first", "second"), map(written_name, compared.names), strict=True)),
        "category": category,
        "mass": mass,
        "probability": compared.probability,
        **compared.more,
        "error": compared.error,
        **{name: _quantity_fields(getattr(compared, name), mass) for name in QUANTITIES},
    }


def _quantity_fields(quantity: "Quantity", mass: float) -> dict[str, float | None]:
    low, high = quantity.interval(mass)
    return {"mean": _known(quantity.mean), "sd": _known(quantity.std), "median": quantity.median(), "low": low, "high": high}


def _known(moment: Callable[[], float]) -> float | None:
    """A mean or a standard deviation; None where draws do not tell whether it is finite."""
    try:
        return moment()
    except DiscreetError:
        return None


# --- two releases -----------------------------------------------------------------------------------------------------


def _contrast_records(asked: ContrastRequest, category: str | None) -> None:
    """Contrast one category of two releases about different records, whose posteriors are independent."""
    from discreet.inference.several.combine import drawn_alike

    if category is None:
        raise InvalidInputError(
            "say what to compare: RECORD GROUP GROUP CATEGORY, RECORD CATEGORY CATEGORY, or RECORD RECORD --category CATEGORY"
        )
    paths, group = (asked.record, asked.first), asked.group
    check_different(paths, "a release does not differ from itself")
    found = [read_record(path) for path in paths]
    if drawn_alike(*found):
        notice(PERHAPS_ONE)
    readers = [parse_reader_prior(asked.prior, one) for one in found]
    if not asked.slow:
        check_pairs(found, "discreet contrast ... --slow")
    names = (Path(paths[0]).name, Path(paths[1]).name)
    names = paths if names[0] == names[1] else names
    key = None if group is None else group_key(group, "--group")
    with progress_bar() as tell:

        def read(one: "Release") -> Any:
            return one.noise_aware(parse_reader_prior(asked.prior, one), progress=tell)

        compared = contrast_of_records(found, read, names, category, key, of_records=asked.about == "records")
    if asked.as_json:
        within = None if group is None else parse_list(group, "--group")
        print_json({**_fields(compared, category, asked.mass), "shares_of": asked.about, "group": within})
        return
    promises = [("Promise", f"{name}: {promise_lines(one, computed=False)[0][1]}") for name, one in zip(names, found, strict=True)]
    title = category if group is None else f"{category} in {group}"
    shares = [("Shares", f"{name}: {whose(one, asked.about)}") for name, one in zip(names, found, strict=True)]
    _print(compared, title, asked.mass, [("Taken to be", TAKEN), *shares, *prior_lines(readers[0]), *promises])


# --- several records together -----------------------------------------------------------------------------------------


@asks(CombineRequest)
def combine(asked: CombineRequest) -> None:
    """Show what several releases say together, from their public records alone: means, and intervals that allow for the noise.

    Examples: discreet combine january.json june.json --same-data, or discreet combine 2024.json 2025.json --new-data --mass 0.9
    """
    if asked.same_data is None:
        raise InvalidInputError("say --same-data if the releases are about the same records, or --new-data if each is about its own")
    check_different(asked.records, "it is one draw, and would count as two")
    found = [read_record(record) for record in asked.records]
    from discreet.inference.several.combine import combine as combined

    given = parse_reader_prior(asked.prior, found[0])
    if not asked.slow:
        check_pairs(found, "discreet combine ... --slow")
    with warnings_as_notices(), progress_bar() as tell:
        posterior: NoiseAware | CombinedTable = combined(found, same_data=asked.same_data, prior=given, rng=asked.seed, progress=tell)
    rows, error = _rows(posterior, asked.mass)
    if asked.as_json:
        print_json(_combined_fields(found, asked.same_data, asked.mass, rows, error))
    else:
        print_table(_laid_out(rows, asked.mass))
        print_lines(_combined_lines(found, asked.same_data, posterior, error, asked.mass))


def _rows(posterior: "NoiseAware | CombinedTable", mass: float) -> tuple[list[tuple[tuple[Any, ...], float, float, float]], float | None]:
    """Labels, mean and interval of every category, of every group of a table; and the largest Monte Carlo error of a mean, if any."""
    from discreet.inference.noise_aware import NoiseAware

    groups: list[tuple[tuple[Any, ...], NoiseAware]] = [((), posterior)] if isinstance(posterior, NoiseAware) else []
    if not isinstance(posterior, NoiseAware):
        if len(posterior) > limits.GROUPS_COMPARED:
            raise TooLargeError(
                f"{len(posterior):,} groups are too many to be shown here, up to {limits.GROUPS_COMPARED} are: use dc.combine"
            )
        possible = posterior.cells.possible.sum(axis=1)
        groups = [(posterior.by.key(i), posterior[group]) for i, group in enumerate(posterior) if possible[i] > 1]
    rows, errors = [], []
    for key, one in groups:
        shares = zip(one.categories, one.mean(), one.interval(mass), strict=True)
        rows += [((*key, category), float(mean), float(low), float(high)) for category, mean, (low, high) in shares]
        errors += [_error(one)]
    known = [error for error in errors if error is not None]
    return rows, max(known) if known else None


def _error(posterior: "NoiseAware") -> float | None:
    """The largest Monte Carlo error of a mean, where the posterior is known by draws."""
    from discreet.inference.several.chains import CombinedDraws

    return float(posterior.mean_error().max()) if isinstance(posterior, CombinedDraws) else None


def _combined_fields(found: "Sequence[Release]", same_data: bool, mass: float, rows: Sequence[Any], error: float | None) -> dict[str, Any]:
    from discreet.record.json import written_label

    return {
        "same_data": same_data,
        "releases": [{"mechanism": r.mechanism.title, "n": r.n, "guarantee": guarantee_fields(r.guarantee)} for r in found],
        "mass": mass,
        "monte_carlo_error": error,
        "categories": [
            {"group": [written_label(label) for label in labels[:-1]], "category": written_label(labels[-1])}
            | {"mean": mean, "low": low, "high": high}
            for labels, mean, low, high in rows
        ],
    }


def _laid_out(rows: Sequence[Any], mass: float) -> Table:
    shown = rows[:MOST_ROWS]
    words = zip(shown, in_percent([row[1:] for row in shown]), strict=True)
    texts = [*("group" for _ in rows[0][0][:-1]), "category"]
    table = table_of("Combined posterior", texts, ("mean", interval_heading(mass)), ((*row[0], *numbers) for row, numbers in words))
    if len(rows) > MOST_ROWS:
        table.add_row(f"{len(rows) - MOST_ROWS:,} more: --json")
    return table


def _combined_lines(
    found: "Sequence[Release]", same_data: bool, posterior: "NoiseAware | CombinedTable", error: float | None, mass: float
) -> Lines:
    from discreet.inference.noise_aware import NoiseAware

    about = "the same records" if same_data else "records of their own, with the same probabilities"
    lines = [("Releases", f"{len(found)}, taken to be about {about}")]
    if isinstance(posterior, NoiseAware) and posterior.n is None:
        low, high = posterior.size.interval(mass)
        words = f"about {posterior.size.mean():,.0f}, between {low:,} and {high:,} with probability {100.0 * mass:g} % or more"
        lines.append((f"{found[0].guarantee.unit.title()}s", f"in all, estimated from the noisy counts: {words}"))
    exact = "the exact posterior" if error is None else f"from draws: the Monte Carlo error of a mean is at most {error:.1g}"
    promises = listed([release.guarantee.level if release.guarantee.basis != "none" else "none" for release in found])
    together = "together they give away what these add up to by composition" if same_data else "each is about its own records"
    return [*lines, ("Computed", exact), ("Promises", f"{promises}; {together}. Reading them spends nothing")]
