"""Losses and δ(ε): against stored references, against brute force over all neighbours and outcomes, and as claims about mechanisms."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

import discreet as dc
from discreet.analysis.privacy import only_prior_speaks, privacy_profile
from discreet.errors import InvalidInputError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import Law
from tests.support import Floats, Integers, lattice, neighbours, reference_values

EXPONENTIAL = {"EHD": dc.HellingerGlobal, "EHDL": dc.HellingerLocal, "EHDS": dc.HellingerSmooth, "EHDS-delta": dc.HellingerSmoothDelta}


def reference_mechanism(world: Any, name: str) -> Mechanism:
    options = {"EHDS": {"gamma": world["gamma"]}, "EHDS-delta": {"delta": world["delta"]}}.get(name, {})
    return dc.mechanism(name, dc.Dirichlet(world["prior"]), world["n"], world["epsilon"], **options)


@pytest.mark.parametrize("world", reference_values()["worlds"], ids=lambda w: f"n={w['n']},a={w['prior']}")
@pytest.mark.parametrize("name", EXPONENTIAL)
def test_losses_and_deltas_are_the_reference_values(world: Any, name: str) -> None:
    mechanism = reference_mechanism(world, name)
    loss, delta = dc.privacy_loss(mechanism), dc.delta_at(mechanism, Fraction(world["epsilon"]) / 5)
    expected_loss, expected_delta = float(world["privacy_loss"][name]), float(world["delta_at_epsilon/5"][name])
    assert loss.value == pytest.approx(expected_loss, abs=1e-10)
    assert delta.value == pytest.approx(expected_delta, abs=1e-10)
    assert expected_loss <= loss.bound <= expected_loss + 1e-10
    assert expected_delta <= delta.bound <= expected_delta + 1e-10


# --- brute force ------------------------------------------------------------------------------------------------------


def raw_outcomes(mechanism: Mechanism) -> Integers:
    """Enough of the raw outcomes of a small world to hold the largest loss and all but 1e-9 of the probability."""
    n, k = mechanism.space.total, mechanism.k
    if isinstance(mechanism, dc.LatticeGeometric):
        reach = int(25 / float(mechanism.epsilon)) + n
        free = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * (k - 1), indexing="ij"), axis=-1).reshape(-1, k - 1)
        return np.concatenate([free, n - free.sum(axis=-1, keepdims=True)], axis=-1)
    noised = k if isinstance(mechanism, dc.LaplaceZhang) else k - 1
    reach = int(25 * k / float(mechanism.epsilon)) + n
    return np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * noised, indexing="ij"), axis=-1).reshape(-1, noised)


def all_laws(mechanism: Mechanism) -> dict[tuple[int, ...], Floats]:
    points = lattice(mechanism.space.total, mechanism.k)
    if isinstance(mechanism, tuple(EXPONENTIAL.values())):
        return {tuple(x.tolist()): mechanism.law(x).log_probability for x in points}
    outcomes = raw_outcomes(mechanism)
    return {tuple(x.tolist()): mechanism._log_probabilities(x, outcomes) for x in points}


def brute_force(mechanism: Mechanism, epsilon: float) -> tuple[float, float]:
    laws = all_laws(mechanism)
    loss, delta = 0.0, 0.0
    for counts, law in laws.items():
        for other in neighbours(counts):
            other_law = laws[tuple(other.tolist())]
            loss = max(loss, float((law - other_law).max()))
            delta = max(delta, float(np.maximum(0.0, np.exp(law) - np.exp(epsilon + other_law)).sum()))
    return loss, delta


def random_world(rng: np.random.Generator, index: int) -> Mechanism:
    names = [*EXPONENTIAL, "LSZhang", "LSDim", "LSHist", "lattice"]
    name = names[index % len(names)]
    k = int(rng.integers(2, 4 if name in EXPONENTIAL else 3))
    n = int(rng.integers(1, 9 if k == 2 else 6))
    prior = dc.Dirichlet([f"{a:.4g}" for a in 10.0 ** rng.uniform(-2, 2, k)])
    options: dict[str, Any] = {"EHDS": {"gamma": f"{10 ** rng.uniform(-2, 1):.3g}"}, "EHDS-delta": {"delta": "1e-3"}}.get(name, {})
    if name.startswith("LS"):
        options = {"rounding": ["floor", "nearest"][index // len(names) % 2]}
    return dc.mechanism(name, prior, n, f"{10 ** rng.uniform(-0.5, 0.7):.3g}", **options)


@pytest.mark.parametrize("block", range(8))
def test_losses_and_deltas_equal_brute_force_on_200_random_worlds(block: int) -> None:
    rng = np.random.default_rng([20261115, block])
    for index in range(25):
        mechanism = random_world(rng, index)
        level = float(mechanism.epsilon) * rng.uniform(0.05, 0.9)
        loss, delta = brute_force(mechanism, level)
        computed_loss, computed_delta = dc.privacy_loss(mechanism), dc.delta_at(mechanism, level)
        assert computed_loss.value == pytest.approx(loss, rel=1e-10, abs=1e-10), mechanism
        assert computed_delta.value == pytest.approx(delta, abs=1e-8), mechanism
        assert computed_loss.bound >= loss - 1e-12
        assert computed_delta.bound >= delta - 1e-12


@pytest.mark.parametrize("name", EXPONENTIAL)
@pytest.mark.parametrize(("k", "n"), [(2, 1), (2, 7), (2, 8), (3, 1), (3, 6), (4, 3)])
def test_equal_prior_parameters_need_one_pair_of_each_kind(name: str, k: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against brute force, and against going through all pairs."""
    options = {"EHDS-delta": {"delta": "1e-3"}}.get(name, {})
    mechanism = dc.mechanism(name, dc.Dirichlet(["0.3"] * k), n, 2, **options)
    levels = np.array([0.1, 0.5, 1.0])
    loss, delta = brute_force(mechanism, 0.5)
    few = dc.privacy_loss(mechanism), dc.delta_at(mechanism, 0.5), privacy_profile(mechanism, levels)
    assert few[0].value == pytest.approx(loss, rel=1e-10)
    assert few[1].value == pytest.approx(delta, abs=1e-10)
    monkeypatch.setattr(dc.mechanisms.Exponential, "_is_symmetric", False)
    assert dc.privacy_loss(mechanism).value == pytest.approx(few[0].value, rel=1e-12)
    assert dc.delta_at(mechanism, 0.5).value == pytest.approx(few[1].value, abs=1e-13)
    np.testing.assert_allclose(privacy_profile(mechanism, levels), few[2], atol=1e-12)


