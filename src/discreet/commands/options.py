"""What several commands share: options as text, and one way to print and to fail."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from discreet.errors import DiscreetError, InvalidInputError

if TYPE_CHECKING:
    from discreet.distributions import Dirichlet

__all__ = ["FAILED", "EpsilonOption", "JsonOption", "PriorOption", "RecordsOption", "errors_in_one_line", "parse_prior", "print_json"]

FAILED = 1
"""Exit code of a command whose answer is no."""
_BAD_INPUT = 2
_LONGEST_SIZE = 6
"""Digits of a number of categories."""

PriorOption = Annotated[
    str, typer.Option("--prior", help="Concentrations such as 1,1,1, or uniform:K or jeffreys:K for K categories.", show_default=True)
]
RecordsOption = Annotated[int, typer.Option("--n", "-n", help="Number of records, which is public.")]
EpsilonOption = Annotated[str, typer.Option("--epsilon", "-e", help="Privacy parameter, as a decimal or a fraction.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def parse_prior(text: str) -> "Dirichlet":
    """The prior that a text such as `1,1`, `uniform:3` or `jeffreys:4` stands for."""
    from discreet.distributions import Dirichlet
    from discreet.validation import shown

    family, colon, size = text.partition(":")
    named = {"uniform": Dirichlet.uniform, "jeffreys": Dirichlet.jeffreys}
    if colon and family in named:
        if not (size.isascii() and size.isdigit() and len(size) <= _LONGEST_SIZE):
            raise InvalidInputError(f"prior must name a number of categories after the colon, such as {family}:3; got {shown(text)!r}")
        return named[family](int(size))
    parts = [part.strip() for part in text.split(",")]
    try:
        return Dirichlet(parts)
    except InvalidInputError as error:
        raise InvalidInputError(f"prior must be numbers such as 1,1,1, or uniform:K or jeffreys:K; got {shown(text)!r} ({error})") from None


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn an error raised on purpose into one line on standard error and exit code 2: never a traceback."""
    try:
        yield
    except DiscreetError as error:
        message = " ".join(str(error).splitlines())
        Console(stderr=True, highlight=False, emoji=False).print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
        raise typer.Exit(_BAD_INPUT) from None


def print_json(value: Any) -> None:
    """JSON on standard output, with fractions as strings."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value
