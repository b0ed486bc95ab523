"""000 section 6.1.1: the squared Hellinger distance t steps from Beta(α, β), as printed and as it is. Balls, at the working precision."""

from fractions import Fraction

from flint import arb

from discreet.model.distances import hellinger_ball
from discreet.numerics.balls import ball

__all__ = ["even_steps", "floored", "odd_steps", "one_step", "squared_distance", "two_steps"]


def squared_distance(alpha: Fraction, beta: Fraction, t: int) -> arb:
    """H² between Beta(α, β) and Beta(α + t, β - t)."""
    return hellinger_ball([alpha, beta], [alpha + t, beta - t]) ** 2


def _gammas(alpha: Fraction, beta: Fraction) -> arb:
    """`Γ(α+½)/Γ(α) · Γ(β-½)/Γ(β)`."""
    half = Fraction(1, 2)
    return (ball(alpha + half).lgamma() - ball(alpha).lgamma() + ball(beta - half).lgamma() - ball(beta).lgamma()).exp()


def one_step(alpha: Fraction, beta: Fraction, *, repaired: bool = False) -> arb:
    """The printed formula for t = 1, or with the factor sqrt((β-1)/α) that it lacks."""
    return 1 - _gammas(alpha, beta) * (ball((beta - 1) / alpha).sqrt() if repaired else arb(1))


def two_steps(alpha: Fraction, beta: Fraction, *, repaired: bool = False) -> arb:
    """The printed formula for t = 2, or with β - 1 for β."""
    return 1 - ball(1 - 1 / (alpha + 1)).sqrt() * ball(1 - 1 / (beta - 1 if repaired else beta)).sqrt()


def even_steps(alpha: Fraction, beta: Fraction, t: int) -> arb:
    """The printed product for even t."""
    half, found = t // 2, arb(1)
    for k in range(half):
        found *= ball(1 - half / (alpha + k + half)).sqrt()
    for k in range(1, half + 1):
        found *= ball(1 - half / (beta - k)).sqrt()
    return 1 - found


def odd_steps(alpha: Fraction, beta: Fraction, t: int) -> arb:
    """The printed product for odd t = 2m + 1; without factors, for m = 0, it is the printed formula for t = 1."""
    m, half, found = t // 2, Fraction(1, 2), _gammas(alpha, beta)
    for k in range(m):
        found *= ball((1 + 1 / (2 * (alpha + k))) * (1 + (half - m) / (alpha + m + k))).sqrt()
    for k in range(1, m + 1):
        found *= ball((1 + 1 / (2 * (beta - half - k))) * (1 + (half - m) / (beta - half - k))).sqrt()
    return 1 - found


def floored(t: int, scale: Fraction) -> tuple[arb, arb]:
    """P(⌊Lap(scale)⌋ = t) for t < 0: as first printed, and as it is."""
    here, above = ball(t / scale).exp(), ball((t + 1) / scale).exp()
    return (here - above) / 2, (above - here) / 2
