"""The words of a page: what intervals mean, what is promised, in odds too, how it was counted, how to check it, and the record."""

from collections.abc import Sequence
from math import ceil, exp, expm1, floor, log10
from shlex import quote
from typing import TYPE_CHECKING

from discreet.present.how_read import counted_once, given_any, whose
from discreet.present.html import Html, element, isolated, joined
from discreet.present.page_rows import Shares, cut, parameters
from discreet.present.record import counted_words, promise_lines
from discreet.text import plain

if TYPE_CHECKING:
    from discreet.model.dirichlet import Beta, Dirichlet
    from discreet.present.terminal import Lines
    from discreet.record.guarantee import Guarantee
    from discreet.record.release import Release


_NEAR_CERTAINTY = 7
"""The ε from which an even chance can become 99.9 %."""
_LISTED_ON_PAGE = 12
"""Categories, groups or parameters that are listed."""


def section(heading: str, *content: str) -> Html:
    return element("section", element("h2", heading), *content)


def words(lines: "Lines") -> Html:
    """Names, each with what there is to say, as text or as HTML."""
    return element("dl", *(part for word, text in lines for part in (element("dt", word), element("dd", isolated(text)))))


def several(labels: Sequence[object]) -> Html:
    """Labels in a row, the first few if they are many. Each keeps its own direction of writing, and the row its order."""
    shown = [part for label in labels[:_LISTED_ON_PAGE] for part in (Html(", "), isolated(cut(label)))]
    return joined(*shown[1:], f" and {len(labels) - _LISTED_ON_PAGE:,} more" if len(labels) > _LISTED_ON_PAGE else "")


# --- what the intervals mean ------------------------------------------------------------------------------------------


def meaning(found: "Release", shares: Shares) -> Html:
    """Explain the intervals: their probability, and their prior."""
    how, mass, unit = shares.how, f"{100.0 * shares.how.mass:g} %", found.guarantee.unit
    mended = "negative ones were put to 0" if found.n is None else "they were made to fit together"
    noisy = (
        f"The noisy counts are not what was counted: random noise was added, and then {mended}. Use the shares and their intervals, and "
        "not the noisy counts."
    )
    if shares.reason is not None:
        told = (
            f"A dashed bar holds {mass} of the reported posterior, which leaves the noise out. The probability that the share lies there "
            "is not known."
        )
    else:
        reasons = (
            f"They are shares {whose(found, 'population')}. The intervals allow for two reasons to be unsure: random noise was added, and "
            f"the {unit}s that were counted are a sample of all that could have been."
        )
        told = (
            f"With probability {mass} the share lies in its interval. {_of_records(found, shares) if how.of_records else reasons} Each "
            f"interval is about one share by itself: of 100 such intervals about {100.0 * (1.0 - how.mass):.3g} are expected to miss."
        )
    if any(panel.left_out for panel in shares.panels) and shares.reason is None:
        told += " The largest and smallest of many shares are also those that chance has moved furthest."
    return section("What the intervals mean", element("p", told), element("p", noisy), element("p", _prior_words(found, how.reader)))


def _of_records(found: "Release", shares: Shares) -> str:
    """Explain shares of the records: their condition, and the part of the prior."""
    alone = (
        "" if shares.noise_reason else " The interval by the noise alone has no prior: it follows from the law of the noise, for any data."
    )
    further = "".join(f" {part[:1].upper()}{part[1:]}." for part in (given_any(found, shares.none), counted_once(found)) if part)
    return (
        f"They are shares {whose(found, 'records')}, as of a register or a census, and of nothing larger: the noise that was added is the "
        f"only reason to be unsure.{further} That probability is an average over the prior, and a strong prior moves it.{alone}"
    )


def _prior_words(found: "Release", reader: "Dirichlet | None") -> str:
    """Return which prior the intervals are by, and whose it is."""
    own = getattr(found.mechanism, "priors", ())
    others = f" ({len(own):,} groups have one of their own)" if own else ""
    released = f"{_law(found.prior)}{others}"
    if reader is None:
        return f"The prior, which says what was believed before the data, was chosen for the release: {released}."
    return (
        f"The prior, which says what was believed before the data, is not the one of the release. Whoever made this page chose "
        f"{_law(reader)}. The prior of the release is {released}, and gives other shares and intervals."
    )


def _law(prior: "Dirichlet | Beta") -> str:
    return f"a Dirichlet distribution with the parameters {parameters(prior)}"


# --- the promise ------------------------------------------------------------------------------------------------------


def promise(found: "Release", read: str = "this page") -> Html:
    """Explain what nobody can learn from the page, or from one table of it, under the name given."""
    guarantee = found.guarantee
    lines = words([line for line in promise_lines(found, computed=False) if line[0] != "Mechanism"])
    if guarantee.basis == "none":
        others = found.mechanism._publisher
        warning = "Nothing is promised: the numbers may tell what single records say."
        if others is not None:
            warning = f"Others published these counts: whatever is promised is promised by {others}, and discreet promises nothing."
        return section("What is promised", element("p", warning, class_="warn"), lines)
    during = "" if guarantee.period is None else f" in one {guarantee.period.every}"
    noise = f"Random noise was added to the counts, which limits what can be learnt about any single {guarantee.unit}{during}."
    odds = element("p", f"{noise} {_odds(found, read) if guarantee.delta == 0 else _slack(guarantee)}")
    others = (
        "No computation with these numbers can weaken the promise. If several releases are about the same data, multiply their factors."
    )
    if guarantee.hides_presence:
        others = f"Between two answers of someone who took part the odds change by at most the square of the factor. {others}"
    return section("What is promised", odds, element("p", others), lines)


