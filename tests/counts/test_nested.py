"""Trees of any depth. Oracle: `count_tree`, which adds up all counts, and enumeration."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.counts.factors import Count, Noisy, Split
from discreet.counts.tree import counts_of_split
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.lattice import GeometricNoise
from discreet.model.size_priors import SizePrior, known_size, size_prior_of, tabled
from tests.counts import count_tree as plain
from tests.counts.count_tree import PlainCount, PlainLaw, PlainSplit, brute
from tests.counts.nested import NestedCounts, full, nested_counts
from tests.counts.observations import AtMost, gaussian
from tests.support import ends_at

CLOSE = 1e-12


class Tree:
    """A tree for the engine and the same for the oracle; `wrong` makes the engine's noise another."""

    def __init__(self, wrong: float = 1.0) -> None:
        self.wrong = wrong
        self.same: dict[Count, PlainCount] = {}

    def geometric(self, z: int, slope: float, *splits: "tuple[list[Count], list[float]]") -> Count:
        """A count with geometric noise."""
        return self._count(Noisy(GeometricNoise(1, self.wrong * slope), z), plain.geometric(z, slope), splits)

    def gaussian(self, z: int, sigma: float, *splits: "tuple[list[Count], list[float]]") -> Count:
        """A count with Gaussian noise."""
        noise = gaussian(self.wrong * sigma)
        return self._count(Noisy(noise, z, noise.curvature), plain.gaussian(z, sigma), splits)

    def at_most(self, z: int, sigma: float) -> Count:
        """A suppressed count."""
        noise = gaussian(self.wrong * sigma)
        return self._count(AtMost(noise, z, noise.curvature), plain.at_most(z, sigma), ())

    def unseen(self, *splits: "tuple[list[Count], list[float]]") -> Count:
        """A count that was not observed itself."""
        return self._count(None, None, splits)

    def _count(self, observation: Noisy | AtMost | None, log_factor: plain.LogFactor | None, splits: tuple[()] | tuple) -> Count:  # type: ignore[type-arg]
        mine = [Split(parts, np.array(a)) for parts, a in splits]
        theirs = [PlainSplit([self.same[part] for part in split.parts], split.a) for split in mine]
        found = Count([] if observation is None else [observation], mine)
        self.same[found] = PlainCount([] if log_factor is None else [log_factor], theirs)
        return found


def _table(tree: Tree) -> Count:
    groups = [tree.unseen(([tree.geometric(z, 0.5) for z in row], [1.0, 2.0])) for row in ((2, 1), (0, 4))]
    return tree.unseen((groups, [1.0, 1.0]))


def _questions(tree: Tree) -> Count:
    rows = (((2, 1), (3, -1)), ((0, 3), (1, 1)))
    groups = [
        tree.unseen(([tree.geometric(z, 0.5) for z in first], [1.0, 2.0]), ([tree.geometric(z, 0.9) for z in second], [0.5, 0.5]))
        for first, second in rows
    ]
    return tree.unseen((groups, [1.0, 1.5]))


def _one_group(tree: Tree) -> Count:
    first, second = ([tree.geometric(z, 0.5) for z in (2, 1)], [1.0, 2.0]), ([tree.geometric(z, 0.9) for z in (3, -1)], [0.5, 0.5])
    return tree.unseen(first, second)


def _ordered(tree: Tree) -> Count:
    low = tree.geometric(2, 0.4, ([tree.geometric(z, 0.4) for z in (1, 2)], [1.3, 0.8]))
    high = tree.geometric(4, 0.4, ([tree.geometric(z, 0.4) for z in (0, 3)], [1.3, 0.8]))
    return tree.geometric(7, 0.4, ([low, high], [2.1, 2.1]))


def _mixed(tree: Tree) -> Count:
    inner = tree.gaussian(5, 1.2, ([tree.at_most(1, 1.1), tree.gaussian(3, 0.8)], [0.01, 50.0]))
    return tree.unseen(([inner, tree.geometric(2, 1.5), tree.geometric(-3, 0.9)], [3.0, 1e-3, 1.0]))


GAPS = np.array([0.0, -np.inf, 1.0, -np.inf, -np.inf, 3.0, -2.0, 0.5, -np.inf, -1.0])
Model = tuple[Callable[[Tree], Count], SizePrior, plain.LogFactor, int]
MODELS: dict[str, Model] = {
    "table, total public": (_table, known_size(6), plain.public(6), 6),
    "two questions by two groups, total public": (_questions, known_size(5), plain.public(5), 5),
    "two questions of one group, nothing public": (_one_group, size_prior_of("flat"), plain.flat, 75),
    "noise at every level, nothing public": (_ordered, size_prior_of("flat"), plain.flat, 75),
    "noise at every level, total public": (_ordered, known_size(9), plain.public(9), 9),
    "all kinds of noise": (_mixed, size_prior_of("flat"), plain.flat, 60),
    "gaps in the weight of the root": (_mixed, tabled(0, GAPS, 0.0), lambda u: GAPS[u.astype(int)], 9),
}


