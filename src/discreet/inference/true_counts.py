"""What a raw outcome says about the true counts: their posterior law, by listing it or by convolution (docs/inference_proofs.md).

`w_x ∝ P(z | x) · DirMult(x; n, a)` for counts x of total n.

- Few possible counts (`limits.POSTERIOR_CANDIDATES`): all of them, for any mechanism.
- Exponential mechanisms: all of them up to `limits.LIKELIHOOD_CANDIDATES`, whose likelihoods come from tables.
- Noise that is independent by category, any n: windows (`fixed_totals`) and convolutions. Sums are of positive floats; short ones are
  added up directly, to a relative error of 1e-12, long ones by Fourier transform, to 1e-16 of the largest term times the length.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate
from math import isqrt

import numpy as np
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference.any_total_counts import CountsOfAnyTotal, part_of
from discreet.inference.category_contrasts import PairWeights, check_pairs, middle_part, split_weights
from discreet.inference.covariances import listed_covariance
from discreet.inference.fixed_total_mixtures import probability_law
from discreet.inference.fixed_totals import Tilted, check_windows, tilt
from discreet.inference.paired_counts import PairedCounts
from discreet.inference.paired_parts import PairedPart
from discreet.inference.pooled_counts import PooledCounts
from discreet.inference.runs import Run, completed, convolve, inverse, sum_of, trimmed, values_at
from discreet.inference.size_posterior import SizePosterior
from discreet.inference.transformed_counts import transformed_marginals
from discreet.mechanisms.base import Mechanism, Prior
from discreet.mechanisms.laws import Progress
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.reports import clamp_outcomes
from discreet.model.beta_mixtures import BetaMixture

_BATCH = 4096
_FEW = 32
"""Categories up to which draws are made by rejection, or one category after the other."""
_NEGLIGIBLE = 1e-26
"""What is dropped at the ends of laws of some counts, relative to the largest."""
_CELL = 8
"""What a cell of a window costs, against a step of a convolution."""


@dataclass(frozen=True, eq=False)
class ListedCounts:
    """A law given by all its points and their log weights."""

    points: Counts
    log_weight: Floats
    omitted: float = 0.0

    @property
    def work(self) -> int:
        return self.points.size

    @property
    def n(self) -> int:
        return int(self.points[0].sum())

    @cached_property
    def probability(self) -> Floats:
        return np.exp(self.log_weight - logsumexp(self.log_weight))

    def marginal(self, category: int) -> Run:
        return Run(0, np.asarray(np.bincount(self.points[:, category], weights=self.probability), dtype=np.float64))

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        return probability_law(self.marginal(category), self.n, a, b, label, self.omitted)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        x, total = self.points[:, first], self.points[:, first] + self.points[:, second]
        check_pairs(int(np.ptp(total) + 1), int(np.ptp(x) + 1))
        split = np.zeros((int(np.ptp(total)) + 1, int(np.ptp(x)) + 1))
        np.add.at(split, (total - total.min(), x - x.min()), self.probability)
        return [PairWeights.of_public_total(self.n, int(total.min()), int(x.min()), split)]

    def part(self, chosen: Sequence[int]) -> PooledCounts:
        return PooledCounts.part_of(self.points, self.probability, chosen, self.omitted)

    def covariance(self, a: Floats) -> Floats:
        return listed_covariance(self.points, self.probability, a)

    @property
    def size(self) -> SizePosterior:
        return SizePosterior(self.n, np.ones(1))

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        return self.points[rng.choice(len(self.points), size=size, p=self.probability / self.probability.sum())]


@dataclass(frozen=True, eq=False)
class ConvolvedCounts:
    """The law of independent windows and a pivot given that their total is n."""

    n: int
    laws: Tilted

    @property
    def work(self) -> int:
        # Every total that the windows can have, for each category. A cell of a window counts several times: its logarithm takes long.
        totals = self.laws.highest - self.laws.lowest + 1
        return totals * (len(self.laws.ranges) + 1) + _CELL * sum(self.laws.widths)

    @cached_property
    def _order(self) -> list[int]:
        return sorted(self.laws.windows)

    def _added(self, total: Run, category: int) -> Run:
        """The law of a total with one more window, cut to what the rest can complete."""
        window = self.laws.windows[category]
        last = self.laws.rest.high - total.low - window.low + 1
        return Run(total.low + window.low, convolve(total.value, window.value)[:last])

    @cached_property
    def _totals(self) -> tuple[list[Run], Run]:
        """The laws of the totals of the first 0, s, 2s, ... windows, and of all of them; those between are made again when needed."""
        kept, total = [], Run(0, np.ones(1))
        for m, category in enumerate(self._order):
            if m % self._stride == 0:
                kept.append(total)
            total = self._added(total, category)
        return kept, total

    @cached_property
    def _stride(self) -> int:
        return max(1, isqrt(len(self._order)))

    @cached_property
    def _completing(self) -> Run:
        """The pivot's probability of what each total of all windows leaves."""
        rest, end = self.laws.rest, self._totals[1]
        return Run(end.low, rest.value[end.low - rest.low :][: len(end.value)])

    @cached_property
    def _marginals(self) -> dict[int, Run]:
        """Of all categories but the pivot, in one pass from the last to the first: two roots of k long laws are held at a time."""
        found, message = {}, self._completing
        for first, start in reversed(list(enumerate(self._totals[0]))):
            block = self._order[first * self._stride : (first + 1) * self._stride]
            totals = list(accumulate(block[:-1], self._added, initial=start))
            for category, total in reversed(list(zip(block, totals, strict=True))):
                window = self.laws.windows[category]
                weight = window.value * completed(message, total, window).value
                found[category] = Run(window.low, weight / weight.sum())
                message = completed(message, window, total)
        return found

    @cached_property
    def _after(self) -> list[Run]:
        """For m = 0, 1, ...: the probability that the other windows and the pivot complete each total of the first m to n."""
        if len(self._order) * len(self._completing.value) > limits.POSTERIOR_DRAW_CELLS:
            raise TooLargeError("draws of the true counts would hold too much in memory here; means and intervals do not")
        totals = list(accumulate(self._order, self._added, initial=Run(0, np.ones(1))))
        messages = [self._completing]
        for category, total in reversed(list(zip(self._order, totals, strict=False))):
            messages.append(completed(messages[-1], self.laws.windows[category], total))
        return messages[::-1]

    @cached_property
    def _transformed(self) -> tuple[list[Run], float] | None:
        return transformed_marginals(self.laws)

    @cached_property
    def _completion(self) -> float:
        """P_λ(Σ X = n)."""
        if self._transformed is not None:
            return self._transformed[1]
        return float(self._totals[1].value @ self._completing.value)

    @property
    def acceptance(self) -> float:
        """The part of draws by rejection that is accepted."""
        return self._completion / float(self.laws.rest.value.max())

    @property
    def omitted(self) -> float:
        return self.laws.outside / self.acceptance

    def marginal(self, category: int) -> Run:
        if self._transformed is not None:
            return self._transformed[0][category]
        if category != self.laws.pivot:
            return self._marginals[category]
        end = self._totals[1]
        return Run(self.n - end.high, (end.value * self._completing.value)[::-1] / self._completion)

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        return probability_law(self.marginal(category), self.n, a, b, label, self.omitted)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        factors = [middle_part(self._window(i), self.marginal(i)) for i in (first, second)]
        low, size = factors[0].low + factors[1].low, len(factors[0].value) + len(factors[1].value) - 1
        check_pairs(size, len(factors[0].value))
        others = reduce(self._added, [i for i in self._order if i not in (first, second)], Run(0, np.ones(1)))
        if self.laws.pivot in (first, second):
            weight = values_at(others, self.n - low - size + 1, size)[::-1]
        else:
            weight = completed(self.laws.rest, others, Run(low, np.ones(size))).value
        return [PairWeights.of_public_total(self.n, low, factors[0].low, split_weights(*factors) * weight[:, None])]

    def _window(self, category: int) -> Run:
        """The tilted law of one count; for the pivot, of what the others leave."""
        rest = self.laws.rest
        return self.laws.windows[category] if category != self.laws.pivot else Run(self.n - rest.high, rest.value[::-1])

    def part(self, chosen: Sequence[int]) -> CountsOfAnyTotal:
        """The law of some of the counts. The others say how likely it is that they add up to what is left of n."""
        windows = [trimmed(self._window(i), _NEGLIGIBLE)[0] for i in range(len(self.laws.laws))]
        others = [window for i, window in enumerate(windows) if i not in chosen]
        rest = sum_of(others, _NEGLIGIBLE).run if others else Run(0, np.ones(1))
        segment = part_of([windows[i] for i in chosen], rest, Run(self.n, np.zeros(1)), _NEGLIGIBLE)
        kinks = [self.laws.laws[i].category.kinks or (self.laws.laws[i].category.reference,) for i in chosen]
        centres = np.array([round(each[0]) for each in kinks], dtype=np.int64)
        return CountsOfAnyTotal([segment], centres[None], -np.inf, self.omitted)

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the probabilities under Dir(a), with 0 on the diagonal."""
        return self.part(range(len(a))).covariance(a)

    @property
    def size(self) -> SizePosterior:
        return SizePosterior(self.n, np.ones(1))

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        if len(self._order) > _FEW:
            return self._every.sample(size, rng)
        return self._by_rejection(size, rng) if self.acceptance > limits.POSTERIOR_ACCEPTANCE else self._in_turn(size, rng)

    @cached_property
    def _every(self) -> CountsOfAnyTotal:
        """The same law as sums of halves of the categories: each splits in two in turn, whatever part of draws would be accepted."""
        return self.part(range(len(self.laws.laws)))

    def _by_rejection(self, size: int, rng: np.random.Generator) -> Counts:
        """Independent windows, accepted in proportion to the pivot's probability of what they leave."""
        rest, batches, drawn = self.laws.rest, [], 0
        ceiling = float(rest.value.max())
        while drawn < size:
            x = np.zeros((_BATCH, len(self._order) + 1), dtype=np.int64)
            for category, window in self.laws.windows.items():
                x[:, category] = window.low + inverse(window.value, rng.random(_BATCH))
            total = x.sum(axis=1)
            chance = np.where(total <= rest.high, rest.value[np.minimum(total - rest.low, len(rest.value) - 1)], 0.0)
            x[:, self.laws.pivot] = self.n - total
            batches.append(x[rng.random(_BATCH) * ceiling < chance])
            drawn += len(batches[-1])
        return np.concatenate(batches)[:size] if batches else np.empty((0, len(self._order) + 1), dtype=np.int64)

    def _in_turn(self, size: int, rng: np.random.Generator) -> Counts:
        """Each category given the total of those before it, weighted by how well the rest can complete it."""
        x = np.zeros((size, len(self._order) + 1), dtype=np.int64)
        for m, category in enumerate(self._order):
            window, after = self.laws.windows[category], self._after[m + 1]
            total = x.sum(axis=1)
            for value in np.unique(total):
                rows = np.nonzero(total == value)[0]
                weight = window.value * values_at(after, int(value) + window.low, len(window.value))
                x[rows, category] = window.low + inverse(weight, rng.random(len(rows)))
        x[:, self.laws.pivot] = self.n - x.sum(axis=1)
        return x


