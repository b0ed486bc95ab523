"""The noise-aware posterior of a release: what its raw outcome says about the categories' probabilities (docs/howto/reading.md).

The reported posterior takes noisy counts at face value. Here the true counts are unknown, with their own posterior law (`true_counts`), and

    p(θ | z)  =  Σ_x w_x Dir(a + x),    w_x ∝ P(z | x) · DirMult(x; n, a),

so that each category's probability is a finite mixture of Betas. Reading a release costs no privacy.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.betas.lines import BetaLines, short_lines
from discreet.betas.mixtures import BetaMixture
from discreet.betas.rows import BetaRows
from discreet.counts.law import CountLaw
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import InvalidInputError, RefusedError
from discreet.inference.category_contrasts import category_contrast, pairs_of
from discreet.inference.draws import Rng, dirichlet_draws, seed_of, seed_of_outcome
from discreet.inference.labelled import Figures
from discreet.inference.posterior import Posterior
from discreet.inference.quantities import Contrast, DrawnQuantity
from discreet.inference.reader_priors import reader_prior
from discreet.inference.reading import any_of
from discreet.inference.true_counts import Outcome, counts_of_answers, counts_of_same_records
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.size_priors import size_prior_of
from discreet.progress import Progress
from discreet.record.release import Release
from discreet.text import html_table
from discreet.validation import category_index, check_share, items_of, shown, spelling

if TYPE_CHECKING:
    from discreet.inference.records import RecordShares


def noise_aware(release: Release, prior: Any = None, size_prior: Any = None, *, progress: Progress | None = None) -> "NoiseAware":
    """The noise-aware posterior of a release.

    `prior` is what a reader believes about the categories before, the record's own if left out; `size_prior` is what is believed about a
    private number of records before. `progress` is told where it takes long.
    """
    if not release.mechanism._is_outcome(release.raw):
        raise InvalidInputError(f"raw is not a possible outcome of {release.mechanism.title} with these parameters")
    if release.n is not None and size_prior is not None:
        raise InvalidInputError(f"size_prior is for a private number of records; this release says that n = {release.n}: leave it out")
    mechanism, reader = release.mechanism, reader_prior(prior, release.prior)
    if mechanism._answers is not None:
        truthful = counts_of_answers(reader, mechanism._answers, release.raw)
        return RandomizedPosterior(reader, release.n, truthful, seed=seed_of_outcome(mechanism, release.raw))
    sizes = size_prior_of(mechanism._size_prior if size_prior is None else size_prior)
    counts = counts_of_same_records(reader, release.n, [Outcome(mechanism, release.raw, release.n)], sizes, progress)
    return NoiseAware(reader, release.n, counts, seed=seed_of_outcome(mechanism, release.raw))


def probability_law(counts: CountLaw, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
    """The distribution of one category's probability: Beta(a + x, b + n - x) over the counts x and the totals n."""
    if counts.total is not None:
        run = counts.marginal(category)
        return BetaRows.of_total(run.low, run.value, counts.total, (a, b), label, counts.omitted)
    blocks, omitted = counts.with_total(category)
    return BetaRows(blocks, a, b, label, omitted)


def score_of_probabilities(counts: CountLaw, a: Floats, weights: Floats) -> tuple[float, float]:
    """The mean and the standard deviation of Σ_c w_c θ_c, where θ is Dir(a + x) given the counts x.

    Weights are taken relative to about that mean, so that nothing large is subtracted.
    """
    y = a + [float(run.value @ run.x) for run in map(counts.marginal, range(len(a)))]
    centre = float(weights @ y / y.sum())
    mean, std = counts.score(weights - centre).of_probabilities(a, weights - centre)
    return centre + mean, std


_TAIL_PRECISION = 1e-12
"""The relative precision of the probabilities beyond intervals, where all categories are computed together."""
_LEAST_JOINT_PARAMETER = Fraction(1, 100)
_LARGEST_JOINT_TOTAL = 10**12
"""Prior parameters below the one, or adding up to more than the other, are computed with one category at a time."""


