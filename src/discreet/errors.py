"""The errors a caller can meet. None of their messages ever contains private data."""

import re

_IN_SHELL = re.compile(r"[^ ]+ \(in the shell, ([^()]*)\)")
"""A word of Python in a message, with what the shell says in its place."""


class DiscreetError(Exception):
    """Base of every error raised on purpose by discreet. Its text is for Python; `in_shell` is the same for the command line."""

    def __init__(self, *arguments: object, in_shell: str | None = None) -> None:
        super().__init__(*arguments)
        self._in_shell = in_shell

    @property
    def in_shell(self) -> str:
        """The message with advice that can be typed into a shell, where it differs from the advice for Python."""
        return _IN_SHELL.sub(r"\1", str(self)) if self._in_shell is None else self._in_shell


class InvalidInputError(DiscreetError, ValueError):
    """An argument is outside what is allowed; nothing was spent or drawn."""


class ClaimError(InvalidInputError):
    """A record claims another guarantee than the mechanism it names has: do not rely on it."""


class TooLargeError(DiscreetError):
    """The exact answer needs more work than is allowed; the message says how much."""


class RefusedError(DiscreetError):
    """A release without a guarantee, or without an exact sampler, was asked for; nothing was spent or drawn."""


class EntropyError(DiscreetError):
    """The source of random bits failed, ran dry or returned something else; nothing was released."""


class InternalError(DiscreetError):
    """A proven bound was found broken, which is a defect of discreet; nothing was released."""


class SourceError(DiscreetError, ValueError):
    """A table or file could not be counted as asked; the message says why without any value, and nothing was spent."""


class CopyWarning(UserWarning):
    """Two releases that are read together have the same mechanism and the same outcome: they may be copies of one draw."""


class SecondBudgetWarning(UserWarning):
    """The source of a release was charged to another dataset before: two budgets for the same people add up."""


class LedgerError(DiscreetError):
    """The ledger could not be opened, read or written; whoever wanted to spend must not release."""


class BudgetError(LedgerError):
    """The dataset's budget does not allow this spend; nothing was spent."""


class RepeatedError(LedgerError):
    """The request was charged before; nothing was spent now, and its release must not be drawn a second time."""
