"""A question is a frozen value that declares each of its fields once; the shell, the forms of the page and Python are made from that.

A declaration says how a field is called in each of these places, what it is for, how it is read and how it is written.
"""

import dataclasses
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from discreet.errors import DiscreetError, InvalidInputError

Place = Literal["shell", "form", "study"]
_FIELD = "field"
REQUIRED: Any = object()
"""The default of a field that must be given."""


class WrongError(Exception):
    """A form cannot be taken; `by_field` says what is wrong beside each of its fields."""

    def __init__(self, by_field: Mapping[str, str]) -> None:
        super().__init__()
        self.by_field = by_field


class _UnreadError(Exception):
    """A field that another one depends on was not read."""


@dataclass(frozen=True)
class FieldContext:
    """The context in which a field is read: its place, what messages call it there, and the fields before it."""

    place: Place
    name: str
    values: Mapping[str, Any]
    unread: Container[str] = ()
    """The fields that are wrong themselves, or depend on one that is."""

    def other(self, name: str) -> Any:
        """The value of a field before this one; None if the question has no such field."""
        if name in self.unread:
            raise _UnreadError
        return self.values.get(name)


@dataclass(frozen=True)
class Kind:
    """The way in which values of one kind are read from text, and written into a shell and into Python."""

    parse: Callable[[Any, FieldContext], Any]
    """Makes a value of a text; of a list of them if the kind takes `many`."""
    show: Callable[[Any], Any] = str
    """Writes a value as a text, or as a list of them, that `parse` reads as the same; None where no text is."""
    code: Callable[[Any], str] = repr
    """Writes a value in Python."""
    many: bool = False
    """Whether an option is given several times, and a field of a form has a line for each."""
    shell_type: Any = str
    """The type that the shell takes: text, a path, or bool for a switch."""
    metavar: str | None = None
    """The word for a value in the help; the shell's type if nothing else is said."""
    fits: Callable[[Any], bool] = lambda value: isinstance(value, str) and bool(value)
    """Whether a value of TOML is one that the file of a study takes."""
    toml: str = "text"
    """The values that the file of a study takes, in words."""

    @property
    def is_switch(self) -> bool:
        return self.shell_type is bool


@dataclass(frozen=True)
class Slider:
    """A slider beside a number: from where to where, in which steps, and how it is called; perhaps by powers of ten."""

    low: str
    high: str
    step: str
    name: str
    is_logarithmic: bool = False
    ends: Sequence[tuple[str, str]] = ()
    """The legends below its ends: the number, and its meaning."""


@dataclass(frozen=True)
class Row:
    """The row of a form that shows a field."""

    group: str
    """The part of the form in which it stands."""
    label: str
    hint: str = ""
    placeholder: str = ""
    words: str = ""
    """The name of the row in messages beside it; the label if nothing else is said."""
    value: str = ""
    """The text in an untouched form."""
    rows: int = 0
    """Lines of a large field; 0 for a small one."""
    numeric: str = ""
    """The keyboard for it: decimal or numeric."""
    choices: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The choices on offer, by value."""
    slider: Slider | None = None


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a question."""

    kind: Kind
    help: str = ""
    """The purpose of the field, in the help of a command; empty if no command has it."""
    form: Row | None = None
    """The row of a form that asks for it; None if no form does."""
    default: Any = None
    """The text that stands for it where none is given; None if it then has no value."""
    missing: str = ""
    """The message where a value must be given and is not; that it is needed, if nothing else is said."""
    instead: str = ""
    """The field that may be given in its place, of which its kind makes the value where it is not given."""
    named_in: str = ""
    """The field whose text may begin with it and =, where it is not given itself."""
    name: str = ""
    option: str = ""
    """The name of the option in the shell; `--name` if nothing else is said."""
    short: tuple[str, ...] = ()
    """The option's other names in the shell."""
    positional: bool = False
    """Whether the shell knows it by its place among the words."""
    variable: str | None = None
    """The variable of the environment that may name it."""
    shown_default: str | bool = True
    """The default in the help, where that is not the text itself."""
    call: str = ""
    """The call of Python that takes it as an argument."""
    argument: str = ""
    """The name of the argument of that call; the field's own name if nothing else is said."""
    item: str = ""
    """The item that a switch adds to an argument that is a list."""
    key: str = ""
    """The key in a study's file: `study` or `tables` for its part, a dot and the key, and for a switch the item of a list."""

    @property
    def has_two_sides(self) -> bool:
        """Return whether it is a switch that can be turned on and off, such as --errors/--no-errors."""
        return "/" in self.option

    def called(self, place: Place) -> str:
        """Return the name of the field in messages."""
        if place == "form" and self.form is not None:
            return self.form.words or self.form.label
        return self.name.upper() if self.positional else self.option

    def read(self, typed: Any, reading: FieldContext) -> Any:
        """The value of what was typed; None stands for nothing, and so does an empty field of a form."""
        if self.kind.is_switch:
            return self.default if typed is None and self.has_two_sides else bool(typed)
        is_empty = typed is None or typed == [] or (typed == "" and reading.place == "form")
        if self.instead and (other := reading.other(self.instead)) is not None:
            if not is_empty:
                raise InvalidInputError(f"{reading.name} and bands of a number do not go together: leave out one of the two")
            return self.kind.parse(other, reading)
        if is_empty:
            if self.default is REQUIRED:
                other = f", or --{self.instead}" if self.instead else ""
                raise InvalidInputError((reading.place == "form" and self.missing) or f"{reading.name} is needed{other}")
            typed = [] if self.kind.many else self.default
        if typed is None:
            return None
        if self.kind.many and isinstance(typed, str):
            typed = [line for line in typed.splitlines() if line.strip()]
        return self.kind.parse(typed, reading)

    def is_given(self, value: Any) -> bool:
        """Return whether a value is another than the default."""
        if self.kind.is_switch:
            return value is not (self.default if self.has_two_sides else False)
        if self.kind.many:
            return bool(value)
        return value is not None and self.kind.show(value) != self.default

    def shell_words(self, value: Any) -> list[str] | None:
        """Return the words that are typed into a shell for a value; None where no text stands for it."""
        if not self.is_given(value):
            return []
        if self.kind.is_switch:
            return [self.option.split("/")[0 if value else 1]]
        texts = self.kind.show(value) if self.kind.many else [self.kind.show(value)]
        if None in texts:
            return None
        return texts if self.positional else [word for text in texts for word in (self.option, text)]


