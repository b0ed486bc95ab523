"""A reader's script, as a statistician types it: it runs, and mypy --strict and pyright find nothing in it."""

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import discreet as dc

ANSWERS = ["never", "former", "current"]
PRIOR = dc.Dirichlet.uniform(categories=ANSWERS)
COUNTS = [[40, 30, 10], [20, 30, 50]]


def shares(posterior: dc.NoiseAware) -> NDArray[np.float64]:
    return posterior.mean()


def by_region(posterior: dc.TablePosterior) -> list[float]:
    return [float(posterior[group].marginal("never").mean()) for group in posterior]


def ends(found: dc.Release[tuple[int, ...]] | dc.Release[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Whatever was read: verbs that all posteriors have need not be told which."""
    return found.noise_aware().interval(0.95)


def main(folder: Path) -> None:
    # One variable, and a table: `by` alone says which.
    variable = dc.LatticeGeometric(PRIOR, n=180, epsilon=1).release(np.sum(COUNTS, axis=0), steady=False)
    table = dc.LatticeGeometric(PRIOR, n=180, epsilon=1, by={"region": ["north", "south"]}).release(COUNTS, steady=False)
    assert_type(variable.counts, tuple[int, ...])
    assert_type(table.counts, NDArray[np.int64])
    one, many = variable.noise_aware(), table.noise_aware()
    assert_type(one, dc.NoiseAware)
    assert_type(many, dc.TablePosterior)
    assert shares(one).shape == (3,)
    assert len(by_region(many)) == 2
    for found in (one, many):
        assert_type(found.mean(), NDArray[np.float64])
        assert_type(found.interval(0.95), NDArray[np.float64])

    # What is made of a table.
    assert many.over().mean().shape == (3,)
    assert many.over("region")["north"].mean().shape == (3,)
    assert many.counts.over("region")["north"]["never"].mean() >= 0.0
    contrast: dc.Contrast = many.contrast("north", "south", "never")
    low, high = contrast.difference.hdi(0.9)
    assert low < high

    # Other mechanisms, wrappers, and a ledger.
    assert_type(dc.LaplaceHistogram(PRIOR, 180, 1).release([60, 60, 60], steady=False).noise_aware(), dc.NoiseAware)
    remapped = dc.Remapped(dc.LatticeGeometric(PRIOR, 180, 1)).release([60, 60, 60], steady=False)
    assert_type(remapped.counts, tuple[int, ...])
    ledger = dc.Ledger(folder / "ledger.db")
    ledger.create("survey", 2, unit="record")
    drawn = ledger.release("survey", dc.LatticeGeometric(PRIOR, epsilon=1, by={"region": ["north", "south"]}), COUNTS)
    assert_type(drawn.noise_aware(), dc.TablePosterior)

    # What was read from a file is either; the posterior tells.
    for number, text in enumerate((variable.to_json(), table.to_json())):
        path = folder / f"{number}.json"
        path.write_text(text)
        read = dc.read(path)
        assert ends(read).shape == ((3, 2), (2, 3, 2))[number]
        posterior = read.noise_aware()
        if isinstance(posterior, dc.TablePosterior):
            assert by_region(posterior) == by_region(many)
        else:
            assert_type(posterior, dc.NoiseAware)
            assert bool((shares(posterior) == shares(one)).all())
    table.to_parquet(folder / "table.parquet")
    assert_type(dc.Release.from_parquet(folder / "table.parquet").noise_aware(), dc.TablePosterior)
    assert_type(dc.combine([variable, remapped], same_data=False), dc.NoiseAware)
