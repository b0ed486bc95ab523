"""The summary of a record as a file for other programs: what `discreet show --output` writes."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from discreet.present.exports import file_of, summary_table
from discreet.present.figures import check_work
from discreet.present.html import Html
from discreet.requests.read_screen import ReadTable
from discreet.web.code_to_copy import note, request_command, same
from discreet.web.opened_records import Opened, Record
from discreet.web.read.answers import posterior_of
from discreet.web.read.question import ReadQuestion

if TYPE_CHECKING:
    from discreet.progress import Progress

_LONGEST_STEM = 60
"""Characters of a file's name before its ending."""


def table_name(record: Record, ending: str) -> str:
    """Return the name of the file: the letters and digits of the record's title, or else of the name of its own file."""
    about = record.release.about
    for text in ((about and about.title) or "", Path(record.name).stem, "table"):
        words = "".join(letter if category(letter)[0] in "LMN" else " " for letter in text).split()
        if words:
            break
    return "-".join(words)[:_LONGEST_STEM].strip("-") + ending


def table_file(ending: str, asked: ReadQuestion[ReadTable], opened: Opened, tell: "Progress") -> bytes:
    """The file with this ending; DiscreetError where it cannot be computed or written here."""
    check_work(asked.record.release)
    read = partial(posterior_of, asked, opened, tell)
    return file_of(summary_table(asked.record.release, asked.how, asked.asked.layout, asked.asked.only, read=read), ending)


def table_same(asked: ReadQuestion[ReadTable], _opened: Opened, _tell: "Progress") -> Html:
    """The command that writes the file, which follows what is chosen."""
    output = Path(table_name(asked.record, ".csv"))
    command = request_command("show", asked.asked.shown(asked.record.name, output))
    return same("read-table", command, None, note(command))
