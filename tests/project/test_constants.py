"""A constant is named for what it bounds, so no name stands for two things: what two modules need has one home."""

import ast
from collections import defaultdict
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent
ROLES = {"FIELDS", "MECHANISMS", "ROUTES"}
"""What several modules declare about themselves: the fields and the addresses of a screen, and what is said of each mechanism."""


def constants(code: str) -> set[str]:
    """The constants that a module assigns, also several in one line."""
    found = set()
    for statement in ast.parse(code).body:
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []
        )
        names = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        found |= {name for name in names if name.isupper()}
    return found


def test_no_constant_is_assigned_in_two_modules() -> None:
    places = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for name in constants(path.read_text("utf-8")) - ROLES:
            places[name].append(path.relative_to(SOURCE).as_posix())
    assert len(places) > 300
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_constants_are_found_in_every_way_to_assign_them() -> None:
    assert constants("_A, (B, _C_D) = 1, (2, 3)\n_E: int = 4\n_Value = 5\n_f = 6\ndef g():\n    _H = 7\n") == {"_A", "B", "_C_D", "_E"}
