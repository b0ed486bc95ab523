"""Releases in PyMC models, sampled by a real NUTS, against the exact mixture of `noise_aware` and against quadrature.

`make test-slow` installs PyMC; in a run that does not ask for slow tests these are skipped if it is missing. Graphs are run by PyTensor's
Python linker, so that nothing is compiled. Seeds are fixed: a mean or a standard deviation is further from the truth than five of its
Monte Carlo errors with a probability of about 1e-6, and in no other run than in the one that was looked at.
"""

import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import discreet as dc
from tests.docs.test_blocks import walk
from tests.inference.pooling import CENTRE_PRIOR, EPSILON, SPREAD_PRIOR, pooled, table, world
from tests.places import DOCS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # PyMC's and ArviZ's own
]
ERRORS = 5.0
"""How many Monte Carlo errors an estimate may be from the truth."""


@pytest.fixture(scope="module")
def pm(request: pytest.FixtureRequest) -> Iterator[Any]:
    """PyMC, which compiles nothing."""
    if find_spec("pymc") is None and "slow" not in request.config.option.markexpr:
        pytest.skip("PyMC is not installed: make test-slow installs it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pymc
        import pytensor

        with pytensor.config.change_flags(linker="py", cxx="", blas__ldflags=""):
            yield pymc


def likelihood(*arguments: Any, **options: Any) -> Any:
    import discreet.pymc

    return discreet.pymc.likelihood(*arguments, **options)


def sampled(pm: Any, draws: int, seed: int) -> Any:
    options = {"chains": 2, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
    return pm.sample(draws, tune=200, random_seed=seed, **options).posterior


def errors(draws: Any, mean: ArrayLike, std: ArrayLike) -> float:
    """By how many Monte Carlo errors the worst mean or standard deviation is off."""
    over = ("chain", "draw")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        size = [import_module("arviz").ess(draws, method=method)[draws.name].values for method in ("mean", "sd")]
    found, spread = draws.mean(over).values, draws.std(over).values
    # The variance of an estimated standard deviation depends on the fourth moment.
    fourth = ((draws - found) ** 4).mean(over).values / spread**4
    error = spread / np.sqrt(size[0]), spread * np.sqrt((fourth - 1.0) / (4.0 * size[1]))
    return float(max(np.max(np.abs(found - mean) / error[0]), np.max(np.abs(spread - std) / error[1])))


# --- NUTS -------------------------------------------------------------------------------------------------------------


def test_nuts_agrees_with_the_exact_mixture_of_a_public_n(pm: Any) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1, 2]), 40, 0.3)
    release = mechanism._recorded(mechanism.guarantee, (12, 31, -3))
    with pm.Model():
        likelihood("release", release, pm.Dirichlet("theta", np.array([1.0, 1.0, 2.0])))
        theta = sampled(pm, 500, 1)["theta"]
    exact = release.noise_aware()
    assert errors(theta, exact.mean(), exact.std()) < ERRORS
    other = dc.LatticeGeometric(dc.Dirichlet([1, 1, 6]), 40, 0.3)  # another prior is noticed
    shifted = other._recorded(other.guarantee, (12, 31, -3)).noise_aware()
    assert errors(theta, shifted.mean(), shifted.std()) > ERRORS
    wrong = dc.LatticeGeometric(dc.Dirichlet([1, 1, 2]), 40, 0.2)  # and so is other noise
    noisier = wrong._recorded(wrong.guarantee, (12, 31, -3)).noise_aware()
    assert errors(theta, noisier.mean(), noisier.std()) > ERRORS


