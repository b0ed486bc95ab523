"""Words about the law that the shares of all groups come from: the words and the fields of `show --pooled`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.present.terminal import Lines

if TYPE_CHECKING:
    from discreet.inference.pooling.pooled import PooledTable


@dataclass(frozen=True)
class CommonLawFigures:
    """The strength with which groups are alike, what was believed about it before, and how far off the numbers are."""

    prior: str
    mass: float
    strength: tuple[float, float, float]
    """Median and interval."""
    log_evidence: float
    error: float
    effective_draws: float | None
    standard_error: float
    """The largest of the means, from draws of mean and strength; 0 where there are none."""

    @staticmethod
    def of(pooled: "PooledTable", mass: float) -> "CommonLawFigures":
        """The figures of a posterior, with an interval that holds this much probability."""
        strength, error = pooled.strength, float(pooled.standard_error().max())
        known = str(pooled.hyperprior), mass, (strength.median(), *strength.interval(mass))
        return CommonLawFigures(*known, pooled.log_evidence, pooled.log_evidence_error, pooled.effective_draws, error)

    @property
    def model(self) -> str:
        """Return what is assumed of the groups."""
        return "read together: the shares of every group come from one Dirichlet(strength · mean), which is learnt from all"

    def lines(self) -> Lines:
        """The lines on a terminal."""
        median, low, high = self.strength
        level = f"{100.0 * self.mass:g} %"
        said = f"{median:.3g}, between {low:.3g} and {high:.3g} with probability {level}: as much as so many records that all groups share"
        return [("Strength", said), ("Prior", self.prior), ("Computed", self._computed)]

    @property
    def _computed(self) -> str:
        if self.effective_draws is None:
            return f"by sums over mean and strength; half their step changed the probability of the noisy counts by {self.error:.1g} of it"
        worth = f"from draws of mean and strength, worth {self.effective_draws:.0f} independent ones and the same every time"
        return f"{worth}; the standard error of a mean is up to {100.0 * self.standard_error:.2g} percentage points"

    def fields(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""
        return {
            "prior": self.prior,
            "strength": dict(zip(("median", "low", "high"), self.strength, strict=True)),
            "log_evidence": self.log_evidence,
            "log_evidence_error": self.error,
            "effective_draws": self.effective_draws,
            "standard_error": self.standard_error,
        }
