"""Claims about the lemmas of 002 and 004, and about where the public research code differs from the papers."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from typing import Literal

import numpy as np
from flint import arb

from discreet.mechanisms.laplace import LaplaceZhang
from discreet.model.dirichlet import Beta
from discreet.model.distances import hellinger_ball
from discreet.model.sensitivity import Smoothing, local_sensitivities, local_sensitivity, smooth_sensitivities
from discreet_papers.claim import Claim, Condition
from discreet_papers.laws import Laws, pair
from discreet_papers.lemmas import Sides, Tail, dilation, dilation_tail, laplace_dilation, sliding
from discreet_papers.losses import poster_beta, research_local_loss, research_local_sensitivities, research_zhang_at_most
from discreet_papers.search import Cases, Search, case, each, over, search
from discreet_papers.sensitivities import datasets, local_ball

__all__ = ["CLAIMS"]

# --- sliding and dilation ---------------------------------------------------------------------------------------------

_PRIORS = ("0.0001", "1", "50")
_SIZES = (1, 4, 40)
_EPSILONS = (0.01, 1.0, 20.0)
_DELTAS = (0.5, 1e-8)
_REGION = {
    "prior": f"Beta(a, a), a = {', '.join(_PRIORS)}",
    "n": over(_SIZES),
    "ε": over(_EPSILONS),
    "δ": over(_DELTAS),
    "data": "an end, a quarter, the middle",
    "scores": "those of all candidates",
}


def _lemma_cases(lemma: Callable[[Beta, int, float, float, int, float], Sides], shares: tuple[float, ...]) -> Iterator[Cases]:
    """The right side of the lemma less its left side, in units of δ/2, at the score of every candidate."""

    def at(a: str, n: int, epsilon: float, delta: float, share: float, x: int) -> Cases:
        margins = lemma(Beta(a, a), n, epsilon, delta, x, share).margin / (delta / 2.0)
        return Cases(margins, lambda _: f"Beta({a}, {a}), {pair(x, n)}, ε = {epsilon:g}, δ = {delta:g}, share {share:g}")

    for a, n, epsilon, delta, share in product(_PRIORS, _SIZES, _EPSILONS, _DELTAS, shares):
        yield from (at(a, n, epsilon, delta, share, x) for x in sorted({0, n // 4, n // 2}))


def _literal_sliding() -> tuple[Cases, float]:
    """Δ = S/2 at n = 100, ε = 1, δ = 10⁻⁸: a score that no candidate has is taken with probability 0."""
    found = sliding(Beta(1, 1), 100, 1.0, 1e-8, 50, 0.5)
    moved = found.score[:, None] + 0.5 * local_sensitivity(Beta(1, 1), [50, 50])
    unattained = np.abs(moved - found.score[None, :]).min(axis=1) > 1e-9
    margins = 1.0 - found.left[unattained] / 0.5e-8
    return Cases(margins, lambda i: f"(50, 50), the score {found.score[unattained][i]:.6g}"), float((margins < 0.0).mean())


def _sliding() -> Claim:
    literal, share = _literal_sliding()
    return Claim(
        "sliding",
        "004, Lemma 3.2",
        "Sliding: P(u = s) <= e^{ε/2} P(u = s + Δ) + δ/2 for the smooth exponential mechanism.",
        {"share of attained scores s, Δ = S/2, where P(u = s) > δ/2 and P(u = s + Δ) = 0": share},
        search(
            {"data": "(50, 50), Beta(1, 1)", "ε": "1", "δ": "1e-8", "Δ": "S/2", "scores": "those whose s + Δ no candidate has"}, [literal]
        ),
        (
            Condition(
                "the probability is read as a function of the score, attained or not, and |Δ| <= S(x)",
                search(_REGION | {"Δ/S": "-1, 1"}, _lemma_cases(sliding, (-1.0, 1.0))),
            ),
        ),
        "004-lemmas",
    )


def _dilation() -> Claim:
    found = search(_REGION | {"λ/β": "-1, 0.5, 1"}, _lemma_cases(dilation, (-1.0, 0.5, 1.0)))
    return Claim(
        "dilation",
        "004, Lemma 3.3",
        "Dilation: P(u = z) <= e^{ε/2} P(u = e^λ z) + δ/2 for |λ| <= β, the probability read as a function of the score.",
        {"largest excess / (δ/2)": 1.0 - found.worst},
        found,
        figure="004-lemmas",
    )


_TAIL_WORLDS = tuple(product(("0.0001", "1", "50"), (1, 4, 40, 100), (0.01, 1.0, 5.0, 20.0, 50.0), (0.5, 1e-3, 1e-8), (0.1, 1.0)))
_TAIL_REGION = {
    "prior": "Beta(a, a), a = 0.0001, 1, 50",
    "n": "1, 4, 40, 100",
    "ε": "0.01, 1, 5, 20, 50",
    "δ": "0.5, 1e-3, 1e-8",
    "λ/β": "0.1, 1",
    "data": "an end, a quarter, the middle",
}


@cache
def _tails() -> tuple[tuple[str, float, float, Tail], ...]:
    """Every setting in words, its ε and δ, and what the proof of 004 Lemma 3.3 speaks of there."""
    return tuple(
        (
            f"Beta({a}, {a}), {pair(x, n)}, ε = {epsilon:g}, δ = {delta:g}, λ/β = {share:g}",
            epsilon,
            delta,
            dilation_tail(Beta(a, a), n, epsilon, delta, x, share),
        )
        for a, n, epsilon, delta, share in _TAIL_WORLDS
        for x in sorted({0, n // 4, n // 2})
    )


def _dilation_tail() -> Claim:
    shown = dilation_tail(Beta(1, 1), 40, 20.0, 0.5, 20, 1.0)
    return Claim(
        "dilation-tail",
        "004, Lemma 3.3, the tail bound of its proof",
        "P(u <= S/(1-e^λ)) = (n+1) e^{ε/(2(1-e^λ))}, which is at most δ/2 for 0 < λ <= β.",
        {"P(u <= S/(1-e^λ)), (20, 20), ε = 20, δ = 0.5, λ = β": shown.probability, "(n+1) e^{ε/(2(1-e^λ))}": shown.bound},
        search(_TAIL_REGION, (case(at, -abs(tail.probability / tail.bound - 1.0)) for at, _, _, tail in _tails())),
        (
            Condition(
                "= is read as <=",
                search(
                    _TAIL_REGION,
                    (case(at, 1.0 - tail.probability / min(tail.bound, delta / 2.0)) for at, _, delta, tail in _tails()),
                ),
            ),
        ),
        "004-lemmas",
    )


def _dilation_event() -> Claim:
    """The log-ratio is ε/2 at the score S/(1-e^λ) and grows as scores fall."""

    def cases(side: Literal["below", "above"]) -> Iterator[Cases]:
        for at, epsilon, _, tail in _tails():
            yield Cases(1.0 - getattr(tail, side) / (epsilon / 2.0), lambda _, at=at: at)  # type: ignore[misc]

    below, above = (search(_TAIL_REGION | {"scores": "those of all candidates in G"}, cases(side)) for side in ("below", "above"))
    return Claim(
        "dilation-event",
        "004, Lemma 3.3, the event of its proof",
        "On the event G that u <= S/(1-e^λ), with λ > 0, the log-ratio of h(z) and h(e^λ z) is at most ε/2.",
        {"scores in G": below.settings, "of them with a larger log-ratio": below.broken, "scores outside G": above.settings},
        below,
        (Condition("G is read as its complement, u > S/(1-e^λ), whose probability is the 1 - δ/2 that is stated of G", above),),
        "004-lemmas",
    )


_LEVELS = (0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0, 50.0)
_SMALL = (1e-12, 1e-8, 1e-5, 1e-3, 0.01, 0.03, 0.1)
_ANY = (*_SMALL, 0.2, 0.3, 0.5, 0.7, 0.74, 0.8, 0.9, 0.99)


def _noise_search(numerator: float, part: float, most: float, deltas: tuple[float, ...] = _ANY) -> Search:
    """Search for an ε and a δ with an excess, over the worst set S, above this part of δ."""
    levels = tuple(e for e in _LEVELS if e <= most)
    region = {"ε": over(levels), "δ": over(deltas), "S": "the worst set", "λ": "the worst of both signs"}
    cases = (case(f"ε = {e:g}, δ = {d:g}", 1.0 - laplace_dilation(e, d, numerator) / (part * d)) for e, d in product(levels, deltas))
    return search(region, cases)


def _noise_claim(
    identifier: str,
    where: str,
    said: str,
    numerator: float,
    allowed: Literal["δ", "(δ/2)"],
    conditions: Mapping[str, tuple[float, tuple[float, ...]]],
) -> Claim:
    """A lemma for |λ| <= ε/(2 ln(numerator/δ)) with this excess allowed; conditions give the largest ε and the values of δ."""
    part = 1.0 if allowed == "δ" else 0.5
    shown = ((1.0, 1e-8), (5.0, 1e-3), (8.0, 1e-3), (20.0, 1e-3), (20.0, 1e-8))
    return Claim(
        identifier,
        where,
        said,
        {f"largest excess / {allowed}, ε = {e:g}, δ = {d:g}": laplace_dilation(e, d, numerator) / (part * d) for e, d in shown},
        _noise_search(numerator, part, 50.0),
        tuple(Condition(text, _noise_search(numerator, part, most, deltas)) for text, (most, deltas) in conditions.items()),
    )


def _laplace_dilation() -> Claim:
    said = "Dilation of Laplace noise: P(z in S) <= e^{ε/2} P(z in e^λ S) + δ/2 for |λ| <= ε/(2 ln(2/δ)) and every set S."
    conditions = {"ε <= 5 and δ <= 0.1 (for larger δ, ε <= 2)": (5.0, _SMALL), "ε <= 2": (2.0, _ANY)}
    return _noise_claim("laplace-dilation", "004, Lemma 3.1; 002, section 4", said, 2.0, "(δ/2)", conditions)


def _laplace_dilation_three() -> Claim:
    said = "The same for |λ| <= ε/(2 ln(3/δ)), which is what the proof uses."
    return _noise_claim("laplace-dilation-3", "004, Lemma 3.1, the β of its proof", said, 3.0, "(δ/2)", {"ε <= 4": (4.0, _ANY)})


def _laplace_dilation_draft() -> Claim:
    said = "P(z in S) <= e^{ε/2} P(z in e^λ S) + δ for |λ| <= ε/(2 ln(3/δ)) and every set S: the draft's proof ends with δ for δ/2."
    return _noise_claim("laplace-dilation-002", "002, section 4, the end of the proof", said, 3.0, "δ", {"ε <= 8": (8.0, _ANY)})


# --- the public research code -----------------------------------------------------------------------------------------


def _research_local() -> Claim:
    sizes = (2, 10, 20, 50, 100)

    def at(n: int) -> Cases:
        laws, counts = Laws.every(Beta(1, 1), n), datasets(n)

        def exact(i: int) -> arb:
            return -abs(local_ball(Beta(1, 1), counts[n // 2]) - local_ball(Beta(1, 1), counts[i]))

        return Cases(-np.abs(laws.local[n // 2] / laws.local - 1.0), lambda i: pair(i, n), exact=exact)

    return Claim(
        "research-ehdl",
        "001, Algorithm 5, as the public research code runs it",
        "EHDL takes the local sensitivity of the data. (The code takes that of balanced data, for all data.)",
        {f"loss / ε of the code's EHDL, n = {n}": research_local_loss(Beta(1, 1), n, 1.0) for n in sizes[1:]},
        search({"prior": "Beta(1, 1)", "n": over(sizes), "data": "every dataset"}, each(at, sizes)),
        figure="000-figure-7",
    )


def _research_zhang() -> Claim:
    """The code publishes the prior plus clipped noise, and does not add the counts."""
    sizes, levels = (1, 4, 20), ("0.1", "1", "5")

    def cases() -> Iterator[Cases]:
        for n, epsilon in product(sizes, levels):
            mechanism = LaplaceZhang(Beta(1, 1), n, epsilon)
            for x in range(n + 1):
                law = mechanism.law([x, n - x])
                within = float(law.probability[law.counts[:, 0] <= x].sum())
                yield case(
                    f"{pair(x, n)}, ε = {epsilon}", -abs(research_zhang_at_most(x, n, float(epsilon)) - within), exact=lambda: arb(-1)
                )

    return Claim(
        "research-zhang",
        "001, Algorithm 1, as the public research code runs it",
        "LSZhang adds its noise to the counts: its law of the first count is that of Algorithm 1. (The code leaves the counts out.)",
        {"probability that the code reports the prior itself, any data": research_zhang_at_most(0, 100, 1.0) ** 2},
        search({"n": over(sizes), "ε": over(levels), "data": "every dataset", "compared": "P(first count <= x)"}, cases()),
        figure="000-figure-7",
    )


def _research_ball(prior: Beta, x: int, n: int) -> arb:
    """The larger of the code's two steps from (x, n - x)."""
    own, found = [prior.exact[0] + x, prior.exact[1] + n - x], arb(0)
    for move in (1, -1):
        other = [own[0] + move, own[1] - move]
        if min(other) > 0:
            found = found.max(hellinger_ball(own, other))
    return found


