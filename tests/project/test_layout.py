"""Where things lie: tests mirror the sources, and a helper that two test modules need is written once."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

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
