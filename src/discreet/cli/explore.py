"""`discreet explore`: a page on this machine to plan, to release, to keep budgets and to read records."""

from discreet.cli.questions import asks
from discreet.errors import InvalidInputError
from discreet.requests.budget import ExploreRequest


@asks(ExploreRequest)
def explore(asked: ExploreRequest) -> None:
    """Open a page in your browser to choose an epsilon by looking, to release, to keep budgets, and to read records of others.

    The page is served by this machine to itself: nothing is sent anywhere. What is released is kept for you until you remove it.

    Example: discreet explore
    """
    try:
        from discreet.web.server import serve
    except ImportError:
        raise InvalidInputError("discreet explore needs the extra web: pip install 'discreet[web]'") from None
    serve(asked.port, browser=not asked.no_browser, ledger=asked.ledger or None)
