"""The view of the screen for releases: what will be published and charged, what was drawn, and what was asked for before."""

from collections.abc import Iterable, Mapping, Sequence

from discreet.data.databases import name_of
from discreet.planning.table_widths import StudyPlan
from discreet.present import page
from discreet.present.html import Html, element, isolated, joined, table, table_row, void
from discreet.present.page_rows import cut
from discreet.present.page_words import counting, promise
from discreet.present.study import plan_cells
from discreet.record.release import Release
from discreet.requests.checks import PRIVATE, DataCheck
from discreet.requests.fields import fields_of
from discreet.requests.release import (
    BUDGET_PART,
    CATEGORIES_PART,
    MORE_PART,
    PROMISE_PART,
    RECORDS_PART,
    RESEARCH_PART,
    TABLE_PART,
    WORDS_PART,
    ReleaseRequest,
)
from discreet.requests.release_steps import lacks, little_protection, little_said, periods_beyond, strong_shares
from discreet.requests.studies.questions import PATHS_PART, STUDY_PART, StudyPlanRequest, StudyTextRequest
from discreet.web.budget.card import budget_card
from discreet.web.parts import download, folded, note, part, request_command, row, rows, same
from discreet.web.release.store import KeptRelease, ReleasePreview, State
from discreet.web.state import ENDINGS, PACKED

_PLACE = "#release-look"


def hidden(**values: str) -> list[Html]:
    """Fields that nobody sees."""
    return [void("input", type="hidden", name=name, value=value) for name, value in values.items()]


# --- the form ---------------------------------------------------------------------------------------------------------

_PICKER = Html(
    '<label for="release-pick">or a copy of one, sent to this page</label>'
    f'<input id="release-pick" type="file" data-upload="release-sent" accept="{",".join((*ENDINGS, *PACKED))}">'
)
"""The second way to choose a file, after the first field, which names one."""


def form_fields(typed: Mapping[str, str], sent_file: Html | None = None) -> Html:
    """The fields of the form, with what was typed into them before, and the file that was sent."""
    closed = (TABLE_PART, WORDS_PART, MORE_PART, RESEARCH_PART)
    parts = {name: rows("release", ReleaseRequest, name, typed) for name in (CATEGORIES_PART, PROMISE_PART, BUDGET_PART, *closed)}
    file, *others = (one for one in fields_of(ReleaseRequest).values() if one.form is not None and one.form.group == RECORDS_PART)
    sent_to = {"hx_post": "/release/columns", "hx_target": "#release-columns", "hx_disabled_elt": "this"}
    listing = element("button", "List its columns, for you alone", type="button", **sent_to)
    found = element("div", listing, element("div", id="release-columns", aria_live="polite"), class_="listing")
    place = element("div", *([] if sent_file is None else [sent_file]), id="release-sent", aria_live="polite")
    fields = (row("release", one, typed.get(one.name)) for one in others)
    records = part(RECORDS_PART, row("release", file, typed.get(file.name)), _PICKER, place, found, *fields)
    return joined(records, *((folded if name in closed else part)(name, content) for name, content in parts.items()))


def study_fields(key: str, typed: Mapping[str, str]) -> Html:
    """The fields of a study, with what was typed into them under this key, which stands in the address."""
    picker = void("input", id="study-pick", type="file", accept=".toml", class_="unseen", aria_describedby="study-text-error")
    label = element("label", "Open a study file", for_="study-pick", class_="button")
    save = element("button", "Save it as a file", type="button", data_save="study-text", data_name="study.toml")
    files = element("div", picker, label, save, class_="downloads")
    study, paths, budget = (rows("study", StudyTextRequest, name, typed) for name in (STUDY_PART, PATHS_PART, BUDGET_PART))
    parts = part(STUDY_PART, files, study), folded(PATHS_PART, paths), part(BUDGET_PART, budget)
    return joined(void("input", type="hidden", name="key", value=key), *parts)


