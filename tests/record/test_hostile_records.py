"""Records from whoever wrote them: an answer or one line, in bounded time, and nothing that a terminal or a page would obey."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import TooLargeError
from discreet.ledger.ledger import Ledger
from discreet.mechanisms import MECHANISMS
from discreet.record.guarantee import NO_GUARANTEE
from discreet.text import plain
from tests.cli.support import invoke
from tests.support import lowered, mostly_slow

HOSTILE = [
    *("\x1b[2J\x1b[1;1HPromise ε = 0", "\x1b]0;title\x07", "\x9b31m", "a\rb", "a\nb", "\t", "\x00", "\x7f", "\x85", "\b\b\b"),
    *("\u202eevil", "\u2066x\u2069", "\u200e", "\u061c", "\u2028", "\u2029", "\ufeff", "\u00ad", "\U000e0041", "\ud800", "\udfff"),
]
"""Labels that a terminal or a page obeys: C0 and C1 controls, direction, separators, invisible marks, lone surrogates."""
HARMLESS = ["never", "né", "🙂", "👩\u200d💻", "می\u200cخواهم", "日本", "[bold]x", "$x$", "<b>", "_x", "a\\x1b"]
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What must not be printed: written out here, and not taken from the code under test. A line break of ours is no label's."""
LONGEST = 60
"""Seconds after which a call counts as one that does not end. The slowest takes a few."""


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[str], Path]:
    """Keeps a record in a file."""

    def keep(text: str) -> Path:
        (path := tmp_path / "record.json").write_text(text)
        return path

    return keep


def released(*labels: Any, n: int = 20) -> str:
    prior = dc.Dirichlet.uniform(categories=[*labels, "other"])
    return dc.LatticeGeometric(prior, n, 1).release([n, *[0] * len(labels)]).to_json()


# --- foreign strings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", mostly_slow(HOSTILE[::3] + HOSTILE[1::3] + HOSTILE[2::3], 7), ids=ascii)
def test_no_control_character_of_a_label_is_printed(kept: Callable[[str], Path], label: str, tmp_path: Path) -> None:
    path = kept(released(label))
    for words in (["show", path], ["show", path, "--json"], ["verify", path], ["show", path, "--plot", tmp_path / "p.png"]):
        result = invoke(*words)
        assert result.exit_code == 0, result.output
        assert not OBEYED.search(result.output), ascii(result.output)
    assert json.loads(invoke("show", path, "--json").stdout)["categories"][0]["category"] == label
    found = dc.Release.from_json(path.read_text())
    for html in (found._repr_html_(), found.noise_aware()._repr_html_(), found.prior._repr_html_()):
        assert not OBEYED.search(html), ascii(html)
    for text in (repr(found.noise_aware()), repr(found.prior)):
        assert not OBEYED.search(text), ascii(text)


@pytest.mark.parametrize("label", HARMLESS)
def test_other_characters_are_printed_as_they_are(kept: Callable[[str], Path], label: str) -> None:
    assert plain(label) == label
    assert f" {label} " in invoke("show", kept(released(label))).stdout


def test_no_control_character_is_printed_in_an_error_a_notice_or_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = [invoke("show", f"{label}.json") for label in HOSTILE if "\x00" not in label]
    results += [invoke("verify", f"{label}lattice", "--n", "3") for label in HOSTILE]
    results += [invoke("release", "x.csv", "-c", "x", "--categories", label, "-e", "1") for label in HOSTILE]
    book = Ledger(tmp_path / "ledger.db")
    book.create("survey", 100)
    for label in HOSTILE:
        if label.isprintable():
            book.spend("survey", 1, note=label)
    results += [invoke("ledger", "history", "ledger.db", "survey"), invoke("ledger", "show", "ledger.db")]
    for result in results:
        assert not OBEYED.search(result.output), ascii(result.output)


