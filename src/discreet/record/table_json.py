"""The written form of a table: JSON, version 3, and the header in a Parquet file beside its cells (docs/reference/release.md)."""

import json
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError
from discreet.model.cells import Groups, groups_in
from discreet.record.about import About
from discreet.record.guarantee import Guarantee
from discreet.record.json import (
    TABLE,
    check_fields,
    fields_of,
    read_description,
    read_integer,
    read_label,
    read_number,
    read_prior,
    written_description,
    written_guarantee,
    written_label,
    written_number,
    written_prior,
)

if TYPE_CHECKING:
    from discreet import Mechanism, Release

HEADER = ("format", "version", "mechanism", "parameters", "prior", "n", "groups", "impossible", "shares", "priors", "guarantee")
"""The fields of a table's record beside its cells."""
_TABLE_FIELDS = (*HEADER, "raw", "counts")


# --- writing ----------------------------------------------------------------------------------------------------------


def written_table(release: "Release") -> str:
    """JSON text of a table; InvalidInputError, before anything large is made, if it has more cells than a text is read for."""
    cells, size = release.cells, release.cells.shape[0] * release.cells.shape[1]
    if size > limits.RECORD_CELLS:
        raise InvalidInputError(f"a table of {size:,} cells is too large for JSON (at most {limits.RECORD_CELLS:,}); {_PARQUET_INSTEAD}")
    groups = [
        {"column": name, "labels": [written_label(label) for label in labels]}
        for name, labels in zip(cells.groups.columns, cells.groups.labels, strict=True)
    ]
    n = list(release.sizes) if release.sizes is not None else release.n
    body = header(release.mechanism, release.guarantee, n, groups, release.about)
    text = json.dumps({**body, "raw": release.raw.tolist(), "counts": release.counts.tolist()}, indent=2, allow_nan=False)
    if len(text) > limits.RECORD_CHARACTERS:
        raise InvalidInputError(f"the labels of this table are too long for JSON; {_PARQUET_INSTEAD}")
    return text


_PARQUET_INSTEAD = "write it with release.to_parquet('release.parquet')"


def header(mechanism: Any, guarantee: Guarantee, n: Any, groups: list[dict[str, Any]], about: About | None = None) -> dict[str, Any]:
    """Return all fields of a table but its cells; how n and the groups are written depends on where the cells are."""
    described = written_description(mechanism, guarantee, about, TABLE)
    return {
        **described,
        "n": n,
        "groups": groups,
        "impossible": [[written_label(label) for label in cell] for cell in mechanism.impossible],
        "shares": None if mechanism.shares is None else [written_number(share) for share in mechanism.shares],
        "priors": [{"group": [written_label(x) for x in _parts(group)], "prior": written_prior(own)} for group, own in mechanism.priors],
        "guarantee": written_guarantee(guarantee),
    }


def _parts(group: Any) -> tuple[Hashable, ...]:
    return group if isinstance(group, tuple) else (group,)


def check_header(mechanism: "Mechanism", groups: Groups) -> None:
    """Refuse a table whose record could not be written or read again: for use before anything is spent."""
    for labels in groups.labels:
        if set(map(type, labels)) != {str}:
            for label in labels:
                written_label(label)
    text = json.dumps(header(mechanism, mechanism._claim, mechanism.space.n, [{"column": name} for name in groups.columns]))
    if len(text) > limits.RECORD_CHARACTERS // 2:
        raise InvalidInputError(
            "a record cannot hold so many or so long categories, impossible cells, shares and priors of single groups; declare fewer"
        )


def check_json(groups: Groups, size: int, instead: str) -> None:
    """Refuse a table of these groups and this many cells before it is counted if JSON cannot hold it; `instead` says what can be done."""
    if size > limits.RECORD_CELLS:
        raise InvalidInputError(f"a table of {size:,} cells is too large for JSON (at most {limits.RECORD_CELLS:,}): {instead}")
    # A quarter of a record is the labels', and half is left to what `check_header` measures.
    written = (len(json.dumps(written_label(label))) + _LABEL_LINE for labels in groups.labels for label in labels)
    if sum(written) > limits.RECORD_CHARACTERS // 4:
        raise InvalidInputError(f"the labels of this table are too long for JSON: {instead}")


_LABEL_LINE = 10
"""Characters that a label's line has beside it."""


# --- reading ----------------------------------------------------------------------------------------------------------


def read_table(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a table's record."""
    check_fields(body, fields_of(body, _TABLE_FIELDS), "a release of a table")
    groups = _groups(body["groups"])
    cells = len(groups) * len(read_prior(body["prior"]).categories)
    if cells > limits.RECORD_CELLS:
        raise InvalidInputError(f"a table of {cells:,} cells is read from Parquet; JSON holds at most {limits.RECORD_CELLS:,}")
    n = body["n"]
    if isinstance(n, list):
        n = tuple(read_integer(size, "n", " for each group") for size in n)
    elif n is not None:
        n = read_integer(n, "n", ", null, or a list of the groups' sizes in a release of version 3")
    return {**read_header(body, groups, n), "raw": _rows(body["raw"], "raw"), "counts": _rows(body["counts"], "counts")}


def read_header(body: Mapping[str, Any], groups: Groups | None, n: Any) -> dict[str, Any]:
    """Read the fields of a table's record beside its cells; n and the groups are read by whoever knows where they stand.

    Where the groups are not at hand, one that has its own prior is the tuple of its labels.
    """
    shares, priors, impossible = body["shares"], body["priors"], body["impossible"]
    if shares is not None and not isinstance(shares, list):
        raise InvalidInputError("shares must be null or a list of numbers, one for each group")
    if not isinstance(priors, list) or not isinstance(impossible, list):
        raise InvalidInputError("priors and impossible must be lists")
    for prior in priors:
        check_fields(prior, ("group", "prior"), "each of priors")
    layout = {
        "by": groups,
        "impossible": tuple(_labels(cell, "a cell of impossible") for cell in impossible),
        "shares": None if shares is None else tuple(read_number(share, "shares") for share in shares),
        "priors": tuple((_key(prior["group"], groups), read_prior(prior["prior"])) for prior in priors),
    }
    return {**read_description(body), "n": n, "layout": layout}


def _groups(value: Any) -> Groups:
    if not isinstance(value, list):
        raise InvalidInputError("groups must be a list of columns with their labels")
    for column in value:
        check_fields(column, ("column", "labels"), "each of groups")
    return groups_in((column["column"], _labels(column["labels"], "labels")) for column in value)


def _labels(value: Any, what: str) -> tuple[Hashable, ...]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{what} must be a list of labels")
    return tuple(read_label(label) for label in value)


def _key(value: Any, groups: Groups | None) -> Hashable:
    """A group's key as `Groups` gives it, from its list of labels."""
    labels = _labels(value, "a group of priors")
    return labels if groups is None else groups[groups.index(labels)]


def _rows(value: Any, name: str) -> Counts:
    """Rows of whole numbers of 64 bits, all of one length."""
    if not isinstance(value, list) or not value or not all(isinstance(row, list) and len(row) == len(value[0]) for row in value):
        raise InvalidInputError(f"{name} must be a list of rows, one for each group, of whole numbers, one for each category")
    try:
        return np.array([[read_integer(item, name) for item in row] for row in value], dtype=np.int64)
    except OverflowError:
        raise InvalidInputError(f"{name} must hold whole numbers of at most 64 bits") from None
