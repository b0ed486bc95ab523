"""Delivery of answers: the options that say what is written to which file, and in which form it is printed."""

from pathlib import Path
from typing import Any

from discreet.errors import InvalidInputError
from discreet.requests.fields import FieldContext, Kind
from discreet.requests.kinds import SWITCH_KIND


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
