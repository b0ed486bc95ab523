"""Claims about accuracy: mean errors against data size, prior and ε, and the papers' conclusions. All means are exact."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise, product
from math import exp, inf

from discreet.model.dirichlet import Beta
from discreet_papers.claim import Claim, Condition
from discreet_papers.contenders import Rounding, balanced, build, exact_mean, first_overtaking
from discreet_papers.search import Cases, Search, case, over, search

__all__ = ["CLAIMS"]

_LONG = (100, 300, 1000, 3000, 15_000)
_COARSE = (20, 50, 100, 150, 200, 250, 300, 400, 500, 700, 1000, 3000)
_EVERY = (*range(1, 41), 60, 80, 100, 150, 200, 300, 500, 1000)
"""Small sizes all of them: that is where statements about sizes break."""
_SETTING = {"prior": "unit", "data": "balanced"}


def _ratio(name: str, rival: str, n: int, k: int = 2, epsilon: int = 1) -> float:
    return exact_mean(name, n, k, epsilon) / exact_mean(rival, n, k, epsilon)


def _hit(name: str, n: int, epsilon: int) -> float:
    """Probability of reporting the true posterior, balanced data, unit prior."""
    counts = balanced(n, 2)
    law = build(name, Beta(1, 1), n, epsilon).law(counts)
    return float(law.probability[(law.counts == counts).all(axis=-1)].sum())


def _over_sizes(margins: Mapping[int, float], words: Mapping[str, str], wanted: Callable[[int], bool] = lambda _: True) -> Search:
    """A search over the sizes wanted of those whose margins were computed."""
    kept = {n: margin for n, margin in margins.items() if wanted(n)}
    return search({**_SETTING, **words, "n": over(kept)}, (case(f"n = {n}", margin) for n, margin in kept.items()), ties="broken")


# --- 000 Figures 3 and 4 ----------------------------------------------------------------------------------------------


def _figure_3() -> Claim:
    hits = {n: (_hit("EHDS", n, 1), _hit("LSDim", n, 1)) for n in _EVERY}
    margins = {n: own / rival - 1.0 for n, (own, rival) in hits.items()}
    wins = [n for n in _EVERY if margins[n] > 0.0]
    first, last = min(wins, default=0), max(wins, default=0)
    return Claim(
        "figure-3",
        "000, section 7.2.1, on Figure 3",
        "At ε = 1 EHDS reports the true posterior with larger probability than the baseline LSDim.",
        {f"P(true posterior), {name}, n = {n}": hits[n][i] for n in (2, 10, 100, 1000) for i, name in enumerate(("EHDS", "LSDim"))},
        _over_sizes(margins, {"ε": "1"}),
        (Condition(f"n is {first} to {last}", _over_sizes(margins, {"ε": "1"}, lambda n: first <= n <= last)),) if wins else (),
        "000-figure-3",
    )


def _figure_3_improved() -> Claim:
    means = {n: (exact_mean("LSHist", n), exact_mean("EHDS", n)) for n in _EVERY}
    hits = {n: _hit("LSHist", n, 1) / _hit("EHDS", n, 1) - 1.0 for n in _EVERY}
    margins = {n: min(own / improved - 1.0, hits[n]) for n, (improved, own) in means.items()}
    return Claim(
        "figure-3-improved",
        "000, section 7.2.1, on Figure 3",
        "At ε = 1 the improved LSHist outperforms EHDS, in mean error and in the probability of the true posterior.",
        {f"mean error, {name}, n = {n}": means[n][i] for n in (2, 10, 100, 1000) for i, name in enumerate(("LSHist", "EHDS"))},
        _over_sizes(margins, {"ε": "1"}),
        (Condition("n is not 2", _over_sizes(margins, {"ε": "1"}, lambda n: n != 2)),),
        "000-figure-3",
    )


def _figure_4() -> Claim:
    rivals = ("LSDim", "LSHist")
    means = {(name, n): exact_mean(name, n, 2, 5) for name in ("EHDS", *rivals) for n in _EVERY}
    hits = {(name, n): _hit(name, n, 5) for name in ("EHDS", *rivals) for n in _EVERY}
    by_hit = {n: min(hits["EHDS", n] / hits[rival, n] for rival in rivals) - 1.0 for n in _EVERY}
    by_mean = {n: min(means[rival, n] / means["EHDS", n] for rival in rivals) - 1.0 for n in _EVERY}
    numbers = {f"P(true posterior), {name}, n = {n}": hits[name, n] for n in (100, 1000) for name in ("EHDS", *rivals)}
    numbers |= {f"mean error, {name}, n = {n}": means[name, n] for n in (100, 1000) for name in ("EHDS", *rivals)}
    text = "n >= 2 and better means a larger probability of the true posterior; its mean error is larger from n = {}"
    worse = next((n for n in _EVERY if n > 2 and by_mean[n] < 0.0), 0)
    return Claim(
        "figure-4",
        "000, section 7.2.1, on Figure 4",
        "At ε = 5 in 2 dimensions EHDS performs better than the Laplace mechanisms.",
        numbers,
        _over_sizes({n: min(by_hit[n], by_mean[n]) for n in _EVERY}, {"ε": "5"}),
        (Condition(text.format(worse), _over_sizes(by_hit, {"ε": "5"}, lambda n: n >= 2)),),
        "000-figure-4",
    )


def _figure_4_delta() -> Claim:
    names = ("EHDS-delta", "LSDim", "LSHist")
    means = {(name, n): exact_mean(name, n, 2, 5) for name in names for n in _EVERY}
    margins = {n: min(means[rival, n] for rival in names[1:]) / means[names[0], n] - 1.0 for n in _EVERY}
    words = {"ε": "5", "δ": "1e-8"}
    return Claim(
        "figure-4-delta",
        "000, section 7.2.1, on Figure 4",
        "At ε = 5 in 2 dimensions the (ε, δ) mechanism has a smaller mean error than both Laplace mechanisms.",
        {f"mean error, {name}, n = {n}": means[name, n] for n in (1, 10, 100, 1000) for name in names},
        _over_sizes(margins, words),
        (Condition("n >= 2", _over_sizes(margins, words, lambda n: n >= 2)),),
        "000-figure-4",
    )


# --- 000 Figures 5, 6(a), 6(b) ----------------------------------------------------------------------------------------

_THREE = ("EHDS", "LSDim", "LSHist")
_FALLING: Mapping[int, tuple[int, ...]] = {
    2: (*range(100, 131), *_LONG[1:]),
    3: (*range(100, 181), 300, 600, 601),
    4: (*range(100, 117), 600),
}
_MULTIPLES: Mapping[int, range] = {3: range(102, 601, 3), 4: range(400, 601, 4)}
"""Sizes that are shared evenly, where EHDS's error grows first and falls then."""


