"""What a user meets: names, options, errors, guarantees, releases; and that simulate and log_prob agree with the law."""

from dataclasses import fields, is_dataclass
from fractions import Fraction
from itertools import product
from math import exp, inf, log, pi, sqrt
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import Counts, Floats
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.model.datasets import Relation
from discreet.sampling import SeededBits
from tests.mechanisms import brute
from tests.sampling import support as sampling_support
from tests.sampling.support import PretendedSecret
from tests.support import planted

BETA = dc.Beta(1, 1)
THREE = dc.Dirichlet([1, 0.5, 2])
NAMES = tuple(cls.__name__ for cls in MECHANISMS)
PLANTED = (123457, 876543)
"""Counts that no message and no record may show."""

TABLE = {
    "LaplaceZhang": ["LSZhang"],
    "LaplaceDimension": ["LSDim", "lapMech"],
    "LaplaceHistogram": ["LSHist", "ilapMech"],
    "HellingerGlobal": ["EHD", "expMech", "expMech_H^D", "PrivInfer"],
    "HellingerLocal": ["EHDL", "expMech^local"],
    "HellingerSmooth": ["EHDS", "expMech^smoo"],
    "HellingerSmoothDelta": ["M_H^B"],
    "LatticeGeometric": ["lattice", "geometric"],
}
"""The first two columns of the table in docs/explain/mechanisms.md."""


# --- names and options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cls", "name"), [(cls, name) for cls, names in TABLE.items() for name in (cls, *names)])
def test_every_name_is_known_in_any_case(cls: str, name: str) -> None:
    for spelled in (name, name.upper(), name.lower(), name.swapcase()):
        assert type(dc.mechanism(spelled, BETA, 5, 1)).__name__ == cls


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("HelingerSmooth", "HellingerSmooth"), ("lapMeh", "lapMech"), ("EHDSS", "EHDS"), ("latice", "lattice"), ("ls-hist", "LSHist")],
)
def test_a_typo_is_answered_with_the_nearest_name(typo: str, meant: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=f"did you mean {meant}\\?"):
        dc.mechanism(typo, BETA, 5, 1)


@pytest.mark.parametrize("name", ["", None, 7])
def test_what_is_not_a_name_is_refused(name: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match="no mechanism is called"):
        dc.mechanism(name, BETA, 5, 1)


def test_an_unknown_option_is_answered_with_those_there_are() -> None:
    with pytest.raises(dc.InvalidInputError, match=r"'gama'; .* rounding, consistent"):
        dc.mechanism("LSHist", BETA, 5, 1, gama=2)
    with pytest.raises(dc.InvalidInputError, match=r"HellingerGlobal .* 'gamma'"):
        dc.mechanism("EHD", BETA, 5, 1, gamma=2)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("LSHist", {"rounding": "up"}),
        ("LSHist", {"rounding": 0.5}),
        ("LSDim", {"consistent": "no"}),
        ("lattice", {"projection": "manhattan"}),
        ("EHDS", {"gamma": 0}),
        ("EHDS", {"gamma": -1.0}),
        ("EHDS", {"gamma": "much"}),
        ("EHDS", {"gamma": 1e300}),
        ("M_H^B", {"delta": 0}),
        ("M_H^B", {"delta": 1}),
        ("M_H^B", {"delta": float("nan")}),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(dc.InvalidInputError, match=next(iter(options))):
        dc.mechanism(name, BETA, 5, 1, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0, -1, inf, float("nan"), "one", True, None, 1e-300, "1e400"])
def test_epsilon_out_of_range_is_refused(name: str, epsilon: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match="epsilon must be"):
        dc.mechanism(name, BETA, 5, epsilon)


@pytest.mark.parametrize("n", [0, -1, 2.5, "x", 2**53 + 1, True])
def test_n_out_of_range_is_refused(n: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match="n must be"):
        dc.mechanism("EHD", BETA, n, 1)


def test_the_prior_must_be_one() -> None:
    prior: Any = [1, 1]
    with pytest.raises(dc.InvalidInputError, match=r"^prior must .* list"):
        dc.mechanism("EHD", prior, 5, 1)


@pytest.mark.parametrize("number", [0.1, "0.1", "1/10", Fraction(1, 10), np.float64(0.1)])
def test_a_parameter_means_the_decimal_it_prints_as(number: Any) -> None:
    assert dc.mechanism("EHDS", BETA, 5, number, gamma=number) == dc.mechanism("EHDS", BETA, 5, Fraction(1, 10), gamma=Fraction(1, 10))


