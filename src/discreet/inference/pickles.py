"""Copies and pickles of what is computed from a few fields: they hold these fields alone."""

from dataclasses import fields
from typing import Any


class FieldsAlone:
    """A dataclass whose copies and pickles hold its fields. What was computed from them is computed again when it is asked for."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
