"""An example of what would be published: records that are made up from public shares, and a real release of them."""

from math import inf

import numpy as np
import scipy.signal  # noqa: F401 - intervals load it when they first need it: here that would be while someone moves a slider

from discreet.errors import RefusedError, TooLargeError
from discreet.planning.expected_widths import Believed
from discreet.present.html import Html, element, isolated, joined
from discreet.present.page_rows import Shares, shares_of
from discreet.present.page_tables import pictured
from discreet.requests.plan_screen import PlanQuestion
from discreet.web.code_to_copy import same
from discreet.web.plan.commands import made_line, prior_line

_PANELS_SHOWN = 2
_QUICK_EXAMPLE_WORK, _MOST_EXAMPLE_WORK = 100.0, 6_000.0
"""Work of an example that comes at once, and of one that comes at all."""
_FREE_TOTAL, _TIED_GROUPS = 3.0, 15.0
"""The factors by which the work grows where the total must be found too, and where a public total ties groups."""
_TABLE_CATEGORIES, _TABLE_SIGNAL = 4, 20.0
"""The most categories whose intervals are always quick; with more, a group needs so many times as many records as noise."""


def is_quick_example(question: PlanQuestion) -> bool:
    """Return whether the example comes while someone moves a slider, by public numbers."""
    return _work(question) <= _QUICK_EXAMPLE_WORK


def _work(question: PlanQuestion) -> float:
    """About how long the intervals of an example take: noise is as wide as 1/ε, in every category."""
    if not question.has_noise:
        return _QUICK_EXAMPLE_WORK  # where noise depends on the data, `shares_of` knows what takes long
    faint = question.prior.k > _TABLE_CATEGORIES and question.size * question.epsilon < _TABLE_SIGNAL
    if question.groups is not None and question.public != "sizes" and faint:
        return inf
    kind = _TIED_GROUPS if question.halved else 1.0 if question.planned_public == "total" else _FREE_TOTAL
    return kind * question.prior.k / min(float(question.epsilon), 1.0)


def example(question: PlanQuestion) -> Html:
    """Made-up records, a real release of them, and the intervals of a reader."""
    if _work(question) > _MOST_EXAMPLE_WORK:
        return element("p", "The intervals of an example take long at this size and this ε, and are left out here.", class_="quiet")
    guessed = Believed.of(question.prior, question.size, question.shares)
    counts = guessed.law.predictive(question.size).sample(question.groups_shown or 1, np.random.default_rng(0))
    try:
        release = question.whole_mechanism().release(counts[0] if question.groups is None else counts, steady=False)
    except (RefusedError, TooLargeError) as error:
        return element("p", str(error), class_="quiet")
    shares = shares_of(release)
    ways = same("plan-example", None, _python(question, counts.tolist()), "It draws another example: noise is never the same twice.")
    return joined(_badge(question), _legend(question, shares), *_figures(shares), ways)


def _badge(question: PlanQuestion) -> Html:
    origin = "the shares you expect" if question.expect is not None else "the prior's mean shares"
    records = question.size * (question.groups_shown or 1)
    words = f"No data were seen: {records:,} records were invented from {origin}, and then released for real, with exact noise."
    return element("p", element("strong", "Made up. "), words, class_="made-up")


def _legend(question: PlanQuestion, shares: Shares) -> Html:
    words = "Dots are means, and bars intervals that hold the share with probability 95 %, noise allowed for. Every change draws new noise."
    if shares.reason is not None:
        words = f"Dots and dashes take the noisy counts at face value, and are too narrow: {shares.reason}."
    if question.groups is not None and question.groups != question.groups_shown:
        words += f" Shown are {question.groups_shown} of the {question.groups:,} groups."
    if shares.size is not None:
        mean, low, high = shares.size
        words += f" Readers would also estimate how many records there are: about {mean:,.0f}, between {low:,} and {high:,}."
    return element("p", words, class_="quiet")


def _figures(shares: Shares) -> list[Html]:
    parts = []
    for panel in shares.panels[:_PANELS_SHOWN]:
        if panel.heading is not None:
            parts.append(element("h3", isolated(panel.heading), " in each group"))
        parts.append(pictured(panel, "95 %", as_reported=shares.reason is not None))
    more = len(shares.panels) + shares.categories_left_out - len(shares.panels[:_PANELS_SHOWN])
    words = "One more category would have a table." if more == 1 else f"{more:,} more categories would have a table each."
    return [*parts, *([element("p", words, class_="quiet")] if more else [])]


def _python(question: PlanQuestion, counts: list[list[int]]) -> str:
    read = "interval" if question.groups is None else "figures"
    lines = [
        "import discreet as dc",
        "",
        prior_line(question, labels=question.categories.given),
        made_line(question),
        f"release = made.release({counts[0] if question.groups is None else counts})",
        f"print(release.noise_aware().{read}())",
    ]
    return "\n".join(lines)
