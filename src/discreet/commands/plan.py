"""`discreet plan`: the ε, or the number of records, that a target error asks for."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from discreet.commands.options import (
    ERROR_SCALE,
    JsonOption,
    MechanismOption,
    PriorOption,
    PublicOption,
    errors_in_one_line,
    notice_little_said,
    parse_number,
    parse_prior,
    parse_public,
    print_json,
    print_table,
)
from discreet.commands.progress import progress_bar
from discreet.errors import InvalidInputError


def plan(
    target_error: Annotated[
        float,
        typer.Argument(
            help="Mean Hellinger error to aim for: 0 is the same posterior, 1 nothing in common; 0.05 is hard to see in a plot, 0.2 is "
            "half a standard deviation."
        ),
    ],
    n: Annotated[int | None, typer.Option("--n", "-n", help="Number of records: find epsilon.")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e", help="Privacy parameter: find the number of records.")] = None,
    prior: PriorOption = "1,1",
    mechanism: MechanismOption = "LatticeGeometric",
    public: PublicOption = "total",
    worst: Annotated[bool, typer.Option("--worst", help="Aim at the worst dataset instead of the prior predictive.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Find the epsilon (given --n) or the number of records (given --epsilon) at which a mechanism reaches a target error.

    No data are looked at, so choosing by the answer is public. With --public nothing n stays private and is a guess, which must not come
    from the data.

    Example: discreet plan 0.05 --n 1000
    """
    from discreet.analysis.planning import plan as compute

    with errors_in_one_line(), progress_bar(not as_json) as progress:
        if (n is None) == (epsilon is None):
            raise InvalidInputError("give either --n, to find epsilon, or --epsilon, to find n")
        found = compute(
            parse_prior(prior),
            target_error,
            n=n,
            epsilon=None if epsilon is None else parse_number(epsilon, "--epsilon"),
            mechanism=mechanism,
            over="worst" if worst else "predictive",
            public=parse_public(public),
            progress=progress,
        )
    notice_little_said(found.n, found.epsilon, found.public)
    if as_json:
        print_json(found.to_dict())
        return
    table = Table(show_header=False, title=f"{found.mechanism}, prior {prior}")
    kind = "worst-case mean error" if worst else "mean error over the prior predictive"
    needed, given = ("epsilon", "n") if found.sought == "epsilon" else ("n", "epsilon")
    guess = " (a guess: n is private)" if public == "nothing" and needed == "epsilon" else ""
    values = {"n": f"{found.n}{guess}", "epsilon": f"{float(found.epsilon):g}"}
    table.add_row(f"needed: {needed}", values[needed])
    table.add_row(f"given: {given}", values[given])
    table.add_row(kind, repr(found.error))
    table.add_row("target", f"{found.target_error:g}")
    print_table(table)
    Console(highlight=False).print(ERROR_SCALE, found.choice, sep="\n")
