"""The errors a caller can meet. None of their messages ever contains private data."""


class DiscreetError(Exception):
    """Base of every error raised on purpose by discreet."""


class InvalidInputError(DiscreetError, ValueError):
    """An argument is outside what is allowed; nothing was spent or drawn."""


class TooLargeError(DiscreetError):
    """The exact answer needs more work than is allowed; the message says how much."""