def test_equal_mechanisms_are_equal_and_hash_alike_and_different_ones_are_not() -> None:
    assert len({dc.mechanism(name, BETA, 5, 1) for name in NAMES for _ in range(2)}) == len(NAMES)
    lattice: Mechanism = dc.LatticeGeometric(BETA, 5, 1)
    assert dc.Remapped(lattice) != lattice
    assert dc.HellingerGlobal(BETA, 5, 1) != dc.HellingerGlobal(dc.Dirichlet([1, 1]), 5, 1)


def test_a_beta_and_a_two_category_dirichlet_have_the_same_laws() -> None:
    for name in NAMES:
        laws = [dc.mechanism(name, prior, 7, 1).law([2, 5]) for prior in (dc.Beta(0.3, 2), dc.Dirichlet([0.3, 2]))]
        assert (laws[0].counts == laws[1].counts).all()
        assert (laws[0].log_probability == laws[1].log_probability).all()


# --- bad counts: refused without a word about them --------------------------------------------------------------------


def _bad_counts() -> list[Any]:
    a, b = PLANTED
    return [[a, b + 1], [a, b, 0], [a], [a, -b], [a, float("nan")], [a, b + 0.5], [[a, b]], [str(a), str(b)], [a, None], a, [[a], [a, b]]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["law", "release", "simulate", "log_prob"])
def test_bad_counts_are_refused_and_never_shown(name: str, method: str) -> None:
    mechanism = dc.mechanism(name, BETA, sum(PLANTED), 1)
    further: dict[str, tuple[Any, ...]] = {"simulate": (3,), "log_prob": ([0, 0],)}
    for counts in _bad_counts():
        with pytest.raises(dc.InvalidInputError, match="counts") as caught:
            getattr(mechanism, method)(counts, *further.get(method, ()))
        assert all(str(c) not in str(caught.value) for c in PLANTED)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", NAMES)
def test_a_law_too_large_to_list_is_refused_with_its_size(name: str) -> None:
    mechanism = dc.mechanism(name, dc.Dirichlet([1] * 1000), 10**9, 1)
    counts = [123457, 10**9 - 123457, *[0] * 998]
    with pytest.raises(dc.TooLargeError, match=r"would list about 10\^\d+ outcomes") as caught:
        mechanism.law(counts)
    assert "123457" not in str(caught.value)


@pytest.mark.parametrize("raw", [[1, 2, 3, 4, 5], [[1, 2]], [0.5, 1], ["1"], 3, [2**63, 0]])
@pytest.mark.parametrize("name", NAMES)
def test_bad_raw_outcomes_are_refused(name: str, raw: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match="raw"):
        dc.mechanism(name, THREE, 5, 1).log_prob([2, 3, 0], raw)


@pytest.mark.parametrize("size", [0, -3, 1.5, "many"])
def test_a_bad_number_of_draws_is_refused(size: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match="size must be"):
        dc.mechanism("EHD", BETA, 5, 1).simulate([2, 3], size)


# --- guarantees -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_guarantees_say_what_they_rest_on(name: str) -> None:
    guarantee = dc.mechanism(name, THREE, 6, "0.5").guarantee
    if name == "HellingerLocal":
        assert guarantee == dc.Guarantee(inf, 1.0, "none")
        assert str(guarantee) == "no privacy guarantee"
    elif name in ("HellingerSmoothDelta", "DiscreteGaussian"):
        assert guarantee == dc.Guarantee(0.5, 1e-8, "computation", "record", Relation.REPLACE_ONE)
    else:
        assert guarantee == dc.Guarantee(0.5, 0.0, "proof", "record", Relation.REPLACE_ONE)
        assert str(guarantee) == f"ε = 0.5 differential privacy by proof (checked: {guarantee.theorem}); neighbours: replace one record"


def test_a_promise_is_never_understated_by_rounding() -> None:
    third = dc.mechanism("EHD", BETA, 5, "1/3").guarantee.epsilon
    assert Fraction(repr(third)) >= Fraction(1, 3)
    assert third == pytest.approx(1 / 3, rel=1e-15)
    assert dc.mechanism("EHD", BETA, 5, 0.1).guarantee.epsilon == 0.1