def _falling_cases(means: Callable[[str, int, int], float], sizes: Mapping[int, Iterable[int]]) -> Iterator[Cases]:
    """The mean error at a size over that at the next one, less 1, for each number of categories."""
    for k, own in sizes.items():
        for name, (n, following) in product(_THREE, pairwise(own)):
            yield case(f"{name}, k = {k}, n = {n} and {following}", means(name, k, n) / means(name, k, following) - 1.0, error=1e-9)


def _errors_fall() -> Claim:
    @cache
    def mean(name: str, k: int, n: int) -> float:
        return exact_mean(name, n, k)

    # EHDS's mean is largest here, among the sizes that are shared evenly.
    peaks = {k: max(sizes, key=lambda n: mean("EHDS", k, n)) for k, sizes in _MULTIPLES.items()}
    after = {2: _FALLING[2], **{k: [n for n in sizes if n >= peaks[k]][:: 1 if k == 3 else 7] for k, sizes in _MULTIPLES.items()}}
    words = _SETTING | {"ε": "1", "mechanisms": ", ".join(_THREE)}
    everywhere = words | {"n": "; ".join(f"{over(sizes)} for k = {k}" for k, sizes in _FALLING.items())}
    later = words | {"n": "; ".join(f"{over(sizes)} for k = {k}" for k, sizes in after.items())}
    numbers = {f"{name}, k = {k}, n = {n}": mean(name, k, n) for k in _FALLING for name in _THREE for n in (min(_FALLING[k]), 600)}
    numbers |= {f"EHDS, k = 3, n = {n}": mean("EHDS", 3, n) for n in (102, 150, 601)}
    numbers |= {f"EHDS is largest at n, k = {k}": float(n) for k, n in peaks.items()}
    return Claim(
        "errors-fall",
        "000, section 7.2.2, on Figures 5, 6(a) and 6(b)",
        "As the data size increases (from 100), the average errors of EHDS and of the Laplace mechanisms decrease.",
        numbers,
        search(everywhere, _falling_cases(mean, _FALLING), ties="broken"),
        (
            Condition(
                f"k is 2, or n runs through multiples of k from {peaks[3]} (k = 3) or {peaks[4]} (k = 4) on; before, and from a multiple "
                "to the next size, EHDS's error grows",
                search(later, _falling_cases(mean, after), ties="broken"),
            ),
        ),
        "000-figure-6b",
    )


