"""Claims about sensitivities of the Hellinger distance, and about its relation to total variation."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache, partial

import numpy as np
from flint import arb

from discreet.arrays import Counts
from discreet.model import sensitivity
from discreet.model.datasets import simplex_points
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger_ball
from discreet.model.sensitivity import global_steps, steps_ball
from discreet.numerics.balls import ball
from discreet_papers.claim import Claim, Condition
from discreet_papers.search import Cases, ball_case, case, each, over, relative, search, together
from discreet_papers.sensitivities import datasets, inverse_smooth, largest_changes, local_ball, slipped
from discreet_papers.theory import PAPER_SENSITIVITY

__all__ = ["CLAIMS"]

Prior = Beta | Dirichlet
_UNIT = Beta(1, 1)


# --- sensitivities ----------------------------------------------------------------------------------------------------


def _constant_cases(worlds: list[tuple[Prior, int]]) -> Iterator[Cases]:
    def at(world: tuple[Prior, int]) -> Cases:
        prior, n = world

        def exact() -> arb:
            return -abs(steps_ball(global_steps(prior, n)) - (1 - arb.pi() / 4).sqrt())

        return case(f"{prior!r}, n = {n}", -abs(sensitivity.global_sensitivity(prior, n) / PAPER_SENSITIVITY - 1.0), exact=exact)

    return each(at, worlds)


def _global_constant() -> Claim:
    sizes = (1, 2, 10, 100, 10_000)
    priors: tuple[Prior, ...] = (
        *(Beta(a, a) for a in ("0.0001", "0.5", 1, 2, 100)),
        *(Dirichlet([a, b, c]) for a, b, c in ((1, 1, 1), ("0.5", "0.5", "0.5"), (2, 2, 2), (1, 2, 3), ("0.1", 1, 1))),
        Dirichlet(["0.5"] * 4),
    )
    units: tuple[Prior, ...] = (*(Dirichlet([1, 1, c]) for c in (1, "1.5", 7, 1000)), Dirichlet([3, 1, 9, 1]), Dirichlet.uniform(8))
    shown = {
        "Beta(1,1), n = 1": sensitivity.global_sensitivity(Beta(1, 1), 1),
        "Beta(1,1), n = 100": sensitivity.global_sensitivity(Beta(1, 1), 100),
        "Dir(1,1,1), n = 100": sensitivity.global_sensitivity(Dirichlet.uniform(3), 100),
        "Dir(1/2,1/2,1/2), n = 100": sensitivity.global_sensitivity(Dirichlet.jeffreys(3), 100),
        "Dir(2,2,2), n = 100": sensitivity.global_sensitivity(Dirichlet([2, 2, 2]), 100),
        "Beta(0.0001,0.0001), n = 100": sensitivity.global_sensitivity(Beta("0.0001", "0.0001"), 100),
    }
    met = [(prior, n) for prior in units for n in sizes] + [(Beta(1, 1), 1)]
    return Claim(
        "global-sensitivity",
        "001, notation, and Theorem 4.5",
        "The global sensitivity of the Hellinger distance is sqrt(1 - π/4).",
        {"sqrt(1 - π/4)": PAPER_SENSITIVITY, **shown},
        search(
            {"prior": f"{len(priors)} priors of 2 to 4 categories", "n": over(sizes)},
            _constant_cases([(prior, n) for prior in priors for n in sizes]),
        ),
        (
            Condition(
                "the two smallest prior parameters are 1, and k >= 3 or n = 1",
                search(
                    {"prior": "7 such priors of 2, 3, 4 and 8 categories", "n": f"{over(sizes)} (1 for Beta(1, 1))"}, _constant_cases(met)
                ),
            ),
        ),
        "000-figure-1",
    )


_PUBLISHED_EDGE = 0.161


def _published_edge() -> Claim:
    """The published curve comes from a slip: the log of the Beta function is taken as Σ lnΓ(α_i) / ln Σα."""
    n = 100
    true = sensitivity.local_sensitivity(_UNIT, [0, n])
    at = f"({0}, {n}) under Beta(1, 1)"
    return Claim(
        "published-edge",
        "003, Figure 1",
        f"At the edge, {n} records of one kind under Beta(1,1), the sensitivity of the Hellinger distance is about {_PUBLISHED_EDGE}.",
        {
            "local sensitivity at (0, 100)": true,
            "with lnΓ(Σα) divided by instead of subtracted, as ln Σα": float(slipped(np.array([true]), n)[0]),
        },
        search({"data": at}, [case(at, 5e-4 - abs(true - _PUBLISHED_EDGE))]),
        figure="003-figure-1",
    )


def _edge_cases(sizes: range) -> Iterator[Cases]:
    """LS at the edge over LS away from it (not a neighbour of the edge, if there is such a dataset), less 1."""

    def at(n: int) -> Cases:
        counts = datasets(n)
        local, away = sensitivity.local_sensitivities(_UNIT, counts), np.arange(2, n - 1) if n >= 4 else np.array([1])

        def exact(i: int) -> arb:
            return local_ball(_UNIT, counts[0]) - local_ball(_UNIT, counts[away[i]])

        return Cases(relative(local[0], local[away]), lambda i: f"n = {n}, x = {away[i]}", exact=exact)

    return each(at, sizes)


def _edge() -> Claim:
    local = {n: sensitivity.local_sensitivities(_UNIT, datasets(n)) for n in (4, 10, 100, 1000)}
    region = {"prior": "Beta(1, 1)", "data": "every dataset"}
    return Claim(
        "edge",
        "003, motivation 2; 000, section 3",
        "Under Beta(1,1) the sensitivity of H is largest at the edge and lower away from it.",
        {f"edge / lowest, n = {n}": float(found[0] / found.min()) for n, found in local.items()},
        search(region | {"n": "2 to 150"}, _edge_cases(range(2, 151)), ties="broken"),
        (
            Condition(
                "n >= 4; with 2 or 3 records all datasets have the same",
                search(region | {"n": "4 to 150"}, _edge_cases(range(4, 151)), ties="broken"),
            ),
        ),
        "003-figure-1",
    )


_VANISHED = 0.01
"""A sensitivity that tends to 0 is read as one below this at the largest size tried."""
_MANY = 10**9


def _vanishing() -> Claim:
    """At the edge LS tends to the distance of two gamma laws, of shapes 1 and 2: sqrt(1 - Γ(3/2)) = sqrt(1 - sqrt(π)/2)."""
    kinds: Mapping[str, Callable[[int], int]] = {
        "no record of one kind": lambda _: 0,
        "one record of it": lambda _: 1,
        "ten": lambda _: 10,
        "sqrt(n)": lambda n: round(n**0.5),
        "balanced": lambda n: n // 2,
    }
    sizes = (10, 1000, 10**6, _MANY)

    def local(first: int, n: int) -> float:
        return sensitivity.local_sensitivity(_UNIT, [first, n - first])

    def bounded() -> Iterator[Cases]:
        """With m records of the rarer kind, LS² is at most 1/(4m)."""
        for n in (*range(2, 61), 1000, 10**6, _MANY):
            for m in sorted({m for m in (*range(1, 31), 1000, n // 3, n // 2) if 1 <= m <= n // 2}):
                yield case(f"({m}, {n - m})", 1.0 - 4.0 * m * local(m, n) ** 2)

    return Claim(
        "local-vanishes",
        "001, proof of Theorem 4.5",
        "As n grows, the local sensitivity LS(x) tends to 0 (read as: is below 0.01 with a billion records).",
        {f"LS, {kind}, n = {n}": local(place(n), n) for kind, place in kinds.items() for n in sizes}
        | {"its limit at the edge": float(np.sqrt(1.0 - np.sqrt(np.pi) / 2.0))},
        search(
            {"prior": "Beta(1, 1)", "n": f"{_MANY:,}", "records of the rarer kind": ", ".join(kinds)},
            (case(f"{kind}, n = {_MANY:,}", _VANISHED - local(place(_MANY), _MANY)) for kind, place in kinds.items()),
        ),
        (
            Condition(
                "the records of the rarer kind grow with n: with m of them LS² is at most 1/(4m)",
                search({"prior": "Beta(1, 1)", "n": "2 to 60, 1,000, 10⁶, 10⁹", "m": "1 to 30, 1,000, a third, a half of n"}, bounded()),
            ),
        ),
        "003-figure-1",
    )


_LOCAL_WORLDS: tuple[tuple[Prior, int], ...] = (
    (Beta(1, 1), 20),
    (Beta("0.2", 3), 12),
    (Beta("0.0001", 40), 8),
    (Beta(300, 300), 10),
    (Dirichlet.uniform(3), 6),
    (Dirichlet(["0.3", "2", "5"]), 6),
    (Dirichlet(["0.001", "30", "30"]), 4),
    (Dirichlet.jeffreys(4), 3),
)


def _local_cases() -> Iterator[Cases]:
    def at(prior: Prior, x: Counts) -> Cases:
        found = largest_changes(prior, x)
        rest = np.nonzero(found.away > 0)[0]
        r = found.candidates[rest]

        def exact(i: int) -> arb:
            return local_ball(prior, x) - _change_ball(prior, x, r[i])

        margins = relative(sensitivity.local_sensitivity(prior, x), found.change[rest])
        return Cases(margins, lambda i: f"{prior!r}, x = {x.tolist()}, r = {r[i].tolist()}", exact=exact)

    return (at(prior, x) for prior, n in _LOCAL_WORLDS for x in simplex_points(n, prior.k))


def _change_ball(prior: Prior, x: Counts, r: Counts) -> arb:
    """The largest |H(x, r) - H(x', r)| over neighbours x' of x."""

    def distance(counts: Counts) -> arb:
        own, other = ([a + int(c) for a, c in zip(prior.exact, point, strict=True)] for point in (counts, r))
        return hellinger_ball(own, other)

    moves = [
        np.eye(prior.k, dtype=np.int64)[j] - np.eye(prior.k, dtype=np.int64)[i]
        for i in range(prior.k)
        if x[i]
        for j in range(prior.k)
        if i != j
    ]
    here, found = distance(x), arb(0)
    for move in moves:
        found = found.max(abs(here - distance(x + move)))
    return found


def _local_at_data() -> Claim:
    found = search(
        {"prior": f"{len(_LOCAL_WORLDS)} priors of 2 to 4 categories", "n": "3 to 20", "data and r": "every dataset, every r ≠ x"},
        _local_cases(),
    )
    return Claim(
        "local-at-data",
        "000, section 7.1",
        "The maximum over candidates r in the local sensitivity is always reached at r = x, so it is a maximum over neighbours alone.",
        {"settings": found.settings, "as large elsewhere (at a neighbour of x)": found.ties, "larger elsewhere": found.broken},
        found,
        figure="000-figure-2",
    )


def _lipschitz_cases() -> Iterator[Cases]:
    worlds: tuple[tuple[Prior, int], ...] = (
        (Beta(1, 1), 60),
        (Beta("0.01", 3), 40),
        (Beta(200, 200), 20),
        (Dirichlet.uniform(3), 10),
        (Dirichlet([30, 30, 30]), 8),
        (Dirichlet.jeffreys(4), 4),
    )

    def at(world: tuple[Prior, int], gamma: float) -> Cases:
        prior, n = world
        points, found = simplex_points(n, prior.k), inverse_smooth(prior, n, gamma)
        x, y = np.concatenate([found.pairs, found.pairs[:, ::-1]]).T
        same = found.reached[x] == found.reached[y]
        # Reached at the same dataset, the change is a whole number of γ.
        change = np.where(same, found.distance[x] - found.distance[y], (found.value[x] - found.value[y]) / gamma)

        @cache
        def inverse(place: int) -> arb:
            return 1 / local_ball(prior, points[place])

        def exact(i: int) -> arb:
            whole = int(found.distance[x[i]] - found.distance[y[i]])
            own, other = (int(found.reached[place]) for place in (x[i], y[i]))
            difference = arb(0) if own == other else inverse(own) - inverse(other)
            return 1 - whole - difference / ball(Fraction(repr(gamma)))

        return Cases(1.0 - change, lambda _: f"{prior!r}, n = {n}, γ = {gamma:g}", error=1e-7, exact=exact)

    return each(at, worlds, (0.01, 0.05, 1.0, 20.0))


def _smooth_lipschitz() -> Claim:
    found = search(
        {"prior": "6 priors of 2 to 4 categories", "n": "4 to 60", "γ": "0.01, 0.05, 1, 20", "pairs": "all neighbours, both directions"},
        _lipschitz_cases(),
    )
    return Claim(
        "smooth-lipschitz",
        "000, Theorem 4.1",
        "Between neighbours the inverse of the γ-smooth sensitivity changes by at most γ.",
        {"pairs": found.settings, "pairs where it changes by γ exactly": found.ties, "by more": found.broken},
        found,
        figure="000-theorem-4.1",
    )


def _variation_cases(upper: bool) -> Iterator[Cases]:
    """TV of Beta(α, β) and Beta(α+m, β-m), whose densities cross once, at odds (B(α+m, β-m) / B(α, β))^{1/m}."""
    half = Fraction(1, 2)
    for a, b in ((Fraction(1), Fraction(1)), (half, half), (Fraction(1, 1000), Fraction(1, 1000)), (Fraction(30), Fraction(2))):
        for n in (1, 2, 5, 20, 100):
            for x in sorted({0, n // 3, n // 2}):
                for y in sorted({x + 1, (x + n + 1) // 2, n}):
                    if y <= n:
                        p, q = [a + x, b + n - x], [a + y, b + n - y]
                        at = f"Beta({float(a):g}, {float(b):g}), ({x}, {n - x}) and ({y}, {n - y})"
                        yield ball_case(at, partial(_variation_margin, p, q, upper))


def _variation_margin(p: list[Fraction], q: list[Fraction], upper: bool) -> arb:
    (a, b), (c, d) = ([ball(parameter) for parameter in side] for side in (p, q))
    odds = ((c.lgamma() + d.lgamma() - a.lgamma() - b.lgamma()) / ball(q[0] - p[0])).exp()
    crossing = odds / (1 + odds)
    variation = crossing.beta_lower(a, b, regularized=True) - crossing.beta_lower(c, d, regularized=True)
    h = hellinger_ball(p, q)
    return h * (2 - h**2).sqrt() - variation if upper else variation - h**2


def _total_variation() -> Claim:
    region = {
        "prior": "Beta of (1, 1), (1/2, 1/2), (1/1000, 1/1000), (30, 2)",
        "n": "1, 2, 5, 20, 100",
        "pairs": "near, middling and far datasets",
    }
    lower, upper = (search(region, _variation_cases(side)) for side in (False, True))
    both = together(lower, upper)
    return Claim(
        "total-variation",
        "000, section 3",
        "The Hellinger distance bounds the total variation distance: H² <= TV <= H sqrt(2 - H²).",
        {"settings": both.settings, "smallest TV - H²": lower.worst, "smallest H sqrt(2 - H²) - TV": upper.worst},
        both,
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "global-sensitivity": _global_constant,
    "published-edge": _published_edge,
    "edge": _edge,
    "local-vanishes": _vanishing,
    "local-at-data": _local_at_data,
    "smooth-lipschitz": _smooth_lipschitz,
    "total-variation": _total_variation,
}
