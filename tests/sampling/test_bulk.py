"""Noise in arrays: the same draws as loops make, the same laws with short words, and integers of words alone on the way."""

import ast
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

import discreet as dc
from discreet.errors import EntropyError, InternalError, TooLargeError
from discreet.sampling import BitSource, SeededBits, SystemBits, bulk
from discreet.sampling.bulk import ATTEMPTED, lattice_blocks
from discreet.sampling.noise import ROOM
from tests.sampling.loop_samplers import integer_draws
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, Law, ScriptedBits, StringBits
from tests.sampling.test_lattice import noise_law, size_law
from tests.sampling.test_noise import LAWS, law_of
from tests.support import lattice

Bulk = Callable[[BitSource, Fraction, int], NDArray[np.int64]]
ARRAYS: dict[str, Bulk] = {
    "geometric": bulk.geometric_array,
    "discrete_laplace": bulk.discrete_laplace_array,
    "floored_laplace": bulk.floored_laplace_array,
    "rounded_laplace": bulk.rounded_laplace_array,
}
EVERY = pytest.mark.parametrize("kind", ARRAYS)

# --- independent cells ---------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("scale", ["1/20", "1", "7/3", "50", "12345.678", "1000000000000"])
def test_an_array_has_the_draws_that_a_loop_makes_of_the_same_words(kind: str, scale: str) -> None:
    exact = Fraction(scale)
    expected = integer_draws(LAWS[kind](exact, 64), SeededBits(3), 500)
    assert ARRAYS[kind](SeededBits(3), exact, 500).tolist() == expected


@EVERY
def test_arrays_longer_than_a_chunk_go_on_where_it_ended(kind: str) -> None:
    size, source = bulk.CHUNK + 10, SeededBits(4)
    whole = ARRAYS[kind](SeededBits(4), Fraction(2), size)
    assert whole.dtype == np.int64
    assert whole.tolist()[: bulk.CHUNK] == integer_draws(LAWS[kind](Fraction(2), 64), source, bulk.CHUNK)
    assert whole.tolist()[bulk.CHUNK :] == integer_draws(LAWS[kind](Fraction(2), 64), source, 10)


@EVERY
@pytest.mark.parametrize("scale", ["0.7", "5", "100/3"])
def test_many_draws_fit_the_law_and_not_a_scale_ten_percent_off(kind: str, scale: str) -> None:
    exact, size = Fraction(scale), 40_000
    law, wrong = law_of(kind, exact), law_of(kind, exact * WRONG)
    assert law.p_value(ARRAYS[kind](SeededBits(5), exact, size).tolist()) > FALSE_ALARM
    assert law.power(wrong, size) > POWER
    assert law.p_value(ARRAYS[kind](SeededBits(6), exact * WRONG, size).tolist()) < FALSE_ALARM


@EVERY
@pytest.mark.parametrize("scale", ["0.7", "20", "1234.5678"])
def test_short_words_whose_tables_leave_most_open_fit_the_law_too(kind: str, scale: str) -> None:
    exact, size = Fraction(scale), 3000
    law = law_of(kind, exact)
    assert law.p_value(bulk.draw_array(SeededBits(7), LAWS[kind](exact, 8), size).tolist()) > FALSE_ALARM
    if law.power(law_of(kind, exact * WRONG), size) > POWER:
        assert law.p_value(bulk.draw_array(SeededBits(8), LAWS[kind](exact * WRONG, 8), size).tolist()) < FALSE_ALARM


@EVERY
def test_all_words_of_eight_bits_are_located_like_single_ones(kind: str) -> None:
    """Of 256 words those that hold no boundary together, and each of the others with the same further bits: no statistics involved."""
    law, further = LAWS[kind](Fraction(3, 2), 8), [(8, 0x5A), (8, 0xC3), (8, 0x71)]
    closed, singly = [], []
    for word in range(256):
        alone, in_array = (ScriptedBits([(8, word), *further]) for _ in range(2))
        (value,) = integer_draws(law, alone, 1)
        assert bulk.draw_array(in_array, law, 1).tolist() == [value]
        assert alone.taken == in_array.taken
        if alone.taken == 1:
            closed.append((8, word))
            singly.append(value)
    assert 150 < len(closed) < 250
    assert bulk.draw_array(ScriptedBits(closed), law, len(closed)).tolist() == singly