LatentCounts = ListedCounts | ConvolvedCounts | PooledCounts | PairedCounts | PairedPart
"""The posterior law of the true counts.

`work` is how many numbers the marginals of all categories are computed from, `omitted` an upper bound on the probability that is left
out; `marginal(category)` has the probabilities of one category's count, `probability_law(category, a, b, label)` the distribution of its
probability, Beta(a + x, b + n - x) over the counts x, and `pairs(first, second)` the joint law of two counts; `part(chosen)` is the law of
some counts and `covariance(a)` the covariances of the probabilities; `size` is the law of n, and `sample(size, rng)` draws counts, one a
row.
"""


# --- from an outcome to the law ---------------------------------------------------------------------------------------


def latent_counts(
    mechanism: Mechanism, raw: tuple[int, ...], reader: Prior | None = None, *, progress: Progress | None = None
) -> LatentCounts:
    """The posterior law of the true counts given the raw outcome of a mechanism, under its own prior or that of a reader.

    `progress` is told where it takes long.
    """
    noise, prior = mechanism.noise, reader or mechanism.prior
    if noise is None:
        check_listable(mechanism)
        return _from_laws(mechanism, raw, prior, progress)
    outcome = clamp_outcomes(raw, mechanism.total)
    if not mechanism.space.is_few(limits.POSTERIOR_CANDIDATES):
        return convolved(mechanism, outcome, prior)
    points = mechanism.space.points()
    log_weight = prior.predictive(mechanism.total).logpmf(points)
    for category, column in enumerate(points.T):
        log_weight = log_weight + noise.log_likelihood(outcome, category, column.astype(np.float64))
    return ListedCounts(points, log_weight)