# --- before -----------------------------------------------------------------------------------------------------------


def looked(look: ReleasePreview, key: str) -> Html:
    """Show what will be published, what it costs, and the button that does it."""
    head = element("p", "Nothing has been drawn or charged. This is what will be public.", class_="made-up")
    warned = [element("p", f"{said[:1].upper()}{said[1:]}.", class_="warn") for said in _warnings(look)]
    parts = [part for name, found in look.stand_ins.items() for part in _public(name, found)]
    command, python, study = look.question.ways()
    ways = same("release", command, python, note(command, look.question["ledger"]), study)
    return _answer(head, *warned, *parts, _cost(look), _confirm(look, key), ways)


def _answer(*parts: Html) -> Html:
    """Return what is shown beside the form."""
    return element("div", *parts, class_="looked", tabindex="-1", id="release-looked")


def _public(name: str, found: Release) -> list[Html]:
    """Everything about a table that will be public but its noisy counts."""
    called = [element("h2", isolated(name), f": ε = {float(found.mechanism.epsilon):.4g}")] if name else []
    return [*called, page.heading(found), page.asked(found), counting(found), promise(found)]


def checked(found: DataCheck) -> Html:
    """Show what is in the way of a release, to whoever may see the data."""
    head = element("p", f"{PRIVATE[:1].upper()}{PRIVATE[1:]}. Nothing of this is kept, or charged.", class_="warn")
    said = (f"{line[:1].upper()}{line[1:]}." for line in found.lines)
    listed = element("ul", *(element("li", isolated(line)) for line in said))
    return _answer(head, element("h2", "What the data say"), listed)


def columns(found: Mapping[str, str | None]) -> Html:
    """The columns of a file, to choose that of the answers from, and to remember the others by. No value is shown."""
    head = element("p", f"{PRIVATE[:1].upper()}{PRIVATE[1:]}: the first line of a file without a header is somebody’s.", class_="hint")
    rows = [
        element("li", element("button", isolated(cut(name)), type="button", data_column=name), f" {kind}" if kind else "")
        for name, kind in [*found.items()][:_LISTED_COLUMNS]
    ]
    more = [element("li", f"and {len(found) - len(rows):,} more")] if len(found) > len(rows) else []
    return joined(head, element("ul", *rows, *more, class_="columns"))


_LISTED_COLUMNS = 200
"""The most columns that are listed: more than anyone looks through."""


def study_plan(found: StudyPlan, n: int | None) -> Html:
    """Expected widths by the study's split of ε, and by the one with which privacy widens all tables alike."""
    caption, heads, rows = plan_cells(found)
    told = f"{caption}. No data were looked at, and groups are taken to be equally large."
    lines = (table_row(isolated(row[0]), *row[1:_NARROW]) for row in rows)
    planned = table(told, [head.replace("\n", " ") for head in heads[:_NARROW]], lines, class_="compared")
    python = f'import discreet as dc\n\nprint(dc.Study.load("study.toml").plan(n={n}).declared)'
    ways = same("study-plan", request_command("plan", StudyPlanRequest.asking(study="study.toml", n=n)), python)
    return element("section", element("h2", "How precise will the tables be?"), planned, ways)


_NARROW = 6
"""Columns of a plan for which a telephone has room."""


def _warnings(look: ReleasePreview) -> Iterable[str]:
    """A second budget for the same source, what readers will miss, and where a promise is weak or a release says little: all public."""
    if look.second_budget is not None:
        yield look.second_budget
    for name, found in look.stand_ins.items():
        mechanism = found.mechanism
        n, lacking = mechanism.space.n, lacks(mechanism)
        little = None if n is None else little_said(n, mechanism.epsilon)
        whole = None if lacking is None else "; ".join(lacking)
        beyond = periods_beyond(found.guarantee, mechanism)
        every = (whole, little, strong_shares(mechanism), little_protection(found.guarantee), beyond)
        yield from (f"{name}: {said}" if name else said for said in every if said is not None)


