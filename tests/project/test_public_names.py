"""Tests use what is promised: a private name of the library in a test makes the next change of structure expensive.

What a test must look into is a small public part: a function in its module's `__all__`, a property, a limit. Limits are lowered by
`tests.support.lowered` and draws are replaced by `tests.support.planted`. Other packages, the operating system and the clock may be
replaced to inject faults; parts of the library only where it is listed below, with the reason.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

TESTS = ROOT / "tests"
PAPERS = ROOT / "papers" / "tests"
OURS = ("discreet", "discreet_papers", "benchmarks", "tests")
HOOKS = {
    "_alone",
    "_keeps_totals",
    "_two_step_delta",
    "_affected",
    "_beta",
    "_beta_ball",
    "_by_proof",
    "_check_labels",
    "_check_single",
    "_check_size",
    "_checked",
    "_claim",
    "_described",
    "_draw_noise",
    "_draw_seconds",
    "_hellinger_rate",
    "_is_fair",
    "_is_outcome",
    "_is_symmetric",
    "_layout",
    "_levels",
    "_line_law",
    "_listed_laws",
    "_log_likelihoods",
    "_log_probabilities",
    "_loss",
    "_loss_atoms",
    "_mean_errors",
    "_most_datasets",
    "_names",
    "_near_sensitivity",
    "_needs_total",
    "_noised",
    "_options",
    "_outcomes",
    "_own_report",
    "_rate",
    "_rate_ball",
    "_raw_law",
    "_recorded",
    "_sampler",
    "_scale",
    "_sensitivity_ball",
    "_simulate_raw",
    "_table",
    "_theorem",
    "_time_quantum",
    "_warm_up",
}
"""What a mechanism gives and the library asks for: its protocol, which users' own classes follow too (docs/howto/extending.md)."""
PROTOCOLS = {"_repr_html_", *HOOKS}
"""Names with an underscore that someone else asks for: a notebook calls the first."""
LOOKED_INTO = {
    "sampling/test_two_categories": {"_blocks", "_bound", "_scale"},
    "sampling/test_many_categories": {
        "_CUT_BITS",
        "_Node",
        "_Table",
        "_bits",
        "_bound_units",
        "_components",
        "_leaves",
        "_table_weight",
        "_tables",
        "_tree",
    },
}
"""Private names that a test file uses all the same: the tables of the samplers, each compared with what it is said to bound."""
REPLACED = {
    "support": {"limits.name", "mechanism._sampler"},  # the two helpers that all other tests use
    # Negative controls: a wrong number must change the verdict, and an error must be seen by the comparison that rules it out.
    "papers/test_claims": {
        *(f"{name}._rate" for name in ("HellingerLocal", "HellingerSmooth", "HellingerSmoothDelta")),
        *(f"sensitivity.{name}" for name in ("global_sensitivity", "local_sensitivities", "local_sensitivity")),
    },
    "papers/test_reproduce": {"HellingerSmooth._rate"},
    "numerics/test_gamma": {"gamma.STIRLING"},
    "analysis/test_privacy": {"dc.mechanisms.Exponential._is_symmetric", "Mechanism._is_symmetric"},
    # The samplers: an enclosure that stays wide, and bounds that are never met, do not occur by themselves.
    "sampling/test_coins": {"bits.WORD"},
    "sampling/test_bits": {"module.name"},
    "sampling/test_two_categories": {"module.ladder"},
    "sampling/test_lattice": {"noise.ladder"},
    "sampling/test_bulk": {"bulk.DENSE", "bulk.subset_array", "bulk.table_words"},
    "sampling/test_inversion": {"module.name"},
    "sampling/test_listed": {"bits.WORD"},
    # Counted, or told not to happen: which way a computation takes is not seen in what it gives.
    "data/test_spelling": {"discreet.data.count.holds_numbers"},
    "inference/tables/test_sums": {"sums.spectra"},
    "inference/test_group_summaries": {"ReleasedTable.figures"},
    "mechanisms/test_hellinger_likelihoods": {"likelihoods.cost"},  # so that a series is taken where a list would be as fast
    "mechanisms/test_steady": {"samplers.monotonic", "samplers.sleep"},  # the clock
    "sampling/test_many_categories": {
        *("module._CUT_BITS", "module._tree", "module.ladder"),
        *("_Table.beyond", "sampler._bound_units", "sampler._table_weight"),
    },
}
"""Parts of the library that a test file replaces."""


