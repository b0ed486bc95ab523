"""Releases in PyMC models: the likelihood of a release given the categories' probabilities (docs/howto/pymc.md).

    with pm.Model():
        theta = pm.Dirichlet("theta", np.ones(3))
        discreet.pymc.likelihood("release", release, theta)
        pm.sample()

Any model of the probabilities is a few lines: hierarchies over the groups of a table, regressions on what is known about groups. The true
counts are added up exactly and are no variables of the model. Needs PyMC: pip install 'discreet[pymc]'.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

try:
    import pymc as pm
    import pytensor.tensor as pt
    from pymc.distributions.dist_math import check_parameters
    from pytensor.gradient import DisconnectedType
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(f"{missing.name} is not installed: pip install 'discreet[pymc]'", name=missing.name) from None

from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.inference.likelihoods import OutcomeModel, likelihood_of, observed
from discreet.record.release import Release

__all__ = ["likelihood"]


def likelihood(name: str, release: Release, theta: Any, *, size: Any = None, shares: Any = None, dims: Any = None) -> Any:
    """Add the likelihood of a release to the model: an observed variable, whose value is the release's raw outcome.

    Args:
        name: The variable's name.
        release: A release of one variable or of a table, as `discreet.Release.from_json` reads it.
        theta: The probabilities of the categories, on the last axis, in the order of `release.prior.categories`; for a table a row for each
            group, in their order. The prior of the release plays no part. In a group where categories are impossible, those that are left
            are scaled to add up to 1.
        size: The expected number of records, of each group for a table. Needed where the number of records is private, and only there:
            the true counts are then independent Poisson counts of mean `size · theta`.
        shares: The groups' shares of the population, which add up to 1. Needed for a table of which only the total is public, and only
            there: its true counts are multinomial with the probabilities `shares · theta`.
        dims: Names of the variable's dimensions, as for other variables of PyMC.

    Returns:
        The observed variable. Gradients are exact; second derivatives are not given. It can be drawn from, so `sample_prior_predictive` and
        `sample_posterior_predictive` work; such draws are for study, not for release.

    Raises:
        InvalidInputError: something is missing or not for this release, or is not of its shape.
        RefusedError, TooLargeError: this release has no likelihood that can be computed.
    """
    if not isinstance(release, Release):
        raise InvalidInputError(f"likelihood takes a Release, as discreet.Release.from_json reads it, not {type(release).__name__}")
    mechanism = release.mechanism
    if not mechanism._is_outcome(release.raw):
        raise InvalidInputError(f"raw is not a possible outcome of {mechanism.title} with these parameters")
    outcomes = Outcomes(mechanism, likelihood_of(mechanism))
    rate = outcomes.rates(theta, size, shares)
    raw = observed(release.raw)
    outcomes.check(raw)
    return pm.CustomDist(
        name,
        rate,
        np.zeros(raw.shape if outcomes.signature == _AS_ONE else raw.shape[-1:]),
        logp=outcomes.logp,
        random=outcomes.random,
        signature=outcomes.signature,
        dtype="int64",
        observed=raw,
        dims=dims,
    )


_BY_ROW, _AS_ONE = "(k),(m)->(m)", "(g,k),(g,m)->(g,m)"
"""Core dimensions of the parameter and of an outcome, which may have fewer entries: a second parameter, zeros, tells how many."""


@dataclass(frozen=True, eq=False)
class Outcomes(OutcomeModel):
    """The distribution of a mechanism's raw outcomes given probabilities, or rates where the number of records is private."""

    @property
    def signature(self) -> str:
        """The signature of one outcome: the groups of a table are independent, unless a total ties them."""
        return _AS_ONE if self.is_one else _BY_ROW

    # --- the parameter ------------------------------------------------------------------------------------------------

    def rates(self, theta: Any, size: Any, shares: Any) -> Any:
        """Return the argument of the likelihood: probabilities, or expected counts where the number of records is private."""
        self.check_given(size, shares)
        probability = self._possible(_shaped(pt.as_tensor_variable(theta), self.shape, "theta"))
        if self.mechanism.space.n is None:
            return _by_group(_shaped(pt.as_tensor_variable(size), self.shape[:-1], "size"), probability)
        if self.is_one:
            return _by_group(_shaped(pt.as_tensor_variable(shares), self.shape[:-1], "shares"), probability)
        return probability

    def _possible(self, theta: Any) -> Any:
        """The probabilities among the categories that are possible in each group."""
        if self.table is None or not self.table.cells.impossible:
            return theta
        possible = self.table.cells.possible
        left = pt.switch(possible, theta, 0.0)
        return left / pt.maximum(left.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)

    # --- the distribution ---------------------------------------------------------------------------------------------

    def logp(self, value: Any, rate: Any, _: Any) -> Any:
        """The log likelihood: of each group of a table, unless a total ties them, and otherwise one number."""
        possible = self._even() > 0.0
        rows = self.rows(rate)
        # Where a cell is impossible its rate is 0, whatever the model says: no gradient goes through that logarithm.
        log_rate = pt.switch(possible, pt.log(pt.switch(possible, rows, 1.0)), -np.inf)
        found = LogLikelihood(self)(self.rows(value), log_rate)[0]
        if self.mechanism.space.n is None:
            return check_parameters(found if self.grouped else found[0], rate >= 0.0, msg="size * theta >= 0")
        full = pt.isclose(rows.sum(axis=-1), 1.0) | ~possible.any(axis=-1)
        return check_parameters(found if self.grouped else found[0], rate >= 0.0, full, msg="theta >= 0, sum(theta) == 1")

    def check(self, raw: Counts) -> None:
        """Compute the likelihood once, so that what is too large to compute is refused before anything is sampled."""
        with np.errstate(divide="ignore"):
            log_rate = np.log(self._even())
        self.function(self.rows(raw), log_rate)

    def _even(self) -> Floats:
        """Probabilities that are equal for all cells that are possible; rates of 1."""
        possible = np.ones(self.mechanism.k) if self.table is None else self.table.cells.possible.astype(np.float64)
        rows: Floats = self.rows(possible)
        return rows if self.mechanism.space.n is None else rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)

    def random(self, rate: Floats, _: Floats, rng: np.random.Generator, size: Any = None) -> Counts:  # noqa: ARG002  PyMC gives a size
        """One outcome for probabilities or rates of this mechanism's shape; float Monte Carlo, never for release."""
        if rate.shape != self.shape:
            raise InvalidInputError(f"outcomes are drawn for parameters of shape {self.shape}, got {rate.shape}")
        counts = self._counts(np.asarray(rate, dtype=np.float64), rng)
        if self.table is None:
            return np.asarray(self.mechanism._simulate_raw(counts, 1, rng)[0])
        assert self.mechanism.noise is not None  # noqa: S101
        counts[self.table.cells.possible] += self.mechanism.noise.simulate(1, rng)[0]
        return counts

    def _counts(self, rate: Floats, rng: np.random.Generator) -> Counts:
        """True counts: Poisson, or multinomial with the public total, of each group or of all cells."""
        if self.mechanism.space.n is None:
            return rng.poisson(rate)
        sizes = None if self.table is None else self.table.sizes
        if sizes is None:
            return rng.multinomial(self.mechanism.space.n, (rate / rate.sum()).ravel()).reshape(rate.shape)
        return np.stack([rng.multinomial(n, row / max(row.sum(), 1e-300)) for n, row in zip(sizes, rate, strict=True)])


