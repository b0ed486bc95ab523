"""Nested categories, or groups: noise by distance on the counts of every level, from coarse to fine (docs/explain/mechanisms.md).

Each level is released as `LatticeGeometric` releases categories, with its part of ε. A record that comes or goes changes one count of
every level by 1, and one that is replaced moves one record between two counts of a level, or of none: so that the parts add up to ε.
"""

from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np
from attrs import define, field, frozen

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.lattice import GeometricNoise, LatticeNoise, distance_atoms, law_of_any_total, law_of_known_total
from discreet.mechanisms.laws import Law, LossAtoms
from discreet.mechanisms.noise import Level, MeasuredLevels, labelled, read_levels, written_levels
from discreet.mechanisms.reports import Report, project
from discreet.mechanisms.samplers import AddedNoise, Noise, Sampler
from discreet.model.datasets import check_outcomes
from discreet.record.guarantee import Guarantee
from discreet.sampling import BitSource, SeededBits
from discreet.sampling.bulk import ATTEMPTED, discrete_laplace_array, lattice_blocks
from discreet.sampling.noise import check_fits, noise_seconds
from discreet.validation import check_positive, items_of


def _as_declared(value: Any) -> Any:
    """Levels as they are given, which the prior's categories are needed to read."""
    return value


def _weights(value: Any) -> str:
    """The weights of the levels as text, such as "1,1,2"; "" for equal ones."""
    given = (value.split(",") if value else []) if isinstance(value, str) else items_of(value)
    if given is None:
        raise InvalidInputError("split must be a list of positive numbers: the weight of every level, and last that of the categories")
    return ",".join(str(check_positive(weight, f"split[{i}]")) for i, weight in enumerate(given))


@frozen
class TopDown(Report):
    """Counts that add up at every level, none negative: from the coarsest level on, the nearest ones with the total of what is above."""

    levels: MeasuredLevels
    n: int | None

    def __call__(self, raw: Counts) -> Counts:
        """The counts of the categories."""
        above: dict[tuple[int, ...], Counts] = {}
        homes = {i: tuple(range(len(self.levels.nodes[-1]))) for i in range(len(self.levels.nodes[-1]))}
        total = None if self.n is None else np.full(len(raw), self.n, dtype=np.int64)
        for values, nodes in zip(self.levels.split(raw), self.levels.nodes, strict=True):
            found: dict[tuple[int, ...], Counts] = {}
            inside: dict[tuple[int, ...], list[int]] = {}
            for j, node in enumerate(nodes):
                inside.setdefault(homes[node[0]], []).append(j)
            for home, places in inside.items():
                whole = above.get(home, total)
                counts = np.maximum(values[:, places], 0) if whole is None else project(values[:, places], whole[:, None])
                found |= {nodes[j]: counts[:, at] for at, j in enumerate(places)}
            above, homes = found, {i: node for node in nodes for i in node}
        return np.stack([above[i,] for i in range(len(homes))], axis=-1)

    def row(self, raw: tuple[int, ...]) -> Counts:
        """Noise beyond 2**62 is cut there: an array cannot hold it."""
        most = limits.RAW_OUTCOME // max(len(raw), 1)
        return np.array([min(max(z, -most), most) for z in raw], dtype=np.int64)


