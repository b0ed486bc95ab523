"""Every number that pages quote and that is no time: computed from the library, the same in every run.

A source returns numbers by key, and a key begins with a word and a colon: `remap: LatticeGeometric, ...`. What pages quote of them is
kept in docs/research/numbers.json; `benchmarks/quotes.py` puts it into the pages. A search over random worlds has a seed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, log10, pi, sqrt

import numpy as np
from scipy.special import betainc, betaincinv, polygamma
from tests.analysis import test_privacy
from tests.inference import coverage as inference_support
from tests.inference import pooling as pooling_support
from tests.mechanisms import private_remap_support, test_remap
from tests.model import test_concavity

import discreet as dc
from benchmarks import independence as private_tests
from benchmarks.core import near_the_middle
from discreet import limits
from discreet.analysis import error_laws, mean_errors
from discreet.analysis.error_laws import error_law, expected_error
from discreet.analysis.optimum import TOLERANCE, constraint_count, optimal
from discreet.arrays import Counts, Floats
from discreet.inference.tables.posterior import table_posterior
from discreet.mechanisms import Mechanism, scores
from discreet.mechanisms.proposals import good_weights
from discreet.model import distances
from discreet.model.datasets import simplex_points
from discreet.numerics.balls import ball
from discreet.present.page_words import odds_factor, surest
from discreet.sampling.many_categories import Mixture, check_size
from discreet_papers.claim import Claim
from discreet_papers.claims import compute_claims

__all__ = [
    "COVERED",
    "COVERED_AT",
    "COVERED_RECORDS",
    "ODDS",
    "PROMISED_AT",
    "PROMISED_FOR",
    "SOURCES",
    "Numbers",
    "Source",
    "claim_numbers",
]

Numbers = dict[str, float | str]
"""Whole numbers are kept as such, and are then quoted exactly."""

ONES = dc.Beta(1, 1)


@dataclass(frozen=True)
class Source:
    """A function that computes numbers."""

    compute: Callable[[], Numbers]
    slow: bool = False
    """Takes more than a second or so: recomputed by `make test-all` alone."""
    noise: float = 1e-6
    """How far apart, relatively, two runs may be. Rounding errors differ from one processor to the next."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.compute.__name__


# --- what ε means -----------------------------------------------------------------------------------------------------

ODDS = ("0.1", "0.5", "1", "2", "5")


def odds() -> Numbers:
    """The factor by which odds can change, and what a belief of one half can become: rounded up, since both are said to be at most that."""
    found: Numbers = {}
    for epsilon in ODDS:
        belief = surest(0.5, float(epsilon)).removesuffix("\u00a0%")
        found |= {f"odds: factor, ε = {epsilon}": odds_factor(float(epsilon)), f"odds: belief, ε = {epsilon}": belief}
    return found


# --- which promise ----------------------------------------------------------------------------------------------------

PROMISED_AT, PROMISED_FOR = ("1", "0.1"), (3,)


def promises() -> Numbers:
    """The noise of `LatticeGeometric` in records, with a public and a private n: its standard deviation in a count and in a share.

    A share of balanced categories, times n, has the error d_i - Σd/k: the count's own where Σd = 0, and otherwise sqrt(1 - 1/k) of it.
    """
    found: Numbers = {}
    for epsilon, k in product(PROMISED_AT, PROMISED_FOR):
        prior, where = dc.Dirichlet.uniform(k), f"ε = {epsilon}, k = {k}"
        found[f"promises: replace one, {where}"] = count_noise(dc.LatticeGeometric(prior, 1000, epsilon))
        for name, level in (("add or remove", Fraction(epsilon)), ("add or remove at half", Fraction(epsilon) / 2)):
            noise = count_noise(dc.LatticeGeometric(prior, epsilon=level))
            found |= {f"promises: {name}, {where}": noise, f"promises: {name}, share, {where}": noise * sqrt(1.0 - 1.0 / k)}
    return found


