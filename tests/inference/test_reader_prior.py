"""A reader's own prior. Oracle: the mechanism's law with the mechanism's prior, times the reader's, summed over all counts or tables."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, logsumexp

import discreet as dc
from discreet.mechanisms import Mechanism
from tests.cli.support import invoke
from tests.inference.coverage import make, release_of
from tests.inference.tables.worlds import TableWorld, random_world
from tests.record.table_support import refusal, released
from tests.support import lattice, lowered, mostly_slow

Floats = NDArray[np.float64]
GRID = np.array([0.02, 0.2, 0.5, 0.8, 0.98])
MECHANISMS = [
    *(dc.LatticeGeometric, dc.LaplaceHistogram, dc.LaplaceZhang, dc.LaplaceDimension),
    *(dc.HellingerGlobal, dc.HellingerLocal, dc.HellingerSmooth, dc.HellingerSmoothDelta),
]
WORLDS = [([1, 1], [0.004, 6], 9), ([0.3, 2, 1], [5, 0.7, 1], 6), ([2, 1, 1, 0.5], [0.002, 1, 3, 40], 4)]
"""The mechanism's prior, the reader's and n. Parameters below a hundredth take another way to the moments and intervals."""


def _listed(mechanism: Mechanism, raw: tuple[int, ...], a: Floats) -> tuple[Any, Floats]:
    """All counts with their posterior probabilities, the prior being Dir(a) and the likelihood the mechanism's own."""
    points = lattice(mechanism.space.total, mechanism.k)
    log_weight = (gammaln(a + points) - gammaln(points + 1.0)).sum(axis=-1) + [mechanism.log_prob(x, raw) for x in points]
    return points, np.exp(log_weight - logsumexp(log_weight))


def _beyond(ends: Floats, below: Floats) -> float:
    """How far the probabilities below the ends of a 90 % interval are off, at ends that floats can tell from 0 and 1."""
    return float(np.where((ends > 1e-9) & (ends < 1.0 - 1e-9), np.abs(below - [0.05, 0.95]), 0.0).max())


def _difference(posterior: dc.NoiseAware, a: Floats, points: Any, weight: Floats) -> float:
    """The largest one of means, variances, distribution functions at the interval and elsewhere."""
    shape, total = a + points, float(a.sum()) + points.sum(axis=1)
    mean = weight @ (shape / total[:, None])
    second = weight @ (shape * (shape + 1.0) / (total * (total + 1.0))[:, None])
    found = [np.abs(posterior.mean() - mean).max(), np.abs(posterior.var() - (second - mean**2)).max()]
    for i, (category, ends) in enumerate(zip(posterior.categories, posterior.interval(0.9), strict=True)):
        below = weight @ betainc(shape[:, i, None], (total - shape[:, i])[:, None], np.append(GRID, ends))
        found += [np.abs(posterior.marginal(category).cdf(GRID) - below[:-2]).max(), _beyond(ends, below[-2:])]
    return float(max(found))


@pytest.mark.parametrize("world", mostly_slow(WORLDS, 2), ids=str)
@pytest.mark.parametrize("cls", MECHANISMS)
def test_every_mechanism_keeps_its_own_law(cls: type[Mechanism], world: Any) -> None:
    own, reader, n = world
    mechanism = make(cls, dc.Dirichlet(own), n, 0.7)
    counts = np.random.default_rng(3).multinomial(n, np.full(len(own), 1.0 / len(own)))
    raw = tuple(mechanism._simulate_raw(counts, 1, np.random.default_rng(4))[0].tolist())
    listed = _listed(mechanism, raw, np.array(reader))
    release = release_of(mechanism, raw)
    assert _difference(release.noise_aware(prior=dc.Dirichlet(reader)), np.array(reader), *listed) < 1e-10
    assert _difference(release.noise_aware(prior=dc.Dirichlet(np.array(reader) * 1.1)), np.array(reader), *listed) > 1e-5
    if mechanism.noise is not None:  # by convolution
        with lowered(POSTERIOR_CANDIDATES=1):
            assert _difference(release.noise_aware(prior=dc.Dirichlet(reader)), np.array(reader), *listed) < 1e-10


