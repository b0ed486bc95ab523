"""A mixture of Betas as a `scipy.stats` distribution."""

from typing import Any

import numpy as np
from scipy.stats import rv_continuous

from discreet.model.beta_mixtures import BetaMixture

_Scipy: Any = rv_continuous  # whose hooks are declared with arguments that a distribution without shapes does not have


class ScipyMixture(_Scipy):  # type: ignore[misc]
    """SciPy's verbs (`rvs`, `expect`, `isf`, ...) over a mixture."""

    def __init__(self, mixture: BetaMixture) -> None:
        super().__init__(a=0.0, b=1.0, name="beta_mixture")
        self._mixture = mixture

    def _updated_ctor_param(self) -> dict[str, Any]:
        """What SciPy makes a fresh copy from when it freezes."""
        return {"mixture": self._mixture}

    def _logpdf(self, x: Any) -> Any:
        return self._mixture.logpdf(x)

    def _pdf(self, x: Any) -> Any:
        return self._mixture.pdf(x)

    def _cdf(self, x: Any) -> Any:
        return self._mixture.cdf(x)

    def _sf(self, x: Any) -> Any:
        return self._mixture.sf(x)

    def _ppf(self, q: Any) -> Any:
        return self._mixture.ppf(q)

    def _rvs(self, size: Any = None, random_state: Any = None) -> Any:
        chosen = random_state.choice(self._mixture.weight.size, size=size, p=self._mixture.weight)
        return random_state.beta(self._mixture.a[chosen], self._mixture.b[chosen])

    def _munp(self, n: int) -> Any:
        a, b = self._mixture.a, self._mixture.b
        steps = np.arange(n)[:, None]
        return float(self._mixture.weight @ np.prod((a + steps) / (a + b + steps), axis=0))

    def _stats(self) -> tuple[float, float, None, None]:
        return self._mixture.mean(), self._mixture.var(), None, None
