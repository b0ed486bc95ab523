"""Contrasts: what is known about the difference, the ratio and the odds ratio of two probabilities (docs/proofs/inference.md).

`independent_contrast` compares two probabilities that nothing ties together, such as those of two groups whose sizes are public, or of
which nothing is public. `coupled_contrast` compares two groups that a public total ties together. `category_contrasts` compares two
categories of one distribution.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import expit, log_expit, ndtri

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.betas.log_odds import BetaFamily, JointLaw, PanelLaws, tied_law
from discreet.betas.mixtures import BetaMixture
from discreet.betas.rows import Block
from discreet.counts.runs import Run, values_at
from discreet.counts.total_nodes import TotalsStretch, nodes_of, on_nodes, stretches
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.quantities import Contrast, Quantity
from discreet.numerics.roots import bracketed

_SMALL_PANEL_ERROR, _LARGEST_PANEL_ERROR = 1e-12, 1e-10
"""Errors of probabilities: below the first, panels are not made finer; above the second, the law is refused."""
_FINER_PANELS = (1.0, 2.0, 4.0)
"""Divisors of the lengths of panels, tried until they are good."""
_UNLIKELY = 1e-14
"""Probability of sizes and counts of a group that are left out."""
_NEWTON_ENDS = 1e-7
"""Distance from a quantile, on a normal scale, from which one more step of Newton's leaves rounding errors."""
_RULES_APART = 1e-13
"""Difference of two rules' probabilities up to which both are right."""
_EXPANDED = 4.0
"""Deviations from the mean within which quantiles are looked for where an expansion by cumulants says."""
_ROOT_OF_TURN = float(np.sqrt(2.0 * np.pi))
_SUDDEN = 1e-13
"""Below this a difference bends the boundary between panels that are long."""

Parameters = tuple[float, float]
Powers = tuple[tuple[int, int], tuple[int, int]]
"""Powers of θ₁, 1-θ₁, θ₂ and 1-θ₂."""
Move = Callable[[Floats, float], Floats]
"""Moves log-odds by a step."""
_Rule = tuple[Floats, Floats]
"""Nodes, and functions there times their weights, by node and function."""


# --- two groups -------------------------------------------------------------------------------------------------------


def independent_contrast(
    first: BetaMixture,
    second: BetaMixture,
    *,
    names: tuple[Hashable, Hashable] = ("first", "second"),
    priors: tuple[Parameters, Parameters] | None = None,
) -> Contrast:
    """Compare two probabilities that are independent given what was released.

    Args:
        first: the distribution of θ₁.
        second: the distribution of θ₂.
        names: what the two are called where the contrast is shown.
        priors: the Beta parameters of either with the least counts that are possible, if the mixtures leave out counts as too unlikely.
            They decide which means are infinite; without them the components do.
    """
    sides = [mixture.families() for mixture in (first, second)]
    least = priors or (_least(sides[0]), _least(sides[1]))
    law, error = resolved(lambda finer: JointLaw(first.log_odds(finer), second.log_odds(finer)))
    return _of_two_groups(names, law, min(1.0, error + first.omitted + second.omitted), least, partial(_product_moment, sides))


@dataclass(frozen=True, eq=False)
class CoupledGroup:
    """One category of one group, before the group's size is known: what its own noisy counts say.

    `block` has a row for each size u of the group and a column for each count x of the category, with the weight of both: the product
    of the factors of the category's cell at x and of the group's other cells at u - x, and the factor of the group's share at u. Under
    Beta(a + x, b + u - x) this is a law of the category's probability for each u.
    """

    block: Block
    a: float
    b: float
    chance: Floats | None = None
    """The probability of each size given everything, if it is known before the group is compared with others."""
    least: tuple[int, int] = (0, 0)
    """The least possible counts of the category and of the others, which decide with a and b which means are infinite."""

    @property
    def vanishing(self) -> Parameters:
        """The least Beta parameters that any possible count gives."""
        return self.a + self.least[0], self.b + self.least[1]

    @cached_property
    def few(self) -> "tuple[BetaFamily, list[TotalsStretch]]":
        """The group's laws on a few sizes, which are the same whatever other group it is compared with."""
        assert self.chance is not None  # noqa: S101
        return _on_few_sizes(self, self.chance)


