"""What `discreet reproduce` runs: the reproduction with its progress, the claims as a table, and a summary."""

import os
from pathlib import Path
from time import monotonic

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from discreet_papers.claim import Claim, Kind
from discreet_papers.run import ReproductionPlan, reproduce_all

__all__ = ["reproduce"]

_COLOURS: dict[Kind, str] = {"holds": "green", "holds when": "yellow", "does not hold": "red"}


def reproduce(out: Path, only: list[str] | None, *, quick: bool, jobs: int | None) -> None:
    """Recompute what is wanted into a directory, and print every claim with its verdict.

    Args:
        out: The directory for the report, figures and data.
        only: The figures, tables and claims that are wanted; None for all.
        quick: Whether to use coarser grids.
        jobs: The number of processes; None for as many as there are cores, or one if at most two things are wanted.

    Raises:
        InvalidInputError: There is nothing of a name in `only`, or the directory cannot be written to.
    """
    begun = monotonic()
    few = only is not None and len(only) <= 2
    plan = ReproductionPlan.of(out, only, quick=quick, jobs=jobs if jobs is not None else 1 if few else os.cpu_count() or 1)
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


def _table(found: list[Claim]) -> Table:
    table = Table(title="The papers' claims, computed", show_lines=True)
    table.add_column("id", no_wrap=True)
    for name in ("claim", "computed", "verdict"):
        table.add_column(name)
    for claim in found:
        said = f"{escape(claim.claim)} [dim]({escape(claim.where)})[/]"
        numbers = "\n".join(f"{name}: {value:.6g}" for name, value in claim.numbers.items())
        table.add_row(claim.id, said, escape(numbers), f"[{_COLOURS[claim.kind]}]{escape(claim.verdict)}[/]")
    return table
