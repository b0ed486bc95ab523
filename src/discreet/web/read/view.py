"""The fields of the screen on which a record is read."""

from collections.abc import Hashable, Iterable, Sequence

from discreet import limits
from discreet.present import page
from discreet.present.html import Html, element, isolated, joined, void
from discreet.present.page_rows import cut
from discreet.present.page_words import counting, promise
from discreet.requests.fields import fields_of
from discreet.requests.kinds import list_text
from discreet.requests.records import RecordRequest
from discreet.validation import spelling
from discreet.web.form_fields import row
from discreet.web.opened_records import Record
from discreet.web.read.answers import ALL_GROUPS, group_name, parameters, report_name, report_same
from discreet.web.read.margins import why_not
from discreet.web.read.question import HIGHEST, LEVEL, LOWEST, ReadQuestion, is_listed, question

_QUICK_GROUPS = 50
"""Groups up to which two of them are compared without being asked for: where a total ties more, that takes a while."""
_SETTINGS_FORM = "#read-settings"


# --- opening ----------------------------------------------------------------------------------------------------------


def opening() -> Html:
    """Where a record is opened: by choosing a file, by dropping one, or by pasting it."""
    words = (
        "A record is the public file of a release: JSON, Parquet, or a report page. "
        "It is read by your own machine, and nothing is sent anywhere."
    )
    picker = void(
        "input", type="file", id="read-file", class_="unseen", accept=".json,.parquet,.html,.htm", aria_describedby="read-file-error"
    )
    drop = element(
        "div",
        picker,
        element("label", "Choose a file", for_="read-file", class_="primary"),
        element("span", "or drop it anywhere on this page", class_="quiet"),
        class_="drop",
    )
    area = element("textarea", id="read-pasted", rows="5", spellcheck="false", autocomplete="off", aria_describedby="read-file-error")
    paste = element(
        "details",
        element("summary", "Paste a record instead"),
        element("label", "The text of a record or of a report page", for_="read-pasted"),
        area,
        element("button", "Open what was pasted", type="button", id="read-paste"),
    )
    hero = element(
        "div",
        element("h1", "Read a record"),
        element("p", "See what a private release says, how sure it is, and whether its promise holds.", class_="lead"),
        element("p", words, class_="quiet"),
        class_="hero",
    )
    wrong = element("p", id="read-file-error", class_="error", aria_live="polite")
    most = {"data_most": str(limits.REQUEST_BYTES)}
    return joined(
        element("section", hero, drop, paste, wrong, id="read-open", aria_label="Open a record", **most),
        element("p", id="read-status", class_="unseen", role="status"),
        element("article", id="read-record"),
    )


def gone() -> Html:
    """What is said where a record is not open any more."""
    kept = f"the last {limits.OPENED_RECORDS} records are kept, while the server runs"
    return element("p", f"This record is not open any more ({kept}): open it again.", class_="warn")


# --- a record ---------------------------------------------------------------------------------------------------------


def opened_record(key: str, record: Record) -> Html:
    """Everything about one record; what is computed comes later, into its place."""
    asked = question(key, record, {})
    name = element("p", "From ", element("code", isolated(record.name)), class_="quiet from")
    head = element("div", page.heading(record.release), name, class_="opened", tabindex="-1", id="read-opened")
    main = element("div", _settings(asked), _place("answer"), _compare(asked), _above(asked), *_margins(asked))
    about = element("div", page.asked(record.release), counting(record.release), class_="card")
    side = element("div", about, _report(asked), _promise(asked), class_="desk-side")
    return joined(head, element("div", main, side, class_="desk"))


def _place(name: str, words: str = "Computing…") -> Html:
    """Where an answer comes to."""
    waiting = [element("p", words, class_="waiting")] if words else []
    return element("div", *waiting, id=f"read-{name}", class_="place")


def _form(name: str, trigger: str, *content: str, key: str, **attributes: str) -> Html:
    record = [void("input", type="hidden", name="record", value=key)]
    sent = {"hx_post": f"/read/{name}", "hx_trigger": trigger, "hx_target": f"#read-{name}", "hx_sync": "this:queue last"}
    return element("form", *record, *content, novalidate="", **sent, **attributes)


