"""The public record: written and read back exactly, shown to people, and refused when it is not one."""

import copy
import io
import json
import pickle
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.sampling import SeededBits
from tests.inference.coverage import make
from tests.sampling.support import PretendedSecret
from tests.support import lowered, planted

LABELS: st.SearchStrategy[Any] = st.one_of(
    st.text(max_size=8),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(),
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.none(),
)
NUMBERS = st.one_of(st.integers(1, 20), st.floats(0.01, 50.0), st.fractions(Fraction(1, 100), 50))
OPTIONS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "LaplaceZhang": st.fixed_dictionaries({"rounding": st.sampled_from(["floor", "nearest"])}),
    "LaplaceDimension": st.fixed_dictionaries({"rounding": st.sampled_from(["floor", "nearest"]), "consistent": st.booleans()}),
    "LaplaceHistogram": st.fixed_dictionaries({"rounding": st.sampled_from(["floor", "nearest"]), "consistent": st.booleans()}),
    "HellingerSmooth": st.fixed_dictionaries({"gamma": st.floats(0.1, 3.0)}),
    "HellingerSmoothDelta": st.fixed_dictionaries({"delta": st.floats(1e-9, 0.1)}),
    "LatticeGeometric": st.fixed_dictionaries({"projection": st.sampled_from(["euclidean", "cut"])}),
}


@st.composite
def releases(draw: st.DrawFn, cls: type[Mechanism], wrappers: tuple[type, ...] = ()) -> tuple[Mechanism, dc.Release]:
    k = draw(st.integers(2, 3))
    labels = draw(st.lists(LABELS, min_size=k, max_size=k, unique=True))
    concentration = draw(st.lists(NUMBERS, min_size=k, max_size=k))
    prior = dc.Beta(concentration[0], concentration[1], labels) if k == 2 and draw(st.booleans()) else dc.Dirichlet(concentration, labels)
    counts = draw(st.lists(st.integers(0, 2), min_size=k, max_size=k).filter(any))
    options = draw(OPTIONS.get(cls.__name__, st.just({})))
    mechanism: Mechanism = make(cls, prior, sum(counts), draw(st.floats(0.05, 5.0)), **options)
    for wrapper in wrappers:
        mechanism = wrapper(mechanism)
    unit: Any = draw(st.sampled_from(["record", "person"]))
    source = PretendedSecret(draw(st.integers(0, 99)))
    release = mechanism.release(counts, unit=unit, source=source, allow_nonprivate=True, steady=False)
    return mechanism, release


HELLINGER = [cls for cls in MECHANISMS if cls.__name__.startswith("Hellinger")]
WORLDS = [
    *((cls, ()) for cls in MECHANISMS),
    *((cls, (dc.Remapped,)) for cls in MECHANISMS),
    *((cls, wrappers) for cls in HELLINGER for wrappers in ((dc.Calibrated,), (dc.Calibrated, dc.Remapped))),
]


def _name(world: Any) -> str:
    return "-".join(part.__name__ for part in (world[0], *world[1]))


# --- round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", WORLDS, ids=_name)
@settings(max_examples=6)
@given(data=st.data())
def test_a_release_is_read_back_exactly(world: Any, data: st.DataObject) -> None:
    mechanism, release = data.draw(releases(*world))
    again = dc.Release.from_json(release.to_json())
    assert again == release
    assert hash(again) == hash(release)
    assert again.prior.categories == release.prior.categories
    assert [type(c) for c in again.prior.categories] == [type(c) for c in release.prior.categories]
    assert again.to_json() == release.to_json()
    assert pickle.loads(pickle.dumps(release)) == copy.deepcopy(release) == release  # noqa: S301
    rebuilt = again.mechanism
    counts = [mechanism.space.total, *[0] * (release.prior.k - 1)]
    assert rebuilt.log_prob(counts, release.raw) == mechanism.log_prob(counts, release.raw)
    np.testing.assert_array_equal([rebuilt.report.one(release.raw)], [release.counts])


def test_the_written_form_is_the_documented_one() -> None:
    """The example of docs/reference/release.md, whole: a change here is a change of version."""
    prior = dc.Dirichlet(["1", "1/2", "0.3"], categories=["low", "mid", 3])
    release = dc.Remapped(make(dc.LatticeGeometric, prior, 30, 0.1)).release([10, 15, 5], unit="person", source=PretendedSecret(1))
    assert json.loads(release.to_json()) == {
        "format": "discreet release",
        "version": 1,
        "mechanism": "Remapped",
        "parameters": {"mechanism": "LatticeGeometric", "options": {"epsilon": "1/10", "projection": "euclidean"}},
        "prior": {"family": "Dirichlet", "concentration": ["1", "1/2", "3/10"], "categories": ["low", "mid", 3]},
        "n": 30,
        "guarantee": {"epsilon": "0.1", "delta": "0.0", "basis": "proof", "unit": "person", "neighbours": "replace one"},
        "raw": list(release.raw),
        "counts": list(release.counts),
    }


