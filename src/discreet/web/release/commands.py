"""The command line and the Python that do what the screen for releases does."""

from discreet.requests.release_steps import source_of
from discreet.web.code_to_copy import command_line
from discreet.web.plan.commands import quoted
from discreet.web.plan.question import MECHANISMS, number_words
from discreet.web.read.commands import group_text
from discreet.web.release.question import ReleaseQuestion


def release_command(question: ReleaseQuestion) -> str | None:
    """`discreet release` with the same question; None where something in it cannot be typed."""
    categories = group_text(question.labels)
    named = [] if question.groups is None else zip(question.groups.columns, question.groups.labels, strict=True)
    by = [(column, group_text(labels)) for column, labels in named]
    impossible = [group_text(cell) for cell in question.impossible]
    marks = group_text(question.na_values) if question.na_values else ""
    if categories is None or categories.startswith("@") or marks is None or None in [*impossible, *(labels for _, labels in by)]:
        return None
    options: list[tuple[str, str | None]] = [
        ("--column", question.column),
        ("--categories", categories),
        *(("--by", f"{column}={labels}") for column, labels in by),
        *(("--other-group", f"{column}={group}") for column, group in question.other_groups.items()),
        *(("--impossible", cell) for cell in impossible),
        ("--privacy-id", question.privacy_id),
        ("--other", question["other"] or None),
        ("--nulls", question["nulls"] or None),
        ("--na-values", marks or None),
        *(("--map", f"{value}={category}") for value, category in question.mapping.items()),
        ("--encoding", question["encoding"] or None),
        ("--public", None if question.public == "total" else question.public),
        ("--prior", question["prior"] or None),
        ("--mechanism", None if question.mechanism == MECHANISMS[0] else question.mechanism),
        ("--epsilon", number_words(question.epsilon)),
        ("--ledger", question["ledger"] or None),
        ("--dataset", question.dataset),
        *((f"--{name}", question[name] or None) for name in ("title", "variable", "source", "date", "note")),
    ]
    words = [part for name, value in options if value is not None for part in (name, value)]
    chosen = {"--one-row-per-person": question.one_row_per_person, "--strict": question.strict}
    rules = [f"--{rule.replace(' ', '-')}" for rule in question.spelling]
    switches = [*rules, *(name for name, is_on in chosen.items() if is_on)]
    return command_line("release", [question["file"] or question["upload"]], [*words, *switches, "--output", "record.json"])


def release_python(question: ReleaseQuestion) -> str:
    """Python that does the same."""
    prior = question["prior"] or "uniform"
    made = f"dc.Dirichlet({[number_words(a) for a in question.prior.exact]!r}, categories={question.labels!r})"
    if prior in ("uniform", "jeffreys"):
        made = f"dc.Dirichlet.{prior}(categories={question.labels!r})"
    arguments = [repr(question["file"] or question["upload"]), repr(question.column), "prior.categories"]
    given: dict[str, object] = {
        "privacy_id": question.privacy_id,
        "other": question["other"] or None,
        "nulls": question["nulls"] or None,
        "na_values": question.na_values or None,
        "mapping": question.mapping or None,
        "spelling": question.spelling or None,
        "encoding": question["encoding"] or None,
    }
    table: dict[str, object] = {}
    if question.groups is not None:
        table = {"by": dict(zip(question.groups.columns, map(list, question.groups.labels), strict=True))}
        table |= {"impossible": question.impossible} if question.impossible else {}
        given |= {"other_groups": question.other_groups or None}
    given |= {"one_row_per_person": question.one_row_per_person or None, "strict": question.strict or None}
    arguments += [f"{name}={value!r}" for name, value in (given | table).items() if value is not None]
    n = "None" if question.public == "nothing" else "counts.total"
    options = "".join(f", {name}=counts.{name}" for name in table)
    words = {name: text for name in ("title", "variable", "source", "date", "note") if (text := getattr(question.words, name)) is not None}
    about = ", ".join(f"{name}={text!r}" for name, text in words.items())
    declared = f", source={source_of(question['file'])!r}" if question["file"] else ""
    return "\n".join(
        [
            "import discreet as dc",
            "",
            f"prior = {made}",
            f"counts = dc.count({', '.join(arguments)})",
            f"mechanism = dc.mechanism({question.mechanism!r}, prior, {n}, {quoted(question.epsilon)}{options})",
            f"ledger = dc.Ledger({question['ledger'] or 'ledger.db'!r})",
            f"release = ledger.release({question.dataset!r}, mechanism, counts, about=dc.About({about}){declared})",
            "text = release.to_json()",
        ]
    )