def size_coupling(first: CoupledGroup, second: CoupledGroup, others: Run, total: int) -> Floats:
    """K(u₁, u₂) = W(total - u₁ - u₂), from the weights W of the total of all other groups: what a public total ties sizes with."""
    mine, other = first.block.totals, second.block.totals
    least, wide = total - int(mine[-1]) - int(other[-1]), int(other[-1] - other[0]) + 1
    left = sliding_window_view(values_at(others, least, int(mine[-1] - mine[0]) + wide)[::-1], wide)
    return left if left.shape == (len(mine), len(other)) else left[np.ix_(mine - mine[0], other - other[0])]


def coupled_contrast(
    first: CoupledGroup,
    second: CoupledGroup,
    coupling: Floats,
    *,
    names: tuple[Hashable, Hashable] = ("first", "second"),
    omitted: float = 0.0,
) -> Contrast:
    """Compare two groups whose sizes are tied together: p(θ₁, θ₂) ∝ Σ K(u₁, u₂) f₁(θ₁; u₁) f₂(θ₂; u₂).

    Args:
        first: the weights of the first group's sizes and counts.
        second: those of the second group.
        coupling: K, a row for each size of the first group and a column for each size of the second.
        names: what the two are called where the contrast is shown.
        omitted: an upper bound on the probability of sizes and counts that were left out.
    """
    tied = np.asarray(coupling, dtype=np.float64)
    if tied.shape != (len(first.block.totals), len(second.block.totals)) or not (tied.min() >= 0.0 and tied.max() < np.inf):
        raise InvalidInputError("coupling must have a finite number of at least 0 for every pair of the two groups' sizes")
    if tied.size > limits.CONTRAST_PAIRS:
        raise TooLargeError(
            f"a public total ties {tied.size:,} pairs of sizes of these two groups, and contrasts are exact up to "
            f"{limits.CONTRAST_PAIRS:,}: compare draws instead"
        )
    masses = [group.block.weights.sum(axis=1) for group in (first, second)]
    joint = masses[0][:, None] * tied * masses[1]
    mass = float(joint.sum())
    if not mass > 0.0:
        raise InvalidInputError("at least one pair of sizes must have a weight above 0")
    joint /= mass
    (mine, rows), (other, columns) = (
        _on_few_sizes(group, joint.sum(axis=axis)) if group.chance is None else group.few for group, axis in ((first, 1), (second, 0))
    )
    joint = on_nodes(on_nodes(joint, rows).T, columns).T
    law, error = resolved(lambda finer: tied_law(mine.log_odds(finer), joint, other.log_odds(finer)))
    error += omitted + 2.0 * _UNLIKELY + sum(part.error for part in (*rows, *columns))
    return _of_two_groups(names, law, min(1.0, error), (first.vanishing, second.vanishing), partial(_tied_moment, mine, joint, other))


def _on_few_sizes(group: CoupledGroup, chance: Floats) -> tuple[BetaFamily, list[TotalsStretch]]:
    """A group's laws given its size for a few sizes that stand for all, whose probabilities are given; without counts that are unlikely.

    A law is smooth in the size where its mean, its square and that of 1/(1 + count) are.
    """
    block = group.block
    mass = block.weights.sum(axis=1, keepdims=True)
    law = block.weights / np.where(mass > 0.0, mass, 1.0)
    x = block.counts.astype(np.float64)
    of_count = np.einsum("u,ux->x", chance, law)
    centre = float(of_count @ x)
    deviation = max(float(np.sqrt(of_count @ (x - centre) ** 2)), 0.5)
    y = (x - centre) / deviation
    probes = np.einsum("ux,kx->ku", law, np.stack([y, y * y, 1.0 / (1.0 + x)]))
    parts = stretches(chance, probes) if (np.diff(block.totals) == 1).all() else []
    if not parts or len(nodes_of(parts)) == len(law):
        parts = [TotalsStretch(slice(None), np.arange(len(law)), np.eye(len(law)), 0.0)]
    nodes = nodes_of(parts)
    likely = law[nodes] * on_nodes(chance, parts)[:, None] > _UNLIKELY / law[nodes].size
    return Block(block.first, block.totals[nodes], np.where(likely, law[nodes], 0.0)).family(group.a, group.b), parts


