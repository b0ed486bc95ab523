"""Options, exit codes and words of help that several commands share."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

FAILED = 1
"""Exit code of a command whose answer is no."""
ERROR_SCALE = (
    "Errors are Hellinger distances from the true posterior to the reported one: 0 the same, 1 nothing in common; "
    "0.05 is hard to see in a plot, 0.2 shifts an interval by about half a standard deviation."
)


class _PlainFlags:
    """Help in which a flag has no type: `<bool>` after it looks as if a value were wanted."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class Command(_PlainFlags, TyperCommand):
    """A command of ours."""


class CommandGroup(_PlainFlags, TyperGroup):
    """Commands under one name."""
