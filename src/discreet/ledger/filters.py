"""The Rényi filter of a budget: what releases are charged, and how much may be, at one order that is fixed beforehand.

Feldman and Zrnic, "Individual privacy accounting via a Rényi filter" (2021). docs/proofs/ledger.md proves that a dataset whose releases
pass the filter is (ε, δ)-private however each release is chosen in view of the earlier ones. Charges are rounded up and limits down,
to decimals whose sums are exact.
"""

from contextlib import suppress
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, floor, inf, isfinite

from flint import arb

from discreet import limits
from discreet.errors import InvalidInputError, TooLargeError
from discreet.ledger.budgets import ORDER_EXPONENTS, Loss, RenyiFilter
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.losses import composes_by_cell, renyi_divergence
from discreet.numerics.balls import ball, dyadic, refine
from discreet.text import shown
from discreet.validation import Number, check_positive

_CHARGE_UNIT = Fraction(1, 10**20)
"""Charges and limits are multiples of it."""
_ORDERS_A_DECADE = 60
_LEAST_STEP, _MOST_STEP = (_ORDERS_A_DECADE * exponent for exponent in ORDER_EXPONENTS)
_ORDERS = [1 + Fraction(Decimal(f"{10 ** (step / _ORDERS_A_DECADE):.3g}")) for step in range(_LEAST_STEP, _MOST_STEP + 1)]
"""The orders that a filter may have, so close together that the best between two of them would hardly allow more."""
_LARGEST_ORDER_EXPONENT = 10_000
"""The power of e above which the divergence is its ε for all purposes."""
_SIX_DIGITS_DOWN = Context(prec=6, rounding=ROUND_FLOOR)


def planned_filter(total: Loss, planned_epsilon: Number) -> RenyiFilter:
    """The filter that allows the most releases of this ε within a total ε and δ."""
    planned = check_positive(planned_epsilon, "planned_epsilon")
    if not total.delta:
        raise InvalidInputError("a filter needs a budget with delta above 0, such as 1e-6")
    if planned > total.epsilon:
        raise InvalidInputError(f"planned_epsilon must be at most the budget's epsilon, got {shown(planned_epsilon)}")
    found = [RenyiFilter(order, _limit(total, order)) for order in _ORDERS]
    best = max(found, key=lambda rule: rule.limit / largest_divergence(planned, rule.order))
    by_sum = total.epsilon // planned
    if affordable(best, planned) <= by_sum:
        raise InvalidInputError(
            f"a filter would allow no more releases of ε = {shown(planned_epsilon)} than the plain sum does, {shown(by_sum)}: "
            "plan smaller ones, take a larger delta, or leave planned_epsilon out"
        )
    return best


def affordable(rule: RenyiFilter, epsilon: Fraction) -> int:
    """Return how many releases of this ε a filter allows, whatever mechanisms they are of."""
    return max(0, rule.limit // largest_divergence(epsilon, rule.order))


def _limit(total: Loss, order: Fraction) -> Fraction:
    """The Rényi divergence of this order below which releases are (ε, δ)-private together (Canonne, Kamath and Steinke 2020)."""

    def compute() -> arb:
        a, delta = ball(order), ball(total.delta)
        return ball(total.epsilon) - ((a - 1) / a).log() + (delta.log() + a.log()) / (a - 1)

    return floor(dyadic(refine(compute).lower()) / _CHARGE_UNIT) * _CHARGE_UNIT


def largest_divergence(epsilon: Fraction, order: Fraction) -> Fraction:
    """The largest Rényi divergence of this order that any ε-private mechanism has: that of a coin told truly with odds of e^ε."""
    if order * epsilon > _LARGEST_ORDER_EXPONENT:
        return _rounded_up(epsilon)

    def compute() -> arb:
        a, e = ball(order), ball(epsilon)
        return (2 * (a * e / 2).sinh() * ((a - 1) * e / 2).sinh() / (e / 2).cosh()).log1p() / (a - 1)

    return _rounded_up(min(epsilon, dyadic(refine(compute).upper())))


def mechanism_divergence(mechanism: Mechanism, order: Fraction, steps: int = 1) -> Fraction:
    """The Rényi divergence of a mechanism's own laws, worst over neighbouring datasets; that of its ε where they cannot be listed.

    With `steps` = 2, over datasets of which one has a record replaced, for a mechanism whose own step adds or removes one. Where each of
    the two counts that change has noise of its own, their divergences add up; elsewhere that of 2ε is given.
    """
    bound = inf
    listed = mechanism._loss_atoms() is not None or (mechanism.space.n is not None and mechanism.space.n <= limits.FILTER_RECORDS)
    if listed and (steps == 1 or composes_by_cell(mechanism)):
        with suppress(TooLargeError):
            bound = renyi_divergence(mechanism, float(order)).bound
    if isfinite(bound):
        return _rounded_up(steps * Fraction(bound))
    return largest_divergence(steps * Fraction(repr(mechanism.guarantee.epsilon)), order)


def largest_epsilon(divergence: Fraction, order: Fraction) -> Fraction:
    """The ε, rounded down to six digits, of the largest release that may be charged this much, whatever its mechanism."""
    if divergence < _CHARGE_UNIT:
        return Fraction(0)
    low = high = divergence  # no divergence is above its ε
    while largest_divergence(high, order) <= divergence:
        low, high = high, 2 * high
    while high - low > low / 10**7:
        middle = (low + high) / 2
        low, high = (middle, high) if largest_divergence(middle, order) <= divergence else (low, middle)
    return Fraction(_SIX_DIGITS_DOWN.divide(Decimal(low.numerator), Decimal(low.denominator)))


def _rounded_up(value: Fraction) -> Fraction:
    return ceil(value / _CHARGE_UNIT) * _CHARGE_UNIT
