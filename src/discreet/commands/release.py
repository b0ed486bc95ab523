"""`discreet release`: from a table to a published posterior."""

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from discreet.commands.options import JsonOption, errors_in_one_line
from discreet.errors import DiscreetError, InvalidInputError, LedgerError

if TYPE_CHECKING:
    from discreet.distributions import Dirichlet
    from discreet.mechanisms import Mechanism
    from discreet.release import Release
    from discreet.sources import CategoryCounts

__all__ = ["release"]

_DEFAULT = "lattice"
_TALLEST = 40.0
"""Inches: more than this many rows of a picture are no longer read, and a picture has a largest size."""


def release(
    file: Annotated[str, typer.Argument(help="A CSV, Parquet or JSON file, or a pattern such as 'part-*.parquet'.", show_default=False)],
    column: Annotated[str, typer.Option("--column", "-c", help="The column that holds the answers.")],
    categories: Annotated[str, typer.Option("--categories", help="The declared categories, separated by commas: a,b,c. They are public.")],
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy parameter, as a decimal or a fraction.")],
    mechanism: Annotated[str, typer.Option("--mechanism", "-m", help="Any of the papers' names or ours.")] = _DEFAULT,
    prior: Annotated[str, typer.Option(help="uniform, jeffreys, or a concentration for each category: 1,1,1.")] = "uniform",
    privacy_id: Annotated[str | None, typer.Option(help="The column that says whose a row is: protect persons, not rows.")] = None,
    nulls: Annotated[str, typer.Option(help="The declared category that takes missing answers; by default they are an error.")] = "error",
    other: Annotated[str, typer.Option(help="The declared category that takes undeclared answers; by default an error.")] = "error",
    gamma: Annotated[str | None, typer.Option(help='For HellingerSmooth: a number, or "best".')] = None,
    delta: Annotated[str | None, typer.Option(help="For HellingerSmoothDelta.")] = None,
    ledger: Annotated[str | None, typer.Option(help="The budget ledger: a file, or a database URL.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The ledger's name for these records.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the public record to this JSON file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the posteriors to this PNG, SVG or PDF file.")] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; for use with --output.")] = False,
) -> None:
    """Count a column, draw a private posterior from exactly its proven law, and say what it promises.

    The spend is written to the ledger before anything is drawn. What is printed or written may be published.

    Example: discreet release survey.csv --column smoking --categories never,former,current --epsilon 1 --privacy-id participant
    """
    with errors_in_one_line():
        _check_options(ledger, dataset, output, plot, quiet=quiet)
        labels = [label.strip() for label in categories.split(",")]
        known = _prior(prior, labels)
        from discreet.sources import count

        counts = count(file, column, labels, privacy_id=privacy_id, nulls=nulls, other=other)
        options: dict[str, Any] = {name: value for name, value in (("gamma", gamma), ("delta", delta)) if value is not None}
        found, spent = _released(mechanism, known, counts, epsilon, options, ledger, dataset, note=f"{column} of {Path(file).name}")
        if output is not None:
            _write(output, found.to_json().encode())
        if plot is not None:
            _draw(found, plot)
    if quiet:
        return
    if as_json:
        typer.echo(found.to_json())
    else:
        _show(found, spent, default=mechanism == _DEFAULT)


def _check_options(ledger: str | None, dataset: str | None, output: Path | None, plot: Path | None, *, quiet: bool) -> None:
    """Whatever can be wrong with the options is found before any data is read or budget spent."""
    if (ledger is None) != (dataset is None):
        raise InvalidInputError("--ledger and --dataset go together: which budget is this release to be taken from?")
    if quiet and output is None:
        raise InvalidInputError("--quiet without --output would draw a release that nobody sees")
    for path in (output, plot):
        if path is not None:
            _check_place(path)
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InvalidInputError(f"--plot must end in .png, .svg or .pdf, got {plot.name}")


