"""Engine code, run so that nothing of the data leaves through a message: of an engine's error, only the kind or the cause."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from discreet.errors import DiscreetError, SourceError

_Result = TypeVar("_Result")


def library(name: str, what: str, extra: str) -> Any:
    """Import a library that an extra brings; where it is missing, say what it reads and how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise SourceError(f"{what} are read by {name}, which is not installed: pip install 'discreet[{extra}]'") from None


def within_engine(doing: str, action: Callable[..., _Result], *arguments: Any, **options: Any) -> _Result:
    """Run engine code. Raising after the handler, not in it, keeps the engine's error, which may quote data, out of the chain."""
    try:
        with _spark_loggers_off():
            return action(*arguments, **options)
    except DiscreetError:
        raise
    except Exception as error:
        kind, reason = type(error).__name__, _reason(error)
    if reason is not None:
        raise SourceError(f"{doing} failed: {reason}")
    raise SourceError(f"{doing} failed with {kind}; the engine's message is withheld because it may quote data")


def _reason(error: Exception) -> str | None:
    """Return the reason, from a frame that is gone when the error is raised: its variables hold what the engine said."""
    said = str(error)
    return next((ours for theirs, ours in _REASONS.items() if theirs in said), None)


RAGGED = "a line of the CSV file has more or fewer cells than the first one (a cell with the delimiter in it needs double quotes)"
_NOT_UTF8 = "the CSV file is not UTF-8 text: save it as that, or name its encoding with encoding=... (in the shell, --encoding)"
_REASONS = {
    "Expected Number of Columns": RAGGED,
    "detect the CSV parsing dialect": f"{RAGGED}, or a quote that is not closed",
    "unterminated quote": "a quote in the CSV file is not closed",
    "not utf-8": _NOT_UTF8,
    "codec can't decode": _NOT_UTF8,
    "parser stack overflow": "SQLite takes no rule as long as ignoring accents: leave it out, or count a copy of the table as a file",
}
"""Phrases of engines about broken files, and the same in words that quote none of it."""


@contextmanager
def _spark_loggers_off() -> Iterator[None]:
    """PySpark logs its errors, with the values they quote, before it raises them."""
    loggers: list[logging.Logger] = []
    if "pyspark.logger" in sys.modules:
        from pyspark.logger import PySparkLogger

        loggers = [PySparkLogger.getLogger(name) for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
