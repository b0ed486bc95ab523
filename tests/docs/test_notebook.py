"""Notebooks, in a real Jupyter kernel: with ipywidgets and without them, which DuckDB's progress bar needs and discreet does not."""

import json
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.places import EXAMPLES

TOUR, READING = EXAMPLES / "tour.ipynb", EXAMPLES / "reading.ipynb"

FEW_CELLS = (
    'import discreet as dc; counts = dc.count("survey.csv", "smoking", ["never", "former", "current"], privacy_id="participant"); counts',
    'dc.LatticeGeometric(dc.Dirichlet.uniform(categories=["never", "former", "current"]), counts.total, 1).release(counts)',
    '_.plot(variable="smoking");',
    "dc.verify(dc.LatticeGeometric(dc.Beta(1, 1), 20, 1))",
    "import duckdb; duckdb.connect().execute('SET enable_progress_bar = false')",
)
"""Counts a file, shows a release, draws it, verifies; last, what discreet must not do where there are no ipywidgets."""

SAID = {
    TOUR: ("verdict: holds", "left: ε = 0.9", "the release needs ε = 1 and 'survey' has ε = 0.9 left of ε = 1; nothing was spent"),
    READING: ("ε = 1 differential privacy by proof", "Groups(age: 3) ('never', 'former', 'current') 1500", "(1000, 3, 3)"),
}
"""What each notebook prints, among other things."""

WITHOUT = """\
import sys

sys.modules["ipywidgets"] = None  # Python's way to say that a module cannot be imported
"""
WIDGETS = [pytest.param(True, id="with ipywidgets"), pytest.param(False, id="without ipywidgets")]


def run(cells: list[Any], folder: Path, *, widgets: bool, stop: bool = True) -> list[list[Any]]:
    """The outputs of each cell, run one after the other in a new kernel in this folder."""
    shutil.copy(EXAMPLES / "survey.csv", folder)
    first = nbformat.v4.new_code_cell("import ipywidgets" if widgets else WITHOUT)
    notebook = nbformat.v4.new_notebook(cells=[first, *cells])
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place, allow_errors=not stop).execute()
    assert [path.name for path in folder.iterdir()] == ["survey.csv"]
    return [cell.outputs for cell in notebook.cells[1:] if cell.cell_type == "code"]


def kinds(outputs: list[Any]) -> set[str]:
    """What a cell showed: media types, or the name of a stream."""
    return {kind for output in outputs for kind in (output.get("data") or {output.get("name", "error"): None})}


@pytest.mark.parametrize("widgets", WIDGETS)
def test_a_kernel_counts_a_file_shows_a_release_and_draws_it(widgets: bool, tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(text) for text in FEW_CELLS]
    counted, released, drawn, verified, switched = run(cells, tmp_path, widgets=widgets, stop=False)
    assert counted[0].data["text/plain"] == "CategoryCounts(3 categories, unit='person')"
    assert kinds(released) == {"text/plain", "text/html"}
    assert released[0].data["text/html"].count("<tr>") == 4
    assert kinds(drawn) == {"text/plain", "image/png"}
    assert kinds(verified) == {"text/plain", "text/html"}
    assert kinds(switched) == ({"text/plain"} if widgets else {"error"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "widgets", "pictures", "tables"),
    [(TOUR, True, 2, 3), (TOUR, False, 2, 3), (READING, False, 1, 5)],
    ids=["tour", "tour without ipywidgets", "reading"],
)
def test_notebooks_run(path: Path, widgets: bool, pictures: int, tables: int, tmp_path: Path) -> None:
    outputs = run(nbformat.read(path, as_version=4).cells, tmp_path, widgets=widgets)
    shown = [kinds(found) for found in outputs]
    assert set().union(*shown) == {"text/plain", "text/html", "image/png", "stdout"}
    assert sum("image/png" in kind for kind in shown) == pictures
    assert sum("text/html" in kind for kind in shown) == tables
    printed = "".join(output.text for found in outputs for output in found if output.output_type == "stream")
    for words in SAID[path]:
        assert words in printed


@pytest.mark.parametrize("path", [TOUR, READING], ids=lambda path: path.name)
def test_notebooks_are_committed_without_outputs(path: Path) -> None:
    """Outputs would go stale, and those of private data would be published."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(notebook)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 10
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
