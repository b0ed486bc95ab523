"""`discreet combine`: what several public records say together, noise allowed for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet import limits
from discreet.cli.questions import asks
from discreet.errors import InvalidInputError, TooLargeError
from discreet.present.figures import MOST_ROWS, check_pairs
from discreet.present.progress import progress_bar
from discreet.present.record import guarantee_fields
from discreet.present.terminal import Lines, interval_heading, print_json, print_lines, print_table, table_of, warnings_as_notices
from discreet.requests.parsing import parse_reader_prior
from discreet.requests.record_files import check_different, read_record
from discreet.requests.records import CombineRequest
from discreet.text import in_percent, listed

if TYPE_CHECKING:
    from discreet.inference.noise_aware import NoiseAware
    from discreet.inference.several.tables import CombinedTable
    from discreet.record.release import Release


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
        print_json(_fields(found, asked.same_data, asked.mass, rows, error))
    else:
        print_table(_laid_out(rows, asked.mass))
        print_lines(_lines(found, asked.same_data, posterior, error, asked.mass))


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


def _fields(found: "Sequence[Release]", same_data: bool, mass: float, rows: Sequence[Any], error: float | None) -> dict[str, Any]:
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


def _lines(found: "Sequence[Release]", same_data: bool, posterior: "NoiseAware | CombinedTable", error: float | None, mass: float) -> Lines:
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
