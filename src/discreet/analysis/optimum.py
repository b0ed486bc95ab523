"""The best any ε-differentially private mechanism could do: a linear program over all of them (docs/research/accuracy.md).

A mechanism that reports counts of total n, as the papers' candidates are, or of at most n_max records where n is private, is a table
P(r | x), one row of probabilities for each dataset.
Privacy says `P(r|x) <= e^ε P(r|x')` for neighbours and the error is linear in P, so the least mean or worst-case error is a linear
program; HiGHS solves it. What it returns is a yardstick and not a mechanism to release with: some cells are exactly 0 beside others that
are not.
"""

from dataclasses import dataclass
from math import exp
from typing import Any, Literal

import numpy as np
import scipy.sparse as sparse
from scipy.optimize import linprog
from scipy.special import logsumexp

from discreet import limits
from discreet.analysis.dataset_errors import Distance, Errors
from discreet.arrays import Counts, Floats
from discreet.errors import InternalError, InvalidInputError, TooLargeError
from discreet.model.datasets import Relation, Space, candidate_count, check_outcomes, simplex_points
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger
from discreet.model.size_priors import size_prior_of
from discreet.validation import Number, check_positive, check_records

TOLERANCE = 1e-10
"""Feasibility tolerance of the solver, for the constraints and for their duals."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The least error that any ε-DP mechanism can have, and a table of probabilities that has it.

    The table is a yardstick and nothing to release with: it comes from a floating-point solver and keeps ε up to its tolerance only.
    """

    value: float
    objective: Literal["mean", "worst"]
    datasets: Counts
    """The datasets, one a row, which are the candidates as well."""
    table: Floats
    """The probability of every candidate (column) for every dataset (row)."""

    def __float__(self) -> float:
        return self.value


def neighbouring_pairs(datasets: Counts, relation: Relation) -> Counts:
    """Indices of all ordered pairs of neighbours among these datasets."""
    points = [tuple(point) for point in datasets.tolist()]
    where = {point: i for i, point in enumerate(points)}
    pairs = [(i, where[other]) for i, point in enumerate(points) for other in relation.neighbours(point) if other in where]
    return np.array(pairs, dtype=np.int64)


def constraint_count(n: int, k: int) -> int:
    """Privacy constraints of the linear program for a public n: one for each ordered pair of neighbours and each candidate."""
    return k * (k - 1) * candidate_count(n - 1, k) * candidate_count(n, k)


def _constraint_count_up_to(n_max: int, k: int) -> int:
    """Return the constraints for a private n: any dataset below n_max records may gain a record of any category, and lose it again."""
    return 2 * k * candidate_count(n_max - 1, k + 1) * candidate_count(n_max, k + 1)


def optimal(
    prior: Dirichlet | Beta,
    n: int | None,
    epsilon: Number,
    objective: Literal["mean", "worst"] = "mean",
    *,
    distance: Distance = hellinger,
    n_max: int | None = None,
    size_prior: Any = "flat",
) -> Optimum:
    """The least mean error over the prior predictive, or worst-case mean error, of any ε-DP mechanism that reports counts.

    Args:
        prior: The prior of the categories' probabilities.
        n: The public number of records: neighbours replace one, and reports have total n (those of `LaplaceZhang` do not always). None if
            it is private: neighbours add or remove one.
        epsilon: At most 20.
        objective: The mean over datasets, or the worst of them.
        distance: From the posterior of the true counts to that of the reported ones.
        n_max: With a private n, datasets and reports have 0 to n_max records.
        size_prior: With a private n, how likely 0, 1, ..., n_max records are, as `Release.noise_aware` takes it; equally likely by default.

    Returns:
        The error, right to a relative 1e-7 or so, and the table that has it. Raises TooLargeError where the program is too large: with two
        categories beyond a public n of a hundred or a private one of a dozen, with three beyond n of ten or of three.
    """
    level = check_positive(epsilon, "epsilon")
    if objective not in ("mean", "worst"):
        raise InvalidInputError(f'objective must be "mean" or "worst", got {objective!r}')
    if level > limits.PROGRAM_EPSILON:
        raise TooLargeError(f"the least error is not computed for epsilon above {limits.PROGRAM_EPSILON}: it is too near 0 for the solver")
    space = Space(prior.k, None if n is None else check_records(n))
    datasets, log_weight = _of_total(prior, space, n_max, size_prior) if n is not None else _of_any_total(prior, n_max, size_prior)
    cost = np.stack([Errors(prior, int(x.sum()), distance, tables=n is not None)(x, datasets) for x in datasets])
    if not np.isfinite(cost).all():
        raise InvalidInputError("distance must be finite between all candidates; this one is not")
    table, value = _solve(
        cost, neighbouring_pairs(datasets, space.relation), float(level), np.exp(log_weight) if objective == "mean" else None
    )
    return Optimum(value, objective, datasets, table)