def _small_data() -> Claim:
    sizes = (*range(1, 41), 60, 100, 200, 298, 299)
    ratios = {n: tuple(_ratio("EHDS", rival, n) for rival in ("LSDim", "LSHist")) for n in sizes}
    margins = {n: min(found) - 1.0 for n, found in ratios.items()}
    least = max((n for n in sizes if margins[n] <= 0.0), default=0) + 1
    return Claim(
        "small-data",
        "000, section 7.2.2, on Figure 5",
        "Below 300 records in 2 dimensions both Laplace mechanisms outperform EHDS.",
        {f"mean EHDS / {rival}, n = {n}": ratios[n][i] for n in (4, 10, 100, 298) for i, rival in enumerate(("LSDim", "LSHist"))},
        _over_sizes(margins, {"ε": "1"}),
        (Condition(f"n >= {least}", _over_sizes(margins, {"ε": "1"}, lambda n: n >= least)),) if least < sizes[-1] else (),
        "000-figure-5",
    )


def _smooth_limit(rate: float) -> float:
    """The limit of EHDS's mean error over that of floored Laplace noise of this rate, for many balanced records at ε = 1.

    Near the data H is proportional to the number of steps, so both are mean numbers of steps: EHDS is two-sided geometric with ratio
    e^{-1/4}, and the floor of Laplace noise is 0, 1, … or -1, -2, … by a geometric of ratio e^{-rate}.
    """
    q, noise = exp(-0.25), exp(-rate)
    return (2.0 * q / (1.0 - q * q)) / (noise / (1.0 - noise) + 0.5)


def _crossover_gamma() -> Claim:
    sizes = (300, 301, 350, 500, 1000, 3000, 15_000, 100_000)
    means = {(name, n): exact_mean(name, n) for name in ("EHDS", "LSDim") for n in sizes}
    margins = {n: means["LSDim", n] / means["EHDS", n] - 1.0 for n in sizes}
    numbers = {f"{name}, n = {n}": means[name, n] for n in (300, 1000, 15_000) for name in ("EHDS", "LSDim")}
    numbers |= {"mean EHDS / LSDim, n = 100000": means["EHDS", 100_000] / means["LSDim", 100_000], "its limit": _smooth_limit(0.5)}
    return Claim(
        "crossover-gamma",
        "000, section 7.2.2, on Figure 5",
        "Above 300 records in 2 dimensions EHDS (γ = 1) outperforms the sensitivity-2 Laplace mechanism LSDim at ε = 1.",
        numbers,
        _over_sizes(margins, {"ε": "1"}, lambda n: n > 300),
        (Condition("n >= 1000", _over_sizes(margins, {"ε": "1"}, lambda n: n >= 1000)),),
        "000-figure-5",
    )


def _delta_ahead(sizes: Iterable[int], rounding: Rounding) -> Iterator[Cases]:
    for n in sizes:
        yield case(
            f"n = {n}, noise rounded: {rounding}", exact_mean("LSDim", n, rounding=rounding) / exact_mean("EHDS-delta", n) - 1.0, error=1e-9
        )


