"""Claims about privacy: the exact loss of each mechanism over all neighbouring datasets of many configurations."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.analysis.optimum import neighbouring_pairs
from discreet.analysis.privacy import delta_at
from discreet.mechanisms import Calibrated
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.hellinger import HellingerGlobal, HellingerSmooth, HellingerSmoothDelta
from discreet.mechanisms.laplace import LaplaceDimension, LaplaceHistogram, LaplaceZhang
from discreet.model.datasets import Relation, simplex_points
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger, renyi
from discreet.model.sensitivity import global_sensitivity, local_sensitivities
from discreet.numerics.balls import ball
from discreet.validation import exact
from discreet_papers.claim import Claim, Condition
from discreet_papers.contenders import build, exact_mean
from discreet_papers.losses import balanced_loss, loss_ratio
from discreet_papers.search import Cases, case, over, search, together
from discreet_papers.sensitivities import datasets
from discreet_papers.theory import PAPER_SENSITIVITY

__all__ = ["CLAIMS"]

Prior = Beta | Dirichlet
World = tuple[Prior, int, str]
_TINY = Beta("0.0001", "0.0001")
_PAIRS: tuple[Prior, ...] = (_TINY, Beta("0.5", 2), Beta(1, 1), Beta(30, 30), Beta(396, "0.00001"), Beta(10_000, 10_000))
_TRIPLES: tuple[Prior, ...] = (Dirichlet(["0.001"] * 3), Dirichlet.uniform(3), Dirichlet([30, 30, 30]), Dirichlet(["0.1", "1", "40"]))
_EPSILONS = ("0.01", "1", "20")
_PAIR_SIZES, _TRIPLE_SIZES = (1, 2, 3, 10, 60), (1, 2, 5, 12)
_WORLDS: tuple[World, ...] = (
    *product(_PAIRS, _PAIR_SIZES, _EPSILONS),
    *product(_TRIPLES, _TRIPLE_SIZES, _EPSILONS),
)
_REGION = {
    "prior": f"{len(_PAIRS)} of 2 categories (parameters 0.00001 to 10,000), {len(_TRIPLES)} of 3 (0.001 to 40)",
    "n": f"{over(_PAIR_SIZES)} ({over(_TRIPLE_SIZES)} for 3 categories)",
    "ε": over(_EPSILONS),
    "data": "all neighbours, both directions",
}


def _named(prior: Prior, n: int) -> str:
    inside = ", ".join(f"{float(a):g}" for a in prior.exact)
    return f"{'Beta' if prior.k == 2 else 'Dir'}({inside}), n = {n}"


def _within(name: str, worlds: Iterable[World] = _WORLDS) -> Iterator[Cases]:
    """1 - loss/ε of a mechanism by its name."""
    for prior, n, epsilon in worlds:
        yield case(f"{name}, {_named(prior, n)}, ε = {epsilon}", 1.0 - loss_ratio(build(name, prior, n, epsilon)), error=1e-9)


def _noise_case(mechanism: Mechanism, margin: Callable[[float], float], name: str) -> Cases:
    """The loss of a Laplace mechanism against ε. Rational arithmetic decides whether they are equal."""
    if not isinstance(mechanism, LaplaceZhang | LaplaceDimension | LaplaceHistogram):
        raise TypeError(name)
    spare = 1 - mechanism._affected / mechanism._scale / mechanism.epsilon
    return case(
        f"{name}, k = {mechanism.k}, ε = {float(mechanism.epsilon):g}", margin(loss_ratio(mechanism)), exact=lambda: ball(Fraction(spare))
    )


def _laplace_losses(names: tuple[str, ...], margin: Callable[[float], float]) -> Iterator[Cases]:
    for name, k, epsilon in product(names, (2, 3, 4, 6), ("0.01", "0.3", "1", "20")):
        yield _noise_case(build(name, Dirichlet.uniform(k), 10, epsilon), margin, name)


_NOISE_REGION = {"k": "2, 3, 4, 6", "ε": "0.01, 0.3, 1, 20", "noise": "floored; the loss does not depend on n, data or prior"}


def _laplace() -> Claim:
    names = ("LSZhang", "LSDim", "LSHist")
    return Claim(
        "privacy-laplace",
        "000, section 4.1; 001, Theorem 3.1",
        "The Laplace mechanisms LSZhang, LSDim and LSHist are ε-differentially private.",
        {f"loss / ε of {name}, k = {k}": loss_ratio(build(name, Dirichlet.uniform(k), 10)) for name in names for k in (2, 3)},
        search(_NOISE_REGION | {"mechanisms": ", ".join(names)}, _laplace_losses(names, lambda ratio: 1.0 - ratio)),
        figure="000-figure-7",
    )


def _enough() -> Claim:
    return Claim(
        "enough-noise",
        "000, section 4.1.2; 003, experimental results",
        "Noise for a sensitivity of 1 in 2 dimensions and 2 in higher ones is enough, and it is used up: LSHist loses ε.",
        {f"loss / ε of LSHist, k = {k}": loss_ratio(build("LSHist", Dirichlet.uniform(k), 10)) for k in (2, 3, 4, 6)},
        search(_NOISE_REGION, _laplace_losses(("LSHist",), lambda ratio: -abs(ratio - 1.0))),
        figure="000-figure-7",
    )


def _dimension() -> Claim:
    dimensions = (2, 3, 4, 6)
    numbers: dict[str, float] = {}
    found = []
    for k in dimensions:
        points, pairs = simplex_points(3, k), neighbouring_pairs(simplex_points(3, k), Relation.REPLACE_ONE)
        change = float(np.abs(points[pairs[:, 0]] - points[pairs[:, 1]]).sum(axis=-1).max())
        loss = loss_ratio(build("LSDim", Dirichlet.uniform(k), 10))
        numbers |= {f"ℓ1 sensitivity, k = {k}": change, f"loss / ε of noise k/ε, k = {k}": loss}
        found += [case(f"k = {k}, the ℓ1 sensitivity against k", -abs(change / k - 1.0), exact=lambda: ball(0))]
        found += [case(f"k = {k}, the loss of noise k/ε against ε", -abs(loss - 1.0))]
    return Claim(
        "dimension-sensitivity",
        "000, section 4.1.1; 003, motivation 1",
        "The ℓ1 sensitivity of the posterior's parameters, and so the noise that ε needs, grows in proportion to the dimension.",
        numbers,
        search({"k": over(dimensions), "n": "3 and 10"}, found),
        figure="000-dimension",
    )


def _with_constant(prior: Prior, n: int, epsilon: str = "1") -> float:
    """Loss / ε of EHD with sqrt(1 - π/4) for its global sensitivity."""
    factor = exact(repr(global_sensitivity(prior, n) / PAPER_SENSITIVITY), "factor")
    return loss_ratio(HellingerGlobal(prior, n, epsilon, factor=factor))


def _constant_cases(worlds: Iterable[World]) -> Iterator[Cases]:
    for prior, n, epsilon in worlds:
        yield case(f"{_named(prior, n)}, ε = {epsilon}", 1.0 - _with_constant(prior, n, epsilon), error=1e-9)


def _global() -> Claim:
    shown: tuple[tuple[Prior, int], ...] = ((Beta(1, 1), 100), (Beta("0.5", 2), 60), (_TINY, 100), (Dirichlet.uniform(3), 12))
    numbers = {f"loss / ε with √(1-π/4), {_named(prior, n)}": _with_constant(prior, n) for prior, n in shown}
    numbers |= {f"with the prior's own GS, {_named(prior, n)}": loss_ratio(build("EHD", prior, n)) for prior, n in shown}
    large = [world for world in _WORLDS if min(world[0].exact) >= 1]
    return Claim(
        "privacy-ehd",
        "001, Algorithm 4 and Theorem 3.1",
        "EHD with GS = sqrt(1 - π/4) is ε-differentially private.",
        numbers,
        search(_REGION, _constant_cases(_WORLDS)),
        (
            Condition(
                "no prior parameter is below 1",
                search(_REGION | {"prior": "those of them without a parameter below 1"}, _constant_cases(large)),
            ),
            Condition("GS is that of the prior", search(_REGION, _within("EHD"))),
        ),
        "000-figure-7",
    )


def _smooth() -> Claim:
    shown: tuple[tuple[Prior, int], ...] = ((Beta(1, 1), 100), (Beta("0.5", 2), 60), (_TINY, 100), (Dirichlet.uniform(3), 12))
    found = search(_REGION, _within("EHDS"))
    return Claim(
        "privacy-ehds",
        "000, Lemma 5.1; 001, Theorem 3.1",
        "EHDS (expMech^smoo with γ = 1) is ε-differentially private.",
        {
            "largest loss / ε found": 1.0 - found.worst,
            "loss / ε, Dir(300, 300, 300), n = 80, ε = 0.05": loss_ratio(build("EHDS", Dirichlet([300] * 3), 80, "0.05")),
            **{f"loss / ε, {_named(prior, n)}": loss_ratio(build("EHDS", prior, n)) for prior, n in shown},
        },
        found,
        figure="000-figure-7",
    )


_LOCAL_WORLDS: tuple[World, ...] = (
    (Beta(1, 1), 100, "1"),
    (Beta(1, 1), 400, "1"),
    (Beta(1, 1), 400, "0.001"),
    (Beta(1000, 1000), 30, "0.001"),
    (_TINY, 100, "1"),
    (_TINY, 400, "1"),
    (Dirichlet([1, 1, 1]), 60, "0.05"),
    (Dirichlet([10, 10, 10]), 60, "0.1"),
    (Dirichlet([30, 30, 30]), 80, "0.05"),
)


def _local() -> Claim:
    """The statement says that some loss is above ε, so the search looks for the largest."""
    ratios = {}
    for prior, n, epsilon in _LOCAL_WORLDS:
        at = _named(prior, n) if epsilon == "1" else f"{_named(prior, n)}, ε = {epsilon}"
        ratios[at] = loss_ratio(build("EHDL", prior, n, epsilon))
    return Claim(
        "privacy-ehdl",
        "000, section 5.2.2; 002 and 004, section 1.2.2",
        "EHDL (local sensitivity) is not ε-differentially private: there are priors, data and ε with a loss above ε.",
        {f"loss / ε, {at}": ratio for at, ratio in ratios.items()},
        search(
            {"prior": "small, unit and large, 2 and 3 categories", "n": "30 to 400", "ε": "0.001 to 1", "data": "all neighbours"},
            (case(at, ratio - 1.0, error=1e-9) for at, ratio in ratios.items()),
            ties="broken",
            wanted="some",
        ),
        figure="000-figure-7",
    )


def _local_proof() -> Claim:
    """The proof's last display at r = BI(x): (u(x,r)+u(y,r))/Δ(x) - (...)/Δ(y) with u(x,r) = 0 and u(y,r) = -Δ(y) is 1 - Δ(y)/Δ(x)."""
    found = []
    for prior in (Beta(1, 1), _TINY, Beta(30, 30)):
        for n in range(2, 101):
            local = local_sensitivities(prior, datasets(n))
            left = max(float((1.0 - local[1:] / local[:-1]).max()), float((1.0 - local[:-1] / local[1:]).max()))
            found.append((prior, n, left))
    return Claim(
        "ehdl-proof",
        "002, section 1.2.2",
        "For EHDL and neighbours with Δ(y) < Δ(x), (u(x,r)+u(y,r))/Δ(x) - (u(x,r)+u(y,r))/Δ(y) > 2 at r = BI(x), hence a loss above ε.",
        {"largest left side, Beta(1,1), n = 2..100": max(left for prior, _, left in found if prior == Beta(1, 1)), "needed": 2.0},
        search(
            {"prior": "Beta(1, 1), Beta(0.0001, 0.0001), Beta(30, 30)", "n": "2 to 100", "data": "all neighbours, both directions"},
            (case(_named(prior, n), left - 2.0) for prior, n, left in found),
            wanted="some",
        ),
    )


