"""What a mechanism shows a stranger, and what becomes of names that it showed before."""

import pickle
from typing import Any

import pytest
from attrs import field

import discreet as dc
from discreet.mechanisms import MECHANISMS

SHARED = {"prior", "n", "epsilon", "report", "k", "guarantee", "law", "log_prob", "simulate", "prepare", "release"}
OF_CLASSES = {"space", "noise", "title", "parameters"}
"""What a mechanism says of itself: it answers, and is in no list of names."""
LAYOUT = {"by", "impossible", "shares", "priors"}
PRIOR = dc.Dirichlet([1, 2])


def shown(mechanism: Any) -> set[str]:
    return {name for name in dir(mechanism) if not name.startswith("_")}


@pytest.mark.parametrize("cls", MECHANISMS)
def test_a_mechanism_shows_a_dozen_names_and_its_options(cls: Any) -> None:
    mechanism = cls(PRIOR, 10, 1)
    assert shown(mechanism) == SHARED | set(mechanism._options)
    assert len(shown(mechanism)) <= 13
    assert all(hasattr(mechanism, name) for name in OF_CLASSES)


def test_a_table_shows_its_layout_too() -> None:
    mechanism = dc.LatticeGeometric(PRIOR, None, 1, by={"group": ["a", "b"]})
    assert shown(mechanism) == SHARED | set(mechanism._options) | LAYOUT


def test_former_names_answer_with_a_warning() -> None:
    mechanism: Any = dc.LatticeGeometric(PRIOR, 10, 1)
    with pytest.warns(DeprecationWarning, match=r"_loss_atoms"):
        assert mechanism.loss_atoms().largest == 1
    with pytest.warns(DeprecationWarning, match=r"space\.total"):
        assert mechanism.total == 10
    with pytest.warns(DeprecationWarning, match="prepare"):
        assert mechanism.check_release([3, 7]) == mechanism.guarantee
    laplace: Any = dc.LaplaceZhang(PRIOR, 10, 1)
    with pytest.warns(DeprecationWarning, match="_scale"):
        assert laplace.scale == 2


def test_other_names_are_missing_as_ever() -> None:
    mechanism: Any = dc.LatticeGeometric(PRIOR, 10, 1)
    for name in ("nothing_of_this_name", "scale", "beta"):
        with pytest.raises(AttributeError, match=name):
            getattr(mechanism, name)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism  # noqa: S301  our own bytes


class _Beside:
    """Beside a mechanism, it gives a promise under a former name."""

    claim = property(lambda self: dc.Guarantee(0.1, 0.0, "proof"))


GIVEN: list[tuple[Any, dict[str, Any], str]] = [
    ((dc.LaplaceHistogram,), {"scale": 1}, "_scale"),
    ((dc.LaplaceZhang,), {"noised": 2}, "_noised"),
    ((dc.HellingerGlobal,), {"rate_ball": None}, "_rate_ball"),
    ((dc.HellingerSmoothDelta,), {"__annotations__": {"beta": float}}, "_beta"),
    ((dc.LatticeGeometric,), {"checked": None}, "_checked"),
    ((dc.LatticeGeometric,), {"needs_total": field(default=True)}, "_needs_total"),
    ((dc.LatticeGeometric,), {"check_release": None}, "prepare"),
    ((dc.Mechanism,), {"raw_law": None}, "_raw_law"),
    ((_Beside, dc.LaplaceHistogram), {}, "_claim"),
]


@pytest.mark.parametrize(("bases", "body", "now"), GIVEN)
def test_a_class_that_gives_a_former_name_is_refused(bases: tuple[type, ...], body: dict[str, Any], now: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=rf" {now} from version 0\.3 on"):
        type("Mine", bases, {"__module__": __name__, **body})


def test_what_no_built_in_class_of_it_gave_is_a_free_name() -> None:
    cls: Any = type("Scaled", (dc.LatticeGeometric,), {"__module__": __name__, "scale": 3})
    assert cls(PRIOR, 10, 1).scale == 3
    assert cls(PRIOR, 10, 1).guarantee == dc.LatticeGeometric(PRIOR, 10, 1).guarantee
