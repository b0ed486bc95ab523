"""The folder of a study that was released: its records, the list of its tables, and its tables read together."""

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidInputError
from discreet.record.json import STUDY_FORMAT
from discreet.record.release import Release
from discreet.requests.parsing import read_record
from discreet.requests.studies.study import MANIFEST, Study

if TYPE_CHECKING:
    from discreet.inference.several.questions import StudyPosterior

_VERSION = 1


def read_folder(folder: Path) -> dict[str, Release]:
    """The records of a published study, by the names of their tables."""
    return {name: read_record(str(folder / f"{name}.json")) for name in read_manifest(folder)["tables"]}


def is_manifest(place: Path) -> bool:
    """Return whether a file is the list of a study's tables; a single record may have the same name."""
    try:
        return place.name == f"{MANIFEST}.json" and json.loads(place.read_bytes()).get("format") == STUDY_FORMAT
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check what a published folder says of itself."""
    place = folder / f"{MANIFEST}.json"
    try:
        found = json.loads(place.read_bytes())
        names, is_ours = found["tables"], found["format"] == STUDY_FORMAT and found["version"] == _VERSION
        if is_ours and all(isinstance(name, str) and Path(name).name == name for name in names) and isinstance(found["title"], str | None):
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise InvalidInputError(f"{folder} is not a folder that `discreet release study.toml --output` wrote: its {place.name} cannot be read")


def manifest(study: Study) -> bytes:
    """The file that lists the tables in a published folder."""
    return json.dumps({"format": STUDY_FORMAT, "version": _VERSION, **public_words(study)}, indent=2).encode()


def public_words(study: Study) -> dict[str, Any]:
    """Return a published folder's words about the study as a whole; the digest is of what the study declares, and of no data."""
    parts = {name: str(epsilon) for name, epsilon in study.epsilons.items()}
    declared = repr(replace(study, source="", dataset=None, corrections=None if study.corrections is None else ""))
    return {"title": study.title, "epsilon": str(study.epsilon), "tables": parts, "declared": sha256(declared.encode()).hexdigest()}


def check_same(study: Study, folder: Path) -> None:
    found = read_manifest(folder)
    if any(found.get(name) != value for name, value in public_words(study).items()):
        raise InvalidInputError(f"{folder} holds another study, which is not overwritten: choose another --output")


def read_together(study: "str | PathLike[str] | Mapping[str, Release]") -> "StudyPosterior":
    """Read the tables of a study, or other tables of the same records by names: those together that share the sizes of their groups.

    Tables share sizes if they have the same groups, counted by the same rules, and the sizes are not public: only the total is, or
    nothing. They are read under the assumption that questions are independent given the group. The shares of each question hold also
    where that is wrong; sizes are then too sure, and differences between two questions are refused. All other tables are read alone.

    Args:
        study: The folder that a release of a study wrote, or a mapping of names to releases of the same records.

    Returns:
        A mapping of names to posteriors: `read_together("published")["smoking"]["18-34"].interval()`.

    Raises:
        InvalidInputError: The folder is not a study's, something in the mapping is no release, or the tables are of different periods.
        TooLargeError: The noise of a table is so wide that it has no posterior.
    """
    from discreet.inference.several.questions import questions_together

    if isinstance(study, (str, PathLike)):
        return questions_together(read_folder(Path(study).expanduser()))
    records = study if isinstance(study, Mapping) else {}
    if not records or not all(isinstance(name, str) and isinstance(release, Release) for name, release in records.items()):
        raise InvalidInputError(
            "read_together takes the folder of a study, or a mapping of names to releases, such as those of Study.release"
        )
    return questions_together(records)
