"""`discreet plan` and `discreet compare`: the ε, the number of records, or the mechanism that a goal asks for."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.cli.output_files import check_place, write_new
from discreet.cli.questions import ERROR_SCALE, asks
from discreet.present.terminal import notice, print_json, print_lines, print_table, progress_bar, table_of
from discreet.requests.kinds import sized_prior_text
from discreet.requests.plan import CompareRequest, PlanRequest
from discreet.requests.release_steps import little_said

if TYPE_CHECKING:
    from discreet.planning.comparison import Comparison
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
        _show_table(asked)
        return
    if asked.plot is not None:
        check_place(asked.plot, "--plot", {}, why="it may be something else")
    if asked.about == "records":
        _show_noise_width(asked)
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
        _show_curve(drawn, asked)
    else:
        _show_plan(found, asked)


def _show_table(asked: PlanRequest) -> None:
    """The widths in every group of a table, under each promise."""
    from discreet.planning.table_widths import table_widths

    with progress_bar(not asked.as_json):
        found = table_widths(asked.prior, asked.n or 0, asked.epsilon, asked.by, asked.expect_groups)
    if asked.as_json:
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


def _show_noise_width(asked: PlanRequest) -> None:
    """The widths of intervals of the noise alone, which shares of these very records have."""
    from discreet.planning.curves import noise_width

    found = noise_width(asked.prior, asked.mechanism, n=asked.n, epsilon=asked.epsilon, width=asked.width)
    if asked.as_json:
        print_json(found.to_dict())
    else:
        typer.echo(found.sentence)


def _show_plan(found: "WidthPlan | Plan", asked: PlanRequest) -> None:
    from discreet.planning.plans import Plan

    _notice_little_said(found)
    if asked.as_json:
        print_json(found.to_dict())
    elif isinstance(found, Plan):
        _show_error_plan(found, sized_prior_text(asked.prior))
    else:
        assumed = [] if any(one.name == "prior" for one, _ in asked.given()) else [_ASSUMED]
        typer.echo("\n".join([found.sentence, *assumed, found.precision, found.choice]))


def _notice_little_said(found: "WidthPlan | Plan | Comparison") -> None:
    """Say it where ε is so small for n records that only the prior speaks. Where n is private it is a guess."""
    said = little_said(found.n, found.epsilon, found.public)
    if said is not None:
        notice(said)


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


def _show_curve(curve: "WidthCurve", asked: PlanRequest) -> None:
    if asked.plot is not None:
        _draw_curve(curve, asked.plot)
    if asked.as_json:
        given = curve.given if isinstance(curve.given, int) else float(curve.given)
        about = {"mechanism": curve.mechanism, curve.given_name: given, "public": curve.public}
        plain = {"width_without_privacy": float(curve.plain[0])} if curve.across == "epsilon" else {}
        print_json({**about, **plain, "rows": curve.to_dicts()})
        return
    headings, rows = curve.cells()
    print_table(table_of(curve.caption, (), headings, rows))


def _draw_curve(curve: "WidthCurve", plot: Path) -> None:
    import matplotlib.pyplot as plt

    from discreet.plotting.style import content_of

    curve.plot()
    figure = plt.gcf()
    try:
        write_new(plot, content_of(figure, plot.suffix[1:].lower()))
    finally:
        plt.close(figure)


_LEGEND = {
    "guarantee": "ε, then δ if there is one, and whether a proof or a computation of this very configuration stands for it",
    "width": "expected width of the 95 % intervals that readers compute, in percentage points, averaged over the categories",
    "loss": "the privacy loss that was computed; what it falls short of ε is noise that is not needed",
    "mean error": "over data drawn from the prior predictive, ± the standard error of a simulation",
    "worst": "mean error at the worst dataset",
    "95 %": "the error that is not exceeded with probability 95 %",
    "× best": "mean error over the least that any ε-private mechanism reporting counts of total n can have",
    "-": "not computed at this size",
}

_TEXT_COLUMNS = ("mechanism", "guarantee")


@asks(CompareRequest)
def compare(asked: CompareRequest) -> None:
    """Compare all mechanisms: how wide readers' intervals will be, the computed loss, and the papers' Hellinger errors.

    Mechanisms are ranked by the expected width of the 95 % intervals that allow for the noise.

    An error of 0 is the same posterior, 1 nothing in common; 0.05 is hard to see in a plot, 0.2 is half a standard deviation.

    No data are looked at, so choosing a mechanism or epsilon by this table is public. With --public nothing the promise hides that someone
    took part, n stays private, and --n is a guess, which must not come from the data.

    Example: discreet compare --n 1000 --epsilon 1 --prior 1,1
    """
    from discreet.planning.comparison import compare as compute

    with progress_bar(not asked.as_json) as progress:
        found = compute(asked.prior, asked.n, asked.epsilon, progress=progress, **asked.arguments("compare"))
    _notice_little_said(found)
    if asked.as_json:
        optimum = found.optimum
        concentration = [float(a) for a in found.prior.exact]
        about = {
            "prior": concentration,
            "n": asked.n,
            "public": asked.public,
            "neighbours": str(found.relation),
            "epsilon": float(found.epsilon),
        }
        print_json({**about, "width_without_privacy": float(found.plain), "optimum": optimum, "rows": found.to_dicts()})
        return
    headings, rows = found.cells()
    table = Table(title=found.caption, box=SIMPLE_HEAD, padding=0, show_edge=False, pad_edge=False)
    for i, heading in enumerate(headings):
        broken = heading if max(len(row[i]) for row in rows) >= len(heading) else heading.replace(" ", "\n", 1)
        table.add_column(broken, justify="left" if heading in _TEXT_COLUMNS else "right", no_wrap=heading != "guarantee")
    for row in rows:
        table.add_row(*(_short(text) if heading == "guarantee" else text for heading, text in zip(headings, row, strict=True)))
    print_table(table)
    typer.echo()
    used = {*headings, *(cell for row in rows for cell in row)}
    print_lines([(name, meaning) for name, meaning in _LEGEND.items() if name in used])
    scale = [ERROR_SCALE] if asked.errors else []
    Console(highlight=False).print("", *found.reasons, *scale, found.choice, sep="\n", markup=False)


def _short(guarantee: str) -> str:
    """ "ε = 0.5 by computation" as "0.5 computed"; what the column is about is said below the table."""
    if guarantee.startswith("not"):
        return "-"
    return guarantee.replace("ε = ", "").replace("δ = ", "").replace("by computation", "computed").replace("by proof", "proof")