@dataclass(frozen=True, eq=False)
class NoiseAware(Posterior):
    """The posterior of the categories' probabilities given a raw outcome: a mixture of Dirichlets over the unknown true counts."""

    prior: Dirichlet | Beta
    n: int | None
    """The number of records if it is public; None if it is private, and then `size` has its posterior."""
    counts: CountLaw
    """The posterior law of the true counts."""
    impossible: tuple[Hashable, ...] = ()
    """Categories that cannot occur in this group of a table: their probability is 0, and they are not among `categories`."""

    seed: int | None = None
    """The seed of draws unless `rng` is given: it follows from the record, so that the same question has the same answer."""

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return self.prior.categories

    @property
    def omitted(self) -> float:
        """Upper bound on the posterior probability of counts that were left out."""
        return self.counts.omitted

    @property
    def log_evidence(self) -> float:
        """The logarithm of the probability of the raw outcome under the prior.

        Where n is private, it is the sum over n of that probability times the weight that `size_prior` gives n, flat: 1 for each.
        RefusedError says that it is not computed: of releases about different records, and where there are no records.
        """
        if np.isnan(self.counts.log_evidence):
            raise RefusedError("the evidence is computed where there are records, and all releases are about the same ones")
        return self.counts.log_evidence

    @property
    def work(self) -> int:
        """Return how many numbers the means and intervals of all categories are computed from: what they take grows with it."""
        return self.counts.work

    @property
    def size(self) -> SizePosterior:
        """The posterior of the number of records. A public n has probability 1."""
        return self.counts.size

    def count_probabilities(self, category: Hashable) -> tuple[Counts, Floats]:
        """Possible true counts of one category and their posterior probabilities."""
        run = self.counts.marginal(self._index(category))
        return np.arange(run.low, run.high + 1), run.value.copy()

    def marginal(self, category: Any) -> BetaMixture:
        """The distribution of a category's probability, or of that of a set of categories: a mixture of Betas.

        Args:
            category: The label of a category, or a list of labels: the probability is then that of any of them.

        Raises:
            InvalidInputError: A label is not one of the categories or named twice, or a list has none or all of them.
        """
        return self._distribution(self._chosen(category))

    def _distribution(self, chosen: Sequence[int]) -> BetaMixture:
        if len(chosen) == 1:
            return self._marginal(chosen[0])
        labels = [self.categories[i] for i in chosen]
        others = [label for i, label in enumerate(self.categories) if i not in chosen]
        return self.merged({any_of(labels): labels, "": others})._marginal(0)

    def merged(self, sets: Mapping[Any, Iterable[Any]]) -> "NoiseAware":
        """The posterior of coarser categories, exactly: the probability of each set is that of any category in it (`Reading.merged`)."""
        chosen = self._sets(sets)
        prior = Dirichlet([sum((self.prior.exact[i] for i in each), Fraction(0)) for each in chosen], list(sets))
        return replace(self, prior=prior, counts=self.counts.merged(chosen), seed=self._seed_of(chosen))

    @property
    def records(self) -> "RecordShares":
        """The shares of the categories among these very records, for a register or a census, with the verbs of a posterior.

        They have no sampling error. Where n is private they are given that there are any records.
        """
        from discreet.inference.records import RecordShares  # it is built on this module

        return RecordShares(self)

    def score(self, weights: Mapping[Any, float], draws: int | None = None, rng: Rng = None) -> DrawnQuantity:
        """The distribution of Σ_c w_c θ_c (`Reading.score`). Weights of categories that cannot occur in this group are not looked at."""
        if self.impossible and isinstance(weights, Mapping):
            weights = {label: weight for label, weight in weights.items() if spelling(label) not in map(spelling, self.impossible)}
        return super().score(weights, draws, rng)  # type: ignore[no-any-return]

    def _score_moments(self, weights: Floats, draw: Callable[[], Floats]) -> tuple[float, float]:  # noqa: ARG002 - both are computed
        return score_of_probabilities(self.counts, self.prior.concentration, weights)

    def _index(self, category: Hashable) -> int:
        if spelling(category) in map(spelling, self.impossible):
            raise InvalidInputError(f"category {shown(category)!r} is declared impossible in this group: its probability is 0")
        return category_index(self.prior.categories, category)

    @cached_property
    def _known(self) -> dict[int, BetaMixture]:
        return {}

    def _marginal(self, i: int) -> BetaMixture:
        if i not in self._known:
            a = float(self.prior.exact[i])
            b = float(self.prior.exact_total - self.prior.exact[i])
            self._known[i] = probability_law(self.counts, i, a, b, self.categories[i])
        return self._known[i]

    def _laws(self) -> list[BetaMixture]:
        return [self._marginal(i) for i in range(self.prior.k)]

    @cached_property
    def _lines(self) -> tuple[list[tuple[Counts, BetaLines]], list[int]]:
        """The categories whose probabilities are computed together, with their mixtures, and those that are computed one by one.

        Together they are where n is public and products of the prior's parameters are floats, unless their mixtures are long.
        """
        if (
            self.n is None
            or self.counts.total is None
            or min(self.prior.exact) < _LEAST_JOINT_PARAMETER
            or self.prior.exact_total > _LARGEST_JOINT_TOTAL
        ):
            return [], list(range(len(self.categories)))
        total = self.prior.exact_total
        a, b = (np.array([float(one) for one in exact]) for exact in (self.prior.exact, [total - one for one in self.prior.exact]))
        return short_lines([(run.low, run.value) for run in map(self.counts.marginal, range(len(a)))], self.n, a, b)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """The means and variances of all categories."""
        mean, variance = np.empty(self.prior.k), np.empty(self.prior.k)
        together, alone = self._lines
        for rows, lines in together:
            mean[rows], variance[rows] = lines.moments()
        for i in alone:
            mean[i], variance[i] = self._marginal(i).mean(), self._marginal(i).var()
        return mean, variance

    def mean(self) -> Floats:
        """Expected probability of each category."""
        return self._moments[0].copy()

    def var(self) -> Floats:
        """Variance of each category's probability."""
        return self._moments[1].copy()

    def std(self) -> Floats:
        """Standard deviation of each category's probability."""
        return np.sqrt(self._moments[1])

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals that each hold this much probability: one row (low, high) for each category."""
        share = check_share(mass, "mass")
        tail, ends = 0.5 * (1.0 - share), np.empty((len(self.categories), 2))
        together, alone = self._lines
        for rows, lines in together:
            ends[rows, 0], ends[rows, 1], _ = lines.interval(tail, _TAIL_PRECISION)
        for i in alone:
            ends[i] = self._marginal(i).ppf([tail, 0.5 * (1.0 + share)])
        return ends

    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and equal-tailed intervals of all categories, and the moments of their true counts, as arrays."""
        ends, runs = self.interval(mass), [self.counts.marginal(i) for i in range(self.prior.k)]
        means = np.array([run.mean for run in runs])
        squares = [run.value @ (run.x - mean) ** 2 for run, mean in zip(runs, means.tolist(), strict=True)]
        numbers = self.mean(), self.std(), ends[:, 0], ends[:, 1], np.full(self.prior.k, self.omitted), means, np.sqrt(squares)
        return Figures(*numbers, by=None, categories=self.categories, level=mass)

    def cov(self) -> Floats:
        """The covariance matrix of the categories' probabilities.

        Raises TooLargeError where there are very many categories, or the noise leaves very many totals possible.
        """
        found = self.counts.covariance(self.prior.concentration)
        np.fill_diagonal(found, self._moments[1])
        return found

    # --- questions ----------------------------------------------------------------------------------------------------

    def contrast(self, first: Any, second: Any) -> Contrast:
        """Compare the probabilities of two categories by difference, ratio and odds ratio, exactly.

        Args:
            first: The label of a category, or a list of labels: the probability is then that of any of them.
            second: That of another one, or a list of others.

        Raises:
            InvalidInputError: A label is not one of the categories, or on both sides.
            TooLargeError: The noise leaves more pairs of counts possible than are looked at.
        """
        sides = self._two(first, second)
        names = self._called(sides[0]), self._called(sides[1])
        a, b = (sum((self.prior.exact[i] for i in side), Fraction(0)) for side in sides)
        parameters = float(a), float(b), float(self.prior.exact_total - a - b)
        seen = self.counts.first
        least = int(seen[sides[1]].sum()), int(seen.sum() - seen[sides[0]].sum() - seen[sides[1]].sum())
        found = category_contrast(pairs_of(self.counts, self.prior.k, sides), parameters, names, self.omitted, least)
        return replace(found, again=partial(self.contrast, first, second))

    def given(self, categories: Iterable[Hashable]) -> "NoiseAware":
        """The distribution among some categories: their probabilities, given that it is one of them.

        It is a posterior like this one, of fewer categories, and answers whatever this one does. Its `n` is None and its `size` is what is
        known about the number of records in these categories. They keep their order in the release.

        Raises:
            InvalidInputError: a label is not one of the categories or named twice, or fewer than two are named.
            TooLargeError: later, where the noise leaves more pairs of a count and a total possible than are looked at.
        """
        labels = items_of(categories)
        if labels is None or len(labels) < 2:
            raise InvalidInputError("given must be told two or more categories, such as given(['never', 'former'])")
        chosen = self._positions(labels)
        if len(chosen) == self.prior.k:
            return self
        prior = Dirichlet([self.prior.exact[i] for i in chosen], [self.categories[i] for i in chosen])
        return NoiseAware(prior, None, self.counts.part(chosen), self.impossible, self._seed_of(chosen))

    def _seed_of(self, chosen: object) -> int | None:
        """The seed of a part of what is known here, so that its draws are others."""
        return None if self.seed is None else seed_of(self.seed, chosen)

    @property
    def _seed(self) -> int | None:
        return self.seed

    @property
    def _records(self) -> int | None:
        return self.n

    def _draw_counts(self, draws: int, rng: np.random.Generator) -> Counts:
        return self.counts.sample(draws, rng)

    def _draw_probabilities(self, counts: Counts, rng: np.random.Generator) -> Floats:
        return dirichlet_draws(self.prior.concentration + counts, rng)

    # --- other libraries ----------------------------------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """The marginal distributions, by category, with the methods of frozen `scipy.stats` ones."""
        return {category: self.marginal(category).to_scipy() for category in self.categories}

    # --- for people ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        means = ", ".join(f"{c!r}: {m.mean():.4g} ± {m.std():.2g}" for c, m in zip(self.categories[:8], self._laws(), strict=False))
        return f"NoiseAware({means}{', ...' if self.prior.k > 8 else ''})"

    def _repr_html_(self) -> str:
        rows = (
            (category, f"{m.mean():.4g}", f"{m.std():.2g}", "{:.4g} to {:.4g}".format(*m.interval(0.95)))
            for category, m in zip(self.categories, self._laws(), strict=True)
        )
        size = f"n = {self.n}" if self.n is not None else "n not known, 95 % interval {} to {}".format(*self.size.interval(0.95))
        return html_table(f"Noise-aware posterior, {size}", ("category", "mean", "std", "95 % interval"), rows)


