"""What a subclass of a built-in mechanism promises where it gives another law: nothing, and no theorem, unless it says so itself."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.model.datasets import Space


class _Silent:
    """Draws no noise at all."""

    def draw_noise(self, source: Any) -> Any:
        return np.zeros(2, dtype=np.int64)


class _Mixed(_Silent, dc.LatticeGeometric):
    pass


class _Scaled(dc.LaplaceHistogram):
    scale = property(lambda self: Fraction(1, 1000))


class _Divided(dc.HellingerGlobal):
    _loss_factor = property(lambda self: Fraction(1, 1000))


class _Near(dc.HellingerSmooth):
    """Its listed weights are drawn with another rate than its law has."""

    def near_sensitivity(self, tables: Any, counts: Any) -> float:
        return super().near_sensitivity(tables, counts) / 1000


class _Less(dc.LaplaceZhang):
    noised = property(lambda self: 0)


class _Neighbours(dc.LatticeGeometric):
    """Says that its promise is about other neighbours."""

    space = property(lambda self: Space(self.k, None))


class _Claimed(dc.LatticeGeometric):
    """Gives another law, and says what it promises."""

    def draw_noise(self, source: Any) -> Any:
        return 2 * np.asarray(super().draw_noise(source))

    @property
    def claim(self) -> dc.Guarantee:
        return self.by_proof()


class _Inherited(_Claimed):
    pass


class _Plain(dc.LatticeGeometric):
    """Changes nothing that a promise is about."""


@pytest.mark.parametrize("cls", [_Mixed, _Scaled, _Divided, _Near, _Less, _Neighbours])
def test_a_law_from_anywhere_but_the_mechanism_has_no_promise(cls: Any) -> None:
    mechanism = cls(dc.Beta(1, 1), 10, 1)
    assert mechanism.guarantee.basis == "none"
    assert mechanism.theorem == ""
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
    levels = [dc.LatticeGeometric(dc.Beta(1, 1), 10, epsilon).guarantee.level for epsilon in ("1.0000004", "0.1", "0.9999999")]
    assert levels == ["ε = 1.0000004", "ε = 0.1", "ε = 1"]
