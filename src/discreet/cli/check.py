"""`discreet check`: what a curator should know before a study is released."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from discreet.cli.options import FAILED
from discreet.data import scratch
from discreet.present.terminal import errors_in_one_line

StudyArgument = Annotated[str, typer.Argument(help="The TOML file of a study.", show_default=False)]
CorrectionsOption = Annotated[
    Path | None,
    typer.Option(help="The curator's corrections, in place of the file that the study names. They are applied and never published."),
]


def check(study: StudyArgument, corrections: CorrectionsOption = None) -> None:
    """Look at the data of a study as its release would, and say what is in the way. For the curator alone: do not publish what it says.

    It lists values that are not declared, by their spellings and never how often, whether answers, groups or ids are missing, whether
    persons have several rows, and what would be refused. Nothing of it is written anywhere. The exit code is 1 if a release would be
    refused, and 0 if not.

    Example: discreet check study.toml
    """
    from discreet.requests.study import Study

    with errors_in_one_line(), scratch.removed_on_termination():
        found = Study.load(study).check(corrections=corrections)
    Console(highlight=False, emoji=False).print(str(found), markup=False, soft_wrap=True)
    if found.would_be_refused:
        raise typer.Exit(FAILED)
