"""Formulas are MathML in the built pages, numbered in the order of reading, and a formula that cannot be converted fails the build."""

import re
from pathlib import Path

import pytest

from tests.docs.build import build_pages

pytest.importorskip("math_core", reason="the documentation's packages are not installed: pip install 'discreet[docs]'")

INDEX = """# Index

It costs \\$5 and $\\varepsilon = 1$. Neighbours ($x$, and $x'$) are alike.

$$ H^2 = 1 - \\sqrt{p\\,q} $$ (eq-first)

```{toctree}
second
first_of_the_alphabet
```
"""


def test_formulas_are_mathml_numbered_in_the_order_of_reading(tmp_path: Path) -> None:
    complaints = build_pages(
        tmp_path,
        index=INDEX,
        second="# Second\n\n$$\n\\begin{aligned} a &= b \\\\ &\\le \\binom{n}{k} \\end{aligned}\n$$ (eq-second)\n\n$$ unnumbered $$\n",
        first_of_the_alphabet="# Third\n\n$$ c $$ (eq-third)\n\nFrom {eq}`eq-second` and {eq}`eq-first` follows {eq}`eq-third`.\n",
    )
    assert complaints == ""
    pages = {page.stem: page.read_text() for page in (tmp_path / "html").glob("*.html")}
    assert 'It costs $5 and <span class="joined"><math><mi>ε</mi><mo>=</mo><mn>1</mn></math>.</span> Neighbours' in pages["index"]
    assert 'Neighbours <span class="joined">(<math><mi>x</mi></math>,</span> and' in pages["index"]
    assert '<msup><mi>x</mi><mpadded class="prime" height="0"><mo>′</mo></mpadded></msup>' in pages["index"]
    assert pages["second"].count('<math display="block">') == 2
    for page, equation, number in [("index", "eq-first", 1), ("second", "eq-second", 2), ("first_of_the_alphabet", "eq-third", 3)]:
        assert pages[page].count(f'id="equation-{equation}"') == 1
        assert f'href="#equation-{equation}" aria-label="Link to equation {number}">({number})</a>' in pages[page]
    links = re.findall(r'href="([^"]*#equation-[^"]*)">(\(\d\))', pages["first_of_the_alphabet"])
    assert links == [("second.html#equation-eq-second", "(2)"), ("index.html#equation-eq-first", "(1)"), ("#equation-eq-third", "(3)")]
    assert not any("mathjax" in page.lower().replace("mathjax_ignore", "") for page in pages.values())


def test_a_formula_that_cannot_be_converted_fails_the_build(tmp_path: Path) -> None:
    wrong = {
        "$\\unknowncommand$": "Unknown command",
        "$$ \\frac{a} $$": "Expected argument",
        "\\begin{align}\na &= b\n\\end{align}": "a numbered one is written",
        "{eq}`eq-nowhere`": "equation not found",
    }
    complaints = build_pages(tmp_path, index="# Index\n\n" + "\n\n".join(wrong) + "\n")
    assert [complaint for complaint in wrong.values() if complaint not in complaints] == []
    assert complaints.count("WARNING") == len(wrong)
