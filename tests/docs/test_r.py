"""The R of the documentation runs in a real R, and finds the numbers that Python finds."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.present.exports import file_of, summary_table
from tests.docs.test_blocks import FENCE, walk
from tests.places import DOCS

PAGE = DOCS / "howto" / "excel_and_r.md"
TOLD = """
numbers <- c("mean", "sd", "low", "high")
exactly <- function(values) sprintf("%.17g", unlist(values))
told <- list(csv = lapply(shares[numbers], exactly), record = lapply(summary[numbers], exactly), ages = shares$age)
told$interval <- exactly(older$interval(0.95))
odd <- read.csv("odd.csv", fileEncoding = "UTF-8-BOM", na.strings = "")
told$labels <- odd$category
told$means <- exactly(odd$mean)
writeLines(jsonlite::toJSON(told), "told.json")
"""


FORMULAS = ["=1+1", "+cmd|x", "-a", "@sum"]
"""Labels that a program may take for formulas."""


@pytest.mark.slow
def test_r_reads_the_table_and_the_record_with_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("there is no R on this machine (Debian: apt-get install r-base-core r-cran-reticulate r-cran-jsonlite)")
    walk(PAGE, tmp_path, monkeypatch)
    odd = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=FORMULAS), n=100, epsilon=1).release([10, 20, 30, 40])
    (tmp_path / "odd.csv").write_bytes(file_of(summary_table(odd), ".csv"))
    (tmp_path / "page.R").write_text("\n".join(match[2] for match in FENCE.finditer(PAGE.read_text()) if match[1] == "r") + TOLD)
    done = subprocess.run(  # noqa: S603 - our own page
        [program, "--vanilla", "page.R"],
        cwd=tmp_path,
        env={**os.environ, "RETICULATE_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "told.json").read_text())
    posterior = dc.read("table.json").noise_aware()
    assert isinstance(posterior, dc.TablePosterior)
    expected = posterior.summary()
    for name in ("mean", "sd", "low", "high"):
        assert list(map(float, told["record"][name])) == expected[name].tolist()
        read = np.array(list(map(float, told["csv"][name])))
        assert (np.abs(read - expected[name]) <= np.spacing(read)).all()  # R's own reading of decimals may miss the last bit
    assert told["ages"] == expected["age"].tolist()
    assert told["labels"] == [f"'{label}" for label in FORMULAS]  # text: with the apostrophe that keeps it from being computed
    assert list(map(float, told["means"])) == pytest.approx(odd.noise_aware().summary()["mean"].tolist(), rel=1e-15)
    assert list(map(float, told["interval"])) == list(posterior.contrast("55+", "18-34", "current").difference.interval(0.95))
    counts = dc.count("answers.csv", "smoking", ["never", "former", "current", "unknown"], nulls="unknown", na_values=["NA"])
    assert counts.counts.tolist() == [1, 0, 1, 1]
    assert dc.count("answers.csv", "visited", dc.Months("2026-11", "2026-12")).counts.tolist() == [3, 0]
