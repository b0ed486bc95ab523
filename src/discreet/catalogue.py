"""The built-in mechanisms by name, without loading one.

A built-in mechanism is what the stub of public names, `__init__.pyi`, imports from a module of `mechanisms`. Whoever writes one gives it
a file there and a line in the stub; names, forms, comparisons, pictures and tests that go over all of them find it by that line, and ask
its class for the rest.
"""

import ast
from pathlib import Path

_ROOM = "mechanisms."
FIRST = "LatticeGeometric"
"""The mechanism to start with, and the one that releases tables."""


def built_in() -> dict[str, str]:
    """The names of the built-in mechanisms, `FIRST` before the others, and the modules that they are in."""
    stub = ast.parse(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_ROOM)]
    found = {alias.name: f"{__package__}.{node.module}" for node in reversed(imports) for alias in node.names}
    return {FIRST: found[FIRST]} | found
