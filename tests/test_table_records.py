"""Records of tables: written to JSON and Parquet and read back exactly, opened by any reader, and refused when they are none."""

import copy
import json
import os
import pickle
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.record.table_release import TableRelease
from tests.sampling_support import PretendedSecret
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
KEY = b"discreet release"


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
def tables(draw: st.DrawFn) -> TableRelease:
    by = draw(declared())
    k = draw(st.integers(2, 3))
    categories = draw(distinct(LABELS, k, k))
    prior = dc.Dirichlet(draw(st.lists(st.fractions(Fraction(1, 50), 50), min_size=k, max_size=k)), categories)
    groups = LatticeGeometric(prior, None, 1, by=by).table.cells.groups
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
    assert isinstance(released, TableRelease)
    return released


CATEGORIES = ("never", "former", "current")
BY = {"region": ["north", "south"], "year": [2023, 2024]}
COUNTS = np.array([[3, 0, 2], [5, 1, 1], [0, 4, 4], [2, 2, 2]])
PUBLIC: dict[str, Any] = {"sizes": COUNTS.sum(axis=1), "total": int(COUNTS.sum()), "nothing": None}


def released(public: str = "sizes", seed: int = 1, **options: Any) -> TableRelease:
    prior = dc.Dirichlet([1, "1/2", 2], categories=CATEGORIES)
    options = {"impossible": [("north", 2023, "former")], **options}
    found = LatticeGeometric(prior, PUBLIC[public], "0.5", by=BY, **options).release(COUNTS, unit="person", source=PretendedSecret(seed))
    assert isinstance(found, TableRelease)
    return found


def same(again: dc.Release, release: TableRelease) -> None:
    assert isinstance(again, TableRelease)
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


@pytest.mark.parametrize("examples", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_a_table_is_read_back_exactly(examples: int, tmp_path: Path) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(tables())
    def one(release: TableRelease) -> None:
        same(dc.Release.from_json(release.to_json()), release)
        (tmp_path / "table.parquet").unlink(missing_ok=True)
        release.to_parquet(tmp_path / "table.parquet")
        same(dc.Release.from_parquet(tmp_path / "table.parquet"), release)
        for other in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release), copy.copy(release)):  # noqa: S301
            same(other, release)

    one()
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize(
    "label", [date(2024, 2, 29), datetime(2024, 2, 29, 12), Decimal("1.50"), Fraction(-1, 3), None, True, -0.0, 2**63, "é\ud800", "\x00"]
)
def test_labels_of_groups_keep_their_type(label: Any, tmp_path: Path) -> None:
    release = LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": [label]}).release([[2, 3]])
    assert isinstance(release, TableRelease)
    release.to_parquet(tmp_path / "x.parquet")
    for again in (dc.Release.from_json(release.to_json()), dc.Release.from_parquet(tmp_path / "x.parquet")):
        assert isinstance(again, TableRelease)
        (found,) = again.cells.groups
        assert (found, type(found), repr(found)) == (label, type(label), repr(label))


def test_the_written_form_is_the_documented_one() -> None:
    """The example of docs/release.md, whole: a change here is a change of version."""
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
    cells = [("south", 2024, "never"), ("north", 2023, "former")]
    first = LatticeGeometric(own, None, 1, by=BY, impossible=cells, priors={("south", 2023): own, ("north", 2024): own})
    cells = [("north", "2023", "former"), ("south", np.int64(2024), "never"), ("south", 2024, "never")]
    second = LatticeGeometric(own, None, 1, by=BY, impossible=cells, priors={("north", "2024"): own, ("south", 2023): own})
    assert first == second
    assert first.impossible == (("north", 2023, "former"), ("south", 2024, "never"))
    assert [group for group, _ in first.priors] == [("north", 2024), ("south", 2023)]


# --- any reader -------------------------------------------------------------------------------------------------------


def cells(release: TableRelease) -> list[tuple[Any, ...]]:
    """A row for each cell, from the definition."""
    return [
        (*key, category, int(release.raw[g, c]), int(release.counts[g, c]))
        for g, key in enumerate(release.cells.groups)
        for c, category in enumerate(release.cells.categories)
    ]


