"""The name under which the documentation has the law of the number of records."""

from discreet.counts.size_posterior import SizePosterior

__all__ = ["SizePosterior"]
