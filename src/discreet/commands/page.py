"""One HTML page about a release, for people: it needs no other file, asks no server for anything, and holds the record."""

from base64 import b64encode
from hashlib import sha256
from importlib import resources
from math import ceil, exp, floor, log10
from shlex import quote
from typing import TYPE_CHECKING

from discreet import __version__
from discreet.commands.about import about_lines
from discreet.commands.html import Html, element, escaped, isolated, joined
from discreet.commands.page_figure import decimals_of, figure, interval_words, percentage
from discreet.commands.page_rows import Panel, Shares, cut
from discreet.commands.record import promise_lines
from discreet.record.pages import block_of
from discreet.text import plain

if TYPE_CHECKING:
    from discreet.commands.options import Lines
    from discreet.record.release import Release

_LARGEST_EXPONENT = 30
"""Of e, whose power is written out as a number."""
_LISTED = 20
"""Categories or groups that are listed."""


def page(found: "Release", shares: Shares, record: str, name: str) -> str:
    """The whole page; `record` is the release as JSON, and `name` that of the file, for the commands that read it."""
    style = resources.files("discreet.commands").joinpath("page.css").read_text("utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="discreet {escaped(__version__)}"><link rel="icon" href="data:,">'
        f"{element('title', _title(found))}<style>{style}</style>"
    )
    body = element(
        "main", heading(found), asked(found), answered(found, shares), promised(found), _meaning(found, shares), _check(found, name)
    )
    return f'<!doctype html>\n<html lang="en" dir="ltr">\n<head>{head}</head>\n<body>{body}\n{block_of(record)}\n</body>\n</html>\n'


def _section(heading: str, *content: str) -> Html:
    return element("section", element("h2", heading), *content)


def _words(lines: "Lines") -> Html:
    """Names, each with what there is to say."""
    return element("dl", *(part for word, text in lines for part in (element("dt", word), element("dd", isolated(text)))))


# --- what was asked ---------------------------------------------------------------------------------------------------


def _title(found: "Release") -> str:
    if found.about is not None and found.about.title is not None:
        return found.about.title
    variable = None if found.about is None else found.about.variable
    return "How common is each category?" if variable is None else f"How common is each value of “{cut(variable)}”?"


def heading(found: "Release") -> Html:
    guarantee = found.guarantee
    many = "a number of " if found.n is None else f"{found.n:,} "
    kept = " that is itself private" if found.n is None else ""
    promised = "without any privacy guarantee" if guarantee.basis == "none" else f"each protected by {guarantee.level} differential privacy"
    kicker = "Results without privacy protection" if guarantee.basis == "none" else "Results published with differential privacy"
    lead = element("p", f"Estimated from {many}{guarantee.unit}s{kept}, {promised}.", class_="lead")
    return element("header", element("p", kicker, class_="kicker"), element("h1", isolated(_title(found))), lead)


def asked(found: "Release") -> Html:
    lines = [(word, text) for word, text in about_lines(found) if word != "Title"]
    lines.insert(sum(word == "Variable" for word, _ in lines), ("Categories", _several(found.prior.categories)))
    groups = found.mechanism.space.groups
    if groups is not None:
        named = "; ".join(f"{cut(column)}: {_several(labels)}" for column, labels in zip(groups.columns, groups.labels, strict=True))
        lines.insert(1 + sum(word == "Variable" for word, _ in lines), ("Groups", f"{len(groups):,} by {named}"))
    return _section("What was asked", _words(lines))


def _several(labels: tuple[object, ...]) -> str:
    more = f" and {len(labels) - _LISTED:,} more" if len(labels) > _LISTED else ""
    return ", ".join(cut(label) for label in labels[:_LISTED]) + more


# --- the figure and the numbers ---------------------------------------------------------------------------------------


def answered(found: "Release", shares: Shares) -> Html:
    mass, reported = f"{100.0 * shares.mass:g} %", shares.reason is not None
    allowed = "at face value" if reported else "noise allowed for"
    caveat = [_caveat(shares)] if reported else []
    size = []
    if shares.size is not None:
        mean, low, high = shares.size
        unit = found.guarantee.unit
        size = [element("p", f"There are about {mean:,.0f} {unit}s, between {low:,} and {high:,} with probability {mass} or more.")]
    parts = []
    for panel in shares.panels:
        if panel.heading is not None:
            parts.append(element("h3", isolated(panel.heading), " in each group"))
        if not panel.rows:
            parts.append(element("p", "It cannot occur in any group."))
            continue
        described = f"Mean and {mass} interval of every share, {allowed}"
        parts += [
            figure(panel, described, as_reported=reported),
            _table(panel, f"{described}.", mass, with_groups=panel.heading is not None),
        ]
    if shares.categories_left_out:
        parts.append(element("p", f"{shares.categories_left_out:,} more categories are in the record.", class_="quiet"))
    legend = f"Dots are means, and bars intervals that hold the share with probability {mass}."
    if reported:
        legend = f"Dots and dashes are means and {mass} intervals of the reported posterior."
    if len(shares.panels) > 1:
        legend += " Groups with the largest share come first. Each figure has a scale of its own, which begins at 0."
    return _section("The answer", *caveat, *size, element("p", legend, class_="quiet"), *parts)


