"""`discreet reproduce`: recompute the papers' figures, tables and claims, and say which hold."""

import os
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from discreet.commands.options import errors_in_one_line

if TYPE_CHECKING:
    from discreet.paper.claim import Claim, Kind

_COLOURS: "dict[Kind, str]" = {"holds": "green", "holds when": "yellow", "does not hold": "red"}


def reproduce(
    only: Annotated[list[str] | None, typer.Option(help="Only this figure, table or claim; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Coarser grids: under a minute instead of minutes.")] = False,
    out: Annotated[Path, typer.Option(help="Directory for the report, figures and data; a killed run goes on from there.")] = Path(
        "discreet-report"
    ),
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as there are cores if not said.", show_default=False)] = None,
) -> None:
    """Recompute every figure, table and claim of the papers exactly, and say which claims hold.

    Example: discreet reproduce --only 000-figure-5 --only crossover-gamma --out report
    """
    from discreet.paper.run import Plan, reproduce_all

    begun = monotonic()
    with errors_in_one_line():
        few = only is not None and len(only) <= 2
        plan = Plan.of(out, only, quick=quick, jobs=jobs if jobs is not None else 1 if few else os.cpu_count() or 1)
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task("starting", total=len(plan.items) + len(plan.claims))
            found = reproduce_all(plan, lambda done, _, name: bar.update(task, completed=done, description=name))
    if found.claims:
        Console().print(_table(found.claims))
    kinds = [claim.kind for claim in found.claims]
    typer.echo(
        f"{len(kinds)} claims: {kinds.count('holds')} hold, {kinds.count('holds when')} hold under a condition, "
        f"{kinds.count('does not hold')} do not. "
        f"{found.items} figures and tables. {found.reused} of {found.items + len(kinds)} taken from an earlier run. "
        f"{monotonic() - begun:.0f} s.\n{found.report}"
    )


def _table(found: "list[Claim]") -> Table:
    table = Table(title="The papers' claims, computed", show_lines=True)
    table.add_column("id", no_wrap=True)
    for name in ("claim", "computed", "verdict"):
        table.add_column(name)
    for claim in found:
        said = f"{escape(claim.claim)} [dim]({escape(claim.where)})[/]"
        numbers = "\n".join(f"{name}: {value:.6g}" for name, value in claim.numbers.items())
        table.add_row(claim.id, said, escape(numbers), f"[{_COLOURS[claim.kind]}]{escape(claim.verdict)}[/]")
    return table
