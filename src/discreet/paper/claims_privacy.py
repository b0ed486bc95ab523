"""Claims about privacy: what each mechanism really loses, computed over all neighbouring datasets."""

from collections.abc import Callable, Mapping

import numpy as np

from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import Space, simplex_points
from discreet.mechanisms import Calibrated, HellingerGlobal, HellingerSmooth, HellingerSmoothDelta
from discreet.optimum import neighbouring_pairs
from discreet.paper.claim import Claim, verdict
from discreet.paper.contenders import build, exact_mean
from discreet.paper.figures_privacy import balanced_loss, dilation, laplace_dilation, sliding
from discreet.paper.figures_sensitivity import datasets
from discreet.paper.theory import PAPER_SENSITIVITY
from discreet.privacy import delta_at, privacy_loss
from discreet.sensitivity import global_sensitivity, local_sensitivities
from discreet.validation import exact

__all__ = ["CLAIMS"]

Prior = Beta | Dirichlet
_TINY = Beta("0.0001", "0.0001")
_WORLDS: tuple[tuple[Prior, int], ...] = ((Beta(1, 1), 100), (Beta("0.5", 2), 60), (_TINY, 100), (Dirichlet.uniform(3), 12))
_ROUNDING = 1e-9


def _named(prior: Prior, n: int) -> str:
    inside = ", ".join(f"{float(a):g}" for a in prior.exact)
    return f"{'Beta' if prior.k == 2 else 'Dir'}({inside}), n = {n}"


def _losses(name: str, epsilon: int = 1) -> dict[str, float]:
    return {_named(prior, n): privacy_loss(build(name, prior, n, epsilon)).value / epsilon for prior, n in _WORLDS}


def _laplace() -> Claim:
    found = {
        f"loss / ε of {name}, k = {prior.k}": privacy_loss(build(name, prior, n)).value
        for name in ("LSZhang", "LSDim", "LSHist")
        for prior, n in (_WORLDS[0], _WORLDS[3])
    }
    return Claim(
        "privacy-laplace",
        "000, section 4.1; 001, Theorem 3.1",
        "The Laplace mechanisms LSZhang, LSDim and LSHist are ε-differentially private.",
        found,
        verdict(max(found.values()) <= 1.0 + _ROUNDING),
        "000-figure-7",
    )


def _enough() -> Claim:
    found = {f"loss / ε of LSHist, k = {k}": privacy_loss(build("LSHist", Dirichlet.uniform(k), 10)).value for k in (2, 3, 4, 6)}
    return Claim(
        "enough-noise",
        "000, section 4.1.2; 003, experimental results",
        "Noise for a sensitivity of 1 in 2 dimensions and 2 in higher ones is enough, and no less would do.",
        found,
        verdict(all(abs(loss - 1.0) <= _ROUNDING for loss in found.values())),
        "000-figure-7",
    )


def _dimension() -> Claim:
    numbers: dict[str, float] = {}
    for k in (2, 3, 4, 6):
        points, pairs = simplex_points(3, k), neighbouring_pairs(Space(k, 3))
        numbers[f"ℓ1 sensitivity, k = {k}"] = float(np.abs(points[pairs[:, 0]] - points[pairs[:, 1]]).sum(axis=-1).max())
        numbers[f"loss / ε of noise k/ε, k = {k}"] = privacy_loss(build("LSDim", Dirichlet.uniform(k), 10)).value
    needed = all(abs(numbers[f"loss / ε of noise k/ε, k = {k}"] - 1.0) <= _ROUNDING for k in (2, 3, 4, 6))
    grows = numbers["ℓ1 sensitivity, k = 6"] == 3.0 * numbers["ℓ1 sensitivity, k = 2"]
    return Claim(
        "dimension-sensitivity",
        "000, section 4.1.1; 003, motivation 1",
        "The ℓ1 sensitivity of the posterior's parameters, and so the noise that ε needs, grows in proportion to the dimension.",
        numbers,
        verdict(needed and grows),
        "000-dimension",
    )


def _with_constant(prior: Prior, n: int) -> float:
    """Loss / ε of EHD with sqrt(1 - π/4) for its global sensitivity."""
    factor = exact(repr(global_sensitivity(prior, n) / PAPER_SENSITIVITY), "factor")
    return privacy_loss(HellingerGlobal(prior, n, 1, factor=factor)).value


def _global() -> Claim:
    own = _losses("EHD")
    constant = {_named(prior, n): _with_constant(prior, n) for prior, n in _WORLDS}
    low = [min(prior.exact) >= 1 for prior, _ in _WORLDS]
    private = [loss <= 1.0 + _ROUNDING for loss in constant.values()]
    always = all(private) and max(own.values()) <= 1.0 + _ROUNDING
    covered = all(safe for safe, high in zip(private, low, strict=True) if high) and max(own.values()) <= 1.0 + _ROUNDING
    numbers = {f"loss / ε with √(1-π/4), {name}": value for name, value in constant.items()}
    numbers |= {f"with the prior's own GS, {name}": value for name, value in own.items()}
    condition = "no prior parameter is below 1, or GS is that of the prior" if covered else None
    return Claim(
        "privacy-ehd",
        "001, Algorithm 4 and Theorem 3.1",
        "EHD with GS = sqrt(1 - π/4) is ε-differentially private.",
        numbers,
        verdict(always, condition),
        "000-figure-7",
    )