def test_with_a_private_n_and_a_prior_on_it() -> None:
    reader, epsilon, raw = np.array([0.005, 3.0, 12.0]), 2.0, (2, -1, 4)
    release = release_of(dc.LatticeGeometric(dc.Dirichlet.uniform(3), epsilon=epsilon), raw)
    found = release.noise_aware(prior=dc.Dirichlet(reader), size_prior="poisson:5")
    points = np.array([x for x in np.ndindex(30, 30, 30) if sum(x) < 40])
    n = points.sum(axis=1)
    log_weight = n * np.log(5.0) - gammaln(reader.sum() + n) - epsilon * np.abs(points - np.array(raw)).sum(axis=1)
    log_weight = log_weight + (gammaln(reader + points) - gammaln(points + 1.0)).sum(axis=1)
    assert _difference(found, reader, points, np.exp(log_weight - logsumexp(log_weight))) < 1e-10


def test_a_beta_for_two_categories_and_the_labels_of_the_record() -> None:
    prior = dc.Dirichlet([1, 1], categories=["yes", "no"])
    release = dc.LatticeGeometric(prior, 20, 1).release([12, 8])
    same = [release.noise_aware(prior=given) for given in (dc.Beta(3, "1/3"), dc.Dirichlet(["3", "1/3"]), dc.Beta(3, "1/3", ["yes", "no"]))]
    assert [one.categories for one in same] == [("yes", "no")] * 3
    assert [one.mean().tolist() for one in same] == [same[0].mean().tolist()] * 3
    assert release.noise_aware(prior=prior).mean().tolist() == release.noise_aware().mean().tolist()
    assert release.reported == prior.plus(release.counts)


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        (dc.Dirichlet([1, 1]), "prior must have a concentration for each of the 3 categories of the release, got 2"),
        (dc.Dirichlet([1, 1, 1], ["never", "current", "former"]), "prior must have the categories of the release, in its order: 'never'"),
        ([1, 1, 1], "prior must be a Dirichlet, or a Beta for two categories, got list"),
        ("uniform", "prior must be a Dirichlet, or a Beta for two categories, got str"),
    ],
)
def test_other_priors_are_refused(prior: Any, said: str) -> None:
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["never", "former", "current"]), 20, 1).release([12, 5, 3])
    assert refusal(lambda: release.noise_aware(prior=prior)).startswith(said)


# --- tables -----------------------------------------------------------------------------------------------------------


def _read(world: TableWorld, prior: Any) -> Any:
    mechanism = world.mechanism
    release = dc.Release(mechanism, mechanism.guarantee, world.raw, mechanism.report(world.raw))
    return release.noise_aware(prior=prior, size_prior=world.log_size if world.promise == "nothing" else None)


EMPTY = {12}
"""Worlds in which the only group with another prior has no records, so that its prior says nothing about counts."""


@pytest.mark.parametrize("seed", mostly_slow(range(24), 9))
def test_tables_under_every_promise(seed: int) -> None:
    """One prior for all groups, a mapping of some of them, or one for each, in worlds that have priors of their own in some groups."""
    world = random_world(seed)
    own = np.round(10.0 ** np.random.default_rng(seed).uniform(-2.5, 1.2, world.a.shape), 5)
    shape = ("all", "some", "each")[seed // 3 % 3]
    given: Any = [dc.Dirichlet(row) for row in own]
    if shape == "all":
        own[:], given = own[0], given[0]
    elif shape == "some":
        own[1:], given = world.a[1:], {"g0": given[0]}
    read, posterior = replace(world, a=own), _read(world, given)
    assert read.difference(posterior) < 1e-10
    if seed not in EMPTY:
        assert read.difference(_read(world, None)) > 1e-4
    figures, weight = posterior.figures(0.9), read.probability
    for i in read.open_groups():
        for c in np.flatnonzero(read.possible[i]).tolist():
            one, rest = read.betas(i, c)
            assert abs(figures.mean[i, c] - weight @ (one / (one + rest))) < 1e-8
            ends = np.array([figures.low[i, c], figures.high[i, c]])
            assert _beyond(ends, weight @ betainc(one[:, None], rest[:, None], ends)) < 1e-6


def test_contrasts_and_draws_of_tables_are_the_readers_too() -> None:
    prior = dc.Dirichlet([30, 1, 200])
    posterior = released("total").noise_aware(prior=prior)
    draws = posterior.sample(4000, rng=1)
    assert np.abs(draws.mean(axis=0) - posterior.figures().mean).max() < 0.02
    contrast = posterior.contrast(("south", 2023), ("south", 2024), "current")
    mean = posterior["south", 2023].mean()[2] - posterior["south", 2024].mean()[2]
    assert contrast.difference.mean() == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ([dc.Dirichlet.uniform(3)] * 3, "prior must be one for all groups, or one for each of the 4 groups; got 3"),
        ({("north", 2023): dc.Dirichlet.uniform(3), ("north", "2023"): dc.Dirichlet.uniform(3)}, "prior must name each group once"),
        ({("west", 2023): dc.Dirichlet.uniform(3)}, "region must be one of 'north', 'south'; got 'west'"),
        ([None] * 4, "prior must give a Dirichlet or a Beta to each group, got None"),
        ({("north", 2023): dc.Dirichlet.uniform(4)}, "prior must have a concentration for each of the 3 categories"),
        (7, "prior must be a Dirichlet, or a Beta for two categories, got int"),
    ],
)
def test_other_priors_of_tables_are_refused(prior: Any, said: str) -> None:
    assert refusal(lambda: released().noise_aware(prior=prior)).startswith(said)