@pytest.mark.parametrize("prior", [[5, "0.01"], [5, "0.01", "0.01"]])
def test_unequal_prior_parameters_taken_for_equal_would_hide_the_worst_pair(prior: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dc.HellingerGlobal(dc.Dirichlet(prior), 7, 2)
    assert not mechanism._is_symmetric
    worst = dc.privacy_loss(mechanism).value
    monkeypatch.setattr(dc.mechanisms.Exponential, "_is_symmetric", True)
    assert dc.privacy_loss(mechanism).value < 0.99 * worst


@pytest.mark.parametrize("prior", [[5, "0.01"], ["0.01", 5], [5, "0.01", "0.01"], ["0.01", 5, 5]])
def test_a_mechanism_that_says_nothing_of_symmetry_is_not_taken_to_be_symmetric(prior: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric of the user's own tells categories apart. Negative control: taken for symmetric, some have a smaller loss."""
    mechanism = dc.MetricExponential(dc.Dirichlet(prior), 6, 2, dc.hellinger)
    laws = {tuple(x.tolist()): mechanism._raw_law(x).log_probability for x in mechanism._outcomes()}
    pairs = [(law, laws[tuple(other.tolist())]) for x, law in laws.items() for other in neighbours(x)]
    loss = max(float((one - other).max()) for one, other in pairs)
    delta = max(float(np.maximum(0.0, np.exp(one) - np.exp(0.5 + other)).sum()) for one, other in pairs)
    assert dc.privacy_loss(mechanism).value == pytest.approx(loss, rel=1e-10)
    assert dc.delta_at(mechanism, 0.5).value == pytest.approx(delta, abs=1e-10)
    monkeypatch.setattr(Mechanism, "_is_symmetric", True)
    taken = dc.privacy_loss(mechanism).value, dc.delta_at(mechanism, 0.5).value
    assert prior[0] != 5 or taken[0] < 0.99 * loss or taken[1] < 0.99 * delta


def test_the_loss_is_reached_where_it_says() -> None:
    mechanism = dc.HellingerSmooth(dc.Beta(1, 1), 30, 1)
    loss = dc.privacy_loss(mechanism)
    first, second = (mechanism.law(x).log_probability for x in loss.at)
    assert np.abs(first - second).max() == pytest.approx(loss.value, abs=1e-12)


def test_a_loss_profile_peaks_at_the_privacy_loss() -> None:
    mechanism = dc.HellingerSmooth(dc.Beta(1, 2), 40, 1)
    profile = dc.loss_profile(mechanism)
    assert len(profile.counts) == 41
    assert profile.loss.max() == dc.privacy_loss(mechanism).value
    assert (dc.loss_profile(dc.LatticeGeometric(dc.Beta(1, 1), 5, 2)).loss == 2.0).all()


@pytest.mark.parametrize("mechanism", [dc.HellingerSmooth(dc.Beta(1, 1), 25, 2), dc.LatticeGeometric(dc.Dirichlet.uniform(3), 5, 1)])
def test_a_privacy_profile_is_the_largest_delta_at_every_level(mechanism: Mechanism) -> None:
    levels = np.linspace(-1.0, 2.0, 31)
    profile = privacy_profile(mechanism, levels)
    for level, bound in zip(levels, profile, strict=True):
        if level > 0:
            assert bound == pytest.approx(dc.delta_at(mechanism, level).value, abs=1e-10)
    assert (np.diff(profile) <= 0.0).all()


def test_lattice_losses_have_a_closed_form_at_any_dimension() -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(1000), 10**9, 1)
    assert dc.privacy_loss(mechanism).bound == 1.0
    assert 0.0 < dc.delta_at(mechanism, "0.5").value < dc.delta_at(mechanism, "0.1").value < 1.0
    assert dc.delta_at(mechanism, 1).bound == 0.0


# --- claims about the papers' mechanisms ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Configuration:
    prior: dc.Dirichlet
    n: int
    epsilon: str
    gamma: str


MOST_CANDIDATES = {2: 60, 3: 60, 4: 18}
"""Largest n for k categories: at most 1,891 candidates."""


def configurations(count: int, seed: int) -> Iterator[Configuration]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        k = int(rng.choice([2, 3, 4], p=[0.6, 0.3, 0.1]))
        n = int(np.exp(rng.uniform(0.0, np.log(MOST_CANDIDATES[k] + 1))))
        prior = dc.Dirichlet([f"{a:.3g}" for a in 10.0 ** rng.uniform(-6, 3, k)])
        yield Configuration(prior, n, f"{10 ** rng.uniform(-2, np.log10(40)):.3g}", f"{10 ** rng.uniform(-2, 1):.3g}")


def search_worst(count: int, seed: int) -> dict[str, tuple[float, Configuration]]:
    """The largest ratio of computed loss (its rigorous bound) to ε that each mechanism reaches, and where."""
    worst: dict[str, tuple[float, Configuration]] = {}
    for found in configurations(count, seed):
        mechanisms: list[Mechanism] = [
            dc.HellingerGlobal(found.prior, found.n, found.epsilon),
            dc.HellingerSmooth(found.prior, found.n, found.epsilon, gamma=found.gamma),
            dc.HellingerLocal(found.prior, found.n, found.epsilon),
        ]
        for mechanism in mechanisms:
            name, ratio = type(mechanism).__name__, dc.privacy_loss(mechanism).bound / float(mechanism.epsilon)
            if name not in worst or ratio > worst[name][0]:
                worst[name] = (ratio, found)
    return worst


def check_search(worst: dict[str, tuple[float, Configuration]]) -> None:
    assert worst["HellingerGlobal"][0] <= 1.0
    assert worst["HellingerSmooth"][0] <= 1.0
    assert worst["HellingerLocal"][0] > 1.0


SEARCHED_QUICKLY, SEARCHED = 60, 2000
"""Configurations in the normal run, and in the slow one of tests/docs/test_quoted_numbers.py."""


def test_no_proof_is_refuted_and_the_local_mechanism_is() -> None:
    check_search(search_worst(SEARCHED_QUICKLY, seed=7))


def loss_with_the_papers_constant(prior: dc.Beta, n: int, epsilon: float) -> float:
    """The loss of HellingerGlobal over ε if sqrt(1 - π/4) is its sensitivity."""
    distance = np.array([[dc.hellinger(prior.update([x, n - x]), prior.update([r, n - r])) for r in range(n + 1)] for x in range(n + 1)])
    log_law = -epsilon * distance / (2.0 * np.sqrt(1.0 - np.pi / 4.0))
    log_law -= np.log(np.exp(log_law).sum(axis=1, keepdims=True))
    return float(np.abs(np.diff(log_law, axis=0)).max() / epsilon)


def test_the_papers_constant_would_break_the_promise_for_small_priors() -> None:
    prior, n = dc.Beta("1e-4", "1e-4"), 5
    assert dc.privacy_loss(dc.HellingerGlobal(prior, n, "0.01")).bound <= 0.01
    assert loss_with_the_papers_constant(prior, n, 0.01) == pytest.approx(1.27, abs=0.005)


def test_the_local_mechanism_loses_more_than_epsilon_at_the_recorded_place() -> None:
    mechanism = dc.HellingerLocal(dc.Beta("1e-4", "1e-4"), 400, 1)
    assert dc.privacy_loss(mechanism).value == pytest.approx(1.12, abs=0.01)
    assert dc.privacy_loss(dc.HellingerLocal(dc.Beta(1, 1), 400, 1)).bound < 1.0


def test_the_delta_mechanism_exceeds_epsilon_but_not_delta() -> None:
    mechanism = dc.HellingerSmoothDelta(dc.Beta(396, "1e-5"), 8, 20, delta="1e-3")
    assert dc.privacy_loss(mechanism).value / 20 == pytest.approx(1.022, abs=0.0005)
    assert dc.delta_at(mechanism, 20).bound < 1e-8
    assert mechanism.guarantee.basis == "computation"


def test_the_smooth_mechanism_uses_less_than_half_of_its_budget_at_gamma_one() -> None:
    for n in (10, 100, 1000):
        assert 0.30 < dc.privacy_loss(dc.HellingerSmooth(dc.Beta(1, 1), n, 1)).value < 0.46


# --- calibration ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.HellingerSmooth(dc.Beta(1, 1), 1000, 1),
        dc.HellingerSmooth(dc.Beta("0.3", 7), 60, "0.1"),
        dc.HellingerSmooth(dc.Dirichlet(["1", "2", "0.5"]), 12, 5),
        dc.HellingerGlobal(dc.Beta(1, 1), 50, 1),
        dc.HellingerLocal(dc.Beta("1e-4", "1e-4"), 100, 1),
    ],
    ids=lambda m: f"{type(m).__name__},n={m.n},k={m.k}",
)
def test_calibration_spends_the_budget_and_no_more(mechanism: Any) -> None:
    calibrated = dc.Calibrated(mechanism)
    recomputed = dc.privacy_loss(calibrated)
    epsilon = float(mechanism.epsilon)
    assert 0.999 * epsilon <= recomputed.value <= recomputed.bound <= epsilon
    assert calibrated.guarantee.basis == "computation"
    assert calibrated.guarantee.epsilon == epsilon
    assert dc.verify(calibrated).holds


