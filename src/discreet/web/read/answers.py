"""The page's answers about a record: each is computed by the library, and shown with what does the same by hand."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.inference.several.combine import drawn_alike
from discreet.present import page
from discreet.present.contrasts import QUANTITIES, named, quantity_words
from discreet.present.exports import file_of, summary_table
from discreet.present.figures import CellFigures, CellNumbers, check_pairs, check_work
from discreet.present.html import Html, element, isolated, joined, table, table_row
from discreet.present.page import page_content, page_json
from discreet.present.page_rows import cut, margin_shares, parameters
from discreet.present.record import verification_lines
from discreet.present.study import study_parts
from discreet.record.release import Release
from discreet.requests.fields import WrongError, fields_of
from discreet.requests.kinds import list_text
from discreet.requests.parsing import parse_reader_prior
from discreet.requests.read_screen import (
    ReadContrast,
    ReadMargins,
    ReadOther,
    ReadShares,
    ReadTable,
    ReadThreshold,
    group_code,
    label_code,
)
from discreet.requests.records import OWN, PERHAPS_ONE, TAKEN, ContrastRequest, Margins, ReportRequest, ShowRequest, contrast_of_records
from discreet.text import chance, plain
from discreet.validation import spelling
from discreet.web.forms import field
from discreet.web.parts import command_line, note, request_command, same
from discreet.web.read.question import AnyQuestion, ReadQuestion, asked_of, posterior_of, shares
from discreet.web.state import Opened, Record

if TYPE_CHECKING:
    from discreet.inference.quantities import Contrast
    from discreet.present.page_rows import Shares
    from discreet.progress import Progress


def report_name(name: str) -> str:
    """Return the file name of a record's report."""
    stem, dot, kind = name.rpartition(".")
    if not stem:
        return f"{name}.html"
    return f"{stem}-report.html" if dot and kind.lower() in ("html", "htm") else f"{stem}.html"


# --- the posterior ----------------------------------------------------------------------------------------------------


def answer(asked: ReadQuestion[ReadShares], opened: Opened, tell: "Progress") -> Html:
    """The figure and the table of all shares, or of those in one group."""
    release, group = asked.record.release, asked.asked.group
    found = shares(asked, opened, tell, group, ranked=asked.asked.order == "share")
    ways = same("read-answer", *_answer_ways(asked, found, group))
    said = f"Intervals of {100.0 * asked.mass:g} % are shown."
    status = element("p", said, id="read-status", class_="unseen", role="status", hx_swap_oob="true")
    inside = "" if group is None else group_name(asked.groups.key(group))
    where = [element("p", "In the group ", element("strong", isolated(inside)), " alone.")] if inside else []
    return joined(
        *where,
        page.answered(release, found, one_table=True),
        _prior_words(asked, found),
        ways,
        report_same(asked, hx_swap_oob="true"),
        status,
    )


def study(asked: AnyQuestion, _opened: Opened, _tell: "Progress") -> Html:
    """Show all tables of a study as one page, each with the way to read it alone."""
    tables, about = asked.record.tables, asked.record.release.about
    sent = {"hx_post": "/read/alone", "hx_target": "#read-record", "hx_include": "#read-settings"}
    alone = {
        name: element("button", "Read this table alone", type="button", hx_vals=json.dumps({"table": name}), **sent) for name in tables
    }
    return study_parts(tables, None if about is None else about.title, asked.how, alone)


def report_same(asked: AnyQuestion, **attributes: str) -> Html:
    """The command that writes the report, which follows the level."""
    typed = request_command("report", ReportRequest.asking(**vars(asked.request), output=Path(report_name(asked.record.name))))
    return element("div", same("read-report", typed, None), id="read-report-same", **attributes)


def _prior_words(asked: AnyQuestion, found: "Shares") -> Html:
    """Describe whose prior the numbers rest on."""
    if asked.reader is None:
        mine = f", chosen by its author: {parameters(asked.record.release.prior)}."
        return element("p", "Prior: ", element("strong", "the record's own"), mine, class_="whose")
    if found.reason is not None:
        return element("p", "Your prior is not used here: the reported posterior has the record's.", class_="whose")
    told = f", {parameters(asked.reader)}, in place of the record's. The release is the same; what follows from it is yours."
    return element("p", "Prior: ", element("strong", "yours"), told, class_="whose")


