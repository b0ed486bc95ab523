"""`discreet reproduce`: run the package that recomputes the papers, where it is installed."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import InvalidInputError
from discreet.present.terminal import errors_in_one_line

GROUP = "discreet.reproduce"
"""The entry points of packages that recompute something."""


def reproduce(
    only: Annotated[list[str] | None, typer.Option(help="Only this figure, table or claim; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Coarser grids: under a minute instead of minutes.")] = False,
    out: Annotated[Path, typer.Option(help="Directory for the report, figures and data; a killed run goes on from there.")] = Path(
        "discreet-report"
    ),
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as there are cores if not said.", show_default=False)] = None,
) -> None:
    """Recompute every figure, table and claim of the papers exactly, and say which claims hold. Needs the package discreet-papers.

    Example: discreet reproduce --only 000-figure-5 --only crossover-gamma --out report
    """
    from importlib.metadata import entry_points  # brings the library of e-mail and sockets, which no other command needs

    with errors_in_one_line():
        found = next(iter(entry_points(group=GROUP)), None)
        if found is None:
            raise InvalidInputError("discreet reproduce needs the package discreet-papers: in a checkout of discreet, pip install ./papers")
        found.load()(out, only, quick=quick, jobs=jobs)
