"""`discreet check`: what a curator should know before something is released."""

from typing import TYPE_CHECKING

import typer

from discreet.cli.options import FAILED
from discreet.cli.questions import asks
from discreet.requests.release import CheckRequest

if TYPE_CHECKING:
    from discreet.requests.checks import DataCheck


@asks(CheckRequest)
def check(asked: CheckRequest) -> None:
    """Look at the data as a release would, and say what is in the way. For the curator alone: do not publish what it says.

    It takes the options of release about the data, or the file of a study. It lists values that are not declared, by their spellings and
    never how often, whether answers, groups or ids are missing, whether persons have several rows, and what would be refused. Nothing of
    it is written anywhere. It looks at the data and not at a ledger: `discreet ledger show` says what is left of a budget. The exit code
    is 1 if a release would be refused for the data, and 0 if not.

    Examples: discreet check survey.csv --column smoking --categories never,former,current, or discreet check study.toml
    """
    tell(asked.examined())


def tell(found: "DataCheck") -> None:
    """Print what was found, and end with the exit code of a refusal if a release would be refused."""
    typer.echo(str(found))
    if found.would_be_refused:
        raise typer.Exit(FAILED)