def _crossover_delta() -> Claim:
    kinds: tuple[Rounding, Rounding] = ("floor", "nearest")
    found = {
        kind: first_overtaking(lambda n, kind=kind: exact_mean("EHDS-delta", n) < exact_mean("LSDim", n, rounding=kind), _COARSE)  # type: ignore[misc]
        for kind in kinds
    }
    numbers = {f"ahead from n, noise rounded: {kind}": float(n) if n is not None else inf for kind, n in found.items()}
    numbers |= {f"{name}, n = 300": exact_mean(name, 300) for name in ("EHDS-delta", "LSDim")}
    words = _SETTING | {"ε": "1", "δ": "1e-8"}
    stated = (301, 310, 320, 330, 338, 340, 400, 1000, 3000)
    conditions: tuple[Condition, ...] = ()
    if all(found.values()):
        checked = [
            (kind, n) for kind, start in found.items() if start for n in (*range(start, start + 40), 450, 700, 1000, 3000) if n >= start
        ]
        cases = (each for kind, n in checked for each in _delta_ahead([n], kind))
        text = f"n >= {found['floor']}, or {found['nearest']} against noise rounded to the nearest integer"
        sizes = "from there, 40 sizes one by one, then 450, 700, 1,000, 3,000"
        conditions = (Condition(text, search(words | {"n": sizes}, cases, ties="broken")),)
    return Claim(
        "crossover-delta",
        "000, section 7.2.2, read for the (ε, δ) version",
        "Above 300 records in 2 dimensions the (ε, δ) mechanism outperforms LSDim at ε = 1, δ = 10⁻⁸, however the noise is rounded.",
        numbers,
        search(words | {"n": over(stated)}, (each for kind in kinds for each in _delta_ahead(stated, kind)), ties="broken"),
        conditions,
        "000-figure-5-extended",
    )


def _crossover_more() -> Claim:
    sizes = {3: (201, 600), 4: (200, 600)}
    ratios = {(k, n): _ratio("EHDS", "LSDim", n, k) for k, own in sizes.items() for n in own}
    return Claim(
        "crossover-more",
        "000, section 7.2.2, on Figures 6(a) and 6(b)",
        "In 3 and 4 dimensions, too, EHDS (γ = 1) outperforms LSDim for larger data sets.",
        {f"mean EHDS / LSDim, k = {k}, n = {n}": value for (k, n), value in ratios.items()},
        search(
            _SETTING | {"ε": "1", "k": "3, 4", "n": "600"},
            (case(f"k = {k}, n = {n}", 1.0 / value - 1.0) for (k, n), value in ratios.items() if n == 600),
            ties="broken",
        ),
        figure="000-figure-6a",
    )


_CLOSE = 0.05
"""'Approaches' and 'very close' are read as within so much."""


def _approaches() -> Claim:
    sizes = (*_LONG, 100_000)
    ratios = {n: _ratio("EHDS", "LSHist", n) for n in sizes}
    limit = _smooth_limit(1.0)
    return Claim(
        "approaches",
        "000, section 7.2.2, on Figure 5",
        "For large data EHDS asymptotically approaches the improved LSHist (comes within 5 % of its mean error).",
        {"limit of the ratio of mean errors": limit} | {f"mean EHDS / LSHist, n = {n}": ratios[n] for n in sorted(ratios, reverse=True)},
        search(
            _SETTING | {"ε": "1", "n": f"{over(sizes)}, and the limit"},
            [*(case(f"n = {n}", _CLOSE - abs(value - 1.0)) for n, value in ratios.items()), case("the limit", _CLOSE - abs(limit - 1.0))],
            wanted="some",
        ),
        figure="000-figure-5",
    )


# --- priors and conclusions -------------------------------------------------------------------------------------------

_PRIORS = (1, 10, 100, 1000, 10_000, 100_000)
_VERSIONS = ("EHDS", "EHDS-delta")
"""The papers leave open which smooth sensitivity these figures used: a conclusion holds if it does for either."""


