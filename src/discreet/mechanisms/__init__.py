"""Every mechanism of the papers, the lattice's own, and `mechanism()`, which finds one by any of its names."""

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.bayes_reports import Remapped
from discreet.mechanisms.calibrated import Calibrated
from discreet.mechanisms.hellinger import Exponential, HellingerGlobal, HellingerLocal, HellingerSmooth, HellingerSmoothDelta
from discreet.mechanisms.laplace import LaplaceDimension, LaplaceHistogram, LaplaceZhang
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.mechanisms.laws import Law, LossAtoms
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.registry import MECHANISMS, mechanism
from discreet.mechanisms.reports import Report
from discreet.mechanisms.scores import MetricExponential

__all__ = [
    "MECHANISMS",
    "Calibrated",
    "CellNoise",
    "Exponential",
    "HellingerGlobal",
    "HellingerLocal",
    "HellingerSmooth",
    "HellingerSmoothDelta",
    "LaplaceDimension",
    "LaplaceHistogram",
    "LaplaceZhang",
    "LatticeGeometric",
    "Law",
    "LossAtoms",
    "Mechanism",
    "MetricExponential",
    "Remapped",
    "Report",
    "mechanism",
]
