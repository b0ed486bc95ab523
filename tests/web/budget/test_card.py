"""The card of a dataset. Oracle: what the ledger itself refuses, charges and has left."""

import html
import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.ledger.budgets import Loss
from discreet.web.budget.card import budget_card
from discreet.web.budget.view import ledger_view, used_share

WITHOUT_N = dc.LatticeGeometric(dc.Dirichlet([1, 1]), epsilon="0.1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    location = tmp_path_factory.mktemp("made") / "ledger.db"
    ledger = dc.Ledger(location)
    ledger.create("survey", 1)
    for amount in ("0.1", "0.05", "0.2"):
        ledger.spend("survey", amount, note="smoking")
    ledger.create("panel", 3, "1e-6", planned_epsilon="0.1")
    for _ in range(36):
        ledger.spend("panel", "0.1")
    return location


@pytest.fixture
def where(made: Path, tmp_path: Path) -> str:
    """The same ledger for every test."""
    return str(shutil.copy(made, tmp_path))


def card_of(
    location: str | Path, dataset: str, release: dc.Guarantee | Loss | None = None, *, latest: int = 200, place: str = "budget"
) -> str:
    return budget_card(dc.Ledger(location).statement(dataset, latest=latest), release, place=place)


def widths(card: str, place: str, kind: str) -> list[float]:
    """How wide the segments of a bar are, in per cent."""
    found = re.search(rf"<svg[^>]*>(?:(?!</svg>).)*{place}-hatch.*?</svg>", card, re.DOTALL)
    assert found is not None
    return [float(width) for width in re.findall(rf'<rect class="{kind}[^"]*" x="[^"]*" width="([^"%]*)%"', found[0])]


def test_a_segment_a_spend_and_what_is_left(where: str) -> None:
    card = card_of(where, "survey")
    assert "<strong>ε = 0.65</strong> left of ε = 1" in card
    assert widths(card, "budget-epsilon", "spend") == [10.0, 5.0, 20.0]
    assert 'aria-label="ε: 35 % used by 3 spends"' in card
    assert "what someone answered, and n is public" in card
    assert "replace one record" in card


def test_what_a_release_would_leave_is_what_it_leaves(where: str) -> None:
    card = card_of(where, "survey", WITHOUT_N.guarantee)
    assert widths(card, "budget-epsilon", "preview") == [20.0]
    assert "<strong>ε = 0.2</strong> (its own ε = 0.1, for two steps" in card
    ledger = dc.Ledger(where)
    ledger.release("survey", WITHOUT_N, [30, 40])
    assert f"leave {ledger.remaining('survey')}." in card


@pytest.mark.parametrize("release", [Loss(Fraction("0.7")), dc.Guarantee(0.1, 0.0, "none")])
def test_a_release_that_would_be_refused_says_why(where: str, release: dc.Guarantee | Loss) -> None:
    card = card_of(where, "survey", release)
    with pytest.raises(dc.BudgetError) as caught:
        dc.Ledger(where).spend("survey", release)
    assert html.escape(f"It would be refused: {caught.value}.") in card
    assert "would be charged" not in card


def test_a_filter_has_a_bar_of_its_own(where: str) -> None:
    card = card_of(where, "panel", Loss(Fraction("0.1")), place="second")
    found = dc.Ledger(where).statement("panel")
    assert found.budget.filter is not None
    assert found.divergence is not None
    assert f"<strong>{found.remaining}</strong> left in one release, of ε = 3, δ = 0.000001 in all" in card
    assert f"a divergence of {float(found.divergence):.6g} is spent of {float(found.budget.filter.limit):.6g}" in card
    assert "Rényi filter of order 10.26" in card
    assert len(widths(card, "second-filter", "spend")) == 36
    assert sum(widths(card, "second-filter", "spend")) == pytest.approx(float(100 * found.divergence / found.budget.filter.limit), abs=0.01)
    dc.Ledger(where).spend("panel", "0.1")
    assert f"leave {dc.Ledger(where).remaining('panel')} in one release." in card
    assert "where the budget ends" in card


@pytest.mark.parametrize(
    ("loss", "of_epsilon", "of_delta"),
    [(("0.1", "9e-7"), "10", "90"), (("0.5", "1e-7"), "50", "10"), (("0.2", "0"), "20", "0")],
)
def test_a_budget_with_delta_is_used_as_far_as_the_nearer_of_both(
    tmp_path: Path, loss: tuple[str, str], of_epsilon: str, of_delta: str
) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1, "1e-6")
    ledger.spend("survey", *loss)
    card = card_of(tmp_path / "ledger.db", "survey", Loss(Fraction("0.05"), Fraction("5e-8")))
    assert f'aria-label="ε: {of_epsilon} % used by 1 spend"' in card
    assert f'aria-label="δ: {of_delta} % used by 1 spend"' in card
    assert sum(widths(card, "budget-delta", "spend")) == float(of_delta)
    assert widths(card, "budget-delta", "preview") == [5.0]
    used = max(int(of_epsilon), int(of_delta))
    assert used_share(ledger.statement("survey")) == Fraction(used, 100)
    assert f'<rect class="spend" width="{used}.00%"' in ledger_view(ledger, "ledger.db", "survey")


def test_a_budget_kept_by_a_filter_is_used_as_far_as_the_rule_that_allows_more_says(where: str) -> None:
    found = dc.Ledger(where).statement("panel")
    assert found.budget.filter is not None
    assert found.divergence is not None
    by_filter, by_sum = found.divergence / found.budget.filter.limit, found.spent.epsilon / 3
    assert by_filter < 1 < by_sum
    assert used_share(found) == by_filter


def test_of_many_spends_the_latest_have_segments(where: str) -> None:
    card = card_of(where, "survey", latest=2)
    assert widths(card, "budget-epsilon", "earlier") == [10.0]
    assert widths(card, "budget-epsilon", "spend") == [5.0, 20.0]
    assert "1 earlier spend" in card


def test_hostile_texts_are_shown_as_texts(tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("<b id=evil>", 1)
    ledger.spend("<b id=evil>", "0.5", note="</title><script>alert(1)</script>")
    card = card_of(tmp_path / "ledger.db", "<b id=evil>")
    assert "<b " not in card
    assert "<script" not in card
    assert "&lt;b id=evil&gt;" in card
