"""`discreet show` and `discreet report`: what a public record says, on a terminal or as a page for people."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from discreet import limits
from discreet.cli.output_files import check_place, save_picture, save_table, write_new
from discreet.cli.questions import asks
from discreet.errors import InvalidInputError
from discreet.present.contrasts import Compared
from discreet.present.exports import summary_table
from discreet.present.figures import CellFigures, CellNumbers, check_work
from discreet.present.how_read import COMMON_LAW, HowRead, common_law_fields, common_law_lines, whose
from discreet.present.record import about_lines, print_record, prior_lines, promise_lines, record_fields
from discreet.present.terminal import Lines, notice, print_json, print_lines, print_table, progress_bar
from discreet.requests.parsing import STANDARD_INPUT, group_key, parse_reader_prior, read_record
from discreet.requests.records import ReportRequest, ShowRequest
from discreet.text import more, plain

if TYPE_CHECKING:
    from discreet.inference.quantities import Contrast
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release
    from discreet.requests.records import Margins


@asks(ShowRequest)
def show(asked: ShowRequest) -> None:
    """Show a release from its public record alone: reported counts, means, intervals that allow for the noise, and what is promised.

    Of the folder of a study, it lists the tables. With --over it shows groups of a table together, and with --pooled small
    groups borrow from the others.

    Examples: discreet show posterior.json --mass 0.9, or discreet release ... | discreet show -, or
    discreet show table.json --reference north,f --category current --plot forest.png, or
    discreet show table.json --output table.xlsx --layout cross
    """
    if (asked.reference is None) != (asked.category is None):
        raise InvalidInputError("--reference and --category belong together: a group to compare the others with, and in which category")
    record, mass, slow, plot, output, as_json = asked.record, asked.mass, asked.slow, asked.plot, asked.output, asked.as_json
    taken = {"the record": None if record == STANDARD_INPUT else record}
    if plot is not None:
        check_place(plot, "--plot", taken, replaces_picture=True)
    if asked.about == "records" and (plot is not None or asked.reference is not None):
        option, instead = ("--plot", "--json has the numbers") if asked.reference is None else ("--reference", "contrast compares two")
        raise InvalidInputError(f"{option} is for shares of the population, and --about records asks for those of the records: {instead}")
    if output is None and (asked.layout != "long" or asked.only is not None):
        raise InvalidInputError("--layout and --only are about the table of --output: name its file, such as --output table.csv")
    if output is not None:
        also = taken | {"the picture": None if plot is None else str(plot)}
        check_place(output, "--output", also, why="someone may have worked in it")
        if asked.reference is not None:
            raise InvalidInputError("--output is for the summary, and --reference compares groups: leave out one of the two")
    found = read_record(record)
    reader = parse_reader_prior(asked.prior, found)
    how = HowRead(mass, slow, reader, asked.about)
    if asked.over:
        _check_alone("--over puts them together", {"--plot": plot, "--reference": asked.reference})
    if asked.pooled:
        _show_pooled(found, asked, how)
        return
    if asked.reference is not None and asked.category is not None:
        _show_contrasts(compared_with(found, asked.reference, asked.category, mass, reader, quiet=as_json), asked, reader)
        return
    margins = asked.margins(found)
    if (plot is not None or output is not None or margins is not None) and not slow:
        check_work(found)
    together = None if margins is None else margins.of(found.noise_aware(reader))
    read = None if together is None else lambda: together
    table = None if output is None else summary_table(found, how, asked.layout, asked.only, read=read)
    if margins is not None:
        _show_margins(margins, together, asked, how)
    elif as_json:
        print_json(record_fields(found, how))
    else:
        print_record(found, [("Check", _check(found, record))], how, computed=False)
    if plot is not None:
        draw = partial(found.draw_on, mass=mass, prior=reader)
        save_picture(found, plot, mass=mass, computed=False, replaces_picture=True, draw=draw)
    if output is not None and table is not None:
        save_table(table, output)


def _check_alone(other: str, given: Mapping[str, object]) -> None:
    """Refuse options that do not go together with another one, of which it is said what it does."""
    for option, value in given.items():
        if value is not None:
            raise InvalidInputError(f"{option} is about the groups as they are, and {other}: leave one of them out")


def _show_pooled(found: "Release", asked: ShowRequest, how: HowRead) -> None:
    """The shares of all groups under one common law."""
    given = {"--over": asked.over, "--plot": asked.plot, "--output": asked.output, "--reference": asked.reference, "--prior": asked.prior}
    _check_alone("--pooled reads them together", given)
    asked.margins(found)  # refuses weights without --over
    if how.of_records:
        raise InvalidInputError("--pooled is for shares of the population, and --about records asks for those of the records")
    if not found.by.columns:
        raise InvalidInputError("--pooled reads the groups of a table together, and this record has none")
    pooled = found.noise_aware().pooled()
    numbers = CellNumbers(found.cells, found.counts, CellFigures.of(pooled, how))
    shares = ("Shares", f"{whose(found, 'population')}; {COMMON_LAW}")
    known = {"pooled": common_law_fields(pooled, how.mass)}
    _show_cells(found, asked, how, numbers, known, [shares, *common_law_lines(pooled, how.mass)])


def _show_margins(margins: "Margins", together: Any, asked: ShowRequest, how: HowRead) -> None:
    """The shares of groups that are put together."""
    found, cells = margins.release, margins.cells
    numbers = CellNumbers(cells, margins.counts, CellFigures.of_margins(together, cells.shape, how))
    means = "from draws" if margins.given_weights is None else "means exactly, and the ends of intervals from draws"
    drawn = ("Computed", f"{means}, which are the same every time")
    shares = ("Shares", f"{whose(found, 'population')}; {margins.words}")
    _show_cells(found, asked, how, numbers, {"over": list(margins.over), "weights": margins.weights}, [shares, drawn])


def _show_cells(found: "Release", asked: ShowRequest, how: HowRead, numbers: CellNumbers, known: Mapping[str, Any], lines: Lines) -> None:
    """Show groups that are not read each by itself: `known` and `lines` say how they were read."""
    if asked.as_json:
        print_json({**known, "mass": how.mass, "shares_of": how.about, "cells": numbers.fields()})
    else:
        print_table(numbers.laid_out(how))
        print_lines([*about_lines(found), *lines, *prior_lines(how.reader), *promise_lines(found, computed=False)])


def _show_contrasts(compared: "Compared", asked: ShowRequest, reader: "Dirichlet | None") -> None:
    if asked.as_json:
        print_json(compared.fields())
    else:
        print_table(compared.laid_out())
        print_lines([*prior_lines(reader), *promise_lines(compared.release, computed=False)])
    if asked.plot is not None:
        save_picture(compared.release, asked.plot, mass=compared.mass, computed=False, replaces_picture=True, draw=compared.draw_on)


def _check(found: "Release", record: str) -> str:
    """Return the command that checks the promise."""
    from discreet.inference.capabilities import capabilities

    if found.mechanism._publisher is not None:
        return "discreet did not draw these counts, and cannot tell whether their publisher keeps what is promised"
    if not capabilities(found.mechanism).privacy_loss:
        return "the privacy loss of this mechanism cannot be computed at this size: the promise rests on what it says above"
    return f"discreet verify {'RECORD' if record == STANDARD_INPUT else quote(record)} computes what this mechanism gives away"


def compared_with(
    found: "Release", reference: str, category: str, mass: float, reader: "Dirichlet | None" = None, *, quiet: bool
) -> Compared:
    """Every group of a record, up to some hundred, against a reference group; `quiet` draws no progress bar."""
    from discreet.inference.tables.contrasts import comparable, summarised
    from discreet.validation import category_index

    if not found.by.columns:
        raise InvalidInputError("--reference is for a record with groups; discreet contrast RECORD CATEGORY CATEGORY compares categories")
    posterior, key = found.noise_aware(reader), group_key(reference, "--reference")
    chosen = islice(posterior.iter_contrasts(category, key), limits.GROUPS_COMPARED)
    cells = found.cells
    place = category_index(cells.categories, category)
    others = len(comparable(posterior.cells, [place])) - 1
    with progress_bar(not quiet) as tell:
        rows = summarised(_told(chosen, min(others, limits.GROUPS_COMPARED), tell), mass)
    left_out = others - len(rows)
    if left_out:
        notice(f"{more(left_out, 'group is', 'groups are')} not compared here: iter_contrasts() of the posterior compares all")
    return Compared(found, cells.groups[cells.groups.index(key)], cells.categories[place], mass, rows)


def _told(contrasts: "Iterator[tuple[Hashable, Contrast]]", total: int, tell: "Callable[[int, int, str], None] | None") -> Iterator[Any]:
    """Yield the contrasts, and tell the progress bar before each."""
    for done, one in enumerate(contrasts):
        if tell is not None:
            tell(done, total, "comparing groups")
        yield one


@asks(ReportRequest)
def report(asked: ReportRequest) -> None:
    """Write one HTML page about a release: what was asked, what is promised, the figure, the numbers, and how to check them.

    The page needs no other file and asks no server for anything. It holds the record: show, verify, contrast and report read the page
    as they read a record. With --prior the numbers are by your own prior, and the page says so; the record in it stays as it is.

    For one page of all tables of a study, give the folder of its records: discreet report published/ --output study.html.

    Examples: discreet report posterior.json --output posterior.html, or
    discreet report posterior.json --output by-our-prior.html --mass 0.9 --prior 60,20,20
    """
    output, taken = asked.output, {"the record": None if asked.record == STANDARD_INPUT else asked.record}
    check_place(output, "--output", taken, why="a page may hold the only copy of a record")
    found = read_record(asked.record)
    reader = parse_reader_prior(asked.prior, found)
    from discreet.present.page import page_content, page_json
    from discreet.present.page_rows import shares_of

    text = page_json(found)
    shares = shares_of(found, HowRead(asked.mass, asked.slow, reader, asked.about))
    if shares.reason is not None:
        _tell_reason(shares.reason, reader)
    words = asked.shell_words("output")
    written = write_new(output, page_content(found, shares, text, output.name, [] if words is None else words[1]))
    typer.echo(f"wrote {plain(written)}: the page, and in it the record")


def _tell_reason(reason: str, reader: "Dirichlet | None") -> None:
    """Say that there are no intervals that allow for the noise, and refuse if they were to be by the reader's own prior."""
    if reader is not None:
        raise InvalidInputError(f"--prior needs a posterior that allows for the noise, and here is none: {reason}")
    notice(f"the page has no intervals that allow for the noise: {reason}")
