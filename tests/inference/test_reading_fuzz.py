"""Whatever `capabilities` allows can be read: finite numbers, or a DiscreetError in one line; never another error or a warning.

Worlds are drawn with a seed: variables and tables under all promises, with tiny and huge priors and ε, empty groups, data in one cell,
impossible cells and gaps in the prior of a private size.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.inference.capabilities import capabilities
from tests.sampling.support import PretendedSecret

PROMISES = ("variable", "private", "sizes", "total", "nothing")
QUICK, LONG = 5, 15
"""Worlds of each promise in the quick run and in the slow one."""


@dataclass(frozen=True, eq=False)
class World:
    """A mechanism, data for it, and what a reader believes about private sizes."""

    mechanism: dc.LatticeGeometric
    counts: NDArray[np.int64]
    size_prior: Any
    seed: int

    def posterior(self) -> Any:
        release = self.mechanism.release(self.counts, unit="person", source=PretendedSecret(self.seed))
        return release.noise_aware(size_prior=self.size_prior)


def _chosen(rng: np.random.Generator, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _size_prior(rng: np.random.Generator) -> Any:
    """None, a name, or log weights of which some, most or nearly all are -inf."""
    if rng.random() < 0.4:
        return _chosen(rng, None, "poisson:5", "poisson:1e6", "negative-binomial:100,0.5")
    weights = rng.normal(size=int(_chosen(rng, 1, 3, 30, 2000))) * _chosen(rng, 0.0, 1.0, 50.0)
    weights[rng.random(len(weights)) < _chosen(rng, 0.0, 0.3, 0.95)] = -np.inf
    weights[int(rng.integers(len(weights)))] = 0.0
    return weights


def _world(seed: int, promise: str, long: bool) -> World | None:
    """A world, or None where its mechanism has nothing to release."""
    rng = np.random.default_rng([seed, PROMISES.index(promise)])
    k, groups = int(_chosen(rng, 2, 2, 3, 5, *((8, 50) if long else ()))), int(_chosen(rng, 1, 2, 3, 6))
    epsilon = _chosen(rng, "0.3", 1, 5, 30, *(("0.001", "0.01", "0.05") if long else ()))
    a = [float(_chosen(rng, 1e-6, 0.01, 0.5, 1.0, 3.0, 100.0, 1e4, 1e8)) for _ in range(k)] if rng.random() < 0.6 else [1.0] * k
    n = int(_chosen(rng, 0, 1, 5, 80, *((1000, 30_000) if long else ())))
    shape = (k,) if promise in ("variable", "private") else (groups, k)
    shares = rng.dirichlet(np.full(int(np.prod(shape)), _chosen(rng, 0.01, 0.3, 5.0)))
    counts = np.asarray(rng.multinomial(n, shares)).reshape(shape)
    options: dict[str, Any] = {} if len(shape) == 1 else {"by": {"g": [f"g{i}" for i in range(groups)]}}
    impossible = rng.random(shape) < 0.3
    if options and rng.random() < 0.4 and not impossible.all():
        counts[tuple(np.argwhere(~impossible)[0])] += counts[impossible].sum()
        counts[impossible] = 0
        options["impossible"] = [(f"g{i}", f"c{j}") for i, j in np.argwhere(impossible)]
    if promise == "total" and rng.random() < 0.3:
        options["shares"] = [float(_chosen(rng, 0.01, 1.0, 100.0, 1e4)) for _ in range(groups)]
    public = {"variable": n, "total": n, "sizes": counts.sum(axis=-1).tolist()}.get(promise)
    try:
        mechanism = dc.LatticeGeometric(dc.Dirichlet(a, [f"c{j}" for j in range(k)]), public, epsilon, **options)
    except dc.InvalidInputError:  # no records, or no group with two possible categories
        return None
    return World(mechanism, counts, _size_prior(rng) if public is None else None, seed)


def _readings(posterior: Any, world: World) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What can be asked of a posterior, each with a name. The numbers of an answer are finite."""
    if world.counts.ndim == 1:
        yield from _of_variable(posterior, world.mechanism.n is None)
        return
    yield "summary", lambda: posterior.summary(0.9)[["mean", "sd", "low", "high"]].to_numpy()
    yield "simultaneous", lambda: posterior.simultaneous(0.9).low
    yield "sample", lambda: posterior.sample(3, 0)
    yield "sums", lambda: (posterior.counts.over().mean(), posterior.counts.over().std())
    possible = world.mechanism._table.cells.possible
    for position, group in enumerate(list(posterior)[:2]):
        yield f"size of {group}", partial(_interval_of_size, posterior, group)
        if possible[position].sum() > 1:
            yield f"{group}", partial(_interval_of_group, posterior, group)
    if len(possible) > 1 and (possible[:2].sum(axis=1) > 1).all() and possible[:2, 0].all():
        yield "contrast", lambda: posterior.contrast("g0", "g1", "c0").difference.interval(0.9)


def _interval_of_size(posterior: Any, group: str) -> Any:
    return posterior.size[group].interval(0.9)


def _interval_of_group(posterior: Any, group: str) -> Any:
    return posterior[group].interval(0.9)


