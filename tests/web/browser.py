"""The page of `discreet explore` in Chromium."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.browser_support import AXE, PATIENCE, browser, watched
from tests.web.server import Server

CLIPBOARD = ("clipboard-read", "clipboard-write")
"""What a page must be permitted whose copy buttons are pressed."""


def new_page(found: Any, server: Server, secret: str | None = None, **options: Any) -> tuple[Any, list[str]]:
    """The page of a server in a browser, and a list of all that goes wrong on it; a secret in an address does."""
    context = found.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    context.add_init_script(AXE)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    return page, watched(page, (f"http://{server.host}/", f"blob:http://{server.host}/", "data:"), secret)


def unlocked(page: Any, server: Server) -> None:
    """Open the page, and wait until it has its token: before that its buttons are inert, and a key that is pressed on them is lost."""
    page.goto(server.address)
    page.wait_for_selector(".top nav:not([inert])")


def until_held(page: Any, held: list[Any]) -> None:
    """Wait until the page has sent a request that is held."""
    while not held:
        page.wait_for_timeout(20)


@contextmanager
def page_of(server: Server, secret: str | None = None, **options: Any) -> Iterator[Any]:
    """The page of a server in a browser of its own; whatever goes wrong on it is an error."""
    with browser() as found:
        page, wrong = new_page(found, server, secret, **options)
        unlocked(page, server)
        yield page
        seen = list(wrong)  # before requests end with the browser
    assert seen == [], seen  # pytest shows what helpers compare only where they say so
