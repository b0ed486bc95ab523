"""The command line: its commands put together, and those that only start something else."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from discreet import __version__
from discreet.cli import ledger
from discreet.cli.contrast import combine, contrast
from discreet.cli.plan import compare, plan
from discreet.cli.questions import Command, asks
from discreet.cli.release import check, observe, release
from discreet.cli.show import report, show
from discreet.cli.study import StudyGroup
from discreet.cli.verify import verify
from discreet.errors import InvalidInputError
from discreet.requests.budget import ExploreRequest
from discreet.requests.plan import ReproduceRequest

app = typer.Typer(
    name="discreet",
    cls=StudyGroup,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


@asks(ExploreRequest)
def explore(asked: ExploreRequest) -> None:
    """Open a page in your browser to choose an epsilon by looking, to release, to keep budgets, and to read records of others.

    The page is served by this machine to itself: nothing is sent anywhere. What is released is kept for you until you remove it.

    Example: discreet explore
    """
    try:
        from discreet.web.application import serve
    except ImportError:
        raise InvalidInputError("discreet explore needs the extra web: pip install 'discreet[web]'") from None
    serve(asked.port, browser=not asked.no_browser, ledger=asked.ledger or None)


GROUP = "discreet.reproduce"
"""The entry points of packages that recompute something."""


@asks(ReproduceRequest)
def reproduce(asked: ReproduceRequest) -> None:
    """Recompute every figure, table and claim of the papers exactly, and say which claims hold. Needs the package discreet-papers.

    Example: discreet reproduce --only 000-figure-5 --only crossover-gamma --out report
    """
    from importlib.metadata import entry_points  # brings the library of e-mail and sockets, which no other command needs

    found = next(iter(entry_points(group=GROUP)), None)
    if found is None:
        raise InvalidInputError("discreet reproduce needs the package discreet-papers: in a checkout of discreet, pip install ./papers")
    found.load()(asked.out, asked.only or None, quick=asked.quick, jobs=asked.jobs)


for _command in (check, release, observe, show, report, contrast, combine, compare, plan, explore, verify, reproduce):
    app.command(cls=Command)(_command)
app.add_typer(ledger.app)
