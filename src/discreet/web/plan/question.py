"""What a steward asks on the screen for plans: public numbers alone, read from the fields of its form."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidInputError
from discreet.mechanisms import LatticeGeometric, Mechanism, mechanism
from discreet.model.dirichlet import Dirichlet
from discreet.planning.expected_widths import Believed
from discreet.requests.fields import WrongError
from discreet.requests.parsing import parse_list, parse_number, parse_prior, parse_share
from discreet.validation import Public, check_positive, check_public, check_records, shown
from discreet.web.forms import FieldReader

FIELDS = ("categories", "prior", "public", "n", "groups", "size", "expect", "epsilon", "mechanism")
MECHANISMS = (
    "LatticeGeometric",
    "Remapped(LatticeGeometric)",
    "LaplaceHistogram",
    "LaplaceZhang",
    "LaplaceDimension",
    "HellingerSmooth",
    "Calibrated(HellingerSmooth)",
    "HellingerGlobal",
    "HellingerLocal",
)
"""Those that can be chosen: all that need no further option."""
WITH_NOISE = ("LatticeGeometric", "LaplaceHistogram", "LaplaceZhang", "LaplaceDimension")
"""Those of them whose noise does not depend on the data: widths and losses take next to no time."""
MOST_CATEGORIES = 1_000
_GROUPS_SHOWN = 6
_MOST_PLANNED_GROUPS = 1_000_000
_EPSILONS = Fraction(1, 10_000), Fraction(100)
"""Beyond these nothing is promised, or nothing is said."""
_PRIORS = Fraction(1, 10**6), Fraction(10**9)
"""Parameters of priors that someone may have; others take long to plan with."""


@dataclass(frozen=True)
class PlanQuestion:
    """Everything a plan depends on."""

    prior: Dirichlet
    prior_words: str
    """The prior as the command line takes it."""
    labelled: bool
    """Whether the categories were given by their labels."""
    public: Public
    n: int
    epsilon: Fraction
    mechanism: str
    expect: tuple[Fraction, ...] | None
    groups: int | None
    """How many groups the table has, if it is one."""
    size: int
    """Records of a typical group, or n."""

    @property
    def halved(self) -> bool:
        """Whether one group is planned with half of ε: the noise of a table whose total alone is public (docs/howto/planning.md)."""
        return self.groups is not None and self.public == "total"

    @property
    def planned_public(self) -> Public:
        """What is public about what is planned: the n of one group is, if the sizes of groups are."""
        if self.groups is None:
            return self.public
        return "total" if self.public == "sizes" else "nothing"

    @property
    def planned_epsilon(self) -> Fraction:
        return self.epsilon / 2 if self.halved else self.epsilon

    def planned_mechanism(self) -> Mechanism:
        """The mechanism whose widths are planned: that of one group, where there are groups."""
        if self.groups is not None and self.mechanism != MECHANISMS[0]:
            raise InvalidInputError(f"tables are released by LatticeGeometric; {self.mechanism} is for one variable: leave out the groups")
        return mechanism(self.mechanism, self.prior, self.size if self.planned_public == "total" else None, self.planned_epsilon)

    @property
    def groups_shown(self) -> int | None:
        """How many groups an example has."""
        return None if self.groups is None else min(self.groups, _GROUPS_SHOWN)

    def whole_mechanism(self) -> Mechanism:
        """The mechanism that would release all of it: one variable, or a table, of as many groups as an example has."""
        if self.groups_shown is None:
            return self.planned_mechanism()
        sizes = {"sizes": [self.size] * self.groups_shown, "total": self.size * self.groups_shown, "nothing": None}[self.public]
        by = {"group": [f"group {i + 1}" for i in range(self.groups_shown)]}
        return LatticeGeometric(self.prior, sizes, self.epsilon, by=by)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The public shares that examples are made up from: those expected, or the prior's mean."""
        return self.expect or tuple(a / self.prior.exact_total for a in self.prior.exact)


def read(fields: Mapping[str, str]) -> PlanQuestion:
    """The question of a form. Raises WrongError with what is to be said beside each field that is wrong."""
    reading = FieldReader(fields)
    taken, wrong = reading.taken, reading.wrong
    labels = taken("categories", _labels)
    words = fields.get("prior") or "uniform"
    prior = None if labels is None else taken("prior", lambda _: _prior(words, labels[0]))
    groups = taken("groups", lambda text: _whole(text, "the number of groups", _MOST_PLANNED_GROUPS) if text else None)
    some = groups is not None or "groups" in wrong
    public = taken("public", lambda text: check_public(text or "total", "what is public:", groups=some))
    n = taken("n", lambda text: check_records(_typed_count(text, "the number of records"), "the number of records"))
    epsilon = taken("epsilon", _epsilon)
    name = taken("mechanism", _mechanism)
    size = taken("size", lambda text: _size(text, n, groups))
    expect = None if prior is None else taken("expect", lambda text: _shares(text, prior))
    if wrong or labels is None or prior is None or public is None or n is None or epsilon is None or name is None or size is None:
        raise WrongError(wrong)
    return PlanQuestion(prior, _prior_words(words, prior), labels[1], public, n, epsilon, name, expect, groups, size)