def is_private(name: str) -> bool:
    """Whether a name, the last one if it is dotted, begins with an underscore and is not a protocol's."""
    last = name.rpartition(".")[2]
    return last.startswith("_") and not (last.startswith("__") and last.endswith("__")) and last not in PROTOCOLS and last != "_"


def imported(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """What a file imports: the package it is of, the name there, and the name here."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], "", (alias.asname or alias.name).partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (((node.module or "").partition(".")[0], alias.name, alias.asname or alias.name) for alias in node.names)


def root(node: ast.expr) -> str:
    """The variable at the left end of an attribute, or the package at the left end of a dotted text; nothing for what is computed."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition(".")[0]
    return node.id if isinstance(node, ast.Name) else ""


def looked_into(tree: ast.AST) -> set[str]:
    """The private names that a file imports, reads, or gives to `getattr` and `setattr`, but for those of other packages and of itself."""
    others = {here for package, _, here in imported(tree) if package not in OURS}
    found = {name for package, name, _ in imported(tree) if package in OURS and is_private(name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and root(node) not in {"self", "cls", *others}:
            found.add(node.attr)
        if isinstance(node, ast.Call) and called(node) in ("getattr", "hasattr", "setattr", "delattr"):
            texts = [a.value for a in node.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            found |= {text.rpartition(".")[2] for text in texts if is_private(text) and root(node.args[0]) not in others}
    return found


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def replaced(tree: ast.AST) -> set[str]:
    """What a file replaces by `monkeypatch.setattr`, as it is written there, unless another package is what it replaces a part of."""
    others = {here for package, _, here in imported(tree) if package not in OURS}
    found = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr"):
            continue
        target, name = node.args[0], node.args[1]
        if isinstance(target, ast.Constant):
            found |= {str(target.value)} if root(target) in OURS else set()
        elif root(target) not in others:
            found.add(ast.unparse(target) + "." + ast.unparse(name).strip("'"))
    return found


def _name(path: Path) -> str:
    """The place of a test file, without its ending."""
    name = path.with_suffix("")
    return f"papers/{name.name}" if name.is_relative_to(PAPERS) else name.relative_to(TESTS).as_posix()


@pytest.mark.parametrize("path", sorted([*TESTS.rglob("*.py"), *PAPERS.glob("*.py")]), ids=_name)
def test_no_private_name_is_looked_into_and_no_part_is_replaced_but_those_listed(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert looked_into(tree) <= LOOKED_INTO.get(_name(path), set()), "test what is promised, or make a small public part of it"
    assert replaced(tree) <= REPLACED.get(_name(path), set()), "give it as an argument, use tests.support, or replace what is outside"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from discreet.sampling.bits import _flip", {"_flip"}),
        ("from discreet.sampling import bits\nbits._flip()", {"_flip"}),
        ("import discreet as dc\ndc.Beta(1, 1)._exact", {"_exact"}),
        ("def test(ledger): return ledger._where", {"_where"}),
        ("def test(monkeypatch): monkeypatch.setattr('discreet.limits._MOST', 1)", {"_MOST"}),
        ("def test(thing): return getattr(thing, '_held')", {"_held"}),
        ("import os\nos._exit(0)", set()),
        ("def test(release): return release._repr_html_() + release.__doc__", set()),
        ("class Own:\n def get(self): return self._own", set()),
    ],
)
def test_private_names_are_found(source: str, names: set[str]) -> None:
    assert looked_into(ast.parse(source)) == names


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("monkeypatch.setattr(limits, 'COUNT', 1)", {"limits.COUNT"}),
        ("monkeypatch.setattr('discreet.limits.COUNT', 1)", {"discreet.limits.COUNT"}),
        ("monkeypatch.setattr(type(mechanism), 'sampler', 1)", {"type(mechanism).sampler"}),
        ("monkeypatch.setattr(os, 'urandom', 1)", set()),
        ("monkeypatch.setattr('tempfile.tempdir', 1)", set()),
    ],
)
def test_replaced_parts_are_found(line: str, names: set[str]) -> None:
    assert replaced(ast.parse(f"import os\nfrom discreet import limits\n{line}")) == names
