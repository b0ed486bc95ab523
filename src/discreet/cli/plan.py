"""`discreet plan`: the ε, or the number of records, that a goal asks for."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from discreet.cli.confirmation import notice_little_said
from discreet.cli.options import ERROR_SCALE
from discreet.cli.output_files import check_place, tell_name, write_new
from discreet.cli.questions import asks
from discreet.present.progress import progress_bar
from discreet.present.terminal import print_json, print_table, table_of
from discreet.requests.kinds import sized_prior_text
from discreet.requests.plan import PlanRequest

if TYPE_CHECKING:
    from discreet.planning.curves import WidthCurve
    from discreet.planning.plans import Plan
    from discreet.planning.width_plans import WidthPlan

_ASSUMED = "This is for two categories; for five, say --prior uniform:5."


@asks(PlanRequest)
def plan(asked: PlanRequest) -> None:
    """Find the epsilon (given --n) or the number of records (given --epsilon) with which readers' intervals are narrow enough.

    Given both and no goal, say how wide the intervals will be.

    No data are looked at, so choosing by the answer is public. With --public nothing n stays private and is a guess, which must not come
    from the data. With --by it says how wide the intervals of every group of a table will be, whatever is public.

    For all tables of a study at once, give its file: discreet plan study.toml --help says how.

    Examples: discreet plan --width 4% --n 2700 --prior uniform:5, or discreet plan --by sex=f,m --n 2700 --epsilon 1
    """
    from discreet.planning.curves import records_curve, width_curve
    from discreet.planning.plans import plan as compute

    asked.check()
    if asked.by is not None:
        _show_table(asked, as_json=asked.as_json)
        return
    if asked.plot is not None:
        check_place(asked.plot, "--plot", {}, why="it may be something else")
    if asked.about == "records":
        _show_noise_width(asked, as_json=asked.as_json)
        return
    options = asked.arguments("options")
    with progress_bar(not asked.as_json) as progress:
        if asked.curve and asked.n is not None:
            drawn = width_curve(asked.prior, asked.n, progress=progress, **options)
        elif asked.curve and asked.epsilon is not None:
            drawn = records_curve(asked.prior, asked.epsilon, progress=progress, **options)
        else:
            found = compute(asked.prior, progress=progress, **asked.arguments("plan"), **options)
    if asked.curve:
        _show_curve(drawn, asked.plot, as_json=asked.as_json)
    else:
        _show_plan(found, asked)


def _show_table(asked: PlanRequest, *, as_json: bool) -> None:
    """The widths in every group of a table, under each promise."""
    from discreet.planning.table_widths import table_widths

    with progress_bar(not as_json):
        found = table_widths(asked.prior, asked.n or 0, asked.epsilon, asked.by, asked.expect_groups)
    if as_json:
        print_json(found.to_dict())
        return
    headings, rows = found.cells()
    print_table(table_of(found.caption, headings[:1], headings[1:], rows))
    typer.echo(
        "Public sizes do not hide anyone's group. With nothing public it is also hidden who took part, by ε; another answer, which the "
        "other two hide by ε, is then hidden by 2ε."
    )
    guess = "" if asked.expect_groups is not None else " Groups are taken to be equally large: --expect-groups says otherwise."
    typer.echo(f"No data were looked at: choosing by this is public.{guess}")


def _show_noise_width(asked: PlanRequest, *, as_json: bool) -> None:
    """The widths of intervals of the noise alone, which shares of these very records have."""
    from discreet.planning.noise_widths import noise_width

    found = noise_width(asked.prior, asked.mechanism, n=asked.n, epsilon=asked.epsilon, width=asked.width)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(found.sentence)


def _show_plan(found: "WidthPlan | Plan", asked: PlanRequest) -> None:
    from discreet.planning.plans import Plan

    notice_little_said(found.n, found.epsilon, found.public)
    if asked.as_json:
        print_json(found.to_dict())
    elif isinstance(found, Plan):
        _show_error_plan(found, sized_prior_text(asked.prior))
    else:
        assumed = [] if any(one.name == "prior" for one, _ in asked.given()) else [_ASSUMED]
        typer.echo("\n".join([found.sentence, *assumed, found.precision, found.choice]))


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


def _show_curve(curve: "WidthCurve", plot: Path | None, *, as_json: bool) -> None:
    if plot is not None:
        _draw_curve(curve, plot)
    if as_json:
        given = curve.given if isinstance(curve.given, int) else float(curve.given)
        about = {"mechanism": curve.mechanism, curve.given_name: given, "public": curve.public}
        plain = {"width_without_privacy": float(curve.plain[0])} if curve.across == "epsilon" else {}
        print_json({**about, **plain, "rows": curve.to_dicts()})
        return
    headings, rows = curve.cells()
    print_table(table_of(curve.caption, (), headings, rows))


def _draw_curve(curve: "WidthCurve", plot: Path) -> None:
    import matplotlib.pyplot as plt

    from discreet.plotting.saving import content_of

    curve.plot()
    figure = plt.gcf()
    try:
        tell_name(write_new(plot, content_of(figure, plot.suffix[1:].lower())), plot)
    finally:
        plt.close(figure)
