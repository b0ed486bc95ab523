"""The directive `commands`: a reference of a command line, made from its commands while the pages are built.

It lists each command with its help, its examples, its arguments and its options. An option's anchor is that of Sphinx's own `option`, such
as `cmdoption-discreet-release-epsilon`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import import_object
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

VALUES = {int: "number", Path: "file"}
"""What stands for a value of a type; that of any other type is text."""
LONGEST_LINE = 88
"""Characters of an example, after which it goes on in a new line."""


class Commands(SphinxDirective):
    """Lists the commands of the Typer app that its argument names, as in `discreet.cli.app`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # whatever changed: the commands are not in the page's file
        app = typer.main.get_command(import_object(self.arguments[0]))
        parsed: list[nodes.Node] = self.parse_text_to_nodes("\n\n".join(reference(app, str(app.name))), allow_section_headings=True)
        return parsed


def reference(command: Any, name: str) -> Iterator[str]:
    """The parts of the page about a command and those below it, as Markdown."""
    below = {f"{name} {part.name}": part for part in getattr(command, "commands", {}).values()}
    yield f"{'#' * max(2, len(name.split()))} {name}"
    yield from description(command.help)
    yield "\n".join(f"- [`{full}`](#{full.replace(' ', '-')}): {markdown(summary(part.help))}" for full, part in below.items())
    yield f"```{{program}} {name}\n```"
    for parameter in command.params:
        if not parameter.hidden:
            yield f"```{{option}} {signature(parameter)}\n{' '.join(facts(parameter))}\n```"
    for full, part in below.items():
        yield from reference(part, full)


def summary(text: str) -> str:
    return text.split("\n\n")[0]


def description(text: str) -> Iterator[str]:
    """The paragraphs of a command's help; the last ones may be examples, `Examples: command, or command`."""
    for paragraph in text.split("\n\n"):
        kind, colon, examples = paragraph.partition(": ")
        if kind in ("Example", "Examples") and colon:
            yield "\n".join(["```sh", *(folded(example) for example in re.split(r",\s+or\s+", examples)), "```"])
        else:
            yield markdown(paragraph)


def folded(command: str) -> str:
    """A command in as many lines as it needs, each but the last with a backslash at its end."""
    first, *options = re.split(r"\s+(?=--)", command.strip())
    lines = [first]
    for option in options:
        if len(f"{lines[-1]} {option}") > LONGEST_LINE:
            lines.append(f"    {option}")
        else:
            lines[-1] = f"{lines[-1]} {option}"
    return " \\\n".join(lines)


def signature(parameter: Any) -> str:
    """The names of an option, each with a word for its value; or that of an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.name)
    value = "" if parameter.is_flag else f" <{VALUES.get(parameter.type_descriptor.annotation, 'text')}>"
    return ", ".join(f"{name}{value}" for name in [*parameter.opts, *parameter.secondary_opts])


def facts(parameter: Any) -> Iterator[str]:
    """What an option is for, whether it is required, and what it is if it is not given."""
    yield markdown(parameter.help)
    default = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
    if parameter.required:
        yield "**Required.**"
    elif parameter.show_default and default not in (None, False, "", (), []):
        yield f"*Default:* `{default}`."


def markdown(text: str) -> str:
    """Text that Markdown takes as it is, but for options and what is in single quotes: these become code."""
    code = re.compile(r"(?<![\w-])--?[a-z][\w-]*|(?<!\w)'[^']+'(?!\w)")
    plain = [re.sub(r"([\\`*_{}\[\]<>$#|])", r"\\\1", part) for part in code.split(text)]
    return plain[0] + "".join(f"`{found}`{after}" for found, after in zip(code.findall(text), plain[1:], strict=True))


def drop_repeated_anchors(_app: Sphinx, page: nodes.document) -> None:
    """`--n` and `-n` have one."""
    for head in page.findall(addnodes.desc_signature):
        head["ids"] = [*dict.fromkeys(head["ids"])]


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_directive("commands", Commands)
    app.connect("doctree-read", drop_repeated_anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
