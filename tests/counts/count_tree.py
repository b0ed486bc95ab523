"""Oracle: the law of a tree of counts in its plainest form, for small worlds, and the same by enumeration.

A count may be observed any number of times, and split in one or several ways. Weight of a whole tree of counts x:

    root(x_root) · Π_counts Π_observations P(z | x_v) · Π_splits  u!/Γ(A + u) · Γ(A) · Π_parts Γ(a_p + x_p)/(Γ(a_p) x_p!),   u = Σ x_p
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

Floats = NDArray[np.float64]
LogFactor = Callable[[Floats], Floats]


@dataclass(eq=False)
class PlainSplit:
    """Parts of a count and the prior parameters of their shares."""

    parts: "Sequence[PlainCount]"
    a: Floats


@dataclass(eq=False)
class PlainCount:
    """A count: functions from arrays of counts to ln P(z | count), and how it splits."""

    observed: Sequence[LogFactor] = field(default_factory=list)
    splits: Sequence[PlainSplit] = field(default_factory=list)


class PlainLaw:
    """Up: what lies below a count, by its value. Down: what lies elsewhere. Both as logarithms over 0..top."""

    def __init__(self, root: PlainCount, log_root: LogFactor, top: int) -> None:
        self.x, self.root = np.arange(top + 1.0), root
        self.up: dict[PlainCount, Floats] = {}
        self.down: dict[PlainCount, Floats] = {}
        self._rise(root)
        self.down[root] = log_root(self.x)
        self._sink(root)
        self.log_evidence = float(logsumexp(self.up[root] + self.down[root]))

    def part(self, part: PlainCount, a: float) -> Floats:
        """What a part weighs in its split."""
        return self.up[part] + self.rising(a) - self.rising(1.0)

    def whole(self, split: PlainSplit) -> Floats:
        """What the total of a split weighs."""
        return self.rising(1.0) - self.rising(float(split.a.sum()))

    def rising(self, a: float) -> Floats:
        """ln Γ(a + x)/Γ(a), added up so that it keeps its digits whatever a is."""
        return np.concatenate([[0.0], np.cumsum(np.log(a + self.x[:-1]))])

    def _parts(self, split: PlainSplit) -> list[Floats]:
        return [self.part(p, float(a)) for p, a in zip(split.parts, split.a, strict=True)]

    def _rise(self, v: PlainCount) -> None:
        for split in v.splits:
            for p in split.parts:
                self._rise(p)
        found = np.zeros_like(self.x)
        for one in v.observed:
            found = found + one(self.x)
        for split in v.splits:
            found = found + self.whole(split) + self.total(self._parts(split))
        self.up[v] = found

    def outside(self, v: PlainCount, split: PlainSplit) -> Floats:
        """Everything but the parts of one split of v, by the value of v."""
        this = self.whole(split) + self.total(self._parts(split))
        with np.errstate(invalid="ignore"):
            rest = np.where(np.isfinite(this), self.up[v] - this, -np.inf)
        return np.asarray(self.down[v] + rest + self.whole(split))

    def _sink(self, v: PlainCount) -> None:
        for split in v.splits:
            outside, parts = self.outside(v, split), self._parts(split)
            for i, (p, a) in enumerate(zip(split.parts, split.a, strict=True)):
                rest = self.total(parts[:i] + parts[i + 1 :])
                more = self.x.astype(int)[None, :] - self.x.astype(int)[:, None]
                with np.errstate(divide="ignore"):
                    d = logsumexp(np.where(more >= 0, outside[None, :] + rest[np.maximum(more, 0)], -np.inf), axis=1)
                self.down[p] = d + self.rising(float(a)) - self.rising(1.0)
                self._sink(p)

    def total(self, logs: Sequence[Floats]) -> Floats:
        """The logarithm of a convolution."""
        out = np.where(self.x == 0, 0.0, -np.inf)
        left = self.x.astype(int)[:, None] - self.x.astype(int)[None, :]
        for one in logs:
            with np.errstate(divide="ignore"):
                out = logsumexp(np.where(left >= 0, out[None, :] + one[np.maximum(left, 0)], -np.inf), axis=1)
        return out

    def law(self, v: PlainCount) -> Floats:
        """The law of one count."""
        w = self.up[v] + self.down[v]
        return np.asarray(np.exp(w - logsumexp(w)))

    def pair(self, v: PlainCount, split: PlainSplit, i: int) -> Floats:
        """The joint law of part i of a split (rows) and the count v that is split (columns)."""
        parts, outside = self._parts(split), self.outside(v, split)
        rest = self.total(parts[:i] + parts[i + 1 :])
        x = self.x.astype(int)
        w = np.array([[outside[u] + parts[i][m] + rest[u - m] if m <= u else -np.inf for u in x] for m in x])
        return np.asarray(np.exp(w - logsumexp(w)))


def flat(x: Floats) -> Floats:
    """Every total weighs the same."""
    return np.zeros_like(x)


def public(n: int) -> LogFactor:
    """The total is n."""
    return lambda x: np.where(x == n, 0.0, -np.inf)


def geometric(z: int, slope: float) -> LogFactor:
    """Two-sided geometric noise."""
    return lambda x: -slope * np.abs(z - x) + np.log(np.tanh(slope / 2))


def gaussian(z: int, s: float) -> LogFactor:
    """Discrete Gaussian noise."""
    j = np.arange(-200, 201)
    norm = logsumexp(-(j**2) / (2 * s * s))
    return lambda x: -((z - x) ** 2) / (2 * s * s) - norm


def at_most(t: int, s: float) -> LogFactor:
    """A count with discrete Gaussian noise was t or less."""
    j = np.arange(-400, 401)
    p = -(j**2) / (2 * s * s)
    p = p - logsumexp(p)
    return lambda x: np.array([logsumexp(p[j <= t - c]) for c in x])


def at_least(t: int, s: float) -> LogFactor:
    """A count with discrete Gaussian noise was t or more."""
    j = np.arange(-400, 401)
    p = -(j**2) / (2 * s * s)
    p = p - logsumexp(p)
    return lambda x: np.array([logsumexp(p[j >= t - c]) for c in x])


def brute(root: PlainCount, log_root: LogFactor, top: int) -> tuple[dict[PlainCount, Floats], float]:
    """The law of every count and the evidence, from every assignment of counts, one by one."""
    laws: dict[PlainCount, Floats] = {}
    total: list[float] = []

    def log_split(x: tuple[int, ...], a: Floats) -> float:
        y = np.array(x, float)
        whole = gammaln(y.sum() + 1) + gammaln(a.sum()) - gammaln(a.sum() + y.sum())
        return float(whole - gammaln(y + 1).sum() + (gammaln(a + y) - gammaln(a)).sum())

    def ways(v: PlainCount, u: int) -> list[tuple[float, dict[PlainCount, int]]]:
        base = sum(float(one(np.array([float(u)]))[0]) for one in v.observed)
        choices = [[(base, {v: u})]]
        for split in v.splits:
            options = []
            for x in itertools.product(range(u + 1), repeat=len(split.parts)):
                if sum(x) == u:
                    for combo in itertools.product(*[ways(p, value) for p, value in zip(split.parts, x, strict=True)]):
                        weight = log_split(x, split.a) + sum(c[0] for c in combo)
                        options.append((weight, {k: w for c in combo for k, w in c[1].items()}))
            choices.append(options)
        return [(sum(c[0] for c in combo), {k: w for c in combo for k, w in c[1].items()}) for combo in itertools.product(*choices)]

    for u in range(top + 1):
        r = float(log_root(np.array([float(u)]))[0])
        if np.isfinite(r):
            for weight, values in ways(root, u):
                total.append(weight + r)
                for v, x in values.items():
                    laws.setdefault(v, np.zeros(top + 1))[x] += np.exp(weight + r)
    return {v: law / law.sum() for v, law in laws.items()}, float(logsumexp(total))
