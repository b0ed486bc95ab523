"""Posteriors of the groups of a table, one at a time."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from functools import cached_property

from discreet import limits
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.pickles import FieldsAlone
from discreet.model.cells import Groups


class OneByOne(FieldsAlone, ABC):
    """Posteriors by group: each is computed when it is first asked for, and the last few are kept. Iteration is over the groups."""

    @property
    @abstractmethod
    def by(self) -> Groups:
        """The groups: their columns, and the labels of each."""

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
