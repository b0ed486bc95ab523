"""A difference, a ratio or an odds ratio as a `scipy.stats` distribution."""

from typing import Any

from scipy.stats import rv_continuous

from discreet.inference.quantities import Quantity

_Scipy: Any = rv_continuous  # whose hooks are declared with arguments that a distribution without shapes does not have


class ScipyQuantity(_Scipy):  # type: ignore[misc]
    """SciPy's verbs (`rvs`, `expect`, `isf`, ...) over a quantity."""

    def __init__(self, quantity: Quantity) -> None:
        super().__init__(a=quantity.support[0], b=quantity.support[1], name=quantity.name.replace(" ", "_"))
        self._quantity = quantity

    def _updated_ctor_param(self) -> dict[str, Any]:
        """What SciPy makes a fresh copy from when it freezes."""
        return {"quantity": self._quantity}

    def _pdf(self, x: Any) -> Any:
        return self._quantity.pdf(x)

    def _cdf(self, x: Any) -> Any:
        return self._quantity.cdf(x)

    def _sf(self, x: Any) -> Any:
        return self._quantity.sf(x)

    def _ppf(self, q: Any) -> Any:
        return self._quantity.ppf(q)

    def _rvs(self, size: Any = None, random_state: Any = None) -> Any:
        return self._quantity.sample(size or (), random_state)

    def _stats(self) -> tuple[float, float, None, None]:
        return self._quantity.mean(), self._quantity.std() ** 2, None, None
