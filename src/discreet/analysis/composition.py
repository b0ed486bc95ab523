"""The privacy loss of several releases about the same records together (docs/explain/privacy.md).

No single neighbouring pair dominates, so the pointwise maximum of δ(ε) over all pairs and both directions is composed, which is a
valid privacy profile: with Google's `dp-accounting` (extra `accounting`), through its pessimistic connect-the-dots discretisation
(Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). Where a law cannot be computed, its (ε, δ) alone is composed. Basic composition,
adding up ε and δ, needs nothing and always holds.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from math import ceil, log2
from typing import Any

import numpy as np

from discreet import limits
from discreet.analysis.privacy import largest_listed_loss, privacy_profile
from discreet.errors import InternalError, InvalidInputError, RefusedError, TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.losses import composes_by_cell
from discreet.model.datasets import Relation, check_relation
from discreet.record.guarantee import Guarantee, group_privacy, rounded_up, steps_between
from discreet.validation import Number, check_delta, check_positive, check_records

_GRID_STEPS = 1000
"""Steps of the discretised loss up to the largest loss of a single release."""
_MOST_STEPS = 64 * _GRID_STEPS
"""Steps of any grid: at a δ near 1 noise has losses that are many thousand times its ε. Those beyond are taken as infinite."""


@dataclass(frozen=True)
class Accountant:
    """The releases so far, and what they guarantee together. Immutable: `add` returns a new one.

    `epsilon` and `delta` hold for a list of releases that was fixed beforehand. Where releases were chosen, or stopped, in view of
    earlier outcomes, `basic` holds, and the budget of a dataset that the ledger keeps by a filter (docs/howto/ledger.md).
    """

    parts: tuple[tuple[Mechanism | Guarantee, int], ...] = ()
    neighbours: Relation | None = None
    """The neighbours that the figures are about, if fixed beforehand. Otherwise they follow from the parts: see `about`.

    They are about persons if all parts are guarantees about persons, and otherwise about records. A mechanism does not say which it counts,
    and is taken to count records: add `release.guarantee` for persons.
    """

    def __post_init__(self) -> None:
        if self.neighbours is not None:
            object.__setattr__(self, "neighbours", check_relation(self.neighbours))

    def add(self, part: Mechanism | Guarantee, times: int = 1) -> "Accountant":
        """Return an accountant of one release more.

        Args:
            part: the mechanism of the release, or its guarantee alone, where that is all that is known.
            times: how many such releases are added.

        Raises RefusedError for a release without a guarantee, and for one that publishes what the figures protect.
        """
        guarantee = _guarantee(part)
        if guarantee.basis == "none":
            raise RefusedError("a release without a guarantee cannot be composed: there is no bound on what it tells")
        if self.neighbours is not None and guarantee.neighbours.steps_of(self.neighbours) is None:
            published = f"the size of every group by {guarantee.neighbours.columns}" if guarantee.neighbours.within else "n"
            raise RefusedError(
                f"a release that publishes {published} tells everything that these figures are about (neighbours: {self.neighbours})"
            )
        return replace(self, parts=(*self.parts, (part, check_records(times, "times"))))

    @property
    def about(self) -> Relation:
        """The neighbours that the figures are about: as given, or the parts' own; where these differ, those that replace one.

        If parts publish the sizes of groups, it is one who stays in the groups of all of them: the figures then say nothing about someone
        who changes to another group.
        """
        relations = {_guarantee(part).neighbours for part, _ in self.parts}
        if self.neighbours is not None:
            return self.neighbours
        if relations == {Relation.ADD_REMOVE_ONE}:
            return Relation.ADD_REMOVE_ONE
        return Relation("replace one", tuple(name for relation in relations for name in relation.within))

    @property
    def basic(self) -> tuple[Fraction, Fraction]:
        """Basic composition: the sums of ε and of δ, exactly."""
        guarantees = [(_guarantee(part), times) for part, times in self._alike]
        epsilon = sum((times * Fraction(repr(g.epsilon)) for g, times in guarantees), Fraction(0))
        return epsilon, sum((times * Fraction(repr(g.delta)) for g, times in guarantees), Fraction(0))

    @property
    def is_exact(self) -> bool:
        """Return whether exact privacy profiles are composed; otherwise answers are by basic composition."""
        return find_spec("dp_accounting") is not None

    def epsilon(self, delta: Number) -> float:
        """An ε for which all the releases together are (ε, δ)-private: the better of the exact and the basic one.

        More than 100,000 releases have the basic one alone.
        """
        level = check_delta(delta)
        basic_epsilon, basic_delta = self.basic
        found = rounded_up(basic_epsilon) if basic_delta <= level else float("inf")
        if self._is_composed and level > 0:
            with suppress(OverflowError):  # beyond ε of about 700, where e^ε is no float, basic composition has to do
                found = min(found, float(self._distribution().get_epsilon_for_delta(float(level))))
        return found

    def delta(self, epsilon: Number) -> float:
        """A δ for which all the releases together are (ε, δ)-private: the better of the exact and the basic one."""
        level = check_positive(epsilon, "epsilon")
        basic_epsilon, basic_delta = self.basic
        found = rounded_up(basic_delta) if basic_epsilon <= level else 1.0
        if self._is_composed:
            with suppress(OverflowError):
                found = min(found, float(self._distribution().get_delta_for_epsilon(float(level))))
        return found

    @property
    def _is_composed(self) -> bool:
        return self.is_exact and 0 < sum(times for _, times in self._alike) <= limits.COMPOSED_RELEASES

    @property
    def _alike(self) -> list[tuple[Mechanism | Guarantee, int]]:
        """The parts as releases about the same neighbours (docs/howto/ledger.md): where replacing a record is two steps of a part, the part
        counts as two releases if its counts have noise of their own, and otherwise as its guarantee for two steps.
        """
        aim = self.about
        unit = "record" if any(_guarantee(part).unit == "record" for part, _ in self.parts) else "person"
        return [_about(aim, unit, part, times) for part, times in self.parts]

    def _distribution(self) -> Any:
        """The composed privacy loss distribution, pessimistic throughout."""
        parts = self._alike
        largest = max(_guarantee(part).epsilon for part, _ in parts)
        interval = 2.0 ** -ceil(log2(_GRID_STEPS / largest))
        composed = None
        for part, times in parts:
            distribution = _loss_distribution(part, interval)
            distribution = distribution.self_compose(times) if times > 1 else distribution
            composed = distribution if composed is None else composed.compose(distribution)
        return composed


def _guarantee(part: Mechanism | Guarantee) -> Guarantee:
    if isinstance(part, Guarantee):
        return part
    if isinstance(part, Mechanism):
        return part.guarantee
    raise InvalidInputError(f"only mechanisms and guarantees (release.guarantee) can be composed, not {type(part).__name__}")


def _about(neighbours: Relation, unit: str, part: Mechanism | Guarantee, times: int) -> tuple[Mechanism | Guarantee, int]:
    """Return the part, and how often, whose composition bounds so many releases of this one about these neighbours."""
    own = _guarantee(part)
    steps = steps_between(own.neighbours, own.unit, neighbours, unit)
    if steps is None:
        raise InternalError("releases were composed that have no neighbours in common")
    if steps == 1 or (isinstance(part, Mechanism) and composes_by_cell(part)):
        return part, steps * times
    epsilon, delta = group_privacy(Fraction(repr(own.epsilon)), Fraction(repr(own.delta)), steps)
    return replace(own, epsilon=rounded_up(epsilon), delta=rounded_up(delta), neighbours=neighbours), times


@lru_cache(maxsize=64)
def _loss_distribution(part: Mechanism | Guarantee, interval: float) -> Any:
    from dp_accounting.pld import common, pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as distributions

    guarantee = _guarantee(part)
    if isinstance(part, Mechanism):
        with suppress(TooLargeError, RefusedError):  # too many datasets to list or, where n is private, no end of them
            steps = min(ceil(largest_listed_loss(part) / interval), _MOST_STEPS)
            grid = np.arange(-steps, steps + 1)
            deltas = np.minimum.accumulate(privacy_profile(part, grid * interval))
            return distributions.PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(interval, grid, deltas))
    parameters = common.DifferentialPrivacyParameters(guarantee.epsilon, guarantee.delta)
    return distributions.from_privacy_parameters(parameters, value_discretization_interval=interval)
