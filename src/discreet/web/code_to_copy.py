"""The command line, the Python and the file that do the same as an answer of the page, each with a button that copies it."""

from collections.abc import Sequence
from shlex import quote

from discreet.ledger.database import HIDDEN
from discreet.present.html import Html, element, joined
from discreet.requests.fields import Request
from discreet.text import plain

_PASSWORD = (
    f"{HIDDEN} stands for the password, which is not shown. Leave it out, with its colon, and keep it in ~/.pgpass or in the variable "
    "PGPASSWORD instead."
)
_UNTYPED = "A name here cannot be typed into a command line; Python can name it."


def note(command: str | None, ledger: str = "") -> str:
    """Return the note about a command: that there is none, or that the place of its ledger lacks the password."""
    return " ".join([*([_PASSWORD] if HIDDEN in ledger else []), *([] if command else [_UNTYPED])])


def same(place: str, command: str | None, python: str | None, note: str = "", study: str | None = None) -> Html:
    """Return all the code there is to copy, closed until someone asks; `place` is unique on the page. A note says what is to be known
    about them.
    """
    texts = ("command", "Command line", command), ("python", "Python", python), ("study", "A file to keep, study.toml", study)
    parts = [_block(f"{place}-{kind}", title, text) for kind, title, text in texts if text is not None]
    if note:
        parts.append(element("p", note, class_="quiet"))
    summary = element("summary", f"The same on the command line and in Python{', and as a file to keep' if study else ''}")
    return element("details", summary, element("div", *parts, class_="same-parts"), class_="same")


def command_line(name: str, words: Sequence[str], options: Sequence[str] = ()) -> str | None:
    """A command with these words and options; None where one of them has characters that only a program sees."""
    guarded = ["--"] if any(word.startswith("-") for word in words) else []
    parts = [*options, *guarded, *words] if guarded else [*words, *options]
    text = " ".join(["discreet", name, *map(quote, parts)])
    return text if text == plain(text) else None


def request_command(name: str, asked: Request) -> str | None:
    """The command that asks a question; None where something in it cannot be typed."""
    typed = asked.shell_words()
    return None if typed is None else command_line(name, *typed)


def _block(key: str, title: str, text: str) -> Html:
    copy = element("button", "Copy", type="button", data_copy=key, aria_label=f"Copy: {title}")
    code = Html("\n").join(map(joined, text.splitlines()))
    top = element("div", element("span", title), copy, class_="same-head")
    return element("div", top, element("pre", element("code", Html(code), id=key), tabindex="0", aria_label=title), class_="same-part")
