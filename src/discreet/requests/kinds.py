"""The kinds of fields that questions have: each reads a text, and writes a value so that it is read as the same."""

import csv
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidInputError
from discreet.requests.fields import FieldContext, Kind
from discreet.requests.parsing import (
    check_labels,
    parse_cells,
    parse_groups,
    parse_labels,
    parse_list,
    parse_mapping,
    parse_number,
    parse_other_groups,
    parse_prior,
    parse_share,
    parse_whole,
)
from discreet.text import shown

if TYPE_CHECKING:
    from discreet.model.cells import Groups
    from discreet.model.dirichlet import Dirichlet


NAMED_PRIORS = ("uniform", "jeffreys")


# --- writing ----------------------------------------------------------------------------------------------------------


def number_words(value: Fraction) -> str:
    """An exact number as short as it can be typed: a decimal, or else a fraction."""
    try:
        decimal = repr(float(value)).removesuffix(".0")
    except OverflowError:  # beyond all floats
        return str(value)
    return decimal if Fraction(decimal) == value else str(value)


def quoted(value: Fraction) -> str:
    """An exact number as a literal of Python: whole ones as they are, others as text, which is read exactly."""
    return str(value) if value.denominator == 1 else repr(number_words(value))


def list_text(labels: Sequence[Hashable]) -> str | None:
    """Labels as a command takes them, separated by commas, or the rule that makes them; None where it would take them for others."""
    from discreet.data.made_labels import MadeLabels, typed_labels
    from discreet.validation import spelling

    if isinstance(labels, MadeLabels):
        return labels.typed()
    line, spelled = StringIO(), [spelling(label) for label in labels]
    csv.writer(line, lineterminator="").writerow(spelled)
    try:
        same = typed_labels(line.getvalue()) is None and parse_list(line.getvalue(), "") == spelled
    except InvalidInputError:
        return None
    return line.getvalue() if same else None


def _not_a_file(text: str | None) -> str | None:
    """A list that a shell would take for the name of a file cannot be typed."""
    return None if text is None or text.startswith("@") else text


def prior_family(prior: "Dirichlet") -> str | None:
    """Return the name of a prior, if it has one."""
    return next((name for name, value in zip(NAMED_PRIORS, (1, Fraction(1, 2)), strict=True) if set(prior.exact) == {value}), None)


def prior_code(prior: "Dirichlet", *, labels: bool = True) -> str:
    """The Python that makes a prior, with the labels of the categories or only their number."""
    family, named = prior_family(prior), f"categories={list(prior.categories)!r}"
    if family is not None:
        return f"dc.Dirichlet.{family}({named if labels else prior.k})"
    return f"dc.Dirichlet({[number_words(a) for a in prior.exact]!r}{f', {named}' if labels else ''})"


def sized_prior_text(prior: "Dirichlet") -> str:
    """A prior as a command takes it that does not know the categories; two numbers are as short as a name."""
    family = prior_family(prior)
    return ",".join(map(number_words, prior.exact)) if family is None or prior.k == 2 else f"{family}:{prior.k}"


# --- kinds ------------------------------------------------------------------------------------------------------------


def _text(text: str, _: FieldContext) -> str:
    return text


def _source(text: str, _: FieldContext) -> str:
    """Check the place of the records: a file, or the address of a database without a password."""
    if "://" in text:
        from discreet.data.databases import check_no_password

        check_no_password(text)
    return text


def _number(text: str, reading: FieldContext) -> Fraction:
    return parse_number(text, reading.name)


def _positive(text: str, reading: FieldContext) -> Fraction:
    from discreet.validation import check_positive

    value = _number(text, reading)
    return value if reading.place == "shell" else check_positive(value, reading.name)


def _gamma(text: str, reading: FieldContext) -> Any:
    return text if text == "best" else _number(text, reading)


def _gamma_text(value: Any) -> str:
    return value if isinstance(value, str) else number_words(value)


def _limits(text: str, reading: FieldContext) -> list[Fraction]:
    """The limits of bands, also behind the name of the column that is counted."""
    from discreet.data.made_labels import Bands

    column, is_named, limits = text.rpartition("=")
    if is_named and column.strip() == reading.other("column"):
        text = limits
    elif is_named:
        raise InvalidInputError(
            f"{reading.name} must be of the column that is counted; of another one bands are groups, as in "
            f"{'--by ' if reading.place == 'shell' else ''}age=bands:18,35,55"
        )
    return list(Bands([parse_number(part, reading.name) for part in parse_list(text, reading.name)]).lows)


def _missing(text: str, reading: FieldContext) -> str:
    if reading.other("bands") is None:
        raise InvalidInputError(f"{reading.name} is about bands of a number, and none are declared: declare them, or leave it out")
    return text


