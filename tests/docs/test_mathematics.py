"""The mathematics of the pages: formulas are typeset, proofs belong to a statement and end, and the map leads to all of them."""

import re
from pathlib import Path

import pytest

from tests.docs.test_blocks import FENCE
from tests.places import DOCS, PAGES

PROVING = [page for page in PAGES if "\n**Proof" in page.read_text()]

PLAIN = re.compile(r"[ΣΠ∝Γψ∫‖]|sqrt\(")
"""What only a formula has."""
MARKS = re.compile(r"^\*\*(Statement|Corollary|Proof)\b|∎", re.MULTILINE)


def plain_formulas(text: str) -> list[str]:
    """Formulas written as code, within a line or as an indented block."""
    prose = FENCE.sub("", text)
    written = re.findall(r"`[^`\n]+`", prose) + re.findall(r"(?<=\n\n) {4}\S.*", prose)
    return [formula for formula in written if PLAIN.search(formula)]


def unsound(text: str) -> list[str]:
    """What is wrong with the order of statements, proofs and their ends."""
    found, stated, proving = [], False, False
    for mark in MARKS.finditer(text):
        kind, line = mark[1], text.count("\n", 0, mark.start()) + 1
        if kind == "Proof":
            if not stated:
                found.append(f"line {line}: a proof of nothing")
            if proving:
                found.append(f"line {line}: the proof before it does not end")
            proving = True
        elif kind:
            stated = True
        elif not proving:
            found.append(f"line {line}: an end of no proof")
        else:
            proving = False
    return found + ["the last proof does not end"] * proving


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_formulas_are_typeset(page: Path) -> None:
    assert plain_formulas(page.read_text()) == []


@pytest.mark.parametrize("page", PROVING, ids=lambda page: page.name)
def test_every_proof_has_a_statement_and_an_end(page: Path) -> None:
    assert unsound(page.read_text()) == []


def test_the_map_leads_to_every_page_with_a_proof() -> None:
    linked = set(re.findall(r"\]\((?:[./\w]*/)?([a-z_]+\.md)", (DOCS / "explain" / "mathematics.md").read_text()))
    assert {page.name for page in PROVING} <= linked
    assert len(PROVING) >= 8


def test_the_papers_that_pages_cite_are_those_of_the_list() -> None:
    cited = {paper for page in PAGES for paper in re.findall(r"\[([^]]+ [0-9]{4})\]\([^)]*mathematics\.md#literature\)", page.read_text())}
    listed = re.findall(r"^- (.+ [0-9]{4})\.$", (DOCS / "explain" / "mathematics.md").read_text(), re.MULTILINE)
    assert cited == set(listed)
    assert len(listed) > 5


def test_a_plain_formula_is_noticed() -> None:
    formulas = ["`H = sqrt(1 - x)`", "    P(z) ∝ e^{-d}"]
    assert plain_formulas(f"It is {formulas[0]}, and\n\n{formulas[1]}\n\n```python\n'Σ'\n```\nand `n = 5`, $\\Sigma$.\n") == formulas


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("**Proof.** So. ∎", "line 1: a proof of nothing"),
        ("**Statement.** A.\n\n**Proof.** So.\n", "the last proof does not end"),
        ("**Statement.** A.\n\n**Proof.** So.\n\n**Statement.** B.\n\n**Proof.** So. ∎", "line 7: the proof before it does not end"),
        ("**Statement.** A. ∎", "line 1: an end of no proof"),
    ],
)
def test_a_proof_without_a_statement_or_an_end_is_noticed(text: str, complaint: str) -> None:
    assert unsound(text) == [complaint]
