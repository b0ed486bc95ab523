"""The questions of a steward on the screen for plans: public numbers alone."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidInputError
from discreet.mechanisms import Mechanism, mechanism
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.model.dirichlet import Dirichlet
from discreet.planning.expected_widths import Believed
from discreet.requests.fields import REQUIRED, FieldContext, Kind, Request, Row, Slider, asked, changed
from discreet.requests.kinds import GROUPS_KIND, PUBLIC_CHOICES, PUBLIC_KIND
from discreet.requests.parsing import parse_list, parse_number, parse_prior, parse_share, parse_whole
from discreet.requests.plan import CompareRequest, PlanRequest
from discreet.requests.release import MECHANISMS, ReleaseRequest, check_offered
from discreet.text import shown
from discreet.validation import Public, check_moderate, check_positive, check_records

MOST_CATEGORIES = 1_000
_GROUPS_SHOWN = 6
_MOST_PLANNED_GROUPS = 1_000_000
_EPSILONS = Fraction(1, 10_000), Fraction(100)
"""Beyond these nothing is promised, or nothing is said."""
_PRIORS = Fraction(1, 10**6), Fraction(10**9)
"""Parameters of priors that someone may have; others take long to plan with."""
_MOST_TIMES, _LEAST_WIDTH = 1_000_000, Fraction(1, 10**9)
"""Goals that someone may have."""
PRIVACY_PART, QUESTION_PART, FURTHER_PART = "Privacy", "Question", "Prior, groups, shares"
GOAL_PART = "What ε do I need?"
"""The parts of the form."""


# --- how the fields are read ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labels:
    """The labels of the categories, and whether they were given; otherwise they are made up for a number of them."""

    every: list[str]
    given: bool


def _records(text: str, reading: FieldContext) -> int:
    return check_records(parse_whole(text, reading.name), reading.name)


def _groups(text: str, reading: FieldContext) -> int:
    """Return how many groups there are: as typed, or as many as are declared as for a release."""
    declared = GROUPS_KIND.parse(text.splitlines(), reading) if "=" in text else None
    value = parse_whole(text, reading.name) if declared is None else len(declared)
    if not 1 <= value <= _MOST_PLANNED_GROUPS:
        raise InvalidInputError(f"{reading.name} must be a whole number from 1 to {_MOST_PLANNED_GROUPS:,}, got {shown(text)!r}")
    return value


def _labels(text: str, _: FieldContext) -> Labels:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    labels = lines if len(lines) > 1 else parse_list(lines[0], "the labels") if lines else []
    if len(labels) == 1 and labels[0].isascii() and labels[0].lstrip("-").isdigit():
        return Labels([f"category {i + 1}" for i in range(_categories(labels[0]))], given=False)
    if not 2 <= len(labels) <= MOST_CATEGORIES:
        raise InvalidInputError(
            f"give a number of categories from 2 to {MOST_CATEGORIES:,}, such as 3, or their labels, one a line; got {len(labels):,}"
        )
    Dirichlet.uniform(categories=labels)
    return Labels(labels, given=True)


def _prior(text: str, reading: FieldContext) -> Dirichlet:
    prior = parse_prior(text, reading.other("categories").every, reading.name)
    if not _PRIORS[0] <= min(prior.exact) <= max(prior.exact) <= _PRIORS[1]:
        raise InvalidInputError(f"each number of the prior must be from {float(_PRIORS[0]):g} to {float(_PRIORS[1]):,.0f} here")
    return prior


def _categories(text: str) -> int:
    value = check_positive(parse_number(text, "the number of categories"), "the number of categories")
    if not 2 <= value <= MOST_CATEGORIES:
        raise InvalidInputError(f"the number of categories must be from 2 to {MOST_CATEGORIES:,}, got {shown(text)}")
    return int(value)


def _epsilon(text: str, reading: FieldContext) -> Fraction:
    value = check_positive(parse_number(text, reading.name), reading.name)
    if not _EPSILONS[0] <= value <= _EPSILONS[1]:
        raise InvalidInputError(f"ε must be from {float(_EPSILONS[0]):g} to {float(_EPSILONS[1]):g} here, got {shown(text)}")
    return value


def _size(text: str, reading: FieldContext) -> int:
    """The records of a typical group: as given, or n spread evenly; without groups n itself."""
    groups = reading.other("groups")
    if not text:
        return max(1, int(reading.other("n")) // (groups or 1))
    if groups is None:
        raise InvalidInputError("this is about the groups of a table: say how many there are, or leave it empty")
    size = _records(text, reading)
    if size > reading.other("n"):
        raise InvalidInputError(f"a group cannot have more than all {reading.other('n'):,} records")
    return size


def _shares(text: str, reading: FieldContext) -> list[Fraction]:
    prior = reading.other("prior")
    shares = [parse_share(part, "an expected share") for part in parse_list(text, "the shares")]
    if len(shares) != prior.k:
        raise InvalidInputError(f"give a share for each of the {prior.k:,} categories, such as 60%, 25%, 15%, or none; got {len(shares):,}")
    return list(Believed.of(prior, 1, shares).shares or shares)


def _together(text: str, reading: FieldContext) -> bool:
    groups, public, given = reading.other("groups"), reading.other("public"), text == "together"
    if given and (groups is None or groups < 2):
        raise InvalidInputError("this is about the groups of a table: say how many there are, 2 or more, or leave it out")
    if given and public == "total":
        raise InvalidInputError(
            "where only the total is public it ties the sizes of all groups: they can be read together where their sizes are public, or "
            "nothing is"
        )
    return given


def _strength(text: str, reading: FieldContext) -> Fraction:
    if not reading.other("pooled"):
        raise InvalidInputError("this is about groups that are read together: say that they are, or leave it empty")
    return check_moderate(parse_number(text, reading.name), reading.name)


# --- the question -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PlanQuestion(Request):
    """Everything a plan on the page depends on."""

    categories: Labels = asked(
        Kind(_labels),
        form=Row(
            QUESTION_PART,
            "Categories",
            "How many, or their labels: one a line, or separated by commas.",
            value="in favour\nagainst\nundecided",
            rows=3,
        ),
        default=REQUIRED,
        missing=f"give a number of categories from 2 to {MOST_CATEGORIES:,}, such as 3, or their labels, one a line; got 0",
    )
    n: int = asked(
        Kind(_records),
        form=Row(
            QUESTION_PART,
            "Records",
            "How many there are; if that is private, what an outsider would guess, such as a round number.",
            words="the number of records",
            value="1,000",
            numeric="numeric",
        ),
        default=REQUIRED,
    )
    groups: int | None = asked(
        Kind(_groups),
        form=Row(
            FURTHER_PART,
            "Groups of a table",
            "How many, or a line for each column, as in region=north,south: the form of a release then has them too. Empty: none.",
            words="the number of groups",
            rows=2,
        ),
    )
    size: int = asked(
        Kind(_size),
        form=Row(
            FURTHER_PART,
            "Records of a typical group",
            "Empty: all records, spread evenly over the groups.",
            words="the size of a group",
            numeric="numeric",
        ),
        default="",
    )
    public: Public = asked(
        PUBLIC_KIND,
        form=Row(
            QUESTION_PART,
            "What is public about the data",
            "“Nothing” hides even whether someone took part.",
            words="what is public:",
            choices=PUBLIC_CHOICES,
        ),
        default="total",
    )
    prior: Dirichlet = asked(
        Kind(_prior),
        form=Row(
            FURTHER_PART, "Prior", "uniform, jeffreys, or a number for each category, such as 1,1,2.", words="the prior", value="uniform"
        ),
        default="uniform",
    )
    expect: list[Fraction] | None = asked(
        Kind(_shares),
        form=Row(FURTHER_PART, "Expected shares", "A public guess for each category, such as 60%, 25%, 15%; never read off the data."),
    )
    pooled: bool = asked(
        Kind(_together),
        form=Row(
            FURTHER_PART,
            "Groups are read",
            "Together, small groups borrow from the others where groups are alike. Widths are then simulated, which takes longer.",
            words="how groups are read",
            choices={"alone": "Each by itself", "together": "Together"},
        ),
        default="alone",
    )
    expect_strength: Fraction | None = asked(
        Kind(_strength),
        form=Row(
            FURTHER_PART,
            "How alike groups are, if they are read together",
            "As many records as all groups share, such as 20; never read off the data. Empty: as the prior of readers says.",
            words="how alike groups are",
            numeric="decimal",
        ),
    )
    epsilon: Fraction = asked(
        Kind(_epsilon),
        form=Row(
            PRIVACY_PART,
            "ε, the privacy parameter",
            "A decimal or a fraction such as 1/3.",
            words="ε",
            value="0.2",
            numeric="decimal",
            slider=Slider(
                "0.01",
                "10",
                "0.01",
                "ε on a scale from 0.01 to 10",
                is_logarithmic=True,
                ends=(("0.01", "more privacy"), ("10", "more precision")),
            ),
        ),
        default=REQUIRED,
    )
    mechanism: str = changed(ReleaseRequest, "mechanism", help="", kind=Kind(lambda text, _: check_offered(text)))

    @property
    def halved(self) -> bool:
        """Return whether one group is planned with half of ε: the noise of a table whose total alone is public (docs/howto/planning.md)."""
        return self.groups is not None and self.public == "total"

    @property
    def planned_public(self) -> Public:
        """The public part of what is planned: the n of one group is public, if the sizes of groups are."""
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
    def has_noise(self) -> bool:
        """Return whether its noise does not depend on the data: widths and losses take next to no time then."""
        return not self.mechanism.startswith("Calibrated(") and self.planned_mechanism().noise is not None

    @property
    def groups_shown(self) -> int | None:
        """Return how many groups an example has."""
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
        return tuple(self.expect or ()) or tuple(a / self.prior.exact_total for a in self.prior.exact)

    @property
    def together(self) -> dict[str, Any]:
        """Return how many groups are read together, and how alike they are guessed to be; nothing where each is read by itself."""
        return {"pooled": self.groups, "expect_strength": self.expect_strength} if self.pooled else {}

    def asks(self, **goal: Any) -> PlanRequest:
        """The question of `discreet plan` about what is planned, with a goal."""
        return PlanRequest.asking(prior=self.prior, mechanism=self.mechanism, public=self.planned_public, expect=self.expect, **goal)

    def asks_to_compare(self) -> CompareRequest:
        """The question of `discreet compare` about what is planned."""
        return CompareRequest.asking(n=self.size, epsilon=self.planned_epsilon, prior=self.prior, public=self.planned_public, errors=False)


# --- the ε that a goal asks for ---------------------------------------------------------------------------------------


def _goal(text: str, reading: FieldContext) -> Fraction:
    """Return how wide intervals may be: in points or, where that is asked, as a multiple of their width without privacy."""
    if reading.other("kind") == "price":
        price = parse_number(text, "how many times as wide")
        if not 1 < price <= _MOST_TIMES:
            raise InvalidInputError(f"say how many times as wide as without privacy: more than 1, and up to {_MOST_TIMES:,}")
        return price
    width = parse_share(text if text.endswith("%") else f"{text}%", "the width in points")
    if not _LEAST_WIDTH <= width < 1:
        raise InvalidInputError(f"the width must be from {float(_LEAST_WIDTH * 100):g} to below 100 points")
    return width


@dataclass(frozen=True, kw_only=True)
class GoalQuestion(Request):
    """A question for the least ε with which intervals are no wider than a goal."""

    kind: str = asked(
        Kind(lambda text, _: "price" if text == "price" else "width"),
        form=Row(GOAL_PART, "Counted in", choices={"width": "points in width", "price": "times the plain width"}),
        default="width",
    )
    goal: Fraction = asked(
        Kind(_goal),
        form=Row(GOAL_PART, "Intervals of at most", value="6", numeric="decimal"),
        default=REQUIRED,
        missing="say how wide the intervals may be, such as 4",
    )
