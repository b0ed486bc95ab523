"""Ledgers that the page opens, and what it shows of where they are: never a password."""

import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from discreet.errors import DiscreetError
from discreet.ledger.database import HIDDEN, shown_location
from discreet.ledger.ledger import Ledger

_DATABASE_SECONDS = 15.0
"""Seconds for which someone at a page waits for a database."""
_KEPT_URLS = 32
"""URLs with a password that are remembered."""
_SHORTEST_PASSWORD = 3
"""Characters: a shorter password is not looked for in a message, in which it would be anywhere."""


class Ledgers:
    """The places of ledgers, by what is shown of them: passwords stay here, in memory, until the page's server ends."""

    def __init__(self, default: str | None) -> None:
        self._by_shown: OrderedDict[str, str] = OrderedDict()
        self.default = "" if default is None else self.shown(default)
        """The ledger that the page begins with, as it is shown; empty if there is none."""

    def shown(self, location: str) -> str:
        """Return the text that the page shows and sends back in place of a location that has a password."""
        shown = shown_location(location)
        if shown != location:
            self._by_shown[shown] = location
            self._by_shown.move_to_end(shown)
            while len(self._by_shown) > _KEPT_URLS:
                self._by_shown.popitem(last=False)
        return shown

    def location(self, typed: str) -> str:
        """Return the place of a ledger: what was typed, with the password that was left out of what the page shows."""
        return self._by_shown.get(typed, typed)


@contextmanager
def opened(location: str) -> Iterator[Ledger]:
    """A ledger. Whatever it refuses is said in one line, in which no password stands."""
    try:
        yield Ledger(location, timeout=_DATABASE_SECONDS)
    except DiscreetError as error:
        in_python, in_shell = (_without_passwords(" ".join(text.split()), location) for text in (str(error), error.in_shell))
        raise type(error)(in_python, in_shell=in_shell) from None


def _without_passwords(message: str, location: str) -> str:
    passwords = [*re.findall(r"://[^:@]*:(.*)@", location, re.DOTALL), *re.findall(r"password=([^&]*)", location, re.IGNORECASE)]
    for password in sorted({form for given in passwords for form in (given, unquote(given))}, key=len, reverse=True):
        message = message.replace(password, HIDDEN) if len(password) >= _SHORTEST_PASSWORD else message
    return message
