"""Summaries in pieces: the oracle is `summary()` of the whole table. No test times anything; memory is counted in batches alive."""

import json
import pickle
import weakref
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.arrays import Counts
from tests.record.table_support import KEY, released
from tests.sampling.support import PretendedSecret
from tests.support import lowered

Table: TypeAlias = dc.Release[Counts]

LABELS = ["a", "b", "c"]
BY: dict[str, list[Any]] = {
    "town": [f"town {i}" for i in range(30)],
    "day": [date(2024, 1, 1), date(2024, 1, 2)],
    "x": [1, "one", Fraction(1, 3)],
}
PUBLIC = ("sizes", "nothing")


def made(public: str, epsilon: float = 0.5) -> Table:
    """A table of 180 groups, a few of which differ from all others."""
    counts = np.random.default_rng(7).multinomial(25, [0.1, 0.3, 0.6], 180)
    counts[3:5, 1] = 0
    counts[8] = 0
    impossible = [("town 0", date(2024, 1, 2), 1, "b"), ("town 0", date(2024, 1, 2), "one", "b"), ("town 0", date(2024, 1, 2), "one", "c")]
    counts[4, 2] = 0
    own = {("town 1", date(2024, 1, 1), Fraction(1, 3)): dc.Dirichlet([9, 1, 4], LABELS)}
    n = counts.sum(axis=1) if public == "sizes" else None
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 0.5, 2], LABELS), n, epsilon, by=BY, impossible=impossible, priors=own)
    return mechanism.release(counts, source=PretendedSecret(3), steady=False)


@pytest.fixture(params=PUBLIC)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Table, Path]:
    release = made(request.param)
    release.to_parquet(path := tmp_path / "table.parquet")
    return release, path