@pytest.mark.parametrize(
    "label", [date(2024, 2, 29), datetime(2024, 2, 29, 12), Decimal("1.50"), Fraction(-1, 3), None, True, 2.5, "é\ud800"]
)
def test_labels_keep_their_type(label: Any) -> None:
    release = make(dc.LatticeGeometric, dc.Beta(1, 1, categories=[label, "other"]), 5, 1).release([2, 3])
    (found, _) = dc.Release.from_json(release.to_json()).prior.categories
    assert (found, type(found)) == (label, type(label))


def test_labels_that_json_cannot_hold_are_refused_by_name_of_their_type() -> None:
    mechanism = make(dc.LatticeGeometric, dc.Beta(1, 1, categories=[("a", 1), "other"]), 5, 1)
    with pytest.raises(dc.InvalidInputError, match="type tuple cannot be written"):
        mechanism.release([2, 3])


def test_outcomes_beyond_machine_integers_survive() -> None:
    release = make(dc.LaplaceZhang, dc.Beta(1, 1), 5, 1).release([2, 3])
    far = dc.Release.from_json(_with(release, raw=[10**30, -(10**30)], counts=[5, 0]))
    assert far.raw == (10**30, -(10**30))
    assert far.noise_aware().interval().shape == (2, 2)


# --- what is not a release --------------------------------------------------------------------------------------------


@cache
def _valid() -> str:
    prior = dc.Dirichlet([1, 1, 1], categories=["a", "b", "c"])
    return make(dc.LatticeGeometric, prior, 9, 1).release([2, 3, 4], source=PretendedSecret(2)).to_json()


def test_counts_that_are_not_the_report_of_the_outcome_are_refused() -> None:
    record = json.loads(_valid())
    record["counts"] = [9, 0, 0] if record["counts"] != [9, 0, 0] else [0, 9, 0]
    with pytest.raises(dc.InvalidInputError, match=r"counts .* LatticeGeometric"):
        dc.Release.from_json(json.dumps(record))


def _record(**changes: Any) -> dict[str, Any]:
    return {**json.loads(_valid()), **changes}


def _with(release: dc.Release, **changes: Any) -> str:
    return json.dumps({**json.loads(release.to_json()), **changes})


