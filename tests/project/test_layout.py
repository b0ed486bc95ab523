"""Where things lie: tests mirror the sources, and a helper that two test modules need is written once."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.places import ROOT

SOURCE, TESTS = ROOT / "src" / "discreet", ROOT / "tests"
LONGEST_TWIN = 60
"""Characters of a body from which on two of them are one helper: shorter ones say little more than their names."""


def test_every_package_has_its_folder_of_tests() -> None:
    packages = [path.parent.relative_to(SOURCE) for path in SOURCE.glob("*/__init__.py")]
    assert len(packages) > 10
    assert [str(package) for package in packages if not [*(TESTS / package).rglob("test_*.py")]] == []
    assert [*TESTS.glob("test_*.py")] == []


def test_no_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "papers" / "src").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(ROOT).as_posix())
    assert len(places) > 200
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def module_imports(source: Path) -> dict[str, set[str]]:
    """What each module of a package imports from it, also for type checkers, and not when a function is called."""
    trees = {
        ".".join(path.relative_to(source.parent).with_suffix("").parts): ast.parse(path.read_text("utf-8")) for path in source.rglob("*.py")
    }
    trees = {name.removesuffix(".__init__"): tree for name, tree in trees.items()}
    found: dict[str, set[str]] = {}
    for name, tree in trees.items():
        inside = {node for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) for node in ast.walk(part)}
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module and node not in inside]
        named = {f"{node.module}{end}" for node in imports for end in ("", *(f".{alias.name}" for alias in node.names))}
        found[name] = named & trees.keys() - {name}
    return found


def test_no_modules_import_each_other() -> None:
    imports = module_imports(SOURCE)
    assert sum(map(len, imports.values())) > 1000
    TopologicalSorter(imports).prepare()


def test_modules_that_import_each_other_for_type_checkers_are_found(tmp_path: Path) -> None:
    package = tmp_path / "made"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from made.two import b\n")
    (package / "two.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made.one import a\n")
    with pytest.raises(CycleError):
        TopologicalSorter(module_imports(package)).prepare()


def bodies(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """What the functions of these modules do, without their names, types, decorators and docstrings; and where each is."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                first = 1 if ast.get_docstring(node) else 0
                yield "\n".join(map(ast.unparse, node.body[first:])), f"{path}: {node.name}"


def twins(paths: Iterable[Path]) -> list[list[str]]:
    """Functions of several modules that do the same."""
    found = defaultdict(list)
    for body, place in bodies(paths):
        if len(body) > LONGEST_TWIN:
            found[body].append(place)
    return [places for places in found.values() if len({place.partition(":")[0] for place in places}) > 1]


def test_no_helper_is_written_twice() -> None:
    assert twins([*TESTS.rglob("*.py"), *(ROOT / "papers" / "tests").rglob("*.py")]) == []


def test_a_helper_that_is_written_twice_is_found(tmp_path: Path) -> None:
    for name, first in (("one", '    """Make it."""\n'), ("two", "")):
        body = "    made = Ledger(place / 'ledger.db')\n    made.create('survey', epsilon=1, delta=0)\n    return made\n"
        (tmp_path / f"{name}.py").write_text(f"def {name}(place):\n{first}{body}")
    assert twins([tmp_path / "one.py", tmp_path / "two.py"]) == [[f"{tmp_path}/one.py: one", f"{tmp_path}/two.py: two"]]