def _cost(look: ReleasePreview) -> Html:
    card = budget_card(look.statement, look.charge, place="release-budget")
    return element("section", element("h2", "What it costs"), card)


def _confirm(look: ReleasePreview, key: str) -> Html:
    button = element("button", f"Charge {look.charge.loss} and release", type="submit", class_="primary")
    told = (
        "This is done once, however often you press, reload or come back: what was drawn stays on this machine until you remove it. "
        "What is charged stays charged, also if you do not publish."
    )
    return _step("/release/draw", told, button, *hidden(key=key), hx_disabled_elt="find button")


def _step(route: str, told: str, button: Html, *fields: Html, **attributes: str) -> Html:
    """A button with what it does, whose answer takes the place of what is shown."""
    words = element("p", told, class_="quiet")
    return element("form", *fields, words, button, hx_post=route, hx_target=_PLACE, class_="confirm", **attributes)


# --- after ------------------------------------------------------------------------------------------------------------


def drawn(asked: KeptRelease, found: Mapping[str, Release], *, again: bool) -> Html:
    """A release that was drawn, with all that can be done with it. `again` says whether the form in the page asks for the same."""
    key, is_study = asked.key, "" not in found
    name = f"discreet-{key[:8]}"
    downloads = [
        download(label, f"/release/{route}", "release-done", f"{name}.{ending}", primary=route == "record")
        for label, route, ending in (_STUDY_FILES if is_study else _RECORD_FILES)
    ]
    opened = element("button", "Read it here", type="button", hx_post="/release/open", hx_include="#release-done", hx_target="#read-record")
    form = element("form", *hidden(key=key), element("div", *downloads, opened, class_="downloads"), id="release-done")
    where = asked.fields.get("dataset", "")
    level = f"ε = {asked.fields.get('epsilon', '')} in all" if is_study else found[""].guarantee.level
    published = "The records may be published: download them." if is_study else "The record may be published: download it."
    told = f"Released on {asked.day} with {level}, charged to {where}. {published} What was drawn is kept here until you remove it."
    answer = element(
        "div", element("p", "Computing…", class_="waiting"), hx_post="/release/answer", hx_trigger="load", hx_include="#release-done"
    )
    head = element("p", element("strong", "Done. "), isolated(told), class_="done", role="status")
    parts = [answer] if is_study else [page.heading(found[""]), answer, promise(found[""]), counting(found[""])]
    return _answer(head, form, *parts, *([_again("study" if is_study else "release")] if again else []))


_RECORD_FILES = (
    ("The record", "record", "json"),
    ("The report", "report", "html"),
    ("A picture, PNG", "png", "png"),
    ("A picture, SVG", "svg", "svg"),
)
_STUDY_FILES = ("The records", "record", "zip"), ("One page of all", "report", "html")
"""The files that can be downloaded: the words, the route and the ending."""


def _again(screen: str) -> Html:
    """Another draw of the same is another release, and costs again."""
    told = "This is what was asked for and drawn before, with nothing charged now. Another draw of the same question is another release."
    button = element("button", "Look at what another release would cost", type="submit")
    return _step(f"/{screen}/look", told, button, *hidden(again="yes"), hx_include=f"#{screen}-form")


# --- what was asked for before ----------------------------------------------------------------------------------------

_STATES: dict[State, tuple[str, str]] = {
    "drawn": ("released", "Show it"),
    "drawing": ("being released", ""),
    "charged": ("charged, and not drawn: nothing of it was seen, and drawing it costs nothing more", "Draw it now"),
    "asked": ("looked at; nothing was charged", ""),
    "unknown": ("its ledger could not be read, so it is not known whether it was charged", ""),
}
REMOVABLE: dict[State, tuple[str, str]] = {
    "drawn": (
        "Remove",
        "The record is removed from this machine, and cannot be drawn again; what was charged for it stays charged. Did you download it?",
    ),
    "charged": ("Give it up", "The charge stands, and nothing will be published for it. Give it up?"),
    "asked": ("Forget", ""),
    "unknown": ("Give it up", "If it was charged, the charge stands, and nothing will be published for it. Give it up?"),
}
"""The states in which a question can be removed, with the words of the button, and of the question before."""