def test_a_release_prints_declared_categories_plainly(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\na\nb\n")
    result = invoke("release", tmp_path / "x.csv", "-c", "x", "--categories", "a,b,\x1b[2J\u202e", "-e", "1")
    assert result.exit_code == 0, result.output
    assert r"\x1b[2J\u202e" in result.stderr
    assert not OBEYED.search(result.output)


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "label",
    [
        *({"type": "decimal", "value": value} for value in ("sNaN", "NaN", "-sNaN123", "Infinity", "-inf", "x")),
        *({"type": "fraction", "value": value} for value in ("1/0", "NaN", "1e5", "9" * 2000, "١/٢")),
        *({"type": kind, "value": "x"} for kind in ("date", "datetime", "complex", "")),
        *({"type": kind, "value": 1} for kind in ("date", ["date"], None)),
        *([], {}, [1], {"type": "date"}, "x" * 4001),
    ],
    ids=lambda label: ascii(label)[:40],
)
def test_a_label_that_is_none_is_refused(kept: Callable[[str], Path], label: Any) -> None:
    body = json.loads(released("yes"))
    body["prior"]["categories"][0] = label
    assert_refused(kept(json.dumps(body)))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "1" * 5000])
def test_a_number_that_is_none_is_refused(kept: Callable[[str], Path], number: str) -> None:
    assert_refused(kept(released("yes").replace('"yes"', number)))
    assert_refused(kept(re.sub(r'"n": \d+', f'"n": {number}', released("yes"))))


def test_a_calibrated_factor_beyond_floats_is_refused(kept: Callable[[str], Path]) -> None:
    made = dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), 20, 1))
    text = made.release([12, 8]).to_json()
    for factor in (10**900, Fraction(1, 10**900), 0, 10**1001):
        assert_refused(kept(text.replace(f'"factor": "{made.factor}"', f'"factor": "{factor}"')))


def assert_refused(path: Path) -> None:
    """One line and exit code 2, whatever is asked about the record."""
    with pytest.raises(dc.InvalidInputError) as raised:
        dc.Release.from_json(path.read_text())
    assert len(str(raised.value).splitlines()) == 1
    for words in (["show", path], ["show", path, "--json"], ["verify", path], ["verify", path, "--json"]):
        result = invoke(*words)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output


def test_what_can_be_computed_with_can_be_written_and_read() -> None:
    """Numbers too long for a record are refused when a mechanism is made, and not after its release was paid for."""
    longest = Fraction(10**1000 - 1, 10**1000)
    made = dc.LatticeGeometric(dc.Dirichlet([longest, longest]), 5, longest).release([3, 2])
    assert dc.Release.from_json(made.to_json()) == made
    for number in (Fraction(10**1001, 10**1001 - 1), Fraction(1, 3**3000), "0." + "3" * 993 + "e-900"):
        with pytest.raises(dc.InvalidInputError, match="1,000 digits"):
            dc.LatticeGeometric(dc.Dirichlet([1, 1]), 5, number)
    with pytest.raises(dc.InvalidInputError, match="4,000 characters"):
        dc.Dirichlet([1, 1], categories=["x" * 4001, "y"])


# --- work -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["show"], ["show", "--json"]])
def test_the_intervals_of_many_categories_are_asked_for(kept: Callable[[str], Path], command: list[str]) -> None:
    path = kept(released(*range(100), n=10**6))
    result = invoke(*command, path)
    assert result.exit_code == 0, result.output
    assert "the intervals of 101 categories take a while: discreet show RECORD --slow computes them" in " ".join(result.stdout.split())
    refused = invoke("show", path, "--plot", path.with_suffix(".png"))
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)


def test_slow_intervals_can_be_had(kept: Callable[[str], Path]) -> None:
    path = kept(released(*range(100), n=4))
    rows = json.loads(invoke("show", path, "--json", "--slow").stdout)["categories"]
    assert sum(row["mean"] for row in rows) == pytest.approx(1.0)


def test_a_table_of_very_many_rows_is_cut(kept: Callable[[str], Path]) -> None:
    path = kept(released(*range(1000), n=4))
    shown = invoke("show", path).stdout
    assert re.search(r"│ 998 +│", shown)
    assert not re.search(r"│ 999 +│", shown)
    assert "2 more: --json" in shown
    assert len(json.loads(invoke("show", path, "--json").stdout)["categories"]) == 1001


