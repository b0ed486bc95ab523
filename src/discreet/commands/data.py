"""The options of `release` that say where the data are and how they are written."""

import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from discreet.commands.files import STANDARD_INPUT, is_same_file
from discreet.commands.options import parse_list
from discreet.data import scratch
from discreet.errors import InvalidInputError

if TYPE_CHECKING:
    from discreet.model.cells import Groups

FileArgument = Annotated[
    str,
    typer.Argument(
        help="A CSV, Parquet or JSON file, a pattern such as 'part-*.parquet', or - for CSV on standard input.", show_default=False
    ),
]
ColumnOption = Annotated[str, typer.Option("--column", "-c", help="The column that holds the answers.")]
CategoriesOption = Annotated[
    str,
    typer.Option(
        help="The declared categories, separated by commas: a,b,c; one that has a comma in quotes: '\"a,b\",c'; or @FILE, a text file "
        "with one on each line. They are public."
    ),
]
PrivacyIdOption = Annotated[
    str | None,
    typer.Option(
        help="The column that says whose a row is: protect persons, not rows. A person with several rows counts once, in the first of "
        "--categories that any of their rows says; put the one that matters first. With --public total the number of "
        "distinct ids is published."
    ),
]
NullsOption = Annotated[str, typer.Option(help="The declared category that takes missing answers; by default they are an error.")]
OtherOption = Annotated[str, typer.Option(help="The declared category that takes undeclared answers; by default an error.")]
NaValuesOption = Annotated[
    str, typer.Option("--na-values", help="What stands for a missing answer, separated by commas: NA,. (an empty cell always does).")
]
MapOption = Annotated[
    list[str] | None, typer.Option("--map", help="VALUE=CATEGORY: another way to write a category. May be given several times.")
]
EncodingOption = Annotated[str, typer.Option(help="The encoding of a CSV file, such as latin-1 or cp1252.")]
WeightOption = Annotated[
    str | None,
    typer.Option(
        help="The column that says how many records a row stands for, in a table that is already counted. Protected is then one unit "
        "of weight, not a row."
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="For services: refuse nothing for what the data say. --other also takes what cannot be read, --nulls rows without an id.",
    ),
]

ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="COLUMN=GROUP,GROUP,...: a posterior for each of these groups, all for one epsilon; COLUMN=@FILE reads them from a text file, "
        "one on each line. May be given several times: the groups are then all combinations. They are public.",
    ),
]
OtherGroupOption = Annotated[
    list[str] | None,
    typer.Option("--other-group", help="COLUMN=GROUP: the declared group that takes undeclared and missing ones; by default an error."),
]
ImpossibleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--impossible", help="GROUP,...,CATEGORY: a cell that cannot occur, and needs no noise: m,pregnant. May be given several times."
    ),
]

_LARGEST_LIST = 1 << 28
"""Bytes of a file of categories or groups."""


@contextmanager
def opened(file: str) -> Iterator[str | BinaryIO]:
    """What is to be counted: the path, or standard input. Whatever spills meanwhile is removed even if the process is told to end."""
    if file == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
        raise InvalidInputError("FILE is -, which means a CSV file on standard input, and none is there: pipe one in, as in `cat a.csv |`")
    with scratch.removed_on_termination():
        yield sys.stdin.buffer if file == STANDARD_INPUT else file


def parse_labels(text: str, option: str, file: str) -> list[str]:
    """The categories or groups of an option: separated by commas, or, after @, one on each line of a file."""
    if not text.startswith("@"):
        return parse_list(text, option)
    path = Path(text[1:])
    if file != STANDARD_INPUT and is_same_file(path, file):
        raise InvalidInputError(f"{option} {text} is also the private data: what is declared is published, so list it elsewhere")
    try:
        with path.expanduser().open("rb") as stream:
            content = stream.read(_LARGEST_LIST + 1)
        lines = content.decode("utf-8-sig").splitlines()
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text" if isinstance(error, UnicodeError) else "not a path"
        raise InvalidInputError(f"{option} {text} cannot be read ({why}): name a text file with one on each line") from None
    if len(content) > _LARGEST_LIST:
        raise InvalidInputError(f"{option} {text} is too large to be such a list")
    return [line.strip() for line in lines]


def check_labels(labels: Sequence[str], option: str, text: str) -> None:
    """Refuse a list in which one has no name or is declared twice."""
    from discreet.validation import shown

    if "" in labels:
        where = "a blank line" if "@" in text else "a comma too many"
        raise InvalidInputError(f"{option} has one without a name; remove {where}, or name it: got {shown(text)!r}")
    for label, times in Counter(labels).items():
        if times > 1:
            raise InvalidInputError(f"{option}: {shown(label)!r} is declared twice; name each once")


def parse_groups(texts: Sequence[str], file: str) -> "Groups | None":
    """The groups that `--by COLUMN=GROUP,GROUP` declares; None without any."""
    from discreet.model.cells import groups_of
    from discreet.validation import shown

    columns: dict[str, list[str]] = {}
    for text in texts:
        column, equals, listed = text.partition("=")
        if not (column and equals and listed):
            raise InvalidInputError(f"--by must be COLUMN=GROUP,GROUP,... or COLUMN=@FILE, as in region=north,south; got {shown(text)!r}")
        if column in columns:
            raise InvalidInputError(f"--by names the column {shown(column)!r} twice; list all its groups at once")
        columns[column] = parse_labels(listed, "--by", file)
        check_labels(columns[column], f"--by {shown(column)}", listed)
    return groups_of(columns) if columns else None


def parse_other_groups(texts: Sequence[str]) -> dict[str, str]:
    """The groups that `--other-group COLUMN=GROUP` names, by column."""
    from discreet.validation import shown

    found: dict[str, str] = {}
    for text in texts:
        column, equals, group = text.partition("=")
        if not (column and equals and group) or column in found:
            raise InvalidInputError(f"--other-group must be COLUMN=GROUP, each column once; got {shown(text)!r}")
        found[column] = group
    return found


def parse_cells(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The cells that `--impossible GROUP,...,CATEGORY` names."""
    return [tuple(parse_list(text, "--impossible")) for text in texts]


def parse_mapping(texts: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """The values that `--map VALUE=CATEGORY` maps, each once, and what to. A value may have = in it, and blanks, which matter."""
    from discreet.validation import shown

    known = frozenset(labels)
    lengths = frozenset(map(len, known))
    mapping: dict[str, str] = {}
    for text in texts:
        value, category = _split(text, known, lengths)
        if not value:
            raise InvalidInputError(
                f"write spelling=category, with one of the categories after the =; got {shown(text)!r}",
                in_shell=f"--map must be VALUE=CATEGORY, with one of --categories after the =; got {shown(text)!r}",
            )
        if value in mapping:
            fault = f"{shown(value)!r} is mapped twice; map each value once"
            raise InvalidInputError(fault, in_shell=f"--map: {fault}")
        mapping[value] = category
    return mapping


def _split(text: str, known: Container[str], lengths: Container[int]) -> tuple[str, str]:
    """What stands before and after the first = that a known category follows; two empty texts if none does."""
    for place, character in enumerate(text):
        if character == "=" and len(text) - place - 1 in lengths and text[place + 1 :] in known:
            return text[:place], text[place + 1 :]
    return "", ""