def _labels(text: str | list[Fraction], reading: FieldContext) -> Sequence[str]:
    """The categories: separated by commas, or a rule; in a shell also after @ a file, and in a form one a line; or limits of bands."""
    from discreet.data.made_labels import Bands, typed_labels

    if not isinstance(text, str):
        return Bands(text, reading.other("missing"))
    made = typed_labels(text)
    if made is not None:
        return made
    if reading.place == "form":
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        labels: Sequence[str] = lines if len(lines) > 1 else parse_list(lines[0], reading.name)
        few = "type at least two categories, one a line, or separated by commas"
    else:
        labels = parse_labels(text, reading.name, reading.other("file") or "")
        few = f"{reading.name} needs at least two, separated by commas, such as yes,no; got {shown(text)!r}"
    if len(labels) < 2:
        raise InvalidInputError(few)
    check_labels(labels, reading.name, text)
    return labels


def _groups(texts: Sequence[str], reading: FieldContext) -> "Groups | None":
    if reading.place == "form":
        texts = [text.strip() for text in texts]
        for text in texts:
            if text.partition("=")[2].startswith("@"):
                raise InvalidInputError("type or paste the groups themselves, as in region=north,south: no file is read for them here")
            if not all(text.partition("=")):
                raise InvalidInputError(f"write a column, = and its groups, as in region=north,south; got {shown(text)!r}")
    return parse_groups(texts, reading.other("file") or "", reading.name)


def _groups_texts(groups: "Groups") -> list[str | None]:
    lines = [(column, _not_a_file(list_text(labels))) for column, labels in zip(groups.columns, groups.labels, strict=True)]
    return [None if text is None or "=" in column else f"{column}={text}" for column, text in lines]


def _groups_code(groups: "Groups") -> str:
    from discreet.data.made_labels import MadeLabels

    labels = [made.code() if isinstance(made, MadeLabels) else repr([*made]) for made in groups.labels]
    return "{" + ", ".join(f"{name!r}: {code}" for name, code in zip(groups.columns, labels, strict=True)) + "}"


def _of_groups(parse: Callable[[Sequence[str], str], Any]) -> Callable[[Sequence[str], FieldContext], Any]:
    """Reads what is about groups, and refuses it where none are declared."""

    def read(texts: Sequence[str], reading: FieldContext) -> Any:
        if texts and reading.other("by") is None:
            raise InvalidInputError(
                f"{reading.name} is about groups: declare them with --by"
                if reading.place == "shell"
                else "this is about groups, and none are declared: declare them, or leave it empty"
            )
        return parse(texts, reading.name)

    return read


def _mapping(texts: Sequence[str], reading: FieldContext) -> dict[str, str]:
    return parse_mapping(texts, reading.other("categories"), reading.other("file") if reading.place == "shell" else None)


def _pairs(found: Mapping[str, str]) -> list[str | None]:
    return [f"{name}={value}" for name, value in found.items()]


def _mapping_texts(found: Mapping[str, str]) -> list[str | None]:
    return [_not_a_file(text) for text in _pairs(found)]


def _prior(text: str, reading: FieldContext) -> "Dirichlet":
    return parse_prior(text, reading.other("categories"), reading.name)


def _prior_text(prior: "Dirichlet") -> str:
    return prior_family(prior) or ",".join(map(number_words, prior.exact))


def _public(text: str, reading: FieldContext) -> str:
    from discreet.validation import check_public

    return check_public(text, reading.name, groups=reading.other("by") is not None or reading.other("groups") is not None)


def _shares_of(text: str, reading: FieldContext) -> str:
    from discreet.validation import check_shares_of

    return check_shares_of(text, reading.name)


def _period(text: str, _: FieldContext) -> str:
    from discreet.model.periods import PeriodRange

    return str(PeriodRange.read(text))


def public_words(name: str) -> Kind:
    """Words that a record publishes: `name` says which of them."""

    def read(text: str, _: FieldContext) -> str:
        from discreet.record.about import About

        About(**{name: text})
        return text

    return Kind(read)


def _is_label(value: Any) -> bool:
    """Return whether a value of TOML may be a label."""
    return isinstance(value, (str, int))


def _are_labels(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_label, value))


