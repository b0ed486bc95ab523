"""The fields of the screen on which a record is read."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from discreet.present import page
from discreet.present.html import Html, element, isolated, joined, void
from discreet.present.page_rows import cut, parameters
from discreet.present.page_words import counting, promise
from discreet.requests.fields import Field, fields_of
from discreet.requests.kinds import list_text
from discreet.requests.read_screen import (
    CHOICE_PART,
    GROUPS_PART,
    SETTINGS_PART,
    ReadContrast,
    ReadMargins,
    ReadOther,
    ReadRequest,
    ReadShares,
    ReadTable,
    ReadThreshold,
    Side,
    is_listed,
    sides,
)
from discreet.validation import spelling
from discreet.web.parts import download, row
from discreet.web.read.answers import group_name, report_name, report_same, table_name, why_not
from discreet.web.read.question import AnyQuestion, question
from discreet.web.state import Opened

if TYPE_CHECKING:
    from discreet.model.cells import Groups

_QUICK_GROUPS = 50
"""Groups up to which two of them are compared without being asked for: where a total ties more, that takes a while."""
_SETTINGS_FORM = "#read-settings"


# --- a record ---------------------------------------------------------------------------------------------------------


def opened_record(key: str, opened: Opened) -> Html:
    """Everything about one record that is open; what is computed comes later, into its place. GoneError if it is not."""
    record = opened.find(key)
    asked = question(ReadShares, key, record, {})
    name = element("p", "From ", element("code", isolated(record.name)), class_="quiet from")
    heading = [] if record.tables else [page.heading(record.release)]
    head = element("div", *heading, name, class_="opened", tabindex="-1", id="read-opened")
    if record.tables:
        return joined(head, _settings(asked), _place("study"))
    main = element(
        "div", _place("answer"), _table(asked), _compare(asked), _other(asked, opened.others(key)), _above(asked), *_margins(asked)
    )
    about = element("div", page.asked(record.release), counting(record.release), class_="card")
    side = element("div", about, _report(asked), _promise(asked), class_="desk-side")
    return joined(head, _settings(asked), element("div", main, side, class_="desk"))


def _place(name: str, words: str = "Computing…") -> Html:
    """Make the place of an answer."""
    waiting = [element("p", words, class_="waiting")] if words else []
    return element("div", *waiting, id=f"read-{name}", class_="place")


def _form(asked: AnyQuestion, name: str, trigger: str, *content: str, **attributes: str) -> Html:
    """A form about the record, whose answer fills the place of this name."""
    record = [void("input", type="hidden", name="record", value=asked.key)]
    sent = {"hx_post": f"/read/{name}", "hx_trigger": trigger, "hx_target": f"#read-{name}", "hx_sync": "this:queue last"}
    return element("form", *record, *content, novalidate="", **sent, **attributes)


def _fields(asked: AnyQuestion, kind: type[ReadRequest], parts: Sequence[str], without: str = "", **chosen: int) -> list[Html]:
    """The fields of some parts of a form. Categories and groups are listed, with a position chosen, unless there are too many."""
    found = [one for one in fields_of(kind).values() if one.form is not None and one.form.group in parts and one.name != without]
    if not asked.groups.columns:
        found = [one for one in found if one.form is not None and one.form.group != GROUPS_PART]
    return [element("div", _field(asked, one, chosen.get(one.name)), class_="field") for one in found]


def _field(asked: AnyQuestion, one: Field, chosen: int | None) -> Html:
    release, groups = asked.record.release, asked.groups
    if one.name == "prior" and one.form is not None:
        return row("read", replace(one, form=replace(one.form, placeholder=parameters(release.prior))))
    if one.name == "over":
        return row("read", one, choices={"": "All groups"} | {str(i): f"By {cut(column)}" for i, column in _several(groups.columns)})
    if one.form is None or one.form.group == SETTINGS_PART or one.form.choices or one.name == "threshold":
        return row("read", one)
    if one.name in ("first", "second") and is_listed(len(sides(release))) and is_listed(len(groups)):
        return row("read", one, str(chosen), {str(place): side_name(side) for place, side in enumerate(sides(release))})
    is_group = bool(groups.columns) and one.name in ("group", "within", "first", "second", "inside")
    number = len(groups) if is_group else release.prior.k
    every = {"": f"All {number:,} {'groups' if is_group else 'categories'}"} if one.name in ("group", "only") else {}
    named = partial(_group_at, groups) if is_group else partial(_category_at, release.prior.categories)
    if is_listed(number):
        listed = {str(place): named(place)[0] for place in range(number)}
        return row("read", one, "" if chosen is None else str(chosen), every | listed)
    hint = named(chosen or 0)[1]
    longer = replace(one, form=replace(one.form, label=f"{one.form.label} (its labels, such as {cut(hint)})"))
    return row("read", longer, "" if every else hint)


def _several(columns: Sequence[str]) -> Iterable[tuple[int, str]]:
    """The columns by which groups can be put together: one alone has no others."""
    return enumerate(columns) if len(columns) > 1 else ()


def _group_at(groups: "Groups", place: int) -> tuple[str, str]:
    """A group as it is listed, and as it is typed."""
    return group_name(groups.key(place)), list_text(groups.key(place)) or ""


def _category_at(categories: Sequence[Hashable], place: int) -> tuple[str, str]:
    """A category as it is listed, and as it is typed."""
    return cut(categories[place]), spelling(categories[place])


def _settings(asked: AnyQuestion) -> Html:
    """Show the settings under which the record is read, or all tables of a study, which have a prior each."""
    place, kind, without = ("study", ReadRequest, "prior") if asked.record.tables else ("answer", ReadShares, "")
    fields = _fields(asked, kind, (SETTINGS_PART, GROUPS_PART), without)
    return _form(asked, place, "load, change, submit", *fields, id="read-settings", class_="fields", aria_label="How to read it")


def _table(asked: AnyQuestion) -> Html:
    """The summary as a file, by the settings and by what is chosen here."""
    fields = _fields(asked, ReadTable, (GROUPS_PART, CHOICE_PART))
    form = _form(asked, "table", _trigger(quick=True), *fields, hx_include=_SETTINGS_FORM, id="read-table-form", class_="fields")
    forms = f"{_SETTINGS_FORM[1:]} read-table-form"
    kinds = ("CSV", ".csv"), ("Excel", ".xlsx"), ("Parquet", ".parquet")
    buttons = [download(label, f"/read/{ending[1:]}", forms, table_name(asked.record, ending)) for label, ending in kinds]
    every = "all groups, with " if asked.groups.columns else ""
    chosen = f"For other programs: {every}the level, the prior and the shares that are set above."
    words = f"{chosen} A label that begins like a formula stays text."
    group = element("div", *buttons, class_="downloads", role="group", aria_label="Download the table")
    return _section("table", "Download the table", element("p", words, class_="quiet"), form, group, _place("table", ""))


def _section(name: str, title: str, *content: str, **attributes: str) -> Html:
    return element("section", element("h2", title), *content, class_=f"part part-{name}", **attributes)


def _asking(asked: AnyQuestion, name: str, button: str, fields: Sequence[Html], trigger: str) -> Html:
    """The form of a part with its button, and the place of its answer."""
    pressed = element("div", element("button", button, type="submit", class_="primary"), class_="field")
    form = _form(asked, name, trigger, *fields, pressed, hx_include=_SETTINGS_FORM, class_="fields")
    return joined(form, _place(name, "Computing…" if trigger.startswith("load") else ""))


def _compare(asked: AnyQuestion) -> Html:
    kind, quick = "categories", asked.record.release.mechanism.noise is not None
    if asked.groups.columns:
        if len(asked.groups) < 2:
            return joined()
        kind, quick = "groups", len(asked.groups) <= _QUICK_GROUPS
    fields = _fields(asked, ReadContrast, (CHOICE_PART, GROUPS_PART), first=0, second=1, category=0)
    return _section("contrast", f"Compare two {kind}", _asking(asked, "contrast", "Compare", fields, _trigger(quick)))


def side_name(side: Side) -> str:
    """A group, or those that are put together, as they are listed."""
    return f"All of {group_name(side.labels)}" if side.over else group_name(side.labels)


def _other(asked: AnyQuestion, others: Mapping[str, str]) -> Html:
    title = "Compare with another record"
    if not others:
        words = "Open a second record, such as that of another year: then the two can be compared here."
        return _section("other", title, element("p", words, class_="quiet"))
    one = element("div", row("read", fields_of(ReadOther)["against"], choices=others), class_="field")
    fields = _fields(asked, ReadOther, (CHOICE_PART, GROUPS_PART), without="against", shared=0, inside=0)
    return _section("other", title, _asking(asked, "other", "Compare", [one, *fields], "submit"))


def _above(asked: AnyQuestion) -> Html:
    quick = asked.record.release.mechanism.noise is not None and len(asked.groups) <= _QUICK_GROUPS
    fields = _fields(asked, ReadThreshold, (CHOICE_PART, GROUPS_PART), of=0, within=0)
    return _section("above", "Is a share above a threshold?", _asking(asked, "above", "Ask", fields, _trigger(quick)))


def _trigger(quick: bool) -> str:
    """Return the events at which a part is computed: at once if it is quick, when it is asked for, and when its fields or the settings
    change.
    """
    return f"{'load, ' if quick else ''}submit, change, change from:{_SETTINGS_FORM}"


def _margins(asked: AnyQuestion) -> Iterable[Html]:
    release = asked.record.release
    if not release.by.columns:
        return []
    reason, title = why_not(release), "Groups together"
    if reason is not None:
        return [_section("margins", title, element("p", reason, class_="quiet"))]
    words = "Each group counts with its part of the population. Means are computed; intervals come from draws."
    asking = _asking(asked, "margins", "Compute", _fields(asked, ReadMargins, (CHOICE_PART,)), "submit")
    return [_section("margins", title, element("p", words, class_="quiet"), asking)]


def _promise(asked: AnyQuestion) -> Html:
    release = asked.record.release
    quick = release.mechanism._loss_atoms() is not None
    button = element("button", "Compute it now", type="submit", class_="primary")
    words = "The record says what its mechanism gives away at most. Your machine can compute it, from the definition, and compare."
    form = _form(asked, "verify", "load, submit" if quick else "submit", *([] if quick else [button]))
    check = element("h3", "Does it hold?"), element("p", words, class_="quiet"), form, _place("verify", "Computing…" if quick else "")
    return element("div", promise(release), *check, class_="card")


def _report(asked: AnyQuestion) -> Html:
    name = report_name(asked.record.name)
    words = (
        "One page for people, with the figure, the promise and the record inside. It needs no server, and opens here again. "
        "It has the prior and the level of the intervals that are set here."
    )
    button = download("Download the report", "/read/report", _SETTINGS_FORM[1:], name, primary=True)
    section = element("section", element("h2", "The report"), element("p", words), button, report_same(asked))
    return element("div", section, class_="card")