def _answer_ways(asked: AnyQuestion, found: "Shares", group: int | None) -> tuple[str | None, str]:
    mass, noted = repr(asked.mass), found.reason is not None
    typed = request_command("show", replace(asked.request, slow=noted and group is None and not asked.groups.columns))
    if noted:
        lines = ["print(release.counts)"]
        if not asked.groups.columns:
            lines = [
                "for category in release.prior.categories:",
                f"    print(category, release.reported.marginal(category).interval({mass}))",
            ]
        return typed, asked.python(*lines)
    lines = [f"posterior = release.noise_aware({asked.reader_code})"]
    if asked.how.of_records:
        lines += [f"print(posterior{asked.request.about_code}.summary({mass}))", f"print(release.noise_interval({mass}))"]
    elif not asked.groups.columns:
        lines += ["print(posterior.mean())", f"print(posterior.interval({mass}))"]
        if found.size is not None:
            lines.append(f"print(posterior.size.mean(), posterior.size.interval({mass}))")
    else:
        at = "" if group is None else "[group]"
        where = [] if group is None else [f"group = posterior.by.index({group_code(asked.groups.key(group))})"]
        lines += [f"figures = posterior.figures({mass})", *where, *(f"print(figures.{name}{at})" for name in ("mean", "low", "high"))]
    return typed, asked.python(*lines)


# --- contrasts --------------------------------------------------------------------------------------------------------


def _contrast_command(asked: AnyQuestion, over: list[str], first: str | None, second: str | None, *category: str | None) -> str | None:
    if first is None or second is None or None in category:  # a name that cannot be typed
        return None
    return request_command(
        "contrast",
        ContrastRequest.asking(
            **vars(asked.request), first=first, second=second, category=next(iter(category), None), **({"over": over} if over else {})
        ),
    )


def contrast(asked: ReadQuestion[ReadContrast], opened: Opened, tell: "Progress") -> Html:
    """Two categories of one variable, or one category in two groups: difference, ratio, odds ratio and which is larger."""
    pair, category, over = (asked.asked.first.labels, asked.asked.second.labels), asked.asked.category, asked.asked.first.over
    arguments: tuple[Hashable, ...] = (*pair, category)
    if asked.groups.columns:
        words: tuple[str | None, ...] = *map(list_text, pair), spelling(category)
        code = [*map(group_code, pair), label_code(category)]
        names = [f"“{cut(category)}” in {'all of ' if over else ''}{group_name(key)}" for key in pair]
    else:
        arguments = tuple(label for (label,) in pair)
        words, code = tuple(map(spelling, arguments)), list(map(label_code, arguments))
        names = [f"“{cut(label)}”" for label in arguments]
    together = ""
    if over:
        kept = [repr(name) for name in asked.groups.columns if name not in over]
        together = f".over({', '.join([*kept, *([] if asked.record.release.sizes is None else ['weights=release.sizes'])])})"
    compared, typed = _compared(asked, opened, tell, over, *arguments), _contrast_command(asked, list(over), *words)
    python = asked.python(
        f"contrast = release.noise_aware({asked.reader_code}){together}{asked.request.about_code}.contrast({', '.join(code)})",
        f"print(contrast.difference.interval({asked.mass!r}), contrast.probability)",
    )
    return joined(_more_common(compared, names), _contrast_table(compared, asked), same("read-contrast", typed, python, note(typed)))


def _compared(asked: AnyQuestion, opened: Opened, tell: "Progress", over: tuple[str, ...], *arguments: Hashable) -> "Contrast":
    """A contrast, of which intervals of any level can be asked."""

    def compute() -> "Contrast":
        posterior: Any = asked_of(asked, opened, tell)
        if over and asked.how.of_records:
            raise InvalidInputError("groups are put together for shares of the population: choose these above")
        if over:
            return Margins(asked.record.release, over, OWN).contrast(posterior, *arguments)
        found: Contrast = posterior.contrast(*arguments)
        return found

    key = (asked.key, asked.asked.prior, asked.asked.about, "contrast", over, *arguments)
    found: Contrast = opened.computed(key, compute)
    return found