def _odds(found: "Release", read: str) -> str:
    """Explain ε alone to someone who fears a guess."""
    epsilon = found.guarantee.epsilon
    return (
        f"Suppose that someone has a guess about {hidden(found)}. Even if they know everything about all the others, reading {read} "
        f"changes the odds of that guess by a factor of at most {odds_factor(epsilon)}.{_example(epsilon)} That is what "
        f"{found.guarantee.level} means; a factor of 1 would be no change at all."
    )


def _slack(guarantee: "Guarantee") -> str:
    """Explain ε and δ together: a bound on probabilities, and none on odds."""
    differ = "come or gone" if guarantee.hides_presence else "said something else"
    return (
        f"Had one of them {differ}, the probability of publishing any given set of numbers would differ by a factor of at most "
        f"{odds_factor(guarantee.epsilon)} and an amount of at most {guarantee.delta:.2g}. That is what {guarantee.level} means."
    )


def hidden(found: "Release") -> str:
    """Describe what the promise hides of one of those counted."""
    person = found.guarantee.unit == "person"
    if found.guarantee.hides_presence:
        return "whether a certain person took part" if person else "whether a certain record is in the data"
    return "what a certain person answered" if person else "what a certain record says"


def _example(epsilon: float) -> str:
    """Give the change of even odds as an example; nothing where that would be certainty."""
    return f" A guess that was 50 % likely to be right becomes at most {surest(0.5, epsilon)} likely." if epsilon < _NEAR_CERTAINTY else ""


# --- how it was counted, and how to check it --------------------------------------------------------------------------


def counting(found: "Release") -> Html:
    """Return the words about how records were counted, if the record says it."""
    told = counted_words(found)
    said = isolated(f"{told[:1].upper()}{told[1:]}.") if told else "The record does not say how records were counted."
    return section("How it was counted", element("p", said))


def checking(found: "Release", name: str, options: Sequence[str]) -> Html:
    """The commands that compute the numbers again; `options` are those that the page was made with."""
    from discreet.inference.capabilities import capabilities

    computed = capabilities(found.mechanism).privacy_loss
    verify = [f"discreet verify {quote(name)}"] if computed else []
    show = " ".join(["discreet show", quote(name), *map(quote, options)])
    told = (
        "The first command computes the privacy loss of the mechanism from its definition and compares it with the promise. The second "
        "computes the shares and intervals of this page again."
        if computed
        else "The command computes the shares and intervals of this page again. The privacy loss of this mechanism cannot be computed at "
        "this size: the promise rests on what is said above."
    )
    limits = (
        "No page can prove that its numbers were drawn as it says. It is as trustworthy as whoever published it: compare it with the copy "
        "that they publish."
    )
    return section("How to check it", _commands(*verify, show), element("p", told), element("p", limits))


def _commands(*lines: str) -> Html:
    return element("pre", Html("\n".join(element("code", plain(line)) for line in lines)))


def record(found: "Release") -> Html:
    """Return the part of the page that holds the record for programs."""
    inside = (
        "This page holds the public record of the release, which is all that was published. Commands of discreet read the page as they "
        "read the record."
    )
    software = None if found.about is None else found.about.software
    lines = [("Mechanism", found.mechanism.title), *([] if software is None else [("Drawn by", software)])]
    return section("The record", element("p", inside), words(lines))


_LARGEST_WRITTEN_EXPONENT = 30
"""The largest exponent of e whose power is written out as a number."""
_ODDS_DIGITS = 3
_NO_DOUBT = 1e-6


def odds_factor(epsilon: float) -> str:
    """e^ε, by which odds change at most, rounded up to three digits."""
    if epsilon > _LARGEST_WRITTEN_EXPONENT:
        return f"e to the power of {epsilon:g}"
    value = exp(epsilon)
    unit = 10.0 ** (floor(log10(value)) - _ODDS_DIGITS + 1)
    return f"{ceil(value / unit * (1.0 - 1e-12)) * unit:,.10g}"


def surest(before: float, epsilon: float) -> str:
    """Return how sure of something anyone can become who held it for this likely, rounded up, so that nothing is understated.

    Odds p/(1 - p) times e^ε are those of 1 - (1 - p)/(1 + p (e^ε - 1)). What is left to certainty keeps two digits.
    """
    doubt = (1.0 - before) / (1.0 + before * expm1(min(epsilon, _LARGEST_WRITTEN_EXPONENT)))
    if doubt < _NO_DOUBT:
        return "practically certain"
    decimals = max(1, -floor(log10(100.0 * doubt)) + 1)
    sure = ceil(100.0 * (1.0 - doubt) * 10**decimals - 1e-9) / 10**decimals
    return f"{sure:.{decimals}f}\u00a0%"
