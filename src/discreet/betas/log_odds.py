"""The law of one or two log-odds on panels: mixtures of Betas as piecewise polynomials, fast to integrate (docs/proofs/inference.md).

The log-odds y = ln θ/(1-θ) of a Beta(a, b) variable have the density θ^a (1-θ)^b / B(a, b): smooth on the whole line, with exponential
tails. On panels of about two standard deviations of the narrowest component it is a polynomial to rounding errors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.polynomial.chebyshev import chebint, chebvander
from numpy.polynomial.legendre import legvander
from scipy.special import betaincinv, betaln, expit, log_expit, logit

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import TooLargeError
from discreet.model.dirichlet import log_kernel
from discreet.numerics.gamma import BELOW_ONE, log_gamma_excess
from discreet.numerics.sum_rules import integral_rule

_PANEL_NODES = 20
"""Gauss-Legendre nodes of a panel."""
_PANEL_POINTS, _PANEL_WEIGHTS = integral_rule(_PANEL_NODES)
_TO_CHEBYSHEV = np.linalg.inv(chebvander(_PANEL_POINTS, _PANEL_NODES - 1))
"""From values at the nodes to the coefficients of Chebyshev polynomials."""
_TO_INTEGRAL = np.asarray(chebint(_TO_CHEBYSHEV, lbnd=-1))
"""From values at the nodes to those of the integral from the left end of a panel on, whose half is 1."""
_TO_LAST = ((legvander(_PANEL_POINTS, _PANEL_NODES - 1) * _PANEL_WEIGHTS[:, None]) * (np.arange(_PANEL_NODES) + 0.5)).T[-2:]
"""From values at the nodes to the last two coefficients of Legendre polynomials."""
_HALF_PANEL = 1.25
"""Half the length of a panel in standard deviations of a component: the polynomial through the nodes is then good to 1e-13."""
_CROWDED = 2.8
"""Expected counts from which on that holds. With fewer, densities are smoother, and panels grow with the fourth root."""
_WIDEST_PANEL = 2.5
"""Half the length of the longest panel, but for the far tails."""
_STRIDE = 1.5
"""Longest piece of a panel on which one rule integrates: θ/(1-θ) grows by e^{1.5} there, which 20 nodes follow to 1e-14."""
_STRAIGHT_BEYOND = 80.0
"""Beyond the logarithm of all records and this, log densities are straight lines."""
_STRAIGHT_HALF = 1.5
"""Half the length of a panel out there, in units of the line's slope."""
_CENTRE = 30.0
"""The reference of logarithms lies within this, whatever the mean."""
_END_TAIL = 1e-16
"""Probability left out at either end."""
_UNPLACED_WEIGHT = 1e-18
"""Weight of components, relative to all, that do not matter for where panels are."""
_LOG_TERM_DEPTH = 80.0
"""A term is left out of a panel if it is below the largest of its row by this much, in logarithms, in the middle."""
_APART = 100.0
"""Rows are computed together if the logarithms of their largest columns change alike over half a panel, to this difference."""
_LARGEST_LOG_FACTOR = 600.0
"""No factor's logarithm is larger; one that would be belongs to a panel that is too long, which its last coefficients tell."""
_CACHED = 1 << 15
"""Terms that are computed together."""
_ROWS_MULTIPLIED, _PRODUCTS_SUMMED = 256, 1 << 17
"""Rows and numbers multiplied in a product of matrices: for larger ones linear algebra starts threads, which cost more than they save."""
_ROW_WORK = 8 * _PANEL_NODES
"""The work of a row on a panel, in densities: its values at the nodes are held."""
_PAIR_WORK = 8
"""The work of a pair of nodes, in densities."""
_FEW_TERMS = 24
"""Terms of a joint law that are fewer as a rule than it takes to look for a shorter sum."""
_RESIDUE = 1e-14
"""Probability that a joint law may lose when it is written as a short sum of products."""