def together(batches: Iterator[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(list(batches))


def differ(one: pa.Table, other: pa.Table) -> float:
    """The largest difference between numbers of two summaries with the same rows, as a part of what they may differ by."""
    labels, numbers = one.column_names[:-4], {"mean": 1e-9, "sd": 1e-9, "low": 1e-6, "high": 1e-6}
    assert one.schema.equals(other.schema)
    assert one.select(labels).equals(other.select(labels))
    return max(float(np.abs(one[name].to_numpy() - other[name].to_numpy()).max()) / most for name, most in numbers.items())


@pytest.mark.parametrize("cells", [6, 50, 1 << 18])
def test_pieces_are_the_summary_of_the_whole_table(written: tuple[Table, Path], cells: int) -> None:
    release, path = written
    expected = release.noise_aware().summary(0.9, "arrow")
    with lowered(PIECE_CELLS=cells):
        pieces = [*dc.summaries(path, mass=0.9)]
        assert len(pieces) == {6: 90, 50: 12, 1 << 18: 1}[cells]
    assert differ(together(iter(pieces)), expected) < 1.0
    # Negative controls: another mass, and another prior.
    assert differ(together(iter(dc.summaries(path, mass=0.91))), expected) > 1.0
    assert differ(together(iter(dc.summaries(path, dc.Dirichlet([1, 0.5, 2.0001], LABELS), mass=0.9))), expected) > 1.0


def test_intervals_leave_out_what_they_say(written: tuple[Table, Path]) -> None:
    """By the distribution of each probability, computed as for a single release."""
    release, path = written
    post, found = release.noise_aware(), together(iter(dc.summaries(path))).to_pylist()
    for row in (0, 21, 30, 100):
        group = release.cells.groups[row // 3]
        law = post[group].marginal(found[row]["category"])
        assert law.cdf(found[row]["low"]) == pytest.approx(0.025, abs=2e-7)
        assert law.sf(found[row]["high"]) == pytest.approx(0.025, abs=2e-7)


def test_a_reader_has_beliefs_of_their_own(tmp_path: Path) -> None:
    release = made("nothing")
    release.to_parquet(path := tmp_path / "table.parquet")
    prior = dc.Dirichlet([3, 1, 1])
    expected = release.noise_aware(prior, "poisson:25").summary(0.95, "arrow")
    assert differ(together(iter(dc.summaries(path, prior, "poisson:25"))), expected) < 1.0
    assert differ(together(iter(dc.summaries(path, prior))), expected) > 1.0


def test_batches_of_any_size_and_order_and_type_of_text(written: tuple[Table, Path]) -> None:
    """A pickled copy reads what another library cut, sorted and stored otherwise: bit by bit the same."""
    release, path = written
    found = pickle.loads(pickle.dumps(dc.summaries(path)))  # noqa: S301 - our own
    cells = pq.read_table(path).drop_columns("counts")
    expected = together(iter(dc.summaries(path)))
    assert together(found(cells.to_batches(max_chunksize=7))).equals(expected)
    order = np.arange(540).reshape(180, 3)[:, [2, 0, 1]].ravel()
    assert together(found(cells.take(order).combine_chunks().to_batches())).equals(expected)
    wide = cells.set_column(0, "town", cells["town"].cast(pa.large_string())).set_column(
        3, "category", cells["category"].dictionary_encode()
    )
    assert together(found(wide.combine_chunks().to_batches(max_chunksize=100))).equals(expected)
    assert found.schema == expected.schema
    assert repr(found) == "TableSummaries(180 groups by 3 categories, 95 % intervals)"
    assert [*found([])] == []
    assert release.cells.shape == (180, 3)


@pytest.mark.parametrize("rows", [2, 3, 17])
def test_pieces_are_let_go(written: tuple[Table, Path], rows: int) -> None:
    """However long the stream is, next to none of what was given or made is held."""
    _, path = written
    cells, alive = pq.read_table(path).combine_chunks(), []
    most = {"given": 0, "made": 0}

    def given() -> Iterator[pa.RecordBatch]:
        known: list[weakref.ref[Any]] = []
        for start in range(0, cells.num_rows, rows):
            batch = pa.RecordBatch.from_arrays([pa.array(c.to_pylist(), c.type) for c in cells.slice(start, rows)], schema=cells.schema)
            known.append(weakref.ref(batch))
            yield batch
            del batch
            most["given"] = max(most["given"], sum(each() is not None for each in known))

    with lowered(PIECE_CELLS=30):
        for piece in dc.summaries(path)(given()):
            alive.append(weakref.ref(piece))
            del piece
            most["made"] = max(most["made"], sum(each() is not None for each in alive))
    assert len(alive) >= 10
    assert most["given"] <= 2
    assert most["made"] <= 1
    held = [*dc.summaries(path)(given())]  # negative control: what is kept is seen
    assert len(held) == 1


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_public_total_is_refused(tmp_path: Path) -> None:
    released("total").to_parquet(path := tmp_path / "table.parquet")
    with pytest.raises(dc.RefusedError, match=r"dc.read\(path\).noise_aware\(\).summary\(\)"):
        dc.summaries(path)


def test_arguments_that_are_wrong_are_refused(tmp_path: Path) -> None:
    released("sizes").to_parquet(path := tmp_path / "sizes.parquet")
    for wrong, said in (
        ({"size_prior": "flat"}, "the size of every group is public"),
        ({"prior": dc.Dirichlet([1, 1])}, "3 categories"),
        ({"prior": {("north", 2023): dc.Dirichlet([1, 1, 1])}}, "must be a Dirichlet"),
        ({"mass": 1.5}, "mass"),
    ):
        with pytest.raises(dc.InvalidInputError, match=said):
            dc.summaries(path, **wrong)
    with pytest.raises(dc.InvalidInputError, match="is not a file"):
        dc.summaries(tmp_path / "nothing.parquet")
    (tmp_path / "text.parquet").write_text("no Parquet, but some words")
    with pytest.raises(dc.InvalidInputError, match="not a file that to_parquet wrote"):
        dc.summaries(tmp_path / "text.parquet")


def test_noise_that_is_too_wide_for_all_groups_is_refused_at_once(tmp_path: Path) -> None:
    made("nothing", 0.001).to_parquet(path := tmp_path / "wide.parquet")
    with lowered(SUMMARY_WORK=1000), pytest.raises(dc.TooLargeError, match="Less noise"):
        dc.summaries(path)


def rewritten(path: Path, **changes: Any) -> Path:
    """The file with other fields in its header."""
    table, header = pq.read_table(path), json.loads(pq.read_metadata(path).metadata[KEY])
    for name, value in changes.items():
        header[name] = {**header[name], **value} if isinstance(value, dict) else value
    place = path.with_suffix(".changed")
    with pq.ParquetWriter(place, table.schema.remove_metadata(), compression="none", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: json.dumps(header).encode()})
    return place


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"guarantee": {"epsilon": "0.1"}}, "the record claims"),
        ({"impossible": [["north", "former"]]}, "label for each column"),
        ({"impossible": [["north", 2023, "unheard of"]]}, "category must be one of"),
        ({"mechanism": "Unheard"}, "no mechanism is called"),
        ({"parameters": {"epsilon": "-1"}}, "epsilon"),
        ({"n": 2.5}, "n must be"),
        ({"impossible": [["north", 2023, "current"]]}, "raw must be an outcome"),
    ],
)
def test_a_header_that_is_wrong_is_refused(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    released("sizes").to_parquet(path := tmp_path / "table.parquet")
    assert len([*dc.summaries(rewritten(path))]) == 1
    with pytest.raises(dc.InvalidInputError, match=said) as caught:
        [*dc.summaries(rewritten(path, **changes))]
    assert len(str(caught.value).splitlines()) == 1


def test_cells_that_are_wrong_are_refused(written: tuple[Table, Path]) -> None:
    _, path = written
    found, cells = dc.summaries(path), pq.read_table(path)
    wrong: list[tuple[pa.Table, str]] = [
        (cells.drop_columns("raw"), "'raw' is not there"),
        (cells.append_column("raw", cells["raw"]), "or twice"),
        (cells.set_column(4, "raw", pa.nulls(540, pa.int64())), "must not have nulls"),
        (cells.set_column(4, "raw", pa.array(["many"] * 540)), "types of the record's file: town string"),
        (cells.slice(1), "must follow one another"),
        (cells.slice(0, 539), "must follow one another"),
        (cells.take([0, 1, 5, 3, 4, 2]), "must follow one another"),
        (cells.take([0, 1, 1]), "must follow one another"),
        (cells.set_column(3, "category", pa.array(["d"] * 540)), r"In Spark, cells\.repartition\('town', 'day', 'x'\)"),
        (cells.set_column(4, "raw", pa.array([-(2**62)] * 540)), "raw must be an outcome"),
    ]
    for table, said in wrong:
        with pytest.raises(dc.InvalidInputError, match=said):
            [*found(table.combine_chunks().to_batches())]


def test_a_column_of_groups_that_is_called_as_one_of_ours_is_refused(tmp_path: Path) -> None:
    release = dc.LatticeGeometric(dc.Dirichlet([1, 1]), None, 1, by={"mean": ["x", "y"]}).release(np.array([[1, 2], [3, 4]]))
    release.to_parquet(path := tmp_path / "table.parquet")
    with pytest.raises(dc.InvalidInputError, match="a column of the groups is called mean"):
        [*dc.summaries(path)]


@pytest.mark.parametrize(("size", "rows"), [(1 << 18, 256), (1 << 23, 8), ((1 << 28) + 1, 0)])
def test_long_labels_that_a_dictionary_repeats_are_not_written_out(size: int, rows: int, tmp_path: Path) -> None:
    """A batch of a few bytes may stand for many gigabytes of labels: pieces are shorter then, or refused."""
    release = dc.LatticeGeometric(dc.Dirichlet([1] * 4), None, 1, by={"g": ["x", "y"]}).release(np.ones((2, 4), dtype=np.int64))
    release.to_parquet(path := tmp_path / "table.parquet")
    label = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2_000, dtype=np.int32)), pa.array([b"x" * size]).cast(pa.string()))
    columns = {"g": label, "category": pa.array([*range(4)] * 500), "raw": pa.array(np.ones(2_000, dtype=np.int64))}
    found = dc.summaries(path)([pa.RecordBatch.from_pydict(columns)])
    if rows:
        assert next(found).num_rows == rows
    else:
        with pytest.raises(dc.InvalidInputError, match="too long"):
            next(found)
