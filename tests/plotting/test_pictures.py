"""Pictures: what is drawn, and on which axes."""

from itertools import pairwise
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import discreet as dc
from discreet.arrays import Counts
from discreet.inference.tables.contrasts import ContrastSummary
from discreet.mechanisms import Mechanism
from discreet.plotting import plot_contrasts
from discreet.present.exports import picture
from discreet.record.release import is_table


def test_every_category_has_its_own_labelled_line() -> None:
    ax = dc.Dirichlet([3, 2, 5], categories=["low", "mid", "high"]).plot()
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["low", "mid", "high"]
    assert len({str(line.get_linestyle()) for line in ax.get_lines()}) == 3  # told apart without colour
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("probability", "density")


@pytest.mark.parametrize("characters", [3999, 4000])
def test_the_longest_labels_are_drawn(characters: int) -> None:
    prior = dc.Dirichlet([1, 1, 1], categories=["x" * characters, "b", "c"])
    release = dc.LatticeGeometric(prior, 10, 1).release([3, 3, 4])
    assert picture(release, "png").startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("mechanism", "unit", "known"),
    [
        (dc.LatticeGeometric(dc.Beta(1, 1), 1500, "0.1"), "person", "1,500 persons, each protected by ε = 0.1 differential privacy"),
        (
            dc.HellingerSmoothDelta(dc.Beta(1, 1), 30, 1, delta="1e-8"),
            "record",
            "30 records, each protected by (ε, δ) = (1, 1e-08) differential privacy",
        ),
    ],
)
def test_the_title_says_what_of_whom_and_under_which_promise(mechanism: Mechanism, unit: Literal["record", "person"], known: str) -> None:
    release = mechanism.release([mechanism.space.total // 3, mechanism.space.total - mechanism.space.total // 3], unit=unit)
    assert release.plot(variable="smoking").get_title() == f"How common is each value of “smoking”?\nEstimated from {known}."
    assert release.plot().get_title() == f"How common is each category?\nEstimated from {known}."


def test_the_title_claims_no_privacy_where_none_is_promised() -> None:
    release = dc.HellingerLocal(dc.Beta(1, 1), 30, 1).release([10, 20], allow_nonprivate=True)
    title = "How common is each value of “cost in \\$”?\nEstimated from 30 records, without any privacy guarantee."
    assert release.plot(variable="cost in $").get_title() == title


def test_the_title_of_one_category_in_groups_names_it() -> None:
    prior = dc.Dirichlet([1, 1], categories=["yes", "no"])
    table = dc.LatticeGeometric(prior, n=[9, 7], epsilon=1, by={"region": ["north", "south"]}).release([[5, 4], [3, 4]])
    assert is_table(table)
    assert table.plot(category="no").get_title().startswith("How common “no” is in 2 groups by region.")
    table.draw_on(figure := Figure())
    assert figure.get_suptitle().startswith("How common “yes” is in 2 groups by region.")


def test_plots_draw_on_the_axes_they_are_given() -> None:
    _, ax = plt.subplots()
    assert dc.Beta(2, 3).plot(ax) is ax
    assert dc.Beta(5, 3).plot(ax) is ax
    assert len(ax.get_lines()) == 2
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("posterior", [dc.Beta(10**15, 10**15), dc.Beta(1, 10**12), dc.Beta(0.5, 0.5), dc.Beta(1e-3, 2)])
def test_extreme_densities_can_be_drawn(posterior: dc.Beta) -> None:
    ax = posterior.plot()
    ax.figure.canvas.draw()
    assert ax.get_ylim()[0] == 0.0


def test_a_legend_of_many_categories_leaves_room_for_the_picture() -> None:
    """Warnings are errors: a legend of 60 lines left the picture no height."""
    ax = dc.Dirichlet.uniform(60).plot()
    ax.figure.canvas.draw()
    legend = ax.get_legend()
    assert legend is not None
    entries = [text.get_text() for text in legend.get_texts()]
    assert len(entries) == 20
    assert entries[-1] == "and 41 more"
    assert len(ax.lines) == 61


@pytest.mark.parametrize(("quantity", "none", "far"), [("difference", 0.0, 0.8), ("odds ratio", 1.0, 1e6)])
def test_a_forest_plot_has_a_row_a_group_and_a_line_where_nothing_differs(
    quantity: Literal["difference", "odds ratio"], none: float, far: float
) -> None:
    rows = [
        ContrastSummary(("north", "$m$"), (0.1, -0.2, 0.3), (1.5, 0.5, 4.0), 0.7),
        ContrastSummary(("south", "f"), (0.5, 0.3, 0.8), (7.0, 2.0, float("inf")), 0.9),
    ]
    ax = plot_contrasts(rows, quantity, mass=0.9)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["north · \\$m\\$", "south · f"]
    line, dots = ax.get_lines()
    assert list(line.get_xdata()) == [none, none]  # type: ignore[arg-type]
    assert list(dots.get_ydata()) == [0, 1]  # type: ignore[arg-type]
    (intervals,) = ax.collections
    assert intervals.get_paths()[1].vertices[1, 0] == far  # type: ignore[index]
    unit = " in percentage points" if quantity == "difference" else ""
    assert ax.get_xlabel() == f"{quantity}{unit}: median and 90 % interval"
    assert ax.xaxis.get_major_formatter()(0.25, 0) == ("25" if unit else "0.25")
    ax.figure.canvas.draw()


@pytest.mark.parametrize("far", [1.01, 1.1, 1.4, 2.2, 2.3, 4.0, 60.0, 3e3, 1e6])
def test_the_ticks_of_a_forest_plot_do_not_collide(far: float) -> None:
    """Half of a picture is as wide as an odds ratio's panel: no label of a tick runs into the next one."""
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.0), layout="constrained")
    row = ContrastSummary("north", (0.1, -0.2, 0.3), (1.0, 1.0 / far, far), 0.7)
    ax = plot_contrasts([row], "odds ratio", axes[1])
    figure.canvas.draw()
    low, high = ax.get_xlim()
    shown = [label for value, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True) if low <= value <= high]
    boxes = sorted((label.get_window_extent() for label in shown), key=lambda box: box.x0)
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