def _prior_ratios(name: str, rival: str, priors: tuple[int, ...]) -> dict[int, float]:
    return {a: exact_mean(name, 100, prior=Beta(a, a)) / exact_mean(rival, 100, prior=Beta(a, a)) for a in priors}


def _priors(identifier: str, where: str, name: str, said: str) -> Claim:
    base, improved = _prior_ratios(name, "LSDim", _PRIORS), _prior_ratios(name, "LSHist", _PRIORS)
    wins = [a for a in _PRIORS if base[a] < 1.0]
    start, last = min(wins, default=0), _PRIORS[-1]
    overtakes = [case(f"a = {_PRIORS[0]}, still behind LSDim", base[_PRIORS[0]] - 1.0)]
    overtakes += [case(f"a = {a}, ahead of LSDim", 1.0 - base[a]) for a in _PRIORS if a >= max(start, 10)]
    close = [case(f"a = {last}, close to LSHist", 1.0 + _CLOSE - improved[last])]
    region = {"prior": f"Beta(a, a), a = {over(_PRIORS)}", "data": "(50, 50)", "ε": "1"}
    condition = Condition(f"'very close' is left out; it is ahead of LSDim from a = {start} of those tried", search(region, overtakes))
    return Claim(
        identifier,
        where,
        said,
        {f"mean {name} / LSDim, a = {a}": base[a] for a in _PRIORS} | {f"mean {name} / LSHist, a = {a}": improved[a] for a in _PRIORS},
        search(region, [*overtakes, *close]),
        (condition,),
        "000-figure-6-extended",
    )


def _priors_gamma() -> Claim:
    said = "On data (50, 50) EHDS (γ = 1) overtakes LSDim as the balanced prior grows, and comes very close to LSHist (within 5 %)."
    return _priors("priors-gamma", "000, section 7.2.2, on Figure 6", "EHDS", said)


def _priors_delta() -> Claim:
    said = "On data (50, 50) the (ε, δ) mechanism overtakes LSDim as the balanced prior grows, and comes very close to LSHist (within 5 %)."
    return _priors("priors-delta", "000, section 7.2.2, on Figure 6; 003, Figure 3(a)", "EHDS-delta", said)


def _conclusion_1() -> Claim:
    small = (1, 2, 5)
    base = {name: _prior_ratios(name, "LSDim", small) for name in _VERSIONS}
    improved = {name: _prior_ratios(name, "LSHist", small) for name in _VERSIONS}
    numbers = {f"{name} / LSDim, a = {a}": value for name, own in base.items() for a, value in own.items()}
    numbers |= {f"{name} / LSHist, a = {a}": value for name, own in improved.items() for a, value in own.items()}
    cases = (
        case(f"{name}, for all of these priors", min(min(1.0 - base[name][a], improved[name][a] - 1.0) for a in small))
        for name in _VERSIONS
    )
    return Claim(
        "conclusion-1",
        "000, section 8, case 1",
        "For priors with small parameters EHDS outperforms the baseline LSDim but not the improved LSHist (data (50, 50)).",
        numbers,
        search({"prior": f"Beta(a, a), a = {over(small)}", "data": "(50, 50)", "version": "γ-smooth, β-smooth"}, cases, wanted="some"),
        figure="000-figure-6",
    )


def _conclusion_2() -> Claim:
    priors = (1, 100, 100_000)
    ratios = {name: _prior_ratios(name, "LSHist", priors) for name in _VERSIONS}
    return Claim(
        "conclusion-2",
        "000, section 8, case 2",
        "When the prior's parameters increase, EHDS is comparable with the improved LSHist (a mean error within a quarter of it).",
        {f"mean {name} / LSHist, a = {a}": value for name, own in ratios.items() for a, value in own.items()},
        search(
            {"prior": f"Beta(a, a), a = {over(priors)}", "data": "(50, 50)", "version": "γ-smooth, β-smooth"},
            (case(f"{name}, a = {priors[-1]}", 1.25 - own[priors[-1]]) for name, own in ratios.items()),
            wanted="some",
        ),
        figure="000-figure-6",
    )


