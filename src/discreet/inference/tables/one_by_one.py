"""Posteriors of the groups of a table, one at a time."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property, partial

import numpy as np

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import TooLargeError
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.pickles import FieldsAlone
from discreet.inference.reading import Reading
from discreet.inference.tables.latent import check_groups_drawn
from discreet.model.cells import Cells, Groups


class OneByOne(FieldsAlone, Reading):
    """Posteriors by group: each is computed when it is first asked for, and the last few are kept. Iteration is over the groups.

    In arrays of all groups a cell that cannot occur has 0, and one that is alone in its group has 1.
    """

    @property
    @abstractmethod
    def cells(self) -> Cells:
        """Its groups, its categories and the cells that cannot occur."""

    @property
    def by(self) -> Groups:
        """The groups: their columns, and the labels of each."""
        return self.cells.groups

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The categories of the table; in some groups not all of them may be possible."""
        return self.cells.categories

    @abstractmethod
    def _posterior(self, position: int) -> NoiseAware:
        """That of the group at a position."""

    def __len__(self) -> int:
        return len(self.by)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.by)

    @cached_property
    def _known(self) -> dict[int, NoiseAware]:
        return {}

    def __getitem__(self, group: Hashable) -> NoiseAware:
        """The posterior of the categories' probabilities in one group, as one variable has it.

        Raises InvalidInputError where there is nothing to infer: in a group with one possible category, or with none.
        """
        position = self.by.index(group)
        if position not in self._known:
            found = self._posterior(position)
            while len(self._known) >= limits.GROUPS_HELD:
                self._known.pop(next(iter(self._known)))
            self._known[position] = found
        return self._known[position]

    # --- all groups, one at a time ------------------------------------------------------------------------------------

    def mean(self) -> Floats:
        """Expected probability of each category in each group."""
        return self._each(NoiseAware.mean, ())

    def std(self) -> Floats:
        """Standard deviation of each category's probability in each group."""
        return self._each(NoiseAware.std, (), alone=0.0)

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals that each hold this much probability: by group and category, with (low, high) on the last axis."""
        return self._each(partial(NoiseAware.interval, mass=mass), (2,))

    def hdi(self, mass: float = 0.95) -> Floats:
        """Highest density intervals, the shortest that each hold this much probability: by group and category, with (low, high) last.

        Raises TooLargeError where there are more cells than are searched one at a time.
        """
        if self.cells.possible.sum() > limits.DENSITY_INTERVALS:
            raise TooLargeError(
                f"highest density intervals are found for up to {limits.DENSITY_INTERVALS:,} cells, and there are "
                f"{self.cells.possible.sum():,}: post[group].hdi() has those of one group, and interval() all equal-tailed ones"
            )
        return self._each(partial(NoiseAware.hdi, mass=mass), (2,))

    def _each(self, ask: Callable[[NoiseAware], Floats], shape: tuple[int, ...], *, alone: float = 1.0) -> Floats:
        """The answers of all groups, each an array by category of this shape; `alone` for a category that is alone in its group."""
        check_groups_drawn(len(self))
        found = np.zeros((*self.cells.shape, *shape))
        for position, (group, can) in enumerate(zip(self, self.cells.possible, strict=True)):
            found[position, can] = ask(self[group]) if can.sum() > 1 else alone
        return found