def check_posterior(mechanism: Mechanism) -> None:
    """Refuse, by public numbers alone, a mechanism whose raw outcomes have no posterior law of the true counts that can be computed.

    Where counts are not listed, an outcome's windows are as wide as the noise, unless the outcome is a very unlikely one.
    """
    if mechanism.noise is None:
        check_listable(mechanism)
    elif not mechanism.space.is_few(limits.POSTERIOR_CANDIDATES):
        check_windows(mechanism.total, _slopes(mechanism.noise, mechanism.k))


def check_listable(mechanism: Mechanism) -> None:
    """Refuse a mechanism whose laws are too long to be listed for every dataset."""
    limit = mechanism.most_datasets
    if not mechanism.space.is_few(limit):
        size = mechanism.space.size if mechanism.k <= limit else 10**15
        shown = f"{size:,}" if size < 10**15 else "more than 10^15"
        raise TooLargeError(
            f"there is no noise-aware posterior of {type(mechanism).__name__} with {shown} possible counts: its likelihood needs a sum "
            f"over all of them for each of them, done up to {limit:,}. LatticeGeometric and the Laplace family have one at any n"
        )


def convolved(mechanism: Mechanism, outcome: Counts, reader: Prior | None = None) -> ConvolvedCounts:
    """The law by windows and convolutions, whatever the number of possible counts; for noise that is independent by category."""
    noise = mechanism.noise
    if noise is None:
        raise TooLargeError(f"the noise of {type(mechanism).__name__} is not independent by category")
    return convolved_outcomes((reader or mechanism.prior).concentration, mechanism.total, [(noise, outcome)])