def _of_variable(posterior: Any, private: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "summary", lambda: posterior.summary(0.9).iloc[:, 1:].to_numpy()
    yield "interval", lambda: posterior.interval(0.9)
    yield "simultaneous", lambda: posterior.simultaneous(0.9)
    yield "sample", lambda: posterior.sample(3, 0)
    yield "contrast", lambda: posterior.contrast("c0", "c1").difference.interval(0.9)
    if private:
        yield "size", lambda: posterior.size.interval(0.9)


def _faults(world: World) -> list[str]:
    """The readings that end in anything but finite numbers or a refusal in one line."""
    found = []

    def read(name: str, call: Callable[[], Any]) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", ".*most probable values")
                return call()
        except dc.DiscreetError as error:
            if len(str(error).splitlines()) != 1:
                found.append(f"{name}: {error}")
        except Exception as error:  # whatever it is, it is a fault
            found.append(f"{name}: {type(error).__name__}: {error}")
        return None

    posterior = read("posterior", world.posterior)
    for name, call in [] if posterior is None else _readings(posterior, world):
        answer = read(name, call)
        if answer is not None and not all(np.isfinite(part).all() for part in (answer if isinstance(answer, tuple) else (answer,))):
            found.append(f"{name}: not finite")
    return found


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("worlds", [QUICK, pytest.param(LONG, marks=pytest.mark.slow)])
def test_whatever_is_allowed_is_read(promise: str, worlds: int) -> None:
    read = 0
    for seed in range(worlds):
        world = _world(seed, promise, worlds > QUICK)
        if world is None or not capabilities(world.mechanism).noise_aware:
            continue
        read += 1
        assert not (faults := _faults(world)), (seed, faults)
    assert read > worlds // 2


# --- what once failed ---------------------------------------------------------------------------------------------------


def _law_of_size(raw: tuple[int, ...], epsilon: float, log_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The posterior of a private n of two categories under Dir(1, 1), by adding up all counts."""
    logs = []
    for n, weight in enumerate(log_weight):
        x = np.arange(n + 1)
        noise = -epsilon * (np.abs(raw[0] - x) + np.abs(raw[1] - (n - x)))
        logs.append(weight + logsumexp(noise) + gammaln(n + 1.0) - gammaln(n + 2.0))
    return np.asarray(np.exp(np.array(logs) - logsumexp(logs)))


@pytest.mark.parametrize("epsilon", [0.02, 0.5, 5.0])
@pytest.mark.parametrize("kept", [1, 2, 9, 60])
def test_gaps_in_a_size_prior(epsilon: float, kept: int) -> None:
    for seed in range(6):
        rng = np.random.default_rng([seed, kept])
        log_weight = np.full(120, -np.inf)
        log_weight[rng.choice(120, kept, replace=False)] = rng.normal(size=kept) * 5.0
        raw = tuple(int(z) for z in rng.integers(-30, 100, 2))
        mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=epsilon)
        posterior = dc.Release(mechanism, mechanism.guarantee, raw, (1, 1)).noise_aware(size_prior=log_weight)
        np.testing.assert_allclose(posterior.size.pmf(np.arange(120)), _law_of_size(raw, epsilon, log_weight), atol=1e-12)
        assert np.isfinite(posterior.interval(0.9)).all()


def test_narrow_noise_far_from_what_is_possible() -> None:
    """Log likelihoods rise by thousands from one count to the next: only tilts as steep as they are hold sums in floats."""
    noise, prior = dc.noise.DiscreteGaussian(sigma="0.05"), dc.Dirichlet.uniform(categories=["p", "q"])
    read: Any = dc.observed([[4, 0], [4, -1]], noise=noise, prior=prior, n=2, by={"g": ["a", "b"]}, impossible=[("a", "q")])
    table = read.noise_aware()
    # of sizes (2, 0), (1, 1), (0, 2) the squared distances from the noisy counts are 21, 19, 21, each over 2 * 0.05**2
    assert table.log_evidence == pytest.approx(-19 * 200 - np.log(6), abs=1e-9)
    assert [table.size[group].pmf(1) for group in table] == [1.0, 1.0]
    np.testing.assert_allclose(table["b"].mean(), [2 / 3, 1 / 3], rtol=1e-12)
    private = dc.observed([4, 4], noise=noise, prior=prior).noise_aware(size_prior=np.zeros(2))
    assert private.log_evidence == pytest.approx(-25 * 200, abs=1e-9)
    assert private.size.pmf(1) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_public_total_far_from_what_the_prior_expects(seed: int) -> None:
    """All records are in a category of weight 1 against 10,000, and the noise is wide: no float holds the transforms of some groups."""
    counts = np.zeros((6, 2), dtype=np.int64)
    counts[0, 0] = 100
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 10_000]), 100, "0.001", by={"g": [f"g{i}" for i in range(6)]})
    posterior: Any = mechanism.release(counts, unit="person", source=PretendedSecret(seed)).noise_aware()
    figures = posterior.figures(0.9)
    assert figures.error.max() <= 1e-7
    assert np.isfinite(posterior.simultaneous(0.9).low).all()
    for i, group in enumerate(posterior):
        np.testing.assert_allclose(np.stack([figures.low, figures.high], axis=-1)[i], posterior[group].interval(0.9), rtol=1e-8)
