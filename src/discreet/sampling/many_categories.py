"""Exact draws from weight(r) = exp(-c H(x, r)) over the counts r of n records in k >= 3 categories, without a list.

With equal totals 1 - H² = e^-D is a product over the categories, B(r) = Π b_i(r_i) with b_i(r) = exp(-gap(a_i + x_i, a_i + r)). Hence

    weight(r) = exp(-c sqrt(1 - B(r)))  <=  Σ_M w_M Π_i b_i(r_i)^M  <=  Σ_M w_M Π_i t_{M,i}(r_i) ,

the first by `domination` (M = 0 and a few whole numbers), the second by integer tables rounded up, which end where an entry would say next
to nothing: there the term M = 0 is raised instead. The right side is a mixture of product forms.
Convolving the tables two by two gives a tree that knows, for every group of categories and every number of records, an upper bound of
the mass; a candidate is drawn by splitting the n records down that tree, and accepted with probability weight / bound. Where a node
claims more than its parts (it is rounded up), the surplus is drawn as "start again". The proof is in docs/proofs/exactness.md.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import chain
from math import comb, expm1, isqrt, log
from operator import mul, neg
from typing import ClassVar

from flint import arb, fmpz, fmpz_poly

from discreet import limits
from discreet.errors import InternalError, TooLargeError
from discreet.numerics.balls import gap_ball, working_precision
from discreet.sampling.attempts import CandidateSampler, Weights, composition
from discreet.sampling.bits import BitSource, bernoulli, endpoints, ladder, uniform
from discreet.sampling.domination import CONSTANT_DEPTH, Target, certify, even_weights, plan, slowest_powers

_SPARE_BITS = 40
"""Rounding adds a few units of 2^-bits to the mass of each of the N candidates: with log2 N + 40 bits, a share of about 2^-35."""

_CUT_BITS = 12
"""Tables end where b^M is below 2^-12/N: beyond, the uniform form takes over, with about 2^-12 of the mass of r = x alone."""

_ENTRY_BYTES = 64
"""Bytes of an entry beside its digits: the list's pointer, the Python object and FLINT's header."""

_AFFINITY_UNITS = 2
"""An entry of `affinities` is above the true value by at most this many units."""


class Mixture(CandidateSampler):
    """An exact sampler for one dataset with three categories or more."""

    least_acceptance: ClassVar[Fraction] = Fraction(1, 18)
    """No dataset, prior, n or rate has a lower one: 17 by the choice of powers, and rounding. The proof is in docs/proofs/exactness.md."""

    def __init__(
        self,
        prior: tuple[Fraction, ...],
        counts: tuple[int, ...],
        rate: Callable[[], arb],
        weights: Callable[[Target], list[float]] = even_weights,
    ) -> None:
        """`rate()` encloses c at the working precision in force when it is called; `weights` are those of the proposal.

        Weights decide how many proposals are accepted, and nothing else.
        """
        self._prior, self._counts, self._proposal_weights = prior, counts, weights
        self.weight = Weights(prior, counts, rate)
        self._total, self._precision = self.weight.total, self.weight.precision
        check_size(prior, self._total)
        self._candidates = comb(self._total + len(prior) - 1, len(prior) - 1)
        self._bits = _bits(self._candidates, self._total + int(sum(prior)) + 1)
        with working_precision(self._precision):
            target = plan(self.weight.rate(), self._nearest(), log(self._candidates))
        self._tables = self._first_tables(target.powers[1])
        self._components, self._uniform_weight = self._build(target)
        self._shares = [component.weight * component.mass for component in self._components]
        self._shares.append(self._uniform_weight * self._candidates << 2 * self._bits)
        self._bound = sum(self._shares)

    def attempt(self, source: BitSource) -> tuple[int, ...] | None:
        candidate = self._propose(source)
        return candidate if candidate is not None and bernoulli(source, self._acceptances(candidate)) else None

    @property
    def total_bound(self) -> Fraction:
        return Fraction(self._bound, 1 << 3 * self._bits)

    def bound(self, candidate: tuple[int, ...]) -> Fraction:
        """The mass of a candidate under the proposal: at least its weight."""
        return Fraction(self._bound_units(candidate), 1 << self._bits * (1 + len(candidate)))

    # --- building -----------------------------------------------------------------------------------------------------

    def _nearest(self) -> arb:
        """A lower bound of D(r) for r != x: some category has lost a record and some other has gained one, and each gap grows outwards."""
        held = [(a + x, x) for a, x in zip(self._prior, self._counts, strict=True)]
        down = [gap_ball(alpha, alpha - 1) for alpha, x in held if x]
        up = [gap_ball(alpha, alpha + 1) for alpha, x in held if x < self._total]
        nearest = reduce(arb.min, down) + reduce(arb.min, up)
        if not nearest > 0:
            raise InternalError("the nearest candidate could not be told from the data; nothing was released")
        return nearest

    def _first_tables(self, lowest: int) -> list["_Table"]:
        """The tables of M = 1, as far out as the lowest power that is used needs them."""
        depth = (self._candidates.bit_length() + _CUT_BITS) / lowest
        return [affinities(a, x, self._total, self._bits, depth) for a, x in zip(self._prior, self._counts, strict=True)]

    def _build(self, target: Target) -> tuple[list["_Component"], int]:
        """The product forms that get a weight, and the weight of the uniform one."""
        uniform_weight, *weights = certify(target, self._proposal_weights(target), self._bits)
        negligible = fmpz(1) << self._bits - self._candidates.bit_length() - _CUT_BITS
        doubled = [self._tables]
        components = []
        for power, weight in zip(target.powers[1:], weights, strict=True):
            if not weight:
                continue
            while 1 << len(doubled) <= power:
                doubled.append([table.times(table, self._bits).trimmed(negligible) for table in doubled[-1]])
            tables = [table.trimmed(negligible) for table in self._raised(doubled, power)]
            root = _tree(tables, self._total, self._bits)
            components.append(_Component(root, int(root.coefficient(self._total)), weight))
            # A candidate that the tables do not reach is left to the uniform form, raised by what this one would have given it.
            uniform_weight += -(-weight * max(int(table.beyond) for table in tables) >> self._bits)
        return components, uniform_weight

    def _raised(self, doubled: list[list["_Table"]], power: int) -> list["_Table"]:
        """The tables of one power, from those of 1, 2, 4, ...: the highest first, which is the shortest."""
        highest, *others = [tables for exponent, tables in enumerate(doubled) if power >> exponent & 1][::-1]
        for tables in others:
            highest = [table.times(other, self._bits) for table, other in zip(highest, tables, strict=True)]
        return highest

    # --- drawing ------------------------------------------------------------------------------------------------------

    def _propose(self, source: BitSource) -> tuple[int, ...] | None:
        """A candidate with probability proportional to its bound, or None for the surplus."""
        ticket = uniform(source, self._bound)
        for component, share in zip(self._components, self._shares, strict=False):
            if ticket < share:
                return component.draw(source, self._total, self._bits)
            ticket -= share
        return tuple(composition(source, self._total, len(self._counts)))

    def _bound_units(self, candidate: tuple[int, ...]) -> int:
        """The bound of a candidate in units of 2^-bits(k + 1)."""
        units = fmpz(self._uniform_weight) << self._bits * len(candidate)
        for component in self._components:
            units += component.units(candidate)
        return int(units)

    def _acceptances(self, candidate: tuple[int, ...]) -> chain[arb]:
        """Enclosures of weight / bound: the first from the tables if they reach that far, the others from the definition."""
        bound = self._bound_units(candidate)
        scale = self._bits * (1 + len(candidate))
        exact = ladder(lambda: self.weight(candidate) * arb(2) ** scale / bound, self._precision)
        with working_precision(self._precision):
            quick = self._table_weight(candidate) * arb(2) ** scale / bound
        return chain([quick] if quick.is_finite() else [], exact)

    def _table_weight(self, candidate: tuple[int, ...]) -> arb:
        """Enclosure of the weight from the tables of affinities, which are right to `_AFFINITY_UNITS` units; not a number beyond them."""
        affinity, unit = arb(1), arb(2) ** -self._bits
        for table, x, r in zip(self._tables, self._counts, candidate, strict=True):
            if r != x:
                entry = table[r]
                if not entry:
                    return arb("nan")
                affinity *= (arb(entry) * unit).union(arb(entry - _AFFINITY_UNITS) * unit)
        return (-self.weight.rate() * (1 - affinity).sqrt()).exp()


def _bits(candidates: int, size: int) -> int:
    """Return the number of bits after the point of all tables."""
    return candidates.bit_length() + size.bit_length() + _SPARE_BITS


def check_size(prior: tuple[Fraction, ...], n: int) -> None:
    """Refuse what would not fit in memory: by the worst dataset with these public numbers, so that a refusal says nothing of the data."""
    k, needed = len(prior), most_megabytes(prior, n)
    if needed > limits.SAMPLER_MEGABYTES:
        raise TooLargeError(
            f"an exact draw for k = {k} categories and n = {n} records may need {needed} MB, more than {limits.SAMPLER_MEGABYTES} MB; "
            "use LatticeGeometric or a Laplace mechanism, which draw exactly at any size"
        )


@lru_cache(maxsize=64)  # public, and asked for again with each release
def most_megabytes(prior: tuple[Fraction, ...], n: int) -> int:
    """Return a bound on the memory that any dataset needs for its tables."""
    digits = _bits(comb(n + len(prior) - 1, len(prior) - 1), n + int(sum(prior)) + 1) // 8
    return most_entries(prior, n) * (digits + _ENTRY_BYTES) >> 20


def most_entries(prior: tuple[Fraction, ...], n: int) -> int:
    """Return a bound on the table entries that any dataset needs.

    gap(u, v) >= (u - v)²/8max(u, v), so where b^M is to be above e^-L, the table of one category has at most 2 sqrt(8Lu/M) + 8L/M + 3
    entries, and all tables together, by Cauchy and Schwarz, 2 sqrt(8Lk Σu/M) + k(8L/M + 3). A level of the tree has no more.
    """
    k, size = len(prior), n + int(sum(prior)) + 1
    candidates = comb(n + k - 1, k - 1)
    depth = 6 * (candidates.bit_length() + _CUT_BITS)  # 8 ln 2 < 6
    nodes = [-(-k >> level) for level in range((k - 1).bit_length())]

    def leaves(power: int) -> int:
        return 2 * isqrt(depth * k * size // power) + k * (depth // power + 3)

    def tree(power: int) -> int:
        return sum(min(leaves(power), count * (n + 1)) for count in nodes)

    # Powers that lie a factor 2 or more apart are tabulated, and some of them used, besides those that are needed.
    twos = [1 << exponent for exponent in range((size * depth).bit_length() + 4)]
    tables = min(leaves(1), k * (n + 1)) + sum(min(leaves(power), k * (n + 1)) for power in twos)
    return tables + sum(map(tree, twos)) + sum(map(tree, slowest_powers(log(candidates) + CONSTANT_DEPTH)))


# --- tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """Bounds of b(r)^M in units of 2^-bits, for r = start, start + 1, ...; elsewhere in 0..total b(r)^M is at most `beyond`."""

    start: int
    entries: list[fmpz]
    x: int
    total: int

    def __getitem__(self, r: int) -> fmpz:
        return self.entries[r - self.start] if self.start <= r <= self.end else fmpz(0)

    @property
    def end(self) -> int:
        """The last r."""
        return self.start + len(self.entries) - 1

    @property
    def beyond(self) -> fmpz:
        """b falls as r leaves x, so what lies outside is below the entry at that end."""
        return max(self.entries[0] if self.start > 0 else fmpz(0), self.entries[-1] if self.end < self.total else fmpz(0))

    def times(self, other: "_Table", bits: int) -> "_Table":
        """Return bounds of the product of two powers of b from their bounds, as far as this table goes: rounded up, and never 0."""
        others = other.entries[self.start - other.start : self.end - other.start + 1]
        return _Table(self.start, [(mine * its >> bits) + 1 for mine, its in zip(self.entries, others, strict=True)], self.x, self.total)

    def trimmed(self, negligible: fmpz) -> "_Table":
        """Return the table without the entries beyond the first negligible one on either side of x."""
        centre = self.x - self.start
        low = max(0, bisect_right(self.entries, negligible, 0, centre) - 1)
        high = bisect_left(self.entries, -negligible, centre + 1, key=neg) + 1
        return _Table(self.start + low, self.entries[low:high], self.x, self.total)


def affinities(a: Fraction, x: int, n: int, bits: int, depth: float) -> _Table:
    """Whole numbers t(r) with t - 2 <= 2^bits b(r) <= t, where b(r) = exp(-gap(a + x, a + r)), out to where b is below 2^-depth.

    b(r+2)²/b(r)² = m²/(v(v+1)) with v = a + r, m = a + (x+r)/2 is rational, so b² follows from b(x) = 1 and b(x ± 1) by whole-number steps
    outwards. Each rounds down by less than one unit of 2^-2(bits + guard) and shrinks the errors before it.
    """
    guard = n.bit_length() + 4
    work = bits + guard
    numerator, denominator = a.numerator, a.denominator
    one = 1 << 2 * work
    whole, part = divmod(2.0 * depth, 1.0)
    far = one - int(one * Fraction(-expm1(-log(2.0) * part))) >> int(whole)  # 2^-2depth, which may be very near 1 or 0

    def step(r: int) -> tuple[int, int]:
        """b(r+2)²/b(r)² as a fraction."""
        v = numerator + denominator * r
        return (2 * numerator + denominator * (x + r)) ** 2, 4 * v * (v + denominator)

    up, down = [one], [one]
    if x < n:
        up.append(_neighbour_square(a + x, 1, 2 * work))
    while up[-1] > far and x + len(up) <= n:
        above, below = step(x + len(up) - 2)
        up.append(up[-2] * above // below)
    if x > 0:
        down.append(_neighbour_square(a + x, -1, 2 * work))
    while down[-1] > far and x - len(down) >= 0:
        above, below = step(x - len(down))
        down.append(down[-2] * below // above)
    slack = n + 2
    low, high = ([fmpz((isqrt(square + slack) >> guard) + 1) for square in side[1:]] for side in (down, up))
    return _Table(x - len(low), [*reversed(low), fmpz(1) << bits, *high], x, n)


def _neighbour_square(alpha: Fraction, step: int, bits: int) -> int:
    """exp(-2 gap(α, α ± 1)) in units of 2^-bits, rounded down, with an error below 2 units."""
    for enclosure in ladder(lambda: (-2 * gap_ball(alpha, alpha + step)).exp() * arb(2) ** bits, bits + 64):
        low, high, exponent = endpoints(enclosure)
        if high - low <= 1 << max(0, -exponent):
            return low << exponent if exponent >= 0 else low >> -exponent
    raise InternalError("an affinity could not be enclosed; nothing was released")


# --- the tree of convolutions -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Node:
    """A group of categories; `mass[i]` bounds the sum of the products over all ways to give them start + i records, in units of 2^-bits."""

    start: int
    mass: list[fmpz]
    parts: tuple["_Node", "_Node"] | None = None

    @property
    def end(self) -> int:
        """The most records."""
        return self.start + len(self.mass) - 1

    def coefficient(self, records: int) -> fmpz:
        """The mass of exactly this many records in the two parts together, in units of 2^-2bits."""
        left, right = self._halves()
        first, last = self._shares(records)
        mine = left.mass[first - left.start : last - left.start + 1]
        other = right.mass[records - last - right.start : records - first - right.start + 1]
        return sum(map(mul, mine, reversed(other)), fmpz(0))

    def split(self, source: BitSource, records: int, claimed: int) -> int | None:
        """Draw how many records go to the left part; None for the part that the mass claims beyond the sum of the products."""
        left, right = self._halves()
        ticket = fmpz(uniform(source, claimed))
        first, last = self._shares(records)
        for given in range(first, last + 1):
            ticket -= left.mass[given - left.start] * right.mass[records - given - right.start]
            if ticket < 0:
                return given
        return None

    def _shares(self, records: int) -> tuple[int, int]:
        """The fewest and the most records that the left part can have."""
        left, right = self._halves()
        return max(left.start, records - right.end), min(left.end, records - right.start)

    def _halves(self) -> tuple["_Node", "_Node"]:
        if self.parts is None:
            raise InternalError("a single category cannot be split; nothing was released")
        return self.parts


def _tree(tables: list[_Table], total: int, bits: int) -> _Node:
    """The tree over all categories; its root has no table of its own, since only one entry of it is ever needed."""
    return _Node(total, [], _parts(tables, total, total, bits))


def _parts(tables: list[_Table], low: int, high: int, bits: int) -> tuple[_Node, _Node]:
    """Both halves of a group that gets low to high records: what the other half cannot take, or leave, is out of reach."""
    middle = len(tables) // 2
    left, right = tables[:middle], tables[middle:]
    (left_low, left_high), (right_low, right_high) = (
        (sum(table.start for table in half), sum(table.end for table in half)) for half in (left, right)
    )
    return _branch(left, low - right_high, high - right_low, bits), _branch(right, low - left_high, high - left_low, bits)


def _branch(tables: list[_Table], low: int, high: int, bits: int) -> _Node:
    if len(tables) == 1:
        [table] = tables
        low, high = max(low, table.start), min(high, table.end)
        return _Node(low, table.entries[low - table.start : high - table.start + 1])
    left, right = parts = _parts(tables, low, high, bits)
    start = left.start + right.start
    low, high = max(low, start), min(high, left.end + right.end)
    product = fmpz_poly(left.mass).mul_low(fmpz_poly(right.mass), high - start + 1)
    return _Node(low, [(entry >> bits) + 1 for entry in product.coeffs()[low - start :]], parts)


@dataclass(frozen=True)
class _Component:
    """One product form with its weight in units of 2^-bits and its mass in units of 2^-2bits."""

    root: _Node
    mass: int
    weight: int

    def draw(self, source: BitSource, records: int, bits: int) -> tuple[int, ...] | None:
        """Counts with probability (product of their table entries) / (what the tree claims); None for the rest."""
        counts: list[int] = []
        waiting = [(self.root, records, self.mass)]
        while waiting:
            node, held, claimed = waiting.pop()
            if node.parts is None:
                counts.append(held)
                continue
            given = node.split(source, held, claimed)
            if given is None:
                return None
            for part, share in zip(reversed(node.parts), (held - given, given), strict=True):
                waiting.append((part, share, int(part.mass[share - part.start]) << bits))
        return tuple(counts)

    def units(self, candidate: tuple[int, ...]) -> fmpz:
        """Weight times the product of the table entries of a candidate; 0 if one of the tables does not reach it."""
        product = fmpz(self.weight)
        for leaf, r in zip(_leaves(self.root), candidate, strict=True):
            if not leaf.start <= r <= leaf.end:
                return fmpz(0)
            product *= leaf.mass[r - leaf.start]
        return product


def _leaves(node: _Node) -> list[_Node]:
    return [node] if node.parts is None else _leaves(node.parts[0]) + _leaves(node.parts[1])