def test_any_reader_opens_the_file(tmp_path: Path) -> None:
    release = released()
    release.to_parquet(path := tmp_path / "table.parquet")
    names = ["region", "year", "category", "raw", "counts"]
    assert duckdb.sql(f"SELECT {', '.join(names)} FROM '{path}'").fetchall() == cells(release)
    assert [*pd.read_parquet(path)[names].itertuples(index=False, name=None)] == cells(release)
    assert pl.read_parquet(path).select(names).rows() == cells(release)
    groups = duckdb.sql(f"SELECT sum(counts) FROM '{path}' GROUP BY region, year ORDER BY region, year").fetchall()
    assert [size for (size,) in groups] == [*PUBLIC["sizes"]]
    ((_, key, header),) = duckdb.sql(f"FROM parquet_kv_metadata('{path}')").fetchall()
    assert (key, json.loads(header)["version"]) == (KEY, 3)


def test_columns_of_groups_keep_their_names(tmp_path: Path) -> None:
    """What is called like one of ours makes ours give way, also where a reader does not tell capital letters from small ones."""
    release = LatticeGeometric(dc.Beta(1, 1, ["a", "b"]), None, 1, by={"RAW": ["x"], "category": ["y"]}).release([[2, 3]])
    assert isinstance(release, TableRelease)
    release.to_parquet(path := tmp_path / "table.parquet")
    assert pq.read_schema(path).names == ["RAW", "category", "category_", "raw_", "counts"]
    same(dc.Release.from_parquet(path), release)


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_a_large_table_is_written_to_parquet_alone(tmp_path: Path) -> None:
    release = released("total")
    text = release.to_json()
    with lowered(RECORD_CELLS=11):
        with pytest.raises(dc.InvalidInputError, match=r"^a table of 12 cells is too large for JSON \(at most 11\).*to_parquet"):
            release.to_json()
        with pytest.raises(dc.InvalidInputError, match="is read from Parquet"):
            dc.Release.from_json(text)
        release.to_parquet(tmp_path / "table.parquet")
        assert dc.Release.from_parquet(tmp_path / "table.parquet") == release
    with lowered(RECORD_CHARACTERS=len(text) - 1), pytest.raises(dc.InvalidInputError, match="labels of this table are too long"):
        release.to_json()


