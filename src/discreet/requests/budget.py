"""Requests to a ledger: a dataset that is to be created, and a charge for a release that is made elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import InvalidInputError
from discreet.requests.fields import REQUIRED, FieldContext, Kind, Request, Row, asked, changed
from discreet.requests.kinds import AS_JSON, NUMBER_KIND, PERIOD_KIND, PUBLIC_CHOICES, SWITCH_KIND, TEXT_KIND, WHOLE_KIND, list_text
from discreet.requests.parsing import parse_list, parse_number
from discreet.requests.release import LEDGER_VARIABLE
from discreet.requests.release_steps import relation_of
from discreet.text import shown

if TYPE_CHECKING:
    from discreet.ledger.budgets import Budget, Unit
    from discreet.ledger.ledger import Ledger
    from discreet.model.datasets import Relation
    from discreet.model.periods import Every
    from discreet.validation import Public

PERIOD_CHOICES = {"": "All time", **{every: f"Each {every}" for every in ("day", "month", "quarter", "year")}}
"""Written out, because help must not have to load them."""
UNITS = {"record": "One record", "person": "One person, with all their records"}
DATASET_PART, COLUMNS_PART, MANY_PART = "Dataset", "Groups", "δ, and many small releases"
"""The parts of the form."""


def _loss(text: str, reading: FieldContext) -> Fraction:
    """A number that a loss of privacy may have; a form says at once which it may not."""
    value = parse_number(text, reading.name)
    if reading.place == "form":
        from discreet.ledger.budgets import checked_loss

        is_delta = reading.name.startswith("δ")
        checked_loss(1 if is_delta else value, value if is_delta else 0, "the budget's ")
    return value


def _name(text: str, reading: FieldContext) -> str:
    """The name of a dataset, which a form checks before the ledger does."""
    if reading.place == "form":
        from discreet import limits
        from discreet.ledger.budgets import checked_text
        from discreet.ledger.names import check_new_name, cleaned

        check_new_name(checked_text(cleaned(text), "the name", limits.NAME_CHARACTERS), ())
    return text


def _choice(choices: Sequence[str], in_shell: str) -> Kind:
    """One of some words; `in_shell` says to a shell what they are."""

    def read(text: str, _: FieldContext) -> str:
        if text not in choices:
            got = f"got {shown(text)!r}"
            raise InvalidInputError(f"choose one of {', '.join(choices)}; {got}", in_shell=f"{in_shell}, {got}")
        return text

    return Kind(read)


def _columns(texts: Sequence[str], reading: FieldContext) -> tuple[str, ...]:
    """The columns of groups whose sizes are public. A form keeps those of another choice and does not read them."""
    is_form, has_sizes = reading.place == "form", reading.other("public") == "sizes"
    if is_form and not has_sizes:
        return ()
    if texts and not has_sizes:
        raise InvalidInputError("--by names the columns of groups whose sizes are public; give it together with --public sizes")
    if has_sizes and not texts and not is_form:
        raise InvalidInputError("--public sizes needs the columns that the groups are made of, such as --by region,sex")
    columns = tuple(column for text in texts for column in parse_list(text, reading.name))
    if has_sizes and (not columns or not all(columns) or any("=" in column for column in columns)):
        raise InvalidInputError(
            "name the columns that the groups are made of, separated by commas, such as region, sex",
            in_shell="--by of a budget names columns alone, without their groups, separated by commas, such as region,sex; "
            f"got {shown(' '.join(texts))!r}",
        )
    return columns


def _planned(text: str, reading: FieldContext) -> Fraction:
    planned = parse_number(text, reading.name)
    if reading.place == "form":
        from discreet.ledger.budgets import Loss
        from discreet.ledger.filters import planned_filter

        planned_filter(Loss(reading.other("epsilon"), reading.other("delta")), planned)
    return planned


PUBLISHED_KIND = _choice(
    [*PUBLIC_CHOICES],
    "--public must be total (n is published), sizes (the size of every group is, with --by) or nothing (n stays private)",
)
COLUMNS_KIND = Kind(_columns, lambda columns: [list_text(columns)], lambda columns: repr(list(columns)), many=True)
_LEDGER = f"The ledger: a file, or a database URL. May be left out where {LEDGER_VARIABLE} names it."


@dataclass(frozen=True, kw_only=True)
class BudgetRequest(Request):
    """A dataset that is to be created with a total budget."""

    ledger: str | None = asked(TEXT_KIND, _LEDGER, positional=True)
    dataset: str | None = asked(
        Kind(_name),
        "The ledger's name for the records.",
        Row(DATASET_PART, "Name of the dataset", "The people in it should be in no other dataset: what is published about them adds up."),
        positional=True,
    )
    epsilon: Fraction = asked(
        Kind(_loss, NUMBER_KIND.show, NUMBER_KIND.code),
        "Total ε that may ever be spent on these records.",
        Row(
            DATASET_PART,
            "ε in all",
            "All that may ever be spent, such as 1 or 1/3. Above 5 little protection is left.",
            words="ε",
            numeric="decimal",
        ),
        default=REQUIRED,
        missing="say how much ε may ever be spent, such as 1",
        short=("-e",),
        call="create",
    )
    unit: "Unit" = asked(
        _choice([*UNITS], "--unit must be 'record' or 'person'"),
        "Whose privacy the budget is about: record or person.",
        Row(
            DATASET_PART, "It is about", "If anyone may have two rows, choose person; releases must then say whose a row is.", choices=UNITS
        ),
        default="record",
        call="create",
    )
    public: str = asked(
        PUBLISHED_KIND,
        "As in discreet release. With total the budget hides what someone answered, their group included; with sizes, and --by, "
        "what they answered and not their group; with nothing also that someone took part: then releases that publish the number of "
        "records are refused.",
        Row(
            DATASET_PART, "What releases publish about the data", "“Nothing” hides even whether someone took part.", choices=PUBLIC_CHOICES
        ),
        default="total",
    )
    by: tuple[str, ...] = asked(
        COLUMNS_KIND,
        "With --public sizes: the columns that the groups are made of, separated by commas, such as region,sex. Nobody's values in "
        "them are hidden, and the sizes of groups by these columns, or by some of them, may be published. May be given several times.",
        Row(COLUMNS_PART, "Columns of the groups", "Such as region, sex. Nobody's values in them are hidden.", words="the columns"),
        shown_default=False,
        call="create",
        argument="within",
    )
    delta: Fraction = asked(
        Kind(_loss, NUMBER_KIND.show, NUMBER_KIND.code),
        "Total δ that may ever be spent.",
        Row(MANY_PART, "δ in all", "0 if it is left empty. Most releases need none.", words="δ", numeric="decimal"),
        default="0",
        call="create",
    )
    planned: Fraction | None = asked(
        Kind(_planned, NUMBER_KIND.show, NUMBER_KIND.code),
        "The ε of a typical one of many small releases: keeps the dataset by a Rényi filter, which needs --delta and allows more "
        "of them than the plain sum, however each is chosen in view of the earlier ones.",
        Row(
            MANY_PART,
            "ε of a typical release",
            "With it, and with a δ such as 1e-6, a Rényi filter takes more small releases than their plain sum would.",
            numeric="decimal",
        ),
        option="--planned-epsilon",
        call="create",
        argument="planned_epsilon",
    )
    every: "Every | None" = asked(
        _choice([every for every in PERIOD_CHOICES if every], "--every must be day, month, quarter or year"),
        "Give each day, month, quarter or year this budget, with --unit person: it protects all records of one person in one of them, and "
        "someone who is there for m of them is protected by m times ε. Releases then say --period.",
        Row(
            DATASET_PART,
            "The budget is for",
            "For data that change: with “each month” it protects all records of one person in one month, and whoever is there for m months "
            "is protected by m times ε.",
            choices=PERIOD_CHOICES,
        ),
        call="create",
    )

    @property
    def _neighbours(self) -> dict[str, str]:
        return {"neighbours": "add or remove one"} if self.public == "nothing" else {}

    def created(self, ledger: "Ledger", dataset: str) -> "Budget":
        """Create the dataset under a name."""
        return ledger.create(dataset, **self.arguments("create"), **self._neighbours)  # type: ignore[arg-type]

    def python(self) -> tuple[str, ...]:
        """Lines of Python that do so."""
        words = ", ".join([repr(self.dataset), *self.code("create", **{name: repr(word) for name, word in self._neighbours.items()})])
        return f"budget = ledger.create({words})", "print(budget)"


@dataclass(frozen=True, kw_only=True)
class SpendRequest(Request):
    """A charge for a release that is made elsewhere."""

    ledger: str | None = asked(TEXT_KIND, _LEDGER, positional=True)
    dataset: str | None = asked(TEXT_KIND, "The ledger's name for the records.", positional=True)
    epsilon: Fraction = asked(NUMBER_KIND, "The ε of the release.", default=REQUIRED, short=("-e",))
    delta: Fraction = asked(NUMBER_KIND, "The δ of the release.", default="0")
    public: "Public | None" = asked(
        PUBLISHED_KIND,
        "What the release publishes about the data beside its result: total, the number of records; sizes, that of every group "
        "(with --by); or nothing. By default what the dataset was created with.",
        shown_default=False,
    )
    by: tuple[str, ...] = changed(BudgetRequest, "by", form=None, call="")
    period: str | None = asked(PERIOD_KIND, "The periods that the release reads, where each has a budget: 2026-11, or 2026-01..2026-03.")
    note: str = asked(TEXT_KIND, "What was released, and where. It is public, like all that is in the ledger.", default="")

    @property
    def relation(self) -> "Relation | None":
        """The neighbours that the release is about; None if they are those of the budget."""
        return None if self.public is None else relation_of(self.public, self.by)


@dataclass(frozen=True, kw_only=True)
class LedgerRequest(Request):
    """A question about all datasets of a ledger."""

    ledger: str | None = changed(SpendRequest, "ledger")
    as_json: bool = asked(**AS_JSON)


@dataclass(frozen=True, kw_only=True)
class HistoryRequest(Request):
    """A request for the spends of a dataset."""

    ledger: str | None = changed(SpendRequest, "ledger")
    dataset: str | None = changed(SpendRequest, "dataset")
    as_json: bool = asked(**AS_JSON)


@dataclass(frozen=True, kw_only=True)
class ExploreRequest(Request):
    """The page, and what it begins with."""

    port: int | None = asked(WHOLE_KIND, "Listen on this port of 127.0.0.1; without it, on any that is free.")
    ledger: str | None = asked(
        TEXT_KIND, "The ledger that the page begins with: a file, or a database URL.", variable=LEDGER_VARIABLE, shown_default=False
    )
    no_browser: bool = asked(SWITCH_KIND, "Print the address and open no browser.")
