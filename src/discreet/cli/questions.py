"""Commands that are made from questions: every field becomes an argument or an option; and what several commands share."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.present.terminal import errors_in_one_line
from discreet.requests.fields import REQUIRED, Field, Request, fields_of, spoken

Function = Callable[..., None]


def asks(question: type[Request]) -> Callable[[Function], Function]:
    """Make a command of a function that takes a question: its fields are the arguments and options.

    An error is one line on standard error, and names options as the shell does.
    """

    def made(function: Function) -> Function:
        def command(**given: Any) -> None:
            with errors_in_one_line(lambda text: spoken(text, question, "shell")):
                function(question.read(given, "shell"))

        parameters = [_parameter(one) for one in fields_of(question).values()]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return command

    return made


def _parameter(one: Field) -> Parameter:
    """A field as typer takes it."""
    kind: Any = list[str] if one.kind.many else one.kind.shell_type
    default: Any = (
        (None if one.instead or one.named_in else ...)
        if one.default is REQUIRED
        else False
        if one.kind.is_switch and not one.has_two_sides
        else one.default
    )
    if one.positional:
        about: Any = typer.Argument(default, help=one.help, show_default=False)
    else:
        shown: dict[str, Any] = {"help": one.help, "show_default": one.shown_default, "metavar": one.kind.metavar, "envvar": one.variable}
        about = typer.Option(default, one.option, *one.short, **shown)
    return Parameter(one.name, Parameter.KEYWORD_ONLY, annotation=kind | None if default is None else kind, default=about)


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