def test_what_a_record_cannot_hold_is_refused_before_it_is_paid_for() -> None:
    made = released("total", shares=[1, 1, 2, "1/3"]).mechanism
    with lowered(RECORD_CHARACTERS=1000), pytest.raises(dc.InvalidInputError, match="declare fewer"):
        made.check_release(COUNTS)
    odd = LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": ["x", b"y"]})
    with pytest.raises(dc.InvalidInputError, match="type bytes cannot be written"):
        odd.check_release([[1, 2], [3, 4]])
    long = LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": ["x", 10**1001]})
    with pytest.raises(dc.InvalidInputError, match="at most 1,000 digits"):
        long.check_release([[1, 2], [3, 4]])
    with lowered(CELLS=7), pytest.raises(dc.InvalidInputError, match="more than the 7 cells"):
        LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": range(4)})


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "k"), [(100_000, 5), (1_000_000, 3)])
def test_many_groups(groups: int, k: int, tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(20, (groups, k))
    prior = dc.Dirichlet.uniform(k)
    release = LatticeGeometric(prior, counts.sum(axis=1), 1, by={"place": [f"place {i}" for i in range(groups)]}).release(counts)
    assert isinstance(release, TableRelease)
    release.to_parquet(path := tmp_path / "table.parquet")
    assert dc.Release.from_parquet(path) == release
    assert duckdb.sql(f"SELECT count(*), sum(raw), sum(counts) FROM '{path}'").fetchall() == [(groups * k, release.n, release.n)]


# --- the file ---------------------------------------------------------------------------------------------------------


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    release = released()
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("taken", "link"):
        with pytest.raises(dc.InvalidInputError, match="exists; a release cannot be drawn again, so it is not overwritten"):
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
    assert repr(release).startswith("TableRelease(LatticeGeometric, 4 groups by 3 categories, public sizes, ")
    assert "n=26" in repr(released("total"))
    assert "private n" in repr(released("nothing"))
    assert (release.n, release.sizes) == (26, (5, 7, 8, 6))
    assert (released("total").n, released("total").sizes) == (26, None)
    assert (released("nothing").n, released("nothing").sizes) == (None, None)
    assert release.parameters == {"epsilon": Fraction(1, 2), "projection": "euclidean"}
    with pytest.raises(dc.RefusedError, match="posterior for each group"):
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
        assert TableRelease(release.mechanism, release.guarantee, **changed) != release


# --- hostile JSON -----------------------------------------------------------------------------------------------------

PROMISE = {"epsilon": "0.5", "delta": "0.0", "basis": "proof", "unit": "person", "neighbours": 'replace one within ["region", "year"]'}
PRIOR = {"family": "Dirichlet", "concentration": ["1", "1/2", "2"], "categories": [*CATEGORIES]}
REGION, YEAR = {"column": "region", "labels": ["north", "south"]}, {"column": "year", "labels": [2023, 2024]}


def changed(**changes: Any) -> str:
    return json.dumps({**json.loads(released().to_json()), **changes})


@pytest.mark.parametrize(
    "changes",
    [
        *({"version": version} for version in (1, 2, 4, "3", 3.0, None)),
        *(
            {"n": n}
            for n in (25, None, 0, -5, "26", 26.0, [], [5, 7, 8], [5, 7, 8, 7], [5, 7, 8, 6.0], [5, 7, 8, -6], [5, 7, 8, 2**60], [[5]])
        ),
        *({"groups": groups} for groups in (None, [], {}, [1], [REGION], [YEAR, REGION], [REGION, REGION], [REGION, {"column": "year"}])),
        {"groups": [REGION, {**YEAR, "type": "text"}]},
        {"groups": [{**REGION, "column": ""}, YEAR]},
        {"groups": [{**REGION, "column": 3}, YEAR]},
        {"groups": [{**REGION, "column": "\ud800"}, YEAR]},
        {"groups": [{**REGION, "column": "x" * 5000}, YEAR]},
        *(
            {"groups": [{**REGION, "labels": labels}, YEAR]}
            for labels in ("ab", [], ["north"], ["north", "north"], ["north", ["x"]], [1, "1"])
        ),
        {"groups": [{**REGION, "labels": ["north", "x" * 5000]}, YEAR]},
        {"groups": [{**REGION, "labels": ["north", "west"]}, YEAR], "impossible": [["south", 2023, "former"]]},
        {"groups": [{**REGION, "labels": ["south", "north"]}, YEAR]},
        *(
            {"impossible": cells}
            for cells in (None, "x", ["north"], [["north", 2023]], [["north", 2023, "x"]], [["north", "2023", "former"]])
        ),
        {"impossible": [["north", 2023, "former"]] * 2},
        {"impossible": [["north", 2023, "former"], ["north", 2023, "never"]]},
        *({"shares": shares} for shares in ([], ["1"] * 4, ["1"] * 3, "1111", [1, 1, 1, 1], 3)),
        *({"priors": priors} for priors in (None, {}, [1], [{}], [{"group": ["north", 2023]}], [{"group": "north", "prior": PRIOR}])),
        {"priors": [{"group": ["west", 2023], "prior": PRIOR}]},
        {"priors": [{"group": ["north"], "prior": PRIOR}]},
        {"priors": [{"group": ["north", 2023], "prior": {**PRIOR, "categories": ["a", "b", "c"]}}]},
        {"priors": [{"group": ["north", 2023], "prior": PRIOR}] * 2},
        {"priors": [{"group": ["south", 2023], "prior": PRIOR}, {"group": ["north", 2024], "prior": PRIOR}]},
        *({name: rows} for name in ("raw", "counts") for rows in (None, [], 3, [1, 2, 3], [[1, 2, 3]], [[]] * 4, [[5, 0, 0, 0]] * 4)),
        *(
            {"raw": [row, [7, 0, 0], [8, 0, 0], [6, 0, 0]]}
            for row in ([5, 0], ["5", 0, 0], [5.0, 0, 0], [True, 0, 4], [2**63, 0, 5 - 2**63])
        ),
        {"raw": [[2**62, 0, 5 - 2**62], [7, 0, 0], [8, 0, 0], [6, 0, 0]]},
        {"raw": [[2**63 - 1, 0, 0], [7, 0, 0], [8, 0, 0], [6, 0, 0]]},
        {"raw": [[4, 0, 0], [7, 0, 0], [8, 0, 0], [6, 0, 0]], "counts": [[4, 0, 0], [7, 0, 0], [8, 0, 0], [6, 0, 0]]},
        {"raw": [[4, 1, 0], [7, 0, 0], [8, 0, 0], [6, 0, 0]], "counts": [[4, 1, 0], [7, 0, 0], [8, 0, 0], [6, 0, 0]]},
        {"raw": [[5, 0, 0], [7, 0, 0], [8, 0, 0], [6, 0, 0]], "counts": [[4, 0, 1], [7, 0, 0], [8, 0, 0], [6, 0, 0]]},
        {"raw": [[5, 0, 0], [7, 0, 0], [8, 0, 0], [6, 0, 0]], "counts": [[5, 0, 0], [7, 0, 0], [8, 0, 0]]},
        {"mechanism": "LaplaceZhang"},
        {
            "mechanism": "Remapped",
            "parameters": {"mechanism": "LatticeGeometric", "options": {"epsilon": "1/2", "projection": "euclidean"}},
        },
        {"parameters": {"epsilon": "1/2", "projection": "cut"}},
        {"parameters": {"epsilon": "1/2", "by": "region"}},
        {"parameters": {"epsilon": "1/2", "impossible": ""}},
        {"prior": {**PRIOR, "categories": ["never", "other", "current"]}},
        {"prior": {**PRIOR, "concentration": ["1", "1"], "categories": ["never", "former"]}},
        {"guarantee": {**PROMISE, "epsilon": "0.4"}},
        {"guarantee": {**PROMISE, "neighbours": "replace one"}},
        {"guarantee": {**PROMISE, "neighbours": 'replace one within ["region"]'}},
        {"guarantee": {**PROMISE, "neighbours": "add or remove one"}},
        {"guarantee": {**PROMISE, "basis": "computation"}},
        {"extra": 1},
    ],
    ids=lambda changes: ascii(changes)[:60],
)
def test_a_changed_table_is_refused_in_one_line(changes: dict[str, Any]) -> None:
    with pytest.raises((dc.InvalidInputError, dc.ClaimError)) as raised:
        dc.Release.from_json(changed(**changes))
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 500
    assert dc.Release.from_json(changed()) == released()  # the same text without the change


def test_every_field_is_needed_once() -> None:
    body = json.loads(released().to_json())
    for name in body:
        with pytest.raises(dc.InvalidInputError):
            dc.Release.from_json(json.dumps({key: value for key, value in body.items() if key != name}))
        text = json.dumps(body)
        with pytest.raises(dc.InvalidInputError, match="repeats one"):
            dc.Release.from_json(f'{text[:-1]}, "{name}": {json.dumps(body[name])}}}')


@pytest.mark.parametrize("field", ["groups", "impossible", "shares", "priors"])
def test_versions_are_not_mixed_up(field: str) -> None:
    single = dc.LatticeGeometric(dc.Beta(1, 1), 5, 1).release([2, 3])
    body = json.loads(single.to_json())
    for more in ({field: None}, {field: [], "version": 3}, {"parameters": {**body["parameters"], field: "x"}}):
        with pytest.raises(dc.InvalidInputError):
            dc.Release.from_json(json.dumps({**body, **more}))
    table = json.loads(released("total").to_json())
    for version in (1, 2):
        with pytest.raises(dc.InvalidInputError):
            dc.Release.from_json(json.dumps({**table, "version": version}))
        del table[field]
        with pytest.raises(dc.InvalidInputError):
            dc.Release.from_json(json.dumps({**table, "version": version}))
        table[field] = []


VALUES: list[Any] = [
    *(None, True, 0, -1, 1, 3, 0.5, 1e308, 2**53, 2**62, 2**63, -(2**63), 10**400, "", "1", "1/0", "x" * 5000, "north", "\ud800"),
    *([], {}, [[]], [1], [[5, 0, 0]], {"a": 1}, [None], ["north", 2023, "never"], {"type": "date", "value": "2024-01-01"}, REGION, PRIOR),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for step, item in inside for place in places(item, (*path, step)))]


