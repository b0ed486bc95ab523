"""Claims about sensitivities, candidates and formulas: what the papers say, what is computed, and whether the two agree."""

from collections.abc import Callable, Mapping
from math import comb, exp, expm1, lgamma, log, pi, sqrt

import numpy as np

from discreet.distances import hellinger, total_variation
from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import simplex_points
from discreet.numerics import Floats
from discreet.paper.claim import SAME, Claim, same, verdict
from discreet.paper.figures_privacy import lipschitz
from discreet.sensitivity import global_sensitivity, local_sensitivities, local_sensitivity
from discreet.validation import Counts

__all__ = ["CLAIMS"]

_SIZES = range(2, 101)


# --- Statements I, II, III about Beta(1, 1) ---------------------------------------------------------------------------


def _datasets(n: int) -> Counts:
    x = np.arange(n + 1)
    return np.stack([x, n - x], axis=-1)


def _steps(n: int) -> Floats:
    """H(BI(x), BI(x+1)) for x = 0, ..., n-1 under Beta(1, 1)."""
    posteriors = 1.0 + _datasets(n)
    return np.asarray(hellinger(posteriors[:-1], posteriors[1:]))


def _statement_one() -> Claim:
    outward = mirrored = printed = 0
    for n in _SIZES:
        steps, low, high = _steps(n), n // 2, (n + 1) // 2
        rises = steps[1:] - steps[:-1] > SAME * steps[1:]
        falls = steps[:-1] - steps[1:] > SAME * steps[1:]
        outward += int((~rises[high:]).sum())
        mirrored += int((~falls[: max(low - 1, 0)]).sum())
        printed += int((~falls[: high + 1]).sum())
    numbers = {
        "first line broken (n = 2..100)": outward,
        "second line broken as printed": printed,
        "second line broken as the mirror image of the first": mirrored,
    }
    usable = outward == mirrored == 0
    condition = "the second line is read as the mirror image of the first, H(x,x-1) < H(x-1,x-2)" if usable else None
    return Claim(
        "statement-1",
        "002 and 004, section 2.1, I",
        "Under Beta(1,1) the distance between neighbouring posteriors grows away from the middle dataset, strictly, on both sides.",
        numbers,
        verdict(usable and printed == 0, condition),
        "002-statements",
    )


def _statement_two() -> Claim:
    inside = ends = 0
    for n in _SIZES:
        steps, local = _steps(n), local_sensitivities(Beta(1, 1), _datasets(n))
        low, high = n // 2, (n + 1) // 2
        inside += sum(not same(local[x], steps[x]) for x in range(high, n)) + sum(
            not same(local[x], steps[x - 1]) for x in range(1, low + 1)
        )
        ends += 2  # x = n has no x + 1 and x = 0 no x - 1
    condition = "0 < x < n; at an end the only neighbour is the inward one" if inside == 0 else None
    return Claim(
        "statement-2",
        "002 and 004, section 2.1, II",
        "Under Beta(1,1) the local sensitivity is the distance to the outward neighbour, for every dataset on either side of the middle.",
        {"broken inside (n = 2..100)": inside, "datasets without an outward neighbour": ends},
        verdict(inside == ends == 0, condition),
        "002-statements",
    )


