"""Exact draws from weight(r) = exp(-c H(x, r)) over the counts r of n records in k >= 3 categories, without a list (DESIGN section 5).

With equal totals 1 - H² = e^-D is a product over the categories, B(r) = Π b_i(r_i) with b_i(r) = exp(-gap(a_i + x_i, a_i + r)). Hence

    weight(r) = exp(-c sqrt(1 - B(r)))  <=  Σ_M w_M Π_i b_i(r_i)^M  <=  Σ_M w_M Π_i t_{M,i}(r_i) ,

the first by `domination` (M = 0 and powers of two), the second by integer tables rounded up. The right side is a mixture of product forms.
Convolving the tables two by two gives a tree that knows, for every group of categories and every number of records, an upper bound of
the mass; a candidate is drawn by splitting the n records down that tree, and accepted with probability weight / bound. Where a node
claims more than its parts (it is rounded up), the surplus is drawn as "start again". The proof is in docs/exactness.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import comb, isqrt, log
from operator import mul

from flint import arb, ctx, fmpz, fmpz_poly

from discreet.errors import InternalError, TooLargeError
from discreet.numerics import ball, gap_ball, working_precision
from discreet.sampling.bernoulli import bernoulli, endpoints, ladder
from discreet.sampling.bits import BitSource, uniform
from discreet.sampling.domination import certify, cheapest_weights, plan
from discreet.sampling.lattice import composition

__all__ = ["Mixture", "affinities", "check_size"]

_SPARE_BITS = 40
"""Rounding adds a few units of 2^-bits to the mass of each of the N candidates: with log2 N + 40 bits, a share of about 2^-35."""

_MOST_ENTRIES = 1 << 23
"""Table entries; building at this limit was measured to take 250 to 450 MB, and up to 700 MB with hundreds of categories."""

_ROUNDED = 2
"""An entry of `affinities` is above the true value by at most this many units."""


class Mixture:
    """An exact sampler for one dataset: building it costs O(k n log² n), `draw` O(k n), any number of times."""

    def __init__(self, prior: tuple[Fraction, ...], counts: tuple[int, ...], rate: Callable[[], arb]) -> None:
        """`rate()` encloses c at the working precision in force when it is called."""
        self._prior, self._counts, self._rate = prior, counts, rate
        self._total = sum(counts)
        check_size(prior, self._total)
        size = self._total + int(sum(prior)) + 1
        self._precision = 3 * size.bit_length() + 64
        self._at_precision: dict[int, tuple[arb, list[arb]]] = {}
        self._candidates = comb(self._total + len(prior) - 1, len(prior) - 1)
        self._bits = self._candidates.bit_length() + size.bit_length() + _SPARE_BITS
        self._tables = [affinities(a, x, self._total, self._bits) for a, x in zip(prior, counts, strict=True)]
        self._components, self._uniform_weight = self._build()
        self._shares = [component.weight * component.mass for component in self._components]
        self._shares.append(self._uniform_weight * self._candidates << 2 * self._bits)
        self._bound = sum(self._shares)

    def draw(self, source: BitSource) -> tuple[int, ...]:
        """One candidate, with probability exactly proportional to its weight."""
        while True:
            candidate = self._propose(source)
            if candidate is not None and bernoulli(source, self._acceptances(candidate)):
                return candidate

    def weight(self, candidate: tuple[int, ...]) -> arb:
        """Enclosure of exp(-c H(x, r)) at the working precision, from the definition."""
        if candidate == self._counts:
            return arb(1)
        rate, constants = self._constants()
        exponent = arb(0)
        for a, x, r, constant in zip(self._prior, self._counts, candidate, constants, strict=True):
            if r != x:
                exponent += constant + ball(a + r).lgamma() / 2 - ball(a + Fraction(x + r, 2)).lgamma()
        return (-rate * (-(-exponent).expm1()).sqrt()).exp()

    def bound(self, candidate: tuple[int, ...]) -> Fraction:
        """The mass of a candidate under the proposal: at least its weight."""
        return Fraction(self._bound_units(candidate), 1 << self._bits * (1 + len(candidate)))

    def _constants(self) -> tuple[arb, list[arb]]:
        """c and ½ lnΓ(a_i + x_i) at the working precision."""
        if ctx.prec not in self._at_precision:
            constants = [ball(a + x).lgamma() / 2 for a, x in zip(self._prior, self._counts, strict=True)]
            self._at_precision[ctx.prec] = self._rate(), constants
        return self._at_precision[ctx.prec]

    # --- building -----------------------------------------------------------------------------------------------------

    def _build(self) -> tuple[list["_Component"], int]:
        """The product forms that get a weight, and the weight of the uniform one."""
        with working_precision(self._precision):
            rate = self._constants()[0]
            target = plan(rate, self._nearest(), log(self._candidates))
        components = []
        tables, power = self._tables, 1
        for wanted in target.powers[1:]:
            while power < wanted:
                tables, power = [_squared(table, self._bits) for table in tables], 2 * power
            root = _tree(tables, self._bits)
            components.append((root, root.coefficient(self._total)))
        log_masses = [log(self._candidates), *(log(int(mass)) - 2 * self._bits * log(2) for _, mass in components)]
        uniform_weight, *weights = certify(target, cheapest_weights(target, log_masses), self._bits)
        kept = [_Component(root, int(mass), w) for (root, mass), w in zip(components, weights, strict=True) if w]
        return kept, uniform_weight

    def _nearest(self) -> arb:
        """A lower bound of D(r) for r != x: some category has lost a record and some other has gained one, and each gap grows outwards."""
        down = max(table[x - 1] for table, x in zip(self._tables, self._counts, strict=True) if x)
        up = max(table[x + 1] for table, x in zip(self._tables, self._counts, strict=True) if x < self._total)
        nearest = -(arb(down * up) / arb(2) ** (2 * self._bits)).log()
        if not nearest > 0:
            raise InternalError("the nearest candidate could not be told from the data; nothing was released")
        return nearest

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
        """Enclosures of weight / bound: the first from the tables, the others from the definition."""
        bound = self._bound_units(candidate)
        scale = self._bits * (1 + len(candidate))
        exact = ladder(lambda: self.weight(candidate) * arb(2) ** scale / bound, self._precision)
        with working_precision(self._precision):
            quick = self._table_weight(candidate) * arb(2) ** scale / bound
        return chain([quick] if quick.is_finite() else [], exact)

    def _table_weight(self, candidate: tuple[int, ...]) -> arb:
        """Enclosure of the weight from the tables of affinities, which are right to `_ROUNDED` units."""
        affinity, unit = arb(1), arb(2) ** -self._bits
        for table, x, r in zip(self._tables, self._counts, candidate, strict=True):
            if r != x:
                entry = table[r]
                affinity *= (arb(entry) * unit).union(arb(entry - _ROUNDED) * unit)
        return (-self._constants()[0] * (1 - affinity).sqrt()).exp()


def check_size(prior: tuple[Fraction, ...], n: int) -> None:
    """Refuse by public numbers alone what would not fit in memory."""
    k, size = len(prior), n + int(sum(prior)) + 1
    entries = 2 * k * (n + 1) * (size.bit_length() + 8)
    if entries > _MOST_ENTRIES:
        raise TooLargeError(
            f"an exact draw for k = {k} categories and n = {n} records needs about {entries} table entries, more than {_MOST_ENTRIES}; "
            "use LatticeGeometric or a Laplace mechanism, which draw exactly at any size"
        )


# --- tables -----------------------------------------------------------------------------------------------------------


def affinities(a: Fraction, x: int, n: int, bits: int) -> list[fmpz]:
    """Whole numbers t(r) with t - 2 <= 2^bits b(r) <= t for r = 0..n, where b(r) = exp(-gap(a + x, a + r)).

    b(r+2)²/b(r)² = m²/(v(v+1)) with v = a + r, m = a + (x+r)/2 is rational, so b² follows from b(x) = 1 and b(x ± 1) by whole-number steps
    outwards. Each rounds down by less than one unit of 2^-2(bits + guard) and shrinks the errors before it.
    """
    guard = n.bit_length() + 4
    work = bits + guard
    numerator, denominator = a.numerator, a.denominator
    squares = [0] * (n + 1)

    def step(r: int) -> tuple[int, int]:
        """b(r+2)²/b(r)² as a fraction."""
        v = numerator + denominator * r
        return (2 * numerator + denominator * (x + r)) ** 2, 4 * v * (v + denominator)

    squares[x] = 1 << 2 * work
    for side in (x - 1, x + 1):
        if 0 <= side <= n:
            squares[side] = _neighbour_square(a + x, side - x, 2 * work)
    for r in range(x, n - 1):
        above, below = step(r)
        squares[r + 2] = squares[r] * above // below
    for r in range(x, 1, -1):
        above, below = step(r - 2)
        squares[r - 2] = squares[r] * below // above
    slack = n + 2
    return [fmpz((isqrt(square + slack) >> guard) + 1) if r != x else fmpz(1) << bits for r, square in enumerate(squares)]


def _neighbour_square(alpha: Fraction, step: int, bits: int) -> int:
    """exp(-2 gap(α, α ± 1)) in units of 2^-bits, rounded down, with an error below 2 units."""
    for enclosure in ladder(lambda: (-2 * gap_ball(alpha, alpha + step)).exp() * arb(2) ** bits, bits + 64):
        low, high, exponent = endpoints(enclosure)
        if high - low <= 1 << max(0, -exponent):
            return low << exponent if exponent >= 0 else low >> -exponent
    raise InternalError("an affinity could not be enclosed; nothing was released")


def _squared(table: list[fmpz], bits: int) -> list[fmpz]:
    """From bounds of b^M to bounds of b^2M: rounded up, and never 0."""
    return [(entry * entry >> bits) + 1 for entry in table]


# --- the tree of convolutions -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Node:
    """A group of categories; `mass[s]` bounds, in units of 2^-bits, the sum of the products over all ways to give them s records."""

    mass: list[fmpz]
    parts: tuple["_Node", "_Node"] | None = None

    def coefficient(self, records: int) -> fmpz:
        """The mass of exactly this many records in the two parts together, in units of 2^-2bits."""
        left, right = self._halves()
        return sum(map(mul, left.mass[: records + 1], reversed(right.mass[: records + 1])), fmpz(0))

    def split(self, source: BitSource, records: int, claimed: int) -> int | None:
        """How many records go to the left part: by their product, or None for what is claimed beyond the sum of the products."""
        left, right = self._halves()
        ticket = fmpz(uniform(source, claimed))
        for given in range(records + 1):
            ticket -= left.mass[given] * right.mass[records - given]
            if ticket < 0:
                return given
        return None

    def _halves(self) -> tuple["_Node", "_Node"]:
        if self.parts is None:
            raise InternalError("a single category cannot be split; nothing was released")
        return self.parts


def _tree(tables: list[list[fmpz]], bits: int) -> _Node:
    """The tree over all categories; its root has no table of its own, since only one entry of it is ever needed."""
    middle = len(tables) // 2
    return _Node([], (_branch(tables[:middle], bits), _branch(tables[middle:], bits)))


def _branch(tables: list[list[fmpz]], bits: int) -> _Node:
    if len(tables) == 1:
        return _Node(tables[0])
    parts = _tree(tables, bits)._halves()
    product = fmpz_poly(parts[0].mass).mul_low(fmpz_poly(parts[1].mass), len(tables[0]))
    return _Node([(entry >> bits) + 1 for entry in product.coeffs()], parts)


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
            left, right = node.parts
            given = node.split(source, held, claimed)
            if given is None:
                return None
            waiting.append((right, held - given, int(right.mass[held - given]) << bits))
            waiting.append((left, given, int(left.mass[given]) << bits))
        return tuple(counts)

    def units(self, candidate: tuple[int, ...]) -> fmpz:
        """Weight times the product of the table entries of a candidate."""
        product = fmpz(self.weight)
        for leaf, r in zip(_leaves(self.root), candidate, strict=True):
            product *= leaf.mass[r]
        return product


def _leaves(node: _Node) -> list[_Node]:
    return [node] if node.parts is None else _leaves(node.parts[0]) + _leaves(node.parts[1])