@pytest.mark.parametrize("examples", [150, pytest.param(3000, marks=pytest.mark.slow)])
def test_mutated_tables_are_read_or_refused_in_one_line(examples: int) -> None:
    own = {("south", 2024): dc.Dirichlet([1, 1, 1], categories=CATEGORIES)}
    bases = [json.loads(released(public, priors=own).to_json()) for public in PUBLIC]
    seen = {True: 0, False: 0}

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data())
    def one(data: st.DataObject) -> None:
        body = copy.deepcopy(data.draw(st.sampled_from(bases)))
        path = data.draw(st.sampled_from(places(body)[1:]))
        holder = body
        for step in path[:-1]:
            holder = holder[step]
        if data.draw(st.integers(0, 3)):
            holder[path[-1]] = data.draw(st.sampled_from(VALUES) | st.integers(-3, 9))
        elif isinstance(holder, list):
            holder.insert(path[-1], data.draw(st.sampled_from([holder[path[-1]], *VALUES])))
        else:
            del holder[path[-1]]
        try:
            again = dc.Release.from_json(json.dumps(body))
        except (dc.InvalidInputError, dc.ClaimError) as error:
            seen[False] += 1
            assert len(str(error).splitlines()) == 1, str(error)
            assert len(str(error)) < 600, str(error)
        else:
            seen[True] += 1
            assert json.loads(again.to_json()) == body or body["n"] is None or isinstance(again, TableRelease)
            assert dc.Release.from_json(again.to_json()) == again

    one()
    assert seen[False] > examples // 2
    assert seen[True] > 0