class Unsearched(np.ndarray):
    """A table in which nobody may search: the branches of a search take longer for words that are less likely."""

    def searchsorted(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("a table was searched")


@EVERY
@pytest.mark.parametrize("scale", ["0.05", "0.7", "20", "1234.5678"])
def test_few_words_are_compared_with_every_entry_of_a_table(monkeypatch: pytest.MonkeyPatch, kind: str, scale: str) -> None:
    """A clock that repeats one draw tells which way a search went. The oracle is the search."""
    for _, part in LAWS[kind](Fraction(scale), 64).parts:
        high, low = bulk.table_words(part)
        beside = np.concatenate([high[high < 2**63], low - np.uint64(1)])
        closed = beside[beside < low[high.searchsorted(beside, side="right")]][: bulk.COMPARED]
        wanted = high.searchsorted(closed, side="right")
        with monkeypatch.context() as patched:
            patched.setattr(bulk, "table_words", lambda _, high=high, low=low: (high.view(Unsearched), low))
            assert np.asarray(bulk.located(ScriptedBits([]), part, closed, 2**62)).tolist() == wanted.tolist()
            with pytest.raises(AssertionError, match="searched"):
                bulk.located(ScriptedBits([]), part, np.resize(closed, bulk.COMPARED + 1), 2**62)


# --- integers alone ------------------------------------------------------------------------------------------------------


def test_words_of_another_type_than_the_table_are_refused() -> None:
    """numpy compares unsigned with signed integers as floats, which takes 2^63 - 1 for 2^63."""
    part = LAWS["geometric"](Fraction(1), 64).parts[0][1]
    words = np.array([1, 2, 3], dtype=np.int64)
    with pytest.raises(InternalError, match="one type"):
        bulk.located(SeededBits(1), part, words, 10)  # type: ignore[arg-type]


ALLOWED = {
    "abs", "arange", "array", "astype", "bincount", "bool_", "count_nonzero", "bit_length", "bits", "concatenate", "diff", "dot", "dtype",
    "denominator", "empty", "flatnonzero", "frombuffer", "gate", "high", "int64", "low", "mask", "negative", "nonzero", "numerator",
    "parts", "reshape", "searchsorted", "settle", "signed", "sort", "sum", "take", "tolist", "uint64", "uint8", "append", "view",
    "ones", "zero", "zeros",
}  # fmt: skip
"""Names that may stand behind a dot: none of them makes a float of integers."""


def _offences(tree: ast.Module) -> list[str]:
    """Floats, ways to make them, and random numbers of numpy's."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Div):
            left = node.left if isinstance(node, ast.BinOp) else node.target
            if not (isinstance(left, ast.Constant) and isinstance(node, ast.BinOp) and ast.unparse(node) in {"1 / epsilon", "2 / epsilon"}):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, float):
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Name) and node.id in {"float", "complex", "round"}:
            found.append(node.id)
        elif isinstance(node, ast.Attribute):
            name = node.attr
            if name not in ALLOWED:
                found.append(name)
    return found


def test_the_one_module_with_numpy_has_no_float_no_division_and_no_random_numbers() -> None:
    folder = Path(bulk.__file__).parent
    with_numpy = [path.name for path in folder.glob("*.py") if "numpy" in {name.split(".")[0] for name in _imported(path)}]
    assert with_numpy == ["bulk.py"]
    assert _offences(ast.parse(Path(bulk.__file__).read_text())) == []


def _imported(path: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    return [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names] + [
        node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)
    ]


@pytest.mark.parametrize(
    "code",
    [
        "x = a / b",
        "a /= 2",
        "x = 0.5",
        "np.random.default_rng()",
        "a.astype(np.float64)",
        "np.zeros(3, dtype=float)",
        "a.mean()",
        "1 / scale",
    ],
)
def test_what_is_banned_is_noticed(code: str) -> None:
    assert _offences(ast.parse(code))


def test_a_scale_too_large_for_arrays_is_refused_and_the_largest_is_drawn() -> None:
    for array in ARRAYS.values():
        with pytest.raises(TooLargeError):
            array(SeededBits(1), Fraction(ROOM + 1), 3)
        assert np.abs(array(SeededBits(1), Fraction(ROOM), 50)).max() > ROOM // 4
    with pytest.raises(TooLargeError):
        bulk.lattice_array(SeededBits(1), 4, Fraction(7, ROOM), 2)
    with pytest.raises(TooLargeError):
        bulk.wide_lattice_array(SeededBits(1), 2000, Fraction(7, ROOM))


def _far_out(ones: int) -> ScriptedBits:
    """Words for one geometric draw of the largest scale: low digits of 0, and a high one whose uniform number begins with so many ones."""
    digits = len(LAWS["geometric"](Fraction(ROOM), 64).parts) - 1
    return ScriptedBits([*[(64, 0)] * digits, (64, 2**64 - 1), (64, 2**64 - 2 ** (64 - (ones - 63)))])


def test_noise_up_to_the_largest_integer_is_drawn_and_beyond_it_raises_instead_of_wrapping_around() -> None:
    """A draw is beyond 64 times its scale where the first 92 bits, or a few more, are ones."""
    (drawn,) = bulk.geometric_array(_far_out(90), Fraction(ROOM), 1).tolist()
    assert 61 * ROOM < drawn <= 2**62
    with pytest.raises(InternalError, match="beyond the largest integer"):
        bulk.geometric_array(_far_out(95), Fraction(ROOM), 1)


def test_noise_that_is_added_up_has_as_much_less_room() -> None:
    """Of four draws that are added up, each may be a quarter of the largest integer."""
    law = LAWS["geometric"](Fraction(ROOM), 64)
    with pytest.raises(InternalError, match="beyond the largest integer"):
        bulk.draw_array(_far_out(90), law, 1, cells=4)


def test_the_largest_integer_itself_is_drawn() -> None:
    part, word = LAWS["geometric"](Fraction(1), 64).parts[0][1], np.array([2**63 - 1], dtype=np.uint64)
    found = bulk.located(ScriptedBits([(64, 2**63)]), part, word, 2**62).tolist()[0]
    assert bulk.located(ScriptedBits([(64, 2**63)]), part, word, found).tolist() == [found]
    with pytest.raises(InternalError, match="beyond the largest integer"):
        bulk.located(ScriptedBits([(64, 2**63)]), part, word, found - 1)


def test_an_outcome_is_never_made_of_noise_that_is_a_python_integer() -> None:
    """Noise reaches the outcome in an array of 64-bit words, for every mechanism that adds noise, n public or private."""
    prior = dc.Dirichlet.uniform(3)
    for mechanism in (
        *(dc.LatticeGeometric(dc.Dirichlet.uniform(k), n, 1) for k in (2, 3, 30) for n in (100, None)),
        *(kind(prior, 100, 1) for kind in (dc.LaplaceHistogram, dc.LaplaceDimension, dc.LaplaceZhang)),
        dc.LaplaceHistogram(prior, 100, 1, rounding="nearest"),
    ):
        noise = mechanism._draw_noise(SeededBits(1))
        assert isinstance(noise, np.ndarray)
        assert noise.dtype == np.int64


@pytest.mark.parametrize("k", [2, 30])
@pytest.mark.parametrize("n", [10**12, None])
def test_the_smallest_epsilon_and_the_largest_counts_are_drawn(k: int, n: int | None) -> None:
    mechanism, counts = dc.LatticeGeometric(dc.Dirichlet.uniform(k), n, "1e-15"), [10**12, *[0] * (k - 1)]
    raw = mechanism._sampler(counts).draw(SeededBits(1))
    assert max(map(abs, raw)) > 10**14
    assert n is None or sum(raw) == n
    with pytest.raises(TooLargeError, match="raise epsilon"):
        dc.LatticeGeometric(dc.Dirichlet.uniform(37), n, "1e-15").prepare([10**12, *[0] * 36])


DRAWS: list[Callable[[BitSource], object]] = [
    lambda source: bulk.discrete_laplace_array(source, Fraction(1), 100),
    lambda source: bulk.lattice_array(source, 5, Fraction(1), 100),
    lambda source: bulk.wide_lattice_array(source, 2000, Fraction(1)),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_source_that_runs_dry_raises(draw: Callable[[BitSource], object]) -> None:
    with pytest.raises(EntropyError):
        draw(StringBits(0, 1000))


# --- noise that adds up to zero ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "epsilon", "size"), [(2, "1", 20_000), (3, "0.5", 20_000), (3, "2", 20_000), (4, "1", 20_000)])
def test_many_blocks_fit_the_law_and_not_a_rate_ten_percent_off(k: int, epsilon: str, size: int) -> None:
    exact = Fraction(epsilon)
    law, wrong = noise_law(k, exact), noise_law(k, exact * WRONG)
    assert law.power(wrong, size) > POWER
    assert law.p_value(_rows(bulk.lattice_array(SeededBits(1), k, exact, size))) > FALSE_ALARM
    assert law.p_value(_rows(bulk.lattice_array(SeededBits(2), k, exact * WRONG, size))) < FALSE_ALARM


def _rows(array: NDArray[np.int64]) -> list[tuple[int, ...]]:
    assert (array.sum(axis=1) == 0).all()
    return [tuple(row) for row in array.tolist()]


def test_blocks_of_many_categories_have_noise_of_the_right_size() -> None:
    law = size_law(30, Fraction(1, 2))
    sizes = {factor: np.abs(bulk.lattice_array(SeededBits(3), 30, factor / 2, 3000)).sum(axis=1) // 2 for factor in (Fraction(1), WRONG)}
    assert law.p_value(sizes[Fraction(1)].tolist()) > FALSE_ALARM
    assert law.p_value(sizes[WRONG].tolist()) < FALSE_ALARM


@pytest.mark.parametrize(("k", "epsilon", "size"), [(3, "1", 7000), pytest.param(4, "1", 5000, marks=pytest.mark.slow)])
def test_noise_by_way_of_the_total_has_the_same_law(k: int, epsilon: str, size: int) -> None:
    """The sampler for many categories, at a few, where the whole law can be listed."""
    exact = Fraction(epsilon)
    law, source = noise_law(k, exact), SeededBits(4)
    assert law.p_value([tuple(bulk.wide_lattice_array(source, k, exact).tolist()) for _ in range(size)]) > FALSE_ALARM
    assert law.power(noise_law(k, exact * WRONG), size) > POWER
    assert law.p_value([tuple(bulk.wide_lattice_array(source, k, exact * WRONG).tolist()) for _ in range(size)]) < FALSE_ALARM


def test_noise_by_way_of_the_total_has_the_right_size_for_many_categories() -> None:
    law, source = size_law(300, Fraction(1)), SeededBits(5)
    for factor, fits in ((Fraction(1), True), (WRONG, False)):
        sizes = [int(np.abs(bulk.wide_lattice_array(source, 300, factor)).sum()) // 2 for _ in range(400)]
        assert (law.p_value(sizes) > FALSE_ALARM) == fits


SIZES = [(12, "1"), (13, "1"), (ATTEMPTED, "1"), (ATTEMPTED + 1, "1"), (30, "1e-15"), (ATTEMPTED + 1, "1e-13")]


@pytest.mark.parametrize(("k", "epsilon"), SIZES)
def test_every_size_and_epsilon_is_drawn_in_integers(k: int, epsilon: str) -> None:
    noise = lattice_blocks(SeededBits(2), Fraction(epsilon), k, 1)[0]
    assert len(noise) == k
    assert sum(noise.tolist()) == 0
    assert noise.dtype == np.int64
    assert max(noise) > 1 / Fraction(epsilon)


@pytest.mark.parametrize("dense", [0, 32])
@pytest.mark.parametrize(("total", "parts"), [(0, 3), (1, 4), (2, 4), (3, 3), (5, 2), (4, 4)])
def test_compositions_are_uniform(monkeypatch: pytest.MonkeyPatch, total: int, parts: int, dense: int) -> None:
    """With a byte for every place, and without."""
    monkeypatch.setattr(bulk, "DENSE", dense)
    points = [tuple(point) for point in lattice(total, parts).tolist()]
    law, source = Law(dict.fromkeys(points, 1.0 / len(points))), SeededBits(6)
    draws = [tuple(bulk.composition_array(source, total, parts).tolist()) for _ in range(4000)]
    assert set(draws) == set(points)
    assert law.p_value(draws) > FALSE_ALARM


def test_cutting_sorted_places_off_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slip that the sampler of subsets must not make: it prefers low places."""
    right = bulk.subset_array

    def trimmed(source: BitSource, size: int, places: int) -> NDArray[np.int64]:
        return np.unique(np.concatenate([right(source, size, places), right(source, size, places)]))[:size]

    points = [tuple(point) for point in lattice(4, 4).tolist()]
    law, source = Law(dict.fromkeys(points, 1.0 / len(points))), SeededBits(6)
    monkeypatch.setattr(bulk, "subset_array", trimmed)
    assert law.p_value([tuple(bulk.composition_array(source, 4, 4).tolist()) for _ in range(4000)]) < FALSE_ALARM


def test_a_large_composition_adds_up_and_spreads_evenly() -> None:
    for total in (10**4, 10**6, 10**12):
        parts = bulk.composition_array(SystemBits(), total, 10**5)
        assert parts.sum() == total
        assert parts.min() >= 0
        assert abs(int(parts[:50_000].sum()) - total / 2) < 8 * (total / 4 + total**2 / 10**5) ** 0.5
    assert Counter(bulk.composition_array(SystemBits(), 3, 10**5).tolist())[0] >= 10**5 - 3