def resolved(build: Callable[[float], JointLaw]) -> tuple[JointLaw, float]:
    """The law on panels that are fine enough, and about how much probability it is off."""
    for finer in _FINER_PANELS:
        law = build(finer)
        error = law.roughness + abs(law.mass - 1.0)
        if error <= _SMALL_PANEL_ERROR or (finer == _FINER_PANELS[-1] and error <= _LARGEST_PANEL_ERROR):
            return law, error
    raise TooLargeError("floats do not hold this contrast to ten digits, as with very many records: compare draws instead")


def _of_two_groups(
    names: tuple[Hashable, Hashable],
    law: JointLaw,
    error: float,
    priors: tuple[Parameters, Parameters],
    moment: Callable[[Powers], float],
) -> Contrast:
    (a1, b1), (a2, b2) = (law.first.edges[[0, -1]], law.second.edges[[0, -1]])
    odds = float(a1 - b2), float(b1 - a2)
    logs = float(log_expit(a1) - log_expit(b2)), float(log_expit(b1) - log_expit(a2))
    plain_ends = float(expit(a1) - expit(b2)), float(expit(b1) - expit(a2))

    # Functions with their first arguments, and none that is written here, so that a contrast can be pickled.
    ratio_moments = partial(raw_moments, partial(_ratio_moment, moment), priors[1][0])
    odds_moments = partial(raw_moments, partial(_odds_moment, moment), min(priors[0][1], priors[1][0]))
    return Contrast(
        names,
        _moved("difference", law, shifted, plain_ends, partial(_difference_moments, law)),
        _moved("ratio", law, scaled, logs, ratio_moments),
        _moved("odds ratio", law, moved, odds, odds_moments),
        _larger(law),
        error,
        near=partial(_near, law, [(shifted, plain_ends), (scaled, logs), (moved, odds)]),
    )


def _moved(name: str, law: JointLaw, move: Move, ends: tuple[float, float], moments: Callable[[], tuple[float, float]]) -> Quantity:
    """The number by which y₂ is moved to y₁; of a ratio its logarithm."""
    return Quantity(name, partial(_below, law, move), ends, moments, move is not shifted, partial(_near, law, [(move, ends)]))


def _below(law: JointLaw, move: Move, steps: Floats) -> Floats:
    """The probabilities that y₁ is at most y₂, moved by each step; moving by -t undoes moving by t."""
    return law.probabilities([(partial(_moved_by, move, t), partial(_moved_by, move, -t), _kinks(move, t)) for t in steps.tolist()])


def _moved_by(move: Move, t: float, y: Floats) -> Floats:
    return move(y, t)


def _kinks(move: Move, t: float) -> Sequence[float]:
    if move is not shifted or not 0.0 < abs(t) < _SUDDEN:
        return ()
    around = np.log(abs(t)) + np.arange(-40.0, 41.0)  # the boundary bends where θ₂ is about as small as t
    found: list[float] = np.concatenate([around, -around]).tolist()
    return found


def moved(y: Floats, log_factor: float) -> Floats:
    """Log-odds after the odds are multiplied by e^{log_factor}."""
    return y + log_factor


def scaled(y: Floats, log_factor: float) -> Floats:
    """Log-odds after θ is multiplied by e^{log_factor}: infinite where that is 1 or more."""
    log_product = log_factor + log_expit(y)
    near = abs(log_factor) <= 1.0  # then 1 - tθ = (1 - θ) - (t - 1)θ keeps what 1 - θ has
    rest = expit(-y) - np.expm1(log_factor) * expit(y) if near else -np.expm1(np.minimum(log_product, 0.0))
    return np.where(rest > 0.0, log_product - np.log(np.where(rest > 0.0, rest, 1.0)), np.inf) if log_factor else y


def shifted(y: Floats, step: float) -> Floats:
    """Log-odds after θ is moved by `step`: infinite where that is outside of [0, 1]."""
    if step == 0.0:
        return y
    mine, rest = expit(y) + step, expit(-y) - step
    value = np.log(np.where(mine > 0.0, mine, 1.0)) - np.log(np.where(rest > 0.0, rest, 1.0))
    return np.where(mine <= 0.0, -np.inf, np.where(rest <= 0.0, np.inf, value))


_ADDING_SCALES: dict[Move, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    moved: (np.positive, np.ones_like),
    scaled: (log_expit, lambda y: 1.0 / expit(-y)),
    shifted: (expit, lambda y: 1.0 / (expit(y) * expit(-y))),
}
"""The scale on which each way to move log-odds adds, and the derivative of log-odds on that scale."""