def other(asked: ReadQuestion[ReadOther], opened: Opened, tell: "Progress") -> Html:
    """One category in this record and in another one, which is about other records."""
    question, second = asked.asked, opened.find(asked.asked.against)
    releases = asked.record.release, second.release
    group = None if question.inside is None else asked.groups.key(question.inside)

    def read(one: "Release") -> Any:
        with field("prior"):
            reader = parse_reader_prior(question.prior, one, fields_of(ReadOther)["prior"].called("form"))
        return one.noise_aware(reader, progress=tell)

    check_pairs(releases, "discreet contrast ... --slow")
    names = asked.record.name, second.name
    compared = contrast_of_records(releases, read, names, question.shared, group, of_records=asked.how.of_records)
    warned = [element("p", f"{PERHAPS_ONE[:1].upper()}{PERHAPS_ONE[1:]}.", class_="warn")] if drawn_alike(*releases) else []
    inside = "" if group is None else f" in {group_name(group)}"
    said = _more_common(compared, [f"“{cut(question.shared)}”{inside} of {cut(name)}" for name in names])
    place, category = asked.asked.of_record(second.name).record, spelling(question.shared)
    words = {"category_option": category, "group": None if group is None else list_text(group)}
    typed = request_command("contrast", ContrastRequest.asking(**vars(asked.request), first=place, **words))
    taken = element("p", f"Taken to be {TAKEN}.", class_="quiet")
    return joined(*warned, said, _contrast_table(compared, asked), taken, same("read-other", typed, None, note(typed)))


def _more_common(compared: "Contrast", names: list[str]) -> Html:
    said = element("strong", chance(compared.probability))
    equal = f", and just as common with probability {chance(compared.more['equal'])}" if compared.more else ""
    words = isolated(names[0]), " is more common than ", isolated(names[1]), " with probability ", said, f"{equal}."
    return element("p", *words, class_="finding")


_QUANTITY_WORDS = {"difference": "first minus second", "ratio": "first divided by second", "odds ratio": "of their odds"}


def _contrast_table(compared: "Contrast", asked: AnyQuestion) -> Html:
    heads = ("contrast", "median", f"{100.0 * asked.mass:g} % interval")
    rows = []
    for name in QUANTITIES:
        quantity = getattr(compared, name)
        words, median, interval = quantity_words(quantity, asked.mass)
        title = joined(words, element("span", f" {_QUANTITY_WORDS[quantity.name]}", class_="quiet"))
        rows.append(table_row(title, median, interval))
    named_both = joined(isolated(cut(named(compared.names[0]))), " against ", isolated(cut(named(compared.names[1]))))
    given = [element("p", f"{compared.given[0].upper()}{compared.given[1:]}.", class_="quiet")] if compared.given else []
    return joined(table(joined(named_both, ", noise allowed for"), heads, rows), *given)


# --- one share --------------------------------------------------------------------------------------------------------


def above(asked: ReadQuestion[ReadThreshold], opened: Opened, tell: "Progress") -> Html:
    """The probability that the share of one category, in one group where there are any, is above a threshold."""
    category, threshold, group = asked.asked.of, asked.asked.threshold, asked.asked.within
    posterior, inside, words = asked_of(asked, opened, tell), "", f"“{cut(category)}”"
    if group is not None:
        key = asked.groups.key(group)
        posterior, inside = posterior[key], f"[{group_code(key)}]"
        words = f"{words} in {group_name(key)}"
    law, share = posterior.marginal(category), float(threshold / 100)
    said = element("strong", chance(float(law.sf(share))))
    same_share = f", and just that with probability {chance(float(law.pmf(share)))}" if asked.how.of_records else ""
    told = f" is above {float(threshold):g} % with probability ", said, f"{same_share}."
    sentence = element("p", "The share of ", isolated(words), *told, class_="finding")
    code = f"posterior = release.noise_aware({asked.reader_code}){inside}{asked.request.about_code}"
    lines = [code, f"print(posterior.marginal({label_code(category)}).sf({share!r}))"]
    return joined(sentence, same("read-above", None, asked.python(*lines)))