def _typed_count(text: str, name: str) -> Fraction:
    """A number of records or groups as people type it: 10,000 and 10 000 too, but no comma that could be that of a decimal."""
    if not text:
        raise InvalidInputError(f"{name} is needed")
    grouped = re.fullmatch(r"[0-9]{1,3}(?:[, \u00a0\u202f_][0-9]{3})+", text)
    digits = re.sub(r"[^0-9]", "", text) if grouped else text
    if not re.fullmatch(r"[0-9]+(?:[eE]\+?[0-9]{1,2})?", digits):
        raise InvalidInputError(f"{name} must be a whole number such as 1500 or 1,500, got {shown(text)!r}")
    return parse_number(digits, name)


def _whole(text: str, name: str, most: int) -> int:
    value = _typed_count(text, name)
    if value.denominator != 1 or not 1 <= value <= most:
        raise InvalidInputError(f"{name} must be a whole number from 1 to {most:,}, got {shown(text)!r}")
    return int(value)


def _labels(text: str) -> tuple[list[str], bool]:
    """The labels of the categories, and whether they were given; otherwise they are made up for a number of them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    labels = lines if len(lines) > 1 else parse_list(lines[0], "the labels") if lines else []
    if len(labels) == 1 and labels[0].isascii() and labels[0].lstrip("-").isdigit():
        return [f"category {i + 1}" for i in range(_categories(labels[0]))], False
    if not 2 <= len(labels) <= MOST_CATEGORIES:
        raise InvalidInputError(
            f"give a number of categories from 2 to {MOST_CATEGORIES:,}, such as 3, or their labels, one a line; got {len(labels):,}"
        )
    Dirichlet.uniform(categories=labels)
    return labels, True


def _prior(words: str, labels: list[str]) -> Dirichlet:
    prior = parse_prior(words, labels, "the prior")
    if not _PRIORS[0] <= min(prior.exact) <= max(prior.exact) <= _PRIORS[1]:
        raise InvalidInputError(f"each number of the prior must be from {float(_PRIORS[0]):g} to {float(_PRIORS[1]):,.0f} here")
    return prior


def _categories(text: str) -> int:
    value = check_positive(parse_number(text, "the number of categories"), "the number of categories")
    if not 2 <= value <= MOST_CATEGORIES:
        raise InvalidInputError(f"the number of categories must be from 2 to {MOST_CATEGORIES:,}, got {shown(text)}")
    return int(value)


def _epsilon(text: str) -> Fraction:
    if not text:
        raise InvalidInputError("ε is needed")
    value = check_positive(parse_number(text, "ε"), "ε")
    if not _EPSILONS[0] <= value <= _EPSILONS[1]:
        raise InvalidInputError(f"ε must be from {float(_EPSILONS[0]):g} to {float(_EPSILONS[1]):g} here, got {shown(text)}")
    return value


def _mechanism(text: str) -> str:
    if text and text not in MECHANISMS:
        raise InvalidInputError(f"choose one of {', '.join(MECHANISMS)}; got {shown(text)!r}")
    return text or MECHANISMS[0]


def _size(text: str, n: int | None, groups: int | None) -> int | None:
    """The records of a typical group: as given, or n spread evenly; without groups n itself."""
    if text and groups is None:
        raise InvalidInputError("this is about the groups of a table: say how many there are, or leave it empty")
    if text:
        size = check_records(_typed_count(text, "the size of a group"), "the size of a group")
        if n is not None and size > n:
            raise InvalidInputError(f"a group cannot have more than all {n:,} records")
        return size
    return None if n is None else max(1, n // (groups or 1))


def _shares(text: str, prior: Dirichlet) -> tuple[Fraction, ...] | None:
    if not text:
        return None
    shares = [parse_share(part, "an expected share") for part in parse_list(text, "the shares")]
    if len(shares) != prior.k:
        raise InvalidInputError(f"give a share for each of the {prior.k:,} categories, such as 60%, 25%, 15%, or none; got {len(shares):,}")
    return Believed.of(prior, 1, shares).shares


def _prior_words(words: str, prior: Dirichlet) -> str:
    family = words.partition(":")[0]
    return f"{family}:{prior.k}" if family in ("uniform", "jeffreys") else ",".join(map(number_words, prior.exact))


def number_words(value: Fraction) -> str:
    """An exact number as short as it can be typed: a decimal, or else a fraction."""
    decimal = repr(float(value)).removesuffix(".0")
    return decimal if Fraction(decimal) == value else str(value)
