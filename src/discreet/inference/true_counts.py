"""What a raw outcome says about the true counts: their posterior law, by listing it or by convolution (docs/proofs/inference.md).

`w_x ∝ P(z | x) · DirMult(x; n, a)` for counts x of total n.

- Few possible counts (`limits.POSTERIOR_CANDIDATES`): all of them, for any mechanism.
- Exponential mechanisms: all of them up to `limits.LIKELIHOOD_CANDIDATES`, whose likelihoods come from tables.
- Noise that is independent by category, any n: windows (`fixed_totals`) and convolutions. Sums are of positive floats; short ones are
  added up directly, to a relative error of 1e-12, long ones by Fourier transform, to 1e-16 of the largest term times the length.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference.any_total_counts import CountsOfAnyTotal
from discreet.inference.any_total_law import part_of
from discreet.inference.category_contrasts import PairWeights, check_pairs, middle_part, split_weights
from discreet.inference.fixed_total_mixtures import probability_law
from discreet.inference.fixed_totals import TiltedCategories, check_windows, tilt
from discreet.inference.listed_counts import ListedCounts
from discreet.inference.runs import FLOOR, Run, Sum, above_floor, completed, inverse, sum_of, values_at
from discreet.inference.size_posterior import SizePosterior
from discreet.inference.transformed_counts import transformed_marginals
from discreet.mechanisms.base import Mechanism, Prior
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.reports import clamp_outcomes
from discreet.model.beta_mixtures import BetaMixture
from discreet.progress import Progress

UNDERFLOW = 1e-290
"""What is dropped at the ends of sums, relative to the largest probability."""
_CELL = 8
"""What a cell of a window costs, against a step of a convolution."""


@dataclass(frozen=True, eq=False)
class ConvolvedCounts:
    """The law of independent windows and a pivot given that their total is n."""

    n: int
    laws: TiltedCategories

    @property
    def work(self) -> int:
        # Every total that the windows can have, for each category. A cell of a window counts several times: its logarithm takes long.
        totals = self.laws.highest - self.laws.lowest + 1
        return totals * (len(self.laws.ranges) + 1) + _CELL * sum(self.laws.widths)

    @cached_property
    def _sum(self) -> Sum:
        """The tilted law of the total of all categories but the pivot, in their order."""
        return sum_of([self.laws.windows[i] for i in sorted(self.laws.windows)], UNDERFLOW)

    @cached_property
    def _completing(self) -> Run:
        """The pivot's probability of what each total of the others leaves."""
        low = self._sum.run.low
        return Run(low, values_at(self.laws.rest, low, min(self._sum.run.high, self.laws.rest.high) - low + 1))

    @cached_property
    def _of_others(self) -> Run:
        """The weight of each total of the others."""
        return Run(self._completing.low, self._sum.run.value[: len(self._completing.value)] * self._completing.value)

    @cached_property
    def _transformed(self) -> tuple[list[Run], float] | None:
        return transformed_marginals(self.laws)

    @cached_property
    def _completion(self) -> float:
        """P_λ(Σ X = n)."""
        return float(self._of_others.value.sum()) if self._transformed is None else self._transformed[1]

    @property
    def omitted(self) -> float:
        return self.laws.outside * float(self.laws.rest.value.max()) / self._completion

    @cached_property
    def _marginals(self) -> list[Run]:
        if self._transformed is not None:
            return self._transformed[0]
        found = []
        for i, completion in zip(sorted(self.laws.windows), self._sum.completions(self._completing), strict=True):
            window = self.laws.windows[i]
            weight = window.value * np.maximum(values_at(completion, window.low, len(window.value)), 0.0)
            found.append(Run(window.low, weight / weight.sum()))
        others = self._of_others
        found.insert(self.laws.pivot, Run(self.n - others.high, others.value[::-1] / self._completion))
        return found

    def marginal(self, category: int) -> Run:
        return self._marginals[category]

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        return probability_law(self.marginal(category), self.n, a, b, label, self.omitted)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        factors = [middle_part(self._window(i), self.marginal(i)) for i in (first, second)]
        low, size = factors[0].low + factors[1].low, len(factors[0].value) + len(factors[1].value) - 1
        check_pairs(size, len(factors[0].value))
        rest = [self._window(i) for i in range(len(self.laws.laws)) if i not in (first, second, self.laws.pivot)]
        others = sum_of(rest, UNDERFLOW).run if rest else Run(0, np.ones(1))
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
        windows = [above_floor(self._window(i), FLOOR)[0] for i in range(len(self.laws.laws))]
        others = [window for i, window in enumerate(windows) if i not in chosen]
        rest = sum_of(others, FLOOR).run if others else Run(0, np.ones(1))
        segment = part_of([windows[i] for i in chosen], rest, Run(self.n, np.zeros(1)), FLOOR)
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
        """Draws, one a row: the total of all but the pivot, and how it splits between halves of them, and so on."""
        others = self._of_others
        total = others.low + inverse(others.value, rng.random(size))
        drawn = list(self._sum.split(total, rng))
        drawn.insert(self.laws.pivot, self.n - total)
        return np.stack(drawn, axis=-1)


LatentCounts = ListedCounts | ConvolvedCounts
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
    return ListedCounts.of_logs(points, log_weight)


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
    return ListedCounts.of_logs(points, log_weight, limits.WINDOW_TAIL if np.isneginf(log_weight).any() else 0.0)