def _losses_with_scale(prior: brute.Prior, n: int, epsilon: float, scale: float) -> float:
    return brute.worst_loss({x: brute.exponential_law(prior, x, epsilon / scale) for x in brute.lattice(n, len(prior))})


def test_the_global_mechanism_keeps_its_promise_where_the_papers_constant_breaks_it() -> None:
    prior, n, epsilon = (Fraction(1, 10**4),) * 2, 5, 0.01
    mechanism = dc.mechanism("EHD", dc.Beta(*prior), n, epsilon)
    laws = {}
    for x in brute.lattice(n, 2):
        law = mechanism.law(x)
        laws[x] = brute.as_dict(law.counts, law.probability)
    assert brute.worst_loss(laws) <= epsilon
    assert _losses_with_scale(prior, n, epsilon, 2.0 * sqrt(1.0 - pi / 4.0)) == pytest.approx(1.27 * epsilon, rel=0.01)


def test_the_papers_constant_is_the_one_for_three_categories_and_a_prior_of_ones() -> None:
    assert dc.global_sensitivity(dc.Dirichlet([1, 1, 1]), 9) == pytest.approx(sqrt(1.0 - pi / 4.0), rel=1e-14)
    assert dc.global_sensitivity(BETA, 9) < 0.8 * sqrt(1.0 - pi / 4.0)


@pytest.mark.parametrize(("k", "share"), [(2, 1 / 2), (3, 2 / 3), (4, 1 / 2)])
def test_the_dimension_mechanism_loses_less_than_it_promises(k: int, share: float) -> None:
    mechanism = dc.mechanism("LSDim", dc.Dirichlet([1] * k), 3, 1)
    raws = list(product((-1, 1, 4), repeat=k - 1))  # on either side of every count, and between
    log_prob = {(x, raw): mechanism.log_prob(x, raw) for x in brute.lattice(3, k) for raw in raws}
    losses = [abs(log_prob[x, raw] - log_prob[y, raw]) for x in brute.lattice(3, k) for y in brute.neighbours(x) for raw in raws]
    assert max(losses) == pytest.approx(share, rel=1e-12)
    assert mechanism.guarantee.epsilon == 1.0


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_the_local_mechanism_refuses_to_release_unless_told_that_nothing_needs_protection() -> None:
    mechanism = dc.mechanism("EHDL", BETA, sum(PLANTED), 1)
    with pytest.raises(dc.RefusedError, match="no privacy guarantee") as caught:
        mechanism.release(PLANTED)
    assert str(PLANTED[0]) not in str(caught.value)
    release = mechanism.release(PLANTED, allow_nonprivate=True)
    assert release.guarantee.basis == "none"
    assert "no privacy guarantee" in repr(release)


def test_the_delta_mechanism_refuses_when_its_delta_cannot_be_computed() -> None:
    mechanism = dc.mechanism("M_H^B", BETA, sum(PLANTED), 1)
    with pytest.raises(dc.RefusedError):
        mechanism.release(PLANTED)
    assert mechanism.guarantee.basis == "none"


class Steeper(dc.HellingerSmoothDelta):
    """With less noise than it should have, by a factor that a test sets: its δ(ε) may be anything."""

    times = 1.0

    def _rate(self, counts: Counts) -> Floats:
        return self.times * super()._rate(counts)

    _claim = dc.HellingerSmoothDelta._claim
    guarantee = dc.HellingerSmoothDelta.guarantee


def test_the_delta_mechanism_refuses_when_its_delta_is_too_large() -> None:
    low, high = 1.0, 10.0
    found = {}
    while high - low > 1e-12:
        Steeper.times = (low + high) / 2
        mechanism = Steeper(BETA, 5, 1)
        found[dc.delta_at(mechanism, 1).bound] = mechanism.guarantee.basis
        if mechanism.guarantee.basis == "none":
            high = Steeper.times
            with pytest.raises(dc.RefusedError):
                mechanism.release([2, 3])
        else:
            low = Steeper.times
            assert mechanism.release([2, 3], steady=False).guarantee.delta == 1e-8
    assert all((bound <= 1e-8) == (basis == "computation") for bound, basis in found.items())
    assert max(bound for bound in found if bound <= 1e-8) > 0.999e-8
    assert min(bound for bound in found if bound > 1e-8) < 1.001e-8


# --- releases ---------------------------------------------------------------------------------------------------------