_CASE_WORLDS: tuple[tuple[Prior, int], ...] = (
    *product((_TINY, Beta("0.000001", 1), Beta(1, 1), Beta(30, 30), Beta("0.1", 40)), (1, 2, 3, 4, 9, 30)),
    *product((Dirichlet.uniform(3), Dirichlet([3, 2, 1]), Dirichlet(["0.001", "1", "40"]), Dirichlet(["0.5", "1", "2", "4"])), (1, 2, 3)),
)


def _case_pairs(prior: Prior, n: int) -> Iterator[tuple[str, bool]]:
    """Ordered neighbours with Δ(y) < Δ(x), and whether BI(x) is the farthest candidate from BI(y), at distance Δ(y)."""
    points, spare = simplex_points(n, prior.k), 1.0 - 1e-11
    local = local_sensitivities(prior, points)
    far = np.asarray(renyi((prior.concentration + points)[:, None, :], (prior.concentration + points)[None, :, :], "0.5"))
    pairs = neighbouring_pairs(points, Relation.REPLACE_ONE)
    for y, x in np.concatenate([pairs, pairs[:, ::-1]]):
        if local[y] < local[x] * spare:
            between = float(hellinger(prior.concentration + points[x], prior.concentration + points[y]))
            met = far[y, x] >= far[y].max() * spare and between >= local[y] * spare
            yield f"{_named(prior, n)}, x = {points[x].tolist()}, y = {points[y].tolist()}", bool(met)