# --- hostile Parquet --------------------------------------------------------------------------------------------------

Change = Callable[[pa.Table], pa.Table]


def rewritten(path: Path, change: Change = lambda table: table, header: Any = None, **options: Any) -> Path:
    """The same file with a change of its rows, its columns or its header; nothing else is changed."""
    table, text = pq.read_table(path), pq.read_metadata(path).metadata[KEY]
    table = change(table)
    target = path.with_name("hostile.parquet")
    target.unlink(missing_ok=True)
    with pq.ParquetWriter(target, table.schema, **{"compression": "none", "store_schema": False, **options}) as writer:
        writer.write_table(table)
        if header is not ...:
            writer.add_key_value_metadata({KEY: text if header is None else header(text)})
    return target


def put(name: str, values: Callable[[list[Any]], list[Any]], kind: Any = None, nullable: bool = False) -> Change:
    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        found = pa.array(values(table[name].to_pylist()), type=kind or table.schema.field(name).type)
        return table.set_column(place, pa.field(name, found.type, nullable=nullable), found)

    return change


def rows(order: Callable[[int], list[int]]) -> Change:
    return lambda table: table.take(pa.array(order(len(table)), type=pa.int64()))


ROWS: dict[str, Change] = {
    "reversed": rows(lambda n: [*range(n)][::-1]),
    "two exchanged": rows(lambda n: [1, 0, *range(2, n)]),
    "groups exchanged": rows(lambda n: [*range(3, 6), *range(3), *range(6, n)]),
    "one repeated": rows(lambda n: [0, *range(n)]),
    "one in place of another": rows(lambda n: [0, 0, *range(2, n)]),
    "one missing": rows(lambda n: [*range(1, n)]),
    "all twice": rows(lambda n: [*range(n)] * 2),
    "none": rows(lambda _: []),
    "column missing": lambda table: table.drop_columns(["counts"]),
    "column added": lambda table: table.append_column("more", table["raw"]),
    "columns exchanged": lambda table: table.select(["region", "year", "category", "counts", "raw"]),
    "column renamed": lambda table: table.rename_columns(["region", "year", "category", "raw", "count"]),
    "null": put("raw", lambda values: [None, *values[1:]], nullable=True),
    "nullable": put("raw", lambda values: values, nullable=True),
    "counts as floats": put("counts", lambda values: values, pa.float64()),
    "counts of 32 bits": put("counts", lambda values: values, pa.int32()),
    "years as text": put("year", lambda values: [str(value) for value in values], pa.string()),
    "another label": put("region", lambda values: ["west", *values[1:]]),
    "another label everywhere": put("region", lambda values: [{"north": "south"}.get(value, value) for value in values]),
    "another category": put("category", lambda values: [*values[:-1], "other"]),
    "long label": put("region", lambda values: ["x" * 5000 if value == "north" else value for value in values]),
    "off the lattice": put("raw", lambda values: [values[0] + 1, *values[1:]]),
    "beyond 62 bits": put("raw", lambda values: [2**62, values[1], sum(values[:3]) - values[1] - 2**62, *values[3:]]),
    "wrapped around": put("raw", lambda values: [-(2**63), *values[1:]]),
    "not the report": put("counts", lambda values: [values[0] + 1, *values[1:]]),
    "negative counts": put("counts", lambda values: [-1, *values[1:]]),
    "impossible cell": put("raw", lambda values: [values[0] - 1, 1, *values[2:]]),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_changed_file_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    release = released()
    release.to_parquet(path := tmp_path / "table.parquet")
    assert dc.Release.from_parquet(rewritten(path, lambda table: table.cast(_required(table.schema)))) == release
    with pytest.raises(dc.InvalidInputError) as raised:
        dc.Release.from_parquet(rewritten(path, ROWS[name]))
    assert len(str(raised.value).splitlines()) == 1


def _required(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(False) for field in schema])


