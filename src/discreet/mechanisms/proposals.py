"""Weights that make the sampler of three or more categories accept nearly every proposal.

The sampler bounds g(D) = exp(-c sqrt(1 - e^-D)) by a sum of exponentials. Any weights are made right there, in ball arithmetic; these are
chosen, in floating point, so that the sum is close to g and few proposals are rejected.
"""

import numpy as np

from discreet.arrays import Floats
from discreet.numerics.gamma import to_hellinger
from discreet.sampling.domination import Target, even_weights

_SLACK = 2.0
"""The sum may be above g by e^2 times what the constant must be, far out: by e^-5 of the mass of r = x alone in all."""


def load() -> None:
    """Import what is slow to import."""
    import scipy.optimize  # noqa: F401


def good_weights(target: Target) -> list[float]:
    """Logarithms of weights, up to a common factor, whose sum is nearly proportional to g; some may be -inf.

    Of a least-squares fit, which is good but for which nothing is proved, and the even weights, for which it is, the one is taken whose
    sum, once it is nowhere below g, is less far above g + e^{_SLACK - depth}.
    """
    c = float(target.rate.mid())
    points = np.concatenate([[0.0], target.grid])
    falls = np.outer(points, np.array(target.powers, dtype=np.float64))
    exact = c * to_hellinger(points)
    needed = -np.minimum(target.depth, exact)
    allowed = np.logaddexp(-exact, _SLACK - target.depth)

    def worst_excess(weights: Floats) -> float:
        total = np.logaddexp.reduce(weights - falls, axis=1)
        return float((needed - total).max() + (total - allowed).max())

    fitted = _fitted(-allowed[:, None] - falls)
    fitted[0] = max(fitted[0], needed[-1])  # the constant alone must cover what lies beyond the grid
    return [float(weight) for weight in min(fitted, np.array(even_weights(target)), key=worst_excess)]


def _fitted(ratio: Floats) -> Floats:
    """Logarithms of weights w with Σ_j w_j e^ratio_j near 1 in every row; none, if the fit fails."""
    from scipy.optimize import nnls  # slow to load

    # In logarithms throughout: the weights of a proposal may be thousands of orders of magnitude apart.
    scale = ratio.max(axis=0)
    with np.errstate(divide="ignore"):
        try:
            return np.asarray(np.log(nnls(np.exp(ratio - scale), np.ones(len(ratio)))[0]) - scale)
        except (RuntimeError, ValueError):  # too many iterations, a singular matrix
            return np.full(scale.size, -np.inf)
