"""Contrasts of all pairs of groups in one frame. Oracles: textbook sums over all sizes and counts, and contrasts one by one."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, betaln, expit, gammaln

import discreet as dc
from discreet.sampling import SeededBits
from tests.inference.tables.worlds import PROMISES, Promise

Floats = NDArray[np.float64]


def _textbook_weights(a: Floats, z: Any, q: float, share: float, total: int) -> Floats:
    """Of a group with two categories: the weight of its size u (rows) and of the count x of the first (columns), by the textbook."""
    u, x = np.arange(total + 1.0)[:, None], np.arange(total + 1.0)
    rest = np.maximum(u - x, 0.0)
    log = gammaln(share + u) - gammaln(a.sum() + u) + gammaln(a[0] + x) - gammaln(x + 1.0) + gammaln(a[1] + rest) - gammaln(rest + 1.0)
    log += np.log(q) * (np.abs(z[0] - x) + np.abs(z[1] - rest))
    return np.where(x <= u, np.exp(log - log.max()), 0.0)


def _joint_cdf(groups: list[tuple[Floats, Floats]], others: list[Floats], total: int, *, tied: bool = True) -> Any:
    """P(θ₁ <= moved θ₂) for two groups, by Gauss-Legendre rules on θ₂ and incomplete beta functions, all sizes and counts one by one."""
    left = np.ones(1)
    for weights in others:
        left = np.convolve(left, weights.sum(axis=1))
    u = np.arange(total + 1)
    gap = total - u[:, None] - u
    coupling = np.where(gap >= 0, left[np.clip(gap, 0, total)], 0.0) if tied else np.ones((total + 1, total + 1))
    size, count = (grid.ravel() for grid in np.meshgrid(u, u, indexing="ij"))
    held = size >= count
    size, count = size[held], count[held]

    def by_size(function: Any, which: int, theta: Floats) -> Floats:
        (weights, a), found = groups[which], np.zeros((len(theta), total + 1))
        values = function(a[0] + count, a[1] + size - count, theta[:, None]) * weights[size, count]
        np.add.at(found.T, size, values.T)
        return found

    def probability(move: Any, ends: tuple[float, float]) -> float:
        nodes, rule = np.polynomial.legendre.leggauss(24)
        graded = expit(np.linspace(-10.0, 10.0, 11))  # moved odds are steep near 0 or 1
        edges = np.concatenate([[0.0], graded, [1.0]]) if ends == (0.0, 1.0) else np.linspace(*ends, 7)
        half = 0.5 * np.diff(edges)
        theta = (0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * nodes).ravel()
        density = (
            by_size(lambda a, b, t: np.exp((a - 1.0) * np.log(t) + (b - 1.0) * np.log1p(-t) - betaln(a, b)), 1, theta)
            * (half[:, None] * rule).ravel()[:, None]
        )
        inside = float(np.einsum("nu,uv,nv->", by_size(betainc, 0, move(theta)), coupling, density))
        beyond = by_size(lambda a, b, t: betainc(b, a, 1.0 - t), 1, np.array([ends[1]])) if ends[1] < 1.0 else np.zeros((1, total + 1))
        masses = [weights.sum(axis=1) for weights, _ in groups]
        return (inside + float(masses[0] @ coupling @ beyond[0])) / float(masses[0] @ coupling @ masses[1])

    return probability


@pytest.mark.parametrize(("number", "epsilon"), [(3, 0.5), (6, 2.5)])
def test_all_pairs_are_what_a_textbook_says_of_each(number: int, epsilon: float) -> None:
    """Of three groups the joint law is looked at for a short sum, of six with less noise the weights of their sizes are one."""
    total, names = 45, [f"g{i}" for i in range(number)]
    rng = np.random.default_rng(number)
    a, shares = rng.integers(1, 4, (number, 2)).astype(np.float64), rng.uniform(0.7, 2.0, number)  # whole: then rules are exact
    own = {name: dc.Dirichlet(row.tolist(), ["c0", "c1"]) for name, row in zip(names, a, strict=True)}
    made = dc.LatticeGeometric(own["g0"], total, epsilon, by={"group": names}, priors=own, shares=shares.tolist())
    raw = rng.multinomial(total, np.full(2 * number, 0.5 / number)).reshape(number, 2) + rng.integers(-3, 4, (number, 2))
    raw[0, 0] += total - raw.sum()
    post = dc.Release(made, made.guarantee, raw, made.report(raw)).noise_aware()
    frame = post.contrasts("c0", mass=0.9).set_index(["group", "against_group"])
    assert len(frame) == number * (number - 1) // 2
    weights = [_textbook_weights(a[i], raw[i], np.exp(-0.5 * epsilon), shares[i], total) for i in range(number)]
    for i, j in [(0, 1), (1, 2)]:
        row = frame.loc[(names[i], names[j])]
        others = [weights[g] for g in range(number) if g not in (i, j)]
        cdf = _joint_cdf([(weights[i], a[i]), (weights[j], a[j])], others, total)
        for name, level in (("difference", 0.5), ("difference_low", 0.05), ("difference_high", 0.95)):
            d = float(row[name])
            assert cdf(lambda t, d=d: np.clip(t + d, 0.0, 1.0), (max(0.0, -d), min(1.0, 1.0 - d))) == pytest.approx(level, abs=1e-9)
        for name, level in (("odds_ratio", 0.5), ("odds_ratio_low", 0.05), ("odds_ratio_high", 0.95)):
            odds = float(row[name])
            assert cdf(lambda t, r=odds: r * t / (1.0 - t + r * t), (0.0, 1.0)) == pytest.approx(level, abs=1e-9)
        assert cdf(lambda t: t, (0.0, 1.0)) == pytest.approx(1.0 - row["probability"], abs=1e-9)
        # Negative control: as if nothing tied the groups together.
        untied = _joint_cdf([(weights[i], a[i]), (weights[j], a[j])], others, total, tied=False)
        assert abs(untied(lambda t: t, (0.0, 1.0)) - 1.0 + row["probability"]) > 1e-4


@pytest.mark.parametrize("promise", PROMISES)
def test_all_pairs_are_the_contrasts_one_by_one(promise: Promise) -> None:
    """Groups from tiny to large, from new posteriors, so that nothing is shared: probabilities of what the frame has, to 1e-12."""
    sizes = [4, 40, 4_000]
    counts = np.array([np.random.default_rng(n).multinomial(n, [0.1, 0.9]) for n in sizes])
    n: Any = {"sizes": sizes, "total": sum(sizes), "nothing": None}[promise]
    made = dc.LatticeGeometric(dc.Dirichlet([0.3, 1], ["yes", "no"]), n, 0.5, by={"size": [f"{size}" for size in sizes]})
    release = made.release(counts, source=SeededBits(8), steady=False)
    frame = release.noise_aware().contrasts("yes", mass=0.9)
    assert len(frame) == 3
    worst = 0.0
    for row in frame.itertuples():
        alone = release.noise_aware().contrast(row.size, row.against_size, "yes")
        for name in ("difference", "ratio", "odds_ratio"):
            places = [getattr(row, name + end) for end in ("_low", "", "_high")]
            worst = max(worst, float(np.abs(getattr(alone, name).cdf(places) - [0.05, 0.5, 0.95]).max()))
        assert alone.probability == pytest.approx(row.probability, abs=1e-12)
    assert worst < 1e-12
