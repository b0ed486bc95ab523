"""Mechanisms side by side, plans for a target error, and both as commands."""

import json
import sys
import threading
from fractions import Fraction
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import typer
from rich.progress import Progress
from typer.testing import CliRunner

import discreet as dc
from discreet.analysis.error_laws import ErrorLaw, error_law, expected_error
from discreet.analysis.optimum import optimal
from discreet.cli.plan import compare as compare_command
from discreet.cli.plan import plan as plan_command
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.planning.comparison import PUBLIC_CHOICE, Comparison, compare
from discreet.planning.plans import Plan
from discreet.planning.plans import plan as plan_goal
from discreet.present.terminal import progress_bar
from discreet.record.guarantee import NO_GUARANTEE
from tests.support import lowered


def plan(prior: dc.Dirichlet | dc.Beta, **options: Any) -> Plan:
    """A plan for the papers' error."""
    found = plan_goal(prior, **options)
    assert isinstance(found, Plan)
    return found


app = typer.Typer()
app.command("compare")(compare_command)
app.command("plan")(plan_command)
runner = CliRunner()


@pytest.fixture(scope="module")
def small() -> Comparison:
    return compare(dc.Beta(1, 1), 20, 1)


# --- compare ----------------------------------------------------------------------------------------------------------


def _predictive_law(mechanism: Mechanism) -> ErrorLaw:
    """The law of the error of data from the prior predictive: the laws of all datasets, weighted."""
    points = mechanism.space.points()
    laws = [error_law(mechanism, counts) for counts in points]
    weights = mechanism.prior.predictive(mechanism.space.total).pmf(points)
    probability = np.concatenate([weight * law.probability for weight, law in zip(weights, laws, strict=True)])
    return ErrorLaw.of(np.concatenate([law.support for law in laws]), probability)


def test_every_mechanism_is_there_with_the_figures_of_its_own_functions(small: Comparison) -> None:
    rows = {row.mechanism: row for row in small.rows}
    assert set(rows) == {*(cls.__name__ for cls in MECHANISMS), "Calibrated(HellingerSmooth)", "Remapped(LatticeGeometric)"}
    for name in ("HellingerSmooth", "LaplaceZhang", "LatticeGeometric"):
        mechanism = dc.mechanism(name, dc.Beta(1, 1), 20, 1)
        assert rows[name].error == pytest.approx(expected_error(mechanism, over="predictive"), rel=1e-12)
        assert rows[name].worst == pytest.approx(expected_error(mechanism, over="worst"), rel=1e-12)
        assert rows[name].quantile == pytest.approx(_predictive_law(mechanism).quantile(0.95))
        assert rows[name].loss == dc.privacy_loss(mechanism).value
    assert small.optimum == optimal(dc.Beta(1, 1), 20, 1).value


def test_order_guarantees_and_ratios(small: Comparison) -> None:
    widths = [float(row.width or 0.0) for row in small.rows]
    assert widths == sorted(widths)
    rows = {row.mechanism: row for row in small.rows}
    assert rows["HellingerLocal"].guarantee == NO_GUARANTEE
    assert rows["Calibrated(HellingerSmooth)"].guarantee == dc.Guarantee(1.0, 0.0, "computation")
    assert rows["HellingerSmoothDelta"].guarantee == dc.Guarantee(1.0, 1e-8, "computation")
    assert all((row.ratio or 0.0) >= 1.0 - 1e-7 for row in small.rows if row.guarantee is not None and row.guarantee.delta == 0.0)
    assert [cells[2] for cells in small.cells()[1] if "HellingerSmoothDelta" in cells] == ["ε = 1, δ = 1e-08 by computation"]
    assert rows["Remapped(LatticeGeometric)"].ratio == pytest.approx(1.0, abs=1e-6)
    loss = {name: row.loss for name, row in rows.items() if row.loss is not None}
    assert loss["LaplaceDimension"] == 0.5  # half of what it promises
    assert 0.99 < loss["Calibrated(HellingerSmooth)"] <= 1.0
    assert loss["HellingerSmooth"] < 0.5