PRIOR = {"family": "Dirichlet", "concentration": ["1", "1", "1"], "categories": ["a", "b", "c"]}
PROMISE = {"epsilon": "1.0", "delta": "0.0", "basis": "proof", "unit": "record", "neighbours": "replace one"}


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"version": True},
        {"version": None},
        {"format": "something else"},
        {"extra": 1},
        {"n": "9"},
        {"n": 9.0},
        {"n": -9},
        {"n": 8},
        {"n": 2**60},
        {"raw": [1, 2]},
        {"raw": [1, 2, 7]},
        {"raw": "234"},
        {"raw": [True, 4, 4]},
        {"counts": [1, 2]},
        {"counts": [-1, 5, 5]},
        {"counts": [10, 0, 0]},
        {"counts": None},
        {"mechanism": "Nothing"},
        {"mechanism": 3},
        {"mechanism": "lattice"},
        {"mechanism": "Remapped"},
        {"mechanism": "Remapped", "parameters": {"mechanism": "LatticeGeometric", "options": []}},
        {"mechanism": "Calibrated", "parameters": {"mechanism": "LatticeGeometric", "options": {"epsilon": "1"}, "factor": "2"}},
        {"mechanism": "Calibrated", "parameters": {"mechanism": "HellingerGlobal", "options": {"epsilon": "1"}, "factor": "0"}},
        {"parameters": {}},
        {"parameters": []},
        {"parameters": {"epsilon": "0"}},
        {"parameters": {"epsilon": 1.0}},
        {"parameters": {"epsilon": "1/0"}},
        {"parameters": {"epsilon": "1e9999999"}},
        {"parameters": {"epsilon": "1", "projection": "sideways"}},
        {"parameters": {"epsilon": "1", "colour": "red"}},
        {"parameters": {"epsilon": "1", "projection": 3}},
        {"prior": {**PRIOR, "family": "Normal"}},
        {"prior": {**PRIOR, "family": "Beta"}},
        {"prior": {**PRIOR, "concentration": ["1", "1", "-1"]}},
        {"prior": {**PRIOR, "concentration": ["1", "1", "0"]}},
        {"prior": {**PRIOR, "concentration": [1, 1, 1]}},
        {"prior": {**PRIOR, "categories": ["a", "a", "b"]}},
        {"prior": {**PRIOR, "categories": ["a", ["a"], "b"]}},
        {"prior": {**PRIOR, "categories": ["a", {"type": "date", "value": "yesterday"}, "b"]}},
        {"prior": {**PRIOR, "categories": ["a", {"type": "decimal", "value": "x"}, "b"]}},
        {"prior": {**PRIOR, "categories": ["a", {"type": "fraction", "value": "1e99999999"}, "b"]}},
        {"prior": {**PRIOR, "categories": ["a", {"type": ["x"], "value": "1"}, "b"]}},
        {"prior": {**PRIOR, "categories": "abc"}},
        {"prior": None},
        {"guarantee": {**PROMISE, "epsilon": "nan"}},
        {"guarantee": {**PROMISE, "epsilon": "-1"}},
        {"guarantee": {**PROMISE, "epsilon": 1.0}},
        {"guarantee": {**PROMISE, "delta": "2.0"}},
        {"guarantee": {**PROMISE, "basis": "hope"}},
        {"guarantee": {**PROMISE, "unit": "household"}},
        {"guarantee": "strong"},
    ],
    ids=str,
)
def test_a_malformed_record_is_refused_in_one_line(changes: dict[str, Any]) -> None:
    with pytest.raises(dc.InvalidInputError) as caught:
        dc.Release.from_json(json.dumps(_record(**changes)))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "claim",
    [{"epsilon": e} for e in ("0.01", "0.0", "0.9999999", "1.0000001", "5", "inf")]
    + [{"delta": d} for d in ("1e-9", "0.5", "1.0")]
    + [{"basis": "computation"}, {"basis": "none"}, {"basis": "none", "epsilon": "inf"}],
    ids=str,
)
def test_a_record_that_claims_another_promise_than_its_mechanism_is_refused(claim: dict[str, str]) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"LatticeGeometric.* ε = 1\.0 and δ = 0\.0"):
        dc.Release.from_json(json.dumps(_record(guarantee={**PROMISE, **claim})))


@pytest.mark.parametrize("wrappers", [(dc.Calibrated,), (dc.Calibrated, dc.Remapped)])
@pytest.mark.parametrize("cls", [dc.HellingerLocal, dc.HellingerSmoothDelta])
def test_a_promise_by_computation_is_that_of_the_parameters(cls: type[Mechanism], wrappers: tuple[Any, ...]) -> None:
    plain, wrapped = make(cls, dc.Beta(1, 1), 8, 1), make(cls, dc.Beta(1, 1), 8, 1)
    for wrapper in wrappers:
        wrapped = wrapper(wrapped)
    for mechanism in (plain, wrapped):
        release = mechanism.release([3, 5], source=PretendedSecret(1), allow_nonprivate=True)
        for changed in ({"epsilon": "0.5"}, {"delta": "1e-12"}, {"basis": "proof"}):
            guarantee = {**json.loads(release.to_json())["guarantee"], **changed}
            with pytest.raises(dc.InvalidInputError, match="the record claims"):
                dc.Release.from_json(_with(release, guarantee=guarantee))


def test_a_record_may_always_promise_nothing() -> None:
    nothing = {**PROMISE, "epsilon": "inf", "delta": "1.0", "basis": "none"}
    assert str(dc.Release.from_json(json.dumps(_record(guarantee=nothing))).guarantee) == "no privacy guarantee"


def test_a_mark_at_the_start_of_the_text_is_no_part_of_it() -> None:
    marked = "\ufeff" + _valid()
    assert dc.Release.from_json(marked) == dc.Release.from_json(marked.encode()) == dc.Release.from_json(_valid())


@pytest.mark.parametrize(
    "given",
    ["release.json", Path("release.json"), {"format": "discreet release"}, io.StringIO("{}")],
    ids=["name", "path", "mapping", "handle"],
)
def test_what_is_not_text_is_told_how_to_read_a_file(given: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"from_json\(Path\('release\.json'\)"):
        dc.Release.from_json(given)


