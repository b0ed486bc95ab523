"""The tables of a published study, read together where that is sound."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InvalidInputError
from discreet.record.release import Release

if TYPE_CHECKING:
    from discreet.inference.several.questions import StudyPosterior


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
    from discreet.requests.study_release import read_folder

    if isinstance(study, (str, PathLike)):
        return questions_together(read_folder(Path(study).expanduser()))
    records = study if isinstance(study, Mapping) else {}
    if not records or not all(isinstance(name, str) and isinstance(release, Release) for name, release in records.items()):
        raise InvalidInputError(
            "read_together takes the folder of a study, or a mapping of names to releases, such as those of Study.release"
        )
    return questions_together(records)