def group_name(key: Sequence[Hashable]) -> str:
    """The labels of a group in words."""
    return cut(" · ".join(map(plain, key)))


# --- the promise ------------------------------------------------------------------------------------------------------


def verified(asked: AnyQuestion, _opened: Opened, _tell: "Progress") -> Html:
    """The privacy loss of the record's mechanism, computed from its definition, beside what the record claims."""
    from discreet.analysis.privacy import verify

    release = asked.record.release
    result = verify(release)
    words = {True: "The promise holds.", False: "The promise does not hold.", None: "It cannot be computed at this size."}
    kind = {True: "verdict good", False: "verdict bad", None: "verdict"}[result.holds]
    lines = verification_lines(release, result)
    listed = element("dl", *(part for word, text in lines for part in (element("dt", word), element("dd", isolated(text)))))
    loss = "" if result.loss is None else f" The computed loss is {result.loss.value:.6g}."
    told = element("p", f"{words[result.holds]}{loss}", class_=kind)
    ways = same("read-verify", command_line("verify", [asked.request.record]), asked.python("print(dc.verify(release))"))
    return joined(told, element("details", element("summary", "What was computed"), listed), ways)


# --- the report -------------------------------------------------------------------------------------------------------


def report(asked: AnyQuestion, opened: Opened, tell: "Progress") -> bytes:
    """The page that `discreet report` writes, with the level and the prior that are set."""
    release, words = asked.record.release, asked.request.shell_words()
    text, found = page_json(release), shares(asked, opened, tell)
    if asked.asked.prior is not None and found.reason is not None:
        raise InvalidInputError(f"your own prior needs a posterior that allows for the noise, and here is none: {found.reason}")
    return page_content(release, found, text, report_name(asked.record.name), [] if words is None else words[1])


def why_not(release: Release) -> str | None:
    """Return the reason why groups cannot be put together on the page, if so."""
    if release.n is None:
        return "How much each group counts is not public, so there are no shares of all groups together."
    if len(release.cells.groups) > limits.GROUPS_CONVOLVED:
        return f"Groups are put together here up to {limits.GROUPS_CONVOLVED:,} of them; posterior.over() in Python takes more."
    return None


def margins(asked: ReadQuestion[ReadMargins], opened: Opened, tell: "Progress") -> Html:
    """The shares of all groups together, each with its part of the population, or of the groups with each label of a column."""
    release, columns = asked.record.release, asked.asked.over or ()
    if not release.by.columns or (why_not(release) is not None):
        raise WrongError({"over": "Groups of this record cannot be put together here"})
    if asked.how.of_records:
        raise InvalidInputError("groups are put together for shares of the population: choose these above")
    others = tuple(name for name in release.by.columns if name not in columns)
    if not others:
        raise WrongError({"over": "This column alone makes the groups: choose all groups"})
    together = Margins(release, others, OWN)
    if len(together.cells.groups) > limits.PAGE_ROWS:
        raise WrongError({"over": f"This column has {len(together.cells.groups):,} labels, and the page shows up to {limits.PAGE_ROWS}"})
    over, cells = together.of(posterior_of(asked, opened, tell)), together.cells
    shares = margin_shares(CellNumbers(cells, together.counts, CellFigures.of_margins(over, cells.shape, asked.how)), asked.how)
    words = [*map(repr, columns), *([] if release.sizes is None else ["weights=release.sizes"])]
    called = f"over = release.noise_aware({asked.reader_code}).over({', '.join(words)})"
    lines = called, "print(over.mean())", f"print(over.interval({asked.mass!r}))"
    typed = request_command("show", ShowRequest.asking(**vars(asked.request), over=[*others]))
    return joined(page.answered(release, shares, one_table=True), same("read-margins", typed, asked.python(*lines)))


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