def test_nuts_agrees_with_the_exact_mixture_of_a_private_n(pm: Any) -> None:
    """A flat prior on the expected number of records is a flat prior on the number itself."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1]), epsilon=0.5)
    release = mechanism._recorded(mechanism.guarantee, (9, 24))
    with pm.Model():
        size = pm.HalfFlat("size", initval=30.0)
        likelihood("release", release, pm.Dirichlet("theta", np.ones(2)), size=size)
        found = sampled(pm, 500, 2)
    exact = release.noise_aware()
    assert errors(found["theta"], exact.mean(), exact.std()) < ERRORS
    # Given n and a flat prior the expected number is Gamma(n + 1), whose mean and variance are both n + 1.
    mean, variance = exact.size.mean() + 1.0, exact.size.std() ** 2 + exact.size.mean() + 1.0
    assert errors(found["size"], mean, np.sqrt(variance)) < ERRORS
    assert errors(found["size"], mean - 2.0, np.sqrt(variance)) > ERRORS


def test_nuts_agrees_with_quadrature_over_a_hierarchy(pm: Any) -> None:
    _, raw = world(1)
    mechanism = table()
    release = mechanism._recorded(mechanism.guarantee, raw)
    with pm.Model():
        centre, spread = pm.Normal("centre", 0.0, CENTRE_PRIOR), pm.HalfNormal("spread", SPREAD_PRIOR)
        yes = pm.Deterministic("yes", pm.math.invlogit(centre + spread * pm.Normal("each", shape=len(raw))))
        likelihood("release", release, pm.math.stack([yes, 1.0 - yes], axis=-1))
        draws = sampled(pm, 250, 3)["yes"]
    exact = pooled(raw[:, 0])
    assert errors(draws, exact.mean(), exact.std()) < ERRORS
    noisier = pooled(raw[:, 0], epsilon=0.5 * EPSILON)
    assert errors(draws, noisier.mean(), noisier.std()) > ERRORS


# --- values, gradients and draws --------------------------------------------------------------------------------------


def releases() -> dict[str, tuple[Any, dict[str, Any]]]:
    """A release of every kind, and what its likelihood is given beside the probabilities."""
    beta, three = dc.Dirichlet([1, 1]), dc.Dirichlet([1, 1, 1])
    by = {"g": ["a", "b"]}
    kinds: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "laplace": (dc.LaplaceHistogram(three, 9, 1), (2, 5), {}),
        "exponential": (dc.HellingerGlobal(beta, 9, 1), (2, 7), {}),
        "private": (dc.LatticeGeometric(three, epsilon=1), (2, 9, -1), {"size": 8.0}),
        "sizes": (dc.LatticeGeometric(beta, [4, 9], 1, by=by), np.array([[2, 2], [11, -2]]), {}),
        "total": (dc.LatticeGeometric(beta, 9, 1, by=by, impossible=[("b", 0)]), np.array([[2, 2], [0, 5]]), {"shares": [0.4, 0.6]}),
        "nothing": (dc.LatticeGeometric(beta, epsilon=1, by=by), np.array([[2, 2], [11, -2]]), {"size": [4.0, 5.0]}),
    }
    return {kind: (mechanism._recorded(mechanism.guarantee, raw), given) for kind, (mechanism, raw, given) in kinds.items()}


@pytest.mark.parametrize("kind", releases())
def test_values_gradients_and_draws_of_every_kind(pm: Any, kind: str) -> None:
    release, given = releases()[kind]
    shape = release.cells.shape if release.by.columns else release.mechanism.prior.k
    with pm.Model() as model:
        free = pm.Normal("free", shape=shape)
        theta = pm.math.exp(free) / pm.math.exp(free).sum(axis=-1, keepdims=True)
        observed = likelihood("release", release, theta, **given)
        drawn = pm.draw(observed, random_seed=1)
    raw = np.asarray(release.raw)
    assert drawn.shape == raw.shape
    assert release.mechanism._is_outcome(tuple(drawn.tolist()) if raw.ndim == 1 else drawn)
    value, gradient = model.compile_logp(vars=[observed], jacobian=False), model.compile_dlogp()
    whole = model.compile_logp()
    point = np.linspace(-0.5, 0.7, int(np.prod(shape))).reshape(shape)
    found = gradient({"free": point})
    step = 1e-5 * np.eye(point.size).reshape(point.size, *point.shape)
    differences = [(whole({"free": point + one}) - whole({"free": point - one})) / 2e-5 for one in step]
    assert found == pytest.approx(differences, abs=1e-6)
    assert float(value({"free": point})) == pytest.approx(expected_value(release, np.exp(point), given), abs=1e-10)


def expected_value(release: Any, weight: NDArray[np.float64], given: dict[str, Any]) -> float:
    """The log likelihood at the probabilities in proportion to these weights, without PyMC."""
    from discreet.inference.likelihoods import likelihood_of

    raw, theta = np.asarray(release.raw), weight
    if release.by.columns:
        theta = np.where(release.cells.possible, weight, 0.0)
    theta = theta / theta.sum(axis=-1, keepdims=True)
    factor = np.array(given.get("size", given.get("shares", 1.0)))
    theta = theta * (factor if factor.ndim == 0 else factor[:, None])
    rows = (1, -1) if "shares" in given or raw.ndim == 1 else raw.shape
    with np.errstate(divide="ignore"):
        return float(likelihood_of(release.mechanism)(raw.reshape(rows), np.log(theta.reshape(rows)))[0].sum())


def test_predictive_draws_and_pointwise_likelihoods_have_a_row_for_each_group(pm: Any) -> None:
    release, _ = releases()["sizes"]
    with pm.Model(coords={"group": ["a", "b"], "category": [0, 1]}):
        likelihood("release", release, pm.Dirichlet("theta", np.ones((2, 2))), dims=("group", "category"))
        found = pm.sample(20, tune=20, chains=1, cores=1, progressbar=False, random_seed=1, compute_convergence_checks=False)
        predicted = pm.sample_posterior_predictive(found, progressbar=False, random_seed=1).posterior_predictive["release"]
        pointwise = pm.compute_log_likelihood(found, progressbar=False).log_likelihood["release"]
    assert predicted.dims == ("chain", "draw", "group", "category")
    assert (predicted.sum("category") == np.array([4, 9])).all()
    assert pointwise.shape == (1, 20, 2)


def test_what_is_missing_or_not_for_this_release_is_said(pm: Any) -> None:
    found = releases()
    with pm.Model():
        theta = np.full(3, 1.0 / 3.0)
        with pytest.raises(dc.InvalidInputError, match="give size="):
            likelihood("release", found["private"][0], theta)
        with pytest.raises(dc.InvalidInputError, match=r"^size is for"):
            likelihood("release", found["laplace"][0], theta, size=9)
        with pytest.raises(dc.InvalidInputError, match="give shares="):
            likelihood("release", found["total"][0], np.full((2, 2), 0.5))
        with pytest.raises(dc.InvalidInputError, match="shares is for a table"):
            likelihood("release", found["sizes"][0], np.full((2, 2), 0.5), shares=[0.5, 0.5])
        with pytest.raises(dc.InvalidInputError, match=r"theta .* \(3,\) .* \(2,\)"):
            likelihood("release", found["laplace"][0], np.full(2, 0.5))
        with pytest.raises(dc.InvalidInputError, match="takes a Release"):
            likelihood("release", found["laplace"][0].raw, theta)


def test_second_derivatives_are_refused(pm: Any) -> None:
    release, _ = releases()["laplace"]
    with pm.Model() as model:
        likelihood("release", release, pm.Dirichlet("theta", np.ones(3)))
        with pytest.raises(NotImplementedError, match="first derivatives"):
            model.d2logp()


def test_the_page_runs(pm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walk(DOCS / "howto" / "pymc.md", tmp_path, monkeypatch, leave_out=())
