"""The page shows the digits that the shell shows of the same record."""

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from tests.cli.support import invoke
from tests.web.read.reader import BY, CROSSED, opened
from tests.web.server import Server

COUNTS = np.array([[3, 12, 9000], [2, 20, 6000], [1, 7, 2200], [4, 3, 800]])
"""Shares of which some have much narrower intervals than others."""


@pytest.mark.parametrize(("words", "fields"), [([], {}), (["--about", "records"], {"about": "records"}), (["--over", "region"], None)])
def test_the_page_and_the_shell_show_the_same_digits(
    server: Server, tmp_path: Path, words: list[str], fields: dict[str, str] | None
) -> None:
    prior = dc.Dirichlet.uniform(categories=["never", "former", "current"])
    release = dc.LatticeGeometric(prior, COUNTS.sum(axis=1).tolist(), 1, by=BY).release(COUNTS)
    (path := tmp_path / "record.json").write_text(release.to_json())
    lines = [line.split("│") for line in invoke("show", path, *words).stdout.splitlines() if line.startswith("│")]
    typed = {tuple(cell.strip() for cell in line[-3 if len(words) < 2 or words[1] == "region" else -4 : -1]) for line in lines}
    reader = opened(server, release)
    page = reader.ask("margins", over="1") if fields is None else reader.ask("answer", **fields)
    shown = {tuple(text.replace("\u00a0", " ") for text in row[2:]) for row in page.rows if len(row) in (4, 5) and "%" in row[2]}
    cells = [found for row in page.rows for cell in row[1:] if (found := CROSSED.fullmatch(cell)) is not None]
    shown = {(f"{found[1]} %", f"{found[2]} to {found[3]} %") for found in cells} or shown  # a cross table, or one for each category
    assert len(shown) > 3
    assert shown == typed