def _as_is(mechanism: Mechanism) -> Mechanism:
    return mechanism


def _leaves(value: Any) -> list[Any]:
    if is_dataclass(value):
        return [leaf for f in fields(value) for leaf in _leaves(getattr(value, f.name))]
    if isinstance(value, dict):
        return [leaf for item in value.items() for leaf in _leaves(item)]
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


RELEASED = ["LaplaceZhang", "LaplaceDimension", "LaplaceHistogram", "LatticeGeometric", "HellingerGlobal", "HellingerSmooth"]
"""Those with a guarantee at any n; the first four can be remapped at any n too."""


@pytest.mark.parametrize(("name", "wrap"), [*((name, _as_is) for name in RELEASED), *((name, dc.Remapped) for name in RELEASED[:4])])
def test_a_release_holds_the_draw_and_public_parameters_and_nothing_else(name: str, wrap: Any) -> None:
    mechanism = wrap(dc.mechanism(name, BETA, sum(PLANTED), "0.001"))
    release = mechanism.release(PLANTED, source=PretendedSecret(5))
    assert release.mechanism == mechanism
    assert release.parameters == mechanism.parameters
    assert (release.prior, release.n, release.guarantee) == (BETA, sum(PLANTED), mechanism.guarantee)
    assert release.counts == tuple(mechanism.report(np.array([release.raw]))[0].tolist())
    assert release.reported == BETA.plus(release.counts)
    assert not hasattr(release, "posterior")
    leaves = _leaves(release)
    assert not set(PLANTED) & {leaf for leaf in leaves if isinstance(leaf, int)}
    assert all(str(c) not in repr(release) for c in PLANTED)
    assert {type(leaf) for leaf in (*release.raw, *release.counts, release.n)} == {int}  # numpy integers would not survive JSON


@pytest.mark.parametrize("name", NAMES)
def test_releases_differ_from_draw_to_draw_and_repeat_with_the_same_bits(name: str) -> None:
    mechanism = dc.mechanism(name, THREE, 60, "0.05")
    if name == "HellingerSmoothDelta":
        mechanism = dc.mechanism(name, THREE, 12, "0.05")
    n = mechanism.space.total
    counts = [n // 2, n // 3, n - n // 2 - n // 3]
    draws = [mechanism.release(counts, source=SeededBits(s), allow_nonprivate=True, steady=False).raw for s in (1, 2, 3, 4, 1)]
    assert len(set(draws)) > 1
    assert draws[0] == draws[4]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {"rounding": rounding}) for name in ("LSZhang", "LSDim", "LSHist") for rounding in ("floor", "nearest")),
        *((name, {"consistent": False}) for name in ("LSDim", "LSHist")),
        *(("lattice", {"projection": projection}) for projection in ("euclidean", "cut")),
    ],
)
def test_noise_beyond_64_bits_is_released_and_reported(name: str, options: dict[str, Any]) -> None:
    """Only a tiny ε makes such noise likely, but a failure after the draw would depend on it; here it is planted."""
    mechanism = dc.mechanism(name, dc.Dirichlet([1, 1, 1]), 10, 1, **options)
    size = len(mechanism.release([5, 3, 2], steady=False).raw)
    for raw in ((2**70, -(2**70) + 4, 6), (-(2**70), 4, 2**70 + 6), (2**70 + 9, 2**70, -(2**71) + 1)):
        with planted(type(mechanism), raw[:size]):
            release, remapped = (each.release([5, 3, 2], steady=False) for each in (mechanism, dc.Remapped(mechanism)))
        # moderate numbers that differ from the planted ones by what cannot matter: beyond n, and lattice points by a common shift
        small = tuple(round(z / 2**70) * 1000 + (z - round(z / 2**70) * 2**70) for z in raw)
        assert release.raw == raw[:size]
        assert release.counts == tuple(mechanism.report(np.array([small[:size]]))[0].tolist())
        assert remapped.counts == tuple(dc.Remapped(mechanism).report(np.array([small[:size]]))[0].tolist())