def mean_error(mechanism: Mechanism, counts: list[int]) -> float:
    law = mechanism.law(counts)
    truth = mechanism.prior.concentration + np.array(counts)
    return float(law.probability @ dc.hellinger(truth, mechanism.prior.concentration + law.counts))


def test_calibration_halves_the_error_and_then_beats_the_laplace_mechanism() -> None:
    plain = dc.HellingerSmooth(dc.Beta(1, 1), 1000, 1)
    laplace = dc.LaplaceDimension(dc.Beta(1, 1), 1000, 1)
    before, after, rival = (mean_error(m, [500, 500]) for m in (plain, dc.Calibrated(plain), laplace))
    assert before > rival
    assert after <= before / 2
    assert after < rival


def test_gamma_is_chosen_for_the_prior_predictive() -> None:
    prior = dc.Beta(1, 1)
    best = dc.HellingerSmooth(prior, 60, 1, gamma="best")
    predictive = prior.predictive(60).pmf(lattice(60, 2))

    def error(mechanism: dc.HellingerSmooth) -> float:
        return float(sum(p * mean_error(mechanism, x.tolist()) for p, x in zip(predictive, lattice(60, 2), strict=True)))

    others = [dc.HellingerSmooth(prior, 60, 1, gamma=best.gamma * factor) for factor in (Fraction(1, 2), Fraction(2))]
    assert error(best) < min(error(other) for other in others)
    assert best.guarantee.basis == "proof"
    assert dc.privacy_loss(best).bound <= 1.0


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify_says_what_is_claimed_and_what_is_true() -> None:
    smooth = dc.verify(dc.HellingerSmooth(dc.Beta(1, 1), 100, 1))
    assert smooth.holds
    assert smooth.verdict == "holds"
    assert smooth.slack is not None
    assert 0.5 < smooth.slack < 0.7
    local = dc.verify(dc.HellingerLocal(dc.Beta("1e-4", "1e-4"), 400, 1))
    assert not local.holds
    assert "nothing is claimed" in local.verdict
    large = dc.verify(dc.HellingerSmooth(dc.Dirichlet.uniform(4), 600, 1))
    assert large.holds is None
    assert "not computed" in large.verdict
    assert dc.verify(dc.Remapped(dc.LatticeGeometric(dc.Beta(1, 1), 50, 1))).holds