@pytest.mark.parametrize("content", [b"smoking\nnever\n", b"PK\x03\x04", b"", b"[1"], ids=["csv", "xlsx", "empty", "list"])
def test_a_file_that_holds_no_record_is_told_what_reads_it(tmp_path: Path, content: bytes) -> None:
    (path := tmp_path / "survey.xlsx").write_bytes(content)
    with pytest.raises(dc.InvalidInputError, match=r"survey\.xlsx .* dc\.count") as caught:
        dc.read(path)
    assert "from_json" not in str(caught.value)
    assert "dc." not in caught.value.in_shell


@pytest.mark.parametrize("missing", ["format", "version", "mechanism", "parameters", "prior", "n", "guarantee", "raw", "counts"])
def test_every_field_is_needed(missing: str) -> None:
    body = _record()
    del body[missing]
    with pytest.raises(dc.InvalidInputError):
        dc.Release.from_json(json.dumps(body))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "[]",
        "null",
        '{"format": NaN}',
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        '{"n": ' + "9" * 5000 + "}",
        b"\xff\xfe",
        "1e400",
        7,
        None,
    ],
)
def test_what_is_not_json_is_refused(text: Any) -> None:
    with pytest.raises(dc.InvalidInputError):
        dc.Release.from_json(text)


def test_deep_nests_of_wrappers_are_refused() -> None:
    parameters: dict[str, Any] = {"epsilon": "1"}
    for _ in range(200):
        parameters = {"mechanism": "Remapped", "options": parameters}
    with pytest.raises(dc.InvalidInputError, match="deep"):
        dc.Release.from_json(json.dumps(_record(mechanism="Remapped", parameters=parameters)))


@settings(max_examples=100)
@given(st.data())
def test_a_record_with_any_part_replaced_is_read_or_refused(data: st.DataObject) -> None:
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3))
    body = _record()
    spot: Any = body
    while True:
        key = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else list(range(len(spot)))))
        if not isinstance(spot[key], (dict, list)) or not spot[key] or data.draw(st.booleans()):
            break
        spot = spot[key]
    spot[key] = data.draw(anything)
    try:
        dc.Release.from_json(json.dumps(body))
    except dc.InvalidInputError as error:
        assert "\n" not in str(error)  # noqa: PT017


# --- the unit, and what a record may hold -----------------------------------------------------------------------------


class _People:
    """Counts that know their unit, as `count` makes them."""

    unit = "person"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([2, 3], dtype=dtype)


def test_the_unit_is_given_or_comes_with_the_counts() -> None:
    mechanism = make(dc.LatticeGeometric, dc.Beta(1, 1), 5, 1)
    assert mechanism.release([2, 3]).guarantee.unit == "record"
    assert mechanism.release([2, 3], unit="person").guarantee.unit == "person"
    assert mechanism.release(_People()).guarantee.unit == "person"
    assert "replace one person" in repr(mechanism.release(_People(), unit="person"))
    with pytest.raises(dc.InvalidInputError, match="another unit"):
        mechanism.release(_People(), unit="record")
    with pytest.raises(dc.InvalidInputError, match="'record' or 'person'"):
        mechanism.release([2, 3], unit="household")  # type: ignore[arg-type]


@pytest.mark.parametrize("world", WORLDS, ids=_name)
def test_nothing_but_the_outcome_depends_on_the_data(world: Any) -> None:
    """Two datasets that give the same outcome give the same record, byte for byte."""
    cls, wrappers = world
    prior = dc.Dirichlet([1, 2, 0.5])
    mechanism: Mechanism = make(cls, prior, 6, 1)
    for wrapper in wrappers:
        mechanism = wrapper(mechanism)
    outcome = mechanism.release([1, 2, 3], source=SeededBits(1), allow_nonprivate=True, steady=False).raw
    texts = set()
    for counts in ([1, 2, 3], [6, 0, 0]):
        with planted(type(mechanism), outcome):
            texts.add(mechanism.release(counts, allow_nonprivate=True, steady=False).to_json())
    assert len(texts) == 1


def test_a_release_cannot_be_changed() -> None:
    release = dc.Remapped(make(dc.LatticeGeometric, dc.Beta(1, 1), 5, 1)).release([2, 3])
    with pytest.raises(AttributeError):
        release.n = 6  # type: ignore[misc]
    parameters = dict(release.parameters)
    parameters["options"]["epsilon"] = 9
    assert release.parameters["options"]["epsilon"] == 1