def _local_case() -> Claim:
    """With two categories there is no such pair: H grows away from y, so that x would be an end, whose only neighbour is y: Δ(x) = Δ(y)."""
    found: dict[bool, list[tuple[str, bool]]] = {False: [], True: []}
    for prior, n in _CASE_WORLDS:
        found[prior.k > 2] += _case_pairs(prior, n)
    both = [*found[False], *found[True]]
    numbers: dict[str, float] = {}
    for words, own in (("two categories", found[False]), ("three or four", found[True])):
        numbers |= {f"pairs with Δ(y) < Δ(x), {words}": len(own), f"of them in the case considered, {words}": sum(met for _, met in own)}
    return Claim(
        "ehdl-case",
        "002 and 004, section 1.2.2, 'without loss of generality'",
        "Of neighbours with Δ(y) < Δ(x) it is no loss to consider those where BI(x) is the candidate farthest from BI(y), Δ(y) away.",
        numbers,
        search(
            {
                "prior": "5 of 2 categories, 4 of 3 and 4 (parameters 0.000001 to 40)",
                "n": "1 to 30 (1, 2, 3)",
                "pairs": "all such neighbours",
            },
            (case(at, 1.0 if met else -1.0) for at, met in both),
        ),
    )


DeltaWorld = tuple[Prior, int, str, str]
_DELTA_SHOWN: tuple[DeltaWorld, ...] = (
    (Beta(1, 1), 100, "1", "1e-8"),
    (Beta(1, 1), 400, "1", "1e-8"),
    (_TINY, 100, "1", "1e-8"),
    (Dirichlet.uniform(3), 20, "1", "1e-8"),
    (Beta("396", "0.00001"), 8, "20", "1e-3"),
)
_DELTA_LEVELS = ("0.01", "1", "10", "20")
_DELTA_WORLDS: tuple[DeltaWorld, ...] = (
    *_DELTA_SHOWN,
    *product((_TINY, Beta(1, 1), Beta(30, 30), Beta("396", "0.00001")), (1, 2, 6, 8, 30), _DELTA_LEVELS, ("0.5", "1e-3", "1e-8")),
    *product((Dirichlet.uniform(3), Dirichlet([30, 30, 30])), (2, 8), _DELTA_LEVELS, ("0.5", "1e-8")),
)
_UNIT_DELTA: tuple[DeltaWorld, ...] = (
    *product((Beta(1, 1),), (1, 2, 4, 10, 60, 200), _DELTA_LEVELS, ("0.5", "1e-3", "1e-8")),
    *product((Dirichlet.uniform(3),), (1, 2, 4, 10, 20), _DELTA_LEVELS, ("0.5", "1e-8")),
)
_DELTA_REGION = {"prior": "4 of 2 categories, 2 of 3", "n": "1 to 30 (5 values)", "ε": over(_DELTA_LEVELS), "δ": "0.5, 1e-3, 1e-8"}


