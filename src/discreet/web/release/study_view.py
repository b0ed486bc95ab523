"""The view of a study before it is looked at: its form, and how wide the intervals of its tables will be."""

from collections.abc import Mapping

from discreet.present.html import Html, element, isolated, joined, table, table_row, void
from discreet.requests.release import BUDGET_PART
from discreet.requests.studies.plan import StudyPlan
from discreet.requests.studies.questions import PATHS_PART, STUDY_PART, StudyPlanRequest, StudyTextRequest
from discreet.web.code_to_copy import request_command, same
from discreet.web.form_fields import folded, part, rows


def study_fields(key: str, typed: Mapping[str, str]) -> Html:
    """The fields of a study, with what was typed into them under this key, which stands in the address."""
    picker = void("input", id="study-pick", type="file", accept=".toml", class_="unseen", aria_describedby="study-text-error")
    label = element("label", "Open a study file", for_="study-pick", class_="button")
    save = element("button", "Save it as a file", type="button", data_save="study-text", data_name="study.toml")
    files = element("div", picker, label, save, class_="downloads")
    study, paths, budget = (rows("study", StudyTextRequest, name, typed) for name in (STUDY_PART, PATHS_PART, BUDGET_PART))
    parts = part(STUDY_PART, files, study), folded(PATHS_PART, paths), part(BUDGET_PART, budget)
    return joined(void("input", type="hidden", name="key", value=key), *parts)


def study_plan(found: StudyPlan, n: int | None) -> Html:
    """Expected widths by the study's split of ε, and by the one with which privacy widens all tables alike."""
    heads = ("table", "records / groups", "ε", "width, points", "times as wide as without privacy", "even split: ε")
    lines = []
    for own, other in zip(found.declared, found.even, strict=True):
        groups = f" / {own.groups:,}" if own.groups > 1 else ""
        numbers = f"{float(own.epsilon):.3g}", f"{100.0 * own.width:.2g}", f"{own.price:.2f}", f"{float(other.epsilon):.3g}"
        lines.append(table_row(isolated(own.name), f"{own.records:,}{groups}", *numbers))
    caption = "Expected width of the 95 % intervals. No data were looked at, and groups are taken to be equally large."
    planned = table(caption, heads, lines, class_="compared")
    python = f'import discreet as dc\n\nprint(dc.Study.load("study.toml").plan(n={n}).declared)'
    ways = same("study-plan", request_command("plan", StudyPlanRequest.asking(study="study.toml", n=n)), python)
    return element("section", element("h2", "How precise will the tables be?"), planned, ways)