def test_a_record_that_was_read_names_the_theorem_of_its_promise_as_the_release_did() -> None:
    """The record says that there is a proof, and the mechanism knows which; of another basis there is none to name."""
    smooth = dc.HellingerSmooth(dc.Beta(1, 1), 10, 1)
    for mechanism in (dc.LatticeGeometric(dc.Beta(1, 1), 10, 1), smooth, dc.Calibrated(smooth)):
        made = mechanism.release([4, 6]).guarantee
        read = dc.Release.from_json(mechanism.release([4, 6]).to_json()).guarantee
        assert (read.theorem, str(read)) == (made.theorem, str(made))
        assert (read.basis == "proof") == bool(read.theorem)


def test_a_record_is_no_proof_of_a_calibration() -> None:
    """A factor that was read must not lead to a release with a guarantee unless the loss is computed and within ε."""
    mechanism = dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), 10, Fraction(1)))
    text = mechanism.release([4, 6]).to_json()
    assert dc.Release.from_json(text).mechanism.release([4, 6]).guarantee.basis == "computation"
    forged = dc.Release.from_json(text.replace(f'"factor": "{mechanism.factor}"', f'"factor": "{2 * mechanism.factor}"'))
    with pytest.raises(dc.RefusedError):
        forged.mechanism.release([4, 6])


# --- for people -------------------------------------------------------------------------------------------------------


def test_repr_names_mechanism_counts_and_promise_and_stays_short() -> None:
    release = dc.Remapped(make(dc.LatticeGeometric, dc.Dirichlet.uniform(50), 100, 1)).release([2] * 50)
    assert repr(release).startswith("Release(Remapped(LatticeGeometric), n=100, counts=(")
    assert "..." in repr(release)
    assert "ε = 1 differential privacy by proof" in repr(release)
    assert len(repr(release)) < 200


def test_html_escapes_labels() -> None:
    prior = dc.Dirichlet([1, 1, 1], categories=["<script>alert(1)</script>", "a & b", '"c"'])
    release = make(dc.LatticeGeometric, prior, 9, 1).release([2, 3, 4])
    for html in (release._repr_html_(), release.noise_aware()._repr_html_()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "a &amp; b" in html
    two = make(dc.LatticeGeometric, dc.Beta(1, 1), 9, 1).release([2, 7])._repr_html_()
    assert two.count("<tr>") == 3


def test_the_picture_tells_the_two_posteriors_apart_without_colour() -> None:
    prior = dc.Dirichlet([1, 1, 1], categories=["_low", "$mid", "a$b$c"])
    ax = make(dc.LatticeGeometric, prior, 60, 0.2).release([10, 20, 30], source=PretendedSecret(4)).plot()
    ax.figure.canvas.draw()
    legend = ax.get_legend()
    assert legend is not None
    entries = [text.get_text() for text in legend.get_texts()]
    assert [entry.partition(":")[0] for entry in entries] == ["noise-aware", "as reported"]
    looks = {(line.get_linestyle(), line.get_marker(), line.get_linewidth()) for line in ax.get_lines()}
    assert len(looks) == 2
    assert len(ax.get_lines()) == 6
    assert [label.get_text().strip() for label in ax.get_yticklabels()] == ["_low", r"\$mid", r"a\$b\$c"]
    _, own = plt.subplots()
    assert make(dc.LatticeGeometric, dc.Beta(1, 1), 9, 1).release([2, 7]).plot(own) is own


def test_a_picture_without_a_noise_aware_posterior_says_so() -> None:
    release = make(dc.HellingerGlobal, dc.Dirichlet.uniform(3), 200, 1).release([50, 70, 80])
    with lowered(LIKELIHOOD_CANDIDATES=100):
        legend = release.plot().get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["as reported; no interval that allows for the noise"]


@pytest.mark.parametrize(
    "stated",
    ["0.09999999999999999999", "0.10000000000000000001", "0.1" + "0" * 30 + "1", "1e-999", "1e999"],
)
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_guarantee_is_compared_as_it_is_written_and_not_as_the_nearest_float(name: str, stated: str) -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), 9, "0.1")
    body = json.loads(mechanism.release([4, 5]).to_json())
    body["guarantee"][name] = stated
    with pytest.raises(dc.InvalidInputError, match=f"the guarantee's {name} "):
        dc.Release.from_json(json.dumps(body))
    body["guarantee"].update(epsilon="0.100", delta="0")  # the same numbers in other words
    assert dc.Release.from_json(json.dumps(body)).guarantee.epsilon == 0.1
