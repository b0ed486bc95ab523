"""Mechanisms: the base class, the built-in ones by their names, and `mechanism()`, which finds one by any of its names."""

from typing import Any

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.bayes_reports import Remapped
from discreet.mechanisms.hellinger import Exponential
from discreet.mechanisms.laws import Law, LossAtoms
from discreet.mechanisms.nested import Nested
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.registry import MECHANISMS, mechanism
from discreet.mechanisms.reports import Report
from discreet.mechanisms.scores import Calibrated, MetricExponential

__all__ = [
    "MECHANISMS",
    "Calibrated",
    "CellNoise",
    "Exponential",
    "Law",
    "LossAtoms",
    "Mechanism",
    "MetricExponential",
    "Nested",
    "Remapped",
    "Report",
    "mechanism",
]


def __getattr__(name: str) -> Any:
    """A built-in mechanism by its name."""
    for cls in MECHANISMS:
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