def edited(**changes: Any) -> Callable[[bytes], bytes]:
    return lambda text: json.dumps({**json.loads(text), **changes}).encode()


TYPED = [{"column": "region", "type": "text", "labels": 2}, {"column": "year", "type": "whole number", "labels": 2}]
HEADERS: dict[str, Any] = {
    "missing": ...,
    "not JSON": lambda _: b"{",
    "not UTF-8": lambda _: b"\xff\xfe\xfa",
    "empty": lambda _: b"",
    "a list": lambda _: b"[]",
    "deep": lambda _: b"[" * 100_000,
    "raw in it": edited(raw=[[1]]),
    "version 1": edited(version=1),
    "more": edited(more=1),
    "no groups": edited(groups=[]),
    "groups as in JSON": edited(groups=[REGION, YEAR]),
    "fewer labels": edited(groups=[{**TYPED[0], "labels": 1}, TYPED[1]]),
    "more labels": edited(groups=[{**TYPED[0], "labels": 4}, TYPED[1]]),
    "huge labels": edited(groups=[{**TYPED[0], "labels": 10**30}, TYPED[1]]),
    "no labels": edited(groups=[{**TYPED[0], "labels": 0}, TYPED[1]]),
    "minus labels": edited(groups=[{**TYPED[0], "labels": -2}, {**TYPED[1], "labels": -2}]),
    "labels exchanged": edited(groups=[{**TYPED[0], "labels": 1}, {**TYPED[1], "labels": 4}]),
    "another type": edited(groups=[{**TYPED[0], "type": "json"}, TYPED[1]]),
    "no type": edited(groups=[{**TYPED[0], "type": None}, TYPED[1]]),
    "a list of types": edited(groups=[{**TYPED[0], "type": ["text"]}, TYPED[1]]),
    "names exchanged": edited(groups=[{**TYPED[0], "column": "year"}, {**TYPED[1], "column": "region"}]),
    "n": edited(n=27),
    "n private": edited(n=None),
    "n as a list": edited(n=[5, 7, 8, 6]),
    "n as text": edited(n="26"),
    "impossible": edited(impossible=[["north", 2023, "x"]]),
    "shares": edited(shares=["1"] * 4),
    "promise": edited(guarantee={**PROMISE, "epsilon": "0.1"}),
    "fewer categories": edited(prior={**PRIOR, "concentration": ["1", "2"], "categories": ["never", "former"]}),
    "other categories": edited(prior={**PRIOR, "categories": ["never", "former", "other"]}),
    "no prior": edited(prior=[]),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_changed_header_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    released().to_parquet(path := tmp_path / "table.parquet")
    with pytest.raises((dc.InvalidInputError, dc.ClaimError)) as raised:
        dc.Release.from_parquet(rewritten(path, lambda table: table.cast(_required(table.schema)), HEADERS[name]))
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 600


def test_compressed_files_are_refused(tmp_path: Path) -> None:
    """A page of zeros can be a thousand times smaller than what it stands for."""
    released().to_parquet(path := tmp_path / "table.parquet")
    with pytest.raises(dc.InvalidInputError, match="its columns are compressed"):
        dc.Release.from_parquet(rewritten(path, lambda table: table.cast(_required(table.schema)), compression="zstd"))


def test_long_labels_that_a_dictionary_repeats_are_not_written_out(tmp_path: Path) -> None:
    """A label of a million characters stands once in the file and in every row: a hundred gigabytes, were it read as it is asked for."""
    k, groups = 2, 50_000
    release = LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": [str(i) for i in range(groups)]}).release(
        np.ones((groups, k), dtype=np.int64)
    )
    assert isinstance(release, TableRelease)
    release.to_parquet(path := tmp_path / "table.parquet")
    text = pq.read_metadata(path).metadata[KEY]
    table = pq.read_table(path)
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(groups * k, dtype=np.int32)), pa.array(["x" * 10**6]))
    table = table.set_column(0, pa.field("g", repeated.type, nullable=False), repeated)
    with pq.ParquetWriter(tmp_path / "hostile.parquet", table.schema, compression="none", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: text})
    assert (tmp_path / "hostile.parquet").stat().st_size < 10**7
    with pytest.raises(dc.InvalidInputError, match=r"this is not a file that to_parquet wrote"):
        dc.Release.from_parquet(tmp_path / "hostile.parquet")


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    released().to_parquet(path := tmp_path / "table.parquet")
    content = path.read_bytes()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    files = {
        "empty": b"",
        "text": b"region,year\n",
        "json": released().to_json().encode(),
        "magic alone": b"PAR1PAR1",
        "cut": content[:-1],
        "beginning cut": content[100:],
        "footer too long": content[:-8] + (2**31).to_bytes(4, "little") + b"PAR1",
        "footer of nothing": content[:-8] + bytes(4) + b"PAR1",
        "footer damaged": content[:-200] + bytes(100) + content[-100:],
        "cells damaged": content[:40] + bytes(40) + content[80:],
    }
    for name, damaged in files.items():
        (tmp_path / name).write_bytes(damaged)
    for name in (*files, "folder", "pipe", "nothing here"):
        with pytest.raises(dc.InvalidInputError) as raised:
            dc.Release.from_parquet(tmp_path / name)
        assert len(str(raised.value).splitlines()) == 1, name
    with lowered(RECORD_CHARACTERS=-(1 << 20)), pytest.raises(dc.InvalidInputError, match="metadata of this file are too long"):
        dc.Release.from_parquet(path)
    with lowered(CELLS=11), pytest.raises(dc.InvalidInputError, match="this file declares more"):
        dc.Release.from_parquet(path)


@pytest.mark.parametrize("examples", [60, pytest.param(1500, marks=pytest.mark.slow)])
def test_damaged_bytes_are_read_right_or_refused(examples: int, tmp_path: Path) -> None:
    release = released()
    release.to_parquet(path := tmp_path / "table.parquet")
    content = path.read_bytes()

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.integers(0, len(content) - 1), st.integers(1, 255))
    def one(place: int, change: int) -> None:
        damaged = bytearray(content)
        damaged[place] ^= change
        (tmp_path / "damaged.parquet").write_bytes(damaged)
        try:
            again = dc.Release.from_parquet(tmp_path / "damaged.parquet")
        except (dc.InvalidInputError, dc.ClaimError) as error:
            assert len(str(error).splitlines()) == 1
        else:
            np.testing.assert_array_equal(again.raw, release.raw)  # what was changed says nothing, as the writer's name

    one()


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
            assert isinstance(found, TableRelease)
            found.to_parquet(path)
            seen.append((path.read_bytes(), found.to_json(), repr(found), found._repr_html_(), pickle.dumps(found), hash(found)))
        assert [a == b for a, b in zip(*seen, strict=True)] == [same_bytes or i == 2 for i in range(6)]
