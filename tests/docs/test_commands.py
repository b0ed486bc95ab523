"""The reference of the command line, as built: all commands and options, made from the commands themselves."""

import re
import shlex
from html import unescape
from typing import Any

import pytest
import typer

from discreet.cli import app
from tests.docs.build import build_pages
from tests.places import DOCS

pytest.importorskip("math_core", reason="the documentation's packages are not installed: pip install 'discreet[docs]'")


def all_commands(command: Any, name: str) -> dict[str, Any]:
    """Every command by its full name."""
    found = {name: command}
    for part in getattr(command, "commands", {}).values():
        found |= all_commands(part, f"{name} {part.name}")
    return found


COMMANDS = all_commands(typer.main.get_command(app), "discreet")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("docs")
    assert build_pages(folder, index=(DOCS / "reference" / "commands.md").read_text()) == ""
    return (folder / "html" / "index.html").read_text()


def test_the_page_has_every_command_and_every_option(page: str) -> None:
    anchors = set(re.findall(r'id="([^"]+)"', page))
    assert len(COMMANDS) > 12
    for name, command in COMMANDS.items():
        start = name.replace(" ", "-")
        assert start in anchors
        for parameter in command.params:
            names = [*parameter.opts, *parameter.secondary_opts]
            kind = "arg-" if parameter.param_type_name == "argument" else ""
            assert {f"cmdoption-{start}-{kind}{each.lstrip('-')}" for each in names} <= anchors


def test_the_page_says_what_is_required_and_what_is_the_default(page: str) -> None:
    def about(anchor: str) -> str:
        start = page.index(f'id="{anchor}"')
        return unescape(re.sub("<[^>]+>", "", page[start : page.index("</dd>", start)]))

    assert "Required." in about("cmdoption-discreet-release-epsilon")
    assert "Required." not in about("cmdoption-discreet-release-column")  # --bands may name it
    assert "Default: LatticeGeometric." in about("cmdoption-discreet-release-mechanism")
    assert "'part-*.parquet', - for CSV" in about("cmdoption-discreet-release-arg-file")
    assert "Required." not in about("cmdoption-discreet-release-mechanism")
    assert "Default" not in about("cmdoption-discreet-release-strict")
    assert "With --public total" in about("cmdoption-discreet-release-privacy-id")


def test_every_command_has_an_example_whose_options_it_has(page: str) -> None:
    blocks = [unescape(re.sub("<[^>]+>", "", block)) for block in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)]
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    exemplified = set()
    for part in (part.strip() for line in lines for part in line.split("|")):
        words = shlex.split(part)
        name = max((name for name in COMMANDS if f"{part} ".startswith(f"{name} ")), key=len)
        known = {each for parameter in COMMANDS[name].params for each in [*parameter.opts, *parameter.secondary_opts]}
        assert {word for word in words if word.startswith("--")} <= known, part
        exemplified.add(name)
    assert exemplified == {name for name, command in COMMANDS.items() if not hasattr(command, "commands")}
