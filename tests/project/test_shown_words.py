"""What people read names no internal class: renaming a class must not reach into sentences."""

import ast
import re
from collections.abc import Iterable

import pytest

import discreet
from tests.places import ROOT

TREES = {path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "src" / "discreet").rglob("*.py"))}
INTERNAL = {
    node.name
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.ClassDef) and re.search("[a-z][A-Z]", node.name) and node.name not in discreet.__all__
}


def is_code(text: str) -> bool:
    """Whether it can be an annotation, such as "Release | None"."""
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def named(tree: ast.AST, names: Iterable[str]) -> set[str]:
    """The names that are words of sentences in strings; docstrings are for those who read the code, and may name them."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    ]
    return {word for text in texts if " " in text and not is_code(text) for word in re.findall(r"\w+", text)} & set(names)


def test_no_sentence_names_an_internal_class() -> None:
    assert len(INTERNAL) > 50
    assert {path.name: found for path, tree in TREES.items() if (found := named(tree, INTERNAL))} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('button("KeptRelease for on this machine")', {"KeptRelease"}),
        ('said = f"{n} of KeptRelease in all"', {"KeptRelease"}),
        ('def f() -> "KeptRelease | None":\n    """KeptRelease in words."""', set()),
        ('__all__ = ["KeptRelease"]', set()),
    ],
)
def test_a_class_name_in_a_sentence_is_found(source: str, found: set[str]) -> None:
    assert named(ast.parse(source), {"KeptRelease"}) == found
