"""Random bits: uniform, exact, and the only randomness on the path of a release."""

import ast
import os
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet.sampling
from discreet.errors import DiscreetError, EntropyError, InternalError
from discreet.numerics.balls import ball
from discreet.sampling import (
    BitSource,
    CountedBits,
    SeededBits,
    SystemBits,
    candidate_sampler,
)
from discreet.sampling.bits import take, take_octets, uniform
from discreet.sampling.bulk import discrete_laplace_array, floored_laplace_array, geometric_array, lattice_blocks, rounded_laplace_array
from tests.sampling.support import FALSE_ALARM, Law, StringBits, law_by_enumeration


def draw_everything(source: BitSource) -> list[object]:
    """One draw of every kind that a release is made of."""
    scale, one = Fraction(7, 3), (Fraction(1),) * 3
    return [
        *(
            draw(source, scale, 3).tolist()
            for draw in (geometric_array, discrete_laplace_array, floored_laplace_array, rounded_laplace_array)
        ),
        *(lattice_blocks(source, Fraction(1, 2), k, 1)[0].tolist() for k in (2, 4)),
        candidate_sampler(one[:2], (4, 5), lambda: ball(Fraction(3))).draw(source),
        candidate_sampler(one, (4, 5, 1), lambda: ball(Fraction(3))).draw(source),
    ]


@given(st.integers(0, 300))
def test_the_system_gives_as_many_bits_as_asked_for(count: int) -> None:
    assert 0 <= SystemBits().bits(count) < 2**count


def test_system_bits_are_fair_in_every_position() -> None:
    source = SystemBits()
    ones = np.zeros(13)
    for _ in range(4000):
        value = source.bits(13)
        ones += [value >> i & 1 for i in range(13)]
    assert (np.abs(ones - 2000) < 250).all()  # 7.9 standard deviations: a false alarm once in 10^13 runs


def test_seeded_bits_repeat_and_depend_on_the_seed() -> None:
    assert SeededBits(5).bits(2000) == SeededBits(5).bits(2000) != SeededBits(6).bits(2000)
    assert SeededBits(0).bits(64) == 15380724490905868965


@given(st.lists(st.integers(0, 200), min_size=1, max_size=20))
def test_seeded_bits_are_one_stream_however_they_are_taken(widths: list[int]) -> None:
    source, whole = SeededBits(1), 0
    for width in widths:
        whole = whole << width | source.bits(width)
    assert whole == SeededBits(1).bits(sum(widths))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 200)), min_size=1, max_size=12))
def test_bytes_are_the_same_stream_as_bits(pieces: list[tuple[bool, int]]) -> None:
    source, whole, length = CountedBits(SeededBits(4)), 0, 0
    for in_bytes, size in pieces:
        value, width = (int.from_bytes(take_octets(source, size)), 8 * size) if in_bytes else (take(source, size), size)
        whole, length = whole << width | value, length + width
    assert whole == SeededBits(4).bits(length)
    assert source.taken == length


def test_bytes_come_from_a_source_that_has_bits_alone() -> None:
    value = SeededBits(9).bits(192)
    assert take_octets(StringBits(value, 192), 24) == take_octets(SeededBits(9), 24) == value.to_bytes(24)


@pytest.mark.parametrize("value", [b"", b"1234567", "12345678", 5, None])
def test_a_source_that_gives_other_than_the_bytes_asked_for_raises(value: object) -> None:
    class Broken(SeededBits):
        def octets(self, size: int) -> bytes:
            return value  # type: ignore[return-value]

    with pytest.raises(EntropyError):
        take_octets(Broken(1), 8)


def test_everything_is_reproducible_from_a_seed() -> None:
    assert draw_everything(SeededBits(3)) == draw_everything(SeededBits(3))


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 8, 11, 16])
def test_uniform_integers_are_exactly_uniform(bound: int) -> None:
    law, undecided = law_by_enumeration(lambda source: uniform(source, bound), 12)
    assert law.keys() == set(range(bound))
    assert len(set(law.values())) == 1
    assert undecided < Fraction(1, 8)


def test_uniform_integers_are_uniform_at_a_large_bound() -> None:
    source, bound = SeededBits(2), 3 * 2**200
    cells = [int(uniform(source, bound) * 12 // bound) for _ in range(6000)]
    assert Law(dict.fromkeys(range(12), 1 / 12)).p_value(cells) > FALSE_ALARM
    assert Counter(cells).keys() == set(range(12))


@pytest.mark.parametrize("bound", [0, -3])
def test_uniform_refuses_an_empty_range(bound: int) -> None:
    with pytest.raises(InternalError):
        uniform(SeededBits(0), bound)


# --- sources that fail ------------------------------------------------------------------------------------------------


def test_a_source_that_runs_dry_raises_from_every_sampler() -> None:
    for length in range(0, 200, 7):
        stream = StringBits(SeededBits(length).bits(length), length)
        with pytest.raises(EntropyError):
            draw_everything(stream)


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError("no entropy")])
def test_a_system_without_randomness_raises(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    def fail(_: int) -> bytes:
        raise failure

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(EntropyError, match="nothing was released"):
        draw_everything(SystemBits())


def test_a_system_that_gives_too_little_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes(size - 1))
    with pytest.raises(EntropyError):
        SystemBits().bits(64)


@pytest.mark.parametrize("value", [4, -1, 0.5, None, "1"])
def test_a_source_that_returns_something_else_raises(value: object) -> None:
    class Broken:
        secret = False

        def bits(self, count: int) -> int:
            return value  # type: ignore[return-value]

    with pytest.raises(EntropyError) as caught:
        take(Broken(), 2)
    assert isinstance(caught.value, DiscreetError)
    assert str(value) not in str(caught.value)


# --- no other randomness ----------------------------------------------------------------------------------------------


def _reached_modules() -> dict[str, ast.Module]:
    """Every module of discreet that the samplers import, directly or not, as source."""
    root = Path(discreet.__file__).parent
    waiting = list((root / "sampling").glob("*.py"))
    trees: dict[str, ast.Module] = {}
    while waiting:
        path = waiting.pop()
        if path.name in trees:
            continue
        tree = trees[path.name] = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
                target = root.joinpath(*(node.module or "").split(".")[1:])
                waiting += [p for p in (target.with_suffix(".py"), target / "__init__.py") if p.exists() and target != root]
    return trees


def test_the_samplers_import_no_other_source_of_randomness() -> None:
    trees = _reached_modules()
    assert {"bits.py", "noise.py", "many_categories.py", "balls.py"} <= trees.keys()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Attribute):
                names = [f"numpy.{node.attr}"]
            else:
                continue
            assert not [name for name in names if name.split(".")[0] in {"random", "secrets"} or name.startswith("numpy.random")]


def test_the_samplers_work_when_every_other_source_of_randomness_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a sampler used randomness other than its bits")

    for module in (random, np.random):
        for name in dir(module):
            if not name.startswith("_") and callable(getattr(module, name)):
                monkeypatch.setattr(module, name, fail)
    assert len(draw_everything(SystemBits())) == 8
