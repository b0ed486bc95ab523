"""The options of `release` about its data: where they are, how they are written, and what the record says about them."""

from typing import Annotated

import typer

FileArgument = Annotated[
    str,
    typer.Argument(
        help="A CSV, Parquet or JSON file, a pattern such as 'part-*.parquet', or - for CSV on standard input.", show_default=False
    ),
]
ColumnOption = Annotated[str, typer.Option("--column", "-c", help="The column that holds the answers.")]
CategoriesOption = Annotated[
    str,
    typer.Option(
        help="The declared categories, separated by commas: a,b,c; one that has a comma in quotes: '\"a,b\",c'; or @FILE, a text file "
        "with one on each line. They are public."
    ),
]
PrivacyIdOption = Annotated[
    str | None,
    typer.Option(
        help="The column that says whose a row is: protect persons, not rows. A person with several rows counts once, in the first of "
        "--categories that any of their rows says; put the one that matters first. With --public total the number of "
        "distinct ids is published."
    ),
]
OneRowPerPersonOption = Annotated[
    bool,
    typer.Option(
        "--one-row-per-person",
        help="Declare that every row is another person's, where no column says whose it is. Nothing checks it, and the record says so.",
    ),
]
NullsOption = Annotated[str, typer.Option(help="The declared category that takes missing answers; by default they are an error.")]
OtherOption = Annotated[str, typer.Option(help="The declared category that takes undeclared answers; by default an error.")]
NaValuesOption = Annotated[
    str, typer.Option("--na-values", help="What stands for a missing answer, separated by commas: NA,. (an empty cell always does).")
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="VALUE=CATEGORY: another way to write a category, which the record publishes; @FILE reads them from a text file, one on each "
        "line. May be given several times. Correct what you found by looking at the data in the data instead.",
    ),
]
TrimOption = Annotated[bool, typer.Option("--trim", help="Compare answers and groups without the blanks around them. The record says so.")]
IgnoreCaseOption = Annotated[
    bool, typer.Option("--ignore-case", help="Compare answers and groups without regard to capital letters. The record says so.")
]
EncodingOption = Annotated[str, typer.Option(help="The encoding of a CSV file, such as latin-1 or cp1252.")]
WeightOption = Annotated[
    str | None,
    typer.Option(
        help="The column that says how many records a row stands for, in a table that is already counted. Protected is then one unit "
        "of weight, not a row."
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="For services that answer questions of others, who must not learn from a refusal what the data say: nothing is refused for "
        "that. --other also takes what cannot be read, --nulls rows without an id. At your own desk leave it out: a misspelt label is "
        "then refused, and not published as --other.",
    ),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="COLUMN=GROUP,GROUP,...: a posterior for each of these groups, all for one epsilon; COLUMN=@FILE reads them from a text file, "
        "one on each line. May be given several times: the groups are then all combinations. They are public.",
    ),
]
OtherGroupOption = Annotated[
    list[str] | None,
    typer.Option("--other-group", help="COLUMN=GROUP: the declared group that takes undeclared and missing ones; by default an error."),
]
ImpossibleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--impossible", help="GROUP,...,CATEGORY: a cell that cannot occur, and needs no noise: m,pregnant. May be given several times."
    ),
]
TitleOption = Annotated[str | None, typer.Option(help="A heading for the record, which publishes it, like the four that follow.")]
VariableOption = Annotated[str | None, typer.Option(help="What was asked or measured, in words.", show_default="the column")]
SourceOption = Annotated[str | None, typer.Option(help="Where the data come from: survey, register, institution.")]
DateOption = Annotated[str | None, typer.Option(help="When they were collected: 2024, 2024-05, 2024-05-31 or 2023/2024.")]
NoteOption = Annotated[str | None, typer.Option(help="Anything else that readers must know.")]