def _difference(name: str, wrong: float = 1.0) -> tuple[float, NestedCounts]:
    make, root, log_root, top = MODELS[name]
    tree = Tree(wrong)
    whole = make(tree)
    found, exact = nested_counts(whole, root), PlainLaw(tree.same[whole], log_root, top)
    worst = [abs(found.log_evidence - exact.log_evidence)]
    for count, same in tree.same.items():
        run = found.law(count)
        worst.append(float(np.abs(full(run, top) - exact.law(same)).max()))
        for split, theirs in zip(count.splits, same.splits, strict=True):
            for i in range(len(split.parts)):
                low, first, joint = found.joint(count, split, [i])
                pairs = np.zeros((top + 1 + joint.shape[0], top + 1 + joint.shape[1]))
                pairs[low : low + joint.shape[0], first : first + joint.shape[1]] = joint
                worst.append(float(np.abs(pairs[: top + 1, : top + 1] - exact.pair(same, theirs, i)).max()))
    return max(worst), found


@pytest.mark.parametrize("name", MODELS)
def test_laws_pairs_and_evidence_are_those_of_the_oracle(name: str) -> None:
    difference, found = _difference(name)
    assert difference < CLOSE
    assert found.omitted < 1e-15


@pytest.mark.parametrize("name", MODELS)
def test_noise_that_is_a_tenth_off_is_told(name: str) -> None:
    assert _difference(name, 1.1)[0] > 1e-4


def test_the_oracle_agrees_with_enumeration() -> None:
    for name in ("table, total public", "two questions by two groups, total public"):
        make, _, log_root, top = MODELS[name]
        tree = Tree()
        whole = tree.same[make(tree)]
        exact, (laws, evidence) = PlainLaw(whole, log_root, top), brute(whole, log_root, top)
        assert abs(exact.log_evidence - evidence) < CLOSE
        for count, law in laws.items():
            np.testing.assert_allclose(exact.law(count), law, atol=CLOSE)


def _splits() -> Iterator[tuple[Split, SizePrior]]:
    rng = np.random.default_rng(3)
    for root in (known_size(400), size_prior_of("flat"), size_prior_of("poisson:300")):
        for slope in (0.1, 1.0):
            a = rng.choice([0.01, 0.5, 1.0, 20.0], 3)
            yield Split([Count([Noisy(GeometricNoise(1, slope), int(z))]) for z in rng.integers(20, 200, 3)], a), root


def test_the_engine_for_one_split_says_the_same() -> None:
    for split, root in _splits():
        one, tree = counts_of_split(split, root), nested_counts(Count([], [split]), root)
        assert abs(one.log_evidence - tree.log_evidence) < 1e-10
        for i, part in enumerate(split.parts):
            left, right = one.marginal(i), tree.law(part)
            top = max(left.high, right.high)
            np.testing.assert_allclose(full(left, top), full(right, top), atol=1e-11)


def test_what_windows_leave_out_is_at_most_the_bound() -> None:
    """Windows made far too short: the evidence that they lose is known from the full law."""
    make, root, _, _ = MODELS["noise at every level, nothing public"]
    whole = make(Tree())
    full = nested_counts(whole, root)
    for beyond in (5, 12):
        windows = {count: (low, min(high, low + beyond)) for count, (low, high) in full.windows.items()}
        short = NestedCounts(whole, root, windows, full.bounds)
        lost = -np.expm1(short.log_evidence - full.log_evidence)
        assert 1e-6 < lost <= full.bounds.outside(windows, full.log_evidence)


def test_sums_of_parts_and_two_parts_follow_from_the_joint_law_of_all() -> None:
    make, root, _, _ = MODELS["noise at every level, total public"]
    whole = make(Tree())
    found, split = nested_counts(whole, root), whole.splits[0]
    low, first, joint = found.joint(whole, split, [0, 1])
    assert (low, first) == (9, 9) or joint[9 - low, 9 - first] > 1.0 - CLOSE  # both parts together are the whole
    one, other, pairs = found.two_parts(whole, split, 0, 1)
    law = found.law(split.parts[0])
    np.testing.assert_allclose(pairs.sum(axis=1), law.value[one - law.low :][: len(pairs)], atol=CLOSE)
    rows, columns = np.nonzero(pairs > 0.0)
    assert (one + rows + other + columns == 9).all()


def test_draws_have_the_law_of_every_count() -> None:
    """False alarm 1e-9 for each of seven counts; the seed is fixed."""
    make, root, _, _ = MODELS["noise at every level, nothing public"]
    whole = make(Tree())
    found, size = nested_counts(whole, root), 4000
    draws = found.sample(size, np.random.default_rng(1))
    for count, x in draws.items():
        law = found.law(count)
        seen = np.bincount(x - law.low, minlength=len(law.value))
        likely = law.value * size > 8
        expected = np.append(law.value[likely], law.value[~likely].sum()) * size
        assert chisquare(np.append(seen[likely], seen[~likely].sum()), expected * seen.sum() / expected.sum()).pvalue > 1e-9
        for split in count.splits:
            np.testing.assert_array_equal(np.sum([draws[part] for part in split.parts], axis=0), x)


def test_a_tree_without_a_posterior_and_one_that_is_too_large_are_refused() -> None:
    tree = Tree()
    open_ended = tree.unseen(([tree.geometric(3, 0.5), tree.unseen()], [1.0, 1.0]))
    with pytest.raises(InvalidInputError, match="give a size_prior"):
        nested_counts(open_ended, size_prior_of("flat"))
    with pytest.raises(TooLargeError, match="records"):
        nested_counts(open_ended, known_size(2**21))
    make, root, _, _ = MODELS["table, total public"]
    ends_at(7 * 7, "CONTRAST_PAIRS", lambda: nested_counts(make(Tree()), root).log_evidence)
