"""Commands that are made from questions: every field that a question declares becomes an argument or an option."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import typer

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