def _check_place(path: Path) -> None:
    """Refuse a place that nothing can be written to. What is there and no file, such as a device, must not be replaced by one."""
    try:
        if not path.absolute().parent.is_dir() or (path.exists() and not path.is_file()):
            raise InvalidInputError(f"{path} must be a file in a folder that exists")  # noqa: TRY301
        partial = _partial(path)
        partial.touch()
        partial.unlink()
    except InvalidInputError:
        raise
    except (OSError, ValueError):
        raise InvalidInputError(f"{path} cannot be written to: check the name, and who may write to its folder") from None


def _partial(path: Path) -> Path:
    """Where a file is written before it is put in its place."""
    return path.with_name(f"{path.name}.{os.getpid()}.partial")


def _prior(text: str, labels: list[str]) -> "Dirichlet":
    from discreet.distributions import Dirichlet
    from discreet.validation import shown

    named = {"uniform": Dirichlet.uniform, "jeffreys": Dirichlet.jeffreys}
    if text in named:
        return named[text](categories=labels)
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != len(labels):
        raise InvalidInputError(f"--prior must be uniform, jeffreys or {len(labels)} numbers, one for each category; got {shown(text)!r}")
    return Dirichlet(parts, categories=labels)


def _released(
    name: str,
    prior: "Dirichlet",
    counts: "CategoryCounts",
    epsilon: str,
    options: dict[str, Any],
    ledger: str | None,
    dataset: str | None,
    note: str,
) -> "tuple[Release, str | None]":
    """The release, and what the ledger says about it."""
    from discreet.ledger import Ledger
    from discreet.mechanisms import mechanism as find

    mechanism: Mechanism = find(name, prior, counts.total, epsilon, **options)
    if ledger is None or dataset is None:
        return mechanism.release(counts), None
    book = Ledger(ledger)
    found = book.release(dataset, mechanism, counts, note=note)
    try:
        return found, f"{book.remaining(dataset)} left for {dataset!r}"
    except LedgerError:  # what has been drawn and charged is worth more than this line
        return found, f"what is left for {dataset!r} could not be read"


def _write(path: Path, content: bytes) -> None:
    """The whole file or none of it."""
    partial = _partial(path)
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise DiscreetError(f"the release was drawn and charged, but {path} could not be written: {error.strerror}") from None


def _draw(found: "Release", path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, min(_TALLEST, 1.2 + 0.6 * len(found.counts))), layout="constrained")
    found.plot(figure.add_subplot())
    picture = BytesIO()
    figure.savefig(picture, dpi=150, format=path.suffix[1:].lower())
    _write(path, picture.getvalue())


def _show(found: "Release", spent: str | None, *, default: bool) -> None:
    console = Console(highlight=False, emoji=False)
    console.print(_table(found))
    people = found.guarantee.unit == "person"
    console.print(f"[bold]Promise[/]   {escape(str(found.guarantee))}")
    console.print(f"[bold]Protected[/] what {'a person answered, in all their rows' if people else 'a row says'}; not that it is there")
    console.print(f"[bold]Public[/]    n = {found.n:,} {'persons' if people else 'records'}, the categories, the prior and the mechanism")
    if default:
        console.print("[bold]Mechanism[/] LatticeGeometric, the most accurate one with a proof: within a few percent of the best possible")
    if spent is None:
        console.print("[bold]Ledger[/]    none was named, so nobody adds up what this dataset has given away (--ledger, --dataset)")
    else:
        console.print(f"[bold]Ledger[/]    spent before the draw; {escape(spent)}")


def _table(found: "Release") -> Table:
    """The reported counts and, where the noise can be allowed for, posterior means with intervals that do."""
    table = Table(title="Private posterior")
    table.add_column("category")
    for name in ("reported count", "mean", "95 % interval, noise allowed for"):
        table.add_column(name, justify="right")
    try:
        posterior = found.noise_aware()
        means = [f"{mean:.4f}" for mean in posterior.mean()]
        intervals = [f"{low:.4f} to {high:.4f}" for low, high in posterior.interval(0.95)]
    except DiscreetError as error:
        means = intervals = ["not available"] * len(found.counts)
        table.caption = Text(str(error))
    for row in zip(found.prior.categories, found.counts, means, intervals, strict=True):
        table.add_row(*(Text(str(cell)) for cell in row))
    return table
