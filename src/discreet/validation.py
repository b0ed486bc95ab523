"""Every check of a caller's argument, in one place. Messages name the argument and the kind of value, never private data."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import isfinite
from numbers import Integral, Rational, Real
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError
from discreet.text import shown as shown

Number = int | float | Fraction | Decimal | str


_SHORT_NUMBER = 1 << 64
"""Whole numbers below this have fewer digits than any limit."""


def exact(value: Any, name: str) -> Fraction:
    """The rational number a value stands for: a float means the decimal it prints as."""
    if type(value) is int and -_SHORT_NUMBER < value < _SHORT_NUMBER:  # most are, and nothing about them needs to be looked at
        return Fraction(value)
    number = _rational(value, name)
    if -_SHORT_NUMBER < number.numerator < _SHORT_NUMBER and number.denominator < _SHORT_NUMBER:
        return number
    if max(abs(number.numerator), number.denominator) > 10**limits.NUMBER_DIGITS:
        raise InvalidInputError(f"{name} must be a ratio of whole numbers of at most {limits.NUMBER_DIGITS:,} digits; this one has more")
    return number


def _rational(value: Any, name: str) -> Fraction:
    if isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"{name} must be a number, not a truth value")
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    try:
        if type(value) is Fraction:
            return value
        if isinstance(value, Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        if isinstance(value, (str, Decimal)):
            return _read(value)
        if isinstance(value, Real):
            if not isfinite(value):
                raise InvalidInputError(f"{name} must be finite, not {float(value)}")
            return Fraction(str(value))
    except (ValueError, InvalidOperation, OverflowError, ZeroDivisionError):
        hint = _spelling_hint(value) if isinstance(value, str) else ""
        wanted = f"{name} must be a finite number such as 0.5"
        raise InvalidInputError(f"{wanted}, '1/3' or Fraction(1, 3){hint}", in_shell=f"{wanted} or 1/3{hint}") from None
    raise InvalidInputError(f"{name} must be a number (int, float, Fraction, Decimal or decimal string), not {type(value).__name__}")


def _read(value: str | Decimal) -> Fraction:
    """A decimal or a ratio; one with a huge exponent is refused before anyone tries to write it out."""
    if isinstance(value, str) and len(value) > limits.NUMBER_DIGITS:
        raise ValueError
    if isinstance(value, str) and "/" in value:
        return Fraction(value)
    number = Decimal(value)
    if not number.is_finite() or abs(number.adjusted()) > limits.NUMBER_DIGITS:
        raise ValueError
    return Fraction(number)


_COMMA = re.compile(r"[0-9]{1,9},[0-9]{1,9} ?%?")
"""A decimal as many languages write it."""
_PERCENTAGE = re.compile(r"([0-9]{1,9}(?:[.,][0-9]{1,9})?) ?%")


def with_point(text: str) -> str:
    """Return the end of a message that says how to write a decimal that was written with a comma; empty for other texts."""
    return f"; a decimal has a point, so write {text.strip().replace(',', '.')}" if _COMMA.fullmatch(text.strip()) else ""


def _spelling_hint(text: str) -> str:
    """Return the end of a message that says how to write a decimal with a comma, or a percentage, for Python, which reads neither."""
    found = _PERCENTAGE.fullmatch(text.strip())
    if found is None:
        return with_point(text)
    return f"; a percentage is a share of 1, so write {float(found[1].replace(',', '.')) / 100:g}"


def items_of(value: Any) -> tuple[Any, ...] | None:
    """The items of a list or of anything else that has some; None for a text, and for what has none, such as a number."""
    try:
        return None if isinstance(value, (str, bytes)) else tuple(value)
    except TypeError:
        return None


def by_label(value: Any) -> Any:
    """A pandas Series as the mapping of its labels to its values; anything else as it is, also one with pandas' default labels."""
    labels = getattr(value, "index", None)
    is_labelled = isinstance(labels, Iterable) and type(labels).__name__ != "RangeIndex" and not hasattr(value, "columns")
    return dict(value.items()) if is_labelled else value


