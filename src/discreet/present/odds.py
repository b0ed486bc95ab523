"""Privacy losses in odds: a bound on what can be learnt about one, also by someone who knows everything about the others."""

from math import ceil, exp, expm1, floor, log10

_LARGEST_WRITTEN_EXPONENT = 30
"""The largest exponent of e whose power is written out as a number."""
_ODDS_DIGITS = 3
_NO_DOUBT = 1e-6


def odds_factor(epsilon: float) -> str:
    """e^ε, by which odds change at most, rounded up to three digits."""
    if epsilon > _LARGEST_WRITTEN_EXPONENT:
        return f"e to the power of {epsilon:g}"
    value = exp(epsilon)
    unit = 10.0 ** (floor(log10(value)) - _ODDS_DIGITS + 1)
    return f"{ceil(value / unit * (1.0 - 1e-12)) * unit:,.10g}"


def surest(before: float, epsilon: float) -> str:
    """Return how sure of something anyone can become who held it for this likely, rounded up, so that nothing is understated.

    Odds p/(1 - p) times e^ε are those of 1 - (1 - p)/(1 + p (e^ε - 1)). What is left to certainty keeps two digits.
    """
    doubt = (1.0 - before) / (1.0 + before * expm1(min(epsilon, _LARGEST_WRITTEN_EXPONENT)))
    if doubt < _NO_DOUBT:
        return "practically certain"
    decimals = max(1, -floor(log10(100.0 * doubt)) + 1)
    sure = ceil(100.0 * (1.0 - doubt) * 10**decimals - 1e-9) / 10**decimals
    return f"{sure:.{decimals}f}\u00a0%"
