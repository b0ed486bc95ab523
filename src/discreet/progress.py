"""The means by which a long computation says how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Called with the steps done, the steps in all and what comes next, where something takes long."""
