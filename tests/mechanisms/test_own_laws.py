"""What a subclass of a built-in mechanism promises where it gives another law: nothing, and no theorem, unless it says so itself."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms import Mechanism
from discreet.mechanisms.lattice import GeometricNoise
from discreet.mechanisms.reports import Clamped
from discreet.model.datasets import Space
from discreet.sampling.bulk import discrete_laplace_array


class _Silent:
    """Draws no noise at all."""

    def _draw_noise(self, source: Any) -> Any:
        return np.zeros(2, dtype=np.int64)


class _Mixed(_Silent, dc.LatticeGeometric):
    pass


class _Scaled(dc.LaplaceHistogram):
    _scale = property(lambda self: Fraction(1, 1000))


class _Divided(dc.HellingerGlobal):
    _loss_factor = property(lambda self: Fraction(1, 1000))


class _Near(dc.HellingerSmooth):
    """Its listed weights are drawn with another rate than its law has."""

    def _near_sensitivity(self, tables: Any, counts: Any) -> float:
        return super()._near_sensitivity(tables, counts) / 1000


class _Less(dc.LaplaceZhang):
    _noised = property(lambda self: 0)


class _Neighbours(dc.LatticeGeometric):
    """Says that its promise is about other neighbours."""

    space = property(lambda self: Space(self.k, None))


class _Claimed(dc.LatticeGeometric):
    """Gives another law, and says what it promises."""

    def _draw_noise(self, source: Any) -> Any:
        return 2 * np.asarray(super()._draw_noise(source))

    @property
    def _claim(self) -> dc.Guarantee:
        return self._by_proof()


class _Inherited(_Claimed):
    pass


class _Plain(dc.LatticeGeometric):
    """Changes nothing that a promise is about."""


class _Vouching:
    """Beside a mechanism, it says what is promised."""

    @property
    def _claim(self) -> dc.Guarantee:
        return dc.Guarantee(0.1, 0.0, "proof")


class _Vouched(_Vouching, dc.LaplaceHistogram):
    """Promises what the class beside it says."""


class _Unvouched(_Vouched):
    """Gives another law than the one that the promise was made for."""

    def _draw_noise(self, source: Any) -> Any:
        return np.zeros(2, dtype=np.int64)


class _Declared(dc.LatticeGeometric):
    """Only declares what attrs would make a field of, without its converter."""

    epsilon: Fraction


class _Nearer:
    """Beside a mechanism, it gives another law and says what is promised."""

    def _near_sensitivity(self, tables: Any, counts: Any) -> float:
        return 1.0

    @property
    def _claim(self) -> dc.Guarantee:
        return dc.Guarantee(7.0, 0.0, "proof")


class _Vague(_Nearer, dc.HellingerSmoothDelta):
    """Promises what is said beside it, and not what is computed for the law of the built-in class."""


OVERRIDDEN: dict[str, Any] = {
    "_checked": lambda self, counts: 1000 * dc.LatticeGeometric._checked(self, counts),
    "_recorded": lambda self, *given: dc.LatticeGeometric._recorded(self, *given),
    "prepare": lambda self, counts, **named: dc.LatticeGeometric.prepare(self, [1000, 0], **named),
    "release": lambda self, counts: counts,
    "k": property(lambda self: 2),
    "epsilon": property(lambda self: 1000),
    "_by_proof": lambda self: dc.Guarantee(1e-9, 0.0, "proof"),
    "_check_size": lambda self: None,
    "_loss_atoms": lambda self: None,
    "_described": lambda self: ("LatticeGeometric", {}),
    "_theorem": "cells_private",
    "__attrs_post_init__": lambda self: dc.LatticeGeometric.__attrs_post_init__(self),
    "__getattribute__": lambda self, name: object.__getattribute__(self, name),
}


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_whatever_decides_what_is_drawn_recorded_or_checked_takes_the_promise_away(name: str) -> None:
    own: Any = type("Own", (dc.LatticeGeometric,), {"__module__": __name__, name: OVERRIDDEN[name]})
    mechanism = own(dc.Beta(1, 1), epsilon=1)
    assert (mechanism.guarantee.basis, mechanism.guarantee.theorem) == ("none", "")
    with pytest.raises(dc.RefusedError, match="no privacy guarantee"):
        dc.LatticeGeometric.release(mechanism, [5, 0], steady=False)
    claim = property(lambda _: dc.Guarantee(2.0, 0.0, "proof"))
    claimed: Any = type("Claimed", (own,), {"__module__": __name__, name: OVERRIDDEN[name], "_claim": claim})
    assert claimed(dc.Beta(1, 1), epsilon=1).guarantee.epsilon == 2


@pytest.mark.parametrize("name", ["_claim", "guarantee"])
def test_a_promise_of_ones_own_for_our_law_names_no_theorem_of_ours(name: str) -> None:
    stated = property(lambda self: replace(self._by_proof(), epsilon=1e-9))
    own: Any = type("Own", (dc.LatticeGeometric,), {"__module__": __name__, name: stated})
    assert own(dc.Beta(1, 1), epsilon=1).guarantee.theorem == ""


def test_names_looks_times_and_reports_leave_the_promise() -> None:
    body = {"_names": ("own lattice",), "_look": ("#000000", "o", "-", ""), "_draw_seconds": 0.5, "_warm_up": lambda self: None}
    body |= {"_own_report": lambda self: Clamped(), "__module__": __name__, "helper": 3}
    own: Any = type("Own", (dc.LatticeGeometric,), body)
    assert own(dc.Beta(1, 1), epsilon=1).guarantee == dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1).guarantee


def test_a_promise_from_beside_holds_for_the_law_that_it_was_given_with() -> None:
    assert _Vouched(dc.Beta(1, 1), 10, 1).guarantee.epsilon == 0.1
    assert _Vague(dc.Beta(1, 1), 10, 1).guarantee.epsilon == 7


@pytest.mark.parametrize("cls", [_Unvouched, _Declared, _Mixed, _Scaled, _Divided, _Near, _Less, _Neighbours])
def test_a_law_from_anywhere_but_the_mechanism_has_no_promise(cls: Any) -> None:
    mechanism = cls(dc.Beta(1, 1), 10, 1)
    assert mechanism.guarantee.basis == "none"
    assert mechanism._theorem == ""
    with pytest.raises(dc.DiscreetError):
        mechanism.release([3, 7], steady=False)


@pytest.mark.parametrize("cls", [_Claimed, _Inherited])
def test_a_claim_of_ones_own_is_kept_and_names_no_theorem_of_ours(cls: Any) -> None:
    guarantee = cls(dc.Beta(1, 1), 10, 1).guarantee
    assert (guarantee.basis, guarantee.theorem) == ("proof", "")


def test_a_subclass_with_the_same_law_keeps_promise_and_theorem() -> None:
    own, built_in = (cls(dc.Beta(1, 1), 10, 1).guarantee for cls in (_Plain, dc.LatticeGeometric))
    assert own == built_in
    assert own.theorem == built_in.theorem != ""


def test_numpy_that_raises_does_not_undo_a_draw() -> None:
    mechanism = dc.Remapped(dc.LatticeGeometric(dc.Beta(1, 1), 400, 20))
    with np.errstate(all="raise"):
        assert sum(mechanism.release([150, 250], steady=False).counts) == 400


def test_digits_that_are_shown_never_say_less_than_is_given_away() -> None:
    levels = [dc.LatticeGeometric(dc.Beta(1, 1), 10, epsilon).guarantee.level for epsilon in ("1.0000004", "0.1", "0.9999999", "1/3")]
    assert levels == ["ε = 1.0000004", "ε = 0.1", "ε = 1", "ε = 0.333334"]


class _TwoSided(Mechanism):
    """A mechanism of a user's own that adds noise, and says nothing of what is reported."""

    @property
    def noise(self) -> GeometricNoise:
        return GeometricNoise(self.k, slope=float(self.epsilon) / 2)

    def _draw_noise(self, source: Any) -> Any:
        return discrete_laplace_array(source, 2 / self.epsilon, self.k)

    def _raw_law(self, counts: Any) -> Any:
        raise dc.TooLargeError("noise of any size is not listed")


def test_noise_without_a_report_of_its_own_is_reported_as_possible_counts() -> None:
    """An outcome below 0 is no count, and has no error."""
    mechanism = _TwoSided(dc.Beta(1, 1), 10, "0.1")
    assert mechanism.report.one((-3, 12)) == (0, 10)
    assert 0.0 < dc.expected_error(mechanism, [3, 7]) < 1.0
