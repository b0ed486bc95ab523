"""Counting a Spark table, in a real local Spark session. Needs pyspark (the extra `spark`) and Java 17 or later."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.count import count, tallied
from discreet.errors import InvalidInputError, SourceError
from discreet.record.release import is_table
from tests.data import test_several_tables as several
from tests.data import test_table_counting as tables
from tests.data.test_sources import ANSWERS, CATEGORIES, SECRET, everything_said

pytestmark = [
    pytest.mark.slow,
    # Spark and py4j leave sockets to the garbage collector, and Spark asks pandas for what pandas has deprecated.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark", "ignore::FutureWarning:pyspark"),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install 'discreet[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 or later, and there is none on this machine")
    builder = sql.SparkSession.builder.master("local[1]").appName("discreet")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # executors run discreet too
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def frame(spark: Any, columns: dict[str, list[Any]], schema: str) -> Any:
    return spark.createDataFrame(list(zip(*columns.values(), strict=True)), schema)


def test_counts_a_column(spark: Any) -> None:
    counts = count(frame(spark, {"risk": ANSWERS}, "risk string"), "risk", CATEGORIES)
    assert counts.counts.tolist() == [3, 2, 1]
    assert counts.unit == "record"


def test_a_table_without_records_has_counts_of_zero(spark: Any) -> None:
    empty = frame(spark, {"risk": [], "who": []}, "risk string, who string")
    for privacy_id in (None, "who"):
        assert count(empty, "risk", CATEGORIES, privacy_id).counts.tolist() == [0, 0, 0]


def test_undeclared_values_and_nulls(spark: Any) -> None:
    source = frame(spark, {"risk": [*ANSWERS, None, SECRET]}, "risk string")
    assert count(source, "risk", CATEGORIES, nulls="mid", other="high").counts.tolist() == [3, 3, 2]
    for nulls, other in (("low", "error"), ("error", "low")):
        with pytest.raises(SourceError) as caught:
            count(source, "risk", CATEGORIES, nulls=nulls, other=other)
        assert SECRET not in everything_said(caught.value)


@pytest.mark.parametrize(
    ("values", "schema", "categories", "expected"),
    [
        ([1, 2, 1], "x tinyint", ["1", "2", "300"], [2, 1, 0]),
        ([1, 2, 1], "x bigint", [1, 2], [2, 1]),
        ([1.0, float("nan"), None], "x double", [1, 2], [1, 2]),
        ([True, False, True], "x boolean", [True, False], [2, 1]),
        (list(range(100)), "x int", range(100), [1] * 100),
    ],
)
def test_types(spark: Any, values: list[Any], schema: str, categories: list[Any], expected: list[int]) -> None:
    source = frame(spark, {"x": values}, schema)
    assert count(source, "x", categories, nulls=list(categories)[1]).counts.tolist() == expected


def test_one_record_per_person(spark: Any) -> None:
    columns: dict[str, list[Any]] = {"who": ["a", "b", "a", "c"], "risk": ["high", "mid", "low", None]}
    source = frame(spark, columns, "who string, risk string")
    counts = count(source, "risk", CATEGORIES, privacy_id="who", nulls="high")
    assert counts.counts.tolist() == [1, 1, 1]
    assert counts.unit == "person"
    nameless = frame(spark, {"who": ["a", None], "risk": ["low", "low"]}, "who string, risk string")
    with pytest.raises(SourceError, match="every row must say whose it is"):
        count(nameless, "risk", CATEGORIES, privacy_id="who")


@pytest.mark.parametrize("name", ["ri sk", "a.b", "ri`sk", "risk'; --", "value", "person"])
def test_any_column_name_is_only_a_name(spark: Any, name: str) -> None:
    source = frame(spark, {"x": ANSWERS, "who": list(range(6))}, "x string, who int").toDF(name, "who")
    try:
        assert count(source, name, CATEGORIES).counts.tolist() == [3, 2, 1]
        assert count(source, name, CATEGORIES, privacy_id="who").counts.tolist() == [3, 2, 1]
    except SourceError:
        assert "." in name or "`" in name  # Spark reads these names as paths; refused, never counted wrongly


def test_engine_errors_stay_inside(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    source = frame(spark, {"risk": [SECRET]}, "risk string").selectExpr("CAST(risk AS INT) AS risk")
    with pytest.raises(SourceError) as caught:
        count(source, "risk", [1, 2])
    said = capfd.readouterr()
    assert SECRET not in everything_said(caught.value) + said.out + said.err


def test_missing_columns_and_files(spark: Any, tmp_path: Path) -> None:
    frame(spark, {"risk": ANSWERS}, "risk string").write.parquet(str(tmp_path / "survey"))
    source = spark.read.parquet(str(tmp_path / "survey"))
    assert count(source, "risk", CATEGORIES).counts.tolist() == [3, 2, 1]
    assert count(tmp_path / "survey" / "*.parquet", "risk", CATEGORIES).counts.tolist() == [3, 2, 1]
    with pytest.raises(InvalidInputError, match="no column 'Risk'"):
        count(source, "Risk", CATEGORIES)


def test_other_words_marks_for_missing_answers_and_strict_counting(spark: Any) -> None:
    columns: dict[str, list[Any]] = {"who": ["a", "a", None, None, "b"], "risk": ["Low", "high", "low", "NA", "zebra"]}
    source = frame(spark, columns, "who string, risk string")
    options: dict[str, Any] = {"mapping": {"Low": "low"}, "na_values": ["NA"], "nulls": "high", "other": "mid", "strict": True}
    assert count(source, "risk", CATEGORIES, **options).counts.tolist() == [2, 1, 2]
    assert count(source, "risk", CATEGORIES, privacy_id="who", **options).counts.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("weights", "schema"), [([3, 0, 5], "w int"), ([3.0, 0.0, 5.0], "w double"), (["3", "0.0", "5"], "w string")], ids=str
)
def test_weights(spark: Any, weights: list[Any], schema: str) -> None:
    source = frame(spark, {"risk": ["low", "zebra", "high"], "w": weights}, f"risk string, {schema}")
    assert count(source, "risk", CATEGORIES, weight="w").counts.tolist() == [3, 0, 5]
    for bad in ([3, -1, 5], [3, None, 5]):
        given = [None if weight is None else type(weights[0])(weight) for weight in bad]
        source = frame(spark, {"risk": ["low", "mid", "high"], "w": given}, f"risk string, {schema}")
        with pytest.raises(SourceError, match="must be a whole number"):
            count(source, "risk", CATEGORIES, weight="w")


# --- by groups --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["record", "person", "weight"])
def test_groups_agree_with_counting_by_hand(spark: Any, unit: str) -> None:
    columns = tables.rows_of(seed=3)
    source = frame(spark, columns, "answer string, region string, ward int, who int, weight int")
    found = count(source, "answer", tables.ANSWERS, **tables.LENIENT, **tables.options(unit))
    assert (found.counts.tolist(), found.moves) == tables.by_hand(columns, tables.BY, tables.HOMES, unit)
    assert found.unit == ("person" if unit == "person" else "record")


def test_values_without_a_group_are_an_error(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    source = frame(spark, {"risk": ANSWERS, "region": ["north"] * 5 + [SECRET]}, "risk string, region string")
    with pytest.raises(SourceError, match=r"'region' .* groups") as caught:
        count(source, "risk", CATEGORIES, by={"region": ["north", "south"]})
    said = capfd.readouterr()
    assert SECRET not in everything_said(caught.value) + said.out + said.err


@pytest.mark.parametrize("privacy_id", [None, "who"])
def test_a_hundred_thousand_groups(spark: Any, tmp_path: Path, privacy_id: str | None) -> None:
    """The groups of two columns, one of them long; the table is written to a file, as a cluster would have it."""
    towns, records, labels = 50_000, 150_000, ["a", "b", "c", "d", "e"]
    rng = np.random.default_rng(1)
    town, year, answer = rng.integers(0, towns, records), rng.integers(0, 2, records), rng.integers(0, 5, records)
    columns = {"town": np.char.add("town ", town.astype(str)), "year": year + 2020, "answer": np.array(labels)[answer]}
    pq.write_table(pa.table({**columns, "who": np.arange(records)}), tmp_path / "survey.parquet")
    source = spark.read.parquet(str(tmp_path / "survey.parquet"))
    by: dict[str, list[Any]] = {"town": [f"town {i}" for i in range(towns)], "year": [2020, 2021]}
    found = count(source, "answer", labels, privacy_id, by=by)
    expected = np.zeros((2 * towns, 5), dtype=np.int64)
    np.add.at(expected, (2 * town + year, answer), 1)
    assert np.array_equal(found.counts, expected)
    assert not found.moves


def test_a_table_is_counted_in_the_cluster_drawn_once_and_read_again(spark: Any, tmp_path: Path) -> None:
    """Cells come to the driver as an array; it draws once and writes once, and the cluster reads what was written."""
    regions, rows = ["north", "south", "west"], [(g, a) for g in ("north", "south") for a in ANSWERS]
    source = spark.createDataFrame(rows, "region string, risk string")
    counts = count(source, "risk", CATEGORIES, by={"region": regions}, nulls=CATEGORIES[0], other=CATEGORIES[0])
    made = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=CATEGORIES), counts.total, 1, by=counts.by)
    release = made.release(counts)
    assert is_table(release)
    release.to_parquet(path := tmp_path / "table.parquet")
    again = [tuple(row) for row in spark.read.parquet(str(path)).collect()]
    assert again == [
        (g, c, int(release.raw[i, j]), int(release.counts[i, j])) for i, g in enumerate(regions) for j, c in enumerate(CATEGORIES)
    ]
    assert dc.Release.from_parquet(path) == release


@pytest.mark.parametrize("public", ["sizes", "nothing"])
def test_executors_summarise_what_one_process_does(spark: Any, tmp_path: Path, public: str) -> None:
    """Reading is post-processing: the same function, pickled, runs where the cells are, in several tasks and whatever their order."""
    groups, labels = 3_000, ["a", "b", "c"]
    rng = np.random.default_rng(4)
    counts = rng.multinomial(40, [0.2, 0.3, 0.5], groups)
    by: dict[str, list[Any]] = {"town": [f"town {i}" for i in range(groups // 2)], "year": [2020, 2021]}
    n = counts.sum(axis=1) if public == "sizes" else None
    prior = dc.Dirichlet([1, 2, 0.5], labels)
    made = dc.LatticeGeometric(
        prior, n, 1, by=by, impossible=[("town 3", 2020, "b")], priors={("town 9", 2021): dc.Dirichlet([5, 5, 5], labels)}
    )
    counts[6, :] = [20, 0, 20]
    release = made.release(counts)
    release.to_parquet(path := tmp_path / "table.parquet")
    found = dc.summaries(path, mass=0.9)
    schema = pytest.importorskip("pyspark.sql.pandas.types").from_arrow_schema(found.schema)
    cells = spark.read.parquet(str(path))
    apart = cells.repartition(3, "town", "year").sortWithinPartitions("town", "year")
    expected = release.noise_aware().summary(0.9).set_index(["town", "year", "category"]).sort_index()
    for given in (cells, apart.drop("counts")):
        read = given.mapInArrow(found, schema).toPandas().set_index(["town", "year", "category"]).sort_index()
        assert read.index.equals(expected.index)
        assert np.allclose(read[["mean", "sd"]], expected[["mean", "sd"]], rtol=0.0, atol=1e-9)
        assert np.allclose(read[["low", "high"]], expected[["low", "high"]], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("privacy_id", [None, "who"])
def test_several_tables_are_what_each_is_alone(spark: Any, privacy_id: str | None) -> None:
    table = frame(spark, several.ROWS, "who string, smoking string, region string, hours double")
    asked = several.questions(privacy_id)
    for question, found in zip(asked, tallied(table, asked), strict=True):
        [alone] = tallied(pa.table(several.ROWS), [question])
        assert np.array_equal(found.settled().counts, alone.settled().counts)
        assert (found.tally.moves, found.tally.several) == (alone.tally.moves, alone.tally.several)


def test_accents_are_ignored(spark: Any) -> None:
    table = frame(spark, {"answer": ["Sí", "si", "no", "NÖ"]}, "answer string")
    assert count(table, "answer", ["sí", "no"], spelling=["ignore case", "ignore accents"]).counts.tolist() == [2, 2]
