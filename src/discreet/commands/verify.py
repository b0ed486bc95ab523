"""`discreet verify`: compute the privacy loss of a configuration and compare it with what is claimed."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from discreet.commands.options import (
    FAILED,
    EpsilonOption,
    JsonOption,
    PriorOption,
    RecordsOption,
    errors_in_one_line,
    parse_prior,
    print_json,
)
from discreet.errors import InvalidInputError

__all__ = ["verify"]

_NOT_COMPUTED = 3


def verify(
    mechanism: Annotated[str, typer.Argument(help="A mechanism by any of its names, such as EHDS or lattice.")],
    n: RecordsOption,
    epsilon: EpsilonOption = "1",
    prior: PriorOption = "1,1",
    gamma: Annotated[str | None, typer.Option(help='For HellingerSmooth: a number, or "best".')] = None,
    delta: Annotated[str | None, typer.Option(help="For HellingerSmoothDelta.")] = None,
    calibrated: Annotated[bool, typer.Option("--calibrated", help="Raise the exponent until the computed loss is epsilon.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the exact privacy loss of a configuration and compare it with the claim.

    Exit code 0: the claim holds. 1: it does not, or nothing is claimed. 2: bad input. 3: the loss cannot be computed at this size.

    Example: discreet verify EHDS --n 1000 --epsilon 1 --prior 1,1
    """
    from discreet.mechanisms import Calibrated, Exponential
    from discreet.mechanisms import mechanism as find
    from discreet.privacy import verify as compute

    with errors_in_one_line():
        options: dict[str, Any] = {name: value for name, value in (("gamma", gamma), ("delta", delta)) if value is not None}
        found = find(mechanism, parse_prior(prior), n, epsilon, **options)
        if calibrated and not isinstance(found, Exponential):
            raise InvalidInputError(f"--calibrated is for Hellinger mechanisms, not for {type(found).__name__}")
        checked = Calibrated(found) if calibrated and isinstance(found, Exponential) else found
        result = compute(checked)
    rows = {
        "mechanism": type(checked).__name__,
        "claimed": str(result.claimed),
        "loss": None if result.loss is None else result.loss.value,
        "loss_bound": None if result.loss is None else result.loss.bound,
        "slack": result.slack,
        "delta_bound": None if result.delta is None else result.delta.bound,
        "reached_between": None if result.loss is None else result.loss.at,
        "verdict": result.verdict,
    }
    if as_json:
        print_json(rows)
    else:
        table = Table(show_header=False, title=f"{type(checked).__name__}, n = {n}, prior {prior}")
        for name, value in rows.items():
            if value is not None:
                table.add_row(name.replace("_", " "), f"{value:.10g}" if isinstance(value, float) else str(value))
        Console(highlight=False).print(table)
    if result.holds is not True:
        raise typer.Exit(_NOT_COMPUTED if result.holds is None else FAILED)