@pytest.mark.parametrize("name", NAMES)
def test_two_to_the_53_records_work(name: str) -> None:
    n = 2**53
    mechanism = dc.mechanism(name, BETA, n, 1)
    counts = [n // 3, n - n // 3]
    release = mechanism.release(counts, source=PretendedSecret(1), allow_nonprivate=True)
    assert all(0 <= c <= n for c in release.counts)
    assert name == "LaplaceZhang" or sum(release.counts) == n
    if mechanism.noise is not None:
        assert (np.abs(mechanism.simulate(counts, 100, 1) - counts) < 200).all()


@pytest.mark.parametrize("name", ["LSZhang", "LSDim", "LSHist", "lattice"])
@pytest.mark.parametrize("epsilon", ["1e-15", "1e-12", "745", "1e6"])
def test_simulated_noise_survives_extreme_epsilons(name: str, epsilon: str) -> None:
    draws = dc.mechanism(name, BETA, 10, epsilon).simulate([4, 6], 2000, 3)
    assert ((draws >= 0) & (draws <= 10)).all()
    if Fraction(epsilon) < 1:  # so much noise that each end is as likely as the other
        assert 0.45 < (draws[:, 0] == 0).mean() < 0.55
    else:
        near = np.abs(draws - [4, 6])
        assert (near <= 1).all()


def test_a_thousand_categories_of_the_largest_counts_do_not_overflow() -> None:
    k, n = 2000, 2**53
    mechanism = dc.LaplaceHistogram(dc.Dirichlet([1] * k), n, 1, consistent=False)
    assert mechanism.report(np.full((1, k - 1), n))[0, -1] == 0
    lattice = dc.LatticeGeometric(dc.Dirichlet([1] * k), n, 1)
    assert lattice.report(np.full((1, k), n))[0].sum() == n


# --- simulate and log_prob --------------------------------------------------------------------------------------------

DRAWS = 100_000
"""Of each simulation. The false-alarm rate of one test is that of `sampling_support`, 1e-5: below 4e-4 for the 40 tests here."""

WORLDS = [(BETA, (3, 9), "1"), (THREE, (1, 4, 2), "2")]


@pytest.mark.parametrize(
    ("name", "wrap"), [*((name, _as_is) for name in NAMES), ("LatticeGeometric", dc.Remapped), ("HellingerGlobal", dc.Remapped)]
)
@pytest.mark.parametrize(("prior", "counts", "epsilon"), [pytest.param(*WORLDS[0], marks=pytest.mark.slow), WORLDS[1]], ids=["k=2", "k=3"])
def test_simulate_agrees_with_law_and_the_test_would_notice_ten_percent(
    name: str, prior: Any, counts: Any, epsilon: str, wrap: Any
) -> None:
    n = sum(counts)
    mechanism = wrap(dc.mechanism(name, prior, n, epsilon))
    wrong = wrap(dc.mechanism(name, prior, n, Fraction(epsilon) * sampling_support.WRONG))
    found = mechanism.law(counts)
    law = sampling_support.Law(dict(brute.as_dict(found.counts, found.probability).items()))
    right_draws, wrong_draws = (m.simulate(counts, DRAWS, 17) for m in (mechanism, wrong))
    assert right_draws.shape == (DRAWS, prior.k)
    assert law.p_value([tuple(row) for row in right_draws.tolist()]) > sampling_support.FALSE_ALARM
    assert law.p_value([tuple(row) for row in wrong_draws.tolist()]) < sampling_support.FALSE_ALARM


def test_simulate_repeats_with_the_same_seed() -> None:
    for name in NAMES:
        mechanism = dc.mechanism(name, THREE, 7, 1)
        first, second, other = (mechanism.simulate([1, 4, 2], 50, seed) for seed in (1, np.random.default_rng(1), 2))
        assert (first == second).all()
        assert (first != other).any()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "DiscreteGaussian"])  # which projects all that it draws
@pytest.mark.parametrize(("prior", "counts", "epsilon"), WORLDS, ids=["k=2", "k=3"])
def test_log_prob_gives_the_law(name: str, prior: Any, counts: Any, epsilon: str) -> None:
    """At raw outcomes inside the range, which nothing else is clamped, cut or projected to."""
    mechanism = dc.mechanism(name, prior, sum(counts), epsilon)
    law = mechanism.law(counts)
    by_report = brute.as_dict(law.counts, law.log_probability)
    noised = prior.k - 1 if name in ("LaplaceDimension", "LaplaceHistogram") else prior.k
    for raw in ((1, 3, 3), (2, 4, 1), (5, 1, 1)) if prior.k == 3 else ((1, 11), (5, 7), (11, 1)):
        assert mechanism.log_prob(counts, raw[:noised]) == pytest.approx(by_report[raw], abs=1e-11)