def test_progress_is_told() -> None:
    told: list[tuple[int, int, str]] = []
    compare(dc.Beta(1, 1), 3, 1, progress=lambda *step: told.append(step))
    assert [done for done, _, _ in told] == list(range(13))
    assert {total for _, total, _ in told} == {12}


def test_what_cannot_be_computed_is_none() -> None:
    with lowered(LOSS_RECORDS=3, COMPARED_CONSTRAINTS=3):
        found = compare(dc.Beta(1, 1), 7, 1)
    row = found.rows[-1]
    assert row.mechanism == "Calibrated(HellingerSmooth)"
    assert (row.error, row.loss, row.ratio, row.guarantee) == (None, None, None, None)
    assert found.optimum is None
    assert all(row.ratio is None for row in found.rows)
    assert "-" in str(found)
    assert found.to_dicts()[-1]["error"] is None
    (reason,) = found.reasons
    assert reason.startswith("Calibrated(HellingerSmooth): not computed; the privacy loss would list 8 outcomes")
    assert str(found).count(reason) == 1


def test_a_reason_is_said_once_for_all_rows_it_is_about() -> None:
    found = compare(dc.Dirichlet.uniform(10), 10**9, "0.1")
    assert next(row.mechanism for row in found.rows if row.error is not None) == "LatticeGeometric"
    assert str(found).count("too few datasets could be tried") == 1
    assert all((row.error is None) == (row.reason is not None) for row in found.rows)


@pytest.mark.slow
def test_the_default_is_not_the_best_everywhere() -> None:
    """With many categories and few records in each, the total that `LatticeGeometric` keeps is no help."""
    rows = {row.mechanism: row for row in compare(dc.Dirichlet.uniform(45), 100, 1).rows}
    zhang, lattice = rows["LaplaceZhang"].error, rows["LatticeGeometric"].error
    assert zhang is not None
    assert lattice is not None
    assert zhang + 3.0 * zhang.standard_error < lattice - 3.0 * lattice.standard_error


