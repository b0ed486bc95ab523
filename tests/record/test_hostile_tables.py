"""Records of tables from whoever wrote them, as JSON and as Parquet: read, or refused in one line."""

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.record.release import is_table
from tests.places import ROOT
from tests.record.table_support import CATEGORIES, KEY, PUBLIC, refusal, released
from tests.support import lowered

# --- hostile JSON -----------------------------------------------------------------------------------------------------

PROMISE = {"epsilon": "0.5", "delta": "0.0", "basis": "proof", "unit": "person", "neighbours": 'replace one within ["region", "year"]'}
PRIOR = {"family": "Dirichlet", "concentration": ["1", "1/2", "2"], "categories": [*CATEGORIES]}
REGION, YEAR = {"column": "region", "labels": ["north", "south"]}, {"column": "year", "labels": [2023, 2024]}


def changed(**changes: Any) -> str:
    return json.dumps({**json.loads(released().to_json()), **changes})


NO_ROWS: list[Any] = [None, [], 3, [1, 2, 3], [[1, 2, 3]], [[]] * 4, [[5, 0, 0, 0]] * 4]


def each(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


CHANGES: list[dict[str, Any]] = [
    *({"version": version} for version in (1, 2, 4, "3", 3.0, None)),
    *({"n": n} for n in (25, None, 0, -5, "26", 26.0, [], [5, 7, 8], [5, 7, 8, 7], [5, 7, 8, 6.0], [5, 7, 8, -6], [5, 7, 8, 2**60], [[5]])),
    *each("groups", None, [], {}, [1], [REGION], [YEAR, REGION], [REGION, REGION], [REGION, {"column": "year"}]),
    {"groups": [REGION, {**YEAR, "type": "text"}]},
    {"groups": [{**REGION, "column": ""}, YEAR]},
    {"groups": [{**REGION, "column": 3}, YEAR]},
    {"groups": [{**REGION, "column": "\ud800"}, YEAR]},
    {"groups": [{**REGION, "column": "x" * 5000}, YEAR]},
    *({"groups": [{**REGION, "labels": labels}, YEAR]} for labels in ("ab", [], ["north", "north"], ["north", ["x"]], [1, "1"])),
    {"groups": [{**REGION, "labels": ["north", "x" * 5000]}, YEAR]},
    {"groups": [{**REGION, "labels": ["north", "west"]}, YEAR], "impossible": [["south", 2023, "former"]]},
    {"groups": [{**REGION, "labels": ["south", "north"]}, YEAR]},
    *({"impossible": cells} for cells in (None, ["north"], [["north", 2023]], [["north", 2023, "x"]], [["north", "2023", "former"]])),
    {"impossible": [["north", 2023, "former"]] * 2},
    {"impossible": [["north", 2023, "former"], ["north", 2023, "never"]]},
    *({"shares": shares} for shares in ([], ["1"] * 4, ["1"] * 3, "1111", [1, 1, 1, 1], 3)),
    *each("priors", None, {}, [1], [{}], [{"group": ["north", 2023]}], [{"group": "north", "prior": PRIOR}]),
    {"priors": [{"group": ["west", 2023], "prior": PRIOR}]},
    {"priors": [{"group": ["north"], "prior": PRIOR}]},
    {"priors": [{"group": ["north", 2023], "prior": {**PRIOR, "categories": ["a", "b", "c"]}}]},
    {"priors": [{"group": ["north", 2023], "prior": PRIOR}] * 2},
    {"priors": [{"group": ["south", 2023], "prior": PRIOR}, {"group": ["north", 2024], "prior": PRIOR}]},
    *each("raw", *NO_ROWS),
    *each("counts", *NO_ROWS),
    *({"raw": [row, [7, 0, 0], [8, 0, 0], [6, 0, 0]]} for row in ([5], ["5", 0, 0], [5.0, 0, 0], [True, 0, 4], [2**63, 0, 5 - 2**63])),
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
]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: ascii(changes)[:60])
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


@pytest.mark.parametrize("examples", [150, pytest.param(1000, marks=pytest.mark.slow)])
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
        said = refusal(lambda: dc.Release.from_json(json.dumps(body)))
        assert not said.startswith("not one line"), said
        seen[not said] += 1
        if not said:  # what is read says what was written; an option may be left out, and a number spelled otherwise
            again = json.loads(dc.Release.from_json(json.dumps(body)).to_json())
            exact = ("n", "groups", "impossible", "raw", "counts")
            assert {name: again[name] for name in exact} == {name: body[name] for name in exact}

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
    assert is_table(release)
    release.to_parquet(path := tmp_path / "table.parquet")
    text = pq.read_metadata(path).metadata[KEY]
    table = pq.read_table(path)
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(groups * k, dtype=np.int32)), pa.array(["x" * 10**6]))
    table = table.set_column(0, pa.field("g", repeated.type, nullable=False), repeated)
    with pq.ParquetWriter(tmp_path / "hostile.parquet", table.schema, compression="none", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: text})
    assert (tmp_path / "hostile.parquet").stat().st_size < 10**7
    with pytest.raises(dc.InvalidInputError, match=r"to_parquet wrote"):
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
    with lowered(RECORD_CHARACTERS=-(1 << 20)), pytest.raises(dc.InvalidInputError, match=r"metadata .*too long"):
        dc.Release.from_parquet(path)
    with lowered(TABLE_CELLS=11), pytest.raises(dc.InvalidInputError, match="this file declares more"):
        dc.Release.from_parquet(path)