def check_unlabelled(value: Any, name: str) -> None:
    """Refuse a Series or a data frame where its labels would not be looked at."""
    if hasattr(value, "columns") or by_label(value) is not value:
        raise InvalidInputError(
            f"{name} has labels of its own, which would not be looked at: give a plain list or array, in the declared order"
        )


def check_positive(value: Any, name: str) -> Fraction:
    """The exact value of a public parameter that must be above 0."""
    number = exact(value, name)
    if number.numerator <= 0:
        raise InvalidInputError(f"{name} must be greater than 0, got {shown(value)}")
    return number


def check_moderate(value: Any, name: str, power: int = 15) -> Fraction:
    """The exact value of a public parameter that floats must be able to follow: from 1e-15 to 1e15, or of another power of ten."""
    number = check_positive(value, name)
    if not Fraction(1, 10**power) <= number <= 10**power:
        raise InvalidInputError(f"{name} must be from 1e-{power} to 1e{power}, got {shown(value)}")
    return number


def check_delta(value: Any, name: str = "delta") -> Fraction:
    """The exact value of a public δ, which must be from 0 to below 1."""
    number = exact(value, name)
    if not 0 <= number < 1:
        raise InvalidInputError(f"{name} must be at least 0 and below 1, got {shown(value)}")
    return number


def check_levels(q: ArrayLike) -> NDArray[np.float64]:
    """Levels of quantiles, which must lie in [0, 1]."""
    levels = np.asarray(q, dtype=np.float64)
    if not ((levels >= 0.0) & (levels <= 1.0)).all():
        raise InvalidInputError("q must lie in [0, 1]")
    return levels


def check_share(value: float, name: str) -> float:
    """A share of the probability, which must lie strictly between 0 and 1."""
    if isinstance(value, (str, bytes)):
        raise InvalidInputError(f"{name} must be a number strictly between 0 and 1, not {type(value).__name__}")
    if not 0.0 < value < 1.0:
        raise InvalidInputError(f"{name} must lie strictly between 0 and 1, got {value}")
    return float(value)