# --- tables in Python -------------------------------------------------------------------------------------------------


def table_of(categories: int = 3) -> dc.Release[Counts]:
    """Groups whose labels, declared order and means are all in another order."""
    by = {"year": [10, 9, 2]}
    counts = np.ones((3, categories), dtype=np.int64) + np.array([[40], [90], [10]]) * (np.arange(categories) == 0)
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(categories), None, 20, by=by)
    found = mechanism.release(counts, steady=False)
    assert is_table(found)
    return found


@pytest.mark.parametrize(("sort", "rows"), [("mean", ["9", "10", "2"]), ("group", ["2", "9", "10"]), ("declared", ["10", "9", "2"])])
def test_groups_are_drawn_in_the_order_that_is_asked_for(sort: Any, rows: list[str]) -> None:
    posterior = table_of().noise_aware()
    for drawn in (posterior, table_of()):
        ax = drawn.plot(category=0, sort=sort)
        assert [text.get_text() for text in ax.get_yticklabels()] == rows
    ax = posterior.plot(category=0, sort=sort)
    means = dict(zip(["10", "9", "2"], posterior.mean()[:, 0], strict=True))
    assert ax.get_lines()[-1].get_xdata().tolist() == pytest.approx([means[row] for row in rows])  # type: ignore[union-attr]


def test_a_picture_of_a_table_takes_title_label_and_colour() -> None:
    ax = table_of().noise_aware().plot(category=1, title="Mine", label="this year", color="#aa0000")
    assert ax.get_title() == "Mine"
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["this year"]
    assert ax.get_lines()[-1].get_color() == "#aa0000"
    assert all(text.get_text().endswith(" %") for text in ax.get_xticklabels())
    with pytest.raises(dc.InvalidInputError, match=r"sort .*'mean', 'group' or 'declared'.*'size'"):
        table_of().noise_aware().plot(sort="size")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="colour"):
        table_of().noise_aware().plot(colour="red")  # type: ignore[call-arg]