def listed(every: Sequence[tuple[KeptRelease, State]], looked_at: int) -> Html:
    """The releases that were asked for on this machine, the newest first; while one is drawn, the list is soon asked for again.

    What was only looked at has no line, and is forgotten by a button.
    """
    parts = [_row(asked, state) for asked, state in every]
    if every:
        told = "Each is kept with its record in a folder that only you can read."
        parts = [element("h2", "Asked for on this machine"), element("p", told, class_="quiet"), *parts]
    if looked_at:
        sent = {"type": "button", "hx_post": "/release/forget", "hx_target": "#release-list", "hx_disabled_elt": "this"}
        parts.append(element("p", element("button", f"Forget what was only looked at ({looked_at:,})", **sent)))
    soon = [_soon()] if any(state == "drawing" for _, state in every) else []
    return element("section", *parts, *soon) if parts else joined()


def _soon() -> Html:
    """Asks for the list again."""
    return element("span", hx_post="/release/list", hx_trigger="load delay:1s", hx_target="#release-list")


def charged(asked: KeptRelease) -> Html:
    """Say that the same was asked before, and charged."""
    told = (
        "This release was asked for before, and charged; the page ended before it was drawn. Nothing of it was seen, and drawing it costs "
        "nothing more."
    )
    return _answer(element("p", told, class_="warn"), _row(asked, "charged"))


def _row(asked: KeptRelease, state: State) -> Html:
    fields = asked.fields
    file = fields.get("file") or fields.get("upload", "")
    columns = ", ".join(line.partition("=")[0].strip() for line in fields.get("by", "").splitlines() if line.strip())
    by = [" by ", isolated(columns)] if columns else []
    name = element("strong", isolated(fields.get("title") or fields.get("column", "")))
    what = joined(name, *by, " of ", isolated(name_of(file)))
    where = joined(f"ε = {fields.get('epsilon', '')} from ", isolated(fields.get("dataset", "")), f", {asked.day}")
    said, action = _STATES[state]
    words = element("div", element("p", what), element("p", where, ": ", element("em", said), class_="quiet"))
    again = [_file_again(asked.key)] if state == "charged" and fields.get("upload") else []
    buttons = []
    if action:
        buttons.append(element("button", action, type="submit"))
    if state in REMOVABLE:
        buttons.append(_remove(state))
    return element(
        "form",
        *hidden(key=asked.key, state=state),
        words,
        *again,
        element("div", *buttons, class_="downloads"),
        hx_post="/release/draw",
        hx_target=_PLACE,
        hx_disabled_elt="find button",
        class_="asked",
    )


def _remove(state: State) -> Html:
    """Forgets a release, or gives up one that may have been charged: its budget stays as it is."""
    label, question = REMOVABLE[state]
    return element(
        "button",
        label,
        type="button",
        hx_post="/release/remove",
        hx_include="closest form",
        hx_target="#release-list",
        hx_disabled_elt="this",
        **({"hx_confirm": question} if question else {}),
    )


def _file_again(key: str) -> Html:
    """Make the field in which a lost file is sent again: it went with the process that it was sent to."""
    place = f"release-again-{key}"
    picker = void("input", type="file", id=place, data_upload=f"{place}-sent")
    label = element("label", "The file, which was removed when the page ended: choose it again", for_=place)
    return element("div", label, picker, element("div", id=f"{place}-sent"))


def sent(upload: str, name: str) -> Html:
    """A file that was sent, and stands in the form. How long it is may be private."""
    where = ", in a folder that only you can read. It is removed with its release, or when the page ends."
    return joined(*hidden(upload=upload), element("p", "On this machine: ", isolated(name), where, class_="hint"))
