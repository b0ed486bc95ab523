"""The file of a study with one table that asks for the same as a request for a release: it is kept, and asked again."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.data.made_labels import MadeLabels
from discreet.model.cells import Groups
from discreet.model.dirichlet import Dirichlet
from discreet.requests.kinds import PRIOR_KIND, number_words
from discreet.requests.record_files import STANDARD_INPUT
from discreet.requests.release import ReleaseRequest
from discreet.requests.study import MANIFEST

_ASKED_BY = "# discreet release study.toml --ledger LEDGER --output FOLDER"


def study_text(asked: ReleaseRequest) -> str | None:
    """The TOML of a study; None where it has no key for something that is asked. The ledger is named where the study is released."""
    parts: dict[str, dict[str, Any]] = {"study": {}, "tables": {}}
    for one, value in asked.given():
        if not one.key:
            if one.name == "ledger":
                continue
            return None
        part, key, *item = one.key.split(".")
        if one.item:
            parts[part].setdefault(key, []).extend(item)
        else:
            parts[part][key] = item[0] if item else value
    if asked.file == STANDARD_INPUT:
        return None
    name = re.sub(r"[^\w-]+", "-", asked.column)[:60].strip("-")
    table = name if name and name.casefold() != MANIFEST else "table"
    heads = {"study": "[study]", "tables": f"[tables.{_key(table)}]"}
    return "\n\n".join("\n".join([heads[part], *_lines(given)]) for part, given in parts.items()) + f"\n\n{_ASKED_BY}\n"


def _lines(given: Mapping[str, Any]) -> list[str]:
    """A line for each key, and one for each column of groups."""
    found: list[str] = []
    for key, value in given.items():
        columns = zip(value.columns, value.labels, strict=True) if isinstance(value, Groups) else None
        found += [f"{key} = {_toml(value)}"] if columns is None else [f"{key}.{_key(name)} = {_toml(labels)}" for name, labels in columns]
    return found


def _toml(value: Any) -> str:
    """A value of TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        number = number_words(value)
        return _text(number) if "/" in number else number
    if isinstance(value, MadeLabels):
        return _text(value.typed())
    if isinstance(value, Dirichlet):
        return _text(PRIOR_KIND.show(value))
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(name)} = {_toml(one)}' for name, one in value.items())}}}"
    return _text(value) if isinstance(value, str) else f"[{', '.join(map(_toml, value))}]"


def _key(name: str) -> str:
    """A key of TOML, which needs no quotes if it is a plain word."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A text of TOML: what would end it, begin a code or not be seen stands as a code."""
    coded = (one if one.isprintable() and one not in '"\\' else f"\\U{ord(one):08x}" for one in text)
    return f'"{"".join(coded)}"'