def test_verify_catches_a_mechanism_that_claims_too_much() -> None:
    class Careless(dc.HellingerLocal):
        """Claims what the local mechanism does not keep."""

        @property
        def guarantee(self) -> Any:
            return dc.Guarantee(float(self.epsilon), 0.0, "proof")

    assert dc.verify(Careless(dc.Beta("1e-4", "1e-4"), 400, 1)).verdict == "does not hold"


def test_a_record_is_verified_by_its_own_claim() -> None:
    for mechanism in (dc.LatticeGeometric(dc.Beta(1, 1), 9, "0.3"), dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), 9, 1))):
        release = mechanism.release([2, 7])
        assert dc.verify(release) == dc.verify(mechanism)
        assert dc.verify(release).holds
        assert dc.privacy_loss(release) == dc.privacy_loss(mechanism)
    raised = json.loads(release.to_json())
    raised["parameters"]["factor"] = "9"
    assert dc.verify(dc.Release.from_json(json.dumps(raised))).verdict == "does not hold"


def test_a_verification_is_printed_in_words() -> None:
    holds = str(dc.verify(dc.HellingerSmooth(dc.Beta(1, 1), 100, 1)))
    assert holds.startswith("claimed: ε = 1 differential privacy by proof")
    for part in (
        "computed: the privacy loss is 0.39993343",
        "certainly at most 0.39993343",
        "between the counts (1, 99) and (2, 98)",
        "verdict: holds; 60 % of",
    ):
        assert part in holds
    assert "δ at the claimed ε: certainly at most 0.0" in str(dc.verify(dc.HellingerSmoothDelta(dc.Beta(1, 1), 9, 1)))
    assert "nothing is claimed" in str(dc.verify(dc.HellingerLocal(dc.Beta(1, 1), 9, 1)))
    assert str(dc.verify(dc.HellingerSmooth(dc.Dirichlet([1, 1, 1]), 2000, 1))).splitlines()[1].startswith("verdict: not computed: ")
    assert max(len(line) for line in str(dc.verify(dc.LatticeGeometric(dc.Dirichlet.uniform(500), 9, 1))).splitlines()) < 160


