"""Capabilities: whether readers can compute something about a mechanism's releases, by public numbers, before anything is spent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet import limits
from discreet.analysis.privacy import check_loss
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.reader_priors import reader_prior
from discreet.inference.tables.posterior import check_table_posterior
from discreet.inference.true_counts import check_posterior as check_single_posterior
from discreet.mechanisms import Mechanism
from discreet.mechanisms.likelihoods import most_pairs
from discreet.model.dirichlet import Prior
from discreet.model.tables import TableSpace
from discreet.text import html_fields


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of readers of a mechanism's releases. A text says why something is out of reach; None: it is not."""

    no_noise_aware: str | None
    """The reason why a release will have no noise-aware posterior: no means and intervals that allow for the noise."""
    no_privacy_loss: str | None
    """The reason why the privacy loss cannot be computed: `verify` will give no answer, and a promise rests on its proof alone."""
    noise_aware_pairs: int | None = None
    """About how many pairs of possible counts a noise-aware posterior goes through at most, if that takes more than a few seconds."""

    @property
    def noise_aware(self) -> bool:
        """Return whether releases have noise-aware posteriors. An outcome with very unlikely noise may have none all the same."""
        return self.no_noise_aware is None

    @property
    def privacy_loss(self) -> bool:
        return self.no_privacy_loss is None

    def _repr_html_(self) -> str:
        reasons = {"noise-aware posterior": self.no_noise_aware, "privacy loss": self.no_privacy_loss}
        return html_fields("What readers can compute", {name: "yes" if reason is None else reason for name, reason in reasons.items()})


def capabilities(mechanism: Mechanism, prior: Any = None) -> Capabilities:
    """Find out what can be computed about this mechanism's releases at its size, from its public parameters alone.

    Args:
        mechanism: any.
        prior: that of a reader of single releases, as `Release.noise_aware` takes it, if it is not the mechanism's own. Tables have
            means and intervals under any.
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidInputError(f"give a mechanism, not {type(mechanism).__name__}")
    reader = None if isinstance(mechanism.space, TableSpace) else reader_prior(prior, mechanism.prior)
    no_posterior = _reason(lambda one: check_posterior(one, reader), mechanism)
    return Capabilities(no_posterior, _reason(check_loss, mechanism), None if no_posterior else _long_list(mechanism))


def _long_list(mechanism: Mechanism) -> int | None:
    """The pairs that a posterior without independent noise goes through, if they are many."""
    if mechanism.noise is not None or mechanism._answers is not None or mechanism._levels is not None or mechanism.n is None:
        return None
    pairs = most_pairs(mechanism.prior.exact, mechanism.space.total)
    return pairs if pairs > limits.QUICK_PAIRS else None


def check_posterior(mechanism: Mechanism, reader: Prior | None = None) -> None:
    """Refuse, by public numbers alone, a mechanism whose releases have no noise-aware posterior that can be computed.

    `reader` is the prior of whoever reads a single release, if it is not the mechanism's.
    """
    if isinstance(mechanism.space, TableSpace):
        check_table_posterior(mechanism)
    else:
        check_single_posterior(mechanism, reader)


def _reason(check: Callable[[Mechanism], None], mechanism: Mechanism) -> str | None:
    try:
        check(mechanism)
    except (RefusedError, TooLargeError) as error:
        return str(error)
    return None