def asked(kind: Kind, help: str = "", form: Row | None = None, **declared: Any) -> Any:  # noqa: A002 - what it is called everywhere
    """Declare a field of a question."""
    return dataclasses.field(metadata={_FIELD: Field(kind=kind, help=help, form=form, **declared)})


def changed(question: "type[Request]", name: str, **declared: Any) -> Any:
    """Declare a field as another question does, but for some of it."""
    return dataclasses.field(metadata={_FIELD: replace(fields_of(question)[name], **declared)})


def fields_of(question: "type[Request]") -> Mapping[str, Field]:
    """The fields of a question by their names, in the order in which they are declared and read."""
    found = {one.name: one.metadata[_FIELD] for one in dataclasses.fields(question) if _FIELD in one.metadata}
    return {
        name: replace(one, name=name, option=one.option or f"--{name.replace('_', '-')}", argument=one.argument or name)
        for name, one in found.items()
    }


Rule = Callable[[Any, FieldContext], object]
"""Refuses the value of a field."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A question: its attributes are the values of the fields that it declares."""

    @classmethod
    def read(
        cls, typed: Mapping[str, Any], place: Place, rules: Mapping[str, Rule] | None = None, known: Mapping[str, Any] | None = None
    ) -> Self:
        """The question that was typed. `rules` of a place refuse values that it does not take; `known` is what fields may ask for besides.

        Raises what is wrong first in a shell, and WrongError with all that is wrong in a form.
        """
        values: dict[str, Any] = dict(known or {})
        wrong: dict[str, str] = {}
        unread: set[str] = set()
        for name, one in fields_of(cls).items():
            reading = FieldContext(place, one.called(place), values, unread)
            try:
                value = one.read(_typed(one, typed), reading)
                if rules is not None and name in rules:
                    rules[name](value, reading)
                values[name] = value
            except _UnreadError:
                unread.add(name)
            except DiscreetError as error:
                if place == "shell":
                    raise
                wrong[name] = str(error)
                unread.add(name)
        if wrong:
            raise WrongError(wrong)
        return cls(**{name: values[name] for name in fields_of(cls)})

    @classmethod
    def asking(cls, **values: Any) -> Self:
        """The question with these values; every other field has its default."""
        found: dict[str, Any] = {}
        for name, one in fields_of(cls).items():
            found[name] = values[name] if name in values else one.read(None, FieldContext("shell", one.called("shell"), found))
        return cls(**found)

    def given(self) -> list[tuple[Field, Any]]:
        """The fields with another value than the default, and their values."""
        every = ((one, getattr(self, name)) for name, one in fields_of(type(self)).items())
        return [
            (one, value) for one, value in every if one.is_given(value) and not (one.instead and getattr(self, one.instead) is not None)
        ]

    def arguments(self, call: str) -> dict[str, Any]:
        """The named arguments of a call of Python."""
        found: dict[str, Any] = {}
        for one, value in self.given():
            if one.call == call:
                found[one.argument] = [*found.get(one.argument, []), one.item] if one.item else value
        return found

    def code(self, call: str, **others: str) -> list[str]:
        """Return the arguments as they are written in Python; `others` are written already, and take the place of those of their name."""
        kinds = {one.argument: one.kind.code for one, _ in self.given() if not one.item}
        written = {name: kinds.get(name, repr)(value) for name, value in self.arguments(call).items()}
        return [f"{name}={text}" for name, text in (written | others).items()]

    def shell_words(self, *left_out: str) -> tuple[list[str], list[str]] | None:
        """The words and the options of a command that asks the same; None where something in it cannot be typed."""
        words: list[str] = []
        options: list[str] = []
        for one, value in self.given():
            if one.name in left_out:
                continue
            typed = one.shell_words(value)
            if typed is None:
                return None
            (words if one.positional else options).extend(typed)
        return words, options


