"""`discreet plan`: the ε, or the number of records, that a goal asks for."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from discreet.cli.confirmation import notice_little_said
from discreet.cli.options import ERROR_SCALE, JsonOption
from discreet.cli.output_files import check_picture, check_place, tell_name, write_new
from discreet.cli.questions import asks
from discreet.errors import InvalidInputError
from discreet.present.progress import progress_bar
from discreet.present.terminal import print_json, print_table
from discreet.requests.kinds import sized_prior_text
from discreet.requests.plan import PlanRequest

if TYPE_CHECKING:
    from discreet.planning.plans import Plan
    from discreet.planning.records_curves import RecordsCurve
    from discreet.planning.width_plans import WidthCurve, WidthPlan

_ASSUMED = "This is for two categories; for five, say --prior uniform:5."


@asks(PlanRequest)
def plan(
    asked: PlanRequest,
    plot: Annotated[Path | None, typer.Option("--plot", help="With --curve: a picture of it, in a new file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the epsilon (given --n) or the number of records (given --epsilon) with which readers' intervals are narrow enough.

    Given both and no goal, say how wide the intervals will be.

    No data are looked at, so choosing by the answer is public. With --public nothing n stays private and is a guess, which must not come
    from the data. For one group of a table give the n of that group; if only the table's total is public,
    --public nothing and half the table's epsilon.

    For all tables of a study at once, give its file: discreet plan study.toml --help says how.

    Example: discreet plan --width 4% --n 2700 --prior uniform:5
    """
    from discreet.planning.plans import plan as compute
    from discreet.planning.records_curves import records_curve
    from discreet.planning.width_plans import width_curve

    _check_plot(plot, has_curve=asked.curve)
    asked.check()
    if asked.about == "records":
        _show_noise_width(asked, as_json=as_json)
        return
    options = asked.arguments("options")
    with progress_bar(not as_json) as progress:
        if asked.curve and asked.n is not None:
            drawn: WidthCurve | RecordsCurve = width_curve(asked.prior, asked.n, progress=progress, **options)
        elif asked.curve and asked.epsilon is not None:
            drawn = records_curve(asked.prior, asked.epsilon, progress=progress, **options)
        else:
            found = compute(asked.prior, progress=progress, **asked.arguments("plan"), **options)
    if asked.curve:
        _show_curve(drawn, plot, as_json=as_json)
    else:
        _show_plan(found, asked, as_json=as_json)


def _show_noise_width(asked: PlanRequest, *, as_json: bool) -> None:
    """The widths of intervals of the noise alone, which shares of these very records have."""
    from discreet.planning.noise_widths import noise_width

    found = noise_width(asked.prior, asked.mechanism, n=asked.n, epsilon=asked.epsilon, width=asked.width)
    if as_json:
        print_json(found.to_dict())
    else:
        Console(highlight=False).print(found.sentence, markup=False, soft_wrap=True)


def _check_plot(plot: Path | None, *, has_curve: bool) -> None:
    """Refuse a picture of what is no curve, or in a place that something else has."""
    if plot is None:
        return
    if not has_curve:
        raise InvalidInputError("--plot draws a curve: add --curve")
    check_picture(plot)
    check_place(plot, "--plot", {}, why="it may be something else")


def _show_plan(found: "WidthPlan | Plan", asked: PlanRequest, *, as_json: bool) -> None:
    from discreet.planning.plans import Plan

    notice_little_said(found.n, found.epsilon, found.public)
    if as_json:
        print_json(found.to_dict())
    elif isinstance(found, Plan):
        _show_error_plan(found, sized_prior_text(asked.prior))
    else:
        assumed = [] if any(one.name == "prior" for one, _ in asked.given()) else [_ASSUMED]
        Console(highlight=False).print(found.sentence, *assumed, found.precision, found.choice, sep="\n", markup=False, soft_wrap=True)


def _show_error_plan(found: "Plan", prior: str) -> None:
    table = Table(show_header=False, title=f"{found.mechanism}, prior {prior}")
    kind = "worst-case mean error" if found.over == "worst" else "mean error over the prior predictive"
    needed, given = ("epsilon", "n") if found.sought == "epsilon" else ("n", "epsilon")
    guess = " (a guess: n is private)" if found.public == "nothing" and needed == "epsilon" else ""
    values = {"n": f"{found.n}{guess}", "epsilon": f"{float(found.epsilon):g}"}
    table.add_row(f"needed: {needed}", values[needed])
    table.add_row(f"given: {given}", values[given])
    table.add_row(kind, repr(found.error))
    table.add_row("target", f"{found.target_error:g}")
    print_table(table)
    Console(highlight=False).print(ERROR_SCALE, found.choice, sep="\n")


def _show_curve(curve: "WidthCurve | RecordsCurve", plot: Path | None, *, as_json: bool) -> None:
    from discreet.planning.comparison import points
    from discreet.planning.records_curves import RecordsCurve

    if plot is not None:
        _draw_curve(curve, plot)
    if isinstance(curve, RecordsCurve):
        _show_records_curve(curve, as_json=as_json)
        return
    if as_json:
        about = {"mechanism": curve.mechanism, "n": curve.n, "public": curve.public, "width_without_privacy": float(curve.plain)}
        print_json({**about, "rows": curve.to_dicts()})
        return
    table = Table(title=f"{curve.mechanism}, n = {curve.n:,}: expected width of the 95 % intervals")
    for heading in ("ε", "points", "without privacy", "times as wide", "method"):
        table.add_column(heading, justify="right")
    for row, width in zip(curve.to_dicts(), curve.widths, strict=True):
        table.add_row(f"{row['epsilon']:g}", points(width), points(curve.plain), f"{row['price']:.2f}", width.method)
    print_table(table)


def _draw_curve(curve: "WidthCurve | RecordsCurve", plot: Path) -> None:
    import matplotlib.pyplot as plt

    from discreet.plotting.saving import content_of

    curve.plot()
    figure = plt.gcf()
    try:
        tell_name(write_new(plot, content_of(figure, plot.suffix[1:].lower())), plot)
    finally:
        plt.close(figure)


def _show_records_curve(curve: "RecordsCurve", *, as_json: bool) -> None:
    if as_json:
        about = {"mechanism": curve.mechanism, "epsilon": float(curve.epsilon), "public": curve.public}
        print_json({**about, "rows": curve.to_dicts()})
        return
    headings, rows = curve.cells()
    table = Table(title=curve.caption)
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    print_table(table)
