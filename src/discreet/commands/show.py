"""`discreet show`: what a public record says, for whoever was given one."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.commands.files import STANDARD_INPUT, check_picture, check_place, read_record, save_picture
from discreet.commands.options import JsonOption, errors_in_one_line, print_json
from discreet.commands.record import MASS, check_work, print_record, record_fields
from discreet.errors import InvalidInputError

if TYPE_CHECKING:
    from discreet.record.release import Release


def show(
    record: Annotated[str, typer.Argument(help="The JSON file of a release, or - for standard input.", show_default=False)],
    plot: Annotated[
        Path | None,
        typer.Option(help="Also draw the posteriors to this PNG, SVG or PDF file. A picture that show drew earlier is replaced."),
    ] = None,
    mass: Annotated[str, typer.Option(help="How much probability an interval holds, between 0 and 1.")] = str(MASS),
    slow: Annotated[bool, typer.Option("--slow", help="Compute intervals also where that takes minutes: many categories.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a release from its public record alone: reported counts, means, intervals that allow for the noise, and what is promised.

    Examples: discreet show posterior.json --mass 0.9, or discreet release ... | discreet show -
    """
    with errors_in_one_line():
        level = _mass(mass)
        if plot is not None:
            check_picture(plot)
            check_place(plot, "--plot", {"the record": None if record == STANDARD_INPUT else record}, replaces_picture=True)
        found = read_record(record)
        if plot is not None and not slow:
            check_work(found)
        if as_json:
            print_json(record_fields(found, level, slow=slow))
        else:
            print_record(found, after=[("Check", _check(found, record))], mass=level, slow=slow, computed=False)
        if plot is not None:
            save_picture(found, plot, mass=level, computed=False, replaces_picture=True)


def _mass(text: str) -> float:
    from discreet.validation import exact, shown

    try:
        level = float(exact(text, "--mass"))
    except InvalidInputError:
        level = 0.0
    if not 0.0 < level < 1.0:
        raise InvalidInputError(f"--mass must be a number between 0 and 1, such as 0.9, got {shown(text)!r}")
    return level


def _check(found: "Release", record: str) -> str:
    """How to have the promise checked, as something to type."""
    from discreet.inference.capabilities import capabilities

    if not capabilities(found.mechanism).privacy_loss:
        return "the privacy loss of this mechanism cannot be computed at this size: the promise rests on what it says above"
    return f"discreet verify {'RECORD' if record == STANDARD_INPUT else quote(record)} computes what this mechanism gives away"