def test_log_prob_of_what_cannot_happen_is_minus_infinity() -> None:
    for name in ("EHD", "EHDS", "lattice"):
        mechanism = dc.mechanism(name, BETA, 5, 1)
        assert mechanism.log_prob([2, 3], [2, 4]) == -inf
    assert dc.mechanism("EHD", BETA, 5, 1).log_prob([2, 3], [-1, 6]) == -inf
    assert dc.mechanism("lattice", BETA, 5, 1).log_prob([2, 3], [-1, 6]) > -inf


def test_log_prob_of_noise_needs_no_enumeration() -> None:
    k, n = 1000, 10**12
    counts, raw = [n // k] * k, [n // k + 3 * (-1) ** i for i in range(k)]
    for name in ("LSZhang", "LSHist", "LSDim", "lattice"):
        mechanism = dc.mechanism(name, dc.Dirichlet([1] * k), n, 1)
        size = k if name in ("LSZhang", "lattice") else k - 1
        here, there = mechanism.log_prob(counts, counts[:size]), mechanism.log_prob(counts, raw[:size])
        assert -1e5 < there < here < 0
    # two categories: (1 - q)/(1 + q) q^|d|
    q = exp(-0.5)
    assert dc.mechanism("lattice", BETA, n, "0.5").log_prob([n, 0], [n - 7, 7]) == pytest.approx(log((1 - q) / (1 + q)) - 3.5, rel=1e-13)


def test_log_prob_of_the_exponential_family_says_when_its_normaliser_is_out_of_reach() -> None:
    with pytest.raises(dc.TooLargeError, match="1,000,000,000,001"):
        dc.mechanism("EHD", BETA, 10**12, 1).log_prob([10**12, 0], [10**12, 0])


# --- Calibrated: its place here; its search is tested with the privacy losses -----------------------------------------


@pytest.mark.parametrize("name", ["EHD", "EHDL", "EHDS"])
@pytest.mark.parametrize(("prior", "n"), [(BETA, 30), (THREE, 6)], ids=["k=2", "k=3"])
def test_calibrated_uses_up_its_epsilon_and_no_more(name: str, prior: Any, n: int) -> None:
    inner = dc.mechanism(name, prior, n, "0.7")
    assert isinstance(inner, dc.mechanisms.Exponential)
    calibrated = dc.Calibrated(inner)
    assert 0.999 * 0.7 <= calibrated._loss.bound <= 0.7
    assert calibrated.guarantee == dc.Guarantee(0.7, 0.0, "computation")
    counts = [n // 2, n - n // 2, 0][: prior.k]
    law = calibrated.law(counts)
    assert law.probability.sum() == pytest.approx(1.0, abs=1e-12)
    release = calibrated.release(counts, source=PretendedSecret(3))
    assert release.parameters == {"mechanism": type(inner).__name__, "options": inner.parameters, "factor": calibrated.factor}
    laws = {}
    for x in brute.lattice(n, prior.k):
        found = calibrated.law(x)
        laws[x] = brute.as_dict(found.counts, found.probability)
    assert brute.worst_loss(laws) == pytest.approx(calibrated._loss.value, rel=1e-9)


def test_calibrated_takes_hellinger_mechanisms_only_and_only_once() -> None:
    inner: Any
    for inner in (dc.LatticeGeometric(BETA, 5, 1), dc.Calibrated(dc.HellingerGlobal(BETA, 5, 1)), "EHD"):
        with pytest.raises(dc.InvalidInputError, match="Calibrated takes a Hellinger mechanism"):
            dc.Calibrated(inner)


def test_calibrated_is_refused_where_the_loss_cannot_be_computed() -> None:
    with pytest.raises(dc.TooLargeError):
        dc.Calibrated(dc.HellingerGlobal(BETA, 10**6, 1))


def test_nested_wrappers_keep_every_name() -> None:
    nested = dc.Remapped(dc.Calibrated(dc.HellingerSmooth(BETA, 5, 1)))
    assert nested.parameters["mechanism"] == "Calibrated"
    assert nested.parameters["options"]["mechanism"] == "HellingerSmooth"
    assert nested.parameters["options"]["options"] == {"epsilon": 1, "gamma": 1}
    assert dc.Remapped(nested) == nested
