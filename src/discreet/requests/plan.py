"""Requests before anything is released: a plan, a comparison of mechanisms, and what a configuration gives away."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidInputError
from discreet.requests.fields import REQUIRED, Request, asked, changed
from discreet.requests.kinds import (
    AS_JSON,
    GROUPS_KIND,
    NUMBER_KIND,
    PICTURE,
    PUBLIC_KIND,
    SHARE_KIND,
    SHARES_KIND,
    SIZED_PRIOR_KIND,
    SWITCH_KIND,
    TEXT_KIND,
    TEXTS_KIND,
    WHOLE_KIND,
    file_kind,
    prior_code,
    quoted,
)
from discreet.requests.records import RecordRequest
from discreet.requests.release import MECHANISM_HELP, PUBLIC_HELP, ReleaseRequest

if TYPE_CHECKING:
    from discreet.model.cells import Groups
    from discreet.model.dirichlet import Dirichlet
    from discreet.validation import Public, SharesOf

_PRIOR = "Concentrations such as 1,1,1, or uniform:K or jeffreys:K for K categories."
_PUBLIC = PUBLIC_HELP.format(sizes="")


@dataclass(frozen=True, kw_only=True)
class PlanRequest(Request):
    """The ε, or the number of records, that a goal asks for."""

    width: Fraction | None = asked(
        SHARE_KIND, "Expected width of the published 95 % intervals to aim for, such as 4% or 0.04.", call="plan"
    )
    price: Fraction | None = asked(SHARE_KIND, "How many times as wide as without privacy they may be, such as 1.1.", call="plan")
    error: Fraction | None = asked(
        SHARE_KIND,
        "The papers' mean Hellinger error to aim for: 0.05 is hard to see in a plot, 0.2 is half a standard deviation.",
        call="plan",
    )
    n: int | None = asked(WHOLE_KIND, "Number of records: find epsilon.", short=("-n",), call="plan")
    epsilon: Fraction | None = asked(NUMBER_KIND, "Privacy parameter: find the number of records.", short=("-e",), call="plan")
    prior: "Dirichlet" = asked(SIZED_PRIOR_KIND, _PRIOR, default="1,1")
    mechanism: str = changed(ReleaseRequest, "mechanism", form=None, call="options")
    by: "Groups | None" = changed(
        ReleaseRequest,
        "by",
        help="COLUMN=GROUP,GROUP,...: given --n and --epsilon of the whole table, the widths in every group, under each promise.",
        form=None,
        call="",
        key="",
    )
    public: "Public" = asked(PUBLIC_KIND, _PUBLIC, default="total", call="options")
    expect: list[Fraction] | None = asked(
        SHARES_KIND, "Guessed shares of the categories, such as 0.6,0.25,0.15 or 60%,25%,15%; never read off the data.", call="options"
    )
    pooled: int | None = asked(
        WHOLE_KIND,
        "So many groups of a table are read together, as show --pooled does; n is then that of each group.",
        call="options",
    )
    expect_strength: Fraction | None = asked(
        NUMBER_KIND,
        "With --pooled: how alike groups are guessed to be, as so many records that all groups share; never read off the data. Otherwise "
        "as the prior of readers says.",
        call="options",
    )
    worst: bool = asked(SWITCH_KIND, "The widest category instead of the average; with --error, the worst dataset.", call="options")
    curve: bool = asked(SWITCH_KIND, "Given --n: widths for several epsilons; given --epsilon: for several n.")
    about: "SharesOf" = changed(RecordRequest, "about", form=None)
    expect_groups: list[Fraction] | None = asked(
        SHARES_KIND,
        "With --by: guessed shares of the groups, such as 60%,40%, in their order; equal ones if left out.",
        call="table_widths",
    )
    plot: Path | None = asked(help="With --curve: a picture of it, in a new file.", **PICTURE)
    as_json: bool = asked(**AS_JSON)

    def check(self) -> None:
        """Refuse all but one goal and one of n and ε, or both and no goal, or a curve for one of them; of a table, all but n and ε."""
        if self.by is not None or self.expect_groups is not None:
            self._check_table()
            return
        given = [f"--{name}" for name in ("width", "price", "error") if getattr(self, name) is not None]
        one_of_two = (self.n is None) != (self.epsilon is None)
        if self.pooled is not None or self.expect_strength is not None:
            self._check_pooled()
        if self.plot is not None and not self.curve:
            raise InvalidInputError("--plot draws a curve: add --curve")
        if self.about == "records":
            self._check_records()
        if self.curve:
            if not one_of_two or given:
                raise InvalidInputError("--curve takes either --n, for several epsilons, or --epsilon, for several n, and no goal")
            return
        if not given and self.n is not None and self.epsilon is not None:
            return
        if len(given) != 1:
            many = f"got {' and '.join(given)}" if given else "got none; or both --n and --epsilon, to see how wide intervals will be"
            raise InvalidInputError(f"give one goal: --width 4%, --price 1.1 or --error 0.05; {many}")
        if not one_of_two:
            raise InvalidInputError("give either --n, to find epsilon, or --epsilon, to find n; or both and no goal, to see what they give")

    def _check_records(self) -> None:
        """Refuse what has no answer for shares of the records, whose intervals are those of the noise alone."""
        if self.public != "total":
            raise InvalidInputError("--about records plans where n is public: without it an interval depends on the counts themselves")
        refused = [one.option for one, _ in self.given() if one.name in ("price", "error", "expect", "worst", "curve")]
        if refused:
            raise InvalidInputError(
                f"--about records knows widths alone, the same for all data and 0 without privacy: take --width, and leave out {refused[0]}"
            )

    def _check_pooled(self) -> None:
        """Refuse what is not planned for groups that are read together."""
        if self.pooled is None:
            raise InvalidInputError("--expect-strength is about groups that are read together: say how many there are with --pooled")
        refused = [one.option for one, _ in self.given() if one.name in ("error", "curve", "about")]
        if refused:
            raise InvalidInputError(f"--pooled plans for widths of the shares of populations: leave out {refused[0]}")

    def _check_table(self) -> None:
        """Refuse what is not asked of a table."""
        if self.by is None:
            raise InvalidInputError("--expect-groups is about the groups of a table: declare them with --by")
        if self.n is None or self.epsilon is None:
            raise InvalidInputError("--by says how wide intervals will be in every group: give --n and --epsilon of the whole table")
        known = ("n", "epsilon", "prior", "by", "expect_groups", "as_json")
        refused = [one.option for one, _ in self.given() if one.name not in known]
        if refused:
            raise InvalidInputError(f"--by plans for n and ε, under each promise, with LatticeGeometric: leave out {refused[0]}")

    def python(self, shown: str = "print(found)") -> str:
        """Python that asks the same, and prints something of what it finds."""
        if self.by is not None and self.epsilon is not None:
            groups = GROUPS_KIND.code(self.by)
            return _python(self.prior, "table_widths", [str(self.n), quoted(self.epsilon), groups, *self.code("table_widths")], shown)
        if not self.curve:
            return _python(self.prior, "plan", [*self.code("plan"), *self.code("options")], shown)
        known = ("records_curve", quoted(self.epsilon)) if self.epsilon is not None else ("width_curve", str(self.n))
        return _python(self.prior, known[0], [known[1], *self.code("options")], shown)


@dataclass(frozen=True, kw_only=True)
class CompareRequest(Request):
    """Every mechanism side by side."""

    n: int = asked(WHOLE_KIND, "Number of records; with --public nothing, a guess of it.", default=REQUIRED, short=("-n",))
    epsilon: Fraction = asked(NUMBER_KIND, "Privacy parameter, as a decimal or a fraction.", default="1", short=("-e",))
    prior: "Dirichlet" = asked(SIZED_PRIOR_KIND, _PRIOR, default="1,1")
    public: "Public" = asked(PUBLIC_KIND, _PUBLIC, default="total", call="compare")
    delta: Fraction = asked(NUMBER_KIND, "For DiscreteGaussian and HellingerSmoothDelta.", default="1e-8", call="compare")
    errors: bool = asked(
        SWITCH_KIND,
        "Without errors: widths, guarantees and losses alone, sooner.",
        default=True,
        option="--errors/--no-errors",
        call="compare",
    )
    as_json: bool = asked(**AS_JSON)

    def python(self) -> str:
        """Python that compares the same."""
        return _python(self.prior, "compare", [str(self.n), quoted(self.epsilon), *self.code("compare")])


@dataclass(frozen=True, kw_only=True)
class VerifyRequest(Request):
    """A request for the privacy loss of a configuration, or of a record's."""

    mechanism: str = asked(
        TEXT_KIND, f"{MECHANISM_HELP}; or the file of a release, - for standard input.", default=REQUIRED, positional=True
    )
    n: int | None = asked(WHOLE_KIND, "Number of records, which is public. A record brings its own.", short=("-n",))
    public: "Public" = asked(PUBLIC_KIND, _PUBLIC, default="total")
    epsilon: Fraction | None = asked(NUMBER_KIND, "Privacy parameter, as a decimal or a fraction.", short=("-e",), shown_default="1")
    prior: "Dirichlet | None" = asked(SIZED_PRIOR_KIND, _PRIOR, shown_default="1,1")
    gamma: Any = changed(ReleaseRequest, "gamma")
    delta: Fraction | None = changed(ReleaseRequest, "delta")
    calibrated: bool = asked(SWITCH_KIND, "Raise the exponent until the computed loss is epsilon.")
    as_json: bool = asked(**AS_JSON)


@dataclass(frozen=True, kw_only=True)
class ReproduceRequest(Request):
    """A request to recompute the papers, or some of what is in them."""

    only: list[str] = asked(TEXTS_KIND, "Only this figure, table or claim; may be repeated.")
    quick: bool = asked(SWITCH_KIND, "Coarser grids: under a minute instead of minutes.")
    out: Path = asked(
        file_kind(), "Directory for the report, figures and data; a killed run goes on from there.", default="discreet-report"
    )
    jobs: int | None = asked(WHOLE_KIND, "Processes; as many as there are cores if not said.")


def _python(prior: "Dirichlet", call: str, arguments: list[str], shown: str = "print(found)") -> str:
    made = f"prior = {prior_code(prior, labels=False)}"
    return f"import discreet as dc\n\n{made}\nfound = dc.{call}({', '.join(['prior', *arguments])})\n{shown}"