def _near(law: JointLaw, moves: Sequence[tuple[Move, tuple[float, float]]], levels: Floats) -> tuple[Floats, Floats]:
    """Places close to the quantiles of some ways to move log-odds, which lie between these ends, and the probabilities there.

    Places come from sums over the nodes of the narrower law. The other law is smooth on the narrower one's panels as a rule, and then
    these are the quantiles to rounding errors. The probabilities there are by a rule on other panels: where that finds the levels too,
    both are right. Both results have a row for each way and a column for each level.
    """
    places, found = np.empty((2, len(moves), len(levels)))
    known = [_cumulants(law, move) for move, _ in moves]
    for sign in (1.0, -1.0):
        chosen = [i for i, (which, _) in enumerate(known) if which == sign]
        if not chosen:
            continue
        start = sign * np.concatenate([_expanded(known[i][1], ndtri(levels)) for i in chosen])
        ways = [moves[i][0] for i in chosen for _ in levels]
        low, high = np.sort([sign * np.array(moves[i][1]) for i in chosen for _ in levels]).T
        wide, coarse, fine = _rules(law, sign)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = partial(_newton, coarse, wide, ways, np.tile(sign * ndtri(levels), len(chosen)))
            at = bracketed(step, np.clip(start, low, high), low, high, _NEWTON_ENDS)
            below = _summed(fine, wide, ways, at)
        places[chosen], found[chosen] = (
            (sign * at).reshape(-1, len(levels)),
            (below if sign > 0.0 else 1.0 - below).reshape(-1, len(levels)),
        )
    return places, found


def _cumulants(law: JointLaw, move: Move) -> tuple[float, Floats]:
    """Which of the two laws is narrower on the scale on which a way to move adds, -1 for the first; and four cumulants of the sum there.

    The last two are those of independent laws. P(y₁ <= y₂ moved by t) is 1 - P(y₂ <= y₁ moved by -t).
    """
    if move in law.kept:
        return cast(tuple[float, Floats], law.kept[move])
    found = []
    for one, other in ((law.first, law.second), (law.second, law.first)):
        x, weights = _ADDING_SCALES[move][0](one.nodes), other.masses / law.mass
        mean = float(one.integral(x) @ weights)
        square = (x - mean) ** 2
        second, third, fourth = one.integral(np.stack([square, square * (x - mean), square**2])) @ weights
        found.append(np.array([mean, second, third, fourth - 3.0 * second**2]))
    known = -1.0 if found[0][1] < found[1][1] else 1.0, found[0] + found[1] * np.array([-1.0, 1.0, -1.0, 1.0])
    law.kept[move] = known
    return known


def _expanded(cumulants: Floats, z: Floats) -> Floats:
    """Places of a normal variable's z in a law with these cumulants, by Cornish and Fisher's expansion; far out without it."""
    deviation = np.sqrt(cumulants[1])
    skew, excess = cumulants[2] / deviation**3, cumulants[3] / deviation**4
    more = skew * (z**2 - 1.0) / 6.0 + excess * (z**3 - 3.0 * z) / 24.0 - skew**2 * (2.0 * z**3 - 5.0 * z) / 36.0
    return np.asarray(cumulants[0] + deviation * np.where(np.abs(z) < _EXPANDED, z + more, z))