def _shaped(value: Any, shape: tuple[int, ...], name: str) -> Any:
    """The variable, refused if its shape is known and another; a single number does for all groups."""
    known = value.type.shape
    if name != "theta" and value.ndim == 0:
        return value
    if len(known) != len(shape) or any(a is not None and a != b for a, b in zip(known, shape, strict=True)):
        asked = str(shape) if shape else "a single number"
        raise InvalidInputError(f"{name} must have the shape {asked} for this release, got {tuple(known)}")
    return value


def _by_group(factor: Any, theta: Any) -> Any:
    return factor * theta if factor.ndim == 0 else factor[:, None] * theta


class LogLikelihood(Op):  # type: ignore[misc]
    """The log likelihoods of rows of noisy counts, and their derivatives, as an operation of PyTensor."""

    __props__ = ("outcomes",)

    def __init__(self, outcomes: Outcomes) -> None:
        self.outcomes = outcomes

    def make_node(self, raw: Any, log_rate: Any) -> Any:
        """Noisy counts and the logarithms of probabilities or rates, both a row a group."""
        log_rate = pt.as_tensor_variable(log_rate)
        return Apply(self, [pt.as_tensor_variable(raw), log_rate], [pt.dvector(), pt.dmatrix()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:  # noqa: ARG002
        """Compute value and gradient at once: what one costs, the other has nearly for nothing."""
        raw, log_rate = inputs
        value, slope = self.outcomes.function(raw, np.asarray(log_rate, dtype=np.float64))
        outputs[0][0], outputs[1][0] = np.asarray(value), np.asarray(slope)

    def connection_pattern(self, node: Any) -> list[list[bool]]:  # noqa: ARG002
        """The noisy counts are whole numbers."""
        return [[False, False], [True, True]]

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:  # noqa: ARG002
        """A log likelihood for each row, and a derivative for each probability or rate."""
        return [(shapes[1][0],), shapes[1]]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:  # noqa: ARG002, N802  the name that PyTensor calls
        """The gradient, which is the second output; that one has none."""
        if not isinstance(output_grads[1].type, DisconnectedType):
            raise NotImplementedError("discreet.pymc gives first derivatives and no second ones; sample with pm.NUTS or pm.HMC")
        return [DisconnectedType()(), output_grads[0][:, None] * outputs[1]]