def _statement_three() -> Claim:
    failing = []
    for n in _SIZES:
        local = local_sensitivities(Beta(1, 1), _datasets(n))
        middles = [n // 2, (n + 1) // 2]
        outside = np.delete(local, middles)
        if outside.size and outside.min() <= local[middles].max() * (1.0 + SAME):
            failing.append(n)
    threshold = max(failing, default=1) + 1
    return Claim(
        "statement-3",
        "002 and 004, section 2.1, III",
        "Under Beta(1,1) every dataset but the middle one has a larger local sensitivity than the middle one.",
        {"sizes where it fails (n = 2..100)": len(failing), "largest of them": max(failing, default=0)},
        verdict(not failing, f"n >= {threshold}" if threshold <= _SIZES[-1] else None),
        "002-statements",
    )


# --- sensitivities ----------------------------------------------------------------------------------------------------


def _global_constant() -> Claim:
    constant = sqrt(1.0 - pi / 4.0)
    priors: dict[str, tuple[Beta | Dirichlet, int]] = {
        "Beta(1,1), n = 1": (Beta(1, 1), 1),
        "Beta(1,1), n = 100": (Beta(1, 1), 100),
        "Dir(1,1,1), n = 100": (Dirichlet.uniform(3), 100),
        "Dir(1,1,7), n = 100": (Dirichlet([1, 1, 7]), 100),
        "Dir(1/2,1/2,1/2), n = 100": (Dirichlet.jeffreys(3), 100),
        "Dir(2,2,2), n = 100": (Dirichlet([2, 2, 2]), 100),
        "Beta(0.0001,0.0001), n = 100": (Beta("0.0001", "0.0001"), 100),
    }
    values = {name: global_sensitivity(prior, n) for name, (prior, n) in priors.items()}
    agrees = {name: same(value, constant) for name, value in values.items()}
    expected = {name: sorted(prior.exact)[:2] == [1, 1] and (prior.k >= 3 or n == 1) for name, (prior, n) in priors.items()}
    condition = "the two smallest prior parameters are 1, and k >= 3 or n = 1" if agrees == expected else None
    return Claim(
        "global-sensitivity",
        "001, notation, and Theorem 4.5",
        "The global sensitivity of the Hellinger distance is sqrt(1 - π/4).",
        {"sqrt(1 - π/4)": constant, **values},
        verdict(all(agrees.values()), condition),
        "000-figure-1",
    )


_PUBLISHED_EDGE = 0.161


def _published_edge() -> Claim:
    """The slip that gives the published curve: the log of the Beta function taken as Σ lnΓ(α_i) / ln Σα."""
    n = 100
    true = local_sensitivity(Beta(1, 1), [0, n])
    exponent = -log(1.0 - true**2)
    slipped = sqrt(-expm1(-exponent / log(n + 2)))
    return Claim(
        "published-edge",
        "003, Figure 1",
        f"At the edge, {n} records of one kind under Beta(1,1), the sensitivity of the Hellinger distance is about {_PUBLISHED_EDGE}.",
        {"local sensitivity at (0, 100)": true, "with lnΓ(Σα) divided by instead of subtracted, as ln Σα": slipped},
        verdict(abs(true - _PUBLISHED_EDGE) < 5e-4),
        "003-figure-1",
    )


def _local_at_data() -> Claim:
    worst = 0.0
    for prior, n in [(Beta(1, 1), 20), (Beta("0.2", 3), 12), (Dirichlet.uniform(3), 7), (Dirichlet(["0.3", "2", "5"]), 6)]:
        points = simplex_points(n, prior.k)
        posteriors = prior.concentration + points
        table = np.asarray(hellinger(posteriors[:, None, :], posteriors[None, :, :]))
        adjacent = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=-1) == 2
        change = np.abs(table[:, None, :] - table[None, :, :]).max(axis=-1)
        anywhere = np.where(adjacent, change, 0.0).max(axis=1)
        at_data = np.where(adjacent, table, 0.0).max(axis=1)
        worst = max(worst, float((anywhere / at_data - 1.0).max()))
    return Claim(
        "local-at-data",
        "000, section 7.1",
        "The maximum over candidates r in the local sensitivity is always reached at r = x, so it is a maximum over neighbours alone.",
        {"largest relative excess elsewhere": worst},
        verdict(worst <= SAME),
        "000-figure-2",
    )


# --- counting and formulas --------------------------------------------------------------------------------------------


def _candidates() -> Claim:
    sizes = [(n, k) for n in (1, 5, 12) for k in (2, 3, 4)]
    counted = {(n, k): len(simplex_points(n, k)) for n, k in sizes}
    printed = {(n, k): comb(n + 1, k - 1) for n, k in sizes}
    right = all(counted[n, k] == comb(n + k - 1, k - 1) for n, k in sizes)
    agrees = [counted[size] == printed[size] for size in sizes]
    only_two = right and all(agree == (k == 2) for agree, (_, k) in zip(agrees, sizes, strict=True))
    return Claim(
        "candidates",
        "000, section 4.2.3",
        "With n records and m categories there are C(n+1, m-1) candidate posteriors.",
        {"counted, n = 12, m = 3": counted[12, 3], "C(n+1, m-1)": printed[12, 3], "C(n+m-1, m-1)": comb(14, 2)},
        verdict(all(agrees), "m = 2; the number is C(n+m-1, m-1)" if only_two else None),
    )


def _one_step() -> Claim:
    def printed(alpha: float, beta: float) -> float:
        return 1.0 - exp(lgamma(alpha + 0.5) - lgamma(alpha) + lgamma(beta - 0.5) - lgamma(beta))

    def true(alpha: float, beta: float) -> float:
        return float(hellinger([alpha, beta], [alpha + 1.0, beta - 1.0])) ** 2

    pairs = [(5.0, 5.0), (5.0, 6.0), (51.0, 51.0), (20.0, 21.0), (3.0, 40.0)]
    agrees = [abs(printed(a, b) - true(a, b)) < 1e-9 for a, b in pairs]
    repaired = all(abs(1.0 - (1.0 - printed(a, b)) * sqrt((b - 1.0) / a) - true(a, b)) < 1e-9 for a, b in pairs)
    expected = [b - 1.0 == a for a, b in pairs]
    condition = "β - 1 = α; elsewhere the product lacks the factor sqrt((β-1)/α)" if repaired and agrees == expected else None
    return Claim(
        "one-step",
        "000, section 6.1.1, t = 1",
        "One step away from Beta(α, β) the squared Hellinger distance is 1 - [Γ(α+½)/Γ(α)] [Γ(β-½)/Γ(β)].",
        {
            "H² from (51, 51)": true(51, 51),
            "printed formula": printed(51, 51),
            "from (3, 40)": true(3, 40),
            "printed formula there": printed(3, 40),
        },
        verdict(all(agrees), condition),
        "000-table-1",
    )


