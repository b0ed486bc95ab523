"""`discreet report`: a page for people, with the record inside."""

from typing import TYPE_CHECKING

import typer

from discreet.cli.output_files import check_place, tell_name, write_new
from discreet.cli.questions import asks
from discreet.errors import InvalidInputError
from discreet.present.terminal import notice
from discreet.requests.parsing import parse_reader_prior
from discreet.requests.record_files import STANDARD_INPUT, read_record
from discreet.requests.records import ReportRequest
from discreet.text import plain

if TYPE_CHECKING:
    from discreet.model.dirichlet import Dirichlet


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
    from discreet.present.how_read import HowRead
    from discreet.present.page import page_content, page_json
    from discreet.present.page_rows import shares_of

    text = page_json(found)
    shares = shares_of(found, HowRead(asked.mass, asked.slow, reader, asked.about))
    if shares.reason is not None:
        _tell_reason(shares.reason, reader)
    words = asked.shell_words("output")
    written = write_new(output, page_content(found, shares, text, output.name, [] if words is None else words[1]))
    tell_name(written, output)
    typer.echo(f"wrote {plain(written)}: the page, and in it the record")


def _tell_reason(reason: str, reader: "Dirichlet | None") -> None:
    """Say that there are no intervals that allow for the noise, and refuse if they were to be by the reader's own prior."""
    if reader is not None:
        raise InvalidInputError(f"--prior needs a posterior that allows for the noise, and here is none: {reason}")
    notice(f"the page has no intervals that allow for the noise: {reason}")
