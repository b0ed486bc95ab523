"""Laws of one number as `scipy.stats` distributions."""

from typing import Any

import numpy as np
from scipy.stats import rv_continuous

_Scipy: Any = rv_continuous  # whose hooks are declared with arguments that a distribution without shapes does not have


class ScipyLaw(_Scipy):  # type: ignore[misc]
    """SciPy's verbs (`rvs`, `expect`, `isf`, ...) over a law that has `pdf`, `cdf`, `sf`, `ppf`, `mean`, `std` and `sample`."""

    def __init__(self, law: Any, called: str, support: tuple[float, float] = (0.0, 1.0)) -> None:
        super().__init__(a=support[0], b=support[1], name=called.replace(" ", "_"))
        self._law, self._made = law, {"law": law, "called": called, "support": support}

    def _updated_ctor_param(self) -> dict[str, Any]:
        """Return the arguments from which SciPy makes a fresh copy when it freezes."""
        return self._made

    def _pdf(self, x: Any) -> Any:
        return self._law.pdf(x)

    def _cdf(self, x: Any) -> Any:
        return self._law.cdf(x)

    def _sf(self, x: Any) -> Any:
        return self._law.sf(x)

    def _ppf(self, q: Any) -> Any:
        return self._law.ppf(q)

    def _rvs(self, size: Any = None, random_state: Any = None) -> Any:
        return self._law.sample(size or (), random_state)

    def _stats(self) -> tuple[float, float, None, None]:
        return self._law.mean(), self._law.std() ** 2, None, None


class ScipyMixture(ScipyLaw):
    """SciPy's verbs over a mixture of Betas, whose moments and draws follow from its components."""

    def _logpdf(self, x: Any) -> Any:
        return self._law.logpdf(x)

    def _rvs(self, size: Any = None, random_state: Any = None) -> Any:
        chosen = random_state.choice(self._law.weight.size, size=size, p=self._law.weight)
        return random_state.beta(self._law.a[chosen], self._law.b[chosen])

    def _munp(self, n: int) -> Any:
        a, b = self._law.a, self._law.b
        steps = np.arange(n)[:, None]
        return float(self._law.weight @ np.prod((a + steps) / (a + b + steps), axis=0))
