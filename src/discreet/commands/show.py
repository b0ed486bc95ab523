"""`discreet show`: what a public record says, for whoever was given one."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.commands.files import check_picture, check_place, read_record, save_picture
from discreet.commands.options import errors_in_one_line
from discreet.commands.record import print_record

__all__ = ["show"]


def show(
    record: Annotated[str, typer.Argument(help="The JSON file of a release.", show_default=False)],
    plot: Annotated[Path | None, typer.Option(help="Also draw the posteriors to this new PNG, SVG or PDF file.")] = None,
) -> None:
    """Show a release from its public record alone: reported counts, means, intervals that allow for the noise, and what is promised.

    Example: discreet show posterior.json
    """
    with errors_in_one_line():
        if plot is not None:
            check_picture(plot)
            check_place(plot, "--plot", {"the record": record})
        found = read_record(record)
        print_record(found, after=[("Check", f"discreet verify {record} computes what this mechanism gives away")])
        if plot is not None:
            save_picture(found, plot)