@pytest.mark.parametrize("given", [[2, 3], dc.Beta(1, 1), dc.LatticeGeometric, "lattice", None], ids=str)
def test_what_is_no_mechanism_is_told_so(given: Any) -> None:
    for call in (dc.verify, dc.privacy_loss, dc.loss_profile, lambda x: dc.delta_at(x, 1), lambda x: privacy_profile(x, [1.0])):
        with pytest.raises(dc.InvalidInputError, match=r"^give a mechanism or a release, not "):
            call(given)


def test_levels_whose_exponential_is_no_float_have_a_delta() -> None:
    mechanism = dc.HellingerGlobal(dc.Beta(1, 1), 10, 2000)
    profile = privacy_profile(mechanism, np.linspace(-1500, 1500, 7))
    assert (np.diff(profile) <= 0.0).all()
    assert profile[0] == 1.0
    assert profile[-1] == 0.0
    assert dc.HellingerSmoothDelta(dc.Beta(1, 1), 10, "1e15", delta="1e-3").guarantee.basis == "computation"


@pytest.mark.parametrize("epsilon", ["1e-15", "1", "10"])
def test_lattice_losses_keep_their_digits_with_many_categories(epsilon: str) -> None:
    k = 3000

    def squares(m: int, q: arb) -> arb:
        term = total = arb(1)
        for j in range(m):
            term = term * (m - j) ** 2 / (j + 1) ** 2 * q
            total += term
        return total

    atoms = dc.LatticeGeometric(dc.Dirichlet([1] * k), 10, epsilon)._loss_atoms()
    with ctx.workprec(200):
        q = (-arb(epsilon)).exp()
        grows = squares(k - 2, q) / squares(k - 1, q)
        assert abs(arb(float(atoms.probability[0])) - grows) <= 2.0**-50 * grows


