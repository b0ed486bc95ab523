"""What a notebook shows of what public calls return: a table whose every cell is text, whoever wrote the labels."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import discreet as dc
from discreet.analysis.audit import Audit
from discreet.arrays import Counts
from discreet.record.release import is_table
from tests.support import lowered

HOSTILE = "<script>alert(1)</script>"
LABELS = [HOSTILE, "b & c", "\x1b[31mred\u202e"]


@cache
def release() -> dc.Release[tuple[int, ...]]:
    return dc.LatticeGeometric(dc.Dirichlet.uniform(categories=LABELS), 60, 1).release([30, 20, 10])


@cache
def posterior() -> dc.NoiseAware:
    return release().noise_aware()


@cache
def table() -> dc.Release[Counts]:
    prior = dc.Dirichlet.uniform(categories=LABELS)
    found = dc.LatticeGeometric(prior, [30, 20], 1, by={HOSTILE: [HOSTILE, "south"]}).release([[10, 10, 10], [5, 5, 10]])
    assert is_table(found)
    return found


def history(folder: Path) -> Any:
    ledger = dc.Ledger(folder / "ledger.db")
    ledger.create(HOSTILE, epsilon=1)
    ledger.spend(HOSTILE, "0.1", note=HOSTILE)
    return ledger.history(HOSTILE)


SHOWN: dict[str, Callable[[], Any]] = {
    "posterior": posterior,
    "among some": lambda: posterior().given(LABELS[:2]),
    "marginal": lambda: posterior().marginal(HOSTILE),
    "contrast": lambda: posterior().contrast(*LABELS[:2]),
    "difference": lambda: posterior().contrast(*LABELS[:2]).difference,
    "estimate": lambda: posterior().probability(lambda theta: theta[:, 0] > 0.5, draws=100, rng=1),
    "size": lambda: dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1).release([3, 4]).noise_aware().size,
    "release": release,
    "guarantee": lambda: release().guarantee,
    "prior": lambda: release().prior,
    "table": table,
    "posteriors of a table": lambda: table().noise_aware(),
    "figures": lambda: table().noise_aware().figures(),
    "ranks": lambda: table().noise_aware().ranks(HOSTILE, draws=50, rng=1),
    "contrast of groups": lambda: table().noise_aware().contrast(HOSTILE, "south", HOSTILE),
    "verification": lambda: dc.verify(release()),
    "capabilities": lambda: dc.capabilities(release().mechanism),
    "audit": lambda: Audit(0.5, 0.99, 1000),
    "error law": lambda: dc.error_law(dc.LatticeGeometric(dc.Beta(1, 1), 10, 1), [4, 6]),
    "plan": lambda: dc.plan(dc.Beta(1, 1), n=50, error=0.2),
    "plan of widths": lambda: dc.plan(dc.Beta(1, 1), n=50, width=0.3),
    "curve of widths": lambda: dc.width_curve(dc.Beta(1, 1), 20, epsilons=[Fraction(1, 2), 1]),
    "comparison": lambda: dc.compare(dc.Beta(1, 1), n=10, epsilon=1),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_shows_a_table_of_plain_text(name: str) -> None:
    shown = SHOWN[name]()
    _check(shown._repr_html_())
    assert "\n" not in repr(shown)
    assert len(repr(shown)) < 2000


def test_the_history_of_a_ledger_and_its_budgets(tmp_path: Path) -> None:
    lines: Any = history(tmp_path)
    assert lines == tuple(lines)
    text = lines._repr_html_()
    _check(text)
    assert [cell.text for cell in parsed(text).findall("./table/tbody/tr/*")][::2] == ["1", "ε = 0.1", HOSTILE]
    _check(dc.Ledger(tmp_path / "ledger.db").budget(HOSTILE)._repr_html_())


def parsed(text: str) -> ElementTree.Element:
    """Well-formed as XML, so that no label can have opened an element."""
    return ElementTree.fromstring(f"<div>{text}</div>")  # noqa: S314  our own


def _check(text: str) -> None:
    """It is a table, with a caption and rows, in which no label is more than text."""
    found = parsed(text)
    assert len(found.findall("./table/caption")) == 1
    assert found.findall("./table/tbody/tr")
    assert not found.findall(".//script")
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_labels_are_shown_and_numbers_are_those_of_the_posterior() -> None:
    shown = parsed(table().noise_aware()._repr_html_())
    assert shown.findtext("./table/tbody/tr[1]/th") == HOSTILE
    mean = table().noise_aware().figures().mean[1, 2]
    assert str(shown.findtext("./table/tbody/tr[2]/td[3]")).startswith(f"{mean:.4g} (")
    assert parsed(posterior().given(LABELS[:2])._repr_html_()).findtext("./table/tbody/tr[1]/th") == HOSTILE


def test_a_table_too_large_to_summarise_while_someone_waits_is_shown_without_numbers() -> None:
    release = dc.LatticeGeometric(dc.Beta(1, 1), [2] * 1500, 1, by={"group": list(range(1500))}).release([[1, 1]] * 1500)
    shown = parsed(release.noise_aware()._repr_html_())
    assert len(shown.findall("./table/tbody/tr")) == 20
    assert not shown.findall(".//td")


def test_a_posterior_that_cannot_be_summarised_is_shown_all_the_same() -> None:
    release = dc.LatticeGeometric(dc.Beta(1, 1), None, "0.1", by={"group": ["a", "b"]}).release([[9, 9], [8, 8]])
    with lowered(PLANE_CELLS=1, SUMMARY_WORK=1):
        assert "post[group]" in release.noise_aware()._repr_html_()