def _typed(one: Field, typed: Mapping[str, Any]) -> Any:
    """Return what was typed for a field, or else what stands before = in the one that may name it."""
    text = typed.get(one.name)
    return text or (typed.get(one.named_in) or "").rpartition("=")[0].strip() or text


_OPTION = re.compile(r"--([a-z][a-z-]*)( nothing| sizes| total)?(?: (?:[^\s,;]+=)?[A-Z]+\b| [^\s,;]+=[^\s,;]+)?")
"""An option of the shell in a message, perhaps with one of its choices, and with what is to be typed behind it."""
_LEDGERS_OWN = re.compile(r"(created with --[^(;]*)")
"""The names of fields that say how a ledger's dataset is created, which no study's file does."""
_SAME_LIST = re.compile(r'(?<=")\](?:, | and )[a-z.]+ = \[(?=")')
"""The end of a key's list of one item and the beginning of that of the next item, of which one list is made."""
_ARGUMENT = re.compile(r"(?<!['\"\w.-])(?:([a-z_]+)=(?:\.\.\.)?(?=[\s,;:?]|$)|([a-z]+(?:_[a-z]+)+)\b)")
"""An argument of Python in a message: a name with =, or one that is no word of English."""
_SUBJECT = re.compile(r"([a-z_]+)(?= must | is )")
"""The argument of Python that a message is about."""


def spoken(text: str, question: type[Request], place: Place, table: str = "NAME") -> str:
    """Translate a message into a place's names of Python's arguments: options of a shell, labels of a form, or keys of a study."""
    fields = {one.option.removeprefix("--"): one for one in fields_of(question).values()}

    def called(found: re.Match[str]) -> str:
        option, choice = found[1], (found[2] or "").strip()
        one = fields.get(option)
        if place == "form":
            label = option if one is None or one.form is None else one.form.choices.get(choice, one.form.label)
            return f"“{label}”"
        if one is None or not one.key:
            return found[0]
        part, key, *item = one.key.split(".")
        written = f"{part}.{table}.{key}" if part == "tables" else f"{part}.{key}"
        if item and one.item:
            return f'{written} = ["{item[0]}"]'
        return f'{written} = "{item[0] if item else choice}"' if item or choice else written

    options = {one.argument: option for option, one in fields.items() if one.call and not one.positional}
    in_shell = _ARGUMENT.sub(lambda found: f"--{options[name]}" if (name := found[1] or found[2]) in options else found[0], text)
    if place == "shell":
        first = _SUBJECT.match(in_shell)
        return f"--{first[1].replace('_', '-')}{in_shell[first.end() :]}" if first and first[1].replace("_", "-") in fields else in_shell
    parts = _LEDGERS_OWN.split(in_shell) if place == "study" else [in_shell]
    said = "".join(part if _LEDGERS_OWN.match(part) else _OPTION.sub(called, part) for part in parts)
    return _SAME_LIST.sub(", ", said)


def untouched(question: type[Request]) -> dict[str, str]:
    """Return the texts of a form before anything is typed."""
    return {name: one.form.value for name, one in fields_of(question).items() if one.form is not None and one.form.value}


def labelled(question: type[Request]) -> Sequence[str]:
    """The names of the fields that a form has."""
    return [name for name, one in fields_of(question).items() if one.form is not None]
