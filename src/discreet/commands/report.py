"""`discreet report`: a page for people, with the record inside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.commands.files import STANDARD_INPUT, check_place, read_record, tell_name, write_new
from discreet.commands.options import errors_in_one_line, notice, parse_mass
from discreet.commands.record import MASS
from discreet.errors import InvalidInputError

if TYPE_CHECKING:
    from discreet.record.release import Release

_PAGES = (".html", ".htm")


def report(
    record: Annotated[str, typer.Argument(help="The file of a release, or - for standard input.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the page to this new HTML file.", show_default=False)],
    mass: Annotated[str, typer.Option(help="How much probability an interval holds, between 0 and 1.")] = str(MASS),
    slow: Annotated[bool, typer.Option("--slow", help="Compute intervals also where that takes minutes: many categories.")] = False,
) -> None:
    """Write one HTML page about a release: what was asked, what is promised, the figure, the numbers, and how to check them.

    The page needs no other file and asks no server for anything. It holds the record: show, verify, contrast and report read the page
    as they read a record.

    Example: discreet report posterior.json --output posterior.html
    """
    with errors_in_one_line():
        level = parse_mass(mass)
        if output.suffix.lower() not in _PAGES:
            raise InvalidInputError(f"--output must end in .html, got {output.name}")
        taken = {"the record": None if record == STANDARD_INPUT else record}
        check_place(output, "--output", taken, why="a page may hold the only copy of a record")
        found = read_record(record)
        text = page_json(found)
        from discreet.commands.page import page
        from discreet.commands.page_rows import shares_of

        shares = shares_of(found, level, slow=slow)
        if shares.reason is not None:
            notice(f"the page has no intervals that allow for the noise: {shares.reason}")
        tell_name(write_new(output, page(found, shares, text, output.name).encode()), output)


def page_json(found: "Release") -> str:
    """The record as a page can hold it."""
    try:
        return found.to_json()
    except InvalidInputError:
        from discreet import limits

        raise InvalidInputError(
            f"a page holds its record as JSON, and so a table of at most {limits.RECORD_CELLS:,} cells without very long labels; this one "
            "is larger: publish the Parquet file, which discreet show reads"
        ) from None
