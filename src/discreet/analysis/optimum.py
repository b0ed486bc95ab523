"""The best any ε-differentially private mechanism could do: a linear program over all of them (docs/accuracy.md).

A mechanism that reports counts of total n, as the papers' candidates are, is a table P(r | x), one row of probabilities for each dataset.
Privacy says `P(r|x) <= e^ε P(r|x')` for neighbours and the error is linear in P, so the least mean or worst-case error is a linear
program; HiGHS solves it. What it returns is a yardstick and not a mechanism to release with: some cells are exactly 0 beside others that
are not.
"""

from dataclasses import dataclass
from math import exp
from typing import Any, Literal

import numpy as np
import scipy.sparse as sparse
from attrs import define, field
from scipy.optimize import linprog

from discreet import limits
from discreet.analysis.dataset_errors import Distance, Errors
from discreet.arrays import Counts, Floats
from discreet.errors import InternalError, InvalidInputError, TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import Law
from discreet.model.datasets import Space, candidate_count, check_outcomes
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger
from discreet.record.guarantee import NO_GUARANTEE, Guarantee
from discreet.validation import Number, check_positive, check_records

TOLERANCE = 1e-10
"""Feasibility tolerance of the solver, for the constraints and for their duals."""


@define(frozen=True, slots=False, repr=False)
class Yardstick(Mechanism):
    """**No guarantee**: the solution of the linear program, to compare with. It has no exact sampler and refuses to release."""

    table: Floats = field(eq=False)
    """Probabilities of candidates (columns) for datasets (rows), both in lexicographic order."""

    @property
    def claim(self) -> Guarantee:
        return NO_GUARANTEE

    def raw_law(self, counts: Counts) -> Law:
        points = self.space.points()
        with np.errstate(divide="ignore"):
            return Law(points, np.log(self.table[np.nonzero((points == counts).all(axis=-1))[0][0]]))


@dataclass(frozen=True)
class Optimum:
    """The least error any ε-DP mechanism reporting counts of total n can have, and a mechanism that has it."""

    value: float
    objective: Literal["mean", "worst"]
    mechanism: Yardstick

    def __float__(self) -> float:
        return self.value


def neighbouring_pairs(space: Space) -> Counts:
    """Indices of all ordered pairs of neighbouring datasets, in the order of the space's points."""
    points = [tuple(point) for point in space.points().tolist()]
    where = {point: i for i, point in enumerate(points)}
    pairs = [(i, where[other]) for i, point in enumerate(points) for other in space.relation.neighbours(point)]
    return np.array(pairs, dtype=np.int64)


def constraint_count(n: int, k: int) -> int:
    """Privacy constraints of the linear program: one for each ordered pair of neighbours and each candidate."""
    return k * (k - 1) * candidate_count(n - 1, k) * candidate_count(n, k)


def optimal(
    prior: Dirichlet | Beta,
    n: int,
    epsilon: Number,
    objective: Literal["mean", "worst"] = "mean",
    *,
    distance: Distance = hellinger,
) -> Optimum:
    """The least mean error over the prior predictive, or worst-case mean error, of any ε-DP mechanism that reports counts of total n.

    Reports with another total, such as those of `LaplaceZhang`, are outside the program. The value is right to a relative 1e-7 or so. Two
    categories are solved to n of a hundred or more, three to n of ten or more, and ε to 20; TooLargeError is raised beyond.
    """
    records, level = check_records(n), check_positive(epsilon, "epsilon")
    if objective not in ("mean", "worst"):
        raise InvalidInputError(f'objective must be "mean" or "worst", got {objective!r}')
    space = Space(prior.k, records)
    check_outcomes(space.size, "the linear program", limits.PROGRAM_CANDIDATES)
    constraints = constraint_count(records, prior.k)
    if constraints > limits.PROGRAM_CONSTRAINTS:
        raise TooLargeError(
            f"the linear program would have {constraints:,} constraints; at most {limits.PROGRAM_CONSTRAINTS:,} are solved. "
            "Use fewer records or categories"
        )
    if level > limits.PROGRAM_EPSILON:
        raise TooLargeError(f"the least error is not computed for epsilon above {limits.PROGRAM_EPSILON}: it is too near 0 for the solver")
    points = space.points()
    errors = Errors(prior, records, distance, tables=True)
    cost = np.stack([errors(counts, points) for counts in points])
    if not np.isfinite(cost).all():
        raise InvalidInputError("distance must be finite between all candidates; this one is not")
    weight = prior.predictive(records).pmf(points) if objective == "mean" else None
    table, value = _solve(cost, neighbouring_pairs(space), float(level), weight)
    return Optimum(value, objective, Yardstick(prior, records, level, table=table))


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