def labelled(name: str, label: str, control: Html, **attributes: str) -> Html:
    """A field with its label, and a place for what is wrong with it."""
    title = element("label", label, for_=f"read-{name}")
    wrong = element("p", id=f"read-{name}-error", class_="error", aria_live="polite")
    return element("div", title, control, wrong, **{"class_": "field", **attributes})


def _field(name: str) -> dict[str, str]:
    return {"id": f"read-{name}", "name": name, "aria_describedby": f"read-{name}-error"}


def chooser(name: str, label: str, choices: Sequence[str] | None, chosen: int, *, every: str | None = None, hint: str = "") -> Html:
    """A list to choose from by position; without choices, a field for the labels themselves. `every` stands for no choice."""
    if choices is None:
        value = {} if every is not None else {"value": hint}
        return labelled(name, f"{label} (its labels, such as {cut(hint)})", void("input", type="text", **_field(name), **value, dir="auto"))
    options = [] if every is None else [element("option", every, value=ALL_GROUPS)]
    for position, choice in enumerate(choices):
        picked = {"selected": ""} if position == chosen else {}
        options.append(element("option", choice, value=str(position), dir="auto", **picked))
    return labelled(name, label, element("select", *options, **_field(name)))


def _settings(asked: ReadQuestion) -> Html:
    ends = {"min": str(float(LOWEST)), "max": str(float(HIGHEST)), "value": LEVEL, "step": "0.1"}
    slider = void("input", type="range", id="read-slider", aria_label="Level of the intervals, in per cent", **ends)
    number = void("input", type="number", inputmode="decimal", autocomplete="off", **_field("level"), **ends)
    level = labelled("level", "Level of the intervals, in %", element("div", slider, number, class_="level"))
    options = {
        "record": f"The record's own: {parameters(asked.record.release.prior)}",
        "uniform": "Mine: uniform, all mixes alike",
        "jeffreys": "Mine: Jeffreys, 1/2 for each",
        "own": "Mine: numbers of my own",
    }
    listed = [element("option", text, value=value) for value, text in options.items()]
    prior = element(
        "div",
        element("label", "Prior: what is believed before seeing the record", for_="read-prior"),
        element("select", *listed, id="read-prior", name="prior"),
        class_="field",
    )
    k = asked.record.release.prior.k
    numbers = void("input", type="text", **_field("concentrations"), placeholder=", ".join(["1"] * min(k, 5)), autocomplete="off")
    own = labelled("concentrations", f"Your {k:,} numbers, one for each category", numbers, class_="field own")
    about = element("div", row("read", fields_of(RecordRequest)["about"]), class_="field")
    fields = [level, about, prior, own, *_group_field(asked)]
    trigger = "load, change, submit"
    return _form("answer", trigger, *fields, key=asked.key, id="read-settings", class_="fields", aria_label="How to read it")


def _group_field(asked: ReadQuestion) -> Iterable[Html]:
    if not asked.groups.columns:
        return []
    return [chooser("group", "Show", _group_names(asked), -1, every=f"All {len(asked.groups):,} groups", hint=_hint(asked))]


def _group_names(asked: ReadQuestion) -> Sequence[str] | None:
    """The groups as they are listed; None where they are too many for that."""
    number = len(asked.groups)
    return [group_name(asked.groups.key(group)) for group in range(number)] if is_listed(number) else None


def _hint(asked: ReadQuestion, group: int = 0) -> str:
    """A group as it is named where there is no list."""
    return list_text(asked.groups.key(group)) or ""


def _category_field(asked: ReadQuestion, name: str, label: str, chosen: int) -> Html:
    categories: Sequence[Hashable] = asked.record.release.prior.categories
    names = [cut(category) for category in categories] if is_listed(len(categories)) else None
    return chooser(name, label, names, chosen, hint=spelling(categories[chosen]))


def _section(name: str, title: str, *content: str, **attributes: str) -> Html:
    return element("section", element("h2", title), *content, class_=f"part part-{name}", **attributes)