def _delta_name(world: DeltaWorld) -> str:
    prior, n, epsilon, delta = world
    return f"{_named(prior, n)}, ε = {epsilon}, δ = {delta}"


def _delta() -> Claim:
    numbers: dict[str, float] = {}
    found = []
    for world in _DELTA_WORLDS:
        prior, n, epsilon, delta = world
        mechanism = HellingerSmoothDelta(prior, n, epsilon, delta)
        ratio = delta_at(mechanism, epsilon).bound / float(delta)
        found.append(case(_delta_name(world), 1.0 - ratio))
        if world in _DELTA_SHOWN:
            numbers[f"loss / ε, {_delta_name(world)}"] = loss_ratio(mechanism)
            numbers[f"δ(ε) / δ, {_delta_name(world)}"] = ratio
    tried = search(_DELTA_REGION, found)
    return Claim(
        "privacy-delta",
        "003, the mechanism; 004, section 3",
        "The β-smooth exponential mechanism of the poster is (ε, δ)-differentially private.",
        numbers | {"largest δ(ε) / δ found": 1.0 - tried.worst},
        tried,
        figure="000-figure-7",
    )


def _delta_losses(worlds: Iterable[DeltaWorld]) -> Iterator[Cases]:
    for world in worlds:
        yield case(_delta_name(world), 1.0 - loss_ratio(HellingerSmoothDelta(*world)), error=1e-9)


