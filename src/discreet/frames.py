"""Errors that take no private variables with them.

An error carries the frames it passed through, and collectors of errors send the variables of every frame to a server. The functions
that are given private data are therefore wrapped: whatever leaves them, raised on purpose, by a defect or by Ctrl-C, says where it came
from and holds none of their variables. The variables of the caller's own functions are the caller's.
"""

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from traceback import clear_frames
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def forgets_variables(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Wrap a function so that no exception that leaves it holds a variable of it, or of anything it called."""

    @wraps(function)
    def guarded(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        handled = sys.exc_info()[1]
        try:
            return function(*arguments, **options)
        except BaseException as error:
            _clear(error, handled)
            del arguments, options, handled
            raise

    return guarded


def _clear(error: BaseException, handled: BaseException | None) -> None:
    """Empty the frames of an error and of those that led to it, up to the one that the caller was handling already."""
    waiting: list[BaseException | None] = [error]
    seen = {id(None), id(handled)}
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            clear_frames(one.__traceback__)
            waiting += [one.__cause__, one.__context__]


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the line outside of this package that led here as the line of origin."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith("discreet."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
