"""Ledgers that the page opens, and what it shows of where they are: never a password."""

import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.database import HIDDEN, shown_location
from discreet.ledger.ledger import Ledger

_PATIENCE = 15.0
"""Seconds for which someone at a page waits for a database."""
_KEPT = 32
"""URLs with a password that are remembered."""
_SHORTEST = 3
"""Characters: a shorter password is not looked for in a message, in which it would be anywhere."""
_WITHOUT_SCHEME = re.compile(r":.*@|password\s*=", re.IGNORECASE | re.DOTALL)
"""What stands in a path that someone meant for a URL, or for the words that PostgreSQL's own programs take: it may hold a password."""
_NEITHER = (
    "this is neither the URL of a database, such as postgresql://user@host/database, nor a path that the page takes: what stands between "
    "a : and an @, or behind password=, may be a password"
)


class Ledgers:
    """Where ledgers are, by what is shown of it: passwords stay here, in memory, until the page's server ends."""

    def __init__(self, default: str | None) -> None:
        self._by_shown: OrderedDict[str, str] = OrderedDict()
        self.default = "" if default is None else self.shown(default)
        """What is shown of the ledger that the page begins with; empty if there is none."""

    def shown(self, location: str) -> str:
        """What the page shows and sends back in place of a location that has a password."""
        shown = HIDDEN if _is_meant_for_a_url(location) else shown_location(location)
        if shown != location:
            self._by_shown[shown] = location
            self._by_shown.move_to_end(shown)
            while len(self._by_shown) > _KEPT:
                self._by_shown.popitem(last=False)
        return shown

    def location(self, typed: str) -> str:
        """Where a ledger is: what was typed, with the password that was left out of what the page shows."""
        return self._by_shown.get(typed, typed)


@contextmanager
def opened(location: str) -> Iterator[Ledger]:
    """A ledger. Whatever it refuses is said in one line, in which no password stands.

    What was meant for a URL is no path: two of them look the same on the page, and a file would have a password in its name.
    """
    if _is_meant_for_a_url(location):
        raise LedgerError(_NEITHER)
    try:
        yield Ledger(location, timeout=_PATIENCE)
    except DiscreetError as error:
        raise type(error)(_without_passwords(" ".join(str(error).split()), location)) from None


def _is_meant_for_a_url(location: str) -> bool:
    return "://" not in location and _WITHOUT_SCHEME.search(location) is not None


def _without_passwords(message: str, location: str) -> str:
    passwords = [*re.findall(r"://[^:@]*:(.*)@", location, re.DOTALL), *re.findall(r"password=([^&]*)", location, re.IGNORECASE)]
    for password in sorted({form for given in passwords for form in (given, unquote(given))}, key=len, reverse=True):
        message = message.replace(password, HIDDEN) if len(password) >= _SHORTEST else message
    return message
