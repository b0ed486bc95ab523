"""The part of the page that shows all groups of a table together, or those with each label of one column."""

from typing import TYPE_CHECKING

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.present import page
from discreet.present.figures import CellFigures, CellNumbers
from discreet.present.html import Html, joined
from discreet.present.page_rows import margin_shares
from discreet.record.release import Release
from discreet.requests.fields import WrongError
from discreet.requests.margins import OWN, Margins
from discreet.requests.read_screen import ReadMargins
from discreet.requests.records import ShowRequest
from discreet.web.code_to_copy import request_command, same
from discreet.web.opened_records import Opened
from discreet.web.read.answers import posterior_of
from discreet.web.read.question import ReadQuestion

if TYPE_CHECKING:
    from discreet.progress import Progress


def why_not(release: Release) -> str | None:
    """Return the reason why groups cannot be put together on the page, if so."""
    if release.n is None:
        return "How much each group counts is not public, so there are no shares of all groups together."
    if len(release.cells.groups) > limits.GROUPS_CONVOLVED:
        return f"Groups are put together here up to {limits.GROUPS_CONVOLVED:,} of them; posterior.over() in Python takes more."
    return None


def margins(asked: ReadQuestion[ReadMargins], opened: Opened, tell: "Progress") -> Html:
    """The shares of all groups together, each with its part of the population, or of the groups with each label of a column."""
    release, columns = asked.record.release, asked.asked.over or ()
    if not release.by.columns or (why_not(release) is not None):
        raise WrongError({"over": "Groups of this record cannot be put together here"})
    if asked.how.of_records:
        raise InvalidInputError("groups are put together for shares of the population: choose these above")
    others = tuple(name for name in release.by.columns if name not in columns)
    if not others:
        raise WrongError({"over": "This column alone makes the groups: choose all groups"})
    together = Margins(release, others, OWN)
    if len(together.cells.groups) > limits.PAGE_ROWS:
        raise WrongError({"over": f"This column has {len(together.cells.groups):,} labels, and the page shows up to {limits.PAGE_ROWS}"})
    over, cells = together.of(posterior_of(asked, opened, tell)), together.cells
    shares = margin_shares(CellNumbers(cells, together.counts, CellFigures.of_margins(over, cells.shape, asked.how)), asked.how)
    words = [*map(repr, columns), *([] if release.sizes is None else ["weights=release.sizes"])]
    called = f"over = release.noise_aware({asked.reader_code}).over({', '.join(words)})"
    lines = called, "print(over.mean())", f"print(over.interval({asked.mass!r}))"
    typed = request_command("show", ShowRequest.asking(**vars(asked.request), over=[*others]))
    return joined(page.answered(release, shares, one_table=True), same("read-margins", typed, asked.python(*lines)))
