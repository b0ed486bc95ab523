"""Mechanisms that others define: found by name, read back from records, and promising nothing that they do not claim themselves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from attrs import define, field

import discreet as dc
from discreet.errors import InternalError
from discreet.mechanisms import Law, Mechanism
from discreet.mechanisms.reports import Cut
from discreet.record.guarantee import Guarantee
from discreet.sampling import BitSource

BETA = dc.Beta(1, 1)


def constant() -> Any:
    """A mechanism that always draws the same, defined anew each time, as in a notebook."""

    @define(frozen=True, slots=False, repr=False)
    class Constant(Mechanism):
        step: int = field(default=1, converter=int)

        @property
        def _claim(self) -> Guarantee:
            return self._by_proof()

        def _raw_law(self, counts: Any) -> Law:
            return Law(self.space.points()[:1], np.zeros(1))

        def _sampler(self, counts: Sequence[int]) -> Any:
            return self

        def draw(self, source: BitSource) -> tuple[int, ...]:
            return tuple(int(x) for x in self.space.points()[0])

    return Constant


def test_a_class_that_is_defined_is_found_and_its_records_are_read_back() -> None:
    mechanism = constant()(BETA, 4, 1, step=3)
    release = mechanism.release([3, 1])
    again = dc.Release.from_json(release.to_json())
    assert again == release
    assert again.mechanism.parameters == {"epsilon": 1, "step": 3}
    assert dc.mechanism("constant", BETA, 4, 1, step=3) == mechanism
    assert dc.verify(again).holds
    assert dc.privacy_loss(again).value == 0.0


def test_a_class_that_is_defined_again_takes_its_own_place() -> None:
    old = constant()
    new = constant()
    assert type(dc.mechanism("Constant", BETA, 4, 1)) is new
    assert old is not new


@pytest.mark.parametrize(("name", "names"), [("LatticeGeometric", ()), ("Mine", ("lattice",)), ("Remapped", ()), ("mine", ("EHDS",))])
def test_no_name_of_a_built_in_mechanism_can_be_taken(name: str, names: tuple[str, ...]) -> None:
    """Python lists a class even where its definition was refused, as long as something holds it."""
    held = []

    def draw_noise(self: Any, source: BitSource) -> Sequence[int]:
        return (0, 0)

    with pytest.raises(dc.InvalidInputError, match="is taken by discreet") as refused:
        held.append(type(name, (dc.LatticeGeometric,), {"_names": names, "_draw_noise": draw_noise, "__module__": __name__}))
    for asked in ("LatticeGeometric", "lattice", "EHDS"):
        assert type(dc.mechanism(asked, BETA, 4, 1)).__module__.startswith("discreet.")
    record = dc.LatticeGeometric(BETA, 4, 1).release([3, 1])
    assert type(dc.Release.from_json(record.to_json()).mechanism) is dc.LatticeGeometric
    assert refused.value is not None


def test_names_are_a_tuple() -> None:
    with pytest.raises(dc.InvalidInputError, match="must be a tuple of texts"):
        type("Another", (dc.LatticeGeometric,), {"_names": "xyz", "__module__": __name__})


@pytest.mark.parametrize("by_sampler", [False, True])
def test_what_is_drawn_is_of_whole_numbers(*, by_sampler: bool) -> None:
    """Floats tell in their low bits what they were added to; unsigned integers of numpy and signed ones add up to floats."""

    class Held(dc.LatticeGeometric):
        held: Any = None

        def _draw_noise(self, source: BitSource) -> Any:
            return Held.held

        def _sampler(self, counts: Sequence[int]) -> Any:
            return super()._sampler(counts) if not by_sampler else self

        def draw(self, source: BitSource) -> Any:
            return Held.held

        @property
        def _claim(self) -> Guarantee:
            return self._by_proof()

    mechanism = Held(BETA, 4, 1)
    for held in (np.array([1.0, 2.0]), [1.0, 2], np.array([0.5, -0.5], dtype=np.float32), (1, np.float64(2.0))):
        Held.held = held
        with pytest.raises(InternalError, match="whole numbers; nothing was released"):
            mechanism.release([3, 1], unit="record")
    for whole in (np.array([1, 2]), (1, 2), [np.int8(1), 2]):
        Held.held = whole
        assert all(isinstance(number, int) for number in np.asarray(mechanism.release([3, 1], unit="record").raw).tolist())
    Held.held = np.array([1, 2], dtype=np.uint64)
    if not by_sampler:
        assert mechanism.release([3, 1], unit="record").raw == (4, 3)


def test_another_law_has_no_promise_until_it_is_claimed() -> None:
    class Careless(dc.LatticeGeometric):
        def _draw_noise(self, source: BitSource) -> Sequence[int]:
            return (0, 0)

    class Certain(dc.HellingerSmoothDelta):
        def _sampler(self, counts: Sequence[int]) -> Any:
            return self

    class Renamed(dc.LatticeGeometric):
        """Nothing but a name of its own: the promise stays."""

    for cls in (Careless, Certain):
        made = cls(BETA, 4, 1)
        assert made.guarantee.basis == "none"
        with pytest.raises(dc.RefusedError, match="no privacy guarantee"):
            made.release([3, 1])
    assert Renamed(BETA, 4, 1).release([3, 1]).guarantee == dc.LatticeGeometric(BETA, 4, 1).guarantee


def test_what_a_record_could_not_hold_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(dc.RefusedError, match="which report"):
        dc.LatticeGeometric(BETA, 4, 1, report=Cut(4, 2)).prepare([3, 1])
    labelled = dc.Dirichlet([1, 1], categories=[("a", 1), ("b", 2)])
    with pytest.raises(dc.InvalidInputError, match="cannot be written to JSON"):
        dc.LatticeGeometric(labelled, 4, 1).prepare([3, 1])


def test_a_factor_is_one_that_floats_can_follow() -> None:
    for factor in (10**900, "1e-101"):
        with pytest.raises(dc.InvalidInputError, match="factor must be from"):
            dc.HellingerGlobal(BETA, 4, 1, factor=factor)