def test_all_categories_have_a_panel() -> None:
    figure = table_of(9).plot_all()
    assert [ax.get_title() for ax in figure.axes] == [str(category) for category in range(9)]
    assert "not drawn" not in figure.get_suptitle()
    assert len({round(ax.get_position().y0, 3) for ax in figure.axes}) == 3  # lines of panels
    many = table_of(200).plot_all()
    assert f"{200 - len(many.axes)} more categories are not drawn" in many.get_suptitle()
    assert many.get_size_inches()[1] <= 40.0


def test_ranks_and_contrasts_are_drawn() -> None:
    posterior = table_of().noise_aware()
    ranks = posterior.ranks(0, draws=200)
    ax = ranks.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["9", "10", "2"]
    assert ax.get_lines()[-1].get_xdata().tolist() == pytest.approx(sorted(ranks.mean()))  # type: ignore[union-attr]
    assert all(tick == round(tick) for tick in ax.get_xticks())  # there is no rank 1.5
    forest = posterior.plot_contrasts(0, 9)
    assert [text.get_text() for text in forest.get_yticklabels()] == ["10", "2"]
    assert forest.get_title().startswith("“0” in each group against “9”")
    expected = posterior.contrast(10, 9, 0).difference.median()
    assert forest.get_lines()[-1].get_xdata()[0] == pytest.approx(expected)  # type: ignore[index]
    assert posterior.plot_contrasts(0, 9, quantity="odds ratio").get_xscale() == "log"


def test_pooled_groups_are_drawn_beside_themselves_without_pooling() -> None:
    mechanism: Any = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["yes", "no"]), [30, 40, 20], 1, by={"region": ["n", "s", "w"]})
    raw = np.array([(4, 26), (30, 10), (9, 11)])
    pooled = dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report(raw)).noise_aware().pooled()
    _, given = plt.subplots()
    for ax in (pooled.plot(), pooled.plot(given)):
        assert [text.get_text() for text in ax.get_yticklabels()] == ["s", "w", "n"]
        drawn = zip(ax.get_lines(), ax.collections[::2], (pooled.separate, pooled), (-1.0, 1.0), strict=True)  # and thick lines between
        for dots, lines, posterior, side in drawn:
            figures, order = posterior.figures(), [1, 2, 0]
            assert np.asarray(dots.get_xdata()).tolist() == pytest.approx(figures.mean[order, 0].tolist())
            assert (side * (np.asarray(dots.get_ydata()) - np.arange(3)) > 0.1).all()  # above and below the middle of the row
            ends = np.array(lines.get_segments())[:, :, 0]
            assert ends == pytest.approx(np.stack([figures.low[order, 0], figures.high[order, 0]], axis=1))
        legend = ax.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == ["each group by itself", "pooled"]
    strength = pooled.strength.plot()
    assert strength.get_xscale() == "log"
    assert strength.get_xlabel() == "strength: median and 95 % interval"
    median = strength.get_lines()[-1].get_xdata()
    assert median == pytest.approx([pooled.strength.median()] * 2)


def test_contrasts_are_drawn_as_densities() -> None:
    contrast = table_of().noise_aware().contrast(10, 9, 0)
    for quantity, scale in ((contrast.difference, "linear"), (contrast.ratio, "log")):
        ax = quantity.plot()
        curve = ax.get_lines()[0]
        x, y = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
        assert ax.get_xscale() == scale
        assert float(np.trapezoid(y, np.log(x) if scale == "log" else x)) == pytest.approx(0.998, abs=2e-3)


def test_no_two_categories_look_alike() -> None:
    lines = dc.Dirichlet(range(1, 16)).plot().get_lines()
    assert len({(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in lines}) == 15