_ANSWERS = "randomized answers say shares of the population: {} is not computed from them"


@dataclass(frozen=True, eq=False, repr=False)
class RandomizedPosterior(NoiseAware):
    """The posterior given randomized answers. `counts` is the law of the truthful ones alone: true counts have those of all others too.

    The true counts x of all n records are known by their moments, which are those of the shares that are Dir(a + x) given x, and by draws.
    """

    @property
    def size(self) -> SizePosterior:
        """The number of records, which is that of the answers."""
        return SizePosterior(int(self.n or 0), np.ones(1))

    def count_probabilities(self, category: Hashable) -> tuple[Counts, Floats]:  # noqa: ARG002
        """Refused: the law of a true count is not computed."""
        raise RefusedError(_ANSWERS.format("the law of a true count"))

    @property
    def records(self) -> "RecordShares":
        """Refused: the laws of true counts are not computed."""
        raise RefusedError(_ANSWERS.format("the share of these very records"))

    def given(self, categories: Iterable[Hashable]) -> NoiseAware:  # noqa: ARG002
        """Refused: how many records are in some of the categories is not computed."""
        raise RefusedError(_ANSWERS.format("the distribution among some categories"))

    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and intervals as of any posterior; the moments of the true counts follow from those of the shares."""
        found, a = super().figures(mass), self.prior.concentration
        size, mean = float(self.prior.exact_total) + float(self.n or 0), found.mean
        square = size * (size + 1.0) * found.std**2 - size * mean * (1.0 - mean)
        return replace(found, count_mean=size * mean - a, count_std=np.sqrt(np.maximum(square, 0.0)))

    def _draw_counts(self, draws: int, rng: np.random.Generator) -> Counts:
        """The truthful answers, and those of the others, who are as the shares that the truthful ones leave probable."""
        truthful = self.counts.sample(draws, rng)
        shares = dirichlet_draws(self.prior.concentration + truthful, rng)
        return np.asarray(truthful + rng.multinomial(int(self.n or 0) - truthful.sum(axis=1), shares))
