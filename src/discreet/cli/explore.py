"""`discreet explore`: a page on this machine to plan, to release, to keep budgets and to read records."""

import os
from typing import Annotated

import typer

from discreet.errors import InvalidInputError
from discreet.present.terminal import errors_in_one_line
from discreet.requests.release import LEDGER_VARIABLE


def explore(
    port: Annotated[int | None, typer.Option("--port", help="Listen on this port of 127.0.0.1; without it, on any that is free.")] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            help=f"The ledger that the page begins with: a file, or a database URL. Without it, what {LEDGER_VARIABLE} names.",
            show_default=False,
        ),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")] = False,
) -> None:
    """Open a page in your browser to choose an epsilon by looking, to release, to keep budgets, and to read records of others.

    The page is served by this machine to itself: nothing is sent anywhere. What is released is kept for you until you remove it.

    Example: discreet explore
    """
    with errors_in_one_line():
        try:
            from discreet.web.server import serve
        except ImportError:
            raise InvalidInputError("discreet explore needs the extra web: pip install 'discreet[web]'") from None
        serve(port, browser=not no_browser, ledger=ledger or os.environ.get(LEDGER_VARIABLE) or None)