def _of_total(prior: Dirichlet | Beta, space: Space, n_max: int | None, size_prior: Any) -> tuple[Counts, Floats]:
    """The datasets of a public total and their log probabilities."""
    if n_max is not None or not (isinstance(size_prior, str) and size_prior == "flat"):
        raise InvalidInputError("n_max and size_prior are for a private n; here n is public")
    _check_program(space.size if prior.k <= limits.PROGRAM_CANDIDATES else prior.k, constraint_count(space.total, prior.k))
    points = space.points()
    return points, prior.predictive(space.total).logpmf(points)


def _of_any_total(prior: Dirichlet | Beta, n_max: int | None, size_prior: Any) -> tuple[Counts, Floats]:
    """The datasets of at most n_max records and their log probabilities."""
    if n_max is None:
        raise InvalidInputError("with a private n, say up to how many records the datasets may have: n_max=")
    most = check_records(n_max, "n_max")
    size = candidate_count(most, prior.k + 1) if prior.k <= limits.PROGRAM_CANDIDATES else prior.k
    _check_program(size, _constraint_count_up_to(most, prior.k))
    points = simplex_points(most, prior.k + 1)[:, :-1]
    totals = points.sum(axis=-1)
    log_size = size_prior_of(size_prior)(np.arange(most + 1.0))
    log_size = log_size - logsumexp(log_size)
    log_weight = log_size[totals]
    for total in range(1, most + 1):
        log_weight[totals == total] += prior.predictive(total).logpmf(points[totals == total])
    return points, log_weight


def _check_program(candidates: int, constraints: int) -> None:
    """Refuse a linear program that would take long."""
    check_outcomes(candidates, "the linear program", limits.PROGRAM_CANDIDATES)
    if constraints > limits.PROGRAM_CONSTRAINTS:
        raise TooLargeError(
            f"the linear program would have {constraints:,} constraints; at most {limits.PROGRAM_CONSTRAINTS:,} are solved. "
            "Use fewer records or categories"
        )


def _solve(cost: Floats, pairs: Counts, epsilon: float, weight: Floats | None) -> tuple[Floats, float]:
    """The best table and its error; without weights, the worst row's error is minimised through one more variable that bounds all."""
    size, rows = len(cost), len(pairs)
    place = np.arange(rows)
    # Both sides of P(r|x) <= e^ε P(r|x') are scaled by e^{-ε/2}, so that coefficients stay near 1.
    ratio = sparse.coo_array(
        (np.repeat([exp(-epsilon / 2.0), -exp(epsilon / 2.0)], rows), (np.tile(place, 2), pairs.T.ravel())), shape=(rows, size)
    )
    privacy: Any = sparse.kron(ratio, sparse.eye_array(size), format="csr")
    total: Any = sparse.kron(sparse.eye_array(size), np.ones((1, size)), format="csr")
    if weight is not None:
        objective = (weight[:, None] * cost).ravel()
    else:
        objective = np.append(np.zeros(size * size), 1.0)
        each: Any = sparse.block_diag([row[None, :] for row in cost], format="csr")
        privacy = sparse.block_array([[privacy, None], [each, sparse.csr_array(-np.ones((size, 1)))]], format="csr")
        total = sparse.hstack([total, sparse.csr_array((size, 1))], format="csr")
    solve: Any = linprog  # its stubs know no sparse matrices
    result = solve(
        objective,
        A_ub=privacy,
        b_ub=np.zeros(privacy.shape[0]),
        A_eq=total,
        b_eq=np.ones(size),
        method="highs-ipm",
        options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
    )
    if result.status != 0:
        raise InternalError(f"the solver did not finish the linear program: {result.message}")
    table = np.maximum(result.x[: size * size].reshape(size, size), 0.0)
    return table / table.sum(axis=1, keepdims=True), float(result.fun)
