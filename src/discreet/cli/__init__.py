"""The command line: one module for each command, put together here."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from discreet import __version__
from discreet.cli import ledger
from discreet.cli.check import check
from discreet.cli.combine import combine
from discreet.cli.compare import compare
from discreet.cli.contrast import contrast
from discreet.cli.explore import explore
from discreet.cli.observe import observe
from discreet.cli.options import Command
from discreet.cli.plan import plan
from discreet.cli.release import release
from discreet.cli.report import report
from discreet.cli.reproduce import reproduce
from discreet.cli.show import show
from discreet.cli.study import StudyGroup
from discreet.cli.verify import verify

app = typer.Typer(
    name="discreet",
    cls=StudyGroup,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (check, release, observe, show, report, contrast, combine, compare, plan, explore, verify, reproduce):
    app.command(cls=Command)(_command)
app.add_typer(ledger.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[  # noqa: ARG001  its callback acts on it
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Private posteriors for discrete data."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal that has no ε must not turn a release that has been charged for into a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
