"""Small tables listed in full: every true table with its posterior probability, from the textbook formulas alone.

`w_x ∝ P(z | x) · p(x)`, with P and p written down anew for each promise. Nothing here is shared with the library's inference.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, logsumexp

import discreet as dc

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Promise = Literal["sizes", "total", "nothing"]
PROMISES: tuple[Promise, ...] = ("sizes", "total", "nothing")
GRID = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.95])


def compositions(total: int, parts: int) -> Ints:
    """All ways to add up to a total with so many counts; with none, only 0 has one."""
    if parts == 0:
        return np.zeros((1 if total == 0 else 0, 0), dtype=np.int64)
    if parts == 1:
        return np.array([[total]])
    rows = [np.hstack([np.full((len(rest), 1), x), rest]) for x in range(total + 1) for rest in [compositions(total - x, parts - 1)]]
    return np.concatenate(rows)


@dataclass(frozen=True, eq=False)
class TableWorld:
    """What is public, a prior for every group, an outcome, and for private sizes the log weights of 0, 1, ... records in each group."""

    promise: Promise
    epsilon: float
    a: Floats
    possible: NDArray[np.bool_]
    sizes: Ints
    """Of every group; where the total is public it is their sum, and where nothing is they are not used."""
    shares: Floats
    log_size: Floats
    raw: Ints

    @property
    def groups(self) -> list[Hashable]:
        return [f"g{i}" for i in range(len(self.a))]

    @property
    def total(self) -> int:
        return int(self.sizes.sum())

    @property
    def mechanism(self) -> dc.LatticeGeometric:
        k = self.a.shape[1]
        labels = [f"c{i}" for i in range(k)]
        n: Any = {"sizes": self.sizes.tolist(), "total": self.total, "nothing": None}[self.promise]
        cells = [(f"g{i}", f"c{j}") for i, j in np.argwhere(~self.possible)]
        own = {f"g{i}": dc.Dirichlet(row.tolist(), labels) for i, row in enumerate(self.a) if (row != self.a[0]).any()}
        shares = self.shares.tolist() if self.promise == "total" else None
        by = {"group": self.groups}
        prior = dc.Dirichlet(self.a[0].tolist(), labels)
        return dc.LatticeGeometric(prior, n, self.epsilon, by=by, impossible=cells, priors=own, shares=shares)

    def posterior(self) -> Any:
        mechanism = self.mechanism
        release = dc.Release(mechanism, mechanism.guarantee, self.raw, mechanism.report(self.raw))
        return release.noise_aware(size_prior=self.log_size if self.promise == "nothing" else None)

    @cached_property
    def tables(self) -> Ints:
        """All tables, groups by categories on the last two axes."""
        counts = self.possible.sum(axis=1)
        if self.promise == "total":
            flat = compositions(self.total, int(counts.sum()))
        else:
            parts = [self._rows(i, int(k)) for i, k in enumerate(counts)]
            flat = np.array([np.concatenate(rows) for rows in product(*parts)])
        tables = np.zeros((len(flat), *self.a.shape), dtype=np.int64)
        tables[:, self.possible] = flat
        return tables

    def _rows(self, group: int, k: int) -> Ints:
        sizes = [int(self.sizes[group])] if self.promise == "sizes" else range(len(self.log_size))
        return np.concatenate([compositions(size, k) for size in sizes])

    @cached_property
    def log_prior(self) -> Floats:
        """The log prior probability of every table, up to a constant."""
        x, u = self.tables, self.tables.sum(axis=2)
        a, whole = np.where(self.possible, self.a, 1.0), np.where(self.possible, self.a, 0.0).sum(axis=1)
        whole = np.where(whole > 0.0, whole, 1.0)
        cells = np.where(self.possible, gammaln(a + x) - gammaln(a) - gammaln(x + 1.0), 0.0).sum(axis=2)
        split = gammaln(u + 1.0) + gammaln(whole) - gammaln(whole + u) + cells
        if self.promise == "total":
            split = split + gammaln(self.shares + u) - gammaln(self.shares) - gammaln(u + 1.0)
        elif self.promise == "nothing":
            split = split + self.log_size[u]
        return np.asarray(split.sum(axis=1))

    @cached_property
    def probability(self) -> Floats:
        """The posterior probability of every table. A step moves two cells by 1 where a total is public, and one otherwise."""
        slope = self.epsilon if self.promise == "nothing" else 0.5 * self.epsilon
        log_weight = self.log_prior - slope * np.abs(self.raw - self.tables).sum(axis=(1, 2))
        return np.asarray(np.exp(log_weight - logsumexp(log_weight)))

    def open_groups(self) -> Iterator[int]:
        """Groups in which something is to be inferred."""
        return (i for i, row in enumerate(self.possible) if row.sum() > 1)

    def betas(self, group: int, category: int | list[int]) -> tuple[Floats, Floats]:
        """The parameters of the Beta that each table gives to the probability of a category, or of any of some."""
        a, x = np.where(self.possible[group], self.a[group], 0.0), self.tables[:, group]
        chosen = np.atleast_1d(category)
        one = a[chosen].sum() + x[:, chosen].sum(axis=1)
        return one, a.sum() + x.sum(axis=1) - one

    def difference(self, posterior: Any) -> float:
        """The largest difference from the list: of means, variances, distribution functions, laws of counts and of sizes."""
        found, weight = [0.0], self.probability
        for i, group in enumerate(self.groups):
            sizes = np.bincount(self.tables[:, i].sum(axis=1), weight)
            found.append(np.abs(posterior.size[group].pmf(np.arange(len(sizes))) - sizes).max())
            found.append(abs(posterior.size[group].mean() - sizes @ np.arange(len(sizes))))
        for i in self.open_groups():
            aware = posterior[self.groups[i]]
            for c in np.flatnonzero(self.possible[i]).tolist():
                one, rest = self.betas(i, c)
                marginal, mean = aware.marginal(f"c{c}"), weight @ (one / (one + rest))
                square = weight @ (one * (one + 1.0) / ((one + rest) * (one + rest + 1.0)))
                found += [abs(marginal.mean() - mean), abs(marginal.var() - (square - mean**2))]
                found.append(np.abs(marginal.cdf(GRID) - weight @ betainc(one[:, None], rest[:, None], GRID)).max())
                counts, probability = aware.count_probabilities(f"c{c}")
                listed = np.bincount(self.tables[:, i, c], weight, minlength=int(counts[-1]) + 1)
                found += [np.abs(listed[counts] - probability).max(), np.delete(listed, counts).sum()]
        if self.promise == "total":
            found += [self._share_difference(posterior, i) for i in range(len(self.groups)) if self._is_uncertain(i)]
        return float(max(found))

    def _is_uncertain(self, group: int) -> bool:
        return bool(self.possible[group].any()) and sum(bool(row.any()) for row in self.possible) > 1

    def _share_difference(self, posterior: Any, group: int) -> float:
        u, b = self.tables[:, group].sum(axis=1), self.shares[group]
        rest = self.shares[self.possible.any(axis=1)].sum() - b
        listed = self.probability @ betainc((b + u)[:, None], (rest + self.total - u)[:, None], GRID)
        return float(np.abs(posterior.share(self.groups[group]).cdf(GRID) - listed).max())


def random_world(seed: int) -> TableWorld:
    """A table of two or three groups with impossible cells, priors of its own in some groups, and an outcome that need not be likely."""
    rng = np.random.default_rng(seed)
    promise = PROMISES[seed % 3]
    groups, k = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    possible = rng.random((groups, k)) > 0.2
    possible[int(rng.integers(groups))] = True  # there is something to release
    possible[(possible.sum(axis=1) == 0).nonzero()[0][1:]] = True
    most = {"sizes": 7, "total": 3, "nothing": 5 if k == 2 else 3}[promise]
    sizes = rng.integers(0, most, groups) * possible.any(axis=1)
    sizes[possible.sum(axis=1).argmax()] += 1
    lowest, highest = (-8.0, 1.7) if seed % 2 else (-1.5, 1.2)
    shared, own = (
        np.array([[float(f"{part:.4g}") for part in row] for row in 10.0 ** rng.uniform(lowest, highest, (rows, k))])
        for rows in (1, groups)
    )
    a = np.where(rng.random((groups, 1)) < 0.3, own, shared)
    shares = np.round(10.0 ** rng.uniform(-1.0, 1.0, groups), 3)
    raw = np.where(possible, rng.integers(-4, 9, (groups, k)), 0)
    world = TableWorld(
        promise, float(np.round(rng.uniform(0.2, 5.0), 3)), a, possible, sizes, shares, np.log(rng.uniform(0.05, 1.0, most)), raw
    )
    return replace(world, raw=_completed(world))


def _completed(world: TableWorld) -> Ints:
    """The outcome with the totals that are public."""
    raw = world.raw.copy()
    if world.promise == "total":
        group, category = np.argwhere(world.possible)[-1]
        raw[group, category] += world.total - raw.sum()
    elif world.promise == "sizes":
        for i, row in enumerate(world.possible):
            if row.any():
                raw[i, row.nonzero()[0][-1]] += world.sizes[i] - raw[i].sum()
    return raw


# --- all outcomes -----------------------------------------------------------------------------------------------------


def outcome_classes(world: TableWorld) -> Iterator[tuple[Floats, Ints]]:
    """Classes of outcomes that say the same: the probability of each table together with the class, and an outcome of it.

    A noisy count below every possible count, or above, says no more than 0 or the largest: outcomes that agree where they are cut are one
    class, whose probability is that of the cut counts times that of all ways to go on from them (with the totals that are public).
    """
    most = int(world.tables.max())
    slope = world.epsilon if world.promise == "nothing" else 0.5 * world.epsilon
    prior = np.exp(world.log_prior - logsumexp(world.log_prior))
    for cut in product(range(most + 1), repeat=int(world.possible.sum())):
        raw = np.zeros_like(world.raw)
        raw[world.possible] = cut
        weight, raw = _class(world, raw, most, slope)
        if weight > 0.0:
            away = np.abs(np.clip(raw, 0, most) - world.tables)[:, world.possible].sum(axis=1)
            yield np.asarray(prior * weight * np.exp(-slope * away)), raw


def _class(world: TableWorld, cut: Ints, most: int, slope: float) -> tuple[float, Ints]:
    """The weight of all outcomes that are cut to these counts, but for the part that depends on the table; and one of them."""
    if world.promise == "nothing":
        q = np.exp(-slope)
        tails = np.where((cut == 0) | (cut == most), 1.0 / (1.0 + q), (1.0 - q) / (1.0 + q))
        return float(tails[world.possible].prod()), cut
    weight, raw = 1.0, cut.copy()
    blocks = [slice(i, i + 1) for i in range(len(cut))] if world.promise == "sizes" else [slice(None)]
    for block in blocks:
        possible = world.possible[block]
        if possible.sum() < 2:
            raw[block][possible] = world.sizes[block].sum()
            weight *= float((cut[block][possible] == min(int(world.sizes[block].sum()), most)).all())
            continue
        part, one = _on_lattice(cut[block][possible], int(world.sizes[block].sum()), most, slope)
        weight *= part
        place = np.zeros_like(raw[block])
        place[possible] = one
        raw[block] = place
    return weight, raw


def _on_lattice(cut: Ints, total: int, most: int, slope: float) -> tuple[float, Ints]:
    """The same for cells whose noisy counts add up to a total: what is beyond the cut must make up for the rest."""
    reach = int(80.0 / slope)
    beyond = np.zeros(2 * reach + 1)
    beyond[reach] = 1.0
    steps = np.arange(-reach, reach + 1)
    for value in cut:
        allowed = (steps == 0) | ((steps < 0) & (value == 0)) | ((steps > 0) & (value == most))
        beyond = np.convolve(beyond, np.where(allowed, np.exp(-slope * np.abs(steps)), 0.0))[reach:-reach]
    missing = total - int(cut.sum())
    weight, one = float(beyond[reach + missing]), cut.copy()
    if weight > 0.0 and missing:
        one[np.flatnonzero(cut == (most if missing > 0 else 0))[0]] += missing
    return weight / np.exp(lattice_constant(len(cut), 2.0 * slope)), one


def lattice_constant(k: int, epsilon: float) -> float:
    """ln Σ e^{-ε d} over all noise of k counts that adds up to 0, by listing the sums of k counts of noise."""
    reach = int(160.0 / epsilon)
    one = np.exp(-0.5 * epsilon * np.abs(np.arange(-reach, reach + 1)))
    law = np.ones(1)
    for _ in range(k):
        law = np.convolve(law, one)
    return float(np.log(law[k * reach]))


def two_by_two(promise: Promise, records: int, epsilon: float, a: list[list[float]], shares: list[float]) -> TableWorld:
    """Two groups by two categories with few records."""
    sizes = np.array([records, max(records - 1, 1)]) if promise == "sizes" else np.array([records, 0])
    possible = np.ones((2, 2), dtype=np.bool_)
    empty = np.zeros((2, 2), dtype=np.int64)
    return TableWorld(promise, epsilon, np.array(a), possible, sizes, np.array(shares), np.zeros(records + 1), empty)
