"""Engine code, run so that nothing of the data leaves through a message: of an engine's error, which may quote values, only the kind."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from discreet.errors import DiscreetError, SourceError

__all__ = ["within_engine"]

_Result = TypeVar("_Result")


def within_engine(doing: str, action: Callable[..., _Result], *arguments: Any, **options: Any) -> _Result:
    """Run engine code. Raising after the handler, not in it, keeps the engine's error, which may quote data, out of the chain."""
    try:
        with _spark_loggers_off():
            return action(*arguments, **options)
    except DiscreetError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise SourceError(f"{doing} failed with {kind}; the engine's message is withheld because it may quote data")


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