def _smooth() -> Claim:
    found = _losses("EHDS") | {f"{name}, ε = 5": value for name, value in _losses("EHDS", 5).items()}
    return Claim(
        "privacy-ehds",
        "000, Lemma 5.1; 001, Theorem 3.1",
        "EHDS (expMech^smoo with γ = 1) is ε-differentially private.",
        {f"loss / ε, {name}": value for name, value in found.items()},
        verdict(max(found.values()) <= 1.0 + _ROUNDING),
        "000-figure-7",
    )


def _local() -> Claim:
    worlds: tuple[tuple[Prior, int], ...] = ((Beta(1, 1), 100), (Beta(1, 1), 400), (_TINY, 100), (_TINY, 400))
    found = {_named(prior, n): privacy_loss(build("EHDL", prior, n)).value for prior, n in worlds}
    unit = [value for (prior, _), value in zip(worlds, found.values(), strict=True) if min(prior.exact) >= 1]
    tiny = [value for (prior, _), value in zip(worlds, found.values(), strict=True) if min(prior.exact) < 1]
    condition = "prior parameters are small; under Beta(1,1) the loss stays below ε" if max(tiny) > 1.0 >= max(unit) else None
    return Claim(
        "privacy-ehdl",
        "000, section 5.2.2; 002 and 004, section 1.2.2",
        "EHDL (local sensitivity) is not ε-differentially private: its loss exceeds ε.",
        {f"loss / ε, {name}": value for name, value in found.items()},
        verdict(min(found.values()) > 1.0, condition),
        "000-figure-7",
    )


def _local_proof() -> Claim:
    """The proof's last display at r = BI(x): (u(x,r)+u(y,r))/Δ(x) - (...)/Δ(y) with u(x,r) = 0 and u(y,r) = -Δ(y) is 1 - Δ(y)/Δ(x)."""
    largest = -np.inf
    for n in range(2, 101):
        local = local_sensitivities(Beta(1, 1), datasets(n))
        largest = max(largest, float((1.0 - local[1:] / local[:-1]).max()), float((1.0 - local[:-1] / local[1:]).max()))
    return Claim(
        "ehdl-proof",
        "002, section 1.2.2",
        "For EHDL and neighbours with Δ(y) < Δ(x), (u(x,r)+u(y,r))/Δ(x) - (u(x,r)+u(y,r))/Δ(y) > 2 at r = BI(x), hence a loss above ε.",
        {"largest left side, Beta(1,1), n = 2..100": largest, "needed": 2.0},
        verdict(largest > 2.0),
    )


_DELTA_WORLDS: tuple[tuple[Prior, int, str, str], ...] = (
    (Beta(1, 1), 100, "1", "1e-8"),
    (Beta(1, 1), 400, "1", "1e-8"),
    (_TINY, 100, "1", "1e-8"),
    (Dirichlet.uniform(3), 20, "1", "1e-8"),
    (Beta("396", "0.00001"), 8, "20", "1e-3"),
)


def _delta() -> Claim:
    numbers: dict[str, float] = {}
    worst = 0.0
    for prior, n, epsilon, delta in _DELTA_WORLDS:
        mechanism = HellingerSmoothDelta(prior, n, epsilon, delta)
        name = f"{_named(prior, n)}, ε = {epsilon}, δ = {delta}"
        numbers[f"loss / ε, {name}"] = privacy_loss(mechanism).value / float(epsilon)
        numbers[f"δ(ε) / δ, {name}"] = delta_at(mechanism, epsilon).bound / float(delta)
        worst = max(worst, numbers[f"δ(ε) / δ, {name}"])
    return Claim(
        "privacy-delta",
        "003, the mechanism; 004, section 3",
        "The β-smooth exponential mechanism of the poster is (ε, δ)-differentially private.",
        numbers,
        verdict(worst <= 1.0),
        "000-figure-7",
    )


def _delta_pure() -> Claim:
    found = {
        f"{_named(prior, n)}, ε = {e}, δ = {d}": privacy_loss(HellingerSmoothDelta(prior, n, e, d)).value / float(e)
        for prior, n, e, d in _DELTA_WORLDS
    }
    unit = [value for (prior, *_), value in zip(_DELTA_WORLDS, found.values(), strict=True) if min(prior.exact) >= 1]
    condition = "the prior is the unit prior (of those tried); with a lopsided one the loss exceeds ε" if max(unit) <= 1.0 else None
    return Claim(
        "delta-within-epsilon",
        "000, section 7.3",
        "The concrete loss of the (ε, δ) mechanism is below ε.",
        {f"loss / ε, {name}": value for name, value in found.items()},
        verdict(max(found.values()) <= 1.0, condition),
        "000-figure-7",
    )