TEXT_KIND = Kind(_text)
PERIOD_KIND = Kind(_period)
SOURCE_KIND = Kind(_source)
LABEL_KIND = Kind(_text, fits=_is_label, toml="a declared category")
SWITCH_KIND = Kind(lambda text, _: bool(text), shell_type=bool, fits=lambda value: isinstance(value, bool), toml="true or false")
WHOLE_KIND = Kind(lambda text, reading: parse_whole(text, reading.name), metavar="INTEGER")
NUMBER_KIND = Kind(_number, number_words, quoted)
POSITIVE_KIND = Kind(_positive, number_words, quoted, fits=lambda _: True, toml="a number above 0")
GAMMA_KIND = Kind(_gamma, _gamma_text, lambda value: repr(_gamma_text(value)))
SHARE_KIND = Kind(lambda text, reading: parse_share(text, reading.name), number_words, quoted)
SHARES_KIND = Kind(
    lambda text, reading: [parse_share(part, reading.name) for part in parse_list(text, reading.name)],
    lambda shares: ",".join(map(number_words, shares)),
    lambda shares: repr([number_words(share) for share in shares]),
)
TEXTS_KIND = Kind(lambda texts, _: list(texts), list, many=True)
LIST_KIND = Kind(
    lambda text, reading: parse_list(text, reading.name),
    lambda labels: list_text(labels) if labels else "",
    fits=_are_labels,
    toml="a list of texts or whole numbers",
)
LISTS_KIND = Kind(
    lambda texts, reading: [item for text in texts for item in parse_list(text, reading.name)],
    lambda labels: [list_text(labels)],
    many=True,
)
LABELS_KIND = Kind(
    _labels,
    lambda labels: _not_a_file(list_text(labels)),
    fits=lambda value: _are_labels(value) or isinstance(value, str),
    toml="a list of texts or whole numbers, such as ['low', 'mid', 'high'], or a rule, such as 'months:2026-01..2026-12'",
)
BANDS_KIND = Kind(
    _limits,
    lambda limits: ",".join(map(number_words, limits)),
    lambda limits: f"[{', '.join(map(quoted, limits))}]",
    fits=lambda value: isinstance(value, list),
    toml="a list of numbers, such as [0, 1, 3, 7]",
)
MISSING_KIND = Kind(_missing)
GROUPS_KIND = Kind(
    _groups,
    _groups_texts,
    _groups_code,
    many=True,
    fits=lambda value: isinstance(value, dict),
    toml="the groups of each column, as in by.age = ['18-34', '35+']",
)
CELLS_KIND = Kind(
    _of_groups(parse_cells),
    lambda cells: list(map(list_text, cells)),
    many=True,
    fits=lambda value: isinstance(value, list) and all(map(_are_labels, value)),
    toml="a list of cells, such as [['south', 'never']]",
)
GROUP_OF_EACH_KIND = Kind(
    _of_groups(parse_other_groups),
    _pairs,
    many=True,
    fits=lambda value: isinstance(value, dict) and _are_labels(list(value.values())),
    toml="a group for each of its columns",
)
MAPPING_KIND = Kind(_mapping, _mapping_texts, many=True)
PRIOR_KIND = Kind(_prior, _prior_text, prior_code)
SIZED_PRIOR_KIND = Kind(
    lambda text, reading: parse_prior(text, None, reading.name), sized_prior_text, lambda prior: prior_code(prior, labels=False)
)
PUBLIC_KIND = Kind(_public)
PUBLIC_CHOICES = {"total": "How many records there are", "sizes": "How many each group has", "nothing": "Nothing"}
"""The choices of what is public, as forms call them."""
SHARES_OF_KIND = Kind(_shares_of)


def file_kind(wanted: str = "", *endings: str) -> Kind:
    """A file whose name has one of these endings, which `wanted` says in words; without any, every name will do."""

    def read(text: Path | str, reading: FieldContext) -> Path:
        path = Path(text)
        if endings and path.suffix.lower() not in endings:
            raise InvalidInputError(f"{reading.name} must end in {wanted}, got {path.name or path}")
        return path

    return Kind(read, shell_type=Path)


TABLE_KIND = file_kind(".csv, .xlsx or .parquet", ".csv", ".xlsx", ".parquet")
OUTPUT: dict[str, Any] = {"kind": file_kind(), "short": ("-o",)}
RECORD_OUTPUT = {**OUTPUT, "kind": file_kind(".json, or for a table in .parquet", ".json", ".parquet")}
PAGE_OUTPUT = {**OUTPUT, "kind": file_kind(".html", ".html", ".htm"), "help": "Write the page to this new HTML file."}
PICTURE: dict[str, Any] = {"kind": file_kind(".png, .svg or .pdf", ".png", ".svg", ".pdf")}
AS_JSON: dict[str, Any] = {"kind": SWITCH_KIND, "help": "Print JSON instead of a table.", "option": "--json"}
YES: dict[str, Any] = {"kind": SWITCH_KIND, "short": ("-y",)}
