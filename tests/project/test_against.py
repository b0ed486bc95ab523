"""The benchmark against an earlier revision measures the two trees it says it does. Needs a git clone."""

from pathlib import Path

import pytest
from benchmarks import against

pytestmark = pytest.mark.skipif(not (against.ROOT / ".git").exists(), reason="a source archive has no earlier revisions")


def test_a_revision_is_measured_beside_this_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert against.main(["HEAD", "nothing", "--rounds", "1"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("| nothing | ")
    assert last.count("|") == 5


def test_another_tree_than_the_one_named_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="instead of"):
        against.checked_seconds(tmp_path, "nothing")


def test_every_case_can_be_made() -> None:
    for make in against.CASES.values():
        assert callable(make())


def test_an_unknown_case_is_refused() -> None:
    with pytest.raises(SystemExit, match="2"):
        against.main(["HEAD", "no such case"])