def _two_steps() -> Claim:
    def printed(alpha: float, beta: float) -> float:
        return 1.0 - sqrt(1.0 - 1.0 / (alpha + 1.0)) * sqrt(1.0 - 1.0 / beta)

    def repaired(alpha: float, beta: float) -> float:
        return 1.0 - sqrt(alpha / (alpha + 1.0)) * sqrt((beta - 2.0) / (beta - 1.0))

    def true(alpha: float, beta: float) -> float:
        return float(hellinger([alpha, beta], [alpha + 2.0, beta - 2.0])) ** 2

    pairs = [(5.0, 5.0), (51.0, 51.0), (20.0, 21.0), (3.0, 40.0)]
    agrees = all(abs(printed(a, b) - true(a, b)) < 1e-9 for a, b in pairs)
    mends = all(abs(repaired(a, b) - true(a, b)) < 1e-9 for a, b in pairs)
    return Claim(
        "two-steps",
        "000, section 6.1.1, t = 2",
        "Two steps away from Beta(α, β) the squared Hellinger distance is 1 - sqrt(1 - 1/(α+1)) sqrt(1 - 1/β).",
        {"H² from (51, 51)": true(51, 51), "printed formula": printed(51, 51), "with β - 1 for β": repaired(51, 51)},
        verdict(agrees, "β in it is read as β - 1" if mends else None),
        "000-table-1",
    )


def _floor_sign() -> Claim:
    def printed(t: int, scale: float) -> float:
        return 0.5 * (exp(t / scale) - exp((t + 1) / scale))

    def true(t: int, scale: float) -> float:
        return 0.5 * (exp((t + 1) / scale) - exp(t / scale))

    worst = max(abs(printed(t, b) - true(t, b)) for t in (-1, -2, -5) for b in (1.0, 2.0))
    mirrored = all(same(-printed(t, b), true(t, b)) for t in (-1, -2, -5) for b in (1.0, 2.0))
    return Claim(
        "floor-sign",
        "000, section 6.1.1, first display for t < 0",
        "P(⌊Y⌋ = t) = ½(e^{εt/Δ} - e^{ε(t+1)/Δ}) for t < 0.",
        {"printed, t = -1, Δ/ε = 1": printed(-1, 1.0), "true": true(-1, 1.0)},
        verdict(worst < 1e-12, "the sign is changed, as in the next display" if mirrored else None),
    )


def _smooth_lipschitz() -> Claim:
    worlds: list[tuple[Beta | Dirichlet, int]] = [
        (Beta(1, 1), 100),
        (Beta("0.01", 3), 60),
        (Dirichlet.uniform(3), 20),
        (Dirichlet.jeffreys(4), 9),
    ]
    ratios = {f"{prior!r}, n = {n}, γ = {g:g}": lipschitz(prior, n, g) / g for prior, n in worlds for g in (0.05, 1.0)}
    return Claim(
        "smooth-lipschitz",
        "000, Theorem 4.1",
        "Between neighbours the inverse of the γ-smooth sensitivity changes by at most γ.",
        {f"largest change / γ, {name}": value for name, value in ratios.items()},
        verdict(max(ratios.values()) <= 1.0 + 1e-9),
        "000-theorem-4.1",
    )


def _edge() -> Claim:
    shares = {}
    largest_at_edge = True
    for n in (10, 100, 1000):
        local = local_sensitivities(Beta(1, 1), _datasets(n))
        largest_at_edge &= int(local.argmax()) in (0, 1, n - 1, n) and same(float(local.max()), float(local[0]))
        shares[n] = float(local[0] / local.min())
    return Claim(
        "edge",
        "003, motivation 2; 000, section 3",
        "Under Beta(1,1) the sensitivity of H is largest at the edge and much lower away from it.",
        {f"edge / lowest, n = {n}": share for n, share in shares.items()},
        verdict(largest_at_edge and shares[1000] > shares[100] > shares[10] > 1.0),
        "003-figure-1",
    )


def _total_variation() -> Claim:
    lower = upper = 1.0
    for n in (5, 20, 100):
        for x in range(0, n, max(1, n // 10)):
            p, q = [1.0 + x, 1.0 + n - x], [1.0 + n - x, 1.0 + x] if 2 * x != n else [2.0 + x, n - x]
            h, tv = float(hellinger(p, q)), float(total_variation(p, q))
            lower, upper = min(lower, tv - h**2), min(upper, h * sqrt(2.0 - h**2) - tv)
    return Claim(
        "total-variation",
        "000, section 3",
        "The Hellinger distance bounds the total variation distance: H² <= TV <= H sqrt(2 - H²).",
        {"smallest TV - H²": lower, "smallest H sqrt(2 - H²) - TV": upper},
        verdict(min(lower, upper) >= -1e-12),
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "statement-1": _statement_one,
    "statement-2": _statement_two,
    "statement-3": _statement_three,
    "global-sensitivity": _global_constant,
    "published-edge": _published_edge,
    "edge": _edge,
    "local-at-data": _local_at_data,
    "smooth-lipschitz": _smooth_lipschitz,
    "total-variation": _total_variation,
    "candidates": _candidates,
    "one-step": _one_step,
    "two-steps": _two_steps,
    "floor-sign": _floor_sign,
}