def _research_steps() -> Claim:
    sizes = (1, 2, 5, 20, 100)

    def at(a: str, n: int) -> Cases:
        prior, counts = Beta(a, a), datasets(n)
        ratio = research_local_sensitivities(prior, n) / local_sensitivities(prior, counts)

        def exact(x: int) -> arb:
            return -abs(_research_ball(prior, x, n) - local_ball(prior, counts[x]))

        return Cases(-np.abs(ratio - 1.0), lambda i: f"Beta({a}, {a}), {pair(i, n)}", exact=exact)

    def found(*priors: str) -> Search:
        return search({"prior": f"Beta(a, a), a = {', '.join(priors)}", "n": over(sizes), "data": "every dataset"}, each(at, priors, sizes))

    return Claim(
        "research-sensitivity",
        "000, section 4.2.2, as the public research code runs it",
        "The local sensitivity is a maximum over neighbouring datasets. (The code steps on while the posterior's parameter is above 0.)",
        {
            "the code's, (0, 20) under Beta(2, 2)": float(research_local_sensitivities(Beta(2, 2), 20)[0]),
            "the local sensitivity there": local_sensitivity(Beta(2, 2), [0, 20]),
        },
        found("0.1", "1", "1.5", "2", "30"),
        (Condition("no prior parameter is above 1", found("0.001", "0.1", "0.5", "1")),),
        "000-figure-1",
    )