def _compare(asked: ReadQuestion) -> Html:
    release = asked.record.release
    if asked.groups.columns:
        if len(asked.groups) < 2:
            return joined()
        names = _group_names(asked)
        fields = [
            chooser("first", "Group", names, 0, hint=_hint(asked, 0)),
            chooser("second", "Compared with", names, 1, hint=_hint(asked, 1)),
            _category_field(asked, "category", "Category", 0),
        ]
        quick, words = len(asked.groups) <= _QUICK_GROUPS, "Compare two groups"
    else:
        fields = [_category_field(asked, "first", "Category", 0), _category_field(asked, "second", "Compared with", 1)]
        quick, words = release.mechanism.noise is not None, "Compare two categories"
    button = element("button", "Compare", type="submit", class_="primary")
    form = _form(
        "contrast",
        _trigger(quick),
        *fields,
        element("div", button, class_="field"),
        key=asked.key,
        hx_include=_SETTINGS_FORM,
        class_="fields",
    )
    return _section("contrast", words, form, _place("contrast", "Computing…" if quick else ""))


def _above(asked: ReadQuestion) -> Html:
    within = [chooser("within", "Group", _group_names(asked), 0, hint=_hint(asked))] if asked.groups.columns else []
    share = void("input", type="number", inputmode="decimal", min="0", max="100", step="1", value="50", **_field("threshold"))
    fields = [_category_field(asked, "of", "Category", 0), *within, labelled("threshold", "Is its share above, in %", share)]
    button = element("button", "Ask", type="submit", class_="primary")
    quick = asked.record.release.mechanism.noise is not None and len(asked.groups) <= _QUICK_GROUPS
    form = _form(
        "above", _trigger(quick), *fields, element("div", button, class_="field"), key=asked.key, hx_include=_SETTINGS_FORM, class_="fields"
    )
    return _section("above", "Is a share above a threshold?", form, _place("above", "Computing…" if quick else ""))


def _trigger(quick: bool) -> str:
    """When a part is computed: at once if it is quick, when it is asked for, and when its fields or the settings change."""
    return f"{'load, ' if quick else ''}submit, change, change from:{_SETTINGS_FORM}"


def _margins(asked: ReadQuestion) -> Iterable[Html]:
    release = asked.record.release
    if not release.by.columns:
        return []
    reason, title = why_not(release), "Groups together"
    if reason is not None:
        return [_section("margins", title, element("p", reason, class_="quiet"))]
    columns = release.cells.groups.columns
    options = [element("option", "All groups", value="")]
    if len(columns) > 1:
        options += [element("option", f"By {cut(column)}", value=str(i), dir="auto") for i, column in enumerate(columns)]
    field = labelled("over", "Put together", element("select", *options, **_field("over")))
    button = element("button", "Compute", type="submit", class_="primary")
    form = _form(
        "margins", "submit", field, element("div", button, class_="field"), key=asked.key, hx_include=_SETTINGS_FORM, class_="fields"
    )
    words = "Each group counts with its part of the population. Means are computed; intervals come from draws."
    return [_section("margins", title, element("p", words, class_="quiet"), form, _place("margins", ""))]


def _promise(asked: ReadQuestion) -> Html:
    release = asked.record.release
    quick = release.mechanism.loss_atoms() is not None
    button = element("button", "Compute it now", type="submit", class_="primary")
    words = "The record says what its mechanism gives away at most. Your machine can compute it, from the definition, and compare."
    form = _form("verify", "load, submit" if quick else "submit", *([] if quick else [button]), key=asked.key)
    check = element("h3", "Does it hold?"), element("p", words, class_="quiet"), form, _place("verify", "Computing…" if quick else "")
    return element("div", promise(release), *check, class_="card")


def _report(asked: ReadQuestion) -> Html:
    name = report_name(asked.record.name)
    words = (
        "One page for people, with the figure, the promise and the record inside. It needs no server, and opens here again. "
        "It has the prior and the level of the intervals that are set here."
    )
    button = element(
        "button",
        "Download the report",
        type="button",
        class_="primary",
        data_download="/read/report",
        data_form="read-settings",
        data_name=name,
    )
    section = element("section", element("h2", "The report"), element("p", words), button, report_same(asked))
    return element("div", section, class_="card")
