"""One class for the records of a variable and of a table: a variable is a table without columns, in one group."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.model.cells import Groups
from discreet.record.release import is_table
from tests.record.table_support import released

PRIOR = dc.Dirichlet.uniform(categories=["never", "former", "current"])


def variable(n: int | None = 6) -> dc.Release[tuple[int, ...]]:
    return dc.LatticeGeometric(PRIOR, n, 1).release([1, 2, 3], steady=False)


def test_a_variable_has_one_group_and_no_columns() -> None:
    release = variable()
    assert release.by == Groups() == dc.LatticeGeometric(PRIOR, 6, 1).by == dc.LaplaceHistogram(PRIOR, 6, 1).space.groups
    assert (release.by.columns, len(release.by), [*release.by], release.by[0]) == ((), 1, [()], ())
    assert release.cells.shape == (1, 3)
    assert release.cells.possible.all()
    assert (release.sizes, variable(None).sizes) == ((6,), None)
    assert not is_table(release)
    assert {type(release), type(released())} == {dc.Release}
    assert is_table(released())


def test_groups_are_declared_or_left_out_and_never_empty() -> None:
    with pytest.raises(dc.InvalidInputError, match="by must name"):
        dc.LatticeGeometric(PRIOR, 6, 1, by={})
    with pytest.raises(dc.InvalidInputError, match="by must name"):
        Groups(("region",), ())
    with pytest.raises(dc.InvalidInputError, match="by must name"):
        dc.Release.from_json(json.dumps({**json.loads(released("nothing").to_json()), "groups": []}))
    assert isinstance(dc.count(pd.DataFrame({"a": ["x", "y"]}), "a", ["x", "y"], by=Groups()), dc.CategoryCounts)


def test_what_is_of_tables_alone_says_so(tmp_path: Path) -> None:
    with pytest.raises(dc.RefusedError, match="of one variable"):
        variable().to_parquet(tmp_path / "x.parquet")  # type: ignore[misc]
    assert not [*tmp_path.iterdir()]
    with pytest.raises(dc.InvalidInputError, match=r"^sort, color"):
        variable().plot(sort="group", color="red")


def test_the_former_name_of_a_table_warns_and_answers() -> None:
    with pytest.warns(DeprecationWarning, match=r"TableRelease .* Release") as found:
        former = dc.TableRelease
    assert found[0].filename == __file__
    table = released()
    assert isinstance(table, former)
    assert not isinstance(variable(), former)
    assert not isinstance(3, former)
    assert former(table.mechanism, table.guarantee, table.raw, table.counts, table.about) == table
    assert former.from_json(table.to_json()) == table
    assert (dc.Release | former, former | None) == (dc.Release, dc.Release | None)
    assert "TableRelease" not in dir(dc)


def test_copies_and_equality_of_both_kinds() -> None:
    for release in (variable(), variable(None), released()):
        again = pickle.loads(pickle.dumps(release))  # noqa: S301
        assert (again, hash(again), type(again)) == (release, hash(release), dc.Release)
        other = dc.Release(release.mechanism, release.guarantee, release.raw, np.asarray(release.counts) + 1)
        assert other != release
    assert variable() != released()
    assert not released().raw.flags.writeable


def test_huge_outcomes_of_a_variable_stay_whole_numbers() -> None:
    mechanism = dc.LatticeGeometric(PRIOR, epsilon=1)
    one, other = (dc.Release(mechanism, mechanism.guarantee, (2**70 + i, 0, 0), (2**70 + i, 0, 0)) for i in (0, 1))
    assert (one.raw[0], hash(one) == hash(other), one == other) == (2**70, False, False)
