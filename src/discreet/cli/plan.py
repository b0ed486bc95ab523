"""`discreet plan`: the ε, or the number of records, that a goal asks for."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from discreet.cli.confirmation import notice_little_said
from discreet.cli.options import ERROR_SCALE, JsonOption, MechanismOption, PriorOption, PublicOption
from discreet.cli.output_files import check_picture, check_place, tell_name, write_new
from discreet.errors import InvalidInputError
from discreet.present.progress import progress_bar
from discreet.present.terminal import errors_in_one_line, print_json, print_table
from discreet.requests.parsing import parse_list, parse_number, parse_prior, parse_public, parse_share

if TYPE_CHECKING:
    from discreet.planning.plans import Plan
    from discreet.planning.records_curves import RecordsCurve
    from discreet.planning.width_plans import WidthCurve, WidthPlan

_TWO = "1,1"
_ASSUMED = "This is for two categories; for five, say --prior uniform:5."


def plan(
    width: Annotated[
        str | None, typer.Option("--width", help="Expected width of the published 95 % intervals to aim for, such as 4% or 0.04.")
    ] = None,
    price: Annotated[
        str | None, typer.Option("--price", help="How many times as wide as without privacy they may be, such as 1.1.")
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(
            "--error", help="The papers' mean Hellinger error to aim for: 0.05 is hard to see in a plot, 0.2 is half a standard deviation."
        ),
    ] = None,
    n: Annotated[int | None, typer.Option("--n", "-n", help="Number of records: find epsilon.")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e", help="Privacy parameter: find the number of records.")] = None,
    prior: PriorOption = _TWO,
    mechanism: MechanismOption = "LatticeGeometric",
    public: PublicOption = "total",
    expect: Annotated[
        str | None,
        typer.Option("--expect", help="Guessed shares of the categories, such as 0.6,0.25,0.15 or 60%,25%,15%; never read off the data."),
    ] = None,
    worst: Annotated[
        bool, typer.Option("--worst", help="The widest category instead of the average; with --error, the worst dataset.")
    ] = False,
    curve: Annotated[bool, typer.Option("--curve", help="Given --n: widths for several epsilons; given --epsilon: for several n.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="With --curve: a picture of it, in a new file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the epsilon (given --n) or the number of records (given --epsilon) with which readers' intervals are narrow enough.

    Given both and no goal, say how wide the intervals will be.

    No data are looked at, so choosing by the answer is public. With --public nothing n stays private and is a guess, which must not come
    from the data. For one group of a table give the n of that group; if only the table's total is public,
    --public nothing and half the table's epsilon.

    Example: discreet plan --width 4% --n 2700 --prior uniform:5
    """
    from discreet.planning.plans import plan as compute
    from discreet.planning.records_curves import records_curve
    from discreet.planning.width_plans import width_curve

    with errors_in_one_line(), progress_bar(not as_json) as progress:
        goals: dict[str, Any] = {name: _share(text, f"--{name}") for name, text in {"width": width, "price": price, "error": error}.items()}
        shares = None if expect is None else [parse_share(part, "--expect") for part in parse_list(expect, "--expect")]
        options: dict[str, Any] = {"mechanism": mechanism, "expect": shares, "worst": worst, "public": parse_public(public)}
        _check_question([f"--{name}" for name, value in goals.items() if value is not None], n, epsilon, curve=curve, plot=plot)
        level = None if epsilon is None else parse_number(epsilon, "--epsilon")
        if curve and n is not None:
            drawn: WidthCurve | RecordsCurve = width_curve(parse_prior(prior), n, progress=progress, **options)
        elif curve and level is not None:
            drawn = records_curve(parse_prior(prior), level, progress=progress, **options)
        else:
            found = compute(parse_prior(prior), n=n, epsilon=level, progress=progress, **goals, **options)
    if curve:
        with errors_in_one_line():
            _show_curve(drawn, plot, as_json=as_json)
    else:
        _show_plan(found, prior, as_json=as_json)


def _share(text: str | None, option: str) -> Fraction | None:
    return None if text is None else parse_share(text, option)


def _check_question(given: list[str], n: int | None, epsilon: str | None, *, curve: bool, plot: Path | None) -> None:
    """One goal and one of n and ε, or both and no goal, or a curve for one of them; with a curve, a plot of it."""
    if plot is not None and not curve:
        raise InvalidInputError("--plot draws a curve: add --curve")
    if plot is not None:
        check_picture(plot)
        check_place(plot, "--plot", {}, why="it may be something else")
    if curve:
        if (n is None) == (epsilon is None) or given:
            raise InvalidInputError("--curve takes either --n, for several epsilons, or --epsilon, for several n, and no goal")
        return
    if not given and n is not None and epsilon is not None:
        return
    if len(given) != 1:
        many = f"got {' and '.join(given)}" if given else "got none"
        raise InvalidInputError(f"give one goal: --width 4%, --price 1.1 or --error 0.05; {many}")
    if (n is None) == (epsilon is None):
        raise InvalidInputError("give either --n, to find epsilon, or --epsilon, to find n; or both and no goal, to see what they give")


def _show_plan(found: "WidthPlan | Plan", prior: str, *, as_json: bool) -> None:
    from discreet.planning.plans import Plan

    notice_little_said(found.n, found.epsilon, found.public)
    if as_json:
        print_json(found.to_dict())
    elif isinstance(found, Plan):
        _show_error_plan(found, prior)
    else:
        assumed = [_ASSUMED] if prior == _TWO else []
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