def _newton(rule: _Rule, wide: PanelLaws, ways: Sequence[Move], target: Floats, open_: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
    """A step of Newton's method on a normal scale, for some of all places."""
    nodes, weights = rule
    chosen = [ways[i] for i in open_.tolist()]
    y = np.stack([move(nodes, t) for move, t in zip(chosen, at.tolist(), strict=True)])
    below, density = (part.reshape(*y.shape, -1) for part in wide.below_and_at(y.ravel()))
    probit = ndtri(np.clip(np.einsum("tnr,nr->t", below, weights), 0.0, 1.0))
    density = np.einsum("tnr,nr->tn", density, weights)
    slope = np.stack([_ADDING_SCALES[move][1](each) for move, each in zip(chosen, y, strict=True)])
    excess = probit - target[open_]
    step = excess * np.exp(-0.5 * probit**2) / (_ROOT_OF_TURN * np.where(density > 0.0, density * slope, 0.0).sum(axis=1))
    return excess, at - step, np.abs(excess) < _NEWTON_ENDS


def _summed(rule: _Rule, wide: PanelLaws, ways: Sequence[Move], at: Floats) -> Floats:
    """The probabilities below moved places, by a rule for the narrower law."""
    nodes, weights = rule
    values = wide.below(np.concatenate([move(nodes, t) for move, t in zip(ways, at.tolist(), strict=True)]))
    return np.asarray(np.einsum("tnr,nr->t", values.reshape(len(at), *weights.shape), weights))


def _larger(law: JointLaw) -> float:
    """P(y₁ > y₂), by two rules where these agree."""
    sign, _ = _cumulants(law, moved)
    wide, *rules = _rules(law, sign)
    one, other = (float(_summed(rule, wide, [moved], np.zeros(1))[0]) for rule in rules)
    below = float(_below(law, moved, np.zeros(1))[0]) if not abs(one - other) <= _RULES_APART else other if sign > 0.0 else 1.0 - other
    return min(max(1.0 - below, 0.0), 1.0)


def _rules(law: JointLaw, sign: float) -> tuple[PanelLaws, _Rule, _Rule]:
    """The wider law, and two rules on panels of the narrower one: nodes that matter, and functions times weights."""
    if sign not in law.kept:
        wide, narrow = (law.first, law.second) if sign > 0.0 else (law.second, law.first)
        rules = []
        for nodes, weights in (narrow.rule, narrow.staggered):
            held = np.einsum("nr,r->n", np.abs(weights), wide.sizes) > _UNLIKELY / len(weights) * law.mass
            rules.append((nodes[held], weights[held] / law.mass))
        law.kept[sign] = wide, *rules
    return cast(tuple[PanelLaws, _Rule, _Rule], law.kept[sign])


# --- moments ----------------------------------------------------------------------------------------------------------


def raw_moments(moment: Callable[[int], float], least: float) -> tuple[float, float]:
    """Mean and standard deviation of a ratio from its first two moments; `least` is the power with which the denominator can vanish.

    If the denominator is near 0 as a Beta variable with the parameter `least` is, its m-th negative moment is finite if least > m.
    """
    if least <= 1.0:
        return np.inf, np.inf
    mean = moment(1)
    return mean, float(np.sqrt(max(moment(2) - mean**2, 0.0))) if least > 2.0 else np.inf


def _difference_moments(law: JointLaw) -> tuple[float, float]:
    """Compute mean and deviation of a difference from both means and products of distances from them, small where the law is narrow."""
    theta = expit(law.first.nodes), expit(law.second.nodes)
    means = law.mean(first=theta[0]), law.mean(second=theta[1])
    away = theta[0] - means[0], theta[1] - means[1]
    variance = law.mean(first=away[0] ** 2) + law.mean(second=away[1] ** 2) - 2.0 * law.mean(away[0], away[1])
    return means[0] - means[1], float(np.sqrt(max(variance, 0.0)))


def vanishing(prior: Parameters, first: Counts, chosen: Sequence[int]) -> Parameters:
    """The least Beta parameters of the chosen categories' probability, given the least possible count of every category."""
    inside = int(first[list(chosen)].sum())
    return prior[0] + inside, prior[1] + int(first.sum()) - inside


def _least(families: Sequence[BetaFamily]) -> Parameters:
    found = np.min([family.least for family in families], axis=0)
    return float(found[0]), float(found[1])


def _ratio_moment(moment: Callable[[Powers], float], m: int) -> float:
    return moment(((m, 0), (-m, 0)))


def _odds_moment(moment: Callable[[Powers], float], m: int) -> float:
    return moment(((m, -m), (-m, m)))


def _product_moment(sides: Sequence[Sequence[BetaFamily]], powers: Powers) -> float:
    """A moment of two probabilities that are independent."""
    mine, other = (_moment(families, *p) for families, p in zip(sides, powers, strict=True))
    return mine * other


def _tied_moment(first: BetaFamily, joint: Floats, second: BetaFamily, powers: Powers) -> float:
    """A moment of two probabilities whose sizes are tied, given the joint law of these."""
    return float(first.moments(*powers[0]) @ joint @ second.moments(*powers[1]))


def _moment(families: Sequence[BetaFamily], i: int, j: int) -> float:
    total = sum(float(family.weights.sum()) for family in families)
    return sum(float(family.moments(i, j).sum()) for family in families) / total