def _changes(start: float, step: Floats) -> Floats:
    """Return the changes of ln θ and ln(1-θ) if the log-odds go from `start` by each `step`: exact for short steps, which cancel."""
    short = np.clip(step, -1.0, 1.0)
    up = np.where(step == short, -np.log1p(expit(-start) * np.expm1(-short)), log_expit(start + step) - log_expit(start))
    down = np.where(step == short, -np.log1p(expit(start) * np.expm1(short)), log_expit(-start - step) - log_expit(-start))
    return np.stack([up, down], axis=-1)


@dataclass(frozen=True, eq=False)
class BetaFamily:
    """Mixtures of Betas, one for each row: Σ_j weights[i, j] · Beta(rows[i] + columns[j]), where rows and columns hold pairs (a, b).

    Weights need not add up to anything; where one is 0 the parameters may be anything.
    """

    weights: Floats
    rows: Floats
    columns: Floats

    @cached_property
    def _parameters(self) -> Floats:
        """The parameters (a, b) of every cell, on the last axis; (1, 1) where there is no weight."""
        return np.where((self.weights > 0.0)[..., None], self.rows[:, None, :] + self.columns[None, :, :], 1.0)

    @cached_property
    def masses(self) -> Floats:
        """The weight of each row."""
        return cast(Floats, self.weights.sum(axis=1))

    def moments(self, i: int, j: int) -> Floats:
        """Return for each row Σ_j weight · E[θ^i (1-θ)^j], for whole numbers of either sign; infinite where a component's is."""
        a, b = self._parameters[..., 0], self._parameters[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = _rising(a, i) * _rising(b, j) / _rising(a + b, i + j)
        value[(a + i <= 0.0) | (b + j <= 0.0)] = np.inf
        held = self.weights > 0.0
        return cast(Floats, np.multiply(self.weights, value, out=np.zeros_like(value), where=held).sum(axis=1))

    @property
    def least(self) -> Floats:
        """The least a and the least b of all components."""
        return cast(Floats, self._parameters[self.weights > 0.0].min(axis=0))

    # --- panels -------------------------------------------------------------------------------------------------------

    @cached_property
    def _extremes(self) -> tuple[Floats, Floats, float]:
        """The least and the largest a and b of components that matter, and the largest a + b."""
        held = self.weights > _UNPLACED_WEIGHT * float(self.weights.sum())
        parameters = self._parameters[held]
        return parameters.min(axis=0), parameters.max(axis=0), float(parameters.sum(axis=1).max())

    @property
    def ends(self) -> tuple[float, float]:
        """Log-odds outside which every component that matters has nearly nothing.

        Whatever its count, a component is below y with at most the probability that the least a and the largest b give.
        """
        least, largest, _ = self._extremes
        return _low_end(float(least[0]), float(largest[1])), -_low_end(float(least[1]), float(largest[0]))

    @property
    def far(self) -> float:
        """Log-odds beyond which, on either side, the density is one exponential."""
        return float(np.log(self._extremes[2] + 1.0)) + _STRAIGHT_BEYOND

    def half_panel(self, y: float) -> float:
        """Half the length of a panel at these log-odds."""
        least, _, total = self._extremes
        if abs(y) > self.far:
            return max(_WIDEST_PANEL, _STRAIGHT_HALF / float(least[0] if y < 0.0 else least[1]))
        expected = total * float(expit(y) * expit(-y))
        return float(min(_WIDEST_PANEL, _HALF_PANEL / np.sqrt(max(expected, np.sqrt(expected * _CROWDED)))))

    # --- densities ----------------------------------------------------------------------------------------------------

    @cached_property
    def _reference(self) -> tuple[float, Floats]:
        """Log-odds in the middle, and the logarithm of every component's density of the log-odds there times its weight."""
        held = self.weights > 0.0
        mean = float(self.moments(1, 0).sum() / self.weights.sum())
        centre = float(np.clip(logit(mean), -_CENTRE, _CENTRE))
        parameters = self._parameters[held]
        total = parameters.sum(axis=-1)
        point = np.array([expit(centre), expit(-centre)])
        found = np.full(self.weights.shape, -np.inf)
        kernel = log_kernel(parameters, parameters / total[:, None], point) + np.log(point).sum()
        normaliser = _few_values(log_gamma_excess, total) - sum(_few_values(log_gamma_excess, side) for side in parameters.T)
        found[held] = np.log(self.weights[held]) + kernel + normaliser
        return centre, found

    def on(self, edges: Floats) -> Floats:
        """Densities of the log-odds, by panel, node and row.

        Between two points of a panel every log density changes by a part of its row and one of its column, so that the densities at all
        nodes are products of one matrix, that of the middle, with vectors.
        """
        _check_work((len(edges) - 1) * max(self.weights.size, _ROW_WORK * len(self.rows)))
        middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
        return np.stack([self._panel(float(m), float(h)) for m, h in zip(middle, half, strict=True)])

    def log_odds(self, finer: float) -> "PanelLaws":
        """The density of every row on panels whose lengths `finer` divides. It is kept: many contrasts may ask for it."""
        if finer not in self._log_odds:
            edges = panel_edges([self], finer)
            self._log_odds[finer] = PanelLaws(edges, self.on(edges))
        return self._log_odds[finer]

    @cached_property
    def _log_odds(self) -> "dict[float, PanelLaws]":
        return {}

    def _panel(self, middle: float, half: float) -> Floats:
        """Return densities by node and row, computed for as many rows at a time as a processor's cache holds the terms of."""
        to_middle = _changes(self._reference[0], np.array([middle - self._reference[0]]))[0]
        of_rows, of_columns = self.rows @ to_middle, self.columns @ to_middle
        changes = _changes(middle, half * _PANEL_POINTS).T
        step = max(1, _CACHED // len(self.columns))
        parts = [
            self._some_rows(slice(start, start + step), of_rows[start : start + step], of_columns, changes)
            for start in range(0, len(self.rows), step)
        ]
        return np.concatenate(parts, axis=1)

    def _some_rows(self, held: slice, of_rows: Floats, of_columns: Floats, changes: Floats) -> Floats:
        log_middle = self._reference[1][held] + of_columns
        best = np.argmax(log_middle, axis=1)
        top = log_middle[np.arange(len(best)), best]
        top[top == -np.inf] = 0.0
        log_middle -= top[:, None]
        # A factor of the column is relative to a column that is the largest of its row, or of one that changes nearly as much.
        alike = np.floor((self.columns @ changes[:, [0, -1]])[best] / _APART)
        result = np.empty((_PANEL_NODES, len(best)))
        for group in np.unique(alike, axis=0):
            rows = np.nonzero((alike == group).all(axis=1))[0]
            result[:, rows] = self._together(self.rows[held][rows], int(best[rows[0]]), (top + of_rows)[rows], log_middle[rows], changes)
        return result

    def _together(self, rows: Floats, column: int, top: Floats, log_terms: Floats, changes: Floats) -> Floats:
        """Densities of some rows at all nodes, from terms in the middle relative to the largest of each row."""
        near = np.nonzero((log_terms > -_LOG_TERM_DEPTH).any(axis=0))[0]
        used = slice(int(near[0]), int(near[-1]) + 1) if near.size else slice(0, 0)
        terms = np.zeros((len(rows), len(log_terms[0, used])))
        np.exp(log_terms[:, used], out=terms, where=log_terms[:, used] > -2.0 * _LOG_TERM_DEPTH)
        of_column = np.exp(np.minimum((self.columns[used] - self.columns[column]) @ changes, _LARGEST_LOG_FACTOR))
        of_row = np.exp(np.minimum(top[:, None] + (rows + self.columns[column]) @ changes, _LARGEST_LOG_FACTOR))
        return cast(Floats, (of_row * _product(terms, of_column)).T)


def _product(first: Floats, second: Floats) -> Floats:
    """The product of two matrices, some rows at a time."""
    step = max(1, min(_ROWS_MULTIPLIED, _PRODUCTS_SUMMED // max(1, second.size)))
    if len(first) <= step:
        return first @ second
    return np.concatenate([first[start : start + step] @ second for start in range(0, len(first), step)])


def _few_values(function: Callable[[Floats], Floats], arguments: Floats) -> Floats:
    """A slow function of arguments that are often the same, such as a prior parameter and counts."""
    different, which = np.unique(arguments, return_inverse=True)
    return function(different)[which]


def _rising(value: Floats, steps: int) -> Floats:
    """Γ(value + steps)/Γ(value) for a whole number of steps, also a negative one."""
    result = np.ones_like(value)
    for step in range(min(steps, 0), max(steps, 0)):
        result = result * (value + step)
    return result if steps >= 0 else 1.0 / result


def _low_end(a: float, b: float) -> float:
    """Log-odds below which Beta(a, b) has a probability of `_END_TAIL`; where they are too low for a float, from θ^a / (a B(a, b))."""
    quantile = float(betaincinv(a, b, _END_TAIL))
    if quantile > 1e-300:
        return float(logit(min(quantile, BELOW_ONE)))
    with np.errstate(divide="ignore", invalid="ignore"):  # a tiny a, whose ends no float holds, is refused by whoever asks for panels
        return float((np.log(_END_TAIL) + np.log(a) + betaln(a, b)) / a)


def _check_work(cells: int) -> None:
    if cells > limits.CONTRAST_CELLS:
        raise TooLargeError(
            f"the exact law of a contrast would need {cells:,} densities here, computed up to {limits.CONTRAST_CELLS:,}: compare draws "
            "instead, as from sample(), or use a release with less noise"
        )


_MOST_LAW_PANELS = 1 << 16
"""The most panels of a law: more than any law that floats hold has been seen to need."""
_BEYOND_FLOATS = (
    "floats do not hold this contrast, as with a prior parameter near 0 or a very large one: compare draws instead, as from sample()"
)


def panel_edges(families: Sequence[BetaFamily], finer: float = 1.0) -> Floats:
    """Ends of panels on which the densities of all these families are nearly polynomials; `finer` divides their lengths."""
    low, high = min(f.ends[0] for f in families), max(f.ends[1] for f in families)
    far = max(f.far for f in families)
    if not (np.isfinite([low, high, far]).all() and low < high):
        raise TooLargeError(_BEYOND_FLOATS)

    def length(y: float) -> float:
        return 2.0 * min(f.half_panel(y) for f in families) / finer

    edges = [low]
    while edges[-1] < high:
        last, step = edges[-1], length(edges[-1])
        edges.append(min(last + step, -far) if last < -far else last + min(step, length(last + step)))
        if len(edges) > _MOST_LAW_PANELS or not edges[-1] > last:
            raise TooLargeError(_BEYOND_FLOATS)
        _check_work(len(edges) * sum(f.weights.size for f in families))
    return np.array(edges)


def joined_density(families: Sequence[BetaFamily], edges: Floats) -> Floats:
    """The density of the mixture of all rows of all families, by panel and node; weights are taken relative to their sum."""
    total = sum(float(f.weights.sum()) for f in families)
    return cast(Floats, sum(f.on(edges).sum(axis=-1) for f in families) / total)


# --- laws on panels ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PanelLaws:
    """Functions of the log-odds on the same panels, by panel, node and function: densities, or terms that densities are sums of."""

    edges: Floats
    values: Floats

    @cached_property
    def _half(self) -> Floats:
        return 0.5 * np.diff(self.edges)

    @cached_property
    def nodes(self) -> Floats:
        """The log-odds at the nodes, by panel and node."""
        return 0.5 * (self.edges[1:] + self.edges[:-1])[:, None] + self._half[:, None] * _PANEL_POINTS

    @cached_property
    def node_weights(self) -> Floats:
        return self._half[:, None] * _PANEL_WEIGHTS

    @cached_property
    def strides(self) -> Floats:
        """The ends of panels, and places between them where these are long; far out they may be, since nothing happens there."""
        pieces = np.where(self._half <= _WIDEST_PANEL, np.ceil(2.0 * self._half / _STRIDE), 1.0).astype(np.int64)
        start, step = np.repeat(self.edges[:-1], pieces), np.repeat(2.0 * self._half / pieces, pieces)
        within = np.arange(len(start)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        return np.append(start + step * within, self.edges[-1])

    @property
    def rule(self) -> tuple[Floats, Floats]:
        """The nodes, and every function there times their weights, by node and function."""
        return self.nodes.ravel(), (self.values * self.node_weights[..., None]).reshape(self.nodes.size, -1)

    @cached_property
    def staggered(self) -> tuple[Floats, Floats]:
        """Nodes on pieces from the middle of a stride to that of the next, and every function there times their weights.

        Their ends are others than those of `rule`, so that a bend which that does not see at an end is seen here.
        """
        y, weights = _nodes_between(np.concatenate([self.strides[:1], 0.5 * (self.strides[1:] + self.strides[:-1]), self.strides[-1:]]))
        return y, self.at(y) * weights[:, None]

    @cached_property
    def sizes(self) -> Floats:
        """The integral of every function without its signs."""
        return np.asarray(np.einsum("pm,pmr->r", self.node_weights, np.abs(self.values)))

    def integral(self, factor: Floats | float = 1.0) -> Floats:
        """Return the integral of every function times a factor, which has a value for each panel and node, or several on axes before."""
        return np.asarray(np.einsum("...pm,pmr->...r", self.node_weights * factor, self.values))

    @cached_property
    def masses(self) -> Floats:
        """The integral of every function."""
        return self.integral()

    @cached_property
    def _coefficients(self) -> Floats:
        """The coefficients of Chebyshev polynomials, by panel, degree and function."""
        return np.asarray(_TO_CHEBYSHEV @ self.values)

    @cached_property
    def _integrals(self) -> Floats:
        """The coefficients of every function's integral from the left end of all panels on."""
        found = np.asarray(_TO_INTEGRAL @ self.values) * self._half[:, None, None]
        found[1:, 0] += np.cumsum(np.einsum("pm,pmr->pr", self.node_weights, self.values), axis=0)[:-1]
        return found

    def roughness(self) -> Floats:
        """Return for every function about how much of its integral the panels do not resolve: their last coefficients."""
        last = np.abs(_TO_LAST @ self.values).max(axis=1)
        return cast(Floats, (self._half[:, None] / _PANEL_NODES * last).sum(axis=0))

    def at(self, y: Floats) -> Floats:
        """Every function at points, by point and function; 0 outside of the panels."""
        inside = (y >= self.edges[0]) & (y <= self.edges[-1])
        return np.where(inside[:, None], self._evaluated(self._coefficients, y), 0.0)

    def below(self, y: Floats) -> Floats:
        """Every function's integral up to points, by point and function."""
        return self._evaluated(self._integrals, y)

    def below_and_at(self, y: Floats) -> tuple[Floats, Floats]:
        """Return `below` and `at` at the same points, from one evaluation."""
        inside, functions = (y >= self.edges[0]) & (y <= self.edges[-1]), self.values.shape[2]
        found = self._evaluated(self._both, y)
        return found[:, :functions], np.where(inside[:, None], found[:, functions:], 0.0)

    @cached_property
    def _both(self) -> Floats:
        """The coefficients of every function's integral, and of every function."""
        return np.concatenate([self._integrals, np.pad(self._coefficients, ((0, 0), (0, 1), (0, 0)))], axis=2)

    def _evaluated(self, coefficients: Floats, y: Floats) -> Floats:
        """Sums of Chebyshev polynomials, by point and function: the points of a panel together, as a product of matrices."""
        panel = np.searchsorted(self.edges[1:-1], y, side="right")
        local = np.clip((y - self.edges[panel]) / self._half[panel] - 1.0, -1.0, 1.0)
        order = np.argsort(panel.astype(np.uint16), kind="stable")
        panel, powers = panel[order], _chebyshev(local[order], coefficients.shape[1]).T
        found, start = np.empty((len(y), coefficients.shape[2])), 0
        for end in (np.flatnonzero(np.diff(panel, append=-1)) + 1).tolist():
            found[start:end] = _product(powers[start:end], coefficients[panel[start]])
            start = end
        back = np.empty_like(found)
        back[order] = found
        return back


def _nodes_between(edges: Floats) -> tuple[Floats, Floats]:
    """The nodes of a rule on every piece between edges, and their weights."""
    half = 0.5 * np.diff(edges)[:, None]
    return (0.5 * (edges[1:] + edges[:-1])[:, None] + half * _PANEL_POINTS).ravel(), (half * _PANEL_WEIGHTS).ravel()


def _chebyshev(x: Floats, count: int) -> Floats:
    """The Chebyshev polynomials of degree 0, 1, ... at points between -1 and 1, by degree and point: T_{m+j} = 2 T_m T_j - T_{m-j}."""
    found = np.ones((count, len(x)))
    found[1:2] = x
    m = 1
    while m + 1 < count:
        more = min(m, count - 1 - m)
        np.multiply(found[1 : more + 1], 2.0 * found[m], out=found[m + 1 : m + more + 1])
        found[m + 1 : m + more + 1] -= found[m - more : m][::-1]
        m += more
    return found


Boundary = Callable[[Floats], Floats]
"""A function from log-odds of one kind to those of the other: a curve in the plane, or its inverse."""
Curve = tuple[Boundary, Boundary, Sequence[float]]
"""A curve in the plane, its inverse, and its kinks."""
_CURVES_TOGETHER = 32
"""Curves whose points are looked at together."""


@dataclass(frozen=True, eq=False)
class JointLaw:
    """The joint law of two log-odds, with the density Σ_r first_r(y₁) second_r(y₂): one term if they are independent."""

    first: PanelLaws
    second: PanelLaws

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """What was computed of the law for some of its contrasts, and others may ask for."""
        return {}

    @cached_property
    def mass(self) -> float:
        return float(self.first.masses @ self.second.masses)

    def mean(self, first: Floats | float = 1.0, second: Floats | float = 1.0) -> float:
        """Return the mean of the product of two functions, given by their values at the nodes."""
        return float(self.first.integral(first) @ self.second.integral(second)) / self.mass

    @cached_property
    def roughness(self) -> float:
        """About how much probability the panels do not resolve."""
        return float(self.first.roughness() @ self.second.sizes + self.first.sizes @ self.second.roughness()) / self.mass

    def second_below(self, y: Floats) -> Floats:
        """P(y₂ <= y), for each y."""
        return np.clip(self.second.below(y) @ self.first.masses / self.mass, 0.0, 1.0)

    def probabilities(self, curves: Sequence[Curve]) -> Floats:
        """P(y₁ <= boundary(y₂)) for each curve: an integral over y₂, on panels that end where those of either law do.

        A curve has its boundary, which is monotone between kinks and may be infinite; the inverse, of which NaN and infinite values are
        left out; and kinks, which are more places for panels to end. The points of several curves are looked at together.
        """
        groups = [curves[start : start + _CURVES_TOGETHER] for start in range(0, len(curves), _CURVES_TOGETHER)]
        return np.array([found for group in groups for found in self._together(group)])

    def _together(self, curves: Sequence[Curve]) -> list[float]:
        points = [self._points(inverse, kinks) for _, inverse, kinks in curves]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            reached = np.concatenate([boundary(y) for (boundary, _, _), (y, _) in zip(curves, points, strict=True)])
        density = self.second.at(np.concatenate([y for y, _ in points]))
        terms = np.concatenate([weights for _, weights in points]) * np.einsum("nr,nr->n", self.first.below(reached), density)
        parts = np.split(terms, np.cumsum([len(y) for y, _ in points])[:-1])
        return [float(np.clip(part.sum() / self.mass, 0.0, 1.0)) for part in parts]

    def _points(self, inverse: Boundary, kinks: Sequence[float]) -> tuple[Floats, Floats]:
        """Return the places where an integral over y₂ looks, and their weights."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ends = np.concatenate([self.second.strides, inverse(self.first.strides), np.array(kinks, dtype=np.float64)])
        return _nodes_between(np.unique(ends[(ends >= self.second.edges[0]) & (ends <= self.second.edges[-1])]))


def single_law(density: Floats, edges: Floats) -> JointLaw:
    """The law of one log-odds, as the second of two of which the first means nothing."""
    nothing = PanelLaws(np.array([0.0, 1.0]), np.ones((1, _PANEL_NODES, 1)))
    return JointLaw(nothing, PanelLaws(edges, density[..., None]))


def check_nodes(edges: tuple[Floats, Floats]) -> None:
    """Refuse panels with too many pairs of nodes."""
    _check_work(_PAIR_WORK * _PANEL_NODES**2 * len(edges[0]) * len(edges[1]))


def tied_law(first: PanelLaws, joint: Floats, second: PanelLaws) -> JointLaw:
    """The joint law Σ_rs joint[r, s] first_r(y₁) second_s(y₂) of densities, as a short sum of products.

    Where the weights of pairs are themselves a short sum of products, that is all. Otherwise the joint density is looked at, which may be
    shorter, because the densities of neighbouring rows are much alike.
    """
    terms = list(islice(_eliminated(joint.copy(), _RESIDUE * float(joint.sum())), _FEW_TERMS + 1))
    if len(terms) > _FEW_TERMS:
        check_nodes((first.edges, second.edges))
        left, right = (law.values.reshape(-1, law.values.shape[-1]) for law in (first, second))
        return short_law(left @ joint @ right.T, (first.edges, second.edges))
    columns, rows = (np.stack(side, axis=-1) for side in zip(*terms, strict=True))
    return JointLaw(PanelLaws(first.edges, first.values @ columns), PanelLaws(second.edges, second.values @ rows))


def short_law(density: Floats, edges: tuple[Floats, Floats]) -> JointLaw:
    """The joint law with this density at all pairs of nodes, as a short sum of products.

    Gaussian elimination with complete pivoting on the probabilities that nodes stand for, until what is left adds up to nearly nothing.
    The density is nearly that of normal variables, for which some ten or twenty terms are enough.
    """
    grids = [PanelLaws(e, np.empty((len(e) - 1, _PANEL_NODES, 0))) for e in edges]
    weights = [grid.node_weights.ravel() for grid in grids]
    left = density * weights[0][:, None] * weights[1]
    enough = _RESIDUE * float(left.sum())
    terms = list(_eliminated(left, enough))
    values = [np.stack([term[side] for term in terms], axis=-1) / weights[side][:, None] for side in (0, 1)]
    laws = [PanelLaws(e, v.reshape(len(e) - 1, _PANEL_NODES, len(terms))) for e, v in zip(edges, values, strict=True)]
    return JointLaw(laws[0], laws[1])


def _eliminated(left: Floats, enough: float) -> Iterator[tuple[Floats, Floats]]:
    """Columns and rows whose products add up to a matrix, which is used up."""
    size = np.empty_like(left)
    for _ in range(min(left.shape)):
        row, column = divmod(int(np.argmax(np.abs(left, out=size))), left.shape[1])
        if size[row, column] <= enough and float(size.sum()) <= enough:
            return
        term = left[:, column].copy(), left[row] / left[row, column]
        yield term
        left -= np.outer(*term, out=size)