def _below() -> Claim:
    sizes = (2, 10, 50, 100, 300)
    found: dict[str, float] = {}
    for name in ("EHD", "EHDS", "EHDS-delta"):
        for n in sizes:
            found[f"{name}, n = {n}"] = balanced_loss(build(name, Beta(1, 1), n))
    return Claim(
        "loss-below-epsilon",
        "000, Figure 7 and section 7.3; section 8, direction 2",
        "For balanced data under Beta(1,1) the loss of the exponential mechanisms is smaller than the bound ε = 1 at every size.",
        found,
        verdict(max(found.values()) < 1.0),
        "000-figure-7",
    )


def _less_noise() -> Claim:
    numbers: dict[str, float] = {}
    better = True
    for n in (50, 100, 300):
        mechanism = Calibrated(HellingerSmooth(Beta(1, 1), n, 1))
        before, after = exact_mean("EHDS", n), exact_mean("Calibrated", n)
        numbers |= {f"factor, n = {n}": float(mechanism.factor), f"its loss, n = {n}": mechanism.loss.value}
        numbers |= {f"mean error before, n = {n}": before, f"after, n = {n}": after}
        better &= mechanism.loss.bound <= 1.0 and float(mechanism.factor) > 1.0 and after < before
    return Claim(
        "less-noise",
        "000, section 8, direction 2",
        "The bound on the loss is not tight, so accuracy can be improved by adding less noise at the same ε.",
        numbers,
        verdict(better),
        "000-figure-5-extended",
    )


# --- the lemmas of 004 ------------------------------------------------------------------------------------------------

_LEMMA_WORLDS = [(n, epsilon, delta) for n in (20, 100) for epsilon in (0.5, 5.0) for delta in (1e-3, 1e-8)]


def _excess(sides: Mapping[str, np.ndarray[tuple[int], np.dtype[np.float64]]]) -> float:
    return float((sides["left"] / sides["right"]).max())


def _sliding() -> Claim:
    shifts = (-1.0, -0.5, 1.0)
    worst = max(_excess(sliding(n, e, d, x, float(s))) for n, e, d in _LEMMA_WORLDS for x in (0, n // 4, n // 2) for s in shifts)
    score, own = (sliding(100, 1.0, 1e-8, 50, 0.5)[side] for side in ("score", "left"))
    moved = np.abs(score[:, None] + 0.5 * local_sensitivities(Beta(1, 1), np.array([50, 50])) - score[None, :]).min(axis=1)
    literal = float((own[moved > 1e-9] > 0.5e-8).mean())
    reading = "the probability is read as a function of the score, attained or not, and |Δ| <= S(x)"
    return Claim(
        "sliding",
        "004, Lemma 3.2",
        "Sliding: P(u = s) <= e^{ε/2} P(u = s + Δ) + δ/2 for the smooth exponential mechanism.",
        {"largest left / right": worst, "share of attained scores s, Δ = S/2, where P(u = s) > δ/2 and P(u = s + Δ) = 0": literal},
        verdict(worst <= 1.0 + _ROUNDING and literal == 0.0, reading if worst <= 1.0 + _ROUNDING else None),
        "004-lemmas",
    )


def _dilation() -> Claim:
    worst = max(_excess(dilation(n, e, d, x, s)) for n, e, d in _LEMMA_WORLDS for x in (0, n // 4, n // 2) for s in (-1.0, 1.0))
    return Claim(
        "dilation",
        "004, Lemma 3.3",
        "Dilation: P(u = z) <= e^{ε/2} P(u = e^λ z) + δ/2 for |λ| <= β, the probability read as a function of the score.",
        {"largest left / right": worst},
        verdict(worst <= 1.0 + _ROUNDING),
        "004-lemmas",
    )


def _laplace_dilation() -> Claim:
    found = {f"ε = {e:g}, δ = {d:g}": laplace_dilation(e, d) / (d / 2.0) for e in (0.1, 1.0, 5.0) for d in (1e-3, 1e-8)}
    return Claim(
        "laplace-dilation",
        "004, Lemma 3.1; 002, section 4",
        "Dilation of Laplace noise: P(z in S) <= e^{ε/2} P(z in e^λ S) + δ/2 for |λ| <= ε/(2 ln(2/δ)) and every set S.",
        {f"largest excess / (δ/2), {name}": value for name, value in found.items()},
        verdict(max(found.values()) <= 1.0),
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "privacy-laplace": _laplace,
    "enough-noise": _enough,
    "dimension-sensitivity": _dimension,
    "privacy-ehd": _global,
    "privacy-ehds": _smooth,
    "privacy-ehdl": _local,
    "ehdl-proof": _local_proof,
    "privacy-delta": _delta,
    "delta-within-epsilon": _delta_pure,
    "loss-below-epsilon": _below,
    "less-noise": _less_noise,
    "sliding": _sliding,
    "dilation": _dilation,
    "laplace-dilation": _laplace_dilation,
}
