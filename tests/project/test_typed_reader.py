"""A user's script with types: mypy, which checks the tests strictly, knows a table from a variable, and it runs."""

from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import discreet as dc

ANSWERS = ["never", "former", "current"]
PEOPLE = pd.DataFrame({"smoking": ANSWERS * 6, "region": ["north"] * 9 + ["south"] * 9})


def shares(posterior: dc.NoiseAware) -> NDArray[np.float64]:
    return posterior.mean()


def by_region(posterior: dc.TablePosterior) -> list[float]:
    return [float(posterior[group].marginal("never").mean()) for group in posterior]


def ends(found: dc.Release | dc.TableRelease) -> NDArray[np.float64]:
    """Whatever was read: verbs that all posteriors have need not be told which."""
    return found.noise_aware().interval(0.95)


def test_a_table_is_known_by_how_it_was_counted(tmp_path: Path) -> None:
    prior, by = dc.Dirichlet.uniform(categories=ANSWERS), {"region": ["north", "south"]}
    counts = dc.count(PEOPLE, "smoking", ANSWERS)
    table = dc.count(PEOPLE, "smoking", ANSWERS, by=by)
    variable: dc.Release = dc.LatticeGeometric(prior, n=counts.total, epsilon=1).release(counts, steady=False)
    release: dc.TableRelease = dc.LatticeGeometric(prior, n=table.total, epsilon=1, by=by).release(table, steady=False)
    assert shares(variable.noise_aware()).shape == (3,)
    post = release.noise_aware()
    assert len(by_region(post)) == 2
    assert post.over().mean().shape == (3,)
    assert post.over("region")["north"].mean().shape == (3,)
    assert post.counts.over("region")["north"]["never"].mean() >= 0.0
    contrast: dc.Contrast = post.contrast("north", "south", "never")
    low, high = contrast.difference.hdi(0.9)
    assert low < high
    for found, shape in ((variable, (3, 2)), (release, (2, 3, 2))):
        (path := tmp_path / f"{len(shape)}.json").write_text(found.to_json())
        read = dc.read(path)
        assert ends(read).shape == shape
        if isinstance(read, dc.TableRelease):
            assert by_region(read.noise_aware()) == pytest.approx(by_region(post))
        else:
            assert shares(read.noise_aware()) == pytest.approx(shares(variable.noise_aware()))


def test_a_ledger_knows_it_too(tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 2, unit="record")
    by = {"region": ["north", "south"]}
    table = dc.count(PEOPLE, "smoking", ANSWERS, by=by)
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=ANSWERS), n=table.total, epsilon=1, by=by)
    assert len(by_region(ledger.release("survey", mechanism, table).noise_aware())) == 2


def test_help_describes_every_argument() -> None:
    text = dc.LatticeGeometric.__doc__ or ""
    listed = text.partition("Args:")[2].partition("Returns:")[0]
    for name in signature(dc.LatticeGeometric).parameters:
        assert f"\n        {name}: " in listed, name
    assert "Raises:" in text
