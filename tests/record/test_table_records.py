"""Records of tables: written to JSON and Parquet and read back exactly, opened by any reader, and refused when they are none."""

import copy
import json
import os
import pickle
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.arrays import Counts
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.record.release import is_table
from tests.record.table_support import BY, CATEGORIES, COUNTS, KEY, PUBLIC, released
from tests.sampling.support import PretendedSecret
from tests.support import lowered, planted

LABELS: st.SearchStrategy[Any] = st.one_of(
    st.text(max_size=6),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.dates(),
    st.datetimes(),
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.none(),
)


def distinct(labels: st.SearchStrategy[Any], fewest: int, most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(labels, min_size=fewest, max_size=most, unique_by=(lambda label: str(label).lower(), lambda label: label))


@st.composite
def declared(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Groups of one to three columns, of one type of label or of several."""
    names = draw(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=5) | st.sampled_from(["raw", "Category", "a.b", "a"]),
                          min_size=1, max_size=3, unique=True))  # fmt: skip
    kinds = st.sampled_from([st.text(max_size=6), st.integers(-(2**63), 2**63 - 1), st.dates(), st.booleans(), st.floats(-9, 9), LABELS])
    return {name: draw(distinct(draw(kinds), 1, 3 if len(names) > 1 else 6)) for name in names}


@st.composite
def tables(draw: st.DrawFn) -> dc.Release[Counts]:
    by = draw(declared())
    k = draw(st.integers(2, 3))
    categories = draw(distinct(LABELS, k, k))
    prior = dc.Dirichlet(draw(st.lists(st.fractions(Fraction(1, 50), 50), min_size=k, max_size=k)), categories)
    groups = LatticeGeometric(prior, None, 1, by=by)._table.cells.groups
    counts = np.array(draw(st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=len(groups), max_size=len(groups))))
    impossible = [(*groups.key(g), categories[0]) for g in draw(st.sets(st.integers(0, len(groups) - 1), max_size=2))]
    own = {groups[g]: dc.Dirichlet([2] * k, categories) for g in draw(st.sets(st.integers(0, len(groups) - 1), max_size=2))}
    impossible = impossible if k > 2 else []
    for cell in impossible:
        counts[groups.index(cell[:-1]), 0] = 0
    counts[-1, 1:] += 1
    n = draw(st.sampled_from([None, int(counts.sum()), tuple(counts.sum(axis=1).tolist())]))
    shares = [*range(1, len(groups) + 1)] if isinstance(n, int) and draw(st.booleans()) else None
    made = LatticeGeometric(prior, n, draw(st.floats(0.05, 5)), by=by, impossible=impossible, shares=shares, priors=own)
    released = made.release(counts, unit=draw(st.sampled_from(["record", "person"])), source=PretendedSecret(draw(st.integers(0, 99))))
    assert is_table(released)
    return released


def same(again: dc.Release, release: dc.Release[Counts]) -> None:
    assert is_table(again)
    assert again == release
    assert hash(again) == hash(release)
    assert again.mechanism == release.mechanism
    assert (again.n, again.sizes, again.parameters, again.cells) == (release.n, release.sizes, release.parameters, release.cells)
    kinds = [[type(label) for label in column] for column in (*again.cells.groups.labels, again.cells.categories)]
    assert kinds == [[type(label) for label in column] for column in (*release.cells.groups.labels, release.cells.categories)]
    assert not again.raw.flags.writeable
    assert not again.counts.flags.writeable
    assert again.to_json() == release.to_json()


# --- round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("examples", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_a_table_is_read_back_exactly(examples: int, tmp_path: Path) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(tables())
    def one(release: dc.Release[Counts]) -> None:
        same(dc.Release.from_json(release.to_json()), release)
        (tmp_path / "table.parquet").unlink(missing_ok=True)
        release.to_parquet(tmp_path / "table.parquet")
        same(dc.Release.from_parquet(tmp_path / "table.parquet"), release)
        same(dc.Release.from_parquet(BytesIO((tmp_path / "table.parquet").read_bytes())), release)
        for other in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release), copy.copy(release)):  # noqa: S301
            same(other, release)

    one()
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize(
    "label", [date(2024, 2, 29), datetime(2024, 2, 29, 12), Decimal("1.50"), Fraction(-1, 3), None, True, -0.0, 2**63, "é\ud800", "\x00"]
)
def test_labels_of_groups_keep_their_type(label: Any, tmp_path: Path) -> None:
    release = LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": [label]}).release([[2, 3]])
    assert is_table(release)
    release.to_parquet(tmp_path / "x.parquet")
    for again in (dc.Release.from_json(release.to_json()), dc.Release.from_parquet(tmp_path / "x.parquet")):
        assert is_table(again)
        (found,) = again.cells.groups
        assert (found, type(found), repr(found)) == (label, type(label), repr(label))


def test_the_written_form_is_the_documented_one() -> None:
    """The example of docs/reference/release.md, whole: a change here is a change of version."""
    release = released(priors={("south", 2024): dc.Dirichlet([1, 1, 1], categories=CATEGORIES)})
    assert json.loads(release.to_json()) == {
        "format": "discreet release",
        "version": 3,
        "mechanism": "LatticeGeometric",
        "parameters": {"epsilon": "1/2", "projection": "euclidean"},
        "prior": {"family": "Dirichlet", "concentration": ["1", "1/2", "2"], "categories": ["never", "former", "current"]},
        "n": [5, 7, 8, 6],
        "groups": [{"column": "region", "labels": ["north", "south"]}, {"column": "year", "labels": [2023, 2024]}],
        "impossible": [["north", 2023, "former"]],
        "shares": None,
        "priors": [
            {
                "group": ["south", 2024],
                "prior": {"family": "Dirichlet", "concentration": ["1", "1", "1"], "categories": ["never", "former", "current"]},
            }
        ],
        "guarantee": {
            "epsilon": "0.5",
            "delta": "0.0",
            "basis": "proof",
            "unit": "person",
            "neighbours": 'replace one within ["region", "year"]',
        },
        "raw": release.raw.tolist(),
        "counts": release.counts.tolist(),
    }


def test_one_table_has_one_description() -> None:
    """However cells and groups are spelled and in whatever order they are given."""
    own = dc.Dirichlet([1, 1, 1], categories=CATEGORIES)
    cells: list[tuple[Any, ...]] = [("south", 2024, "never"), ("north", 2023, "former")]
    first = LatticeGeometric(own, None, 1, by=BY, impossible=cells, priors={("south", 2023): own, ("north", 2024): own})
    cells = [("north", "2023", "former"), ("south", np.int64(2024), "never"), ("south", 2024, "never")]
    second = LatticeGeometric(own, None, 1, by=BY, impossible=cells, priors={("north", "2024"): own, ("south", 2023): own})
    assert first == second
    assert first.impossible == (("north", 2023, "former"), ("south", 2024, "never"))
    assert [group for group, _ in first.priors] == [("north", 2024), ("south", 2023)]


# --- any reader -------------------------------------------------------------------------------------------------------


def cells(release: dc.Release[Counts]) -> list[tuple[Any, ...]]:
    """A row for each cell, from the definition."""
    return [
        (*release.cells.groups.key(g), category, int(release.raw[g, c]), int(release.counts[g, c]))
        for g in range(len(release.cells.groups))
        for c, category in enumerate(release.cells.categories)
    ]


def test_any_reader_opens_the_file(tmp_path: Path) -> None:
    release = released()
    release.to_parquet(path := tmp_path / "table.parquet")
    names = ["region", "year", "category", "raw", "counts"]
    assert duckdb.read_parquet(str(path)).select(*names).fetchall() == cells(release)
    assert [*pd.read_parquet(path)[names].itertuples(index=False, name=None)] == cells(release)
    assert pl.read_parquet(path).select(names).rows() == cells(release)
    groups = duckdb.read_parquet(str(path)).aggregate("region, year, sum(counts)").order("region, year").fetchall()
    assert [size for *_, size in groups] == [*PUBLIC["sizes"]]
    ((_, key, header),) = duckdb.execute("FROM parquet_kv_metadata(?)", [str(path)]).fetchall()
    assert (key, json.loads(header)["version"]) == (KEY, 3)


def test_columns_of_groups_keep_their_names(tmp_path: Path) -> None:
    """What is called like one of ours makes ours give way, also where a reader does not tell capital letters from small ones."""
    release = LatticeGeometric(dc.Beta(1, 1, ["a", "b"]), None, 1, by={"RAW": ["x"], "category": ["y"]}).release([[2, 3]])
    assert is_table(release)
    release.to_parquet(path := tmp_path / "table.parquet")
    assert pq.read_schema(path).names == ["RAW", "category", "category_", "raw_", "counts"]
    same(dc.Release.from_parquet(path), release)


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_a_large_table_is_written_to_parquet_alone(tmp_path: Path) -> None:
    release = released("total")
    text = release.to_json()
    with lowered(RECORD_CELLS=11):
        with pytest.raises(dc.InvalidInputError, match=r" 12 cells .* 11\).*to_parquet"):
            release.to_json()
        with pytest.raises(dc.InvalidInputError, match="is read from Parquet"):
            dc.Release.from_json(text)
        release.to_parquet(tmp_path / "table.parquet")
        assert dc.Release.from_parquet(tmp_path / "table.parquet") == release
    with lowered(RECORD_CHARACTERS=len(text) - 1), pytest.raises(dc.InvalidInputError, match=r"labels .*too long"):
        release.to_json()


def test_what_a_record_cannot_hold_is_refused_before_it_is_paid_for() -> None:
    made = released("total", shares=[1, 1, 2, "1/3"]).mechanism
    with lowered(RECORD_CHARACTERS=1000), pytest.raises(dc.InvalidInputError, match="declare fewer"):
        made.prepare(COUNTS)
    odd = LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": ["x", b"y"]})
    with pytest.raises(dc.InvalidInputError, match="type bytes cannot be written"):
        odd.prepare([[1, 2], [3, 4]])
    long = LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": ["x", 10**1001]})
    with pytest.raises(dc.InvalidInputError, match="at most 1,000 digits"):
        long.prepare([[1, 2], [3, 4]])
    with lowered(TABLE_CELLS=7), pytest.raises(dc.InvalidInputError, match="more than the 7 cells"):
        LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": range(4)})


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "k"), [(100_000, 5), (1_000_000, 3)])
def test_many_groups(groups: int, k: int, tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(20, (groups, k))
    prior = dc.Dirichlet.uniform(k)
    release = LatticeGeometric(prior, counts.sum(axis=1), 1, by={"place": [f"place {i}" for i in range(groups)]}).release(counts)
    assert is_table(release)
    release.to_parquet(path := tmp_path / "table.parquet")
    assert dc.Release.from_parquet(path) == release
    pieces = pq.read_metadata(path)
    assert [pieces.row_group(i).num_rows % k for i in range(pieces.num_row_groups)] == [0] * pieces.num_row_groups  # whole groups
    assert pieces.num_row_groups > 1
    assert duckdb.read_parquet(str(path)).aggregate("count(*), sum(raw), sum(counts)").fetchall() == [(groups * k, release.n, release.n)]


# --- the file ---------------------------------------------------------------------------------------------------------


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    release = released()
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("taken", "link"):
        with pytest.raises(dc.InvalidInputError, match=r"exists; .* not overwritten"):
            release.to_parquet(tmp_path / name)
    with pytest.raises(dc.InvalidInputError, match="a folder that exists"):
        release.to_parquet(tmp_path / "no" / "table.parquet")
    assert (tmp_path / "taken").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"taken", "link"}


def test_a_file_that_comes_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def busy(descriptor: int) -> None:
        (tmp_path / "table.parquet").write_text("theirs")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", busy)
    with pytest.raises(dc.InvalidInputError, match="exists"):
        released().to_parquet(tmp_path / "table.parquet")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("table.parquet", "theirs")]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_half_a_file_is_not_left(error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(dc.DiscreetError if isinstance(error, OSError) else KeyboardInterrupt):
        released().to_parquet(tmp_path / "table.parquet")
    assert [*tmp_path.iterdir()] == []


def test_a_file_is_written_where_there_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    release = released()
    release.to_parquet(tmp_path / "table.parquet")
    assert dc.Release.from_parquet(tmp_path / "table.parquet") == release
    assert len([*tmp_path.iterdir()]) == 1


# --- for people -------------------------------------------------------------------------------------------------------


def test_what_people_see() -> None:
    release = released()
    assert repr(release).startswith("Release(LatticeGeometric, 4 groups by 3 categories, public sizes, ")
    assert "n=26" in repr(released("total"))
    assert "private n" in repr(released("nothing"))
    assert (release.n, release.sizes) == (26, (5, 7, 8, 6))
    assert (released("total").n, released("total").sizes) == (26, None)
    assert (released("nothing").n, released("nothing").sizes) == (None, None)
    assert release.parameters == {"epsilon": Fraction(1, 2), "projection": "euclidean"}
    assert not hasattr(release, "reported")
    with pytest.raises(AttributeError, match=r"noise_aware\(\)\[group\]"):
        _ = release.reported
    html = release._repr_html_()
    for text in ("<th>north, 2023</th>", "<th>region, year</th>", "<th>never</th>", f"<td>{release.counts[0, 0]}</td>"):
        assert text in html
    assert "by=Groups(region: 2, year: 2)" in repr(release.mechanism)


def test_foreign_labels_are_escaped_and_long_tables_cut() -> None:
    labels = ["<script>", "\x1b[2J", "\u202eevil", *range(50)]
    prior = dc.Dirichlet.uniform(categories=["<b>", *range(30)])
    release = LatticeGeometric(prior, None, 1, by={"<i>\x1b": labels}).release(np.ones((53, 31), dtype=np.int64))
    html = release._repr_html_()
    assert not any(text in html for text in ("<script>", "<b>", "<i>", "\x1b", "\u202e"))
    assert "33 more" in html
    assert html.count("<tr>") == 22
    assert "\x1b" not in repr(release) + repr(release.mechanism)


def test_equality_looks_at_everything() -> None:
    release = released()
    assert release != released(seed=2)
    assert release != released("total")
    assert release != dc.LatticeGeometric(dc.Beta(1, 1), 5, 1).release([2, 3])
    for name in ("raw", "counts"):
        changed = {"raw": release.raw, "counts": release.counts, name: getattr(release, name) + 1}
        assert dc.Release(release.mechanism, release.guarantee, **changed) != release


# --- nothing private --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", PUBLIC)
def test_what_is_written_does_not_depend_on_the_answers(public: str, tmp_path: Path) -> None:
    """With a draw that ignores the data, two tables with the same public numbers give the same bytes; with one that repeats them, not."""
    prior, drawn = dc.Dirichlet([1, 1, 1], categories=CATEGORIES), np.array([[1, 2, 2], [7, 0, 0], [9, -1, 0], [6, 0, 0]])
    other = COUNTS[:, ::-1].copy()
    for outcome, same_bytes in ((drawn, True), (None, False)):
        seen = []
        for name, counts in (("one", COUNTS), ("two", other)):
            path = tmp_path / f"{name}-{same_bytes}.parquet"
            with planted(LatticeGeometric, outcome):  # type: ignore[arg-type]
                found = LatticeGeometric(prior, PUBLIC[public], 1, by=BY).release(counts)
            assert is_table(found)
            found.to_parquet(path)
            seen.append((path.read_bytes(), found.to_json(), repr(found), found._repr_html_(), pickle.dumps(found), hash(found)))
        assert [a == b for a, b in zip(*seen, strict=True)] == [same_bytes or i == 2 for i in range(6)]
