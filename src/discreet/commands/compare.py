"""`discreet compare`: every mechanism side by side for a prior, a number of records and ε."""

from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from discreet.commands.options import EpsilonOption, JsonOption, PriorOption, RecordsOption, errors_in_one_line, parse_prior, print_json
from discreet.commands.progress import progress_bar

__all__ = ["compare"]


def compare(
    n: RecordsOption,
    epsilon: EpsilonOption = "1",
    prior: PriorOption = "1,1",
    delta: Annotated[str, typer.Option(help="For HellingerSmoothDelta.")] = "1e-8",
    as_json: JsonOption = False,
) -> None:
    """Compare all mechanisms: expected Hellinger error, worst case, 95 % quantile, computed loss, ratio to the best possible.

    No data are looked at, so choosing a mechanism or epsilon by this table is public.

    Example: discreet compare --n 1000 --epsilon 1 --prior 1,1
    """
    from discreet.comparison import PUBLIC_CHOICE
    from discreet.comparison import compare as compute

    with errors_in_one_line(), progress_bar(not as_json) as progress:
        found = compute(parse_prior(prior), n, epsilon, delta=delta, progress=progress)
    if as_json:
        optimum = found.optimum
        print_json({"prior": prior, "n": n, "epsilon": float(found.epsilon), "optimum": optimum, "rows": found.to_dicts()})
        return
    headings, rows = found.cells()
    table = Table(title=found.caption, caption=PUBLIC_CHOICE, box=SIMPLE, padding=(0, 1, 0, 0))  # fits 80 columns
    for i, heading in enumerate(headings):
        width = max(len(row[i]) for row in rows)  # at 80 columns headings and guarantees are broken over lines, names and numbers not
        table.add_column(heading, justify="left" if i < 2 else "right", min_width=width if i != 1 else 6, max_width=width if i != 1 else 9)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)