def convolved_outcomes(a: Floats, n: int, outcomes: Sequence[tuple[CellNoise, Counts]]) -> ConvolvedCounts:
    """The law given one or more outcomes about the same counts of total n, each with its noise and clamped."""
    centres = np.zeros((len(outcomes), len(a)))
    for row, (noise, outcome) in zip(centres, outcomes, strict=True):
        row[: noise.cells] = outcome

    def log_factor(category: int, x: Floats) -> Floats:
        parts = [noise.log_likelihood(outcome, category, x) for noise, outcome in outcomes]
        return sum(parts[1:], parts[0])

    return ConvolvedCounts(n, tilt(a, n, centres, np.stack([_slopes(noise, len(a)) for noise, _ in outcomes]), log_factor))


def _slopes(noise: CellNoise, k: int) -> Floats:
    """How fast each category's log likelihood falls beside its centre; 0 for a count without noise of its own."""
    return np.where(np.arange(k) < noise.cells, noise.slope, 0.0)


def _from_laws(mechanism: Mechanism, raw: tuple[int, ...], prior: Prior, progress: Progress | None) -> ListedCounts:
    """The law from every dataset's probability of this outcome, without datasets that have next to none of the posterior."""
    points = mechanism.space.points()
    log_prior = prior.predictive(mechanism.total).logpmf(points)
    log_weight = log_prior + mechanism.log_likelihoods(raw, log_prior, progress)
    return ListedCounts(points, log_weight, limits.WINDOW_TAIL if np.isneginf(log_weight).any() else 0.0)