# --- the command line -------------------------------------------------------------------------------------------------


def test_commands_take_the_readers_prior(tmp_path: Path) -> None:
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["never", "former", "current"]), 60, 1).release([30, 18, 12])
    record, table = tmp_path / "record.json", tmp_path / "table.json"
    record.write_text(release.to_json())
    grouped = released("sizes")
    table.write_text(grouped.to_json())
    prior = dc.Dirichlet(["50", "1/2", "1"])
    shown = json.loads(invoke("show", record, "--prior", "50,1/2,1", "--json").stdout)
    assert [row["mean"] for row in shown["categories"]] == release.noise_aware(prior=prior).mean().tolist()
    assert shown["reader_prior"] == [50.0, 0.5, 1.0]
    assert "yours, in place of the record's: 50, 0.5, 1" in invoke("show", record, "--prior", "50,1/2,1").stdout
    cells = json.loads(invoke("show", table, "--prior", "50,1/2,1", "--json").stdout)["cells"]
    assert [cell["mean"] for cell in cells] == grouped.noise_aware(prior=prior).figures().mean.ravel().tolist()
    against = json.loads(invoke("contrast", record, "never", "current", "--prior", "jeffreys", "--json").stdout)
    jeffreys = release.noise_aware(prior=dc.Dirichlet.jeffreys(3)).contrast("never", "current")
    assert against["probability"] == jeffreys.probability
    assert "yours, in place of the record's: 0.5" in invoke("contrast", record, "never", "current", "--prior", "jeffreys").stdout
    groups = ("--reference", "south,2023", "--category", "never", "--prior", "50,1/2,1", "--json")
    forest = json.loads(invoke("show", table, *groups).stdout)["contrasts"]
    expected = grouped.noise_aware(prior=prior).contrast(("north", 2023), ("south", 2023), "never")
    assert forest[0]["difference"]["median"] == expected.difference.median()


def test_a_picture_is_drawn_with_the_readers_prior(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    record.write_text(dc.LatticeGeometric(dc.Dirichlet.uniform(3), 60, 1).release([30, 18, 12]).to_json())
    for name, options in (("own.svg", ["--prior", "500,1,1"]), ("recorded.svg", [])):
        assert invoke("show", record, "--plot", tmp_path / name, *options).exit_code == 0
    assert (tmp_path / "own.svg").read_text() != (tmp_path / "recorded.svg").read_text()


def test_a_prior_of_another_length_is_refused_in_one_line(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    record.write_text(dc.LatticeGeometric(dc.Dirichlet.uniform(3), 60, 1).release([30, 18, 12]).to_json())
    result = invoke("show", record, "--prior", "1,1")
    assert result.exit_code == 2
    assert "--prior must be uniform, jeffreys or 3 numbers, one for each category; got '1,1'" in " ".join(result.stderr.split())