def _caveat(shares: Shares) -> Html:
    strong = element("strong", "These numbers do not allow for the noise. ")
    return element(
        "p",
        strong,
        f"A posterior that does is not available here: {shares.reason}. Shown instead is the reported posterior, which takes the noisy "
        "counts as if they were exact: its intervals are too narrow, and how much is not known.",
        class_="warn",
    )


def _table(panel: Panel, caption: str, mass: str, *, with_groups: bool) -> Html:
    decimals = decimals_of(panel)
    heads = ("group" if with_groups else "category", "noisy count", "share", f"{mass} interval")
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in heads)))
    rows = [
        element(
            "tr",
            element("th", isolated(row.label), scope="row"),
            element("td", f"{row.count:,}"),
            element("td", percentage(row.mean, decimals)),
            element("td", interval_words(row, decimals), class_="interval"),
        )
        for row in panel.rows
    ]
    if panel.left_out:
        between = f"{panel.left_out:,} between these are not shown; they are in the record"
        rows.insert(len(rows) // 2, element("tr", element("td", between, colspan="4", class_="gap")))
    return element("table", element("caption", caption), head, element("tbody", *rows))


# --- the promise ------------------------------------------------------------------------------------------------------


def promised(found: "Release") -> Html:
    guarantee = found.guarantee
    if guarantee.basis == "none":
        words = [element("p", "Nothing is promised: the numbers may tell what single records say.", class_="warn")]
        return _section("What is promised", *words, _words(promise_lines(found, computed=False)))
    factor, but = _factor(guarantee.epsilon), "" if guarantee.delta == 0 else f", but for a probability of at most {guarantee.delta:.2g}"
    odds = (
        f"The numbers were drawn at random around the true ones, so that nobody can tell much better than before {_hidden(found)}. "
        f"Whatever a reader knows, this page changes the odds of it by a factor of at most {factor}{but}: that is what {guarantee.level} "
        "says. A factor of 1 would be no change at all."
    )
    others = "It holds against any computation. The factors of several releases about the same data are multiplied."
    if guarantee.hides_presence:
        others = f"The odds between two answers change by at most the square of the factor. {others}"
    return _section("What is promised", element("p", odds), element("p", others), _words(promise_lines(found, computed=False)))


def _hidden(found: "Release") -> str:
    """What the promise hides, of one of those counted."""
    person = found.guarantee.unit == "person"
    if found.guarantee.hides_presence:
        return "whether any one person took part" if person else "whether any one record is in the data"
    return "what any one person answered" if person else "what any one record says"


def _factor(epsilon: float) -> str:
    """e^ε, rounded up to three digits."""
    if epsilon > _LARGEST_EXPONENT:
        return f"e to the power of {epsilon:g}"
    value = exp(epsilon)
    unit = 10.0 ** (floor(log10(value)) - 2)
    return f"{ceil(value / unit * (1.0 - 1e-12)) * unit:,.10g}"


# --- what the intervals mean, and how to check ------------------------------------------------------------------------


def _meaning(found: "Release", shares: Shares) -> Html:
    mass, unit = f"{100.0 * shares.mass:g} %", found.guarantee.unit
    prior = cut(", ".join(map(str, found.prior.exact[:_LISTED])) + (", ..." if found.prior.k > _LISTED else ""))
    noisy = (
        "The noisy counts are not what was counted: they were drawn at random around it, and made to fit together. Use the shares and "
        "their intervals, and not the noisy counts."
    )
    prior_words = f"The prior, what was believed before, is a Dirichlet distribution with the parameters {prior}."
    if shares.reason is not None:
        words = (
            f"A bar holds {mass} of the reported posterior, which is not the probability that the share lies there: the noise is left out."
        )
        return _section("What the intervals mean", element("p", words), element("p", noisy), element("p", prior_words))
    words = (
        f"By all that this release says, a share lies in its interval with probability {mass}. The intervals allow for both reasons to be "
        f"unsure: the noise that was added, and that {unit}s are a sample of those that could have been asked. Each is about one share "
        "by itself: among twenty 95 % intervals about one is expected to miss."
    )
    if any(panel.left_out for panel in shares.panels):
        words += " The largest and smallest of many shares are also those that chance has moved furthest."
    return _section("What the intervals mean", element("p", words), element("p", noisy), element("p", prior_words))


def _check(found: "Release", name: str) -> Html:
    from discreet.inference.capabilities import capabilities

    computed = capabilities(found.mechanism).privacy_loss
    verify = [f"discreet verify {quote(name)}"] if computed else []
    commands = _commands(*verify, f"discreet show {quote(name)}")
    told = (
        "The first computes the privacy loss of the mechanism from its definition and compares it with the promise; the second computes "
        "these numbers again."
        if computed
        else "It computes these numbers again. The privacy loss of this mechanism cannot be computed at this size: the promise rests on "
        "what is said above."
    )
    inside = "The public record of the release is inside this page, and commands of discreet read the page as they read a record."
    limits = "Nobody can see from a page that its numbers were drawn as it says: it is as trustworthy as whoever gave it to you."
    drawn = "" if found.about is None or found.about.software is None else f" The release was drawn by {found.about.software}."
    footer = element("footer", element("p", f"Written by discreet {__version__}.{drawn}", class_="quiet"))
    section = _section("How to check it", element("p", inside), commands, element("p", told), element("p", limits))
    return joined(section, footer)


def _commands(*lines: str) -> Html:
    return element("pre", Html("\n".join(element("code", plain(line)) for line in lines)))
