"""`discreet observe`: a record of counts that others published."""

import typer

from discreet.cli.output_files import check_place, record_content, tell_name, write_new
from discreet.cli.questions import asks
from discreet.errors import InvalidInputError
from discreet.present.record import print_record
from discreet.requests.observe import ObserveRequest


@asks(ObserveRequest)
def observe(asked: ObserveRequest) -> None:
    """Make a record of noisy counts that somebody else published, which is shown, reported, contrasted and combined like ours.

    discreet promises nothing about such counts. What is known about their noise and about what was done to them is taken as you say it.

    Examples: discreet observe counts.csv --noise gaussian:4 --by region --source "Office A" --output theirs.json, or
    discreet observe counts.csv --noise laplace:2 --steps rounded:5,suppressed:10 --size-prior poisson:180 | discreet show -
    """
    if asked.python:
        typer.echo(asked.in_python())
        return
    if asked.output is not None:
        check_place(asked.output, "--output", {"the published counts": asked.file}, why="it may be the only copy of a record")
        if not asked.by and asked.output.suffix.lower() == ".parquet":
            raise InvalidInputError(
                "--output .parquet is for tables, which --by makes; the record of one variable is JSON: --output x.json"
            )
    found = asked.record()
    if asked.output is None:
        typer.echo(found.to_json())
        return
    tell_name(write_new(asked.output, record_content(found, asked.output)), asked.output)
    print_record(found)
