"""A record is found by what its file holds, whatever the file is called."""

from pathlib import Path

import pytest

import discreet as dc
from discreet.requests.parsing import check_different, is_same_file, read_record


@pytest.fixture
def release() -> dc.Release:
    return dc.LatticeGeometric(dc.Beta(1, 1), 9, 1).release([4, 5], steady=False)


def test_a_record_is_read_from_a_file_or_from_standard_input(release: dc.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.parquet"
    path.write_text(release.to_json())
    assert read_record(str(path)) == release
    with path.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert read_record("-") == release


def test_a_file_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(dc.InvalidInputError, match="cannot be read") as found:
        read_record(str(tmp_path / "none.json"))
    assert "\n" not in str(found.value)


def test_a_record_given_twice_is_refused_by_any_name(release: dc.Release, tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    one.write_text(release.to_json())
    other.symlink_to(one)
    assert is_same_file(one, str(other))
    with pytest.raises(dc.InvalidInputError, match="is given twice"):
        check_different([str(one), str(other)], "it would count double")
    (tmp_path / "third.json").write_text(release.to_json())
    check_different([str(one), str(tmp_path / "third.json")], "it would count double")