@pytest.mark.slow
def test_plans_reach_any_size() -> None:
    """Noise of ε = 0.001 against 10^9 records or more; the error of a plan is that of its n, and less than it does not do."""
    found = plan(dc.Dirichlet.uniform(5), error=0.01, epsilon="0.001")
    assert found.n > 10**9
    assert found.error <= 0.01
    fewer = expected_error(dc.LatticeGeometric(dc.Dirichlet.uniform(5), found.n // 2, "0.001"), over="predictive")
    assert fewer > 0.01 + 3.0 * fewer.standard_error


@pytest.mark.slow
def test_plans_reach_any_epsilon() -> None:
    assert plan(dc.Beta(1, 1), error=0.05, n=10**12).epsilon < Fraction(1, 10**4)


def test_shown_as_text_html_and_picture(small: Comparison) -> None:
    assert PUBLIC_CHOICE in str(small)
    html = small._repr_html_()
    assert html.count("<tr>") == 1 + len(small.rows)
    assert "Remapped(LatticeGeometric)" in html
    assert PUBLIC_CHOICE in html
    _, ax = plt.subplots()
    assert small.plot(ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == small.rows[0].mechanism
    widths = [float(patch.get_width()) for patch in ax.patches]  # type: ignore[attr-defined]
    assert widths == [float(row.error or 0.0) for row in reversed(small.rows)]
    plt.close("all")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_for_other_libraries(library: str, small: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame with a row a mechanism; a library that is missing is named with the way to install it."""
    frame = getattr(small, f"to_{library}")()
    assert type(frame).__module__.partition(".")[0] == library
    assert list(frame["mechanism"]) == [row.mechanism for row in small.rows]
    assert list(frame["error"]) == [row.error for row in small.rows]
    assert set(frame["method"]) == {"enumeration"}
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"pip install {library}"):
        getattr(small, f"to_{library}")()


# --- plan -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["LatticeGeometric", "EHDS", "Remapped(lattice)", "calibrated(HellingerSmooth)"])
def test_the_epsilon_is_the_least(name: str) -> None:
    found = plan(dc.Beta(1, 1), error=0.3, n=40, mechanism=name)
    assert found.sought == "epsilon"
    assert found.error <= 0.3
    assert expected_error(dc.mechanism(name, dc.Beta(1, 1), 40, found.epsilon), over="predictive") == found.error
    assert expected_error(dc.mechanism(name, dc.Beta(1, 1), 40, found.epsilon * Fraction(99, 100)), over="predictive") > 0.3
    assert Fraction(str(float(found.epsilon))) == found.epsilon  # prints as what it is


def test_the_number_of_records_is_the_least() -> None:
    found = plan(dc.Beta(1, 1), error=0.1, epsilon=2, mechanism=dc.LaplaceHistogram)
    assert found.sought == "n"
    assert found.mechanism == "LaplaceHistogram"
    at = [expected_error(dc.mechanism("LaplaceHistogram", dc.Beta(1, 1), n, 2), over="predictive") for n in (found.n - 1, found.n)]
    assert at[1] <= 0.1 < at[0]
    assert found.error == at[1]


def test_a_worst_case_error_levels_off() -> None:
    """A category with a record or two stays as hard as it was, however many records the other has."""
    with pytest.raises(dc.InvalidInputError, match=r"levels off at 0\.18"):
        plan(dc.Beta(1, 1), error=0.15, epsilon=1, worst=True)
    found = plan(dc.Beta(1, 1), error=0.15, n=50, worst=True)
    assert expected_error(dc.mechanism("lattice", dc.Beta(1, 1), 50, found.epsilon), over="worst") <= 0.15


def test_an_error_that_rises_first_is_followed_until_it_falls() -> None:
    """With ε = 0.1 few records are drowned by the prior and look accurate; the answer is where the error has come down again."""
    prior, target = dc.Beta(1, 1), 0.55
    assert expected_error(dc.mechanism("lattice", prior, 2, "0.1"), over="predictive") < target
    found = plan(prior, error=target, epsilon="0.1")
    assert found.n > 60
    assert all(expected_error(dc.mechanism("lattice", prior, n, "0.1"), over="predictive") <= target for n in (found.n, 2 * found.n))


def test_targets_that_are_met_at_once_or_never() -> None:
    assert plan(dc.Beta(1, 1), error=0.999, n=10).epsilon < Fraction(1, 500)
    assert plan(dc.Beta(1, 1), error=0.9, epsilon=5).n == 1
    with pytest.raises(dc.InvalidInputError, match="however large epsilon"):
        plan(dc.Beta(1, 1), error=0.01, n=10, mechanism="LaplaceHistogram")  # flooring alone moves a record half of the time


@pytest.mark.slow
def test_a_target_that_an_error_levels_off_above_is_refused() -> None:
    with pytest.raises(dc.InvalidInputError, match="levels off"):
        plan(dc.Beta(1, 1), error=0.01, epsilon=1, mechanism="HellingerGlobal")


@pytest.mark.slow
@pytest.mark.parametrize("k", [15, 30, 1000])
def test_an_error_that_begins_level_is_followed_until_it_falls(k: int) -> None:
    """With many categories the first thousands of records drown in the noise: the error stays at 1 before it falls."""
    assert plan(dc.Dirichlet.uniform(k), error=0.2, epsilon=1).error <= 0.2


def test_a_plan_needs_one_of_n_and_epsilon() -> None:
    for options in ({}, {"n": 10, "epsilon": 1}):
        with pytest.raises(dc.InvalidInputError, match="either n"):
            plan(dc.Beta(1, 1), error=0.1, **options)
    with pytest.raises(dc.InvalidInputError, match="Hellinger mechanism"):
        plan(dc.Beta(1, 1), error=0.1, n=10, mechanism="Calibrated(lattice)")
    with pytest.raises(dc.InvalidInputError, match="did you mean"):
        plan(dc.Beta(1, 1), error=0.1, n=10, mechanism="latice")
    for target in (0.0, 1.0, 2.0):
        with pytest.raises(dc.InvalidInputError, match="error must be"):
            plan(dc.Beta(1, 1), error=target, n=10)
    assert plan(dc.Beta(1, 1), error=2.0, n=10, distance=dc.kl).target_error == 2.0  # other distances may exceed 1


def test_a_plan_says_that_choosing_by_it_is_public() -> None:
    assert PUBLIC_CHOICE in str(plan(dc.Beta(1, 1), error=0.3, n=20))
    assert "needs n =" in str(plan(dc.Beta(1, 1), error=0.3, epsilon=1))


# --- commands ---------------------------------------------------------------------------------------------------------


def test_compare_command() -> None:
    shown = runner.invoke(app, ["compare", "--n", "6", "--prior", "1,2"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "Remapped(LatticeGeometric)" in shown.output
    assert "is public" in shown.output
    as_json = runner.invoke(app, ["compare", "--n", "6", "--prior", "1,2", "--json"])
    found = json.loads(as_json.output)
    assert (found["n"], found["epsilon"], len(found["rows"])) == (6, 1.0, 11)
    assert found["optimum"] == pytest.approx(optimal(dc.Dirichlet([1, 2]), 6, 1).value)
    assert np.isfinite([row["error"] for row in found["rows"]]).all()


@pytest.mark.parametrize("prior", ["1,1", "1,1,1"])
def test_the_comparison_is_whole_at_80_columns(prior: str) -> None:
    few = {"LOSS_CANDIDATES": 3, "COMPARED_CONSTRAINTS": 3, "ERROR_REPORTS": 10, "ERROR_PAIRS": 10}
    with lowered(**few if prior == "1,1,1" else {}):  # as it is with many records: simulated means, some entries out of reach, no optimum
        found = compare(dc.Dirichlet([1] * prior.count("1")), 4, "0.45")
        shown = runner.invoke(app, ["compare", "--n", "4", "--epsilon", "0.45", "--prior", prior], env={"COLUMNS": "80"}).stdout
    assert any(row.error is None for row in found.rows) == (prior == "1,1,1")
    table, _, legend = shown.partition("\n\n")
    headings, rows = found.cells()
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for row in rows:
        line = next(line for line in table.splitlines() if line.startswith(f"{row[0]} "))
        assert [cell for cell in (row[1], *row[3:]) if cell not in line] == [], shown
    assert all(f"{heading} " in legend for heading in headings[1:])
    assert ("× best" in headings) == (prior == "1,1")  # a column of which nothing is known is left out
    assert "0.05 is hard to see in a plot" in legend


def test_plan_command() -> None:
    shown = runner.invoke(app, ["plan", "--error", "0.3", "--n", "40"], env={"COLUMNS": "160"})
    assert shown.exit_code == 0, shown.output
    assert "needed: epsilon" in shown.output
    assert "is public" in shown.output
    as_json = runner.invoke(app, ["plan", "--error", "0.3", "--n", "30", "--worst", "--json"])
    found = json.loads(as_json.output)
    assert (found["sought"], found["over"], found["n"]) == ("epsilon", "worst", 30)
    assert found["error"] <= 0.3


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "--n", "0"],
        ["compare", "--n", "5", "--prior", "1"],
        ["plan", "--error", "0.3"],
        ["plan", "--error", "0.3", "--n", "5", "--epsilon", "1"],
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str]) -> None:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_progress_bar_appears_after_a_second_and_only_then(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Progress] = []
    clock = iter([0.0, 0.5, 1.5, 2.0, 3.0])
    monkeypatch.setattr(Progress, "start", lambda self: started.append(self))
    with progress_bar(clock=lambda: next(clock)) as tell:
        assert tell is not None
        tell(0, 3, "first")
        assert not started
        tell(1, 3, "second")
        assert len(started) == 1
        tell(2, 3, "third")
        assert len(started) == 1
    with progress_bar(False) as silent:
        assert silent is None


@pytest.mark.parametrize("shown", [True, False])
def test_what_takes_long_says_so_once_without_a_terminal(shown: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(shown):
        pass
    with progress_bar(shown, long=0.0) as tell:
        for timer in threading.enumerate():
            if isinstance(timer, threading.Timer):
                timer.join()
        if tell is not None:
            tell(1, 2, "second")
    captured = capsys.readouterr()
    assert captured.err.startswith("still computing")
    assert (captured.out, captured.err.count("\n")) == ("", 1)