@pytest.mark.slow
def test_an_outcome_whose_windows_are_wide_is_asked_for(kept: Callable[[str], Path]) -> None:
    """Noisy counts of 0 in all 30 categories and a total of a million leave the true counts open over a million values."""
    mechanism = dc.LaplaceZhang(dc.Dirichlet.uniform(30), 10**6, 1)
    raw = (0,) * 30
    path = kept(dc.Release(mechanism, mechanism.guarantee, raw, raw).to_json())
    assert "take a while and much memory: discreet show RECORD --slow computes them" in " ".join(invoke("show", path).stdout.split())


@pytest.mark.parametrize("name", ["HellingerGlobal", "HellingerSmooth", "HellingerSmoothDelta"])
def test_no_huge_binomial_is_computed(kept: Callable[[str], Path], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of candidates of a hundred thousand categories has millions of digits."""

    def short(n: int, k: int) -> int:
        assert k < 7_000, "a binomial of many categories"
        return comb(n, k)

    monkeypatch.setattr("math.comb", short)
    k, n = 7_001, 2**53
    made = dc.mechanism(name, dc.Dirichlet.uniform(k), n, 1)
    raw = (n, *[0] * (k - 1))
    path = kept(dc.Release(made, NO_GUARANTEE, raw, raw).to_json())
    assert invoke("show", path).exit_code == 0
    assert invoke("verify", path).exit_code == 3


def test_no_more_is_read_than_a_record_can_have() -> None:
    with lowered(RECORD_CHARACTERS=1000):
        results = (invoke("show", "/dev/zero"), invoke("verify", "-", given=b"x" * 2000))
    for result in results:
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert "too long for a release" in result.stderr or "cannot be read" in result.stderr or "no mechanism" in result.stderr


def test_an_outcome_that_no_float_holds_is_read(kept: Callable[[str], Path]) -> None:
    """Noisy counts of 10^400 beside parameters of 1e9 and 1e-100: nobody draws them, but a record can say them.

    A record of 2^53 that moves from the second category to one with parameter a = 1e9 costs a factor e^5 of the noise, slope 5/2 in either,
    and wins (a + x)/(1 + x), so that x is near a/(e^5 - 1).
    """
    prior = dc.Dirichlet(["1", "7", "1e9", "0.5", "1", "1e9", "1e-100", "1e-100", "1", "7", "1", "1"])
    made = dc.LaplaceDimension(prior, 2**53, 30)
    raw = (-(10**400), 10**400 + 2**53, *[0] * 9)
    path = kept(dc.Release(made, made._claim, raw, made.report.one(raw)).to_json())
    for words in (["show", path], ["show", path, "--json"]):
        result = invoke(*words)
        assert result.exit_code == 0, result.output
    posterior = dc.Release.from_json(path.read_text()).noise_aware()
    counts, probability = posterior.count_probabilities(posterior.categories[2])
    assert abs(counts @ probability / (1e9 / np.expm1(5.0)) - 1.0) < 1e-4
    with pytest.raises(TooLargeError, match="evidence"):
        assert posterior.log_evidence


# --- promises ---------------------------------------------------------------------------------------------------------


def test_a_promise_by_computation_is_not_believed_before_it_is_computed(kept: Callable[[str], Path], tmp_path: Path) -> None:
    made = dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), 20, 1))
    text = made.release([12, 8]).to_json()
    honest, forged = text, text.replace(f'"factor": "{made.factor}"', f'"factor": "{5 * made.factor}"')
    assert forged != honest
    for record, code in ((honest, 0), (forged, 1)):
        path = kept(record)
        shown = invoke("show", path).stdout
        assert "Promise   not verified; the record claims ε = 1 differential privacy by computation" in shown
        assert f"discreet verify {path} computes" in shown
        assert json.loads(invoke("show", path, "--json").stdout)["verified"] is False
        with mpl.rc_context({"svg.fonttype": "none"}):
            assert invoke("show", path, "--plot", tmp_path / "promise.svg").exit_code == 0
        assert "verified)" in (tmp_path / "promise.svg").read_text()  # the title is broken into lines
        assert invoke("verify", path).exit_code == code
    small = dc.HellingerSmoothDelta(dc.Beta(1, 1), 8, 1)
    assert "not verified" in invoke("show", kept(small.release([5, 3]).to_json())).stdout


def test_a_promise_that_was_computed_here_is_not_doubted(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n" + "a\nb\n" * 10)
    words = ["release", tmp_path / "x.csv", "-c", "x", "--categories", "a,b", "-e", "1", "-m", "Calibrated(EHDS)"]
    assert "Promise   ε = 1 differential privacy by computation" in invoke(*words).stderr


# --- fuzz -------------------------------------------------------------------------------------------------------------


@contextmanager
def ends() -> Iterator[None]:
    """Fails what does not end. This is no measurement: the limit is far above what anything here takes."""

    def hang(_signal: int, _frame: object) -> None:
        raise AssertionError(f"no answer after {LONGEST} s")

    before = signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 7, 0.5, -0.0, 1e308, 10**18, -(10**18), 2**53, 2**53 + 1, 2**64, 10**400, 10**4299),
    *("", "0", "1", "1/2", "1/0", "0/1", "inf", "nan", "NaN", "-1", "1e5", "9" * 1001, "1/" + "9" * 1001, "1" + "0" * 100, "9" * 5000),
    *("proof", "computation", "none", "person", "best", "euclidean", "cut", "Beta", "Dirichlet", *(cls.__name__ for cls in MECHANISMS)),
    *("Remapped", "Calibrated", "Scaled", "__class__", *HOSTILE),
    *(
        [],
        [[]],
        {},
        [1, 2],
        ["1", "1"],
        {"type": "decimal", "value": "sNaN"},
        {"mechanism": "Remapped", "options": {}},
        ["x"] * 300,
        [0] * 300,
    ),
]


def bases() -> list[dict[str, Any]]:
    prior = dc.Dirichlet(["1", "1/2", "3/10"], categories=["low", "mid", 3])
    two = dc.Beta(2, "1/3", categories=["yes", "no"])
    made = [
        *(cls(prior, 7, 1) for cls in MECHANISMS),
        *(cls(two, 9, "1/3") for cls in MECHANISMS),
        dc.Remapped(dc.LatticeGeometric(prior, 30, "0.1")),
        dc.Remapped(dc.Calibrated(dc.HellingerSmooth(two, 9, 1))),
        dc.Calibrated(dc.HellingerGlobal(two, 9, 1)),
    ]
    full = {3: (4, 2, 1), 2: (5, 4)}
    counts = [full[m.k] if sum(full[m.k]) == m.n else (m.space.total, *[0] * (m.k - 1)) for m in made]
    return [json.loads(m.release(c, allow_nonprivate=True).to_json()) for m, c in zip(made, counts, strict=True)]


BASES = bases()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, (*path, name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from places(item, (*path, i))


def put(body: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """The value with a change of what holds the last step of a path; the path may be gone by now."""
    root: dict[str, Any] = {"": body}
    holder: Any = root
    try:
        for step in ("", *path)[:-1]:
            holder = holder[step]
        change(holder, ("", *path)[-1])
    except (KeyError, IndexError, TypeError):
        pass
    return root.get("")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid record with up to four things changed in it, as JSON, or as text."""
    body = deepcopy(draw(st.sampled_from(BASES)))
    if draw(st.booleans()):  # hostile labels alone, which are read
        k = len(body["prior"]["categories"])
        body["prior"]["categories"] = draw(st.lists(st.sampled_from(HOSTILE), min_size=k, max_size=k, unique=True))
        return json.dumps(body)
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(list(places(body))))
        value = deepcopy(draw(st.sampled_from(VALUES) | st.integers(-3, 40) | st.text(max_size=4)))  # what is put in may be changed next
        how = draw(st.sampled_from(["set", "set", "set", "remove", "add", "repeat", "deep"]))

        def change(holder: Any, step: Any, how: str = how, value: Any = value) -> None:
            if how == "set":
                holder[step] = value
            elif how == "remove":
                del holder[step]
            elif how == "add":
                holder[str(value)[:50] if isinstance(holder, dict) else len(holder)] = value
            elif how == "repeat":
                holder[step] = holder[step] * 50
            else:
                holder[step] = {"options": {"options": [[[holder[step]]]]}}

        body = put(body, path, change)
    text = json.dumps(body)
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at] + draw(st.sampled_from(["", ",", "}", "[" * 100_000, "\x00", "NaN", "1e999", "\ud800", '"n": 3,'])) + text[at + 1 :]
        )
    return text