@pytest.mark.parametrize("name", ["LatticeGeometric", "LaplaceHistogram", "HellingerSmooth"])
def test_where_only_the_prior_speaks_no_outcome_tells_datasets_apart(name: str) -> None:
    """The odds between the two datasets that differ most change by at most e^(nε), in both directions and for every outcome."""
    n, epsilon = 20, Fraction(1, 20)
    assert only_prior_speaks(n, epsilon)
    assert not only_prior_speaks(n + 1, epsilon)
    mechanism = dc.mechanism(name, dc.Beta(1, 1), n, epsilon)
    first, second = (mechanism._raw_law(np.array(counts)).log_probability for counts in ((n, 0), (0, n)))
    assert 0.03 < np.abs(first - second).max() <= n * float(epsilon) * (1.0 + 1e-12)


class OneAnswer(Mechanism[Any]):
    """One person's answer, told with odds of e^(factor · ε) and otherwise turned round; `total` is what its probabilities add up to."""

    factor = 1.0
    total = 1.0

    def _raw_law(self, counts: Integers) -> Law:
        odds = np.exp(self.factor * float(self.epsilon) * counts)
        return Law(lattice(1, 2), np.log(self.total * odds[lattice(1, 2).argmax(axis=1)] / odds.sum()))

    @property
    def _claim(self) -> dc.Guarantee:
        return dc.Guarantee(float(self.epsilon), 0.0, "proof")


def test_rounding_errors_of_a_law_leave_a_claim_open_and_more_refutes_it() -> None:
    exact = dc.verify(OneAnswer(dc.Beta(1, 1), 1, "0.3"))
    assert (exact.holds, exact.verdict.split(":")[0]) == (None, "not decided")

    class LosesMore(OneAnswer):
        factor = 1.001

    class LosesLess(OneAnswer):
        factor = 0.999

    assert dc.verify(LosesMore(dc.Beta(1, 1), 1, "0.3")).holds is False
    assert dc.verify(LosesLess(dc.Beta(1, 1), 1, "0.3")).holds is True


@pytest.mark.parametrize("total", [0.99, 1.0 + 1e-9, float("nan")])
def test_probabilities_that_do_not_add_up_to_1_are_refused(total: float) -> None:
    class Wrong(OneAnswer):
        pass

    Wrong.total = total
    with pytest.raises(InvalidInputError, match="do not add up to 1"):
        dc.verify(Wrong(dc.Beta(1, 1), 1, "0.3"))
