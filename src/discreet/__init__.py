"""Private posteriors for discrete data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accuracy import error_law as error_law
    from discreet.accuracy import expected_error as expected_error
    from discreet.auditing import audit as audit
    from discreet.capability import Capabilities as Capabilities
    from discreet.capability import capabilities as capabilities
    from discreet.comparison import compare as compare
    from discreet.comparison import plan as plan
    from discreet.composition import Accountant as Accountant
    from discreet.distances import chi2 as chi2
    from discreet.distances import hellinger as hellinger
    from discreet.distances import kl as kl
    from discreet.distances import renyi as renyi
    from discreet.distances import total_variation as total_variation
    from discreet.distances import total_variation_bounds as total_variation_bounds
    from discreet.distances import total_variation_estimate as total_variation_estimate
    from discreet.distributions import Beta as Beta
    from discreet.distributions import Dirichlet as Dirichlet
    from discreet.errors import BudgetError as BudgetError
    from discreet.errors import ClaimError as ClaimError
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.errors import EntropyError as EntropyError
    from discreet.errors import InternalError as InternalError
    from discreet.errors import InvalidInputError as InvalidInputError
    from discreet.errors import LedgerError as LedgerError
    from discreet.errors import RefusedError as RefusedError
    from discreet.errors import SourceError as SourceError
    from discreet.errors import TooLargeError as TooLargeError
    from discreet.inference import NoiseAware as NoiseAware
    from discreet.ledger import Ledger as Ledger
    from discreet.mechanisms import Calibrated as Calibrated
    from discreet.mechanisms import HellingerGlobal as HellingerGlobal
    from discreet.mechanisms import HellingerLocal as HellingerLocal
    from discreet.mechanisms import HellingerSmooth as HellingerSmooth
    from discreet.mechanisms import HellingerSmoothDelta as HellingerSmoothDelta
    from discreet.mechanisms import LaplaceDimension as LaplaceDimension
    from discreet.mechanisms import LaplaceHistogram as LaplaceHistogram
    from discreet.mechanisms import LaplaceZhang as LaplaceZhang
    from discreet.mechanisms import LatticeGeometric as LatticeGeometric
    from discreet.mechanisms import MetricExponential as MetricExponential
    from discreet.mechanisms import Remapped as Remapped
    from discreet.mechanisms import mechanism as mechanism
    from discreet.optimum import optimal as optimal
    from discreet.privacy import delta_at as delta_at
    from discreet.privacy import loss_profile as loss_profile
    from discreet.privacy import privacy_loss as privacy_loss
    from discreet.privacy import renyi_loss as renyi_loss
    from discreet.privacy import verify as verify
    from discreet.release import Guarantee as Guarantee
    from discreet.release import Release as Release
    from discreet.sensitivity import global_sensitivity as global_sensitivity
    from discreet.sensitivity import local_sensitivity as local_sensitivity
    from discreet.sensitivity import smooth_sensitivity as smooth_sensitivity
    from discreet.sources import CategoryCounts as CategoryCounts
    from discreet.sources import count as count

__version__ = "0.1.0.dev0"

# A name is imported from its room when it is first used: `import discreet` and `discreet --help` load no numerical library.
_ROOMS = {
    "accuracy": ("error_law", "expected_error"),
    "auditing": ("audit",),
    "comparison": ("compare", "plan"),
    "capability": ("Capabilities", "capabilities"),
    "composition": ("Accountant",),
    "distances": ("chi2", "hellinger", "kl", "renyi", "total_variation", "total_variation_bounds", "total_variation_estimate"),
    "distributions": ("Beta", "Dirichlet"),
    "errors": (
        "BudgetError",
        "ClaimError",
        "DiscreetError",
        "EntropyError",
        "InternalError",
        "InvalidInputError",
        "LedgerError",
        "RefusedError",
        "SourceError",
        "TooLargeError",
    ),
    "inference": ("NoiseAware",),
    "ledger": ("Ledger",),
    "mechanisms": (
        "Calibrated",
        "HellingerGlobal",
        "HellingerLocal",
        "HellingerSmooth",
        "HellingerSmoothDelta",
        "LaplaceDimension",
        "LaplaceHistogram",
        "LaplaceZhang",
        "LatticeGeometric",
        "MetricExponential",
        "Remapped",
        "mechanism",
    ),
    "optimum": ("optimal",),
    "privacy": ("delta_at", "loss_profile", "privacy_loss", "renyi_loss", "verify"),
    "release": ("Guarantee", "Release"),
    "sensitivity": ("global_sensitivity", "local_sensitivity", "smooth_sensitivity"),
    "sources": ("CategoryCounts", "count"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    found = getattr(import_module(f"discreet.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