def count_noise(mechanism: dc.LatticeGeometric) -> float:
    """The standard deviation of the noise in one count: given that all add up to 0 where the total stays, else as it is drawn."""
    noise = mechanism.noise
    reach = ceil(_NEGLIGIBLE_NOISE / noise.slope)
    d = np.arange(-reach, reach + 1)
    factor = np.exp(noise.log_factor(d.astype(np.float64)))
    rest = np.ones(1)
    for _ in range(mechanism.k - 1 if noise.blocks else 0):
        rest = np.convolve(rest, factor / factor.sum())
    weight = factor * (rest[len(rest) // 2 - d] if noise.blocks else 1.0)
    return sqrt(float(weight @ d**2 / weight.sum()))


_NEGLIGIBLE_NOISE = 50.0
"""Exponent beyond which noise is left out: e^-50 is below the rounding errors of what is kept."""


# --- limits -----------------------------------------------------------------------------------------------------------


def size_limits() -> Numbers:
    """Sizes at which the library changes its method or refuses, from its own constants."""
    return {
        "limits: candidates listed for a mean": limits.ERROR_CANDIDATES,
        "limits: records enumerated at k = 2": sqrt(limits.ERROR_PAIRS),
        "limits: records listed": limits.ERROR_RECORDS,
        "limits: moments added one by one": mean_errors._ONE_BY_ONE,
        "limits: quadrature nodes": mean_errors._MEAN_NODES,
        "limits: error of a convolution": mean_errors.SUMMATION_ERROR,
        "limits: records of the linear program, k = 2": limits.PROGRAM_CANDIDATES - 1,
        "limits: records of the linear program, k = 3": _largest(lambda n: constraint_count(n, 3) <= limits.PROGRAM_CONSTRAINTS),
        "limits: candidates paired": limits.LOSS_CANDIDATES,
        "limits: records paired": limits.LOSS_RECORDS,
        "limits: largest ε of the linear program": limits.PROGRAM_EPSILON,
        "limits: candidates of a remap": limits.REPORT_CANDIDATES,
        "limits: counts listed for a remap": limits.REPORT_POINTS,
        "limits: counts listed": limits.POSTERIOR_CANDIDATES,
        "limits: counts of a Hellinger likelihood": limits.LIKELIHOOD_CANDIDATES,
        "limits: records of a Hellinger likelihood": limits.LIKELIHOOD_RECORDS,
        "limits: tail of a window": 2.0 * limits.WINDOW_TAIL,
        "limits: tail of a posterior": limits.WINDOW_TAIL,
        "limits: groups of a public total": limits.GROUPS_CONVOLVED,
        "limits: tolerance of the linear program": TOLERANCE,
        "limits: boundary of a lattice mean": error_laws._NEGLIGIBLE_BOUNDARY,
        "limits: counts interpolated near an end": error_laws._DENSE_DATASETS,
        "limits: share that cancels": distances._CANCELS_ABOVE,
        "limits: slack of a calibration": 1.0 - scores._CLOSE_ENOUGH,
        "limits: categories of a smooth sensitivity": limits.SMOOTH_CATEGORIES,
        "limits: records of a filter": limits.FILTER_RECORDS,
        **{f"limits: millions of records of an exact draw, k = {k}": _most_drawn(k) for k in (3, 10)},
    }


def _largest(fits: Callable[[int], bool]) -> int:
    n = 1
    while fits(n + 1):
        n += 1
    return n


def _most_drawn(k: int) -> float:
    """The most records that an exponential mechanism draws from under a prior of ones, in millions, to three digits, by bisection."""
    low, high = 1, 10**12
    while high - low > low // 1000:
        middle = (low + high) // 2
        try:
            check_size((Fraction(1),) * k, middle)
            low = middle
        except dc.TooLargeError:
            high = middle
    return low / 1e6


def tolerances() -> Numbers:
    """What the tests of inference allow."""
    return {f"tolerance: {what}": allowed for what, allowed in inference_support.TOLERANCE.items()}


# --- coverage of naive intervals --------------------------------------------------------------------------------------

COVERED, COVERED_RECORDS, COVERED_AT = ("LaplaceHistogram", "LatticeGeometric", "HellingerSmooth"), (50, 200), ("0.1", "1")
"""Mechanisms, and the numbers of records and the ε they are looked at."""
_MASS = 0.95


def coverage() -> Numbers:
    """How often 95 % intervals of the reported posterior hold the probability, under the prior Beta(1, 1)."""
    found: Numbers = {}
    for n in COVERED_RECORDS:
        inside = _inside(n)
        for name, epsilon in product(COVERED, COVERED_AT):
            found[f"coverage: {name}, n = {n}, ε = {epsilon}"] = _naive_coverage(dc.mechanism(name, ONES, n, epsilon), inside)
    return found | {"coverage: noise-aware": inference_support.coverage(dc.mechanism("LaplaceHistogram", ONES, 50, "0.1")).noise_aware}


def _inside(n: int) -> Floats:
    """P(θ in the interval of Beta(1 + report)) when θ ~ Beta(1 + x, 1 + n - x), for every dataset x (rows) and every report (columns)."""
    first = np.arange(n + 1.0)
    low, high = (betaincinv(1.0 + first, 1.0 + n - first, level) for level in ((1 - _MASS) / 2, (1 + _MASS) / 2))
    x = first[:, None]
    return np.asarray(betainc(1.0 + x, 1.0 + n - x, high) - betainc(1.0 + x, 1.0 + n - x, low))


def _naive_coverage(mechanism: Mechanism, inside: Floats) -> float:
    """Every dataset is equally likely under this prior."""
    n = mechanism.space.total
    laws = [mechanism.law([x, n - x]) for x in range(n + 1)]
    return float(np.mean([law.probability @ inside[x, law.counts[:, 0]] for x, law in enumerate(laws)]))


# --- remapped reports -------------------------------------------------------------------------------------------------

_REMAPPED = {("1", "1", "1"): 40, ("10", "10", "10"): 40, ("1/2", "2", "5"): 40, ("1/2", "1/2", "1/2"): 40, ("0.2", "0.2", "0.2"): 30}
_REMAPPED_BY = ("LatticeGeometric", "LaplaceHistogram", "LaplaceZhang")
_REMAPPED_AT = ("0.1", "0.5", "2")
_REMAPPED_DRAWS = 100


def remapped() -> Numbers:
    """How much larger than the least the mean error of reports for many candidates is at most, k = 3."""
    largest = {
        name: max(
            test_remap.mean_excess(name, prior, n, epsilon, _REMAPPED_DRAWS) for prior, n in _REMAPPED.items() for epsilon in _REMAPPED_AT
        )
        for name in _REMAPPED_BY
    }
    return {"remap: largest": max(largest.values()), "remap: largest of LatticeGeometric": largest["LatticeGeometric"]}


_PRIVATE = {("1", "1"): 10, ("1/2", "1/2"): 10, ("0.1", "0.1"): 10, ("2", "5"): 10, ("10", "10"): 10}
_PRIVATE_AT = ("0.5", "1", "2")
_PRIVATE_DRAWS = 30


def remapped_private() -> Numbers:
    """The same where n is private, k = 2."""
    worlds = [(prior, n, epsilon) for prior, n in _PRIVATE.items() for epsilon in _PRIVATE_AT]
    return {"private: largest": max(private_remap_support.mean_excess(*world, _PRIVATE_DRAWS).remapped for world in worlds)}


def remapped_two() -> Numbers:
    """Two categories: what the tests ask for."""
    return {"remap two: excess": test_remap.LARGEST_EXCESS}


# --- the best possible ------------------------------------------------------------------------------------------------


def optimum_two() -> Numbers:
    """LatticeGeometric against the linear program, two categories."""
    excess, plain = 0.0, {}
    for prior in (ONES, dc.Beta("1/2", "1/2"), dc.Beta(2, 5)):
        for n in (5, 20, 60):
            for epsilon in ("0.1", "0.5", "1", "2"):
                mechanism, best = dc.mechanism("lattice", prior, n, epsilon), optimal(prior, n, epsilon).value
                excess = max(excess, expected_error(dc.Remapped(mechanism), over="predictive") / best - 1.0)
                plain[prior, n, epsilon] = expected_error(mechanism, over="predictive") / best
    worst = max(plain, key=lambda key: plain[key])
    return {
        "optimum two: remapped within": 10.0 ** ceil(log10(excess)),  # the solver's own error: its order is all there is to know
        "optimum two: as it is": plain[worst],
        "optimum two: as it is, n": worst[1],
        "optimum two: as it is, ε": worst[2],
    }


def optimum_three() -> Numbers:
    """Mechanisms against the linear program, a = (1, 1, 1), ε = 1."""
    prior = dc.Dirichlet.uniform(3)
    found: Numbers = {}
    for n in (6, 7, 8, 10):
        best = optimal(prior, n, 1).value
        plain = {name: dc.mechanism(name, prior, n, 1) for name in ("LatticeGeometric", "LaplaceZhang", "LaplaceHistogram")}
        for name, mechanism in {**plain, "Remapped": dc.Remapped(plain["LatticeGeometric"])}.items():
            found[f"optimum three: {name}, n = {n}"] = expected_error(mechanism, over="predictive") / best
    plainly = max(float(ratio) for name, ratio in found.items() if "LatticeGeometric" in name)
    return {**found, "optimum three: LatticeGeometric above": plainly - 1.0}


def worst_case() -> Numbers:
    """The worst mean error of LatticeGeometric."""
    return {f"worst case: n = {n}": float(expected_error(dc.mechanism("lattice", ONES, n, 1), over="worst")) for n in (100, 1000)}


# --- losses -----------------------------------------------------------------------------------------------------------


def worst_loss() -> Numbers:
    """The largest loss/ε in 2,000 random configurations, and where."""
    found: Numbers = {}
    for name, (ratio, at) in test_privacy.search_worst(test_privacy.SEARCHED, seed=11).items():
        prior = ", ".join(f"{float(a):g}" for a in at.prior.exact)
        gamma = f", γ = {at.gamma}" if name == "HellingerSmooth" else ""
        found |= {f"worst_loss: {name}": ratio, f"worst_loss: {name}, where": f"({prior}); {at.n}; {at.epsilon}{gamma}"}
    return found


def loss() -> Numbers:
    """Losses of configurations that pages name."""
    delta = dc.HellingerSmoothDelta(dc.Beta(396, "1e-5"), 8, 20, delta="1e-3")
    return {
        "loss: searched": test_privacy.SEARCHED,
        "loss: HellingerSmoothDelta": dc.privacy_loss(delta).value,
    }


def calibration() -> Numbers:
    """Mean errors of balanced data before and after, and of the rivals."""
    plain = dc.HellingerSmooth(ONES, 1000, 1)
    contenders = {"before": plain, "after": dc.Calibrated(plain), "LatticeGeometric": dc.LatticeGeometric(ONES, 1000, 1)}
    return {f"calibration: {name}": error_law(mechanism, [500, 500]).mean for name, mechanism in contenders.items()}


def composition() -> Numbers:
    """Fifty releases together: by the pair with the largest loss alone, by a pair in the middle, and as composed."""
    mechanism = dc.HellingerSmooth(ONES, 100, 1)
    first, second = (tuple(int(c) for c in x) for x in dc.privacy_loss(mechanism).at)
    return {
        "composition: that pair": _composed(mechanism, first, second),
        "composition: the middle": _composed(mechanism, (49, 51), (50, 50)),
        "composition: all pairs": dc.Accountant().add(mechanism, times=50).epsilon("1e-6"),
    }


def _composed(mechanism: Mechanism, first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """ε at δ = 1e-6 of fifty releases between two datasets, by dp-accounting from their laws; the worse direction."""
    from dp_accounting.pld import privacy_loss_distribution as distributions

    laws = [dict(enumerate(mechanism.law(x).log_probability.tolist())) for x in (first, second)]
    found = [
        distributions.from_two_probability_mass_functions(*pair, value_discretization_interval=1e-4).self_compose(50)
        for pair in (laws, laws[::-1])
    ]
    return max(float(distribution.get_epsilon_for_delta(1e-6)) for distribution in found)


# --- arithmetic and proofs --------------------------------------------------------------------------------------------


def rounding() -> Numbers:
    """What the obvious code does to distances."""
    return {
        "rounding: zeros at 10^9": near_the_middle(10**9)[2],
    }


def proofs() -> Numbers:
    """What the proofs in numerics.md, sensitivity.md and mechanisms.md evaluate."""
    s, q = 1.5, sqrt(pi / 32.0)
    return {
        "proof: share of R": 240.0 * (3617.0 / 122400.0) * 10.0**-17 / float(polygamma(1, 10)),
        "proof: part i, left": 16.0 - 4.0 / s**2,
        "proof: part i, right": (1.0 / s) * (0.25 + 1.0 / (64.0 * s)) + 12.0 / (1.0 - 1.0 / (24.0 * s**2)),
        "proof: part ii, left": (2.0 - 16.0 / 32.0**2) * (1.0 - q),
        "proof: part ii, right": 1.0 + q / 2.0,
        "proof: pieces": test_concavity.pieces_of_part_three(),
    }


# --- exact sampling ---------------------------------------------------------------------------------------------------


def acceptance() -> Numbers:
    """Of the sampler for three categories or more."""
    rng = np.random.default_rng(7)
    return {
        "acceptance: mixture, least": min(_mixture_acceptance(rng) for _ in range(_MIXTURES)),
    }


_MIXTURES = 150


def _mixture_acceptance(rng: np.random.Generator) -> float:
    """In a world of three to five categories, with a prior, a dataset and a rate of any size."""
    k = int(rng.integers(3, 6))
    n = int(rng.integers(1, {3: 40, 4: 16, 5: 9}[k]))
    prior = dc.Dirichlet([f"{10.0 ** rng.uniform(-4, 3):.3g}" for _ in range(k)])
    counts = rng.multinomial(n, rng.dirichlet(np.full(k, 10.0 ** rng.uniform(-1, 1))))
    return _mixture_share(prior, counts, 10.0 ** rng.uniform(-2, 4))


def _mixture_share(prior: dc.Dirichlet, counts: Counts, rate: float) -> float:
    """The weights of all candidates over the bound."""
    points = simplex_points(int(counts.sum()), prior.k)
    sampler = Mixture(prior.exact, tuple(counts.tolist()), lambda: ball(Fraction(str(rate))), good_weights)
    weight = np.exp(-rate * np.asarray(dc.hellinger(prior.concentration + counts, prior.concentration + points)))
    return float(Fraction(float(weight.sum())) / sampler.total_bound)


# --- the papers -------------------------------------------------------------------------------------------------------


def claims() -> Numbers:
    """The numbers of every claim, and how many claims there are of each verdict."""
    found = compute_claims()
    kinds = [claim.kind for claim in found]
    counts: Numbers = {f"claims: {kind}": kinds.count(kind) for kind in sorted(set(kinds))}
    return {"claims: all": len(found), **counts, **{key: value for claim in found for key, value in claim_numbers(claim).items()}}


def claim_numbers(claim: Claim) -> Numbers:
    """A claim's numbers by key; whole ones as such."""
    return {f"{claim.id}: {label}": int(value) if float(value).is_integer() else value for label, value in claim.numbers.items()}


POOLED_WORLDS = 100


def pooling() -> Numbers:
    """Intervals of one category in 50 groups of 20, read alone and pooled: how wide they are, and how often they hold the truth."""
    mechanism, ends, truths = pooling_support.table(), [], []
    for seed in range(POOLED_WORLDS):
        theta, raw = pooling_support.world(seed)
        alone = table_posterior(dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report(raw))).figures()
        ends.append([np.stack([alone.low[:, 0], alone.high[:, 0]], axis=1), pooling_support.pooled(raw[:, 0]).interval()])
        truths.append(theta)
    found, truth = np.array(ends), np.array(truths)[:, None, :]
    width = (found[..., 1] - found[..., 0]).mean(axis=(0, 2))
    covered = ((found[..., 0] <= truth) & (truth <= found[..., 1])).mean(axis=(0, 2))
    return {
        "pooling: worlds": POOLED_WORLDS,
        "pooling: gain": float(1.0 - width[1] / width[0]),
        "pooling: coverage pooled": float(covered[1]),
    }


def independence() -> Numbers:
    """Type-I error and power of Bayes factors beside a private chi-square test."""
    return {f"independence: {name}": value for name, value in private_tests.measure().items()}


SOURCES = (
    Source(odds),
    Source(promises),
    Source(size_limits),
    Source(tolerances),
    Source(coverage, slow=True),
    Source(remapped, slow=True),
    Source(remapped_private, slow=True, noise=1e-3),
    Source(remapped_two),
    Source(optimum_two, slow=True),
    Source(optimum_three, slow=True),
    Source(worst_case),
    Source(worst_loss, slow=True),
    Source(loss),
    Source(calibration),
    Source(composition),
    Source(rounding, slow=True, noise=0.5),
    Source(proofs),
    Source(acceptance, slow=True, noise=1e-3),  # the mixture's weights come from a fit in floating point
    Source(claims),
    Source(pooling, slow=True, noise=1e-3),
    Source(independence, slow=True),
)
