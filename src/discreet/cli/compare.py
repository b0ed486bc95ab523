"""`discreet compare`: every mechanism side by side for a prior, a number of records and ε."""

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.cli.confirmation import notice_little_said
from discreet.cli.options import ERROR_SCALE
from discreet.cli.questions import asks
from discreet.present.progress import progress_bar
from discreet.present.terminal import print_json, print_lines, print_table
from discreet.requests.plan import CompareRequest

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
    notice_little_said(found.n, found.epsilon, found.public)
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