@pytest.mark.parametrize("examples", [60, pytest.param(800, marks=pytest.mark.slow)])
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
        said = refusal(lambda: dc.Release.from_parquet(tmp_path / "damaged.parquet"))
        assert not said.startswith("not one line"), said
        if not said:  # what was changed says nothing of the outcome, as the name of the program that wrote the file
            np.testing.assert_array_equal(dc.Release.from_parquet(tmp_path / "damaged.parquet").raw, release.raw)

    one()


READ_ALL = """
import sys
from pathlib import Path
import discreet as dc
from tests.record.table_support import refusal
for path in sorted(Path(sys.argv[1]).glob("*.parquet")):
    print(path.stem, refusal(lambda: dc.Release.from_parquet(path)), sep=": ", flush=True)
"""


def read_by_a_child(folder: Path) -> dict[str, str]:
    """What each file of a folder is refused with, from a process of its own, whose end would otherwise be that of all tests."""
    root = ROOT
    command = [sys.executable, "-c", READ_ALL, str(folder)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603 - this interpreter
    assert done.returncode == 0, f"{done.stdout[-200:]} {done.stderr[-1000:]}"
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def test_a_codec_that_nobody_knows_does_not_end_the_process(tmp_path: Path) -> None:
    """pyarrow aborts where it is asked for the name of such a codec."""
    released().to_parquet(path := tmp_path / "sound.parquet")
    content, before = path.read_bytes(), b"counts\x15"  # the name of a column, and that a whole number follows: its codec
    assert content.count(before + b"\x00") == 1
    for name, codec in {"next": b"\x10", "negative": b"\x43", "long": b"\x80\x80\x80\x80\x20"}.items():
        footer = int.from_bytes(content[-8:-4], "little") + len(codec) - 1
        damaged = content[:-8].replace(before + b"\x00", before + codec) + footer.to_bytes(4, "little") + b"PAR1"
        (tmp_path / f"{name}.parquet").write_bytes(damaged)
    said = read_by_a_child(tmp_path)
    assert said.pop("sound") == ""
    assert said == dict.fromkeys(("next", "negative", "long"), "this is not a file that to_parquet wrote: its columns are compressed")


@pytest.mark.slow
def test_no_byte_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    released().to_parquet(path := tmp_path / "sound.parquet")
    content = path.read_bytes()
    places = range(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content))
    chance = np.random.default_rng(1)
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= int(chance.integers(1, 256))
        (tmp_path / f"{place}.parquet").write_bytes(damaged)
    said = read_by_a_child(tmp_path)
    assert len(said) == len(places) + 1
    assert not [text for text in said.values() if text.startswith("not one line")]


@pytest.mark.parametrize(
    ("labels", "bad", "kind"),
    [
        ([date(2024, 1, 1), date(2025, 1, 1)], 2**31 - 1, pa.int32()),
        ([date(2024, 1, 1), date(2025, 1, 1)], -(2**31), pa.int32()),
        ([1.5, 2.5], float("inf"), pa.float64()),
        ([1.5, 2.5], float("nan"), pa.float64()),
    ],
)
def test_labels_that_no_record_holds_are_refused(labels: list[Any], bad: float, kind: Any, tmp_path: Path) -> None:
    release = LatticeGeometric(dc.Beta(1, 1), None, 1, by={"g": labels}).release([[1, 2], [3, 4]])
    assert is_table(release)
    release.to_parquet(path := tmp_path / "table.parquet")
    assert dc.Release.from_parquet(path) == release

    def change(table: pa.Table) -> pa.Table:
        values = table["g"].cast(kind).to_pylist()
        put_in = pa.array([bad if value == values[-1] else value for value in values], type=kind).cast(table.schema.field("g").type)
        return table.set_column(0, table.schema.field("g"), put_in).cast(_required(table.schema))

    said = refusal(lambda: dc.Release.from_parquet(rewritten(path, change)))
    assert ("date before the year 1" in said) or ("must be a finite one" in said)
