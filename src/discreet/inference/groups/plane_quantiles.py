"""Quantiles of many mixtures of Beta(a + x, b + r) over counts x and rests r (docs/proofs/inference.md, "Many groups at once").

With `e(x, r) = t^{a+x} (1-t)^{b+r} Γ(a+b+x+r) / (Γ(a+x+1) Γ(b+r))`,

    I_t(a+x, b+r) = I_t(a+x+1, b+r) + e(x, r) ,    I_t(a+x, b+r+1) = I_t(a+x, b+r) + e(x, r) (a+x)/(b+r) .

Summing by parts over x and then, for the last count m, over r from the least rest q on leaves one incomplete beta function,

    F(t)  =  I_t(a+m, b+q)  +  Σ_{r, x < m} (Σ_{y <= x} w_{y,r}) e(x, r)  +  Σ_r (Σ_{s > r} Σ_y w_{y,s}) e(m, r) (a+m)/(b+r) ,

and positive terms. e is a function of x, of r and of x + r times powers of t and 1-t: a matrix that is computed once, between two vectors.
Where 1-t changes little between both quantiles its powers are nearly polynomials in r, and the matrix has a column for each of a few nodes
instead of one for each rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import betainc, expit, gammaln, log_expit, logit

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.batched.windows import HELD
from discreet.errors import TooLargeError
from discreet.inference.groups.line_quantiles import incomplete_beta
from discreet.inference.groups.quantile_search import equal_tailed
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.dirichlet import log_density
from discreet.numerics.divergences import log_ratio_excess
from discreet.numerics.incomplete_beta import beta_cdf
from discreet.numerics.sum_rules import chebyshev_rule

_LARGEST = 500.0
"""Logarithms of what is kept apart stay below this."""
_REACH_MARGIN, _REACH_BEYOND = 1.2, 0.2
"""How much farther than both first guesses points of a search are expected: times, and plus, in powers of e over half of the rests."""
_INTERPOLATED = 1e-9
"""What nodes are allowed to change in powers of 1-t, relative to that of the middle rest."""
_UNCERTAIN = 0.04
"""The part of the error of a quantile that nodes may have; beyond, all rests are gone through."""
_PAYS = 0.4
"""Nodes are used if they are fewer than this part of the rests."""

Chosen = NDArray[np.int64] | slice


@dataclass(frozen=True, eq=False)
class BetaPlanes:
    """Mixtures whose weights are products: of a factor of the count, one of the rest and one of the sum of both."""

    of_count: Floats
    """By mixture and count, from `first` on."""
    of_rest: Floats
    """By mixture and rest, from `least` on."""
    of_sum: Floats
    """By mixture and sum, from `first + least` on."""
    first: Counts
    least: Counts
    a: Floats
    b: Floats

    def __len__(self) -> int:
        return len(self.of_count)

    def rows(self, chosen: Chosen) -> "BetaPlanes":
        """Some of the mixtures."""
        names = ("of_count", "of_rest", "of_sum", "first", "least", "a", "b")
        return BetaPlanes(*(getattr(self, name)[chosen] for name in names))

    def marginals(self) -> tuple[Floats, Floats]:
        """The weights of the counts and those of the rests."""
        counts, rests = self.of_count.shape[1], self.of_rest.shape[1]
        by_count = self.of_count * np.einsum("ixr,ir->ix", sliding_window_view(self.of_sum, rests, axis=1), self.of_rest)
        by_rest = self.of_rest * np.einsum("irx,ix->ir", sliding_window_view(self.of_sum, counts, axis=1), self.of_count)
        return by_count, by_rest

    def interval(self, guesses: tuple[Floats, Floats], tail: float, precision: float) -> tuple[Floats, Floats, Floats, Floats]:
        """The points with probability `tail` below and above them, and how far the probability beyond either is from that at most.

        `guesses` are the logits where both are looked for first. Weights are taken relative to their sums, which come last.
        """
        low, high, error, whole = np.empty((4, len(self)))
        powers = _Powers(guesses, self.of_count.shape[1], self.of_rest.shape[1])

        def search(chosen: NDArray[np.int64], nodes: int | None) -> NDArray[np.int64]:
            part = self.rows(chosen)
            sums = _Sums(part, nodes, powers.middle[chosen])
            sides = guesses[0][chosen], guesses[1][chosen]

            def exact(row: int) -> BetaMixture | None:
                return part.mixture(row) if sums.whole[row] > 0.0 else None

            low[chosen], high[chosen], wrong = equal_tailed((sums.below, sums.above), sides, tail, precision, exact)
            uncertain = np.maximum(sums.uncertainty(low[chosen]), sums.uncertainty(high[chosen]))
            error[chosen], whole[chosen] = wrong + uncertain, sums.whole
            return chosen[~(uncertain <= _UNCERTAIN * precision * tail)]

        rough = [search(chosen, nodes) for chosen, nodes in powers.batches()]
        for chosen in powers.split(np.concatenate([np.empty(0, dtype=np.int64), *rough]), None):
            search(chosen, None)
        return low, high, error, whole

    def mixture(self, row: int) -> BetaMixture:
        """One mixture as a distribution; TooLargeError if it has too many components to be added up one by one."""
        counts, rests = self.of_count.shape[1], self.of_rest.shape[1]
        if counts * rests > limits.PLANE_COMPONENTS:
            raise TooLargeError(
                f"the noise leaves {counts * rests:,} pairs of a count and a rest of its group possible; at most "
                f"{limits.PLANE_COMPONENTS:,} are added up one by one. Less noise (a larger epsilon) needs fewer"
            )
        weight = sliding_window_view(self.of_sum[row], rests) * self.of_rest[row] * self.of_count[row][:, None]
        x, r = np.nonzero(weight > 0.0)
        first, least = self.a[row] + self.first[row], self.b[row] + self.least[row]
        return BetaMixture(weight[x, r] / weight.sum(), first + x, least + r)


class _Powers:
    """How far powers of 1-t go apart over all rests between the guesses of both quantiles, and how many nodes hold them."""

    def __init__(self, guesses: tuple[Floats, Floats], counts: int, rests: int) -> None:
        self.counts, self.rests = counts, rests
        low, high = log_expit(-guesses[0]), log_expit(-guesses[1])
        self.middle = 0.5 * (low + high)
        self._reach = _REACH_MARGIN * 0.25 * (rests - 1.0) * np.abs(low - high) + _REACH_BEYOND

    def batches(self) -> Iterator[tuple[NDArray[np.int64], int | None]]:
        """Mixtures whose powers need the same number of nodes, and that number; None for those that need all rests."""
        order, nodes = np.argsort(self._reach, kind="stable"), 2
        while nodes <= _PAYS * self.rests:
            inside = int((_log_interpolation_error(self._reach[order], nodes, self.counts + self.rests) <= np.log(_INTERPOLATED)).sum())
            for chosen in self.split(order[:inside], nodes):
                yield chosen, nodes
            order, nodes = order[inside:], nodes + 2
        for chosen in self.split(order, None):
            yield chosen, None

    def split(self, chosen: NDArray[np.int64], nodes: int | None) -> Iterator[NDArray[np.int64]]:
        """So many at a time that their matrices are not large."""
        step = max(1, HELD // (self.counts * (nodes or self.rests)))
        return (chosen[start : start + step] for start in range(0, len(chosen), step))


def _log_interpolation_error(reach: Floats, nodes: int, summed: int) -> Floats:
    """The logarithm of a bound on the error of e^{reach y} by the polynomial through its values at Chebyshev's nodes, -1 <= y <= 1.

    `summed` is the number of counts and rests that are added up. Values at nodes are as large as e^reach where those that they stand for
    are as small as e^-reach, so what floats lose is a part of e^reach (docs/proofs/inference.md, "Many groups at once").
    """
    lebesgue = 1.0 + 2.0 / np.pi * np.log(nodes + 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = np.log(2.0) + nodes * np.log(0.5 * reach) - gammaln(nodes + 1.0)
        rounded = np.log(np.finfo(np.float64).eps * (lebesgue * (summed + nodes + reach + 2.0) + 3.0 * nodes**3))
        return np.asarray(np.logaddexp(missed, rounded) + reach)


class _Sums:
    """The factors of all terms of F: for each mixture a matrix of counts by rests, or by nodes that stand for the rests.

    Where floats hold them, what depends on the count alone is kept apart.
    """

    def __init__(self, planes: BetaPlanes, nodes: int | None, log_middle: Floats) -> None:
        counts, rests = planes.of_count.shape[1], planes.of_rest.shape[1]
        a, b = planes.a + planes.first, planes.b + planes.least
        r = np.arange(rests, dtype=np.float64)
        by_count, by_rest = planes.marginals()
        self.whole = by_count.sum(axis=1)
        one = np.where(self.whole > 0.0, self.whole, 1.0)[:, None]
        place = _mean_places(by_count / one), _mean_places(by_rest / one)
        self._set_middle(a + place[0], b + place[1])
        self.end = (a + (counts - 1), b)
        self.alpha, self.counted = a[:, None] + np.arange(counts), np.arange(counts) - place[0][:, None]
        of_both, of_count, of_rest = _log_terms(a, b, self.parameters[0], self.parameters[1], place, counts, rests)
        self.log_end = of_both[:, counts - 1] - of_count[:, -1] - of_rest[:, 0]
        self.rests: Floats = r
        basis: Floats | None = None
        if nodes is not None:
            self.rests, basis = chebyshev_rule(rests, nodes)
        self.beta, self.rested, self.least = b[:, None] + self.rests, self.rests - place[1][:, None], place[1]
        self.shift = np.zeros(len(a)) if nodes is None else log_middle - np.log(self.means[1])
        self.half, self.summed = 0.0 if nodes is None else 0.5 * (rests - 1.0), counts + rests
        apart = max(float(part.max()) for part in (of_both, of_count, of_rest)) < _LARGEST
        scaled = np.exp(self.shift[:, None] * (r - place[1][:, None]) - (of_rest if apart else 0.0))
        beyond = np.maximum(np.cumsum(by_rest[:, ::-1], axis=1)[:, ::-1] - by_rest, 0.0) / one
        last = beyond * ((a + counts - 1.0)[:, None] / (b[:, None] + r)) * scaled
        of_counts, of_rests = planes.of_count / one, planes.of_rest * scaled
        self.of_count = of_count if apart else np.zeros_like(of_count)
        self.matrix = np.empty((len(a), counts, len(self.rests)))
        for start in range(0, len(a), step := max(1, HELD // (counts * rests))):
            part = slice(start, start + step)
            rows = _running(of_counts[part], of_rests[part], planes.of_sum[part], last[part])
            logs = sliding_window_view(of_both[part], rests, axis=1)
            rows *= (
                sliding_window_view(np.exp(of_both[part]), rests, axis=1)
                if apart
                else np.exp(logs - of_rest[part, None, :] - of_count[part, :, None])
            )
            self.matrix[part] = rows if basis is None else rows @ basis

    def _set_middle(self, alpha: Floats, beta: Floats) -> None:
        """The term of one component in the middle, at the mean of this component, which all terms are relative to."""
        self.parameters = np.stack([alpha, beta])
        self.means = self.parameters / (alpha + beta)
        density = log_density(self.parameters.T, self.means.T, alpha + beta, self.means.T)
        self.known = density + np.log(self.means).sum(axis=0) - np.log(alpha)

    def below(self, chosen: Chosen, logit: Floats) -> tuple[Floats, Floats]:
        """F and its derivative by the logit: that of ln e(x, r) is (a + x)(1 - t) - (b + r) t."""
        point, scale, of_count, of_rest, end = self._at(chosen, logit)
        both = np.stack([of_rest, of_rest * self.beta[chosen]], axis=2)
        with np.errstate(over="ignore", invalid="ignore"):
            inner = self.matrix[chosen] @ both
            terms = inner[:, :, 0] * of_count
            more = (terms * self.alpha[chosen]).sum(axis=1) * point[1] - (inner[:, :, 1] * of_count).sum(axis=1) * point[0]
            known = incomplete_beta(betainc, beta_cdf, self.end[0][chosen], self.end[1][chosen], point[0])
            return known + scale * terms.sum(axis=1), scale * more + end * self.end[0][chosen]

    def above(self, chosen: Chosen, logit: Floats) -> tuple[Floats, Floats]:
        """1 - F and the derivative of F by the logit."""
        mass, density = self.below(chosen, logit)
        return 1.0 - mass, density

    def uncertainty(self, point: Floats) -> Floats:
        """Bound on what nodes change in F: the sum of all terms with the error of a power of 1-t in place of that power."""
        if not self.half:
            return np.zeros(len(point))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            _, scale, of_count, _, _ = self._at(slice(None), logit(point))
            rate = np.log1p(-point) - np.log(self.means[1]) - self.shift
            log_error = _log_interpolation_error(self.half * np.abs(rate), len(self.rests), self.summed)
            power = np.exp(rate * (self.half - self.least) + log_error)  # far away one is tiny and the other huge
            found = scale * power * (self.matrix.sum(axis=2) * of_count).sum(axis=1)
        return np.where(np.isfinite(found) & (scale > np.finfo(np.float64).tiny), np.minimum(found, 1.0), 1.0)

    def _at(self, chosen: Chosen, logit: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """The point and 1 less it, the term of the middle there, the powers of both relative to it, and the term of the end."""
        point, means = np.stack([expit(logit), expit(-logit)]), self.means[:, chosen]
        step_x, step_r = np.log(point) - np.log(means)
        with np.errstate(over="ignore", invalid="ignore"):
            of_rest = np.exp((step_r - self.shift[chosen])[:, None] * self.rested[chosen])
            of_count = np.exp(step_x[:, None] * self.counted[chosen] - self.of_count[chosen])
            excess = log_ratio_excess((point - means) / means, point / means)
            scale = np.exp(self.known[chosen] + (self.parameters[:, chosen] * excess).sum(axis=0))
            end = scale * np.exp(self.log_end[chosen] + step_x * self.counted[chosen, -1] - step_r * self.least[chosen])
        return point, scale, of_count, of_rest, end


def _mean_places(weight: Floats) -> Floats:
    return np.asarray(np.rint(np.einsum("ij,j->i", weight, np.arange(weight.shape[1], dtype=np.float64))))


def _running(of_count: Floats, of_rest: Floats, of_sum: Floats, last: Floats) -> Floats:
    """Sums of the weights up to each count, by mixture, count and rest; in the place of the last count what it has by itself."""
    counts, rests = of_count.shape[1], of_rest.shape[1]
    result, sums = np.empty((len(of_count), counts, rests)), np.zeros_like(of_rest)
    for x in range(counts - 1):
        sums += of_count[:, x, None] * of_sum[:, x : x + rests]
        np.multiply(sums, of_rest, out=result[:, x])
    result[:, -1] = last
    return result


def _log_terms(
    a: Floats, b: Floats, alpha: Floats, beta: Floats, place: tuple[Floats, Floats], counts: int, rests: int
) -> tuple[Floats, Floats, Floats]:
    """The parts of ln e where t is α/(α + β), relative to the term of one place: of x + r, and what x and r take away from it."""
    of_both = _sums_from(np.log(((a + b)[:, None] + np.arange(counts + rests - 2.0)) / (alpha + beta)[:, None]), place[0] + place[1])
    of_count = _sums_from(np.log((a[:, None] + np.arange(1.0, counts)) / alpha[:, None]), place[0])
    of_rest = _sums_from(np.log((b[:, None] + np.arange(rests - 1.0)) / beta[:, None]), place[1])
    return of_both, of_count, of_rest


def _sums_from(steps: Floats, place: Floats) -> Floats:
    """Running sums of each row, one more than it has entries, relative to that at a place."""
    sums = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    return np.asarray(sums - np.take_along_axis(sums, place.astype(np.int64)[:, None], axis=1))
