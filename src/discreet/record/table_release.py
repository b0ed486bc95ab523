"""The name that the records of tables had before there was one `Release`: `discreet.TableRelease` goes away in the next version."""

from typing import TYPE_CHECKING, Any

from discreet.arrays import Counts
from discreet.record.release import Release, is_table


class _FormerName:
    """Answers `isinstance` for releases of tables, makes a release where it is called, and stands for `Release` in annotations."""

    def __instancecheck__(self, found: object) -> bool:
        return isinstance(found, Release) and is_table(found)

    def __call__(self, *parts: Any) -> Release:
        return Release(*parts)

    def __getattr__(self, name: str) -> Any:
        return getattr(Release, name)

    def __or__(self, other: Any) -> Any:
        return Release | other

    __ror__ = __or__


if TYPE_CHECKING:
    TableRelease = Release[Counts]
else:
    TableRelease = _FormerName()