def check_concentration(values: Any, name: str = "concentration") -> tuple[Fraction, ...]:
    """Two or more positive numbers, exactly; from 1e-100 to 1e100, because posteriors are computed in floats, with squares of these."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray, Iterable)):
        raise InvalidInputError(f"{name} must be a sequence of two or more positive numbers, not {type(values).__name__}")
    check_unlabelled(values, name)
    items = list(values)
    if len(items) < 2:
        raise InvalidInputError(f"{name} must have an entry for each of at least two categories, got {len(items)}")
    return tuple(check_parameter(value, f"{name}[{i}]") for i, value in enumerate(items))


def check_parameter(value: Any, name: str) -> Fraction:
    """The exact value of one parameter of a Dirichlet distribution."""
    return check_moderate(value, name, power=100)


def check_categories(categories: Iterable[Hashable], k: int) -> tuple[Hashable, ...]:
    """Distinct labels, one for each of the k categories."""
    if isinstance(categories, (str, bytes)):
        raise InvalidInputError("categories must be a sequence of labels, not one string")
    labels = tuple(categories)
    if len(labels) != k:
        raise InvalidInputError(f"categories must have one label for each of the {k} concentrations, got {len(labels)}")
    if any(not isinstance(label, Hashable) for label in labels) or len(set(labels)) != k:
        raise InvalidInputError("categories must be distinct, hashable labels")
    if any(isinstance(label, str) and len(label) > limits.LABEL_CHARACTERS for label in labels):
        raise InvalidInputError(f"a category's label must have at most {limits.LABEL_CHARACTERS:,} characters; one has more")
    return labels


def spelling(label: Any) -> str:
    """Return the text of a label: 1 and "1" are the same category, and so are True and "true"."""
    if isinstance(label, np.generic):
        label = label.item()
    try:
        return str(label).lower() if isinstance(label, bool) else str(label)
    except ValueError:  # an integer of more than 4,300 digits
        return hex(label)


def category_index(categories: tuple[Hashable, ...], category: Hashable) -> int:
    """The position of a category, named by its label or by another that is written like it, such as 1 for "1"."""
    with suppress(ValueError):
        return categories.index(category)
    alike = [i for i, label in enumerate(categories) if spelling(label) == spelling(category)]
    if len(alike) == 1:
        return alike[0]
    known = ", ".join(repr(label) for label in categories[:10]) + (", ..." if len(categories) > 10 else "")
    raise InvalidInputError(f"category must be one of {known}; got {shown(category)!r}")


def named_numbers(given: Any, index: Callable[[Any], int], labels: Any, what: str) -> NDArray[np.float64]:
    """A finite number for each of these labels, from a mapping of labels to numbers; `index` finds the place of a label."""
    given = by_label(given)
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"weights must be a mapping with a number for every {what}; got {type(given).__name__}")
    found = np.full(len(labels), np.nan)
    for label, value in given.items():
        found[index(label)] = _finite(value)
    if np.isnan(found).any():
        raise InvalidInputError(f"weights must have a number for every {what}; there is none for {labels[int(np.isnan(found).argmax())]!r}")
    return found


def _finite(value: Any) -> float:
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(value, (str, bytes)) and isfinite(number := float(value)):
            return number
    raise InvalidInputError(f"weights must be numbers; got {shown(value)!r}, which is not a finite one")


def check_records(n: Any, name: str = "n") -> int:
    """A public number of records: a whole number from 1 to 2**53."""
    if isinstance(getattr(n, "total", None), int):
        raise InvalidInputError(f"{name} must be a number, not {type(n).__name__}; the number of its records is {name}=counts.total")
    value = exact(n, name)
    if value.denominator != 1 or not 1 <= value.numerator <= limits.COUNT:
        hint = f"; if this is epsilon, write epsilon={shown(n)}" if name == "n" and 0 < value < 1 else ""
        raise InvalidInputError(f"{name} must be a whole number from 1 to 2**53, got {shown(n)}{hint}")
    return value.numerator


def check_sizes(sizes: Any) -> tuple[int, ...]:
    """Public numbers of records, one for each group: whole numbers from 0 to 2**53."""
    try:
        array = np.asarray(sizes)
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1 or not array.size:
        raise InvalidInputError("n must be one number of records or, with by=, a list with the size of each group")
    if array.dtype.kind not in "iu" or not ((array >= 0) & (array <= limits.COUNT)).all():
        raise InvalidInputError("n must have a whole number from 0 to 2**53 for each group; one is not")
    return tuple(array.tolist())


Public = Literal["sizes", "total", "nothing"]
"""The part of the data that is public beside their categories: how many records each group has, how many there are, or neither."""
PROMISES: tuple[Public, ...] = get_args(Public)


def check_public(public: Any, name: str = "public", *, groups: bool = False) -> Public:
    """Check that the public part is one of the three words; sizes only where there are groups."""
    if public == "sizes" and not groups:
        raise InvalidInputError(
            f"{name} sizes is about groups, and none are declared here: take total (n is published), with the n of one group if this is "
            "about one, or nothing"
        )
    if public not in PROMISES:
        sizes = "sizes (of every group), " if groups else ""
        raise InvalidInputError(f"{name} must be {sizes}total (n is published) or nothing (n stays private), got {shown(public)!r}")
    return cast(Public, public)


SharesOf = Literal["population", "records"]
"""The owners of the shares: the population that the records were drawn from, or these very records."""


def check_shares_of(about: Any, name: str = "about") -> SharesOf:
    """Check whose shares are asked for: one of the two words."""
    if about not in ("population", "records"):
        allowed = "population (that the records are a sample of) or records (these very ones, as of a register)"
        raise InvalidInputError(f"{name} must be {allowed}, got {shown(about)!r}")
    return cast(SharesOf, about)


def check_counts(counts: Any, k: int, n: int | None = None, categories: Iterable[Hashable] = (), *, any_total: bool = False) -> Counts:
    """Private counts of k categories, with total n if given. Messages say what is wrong and never how much or where.

    With `any_total` nothing is refused because of how many records there are: none are data like any others, and a count beyond 2**53
    is taken as 2**53, because a refusal would tell it from its neighbours. For the same reason a label that is absent has no records.
    """
    try:
        array = np.asarray(in_order(counts, categories, absent_are_zero=any_total))
    except InvalidInputError:
        raise
    except (TypeError, ValueError):
        raise InvalidInputError("counts must be a one-dimensional sequence of whole numbers, one for each category") from None
    if array.dtype == object and array.ndim == 1 and all(isinstance(c, (Integral, float)) and not isinstance(c, bool) for c in array):
        if any(abs(c) > limits.COUNT for c in array) and not any_total:
            raise InvalidInputError(_TOO_MANY)
        array = np.array([c if isinstance(c, float) else min(max(int(c), -1), limits.COUNT) for c in array])
    if array.ndim == 2 and array.dtype.kind in "iuf":
        raise InvalidInputError("counts are a table, and this is about one variable: a mechanism is told its groups, as by=table.by")
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InvalidInputError("counts must be a one-dimensional sequence of whole numbers, one for each category")
    if array.size != k:
        raise InvalidInputError(f"counts must have one entry for each of the {k} categories, got {array.size}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInputError("counts must be whole numbers; got one that is infinite or not a number")
    if (array < 0).any():
        raise InvalidInputError("counts must not be negative")
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        raise InvalidInputError("counts must be whole numbers; got one with a fraction")
    if any_total:
        # Wide enough for 2**53 first: numpy does not compare a short integer, or half a float, with a number that its type cannot hold.
        wide = array if array.dtype.itemsize == 8 else array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        return np.asarray(np.minimum(wide, limits.COUNT), dtype=np.int64)
    total = sum(map(int, array.tolist()))  # of Python integers, which do not overflow
    if total > limits.COUNT:
        raise InvalidInputError(_TOO_MANY)
    if total == 0:
        raise InvalidInputError("counts must contain at least one record")
    if n is not None and total != n:
        raise InvalidInputError(f"counts must add up to the declared number of records, n = {n}; they do not")
    return cast(Counts, array.astype(np.int64))


_TOO_MANY = "counts and their total must be at most 2**53; got a larger number"


def in_order(counts: Any, categories: Iterable[Hashable], *, absent_are_zero: bool) -> Any:
    """Counts that come with labels, as a mapping's or a pandas Series', in the order of the categories; others as they are."""
    labels = counts.keys() if isinstance(counts, Mapping) else getattr(counts, "index", None)
    if not isinstance(labels, Iterable):  # the index of a list is a method
        return counts
    values = list(counts.values()) if isinstance(counts, Mapping) else np.asarray(counts)
    found, wanted = [spelling(label) for label in labels], [spelling(category) for category in categories]
    by_label = dict(zip(found, values, strict=True))
    if len(by_label) == len(found) == len(wanted) and by_label.keys() == set(wanted):
        return [by_label[label] for label in wanted]
    is_default = type(labels).__name__ == "RangeIndex"
    if absent_are_zero and len(by_label) == len(found) and by_label.keys() <= set(wanted) and not (is_default and found):
        return [by_label.get(label, 0) for label in wanted]
    numbered = is_default and found == [str(i) for i in range(len(found))]
    if numbered and not {*found, spelling(True), spelling(False)} & set(wanted):  # pandas' default, which labels nothing
        return values
    raise InvalidInputError(
        "counts have labels of their own, and these are not just the prior's categories; count with discreet.count, or give whole numbers "
        "in a list, in the order of the prior's categories"
    )


def check_unit(given: Any, known: Any = None) -> Literal["record", "person"]:
    """Return the unit that one of the n stands for: as given, or as the counts know it; they must not disagree."""
    unit = known if given is None else given
    if known is not None and unit != known:
        raise InvalidInputError(f"unit is {shown(unit)!r}, but these counts are counts of another unit: {known!r}")
    if unit is None or unit == "record":
        return "record"
    if unit == "person":
        return "person"
    raise InvalidInputError(f"unit must be 'record' or 'person', got {shown(unit)!r}")


def check_parameters(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """An array of Dirichlet parameters with the categories on its last axis, at the value its floats have."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a Dirichlet, a Beta or an array of positive numbers") from None
    if array.ndim == 0 or array.shape[-1] < 2:
        raise InvalidInputError(f"{name} must have two or more categories on its last axis, got shape {array.shape}")
    if not (np.isfinite(array) & (array > 0)).all():
        raise InvalidInputError(f"{name} must hold positive finite numbers only; got one that is zero, negative, infinite or NaN")
    return array