@define(frozen=True, slots=False, repr=False)
class Nested(Mechanism[tuple[int, ...]]):
    """ε-DP by proof: noise by distance on the counts of every level of nested categories, such as chapters and their codes.

    Sums of categories that are nodes of a level have the noise of one count, and the noise-aware posterior reads all levels as one tree:
    `post.merged(mechanism.nodes("chapter"))` has an interval for every node. Categories by themselves have more noise than
    `LatticeGeometric` gives them, since ε is split: `compare(..., levels=levels)` says what is gained and lost at every level.

    Args:
        prior: The Dirichlet that readers begin with; it names the categories, in their order.
        n: The number of records, if it is public; None if it is private.
        epsilon: ε of all levels together.
        levels: From coarse to fine the levels above the categories, each with its nodes and their categories:
            `{"chapter": {"A": ["A1", "A2"], "B": ["B1", "B2"]}}`. For an ordered scale a number stands for runs of so many categories:
            `{"decade": 10}`. A level of one node with all categories measures a private total.
        split: The weight of every level and last that of the categories: ε is split in proportion. Equal weights if it is left out.

    Raises:
        InvalidInputError: An argument is not what is said above, or a level says nothing new.
    """

    levels: str = field(kw_only=True, converter=_as_declared)
    split: str = field(default="", kw_only=True, converter=_weights)

    _look: ClassVar[tuple[Any, ...]] = ("#6a4c93", "^", (0, (4, 2)), "\\\\")
    _needs_total: ClassVar[bool] = False

    def __attrs_post_init__(self) -> None:
        found = read_levels(self.levels, self.prior)
        object.__setattr__(self, "levels", written_levels(found))
        if self.n is not None and len(found[0][1]) == 1:
            raise InvalidInputError(f"the level {found[0][0]!r} measures the total, and n is public: leave it out")
        weights = self.split.split(",") if self.split else []
        if weights and len(weights) != len(found) + 1:
            raise InvalidInputError(f"split must have {len(found) + 1} weights: one for every level, and last that of the categories")
        super().__attrs_post_init__()

    @cached_property
    def _declared(self) -> dict[str, Level]:
        return dict(read_levels(self.levels, self.prior))

    @property
    def level_nodes(self) -> dict[str, tuple[str, ...]]:
        """The levels above the categories, from coarse to fine, with the labels of their nodes."""
        return {name: tuple(label for label, _ in level) for name, level in self._declared.items()}

    def nodes(self, level: str) -> dict[str, list[Any]]:
        """The nodes of a level with their categories, as `merged` takes them."""
        if level not in self._declared:
            raise InvalidInputError(f"there is no such level; the levels are {', '.join(map(repr, self._declared))}")
        return labelled(self._declared[level], self.prior)

    @cached_property
    def epsilons(self) -> tuple[Fraction, ...]:
        """The part of ε that each level has, from coarse to fine, and last the categories."""
        weights = [Fraction(one) for one in self.split.split(",")] if self.split else [Fraction(1)] * (len(self._declared) + 1)
        return tuple(self.epsilon * weight / sum(weights) for weight in weights)

    @cached_property
    def _levels(self) -> MeasuredLevels:
        """The nodes of every level, and their noise."""
        nodes = (*(tuple(inside for _, inside in level) for level in self._declared.values()), tuple((i,) for i in range(self.k)))
        noise = [
            GeometricNoise(len(level), float(part)) if self.n is None else LatticeNoise(len(level), 0.5 * float(part))
            for level, part in zip(nodes, self.epsilons, strict=True)
        ]
        return MeasuredLevels(nodes, tuple(noise))

    @property
    def _claim(self) -> Guarantee:
        """ε, by proof: that of each level, added up."""
        return self._by_proof()

    def _own_report(self) -> Report:
        """Counts that add up, from the coarsest level on."""
        return TopDown(self._levels, self.n if isinstance(self.n, int) else None)

    def _check_size(self) -> None:
        """Refuse noise that does not fit arrays."""
        check_fits(2 / min(self.epsilons), self._levels.cells)

    @property
    def _draw_seconds(self) -> float:
        """Return a bound by the number of counts of each level, and of those that are attempted together where n is public."""
        parts = zip(self.epsilons, self._levels.nodes, strict=True)
        return sum(
            noise_seconds(2 / part, len(level), 1 if self.n is None or len(level) > ATTEMPTED else len(level)) for part, level in parts
        )

    def _warm_up(self) -> None:
        """Draw noise once from public bits, which makes the tables."""
        self._draw_noise(SeededBits(0))

    def _draw_noise(self, source: BitSource) -> Noise:
        """Exact noise for the counts of all levels."""
        parts = zip(self.epsilons, self._levels.nodes, strict=True)
        if self.n is None:
            return np.concatenate([discrete_laplace_array(source, 1 / part, len(level)) for part, level in parts])
        return np.concatenate([lattice_blocks(source, part, len(level), 1)[0] for part, level in parts])

    def _sampler(self, counts: Any) -> Sampler:
        """Adds exact noise to the counts of all levels."""
        return AddedNoise(self._levels.sums(np.array(counts, dtype=np.int64)), self._draw_noise)

    def _simulate_raw(self, counts: Counts, size: int, rng: np.random.Generator) -> Counts:
        """Float draws of all levels."""
        sums: Counts = self._levels.sums(counts)
        return np.asarray(sums + np.concatenate([noise.simulate(size, rng) for noise in self._levels.noise], axis=-1))

    def _is_outcome(self, raw: Any) -> bool:
        """Return whether it has a count for every node, with the public total at every level."""
        return len(raw) == self._levels.cells and (self.n is None or all(sum(one) == self.n for one in self._levels.split(tuple(raw))))

    def log_prob(self, counts: Any, raw: Any) -> float:
        """Log probability of one raw outcome. For study: it is a function of the private counts."""
        outcome = np.asarray(raw)
        if outcome.shape != (self._levels.cells,) or outcome.dtype.kind not in "iu":
            raise InvalidInputError(f"a raw outcome of this mechanism has {self._levels.cells} whole numbers, from coarse to fine")
        return float(self._log_probabilities(self._checked(counts), outcome[None, :].astype(np.int64))[0])

    def _log_probabilities(self, counts: Counts, raw: Counts) -> Floats:
        """A sum over the levels; -inf off the lattices of a public n."""
        levels = zip(self._levels.noise, self._levels.split(raw - self._levels.sums(counts)), strict=True)
        return sum((noise.log_probability(one) for noise, one in levels), np.zeros(len(raw)))

    def _raw_law(self, counts: Counts) -> Law:
        """Return all outcomes of all levels together, for few categories and little noise."""
        laws = []
        for noise, values, part in zip(self._levels.noise, self._levels.split(self._levels.sums(counts)), self.epsilons, strict=True):
            laws.append(law_of_any_total(noise, values) if isinstance(noise, GeometricNoise) else law_of_known_total(values, float(part)))
            check_outcomes(int(np.prod([float(len(law.counts)) for law in laws])), "this law", limits.LISTED_CELLS // self._levels.cells)
        places = np.stack([at.ravel() for at in np.indices([len(law.counts) for law in laws])])
        rows = np.concatenate([law.counts[at] for law, at in zip(laws, places, strict=True)], axis=-1)
        logs = reduce(np.add.outer, [law.log_probability for law in laws])
        return Law(rows, np.asarray(logs).ravel(), sum(law.omitted for law in laws))

    def _loss_atoms(self) -> LossAtoms:
        """The pair of datasets that differs at every level dominates all others: what it loses is the sum over the levels."""
        parts = zip(self.epsilons, self._levels.nodes, strict=True)
        return reduce(LossAtoms.joined, (distance_atoms(part, None if self.n is None else len(level)) for part, level in parts))