_CODE_BETA = 0.01


def _research_beta() -> Claim:
    sizes, levels, deltas = (10, 100, 1000), (0.1, 0.5, 1.0, 5.0), (1e-8, 1e-10)
    values = {(n, e, d): poster_beta(n, e, d) for n, e, d in product(sizes, levels, deltas)}
    balanced = np.array([[50, 50]])
    smooth = {b: float(smooth_sensitivities(Beta(1, 1), balanced, Smoothing(beta=b))[0]) for b in (_CODE_BETA, values[100, 1.0, 1e-8])}
    return Claim(
        "research-beta",
        "003, the mechanism, as the public research code runs it",
        "The smooth sensitivity has β = ln(1 - ε/(2 ln(δ/(2(n+1))))). (The code has β = 0.01, whatever ε, δ and n are.)",
        {
            "β, n = 100, ε = 0.1, δ = 1e-8": values[100, 0.1, 1e-8],
            "β, n = 100, ε = 1, δ = 1e-8": values[100, 1.0, 1e-8],
            "β, n = 100, ε = 5, δ = 1e-8": values[100, 5.0, 1e-8],
            "S(50, 50) with the code's β over that of ε = 1": smooth[_CODE_BETA] / smooth[values[100, 1.0, 1e-8]],
        },
        search(
            {"n": over(sizes), "ε": over(levels), "δ": over(deltas)},
            (case(f"n = {n}, ε = {e:g}, δ = {d:g}", -abs(_CODE_BETA / value - 1.0)) for (n, e, d), value in values.items()),
        ),
        figure="003-figure-1",
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "sliding": _sliding,
    "dilation": _dilation,
    "dilation-tail": _dilation_tail,
    "dilation-event": _dilation_event,
    "laplace-dilation": _laplace_dilation,
    "laplace-dilation-3": _laplace_dilation_three,
    "laplace-dilation-002": _laplace_dilation_draft,
    "research-ehdl": _research_local,
    "research-zhang": _research_zhang,
    "research-sensitivity": _research_steps,
    "research-beta": _research_beta,
}
