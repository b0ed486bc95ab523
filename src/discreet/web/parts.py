"""The parts that all screens have: fields of forms, made from what a question declares, and the code that does the same, to copy."""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from math import log10
from shlex import quote
from types import MappingProxyType

from discreet.ledger.database import HIDDEN
from discreet.present.html import Html, element, escaped, joined, void
from discreet.requests.fields import Field, Request, Row, fields_of
from discreet.text import plain


def row(screen: str, one: Field, value: str | None = None, choices: Mapping[str, str] | None = None) -> Html:
    """A field as it is declared: its label, where it is typed, a hint, and a place for what is wrong; nothing if no form has it.

    `value` stands in it, or is chosen; `choices` are offered where they are not declared.
    """
    if one.form is None:
        return Html()
    form, place = one.form, f"{screen}-{one.name}"
    said = [element("p", form.hint, class_="hint", id=f"{place}-hint")] if form.hint else []
    said.append(element("p", id=f"{place}-error", class_="error", aria_live="polite"))
    described = f"{place}-hint {place}-error" if form.hint else f"{place}-error"
    about = {"id": place, "name": one.name, "aria_describedby": described}
    if one.kind.is_switch:
        chosen = {"checked": ""} if value else {}
        box = void("input", **about, type="checkbox", value="yes", **chosen)
        return joined(element("label", box, f" {form.label}", class_="choice"), *said)
    text = form.value if value is None else value
    label = element("label", form.label, for_=place)
    if form.rows:
        large = element("textarea", _lines(text), **about, rows=str(form.rows), spellcheck="false")
        placed = Html(large.replace(">", f' placeholder="{_lines(form.placeholder)}">', 1))
        return joined(label, placed if form.placeholder else large, *said)
    about |= {"placeholder": form.placeholder} if form.placeholder else {}
    offered = choices or form.choices
    if offered:
        return joined(label, element("select", *(_option(*one, chosen=one[0] == text) for one in offered.items()), **about), *said)
    typed_in = void("input", **about, type="text", value=text, autocomplete="off", **({"inputmode": form.numeric} if form.numeric else {}))
    if form.slider is None:
        return joined(label, typed_in, *said)
    return joined(element("div", label, typed_in, class_="dial-head"), _slider(screen, form, text), *said)


def _option(value: str, label: str, *, chosen: bool) -> Html:
    return element("option", label, value=value, dir="auto", **({"selected": ""} if chosen else {}))


def _slider(screen: str, form: Row, text: str) -> Html:
    """A slider that shows the same number as its field; a script of the screen keeps both together."""
    if form.slider is None:
        return Html()
    scale, ends = form.slider, [element("span", number, void("br"), meaning) for number, meaning in form.slider.ends]
    number = text if re.fullmatch(r"0*[1-9][0-9]*|[0-9]*\.[0-9]*[1-9][0-9]*", text) else form.value  # a script follows other texts
    low, high, at = (f"{log10(float(end)):.3g}" if scale.is_logarithmic else end for end in (scale.low, scale.high, number))
    moved = void("input", id=f"{screen}-slider", type="range", min=low, max=high, step=scale.step, value=at, aria_label=scale.name)
    return joined(moved, *([element("div", *ends, class_="dial-ends", aria_hidden="true")] if ends else []))


def _lines(text: str) -> Html:
    """A text of several lines, in an element or in an attribute."""
    return Html("&#10;".join(map(escaped, text.splitlines())))


def rows(screen: str, question: type[Request], group: str, values: Mapping[str, str] = MappingProxyType({})) -> Html:
    """The fields of one part of a form, some with a value."""
    found = [one for one in fields_of(question).values() if one.form is not None and one.form.group == group]
    return joined(*(row(screen, one, values.get(one.name)) for one in found))


def download(label: str, route: str, forms: str, name: str, *, primary: bool = False) -> Html:
    """A button that saves what a route answers to these forms, whose ids have spaces between them, under this name."""
    kind = {"class_": "primary"} if primary else {}
    return element("button", label, type="button", data_download=route, data_form=forms, data_name=name, **kind)


def written(screen: str) -> str:
    """The HTML of a screen before anything is asked, as its file has it."""
    return resources.files("discreet.web").joinpath(f"static/{screen}.html").read_text("utf-8")


def part(legend: str, *content: Html, **attributes: str) -> Html:
    """A part of a form that is open."""
    return element("fieldset", element("legend", legend), *content, **attributes)


def folded(summary: str, *content: Html) -> Html:
    """A part of a form that is closed until someone opens it."""
    return element("details", element("summary", summary), *content, class_="more")


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