def _delta_pure() -> Claim:
    everywhere = search(_DELTA_REGION, _delta_losses(_DELTA_WORLDS))
    unit = search(
        {"prior": "Beta(1, 1), Dir(1, 1, 1)", "n": "1 to 200 (1 to 20)", "ε": over(_DELTA_LEVELS), "δ": "0.5, 1e-3, 1e-8"},
        _delta_losses(_UNIT_DELTA),
    )
    numbers = {f"loss / ε, {_delta_name(w)}": loss_ratio(HellingerSmoothDelta(*w)) for w in _DELTA_SHOWN}
    return Claim(
        "delta-within-epsilon",
        "000, section 7.3",
        "The concrete loss of the (ε, δ) mechanism is below ε.",
        numbers | {"configurations with a larger loss": everywhere.broken, "largest loss / ε, unit priors": 1.0 - unit.worst},
        everywhere,
        (Condition("the prior is a unit prior; with a lopsided one the loss exceeds ε", unit),),
        "000-figure-7",
    )


_BELOW_SIZES = (*range(1, 31), 50, 100, 300, 1000)


def _below() -> Claim:
    names = ("EHD", "EHDS", "EHDS-delta")
    losses = {(name, n): balanced_loss(build(name, Beta(1, 1), n)) for name in names for n in _BELOW_SIZES}
    found = search(
        {
            "mechanisms": ", ".join(names),
            "prior": "Beta(1, 1)",
            "ε": "1",
            "n": over(_BELOW_SIZES),
            "data": "balanced, against both neighbours",
        },
        (case(f"{name}, n = {n}", 1.0 - value, error=1e-9) for (name, n), value in losses.items()),
        ties="broken",
    )
    return Claim(
        "loss-below-epsilon",
        "000, Figure 7 and section 7.3; section 8, direction 2",
        "For balanced data under Beta(1,1) the loss of the exponential mechanisms is smaller than the bound ε = 1 at every size.",
        {f"{name}, n = {n}": losses[name, n] for name in names for n in (2, 3, 10, 50, 100, 300)},
        found,
        figure="000-figure-7",
    )


def _less_noise() -> Claim:
    numbers: dict[str, float] = {}
    found = []
    for n, epsilon in product((2, 5, 50, 100, 300), ("0.1", "1", "5")):
        mechanism = Calibrated(HellingerSmooth(Beta(1, 1), n, epsilon))
        before, after = exact_mean("EHDS", n, 2, epsilon), exact_mean("Calibrated", n, 2, epsilon)
        if epsilon == "1" and n >= 50:
            numbers |= {f"factor, n = {n}": float(mechanism.factor), f"its loss, n = {n}": mechanism._loss.value}
            numbers |= {f"mean error before, n = {n}": before, f"after, n = {n}": after}
        kept = mechanism._loss.bound <= float(epsilon)
        found.append(case(f"n = {n}, ε = {epsilon}", before / after - 1.0 if kept and mechanism.factor > 1 else -1.0))
    return Claim(
        "less-noise",
        "000, section 8, direction 2",
        "The bound on the loss is not tight, so accuracy can be improved by adding less noise at the same ε.",
        numbers,
        search({"prior": "Beta(1, 1)", "n": "2, 5, 50, 100, 300", "ε": "0.1, 1, 5", "data": "balanced"}, found, ties="broken"),
        figure="000-figure-5-extended",
    )


def _conclusion_3() -> Claim:
    numbers = {f"loss / ε, {name}, n = {n}": loss_ratio(build(name, Beta(1, 1), n)) for name in ("EHD", "EHDS") for n in (10, 100, 400)}
    large: World = (Beta(10**8, 10**8), 300, "0.0001")
    numbers["loss / ε, EHD, Beta(1e8, 1e8), n = 300, ε = 0.0001"] = loss_ratio(build("EHD", *large))
    region = _REGION | {"mechanisms": "EHD, EHDS"}
    found = together(*(search(region, _within(name), ties="broken") for name in ("EHD", "EHDS")))
    return Claim(
        "conclusion-3",
        "000, section 8, direction 2",
        "The proved bound on the loss is not tight for EHDS and EHD: the worst loss over all data is smaller than ε.",
        numbers,
        found,
        figure="000-figure-7",
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "privacy-laplace": _laplace,
    "enough-noise": _enough,
    "dimension-sensitivity": _dimension,
    "privacy-ehd": _global,
    "privacy-ehds": _smooth,
    "privacy-ehdl": _local,
    "ehdl-case": _local_case,
    "ehdl-proof": _local_proof,
    "privacy-delta": _delta,
    "delta-within-epsilon": _delta_pure,
    "loss-below-epsilon": _below,
    "less-noise": _less_noise,
    "conclusion-3": _conclusion_3,
}
