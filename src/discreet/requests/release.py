"""The request for a release: where the records are, how they are counted, what is public and what it is charged to."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.catalogue import FIRST, built_in
from discreet.errors import InvalidInputError
from discreet.requests.fields import REQUIRED, Request, Row, asked, changed
from discreet.requests.kinds import (
    AS_JSON,
    BANDS_KIND,
    CELLS_KIND,
    GAMMA_KIND,
    GROUP_OF_EACH_KIND,
    GROUPS_KIND,
    LABEL_KIND,
    LABELS_KIND,
    LIST_KIND,
    MAPPING_KIND,
    MISSING_KIND,
    NUMBER_KIND,
    PERIOD_KIND,
    PICTURE,
    POSITIVE_KIND,
    PRIOR_KIND,
    PUBLIC_KIND,
    RECORD_OUTPUT,
    SOURCE_KIND,
    SWITCH_KIND,
    TEXT_KIND,
    YES,
    public_words,
    quoted,
)
from discreet.requests.parsing import STANDARD_INPUT
from discreet.requests.release_steps import check_dated, check_strict, note_of, opened, published_sizes, relation_of, source_of
from discreet.text import plain, shown

if TYPE_CHECKING:
    from discreet.data.count import CategoryCounts, TableCounts, Tallied
    from discreet.data.question import CountingQuestion
    from discreet.ledger.budgets import Unit
    from discreet.mechanisms.base import Prepared
    from discreet.model.cells import Groups
    from discreet.model.datasets import Relation
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.about import About
    from discreet.requests.checks import DataCheck
    from discreet.requests.fields import Place
    from discreet.validation import Public

LEDGER_VARIABLE = "DISCREET_LEDGER"
"""The environment variable that names the ledger where a command is not told one."""
MECHANISM_NAMES = ", ".join(built_in())
MECHANISM_HELP = f"{MECHANISM_NAMES}, or a name of the papers; also as Remapped(...) or Calibrated(...)"
MECHANISMS = (
    FIRST,
    f"Remapped({FIRST})",
    *(name for name in built_in() if name not in (FIRST, "HellingerSmoothDelta")),
    "Calibrated(HellingerSmooth)",
)
"""The mechanisms that a form offers: all that need no further option."""
PUBLIC_HELP = (
    "What is published about the data beside the release: total, the number of records (or persons), so that only what someone answered "
    "is hidden; {sizes}or nothing, so that it is also hidden whether someone took part."
)
FOR_PAPERS = "Leave it unless you reproduce the papers."
RECORDS_PART, CATEGORIES_PART, PROMISE_PART, BUDGET_PART = "Records", "Categories", "Promise", "Budget"
TABLE_PART, WORDS_PART, MORE_PART = "Groups of a table", "Public words in the record", "Bands, prior, spellings"
RESEARCH_PART = "For researchers"
"""The parts of the form."""


def _told(name: str, help: str, label: str, hint: str = "", **declared: Any) -> Any:  # noqa: A002 - what it is called everywhere
    """Declare words about the data that the record publishes."""
    return asked(public_words(name), help, Row(WORDS_PART, label, hint), call="about", **declared)


def check_offered(name: str) -> str:
    """Return the name of a mechanism that a form offers, and refuse others."""
    if name not in MECHANISMS:
        raise InvalidInputError(f"choose one of {', '.join(MECHANISMS)}; got {shown(name)!r}")
    return name


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest(Request):
    """A release of one variable, or of a table with groups."""

    file: str = asked(
        SOURCE_KIND,
        "A CSV, Parquet, JSON, Excel, SPSS, Stata or SAS file, a pattern such as 'part-*.parquet', - for CSV on standard input, or a "
        "table of a database, postgresql://host/database/table; 'postgresql://host/database select ...' is a query.",
        Row(
            RECORDS_PART,
            "Path of a file",
            "CSV, JSON lines, Parquet, Excel (one sheet: survey.xlsx/Answers), SPSS, Stata, SAS; part-*.parquet counts several as one. "
            "Also a table of a database, postgresql://host/database/table or survey.sqlite/table.",
            "survey.csv",
        ),
        default=REQUIRED,
        positional=True,
        key="study.source",
    )
    column: str = asked(
        TEXT_KIND,
        "The column that holds the answers; --bands may name it too.",
        Row(
            RECORDS_PART,
            "Column with the answers",
            "As its header names it.",
            "smoking",
            words="the column that holds the answers",
        ),
        default=REQUIRED,
        named_in="bands",
        short=("-c",),
        key="tables.column",
    )
    bands: list[Fraction] | None = asked(
        BANDS_KIND,
        "For a column of numbers, in place of --categories: the limits from which bands begin, separated by commas: 0,1,3,7, or "
        "hours=0,1,3,7 in place of --column too. They are public.",
        Row(
            MORE_PART,
            "Bands of a number, in place of the answers",
            "The limits from which bands begin, as in 0,1,3,7: 0 to under 1, 1 to under 3, 3 to under 7, 7 and more.",
            words="the bands",
        ),
        call="Bands",
        argument="lows",
        key="tables.bands",
    )
    missing: str | None = asked(
        MISSING_KIND,
        "With --bands: a category of its own for missing numbers, and its name, such as 'no answer'; by default they are an error.",
        Row(
            MORE_PART,
            "Missing numbers are a category called",
            "Such as “no answer”. Empty: a missing number is refused before anything is charged.",
        ),
        call="Bands",
        key="tables.missing",
    )
    categories: Sequence[str] = asked(
        LABELS_KIND,
        "The declared categories, separated by commas: a,b,c; one that has a comma in quotes: '\"a,b\",c'; or @FILE, a text file "
        "with one on each line; or of a column of dates months:2026-01..2026-12 or years:2020..2026, with ' or NAME' behind it for "
        "missing ones. They are public.",
        Row(
            CATEGORIES_PART,
            "All possible answers, one a line",
            "They are public, so type what the questionnaire says, not what the data hold, and as the file writes it. Put first what "
            "must not be missed.",
            "never\nformer\ncurrent\nunknown",
            words="the categories",
            rows=7,
        ),
        default=REQUIRED,
        missing="type at least two categories, one a line, or separated by commas",
        instead="bands",
        key="tables.categories",
    )
    epsilon: Fraction = asked(
        POSITIVE_KIND,
        "Privacy parameter, as a decimal or a fraction.",
        Row(
            PROMISE_PART,
            "ε, the privacy parameter",
            "A decimal or a fraction such as 1/3. Plan shows what it does.",
            "0.5",
            words="ε",
            numeric="decimal",
        ),
        default=REQUIRED,
        short=("-e",),
        key="study.epsilon",
    )
    prior: "Dirichlet" = asked(
        PRIOR_KIND,
        "uniform, jeffreys, or a concentration for each category: 1,1,1.",
        Row(MORE_PART, "Prior", "uniform, jeffreys, or a number for each category, such as 1,1,2.", words="the prior", value="uniform"),
        default="uniform",
        key="tables.prior",
    )
    privacy_id: str | None = asked(
        TEXT_KIND,
        "The column that says whose a row is: protect persons, not rows. A person with several rows counts once, in the first of "
        "--categories that any of their rows says; put the one that matters first. With --public total the number of "
        "distinct ids is published.",
        Row(
            RECORDS_PART,
            "Column that says which person a row is about",
            "Each person then counts once, in the first category below that any of their rows says. Empty: every row is a record of "
            "its own.",
            "participant",
        ),
        call="count",
        key="study.id",
    )
    one_row_per_person: bool = asked(
        SWITCH_KIND,
        "Declare that every row is another person's, where no column says whose it is. Nothing checks it, and the record says so.",
        Row(
            RECORDS_PART,
            "Every row is another person’s",
            "Say so where no column tells persons apart, and nobody has two rows. Nothing checks it, and the record says that you "
            "declared it.",
        ),
        call="count",
        key="study.rows.one per person",
    )
    by: "Groups | None" = asked(
        GROUPS_KIND,
        "COLUMN=GROUP,GROUP,...: a posterior for each of these groups, all for one epsilon; COLUMN=@FILE reads them from a text file, "
        "one on each line. COLUMN=bands:18,35,55, months:2026-01..2026-12 or years:2020..2026 makes them of numbers or dates, with "
        "' or NAME' behind it for missing ones. May be given several times: the groups are then all combinations. They are public.",
        Row(
            TABLE_PART,
            "Groups, a line for each column",
            "COLUMN=GROUP,GROUP: shares for every group, or combination of groups, all for one ε. A person with rows in several "
            "groups counts in the first one listed. age=bands:18,35,55 and day=months:2026-01..2026-12 make groups of numbers and dates.",
            "region=north,south\nage=0-39,40+",
            words="the groups",
            rows=3,
        ),
        call="count",
        key="tables.by",
    )
    other: str = asked(
        LABEL_KIND,
        "The declared category that takes undeclared answers; by default an error.",
        Row(
            CATEGORIES_PART,
            "Any other answer counts as",
            "One of the categories. Empty: an answer that is not listed above is refused before anything is charged, so that a "
            "misspelt label or a wrong column is found.",
        ),
        default="error",
        call="count",
        key="tables.other",
    )
    nulls: str = asked(
        LABEL_KIND,
        "The declared category that takes missing answers; by default they are an error.",
        Row(
            CATEGORIES_PART,
            "A missing answer counts as",
            "One of the categories. Empty: a missing answer is refused before anything is charged.",
        ),
        default="error",
        call="count",
        key="tables.nulls",
    )
    strict: bool = asked(
        SWITCH_KIND,
        "For services that answer questions of others, who must not learn from a refusal what the data say: nothing is refused for "
        "that. --other also takes what cannot be read, --nulls rows without an id. At your own desk leave it out: a misspelt label is "
        "then refused, and not published as --other.",
        Row(
            CATEGORIES_PART,
            "I answer questions of others",
            "Leave this empty for your own data. If others choose the question, a refusal would tell them whether someone gave an "
            "answer that they did not list, and cost nothing. Strict counting then refuses nothing for what the data say: every other or "
            "missing answer and group needs a place among those you list.",
        ),
        call="count",
        key="study.strict",
    )
    mapped: dict[str, str] = asked(
        MAPPING_KIND,
        "VALUE=CATEGORY: another way to write a category, which the record publishes; @FILE reads them from a text file, one on each "
        "line. May be given several times. Correct what you found by looking at the data in the data instead.",
        Row(MORE_PART, "Other spellings", "VALUE=CATEGORY, one a line.", "Never=never", rows=2),
        option="--map",
        call="count",
        argument="mapping",
    )
    trim: bool = asked(
        SWITCH_KIND,
        "Compare answers and groups without the blanks around them. The record says so.",
        Row(MORE_PART, "Leave out blanks around answers and groups"),
        call="count",
        argument="spelling",
        item="trim",
        key="study.normalize.spaces",
    )
    ignore_case: bool = asked(
        SWITCH_KIND,
        "Compare answers and groups without regard to capital letters. The record says so.",
        Row(MORE_PART, "Take capital and small letters as the same"),
        call="count",
        argument="spelling",
        item="ignore case",
        key="study.normalize.case",
    )
    ignore_accents: bool = asked(
        SWITCH_KIND,
        "Compare answers and groups without the accents on Latin letters. The record says so.",
        Row(
            MORE_PART,
            "Leave out the accents on letters",
            "All three are rules to fix before you look at the data, and the record names them.",
        ),
        call="count",
        argument="spelling",
        item="ignore accents",
        key="study.normalize.accents",
    )
    corrections: str | None = asked(
        TEXT_KIND,
        "A TOML file of your own corrections of spellings, which are applied before counting and never published: for each column, a "
        "section of its name with lines such as 'Nevr' = 'never'. The record says that corrections are allowed, used or not.",
        Row(
            MORE_PART,
            "Path of a file of corrections",
            "A TOML file: [column], and below it lines such as 'Nevr' = 'never'. They are never published; the record says that "
            "corrections are allowed. Decide for each spelling by itself, and not by how often it occurs.",
            "corrections.toml",
        ),
        call="count",
        key="study.corrections",
    )
    na_values: list[str] = asked(
        LIST_KIND,
        "What stands for a missing answer, separated by commas: NA,. (an empty cell always does).",
        Row(MORE_PART, "Marks of a missing answer", "Separated by commas, such as NA,.", words="the marks of missing answers"),
        default="",
        call="count",
        key="tables.na_values",
    )
    encoding: str = asked(
        TEXT_KIND,
        "The encoding of a CSV file, such as latin-1 or cp1252.",
        Row(MORE_PART, "Encoding of a CSV file", "Empty: utf-8. Others: latin-1, cp1252."),
        default="utf-8",
        call="count",
        key="study.encoding",
    )
    weight: str | None = asked(
        TEXT_KIND,
        "The column that says how many records a row stands for, in a table that is already counted. Protected is then one unit "
        "of weight, not a row.",
        call="count",
    )
    other_groups: dict[str, str] = asked(
        GROUP_OF_EACH_KIND,
        "COLUMN=GROUP: the declared group that takes undeclared and missing ones; by default an error.",
        Row(
            TABLE_PART,
            "Other and missing groups count as",
            "COLUMN=GROUP, a line for each column that has some; the group is one that you list for them above. Empty: they are "
            "refused before anything is charged.",
            "region=elsewhere",
            rows=2,
        ),
        option="--other-group",
        call="count",
        key="tables.other_groups",
    )
    impossible: list[tuple[str, ...]] = asked(
        CELLS_KIND,
        "GROUP,...,CATEGORY: a cell that cannot occur, and needs no noise: m,pregnant. May be given several times.",
        Row(
            TABLE_PART,
            "Cells that cannot occur",
            "GROUP,…,CATEGORY, one a line. They get no noise.",
            words="cells that cannot occur",
            rows=2,
        ),
        call="count",
        key="tables.impossible",
    )
    public: "Public" = asked(
        PUBLIC_KIND,
        PUBLIC_HELP.format(sizes="with --by, sizes, those of every group, so that groups are not hidden; "),
        Row(
            PROMISE_PART,
            "What is public about the data",
            "How many records, or persons if a column above names them. “Nothing” hides even whether someone took part.",
            words="what is public:",
            choices={"total": "How many there are", "nothing": "Nothing"},
        ),
        default="total",
        key="study.public",
    )
    mechanism: str = asked(
        TEXT_KIND,
        f"{MECHANISM_HELP}.",
        Row(
            RESEARCH_PART,
            "Mechanism",
            "The first is the one to use; the others are those of the papers, to compare with.",
            choices={name: name for name in MECHANISMS},
        ),
        default=MECHANISMS[0],
        short=("-m",),
    )
    gamma: Any = asked(GAMMA_KIND, f'For HellingerSmooth: a number, or "best". {FOR_PAPERS}', call="mechanism")
    delta: Fraction | None = asked(
        NUMBER_KIND,
        "For DiscreteGaussian, by default 1e-8: the probability that ε may be exceeded. Also for HellingerSmoothDelta.",
        call="mechanism",
    )
    ledger: str | None = asked(
        TEXT_KIND,
        "The budget ledger: a file, or a database URL.",
        Row(
            BUDGET_PART,
            "Ledger",
            "The path of its file, or the URL of a PostgreSQL database. The screen “Budget” makes a new one, and then fills this in.",
            "ledger.db",
        ),
        variable=LEDGER_VARIABLE,
    )
    dataset: str | None = asked(
        TEXT_KIND,
        "The ledger's name for these records.",
        Row(BUDGET_PART, "Name of the dataset in it", placeholder="survey"),
        key="study.dataset",
    )
    period: str | None = asked(
        PERIOD_KIND,
        "The periods that the records are of, where each has a budget: 2026, 2026-Q4, 2026-11 or 2026-11-18, or several, as in "
        "2026-01..2026-03, each of which is charged. A row belongs to the period of the date in it, whenever it arrived.",
        Row(
            BUDGET_PART,
            "Period that the records are of",
            "Where each period has a budget: 2026, 2026-Q4, 2026-11 or 2026-11-18, or several, as in 2026-01..2026-03, each of which is "
            "charged. A row belongs to the period of its own date.",
            "2026-11",
            words="the period",
        ),
        call="release",
        key="study.period",
    )
    period_column: str | None = asked(
        TEXT_KIND,
        "With --period: the column of dates by which rows of other periods are left out. Without it the file must hold the rows of the "
        "period alone, and the record says that this was declared and not checked.",
        Row(
            BUDGET_PART,
            "Column of dates",
            "Rows of other periods are then left out. Empty: the file holds the rows of the period alone, which nothing checks.",
            "date",
        ),
        key="study.period_column",
    )
    title: str | None = _told(
        "title", "A heading for the record, which publishes it, like the four that follow.", "Title", key="study.title"
    )
    variable: str | None = _told(
        "variable",
        "What was asked or measured, in words.",
        "What was asked",
        "Empty: the column’s name.",
        shown_default="the column",
        key="tables.variable",
    )
    source: str | None = _told("source", "Where the data come from: survey, register, institution.", "Where the data come from")
    date: str | None = _told(
        "date",
        "When they were collected: 2024, 2024-05, 2024-05-31 or 2023/2024.",
        "When they were collected",
        "2024, 2024-05, 2024-05-31 or 2023/2024.",
        key="study.date",
    )
    note: str | None = _told("note", "Anything else that readers must know.", "What else readers must know", key="study.note")

    # --- what follows from it -----------------------------------------------------------------------------------------

    @property
    def about(self) -> "About":
        """The public words of the record. The variable is called as its column unless it is given other words."""
        from discreet.record.about import About

        return About(**{"variable": plain(shown(self.column)) or None, **self.arguments("about")})

    def arguments(self, call: str) -> dict[str, Any]:
        """The named arguments of a call of Python; those of counting say which rows are of the period."""
        found = super().arguments(call)
        return found | {"dated": (self.period_column, self.period)} if call == "count" and self.period_column is not None else found

    @property
    def unit(self) -> "Unit":
        """Whom the release protects."""
        return "person" if self.privacy_id is not None or self.one_row_per_person else "record"

    @property
    def relation(self) -> "Relation":
        """The neighbours that the release is about."""
        return relation_of(self.public, self._columns)

    @property
    def ledger_note(self) -> str:
        """The note of the release in a ledger."""
        return note_of(self.column, self._columns, self.file)

    def counted(self, data: Any = None) -> "CategoryCounts | TableCounts":
        """The counts of the declared categories in the file, or in other data that stand for it."""
        from discreet.data.count import count

        if data is None:
            with opened(self.file) as data:
                return self.counted(data)
        found: CategoryCounts | TableCounts = count(data, self.column, self.categories, **self.arguments("count"))
        return found

    def question(self) -> "CountingQuestion":
        """Return the question that counting answers, wherever the data are."""
        from discreet.data.question import question_of

        others = {name: value for name, value in self.arguments("count").items() if name != "encoding"}
        return question_of(self.column, self.categories, **others)

    @property
    def _columns(self) -> tuple[str, ...]:
        return () if self.by is None else self.by.columns

    def examined(self, data: Any = None, place: "Place" = "shell") -> "DataCheck":
        """Check the data for the curator before the release, in the words of the place where it is asked. All results are private."""
        from discreet.requests.checks import checked

        self.check()
        if data is None and self.file == STANDARD_INPUT:
            raise InvalidInputError("check reads the data more than once, which standard input does not allow: name a file")
        tables = {"": (self.question(), self.settled)}
        with opened(self.file) as file:
            return checked(file if data is None else data, self.encoding, tables, type(self), place)

    def prepared(self, counts: "CategoryCounts | TableCounts") -> "Prepared":
        """Everything about the release of these counts, but the draw."""
        from discreet.mechanisms import mechanism

        options = self.arguments("mechanism") | ({} if self.by is None else {"by": self.by, "impossible": self.impossible})
        return mechanism(self.mechanism, self.prior, published_sizes(counts, self.public), self.epsilon, **options).prepare(
            counts, about=self.about, **self.arguments("release")
        )

    def settled(self, tally: "Tallied") -> "Prepared":
        """Everything about the release of what was counted, but the draw."""
        return self.prepared(tally.settled())

    def check(self) -> None:
        """Refuse what fits together in no place."""
        check_strict(self.public, is_strict=self.strict)
        check_dated(self.period, self.period_column)

    def python(self, *, names_source: bool = True) -> str:
        """Python that makes the same release; it says where the data come from unless the file is a copy."""
        from discreet.data.made_labels import MadeLabels

        labels = self.categories.code() if isinstance(self.categories, MadeLabels) else "prior.categories"
        counting = ", ".join([repr(self.file), repr(self.column), labels, *self.code("count")])
        n = {"nothing": "None", "total": "counts.total", "sizes": "counts.sizes"}[self.public]
        tabled = {name: f"counts.{name}" for name in ("by", "impossible") if name in self.arguments("count")}
        made = ", ".join([repr(self.mechanism), "prior", n, quoted(self.epsilon), *self.code("mechanism", **tabled)])
        about = ", ".join(f"{name}={text!r}" for name, text in vars(self.about).items() if isinstance(text, str))
        known = f", source={source_of(self.file)!r}" if names_source else ""
        period = "".join(f", {text}" for text in self.code("release"))
        return "\n".join(
            [
                "import discreet as dc",
                "",
                f"prior = {PRIOR_KIND.code(self.prior)}",
                f"counts = dc.count({counting})",
                f"mechanism = dc.mechanism({made})",
                f"ledger = dc.Ledger({self.ledger or 'ledger.db'!r})",
                f"release = ledger.release({self.dataset!r}, mechanism, counts, about=dc.About({about}){known}{period})",
                "text = release.to_json()",
            ]
        )


@dataclass(frozen=True, kw_only=True)
class ReleaseDelivery(ReleaseRequest):
    """A release, and where its record goes."""

    output: Path | None = asked(
        help="Write the public record to this new .json file, or a table to .parquet; else print it.", **RECORD_OUTPUT
    )
    plot: Path | None = asked(help="Draw the posteriors to this new PNG, SVG or PDF file.", **PICTURE)
    as_json: bool = asked(**AS_JSON)
    quiet: bool = asked(SWITCH_KIND, "Print nothing; for use with --output.", short=("-q",))
    yes: bool = asked(help="Release without asking, also where no intervals or no verification will be possible.", **YES)

    def check(self) -> None:
        """Refuse also a budget of which one name is missing, and a release that nobody sees."""
        super().check()
        if (self.ledger is None) != (self.dataset is None):
            raise InvalidInputError(
                f"--ledger (or {LEDGER_VARIABLE}) and --dataset go together: which budget is this release to be taken from?"
            )
        if self.quiet and self.output is None:
            raise InvalidInputError("--quiet without --output would draw a release that nobody sees")
        if self.by is None and self.is_parquet:
            raise InvalidInputError(
                "--output .parquet is for tables, which --by makes; the record of one variable is JSON: --output x.json"
            )

    @property
    def is_printed(self) -> bool:
        """Return whether the record goes to standard output."""
        return not self.quiet and (self.as_json or self.output is None)

    @property
    def is_parquet(self) -> bool:
        """Return whether the record is written as Parquet."""
        return self.output is not None and self.output.suffix.lower() == ".parquet"


@dataclass(frozen=True, kw_only=True)
class CheckRequest(ReleaseRequest):
    """A request to check the data before a release, with the same options."""

    epsilon: Fraction = changed(ReleaseRequest, "epsilon", default="1", help="As in the release; nothing is spent here.")
