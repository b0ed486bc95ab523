"""Slow computations of a page, one at a time: a newer question of the same part ends an older one."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from anyio import Lock, to_thread

from discreet.progress import Progress

_Answer = TypeVar("_Answer")
_PARTS = 256
"""Parts of pages whose newest question is remembered."""


class SupersededError(Exception):
    """A newer question of the same part was asked."""


class Turns:
    """A queue that runs one computation at a time, by page and by the place that the answer fills; newer requests cancel older ones."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, object] = OrderedDict()
        self._lock = Lock()

    def end(self, part: str) -> None:
        """Whatever is computed for this part is not wanted any more."""
        self._newest.pop(part, None)

    async def run(self, part: str, compute: Callable[[Progress], _Answer]) -> _Answer:
        """Run `compute`, which is given a function to call now and then that ends it once a newer question was asked.

        Raises SupersededError then.
        """
        mine = object()
        self._newest[part] = mine
        self._newest.move_to_end(part)
        while len(self._newest) > _PARTS:
            self._newest.popitem(last=False)

        def check(*_: object) -> None:
            if self._newest.get(part) is not mine:
                raise SupersededError

        async with self._lock:
            check()
            return await to_thread.run_sync(compute, check)
