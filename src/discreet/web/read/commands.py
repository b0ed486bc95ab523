"""The command line and the Python that do what the page did, as texts to copy."""

from collections.abc import Hashable, Sequence

from discreet.validation import spelling
from discreet.web.opened_records import Record


def label_code(label: Hashable) -> str:
    """A label in Python, as the text that it is written as."""
    return repr(spelling(label))


def group_code(labels: Sequence[Hashable]) -> str:
    """A group in Python: its label, or a tuple of them."""
    return label_code(labels[0]) if len(labels) == 1 else f"({', '.join(map(label_code, labels))})"


def python(record: Record, *lines: str) -> str:
    """Lines of Python about the release of a record, after those that read it."""
    imports = ["import discreet as dc"]
    path = repr(record.name)
    if record.kind == "parquet":
        reading = f"dc.Release.from_parquet({path})"
    else:
        imports.insert(0, "from pathlib import Path\n")
        content = f"Path({path}).read_bytes()"
        if record.kind == "html":
            imports.append("from discreet.record.pages import record_in")
            content = f"record_in({content})"
        reading = f"dc.Release.from_json({content})"
    return "\n".join([*imports, "", f"release = {reading}", *lines])
