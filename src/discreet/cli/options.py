"""What several commands share: options, exit codes and words of their help."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.requests.release import MECHANISM_HELP, PUBLIC_HELP

FAILED = 1
"""Exit code of a command whose answer is no."""
ERROR_SCALE = (
    "Errors are Hellinger distances from the true posterior to the reported one: 0 the same, 1 nothing in common; "
    "0.05 is hard to see in a plot, 0.2 shifts an interval by about half a standard deviation."
)
PriorOption = Annotated[
    str, typer.Option("--prior", help="Concentrations such as 1,1,1, or uniform:K or jeffreys:K for K categories.", show_default=True)
]
ReaderPriorOption = Annotated[
    str | None,
    typer.Option("--prior", help="Your own prior in place of the record's: a concentration for each category, uniform or jeffreys."),
]
SlowOption = Annotated[bool, typer.Option("--slow", help="Compute it also where that takes minutes: many possible counts.")]
RecordsOption = Annotated[int, typer.Option("--n", "-n", help="Number of records; with --public nothing, a guess of it.")]
PublicOption = Annotated[str, typer.Option("--public", help=PUBLIC_HELP.format(sizes=""))]
EpsilonOption = Annotated[str, typer.Option("--epsilon", "-e", help="Privacy parameter, as a decimal or a fraction.")]
MechanismOption = Annotated[str, typer.Option("--mechanism", "-m", help=f"{MECHANISM_HELP}.")]
GammaOption = Annotated[str | None, typer.Option(help='For HellingerSmooth: a number, or "best". {FOR_PAPERS}')]
DeltaOption = Annotated[str | None, typer.Option(help="For HellingerSmoothDelta. Leave it unless you reproduce the papers.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class _PlainFlags:
    """Help in which a flag has no type: `<bool>` after it looks as if a value were wanted."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class Command(_PlainFlags, TyperCommand):
    """A command of ours."""


class CommandGroup(_PlainFlags, TyperGroup):
    """Commands under one name."""