@st.composite
def extreme(draw: st.DrawFn) -> str:
    """A record that is consistent, with numbers at the ends of what is allowed, and an outcome at a corner."""
    cls = draw(st.sampled_from(MECHANISMS))
    k = draw(st.sampled_from([2, 2, 3, 5, 12]))
    n = draw(st.sampled_from([1, 2, 7, 40, 300, 10**6, 10**12, 2**53]))
    epsilon = draw(st.sampled_from(["1e-15", "1e-9", "0.001", "1/3", "1", "30", "1e6", "1e15"]))
    parameter = st.sampled_from(["1e-100", "1e-9", "0.5", "1", "1", "7", "1e9", "1e100"])
    prior = dc.Dirichlet(
        draw(st.lists(parameter, min_size=k, max_size=k)), categories=[f"{draw(st.sampled_from(HOSTILE))}{i}" for i in range(k)]
    )
    made: Any = cls(prior, n, epsilon)
    far = draw(st.sampled_from([0, 1, n, 10**20, 10**400]))
    raw = draw(st.permutations([n + far, -far, *[0] * (k - 2)]))
    raw = raw[: k - 1] if cls in (dc.LaplaceDimension, dc.LaplaceHistogram) else raw
    if issubclass(cls, (dc.HellingerGlobal, dc.HellingerLocal, dc.HellingerSmooth, dc.HellingerSmoothDelta)):
        raw = draw(st.permutations([n - n // 3, n // 3, *[0] * (k - 2)]))
    return dc.Release(made, made._claim, tuple(raw), made.report.one(tuple(raw))).to_json()


def check(text: str, path: Path) -> bool:
    """Whatever is asked about a record ends in an answer or in one line; whether it was read at all."""
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    picture = path.with_suffix(".svg")
    refusal = ""
    with ends():
        try:
            dc.Release.from_json(path.read_bytes())
        except dc.ClaimError:
            pass
        except dc.InvalidInputError as error:
            refusal = str(error)
    assert len(refusal.splitlines()) <= 1, refusal
    assert len(refusal) < 2000, refusal[:100]
    for words, codes in (
        (["show", path], (0, 2)),
        (["show", path, "--json", "--mass", "0.5"], (0, 2)),
        (["verify", path], (0, 1, 2, 3)),
        (["verify", path, "--json"], (0, 1, 2, 3)),
        (["show", path, "--plot", picture], (0, 2)),
    ):
        with ends():
            result = invoke(*words)
        assert result.exception is None or isinstance(result.exception, SystemExit), (words, repr(result.exception))
        assert result.exit_code in codes, (words, result.output)
        assert not OBEYED.search(result.output), ascii(result.output)
        assert (result.exit_code == 2) <= (result.stderr.count("\n") == 1), result.stderr
        assert not (result.exit_code == 2 and not refusal and "verify" in words), result.stderr
    return not refusal


@pytest.mark.parametrize("calls", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_mutated_records(calls: int, tmp_path: Path) -> None:
    seen = {True: 0, False: 0}

    @settings(max_examples=calls, suppress_health_check=list(HealthCheck))
    @given(mutated())
    def one(text: str) -> None:
        seen[check(text, tmp_path / "record.json")] += 1

    one()
    assert min(seen.values()) > calls // 20, seen  # some are read, some are refused


@pytest.mark.parametrize("calls", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_extreme_records(calls: int, tmp_path: Path) -> None:
    @settings(max_examples=calls, suppress_health_check=list(HealthCheck))
    @given(extreme())
    def one(text: str) -> None:
        assert check(text, tmp_path / "record.json")

    one()
