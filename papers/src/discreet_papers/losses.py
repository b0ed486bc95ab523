"""Privacy losses, for figures and claims, and what the public research code computes where the papers say something else."""

from math import exp, log

import numpy as np

from discreet.analysis.privacy import privacy_loss
from discreet.arrays import Floats
from discreet.mechanisms.base import Mechanism
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger
from discreet_papers.contenders import balanced
from discreet_papers.laws import Laws

__all__ = ["balanced_loss", "loss_ratio", "poster_beta", "research_local_loss", "research_local_sensitivities", "research_zhang_at_most"]


def loss_ratio(mechanism: Mechanism) -> float:
    """The largest privacy loss over all pairs of neighbours, divided by ε."""
    return privacy_loss(mechanism).value / float(mechanism.epsilon)


def balanced_loss(mechanism: Mechanism) -> float:
    """The largest loss between balanced data of two categories and a neighbour, which 000 Figure 7 shows."""
    if mechanism._loss_atoms() is not None:
        return privacy_loss(mechanism).value
    n = mechanism.space.total
    x = int(balanced(n, 2)[0])
    own = mechanism.law([x, n - x]).log_probability
    others = [mechanism.law([y, n - y]).log_probability for y in (x - 1, x + 1) if 0 <= y <= n]
    return float(max(np.abs(own - other).max() for other in others))


def poster_beta(n: int, epsilon: float, delta: float) -> float:
    """The β of the smooth sensitivity that the poster (003) uses for two categories."""
    return log(1.0 - epsilon / (2.0 * log(delta / (2.0 * (n + 1)))))


# --- the public research code -----------------------------------------------------------------------------------------


def research_local_loss(prior: Beta | Dirichlet, n: int, epsilon: float) -> float:
    """Loss / ε of the research code's EHDL for even n: whatever the data, it takes the local sensitivity of balanced data."""
    laws = Laws.every(prior, n)
    law = np.log(laws.exponential(epsilon, float(laws.local[n // 2])))
    return float(np.abs(law[1:] - law[:-1]).max()) / epsilon


def research_local_sensitivities(prior: Beta | Dirichlet, n: int) -> Floats:
    """The research code's local sensitivities, two categories: a step is taken while the *posterior's* parameter stays above 0.

    With a prior parameter above 1 that goes on below a count of 0, to a posterior that no data have.
    """
    x = np.arange(n + 1)
    posterior = prior.concentration + np.stack([x, n - x], axis=-1)
    found = np.zeros(n + 1)
    for move in (np.array([1.0, -1.0]), np.array([-1.0, 1.0])):
        allowed = (posterior + move > 0.0).all(axis=-1)
        found[allowed] = np.maximum(found[allowed], np.asarray(hellinger(posterior[allowed], posterior[allowed] + move)))
    return found


def research_zhang_at_most(place: int, n: int, epsilon: float) -> float:
    """P(first count reported <= place) by the research code's LSZhang: Laplace noise of scale 2/ε clipped to [0, n], whatever the data."""
    return 1.0 if place >= n else 1.0 - 0.5 * exp(-epsilon * place / 2.0)
