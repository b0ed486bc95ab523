"""Commands, run as they are typed."""

from pathlib import Path

from typer.testing import CliRunner, Result

import discreet as dc
from discreet.cli import app

CATEGORIES = ["never", "former", "current"]
PRIOR = dc.Dirichlet.uniform(categories=CATEGORIES)


def invoke(*words: object, given: str | bytes | None = None, columns: int = 200, environment: Path | None = None) -> Result:
    """What a command answers on a terminal of so many columns.

    `given` is its standard input, and `environment` the ledger that DISCREET_LEDGER names.
    """
    variables = {"COLUMNS": str(columns), "DISCREET_LEDGER": None if environment is None else str(environment)}
    return CliRunner(env=variables).invoke(app, [str(word) for word in words], input=given)


def assert_refused(result: Result, *says: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for said in says:
        assert said in result.stderr