# --- the poster -------------------------------------------------------------------------------------------------------


def _poster_ratio(k: int, n: int) -> float:
    return exact_mean("EHDS-delta", n, k) / exact_mean("LSDim", n, k, rounding="nearest")


def _poster_asymptotic() -> Claim:
    """With two categories the ratio tends to 1/cosh(ε/4): both laws become two-sided geometric, one rounded."""
    sizes = {2: (3000, 15_000), 3: (600,), 4: (1600,)}
    ratios = {(k, n): _poster_ratio(k, n) for k, own in sizes.items() for n in own}
    limit = 2.0 / (exp(0.25) + exp(-0.25))
    return Claim(
        "poster-asymptotic",
        "003, conclusion 1",
        "The smooth (ε, δ) mechanism asymptotically outperforms the baseline with a sensitivity proportional to the dimension.",
        {f"mean EHDS-delta / LSDim, k = {k}, n = {n}": value for (k, n), value in ratios.items()} | {"its limit, k = 2": limit},
        search(
            _SETTING | {"ε": "1", "δ": "1e-8", "k and n": "2: 3,000, 15,000 and the limit; 3: 600; 4: 1,600"},
            [*(case(f"k = {k}, n = {n}", 1.0 - value) for (k, n), value in ratios.items()), case("k = 2, the limit", 1.0 - limit)],
            ties="broken",
        ),
        figure="003-figure-2",
    )


_POSTER_GRIDS: Mapping[int, tuple[int, ...]] = {2: (200, 300, 400, 1000), 3: (300, 399, 411, 450), 4: (600, 1008, 1024)}


def _poster_400() -> Claim:
    found: dict[int, int | None] = {}
    for k, grid in _POSTER_GRIDS.items():

        def ahead(n: int, k: int = k) -> bool:
            return exact_mean("EHDS-delta", n, k) < exact_mean("LSDim", n, k, rounding="nearest")

        found[k] = first_overtaking(ahead, grid)
    words = _SETTING | {"ε": "1", "δ": "1e-8"}
    conditions: tuple[Condition, ...] = ()
    if all(found.values()):
        following = [(k, n) for k, start in found.items() if start for n in (*range(start, start + 2 * k), _POSTER_GRIDS[k][-1])]
        text = f"n is at least {', '.join(f'{n} (k = {k})' for k, n in found.items())}"
        cases = (case(f"k = {k}, n = {n}", 1.0 / _poster_ratio(k, n) - 1.0, error=1e-9) for k, n in following)
        conditions = (
            Condition(text, search(words | {"k": "2, 3, 4", "n": "from there, 2k sizes one by one, then 1,000, 450 and 1,024"}, cases)),
        )
    return Claim(
        "poster-400",
        "003, conclusion 2",
        "The (ε, δ) mechanism outperforms LSDim (noise rounded to nearest) when the data size is greater than 400.",
        {f"ahead from n, k = {k}": float(n) if n is not None else inf for k, n in found.items()},
        search(
            words | {"k": "2, 3, 4", "n": "401, and 600 for k = 4"},
            (case(f"k = {k}, n = {n}", 1.0 / _poster_ratio(k, n) - 1.0) for k, n in ((2, 401), (3, 401), (4, 401), (4, 600))),
            ties="broken",
        ),
        conditions,
        "003-figure-2",
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "figure-3": _figure_3,
    "figure-3-improved": _figure_3_improved,
    "figure-4": _figure_4,
    "figure-4-delta": _figure_4_delta,
    "errors-fall": _errors_fall,
    "small-data": _small_data,
    "crossover-gamma": _crossover_gamma,
    "crossover-delta": _crossover_delta,
    "crossover-more": _crossover_more,
    "approaches": _approaches,
    "priors-gamma": _priors_gamma,
    "priors-delta": _priors_delta,
    "conclusion-1": _conclusion_1,
    "conclusion-2": _conclusion_2,
    "poster-asymptotic": _poster_asymptotic,
    "poster-400": _poster_400,
}
