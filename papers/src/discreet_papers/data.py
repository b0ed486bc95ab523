"""Tidy data: named columns, one observation a row, kept as CSV and Parquet beside every figure and table."""

import csv
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

__all__ = ["Data", "Value", "write_atomically"]

Value = str | int | float
_KEY = b"discreet.key"


@dataclass(frozen=True, eq=False)
class Data:
    """Columns of equal length."""

    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Value]]) -> Self:
        """The data of these rows, which all have the same names."""
        listed = list(rows)
        return cls({name: np.array([row[name] for row in listed]) for name in (listed[0] if listed else {})})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def where(self, **values: Value) -> "Data":
        """The rows where every named column has this value."""
        kept = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            kept &= self.columns[name] == value
        return Data({name: column[kept] for name, column in self.columns.items()})

    def distinct(self, name: str) -> list[Any]:
        """The values of a column in order of appearance."""
        return list(dict.fromkeys(self.columns[name].tolist()))

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain values."""
        listed = {name: column.tolist() for name, column in self.columns.items()}
        return [{name: column[i] for name, column in listed.items()} for i in range(len(self))]

    def one(self, column: str, **values: Value) -> Any:
        """The value of a column in the only row with these values."""
        found = self.where(**values)[column].tolist()
        if len(found) != 1:
            raise LookupError(f"{len(found)} rows have {values}, not one")
        return found[0]

    # --- files --------------------------------------------------------------------------------------------------------

    def write(self, stem: Path, key: str) -> None:
        """Write stem.csv, then stem.parquet with the key in its metadata: the Parquet file is there only if both are."""
        stem.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(_named(stem, "csv")) as path, path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(list(row.values()) for row in self.rows())
        table = pa.table({name: column.tolist() for name, column in self.columns.items()}).replace_schema_metadata({_KEY: key.encode()})
        with write_atomically(_named(stem, "parquet")) as path:
            pq.write_table(table, path)

    @classmethod
    def read(cls, stem: Path, key: str) -> Self | None:
        """What was written under this key; None if there is nothing, or something else."""
        path = _named(stem, "parquet")
        try:
            schema = pq.read_schema(path)
            if (schema.metadata or {}).get(_KEY) != key.encode():
                return None
            table = pq.read_table(path)
        except (OSError, pa.ArrowInvalid):
            return None
        return cls({name: np.array(table[name].to_pylist()) for name in table.column_names})


def _named(stem: Path, kind: str) -> Path:
    """The file of this kind. The stem may contain dots, which `with_suffix` would take for a suffix."""
    return stem.with_name(f"{stem.name}.{kind}")


class write_atomically:  # noqa: N801 - used as a function
    """A temporary path to write to. It is renamed when the block ends without an error, so that a killed run leaves no half file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary = path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> Path:
        return self.temporary

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self.temporary.replace(self.path)
        else:
            self.temporary.unlink(missing_ok=True)
