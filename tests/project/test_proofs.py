"""The proofs in papers/proofs: that they are whole, that gaps are refused, and the same small worlds in Coq's rationals and in Python."""

import importlib.util
import random
import re
import sys
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError
from discreet.mechanisms.base import Mechanism
from discreet.model.datasets import Relation
from discreet.numerics.balls import ball
from discreet.record.guarantee import group_privacy
from discreet.sampling import BitSource
from discreet.sampling.bulk import located
from discreet.sampling.noise import Inversion, inversion
from tests.places import ROOT
from tests.sampling.support import StringBits

PROOFS = ROOT / "papers" / "proofs"
LN2 = log(2.0)


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("proofs_check", PROOFS / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["proofs_check"] = module
    spec.loader.exec_module(module)
    return module


check = loaded()

SMALL = """(*| small
One and one are two. It is Admitted by all, and no Axiom is needed.
papers: none
python: int
by hand: nothing.
test: test_a_whole_proof_is_accepted
|*)
Theorem small : 1 + 1 = 2.
Proof. reflexivity. Qed.
"""


def project(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "_CoqProject").write_text("-R . Discreet\nSmall.v\n")
    (folder / "Small.v").write_text(text)
    return folder


WORDS = {
    "Admitted": "Lemma gap : False.\nProof. Admitted.\n",
    "admit": "Lemma gap : False.\nProof. admit. Qed.\n",
    "Axiom": "Axiom gap : False.\n",
    "Parameter": "Parameter gap : False.\n",
    "Conjecture": "Conjecture gap : False.\n",
    "give_up": "Lemma gap : False.\nProof. give_up. Qed.\n",
    "Unset Guard Checking": "Unset\nGuard Checking.\nFixpoint gap (n : nat) : False := gap n.\n",
    "Admit Obligations": "Program Definition gap : False := _.\nAdmit Obligations.\n",
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_leaves_something_out_is_refused(word: str, tmp_path: Path) -> None:
    folder = project(tmp_path / "planted", WORDS[word] + SMALL)
    with pytest.raises(check.RefusedError, match=rf"Small\.v, line \d: {word}"):
        check.check(folder, tmp_path / "build")


def small() -> object:
    (theorem,) = check.theorems(_Text("Small.v", SMALL))
    return theorem


REALS = "ClassicalDedekindReals.sig_not_dec : forall P : Prop, {~ ~ P} + {~ P}\n"


@pytest.mark.parametrize(
    ("arguments", "rests", "refused"),
    [
        ("", f"Axioms:\ngap is assumed to be guarded.\n{REALS}", "small rests on gap"),
        ("", f"Axioms:\n{REALS}gap : False\n", "small rests on gap"),
        ("", "Axioms:\n", "cannot be read"),
        ("Arguments small n%nat_scope\n  hidden\n", f"Axioms:\n{REALS}", r"small has the hypothesis hidden"),
    ],
)
def test_an_answer_of_coq_with_a_gap_in_it_is_refused(arguments: str, rests: str, refused: str) -> None:
    about = f"small : 1 + 1 = 2\n\n{arguments}small is opaque\nExpands to: Constant Discreet.Small.small\n"
    with pytest.raises(check.RefusedError, match=refused):
        check.read_answer(small(), about + rests)
    check.read_answer(small(), about.replace(arguments, "") + f"Axioms:\n{REALS}")


def test_a_theorem_without_a_comment_is_refused() -> None:
    path = PROOFS / "Laws.v"
    assert check.theorems(path) == []
    with pytest.raises(check.RefusedError, match=r"bare has no comment"):
        check.theorems(_with(path, "Theorem bare : True.\nProof. exact I. Qed.\n"))


class _Text:
    def __init__(self, name: str, text: str) -> None:
        self.name, self._text = name, text

    def read_text(self) -> str:
        return self._text


def _with(path: Path, text: str) -> _Text:
    return _Text(path.name, path.read_text() + text)


def test_the_page_has_every_theorem_and_all_that_it_names_exists() -> None:
    page = check.PAGE.read_text()
    found = [theorem for path in check.sources(PROOFS) for theorem in check.theorems(path)]
    assert len(found) >= 25
    for theorem in found:
        assert f"\n## {theorem.name}\n\n{theorem.words}\n" in page
        assert check.folded(theorem.statement) in page
        assert theorem.about["test"] in globals()
        for name in theorem.about["python"].split(", "):
            assert resolve_name(name if "." in name else f"discreet.{name}")


COVERED: dict[str, list[Mechanism]] = {
    "fixed_total_private": [
        dc.LatticeGeometric(dc.Beta(1, 1), n=4, epsilon=1),
        dc.Remapped(dc.LatticeGeometric(dc.Beta(1, 1), n=4, epsilon=1)),
        dc.LatticeGeometric(dc.Beta(1, 1), n=4, epsilon=1, by={"g": [1, 2]}, impossible=[(1, "success")]),
    ],
    "cells_private": [
        dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1),
        dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1, by={"g": [1, 2]}, impossible=[(1, "success")]),
    ],
    "blocks_private": [dc.LatticeGeometric(dc.Beta(1, 1), n=[2, 0], epsilon=1, by={"g": [1, 2]}, impossible=[(2, "success")])],
    "laplace_private": [dc.LaplaceZhang(dc.Beta(1, 1), n=4, epsilon=1)],
    "laplace_two_private": [dc.LaplaceHistogram(dc.Beta(1, 1), n=4, epsilon=1), dc.LaplaceDimension(dc.Beta(1, 1), n=4, epsilon=1)],
    "laplace_but_last_private": [kind(dc.Dirichlet([1, 1, 1]), n=4, epsilon=1) for kind in (dc.LaplaceHistogram, dc.LaplaceDimension)],
    "exponential_private": [dc.HellingerGlobal(dc.Beta(1, 1), n=4, epsilon=1)],
    "smooth_private_one": [dc.HellingerSmooth(dc.Beta(1, 1), n=4, epsilon=1, gamma=3)],
}
UNCOVERED: list[Mechanism] = [
    *(kind(dc.Beta(1, 1), n=4, epsilon=1, rounding="nearest") for kind in (dc.LaplaceZhang, dc.LaplaceHistogram, dc.LaplaceDimension)),
    dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), n=4, epsilon=1)),
    dc.HellingerLocal(dc.Beta(1, 1), n=4, epsilon=1),
    dc.HellingerSmoothDelta(dc.Beta(1, 1), n=4, epsilon=1, delta=1e-6),
]


@pytest.mark.parametrize("name", COVERED)
def test_a_mechanism_names_the_theorem_that_covers_it(name: str) -> None:
    (theorem,) = [theorem for path in check.sources(PROOFS) for theorem in check.theorems(path) if theorem.name == name]
    for mechanism in COVERED[name]:
        assert type(mechanism).__name__ in theorem.about["python"]
        assert mechanism.guarantee.theorem == name
        assert f"by proof (checked: {name}); neighbours" in str(mechanism.guarantee)


@pytest.mark.parametrize("mechanism", UNCOVERED, ids=lambda mechanism: mechanism.title)
def test_a_configuration_that_no_theorem_covers_names_none(mechanism: Mechanism) -> None:
    assert mechanism.guarantee.theorem == ""
    assert "checked" not in str(mechanism.guarantee)


def test_a_theorem_makes_no_other_promise_and_is_found_again_with_a_record() -> None:
    release = dc.LatticeGeometric(dc.Beta(1, 1), n=4, epsilon=1).release([1, 3])
    assert "theorem" not in release.to_json()
    assert release.guarantee == dc.Guarantee(1.0, 0.0, "proof")
    assert dc.Release.from_json(release.to_json()).guarantee.theorem == "fixed_total_private"


# --- with Coq ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_whole_proof_is_accepted(tmp_path: Path) -> None:
    (theorem,) = check.check(project(tmp_path / "whole", SMALL), tmp_path / "build")
    assert (theorem.name, theorem.axioms) == ("small", [])


DESCRIPTION = "From Coq Require Import IndefiniteDescription.\n"
BEYOND = {
    "gap": "Variable gap : 1 + 1 = 2.\n" + SMALL.replace("reflexivity", "exact gap"),
    "constructive_indefinite_description": DESCRIPTION
    + SMALL.replace(
        "reflexivity", "destruct (constructive_indefinite_description _ (ex_intro (fun n => n = 1 + 1) 2 eq_refl)). reflexivity"
    ),
    "proof_irrelevance": "From Coq Require Import ProofIrrelevance.\n"
    + SMALL.replace("reflexivity", "destruct (proof_irrelevance True I I). reflexivity"),
}


@pytest.mark.slow
@pytest.mark.parametrize("axiom", BEYOND)
def test_a_theorem_that_rests_on_another_axiom_is_refused(axiom: str, tmp_path: Path) -> None:
    with pytest.raises(check.RefusedError, match=rf"small rests on [\w.]*{axiom}"):
        check.check(project(tmp_path / "planted", BEYOND[axiom]), tmp_path / "build")


@pytest.mark.slow
def test_a_proof_that_coq_does_not_accept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(check.RefusedError, match=r"Small\.v is not accepted by Coq"):
        check.check(project(tmp_path / "wrong", SMALL.replace("= 2", "= 3")), tmp_path / "build")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The proofs, compiled from nothing; the page must be what they say."""
    folder = tmp_path_factory.mktemp("proofs")
    found = check.check(PROOFS, folder / "build")
    assert check.page(found) == check.PAGE.read_text()
    return folder / "build"


HEADER = """From Coq Require Import List ZArith QArith String.
Import ListNotations.
Set Printing Depth 1000000.
Open Scope Z_scope.
"""


def asked(build: Path, terms: Sequence[str], before: str = "") -> list[str]:
    """What Coq computes for these terms."""
    script = HEADER + before + "".join(f"Eval vm_compute in ({term}).\n" for term in terms)
    answers = re.findall(r"^ +=(.*?)^ +: ", check.computed(script, build), re.DOTALL | re.MULTILINE)
    assert len(answers) == len(terms)
    return [" ".join(answer.split()) for answer in answers]


def fractions(answer: str) -> list[Fraction]:
    """A list of pairs of numerator and denominator."""
    return [Fraction(int(top), int(bottom)) for top, bottom in re.findall(r"\(\s*(-?\d+),\s*(\d+)\)", answer)]


def shown(term: str) -> str:
    """The same list of Q as pairs: Coq writes fractions in several ways."""
    return f"map (fun q => (Qnum (Qred q), QDen (Qred q))) ({term})"


def rational(value: Fraction | float) -> str:
    exact = Fraction(value)
    return f"({exact.numerator} # {exact.denominator})"


def listing(values: Sequence[object]) -> str:
    return "[" + "; ".join(map(str, values)) + "]"


def close(found: float, expected: Fraction | float) -> None:
    assert found == pytest.approx(float(expected), rel=1e-11, abs=1e-14)


@pytest.mark.slow
def test_cells_world(build: Path) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 2, 1]), epsilon=LN2)
    outcomes = [(a, b, c) for a in (-1, 2, 4) for b in (0, 3) for c in (-2, 1)]
    (answer,) = asked(build, [shown(f"map (cells_half geometric_half [2; 0; 1]) {listing([listing(z) for z in outcomes])}")])
    for z, expected in zip(outcomes, fractions(answer), strict=True):
        close(exp(mechanism.log_prob([2, 0, 1], z)), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "noised"),
    [
        (dc.LaplaceZhang(dc.Dirichlet([1, 1, 1]), n=3, epsilon=2 * LN2), 3),
        (dc.LaplaceHistogram(dc.Dirichlet([1, 1, 1]), n=3, epsilon=2 * LN2), 2),
        (dc.LaplaceDimension(dc.Dirichlet([1, 1, 1]), n=3, epsilon=3 * LN2), 2),
        (dc.LaplaceHistogram(dc.Beta(1, 1), n=3, epsilon=LN2), 1),
        (dc.LaplaceDimension(dc.Beta(1, 1), n=3, epsilon=2 * LN2), 1),
    ],
)
def test_laplace_world(build: Path, mechanism: Mechanism, noised: int) -> None:
    counts = [1, 2, 0][: mechanism.k]
    outcomes = [tuple((first, 1, -2)[:noised]) for first in range(-4, 6)]
    data = listing(counts) if noised == mechanism.k else f"(removelast {listing(counts)})"
    (answer,) = asked(build, [shown(f"map (cells_half floored_half {data}) {listing([listing(z) for z in outcomes])}")])
    for z, expected in zip(outcomes, fractions(answer), strict=True):
        close(exp(mechanism.log_prob(counts, z)), expected)


@pytest.mark.slow
def test_post_processing_world(build: Path) -> None:
    """The law of a clamped count is the image of the law of the count, of which all but 2^-60 is summed."""
    law = dc.LaplaceHistogram(dc.Beta(1, 1), n=3, epsilon=LN2).law([1, 2])
    sums = "fold_right (fun z total => if Z.max 0 (Z.min 3 z) =? j then Qred (floored_half 1 z + total) else total) 0%Q (range (-60) 121)"
    (answer,) = asked(build, [shown(f"map (fun j => {sums}) [0; 1; 2; 3]")])
    reported = dict(zip(law.counts[:, 0].tolist(), law.probability.tolist(), strict=True))
    for j, expected in enumerate(fractions(answer)):
        close(reported[j], expected)


@pytest.mark.slow
def test_lattice_world(build: Path) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 2, 1]), n=3, epsilon=2 * LN2)
    outcomes = [(2, 0, 1), (1, 1, 1), (-2, 5, 0), (4, -3, 2), (0, 0, 3)]
    off = (2, 0, 2)
    ratios, possible = asked(
        build,
        [
            shown(f"map (fun z => half (Z.to_nat (distance [2; 0; 1] z))) {listing([listing(z) for z in outcomes])}"),
            f"map (possible [2; 0; 1]) {listing([listing(z) for z in [*outcomes, off]])}",
        ],
    )
    at_the_data = mechanism.log_prob([2, 0, 1], (2, 0, 1))
    for z, expected in zip(outcomes, fractions(ratios), strict=True):
        close(exp(mechanism.log_prob([2, 0, 1], z) - at_the_data), expected)
    assert re.findall("true|false", possible) == ["true"] * len(outcomes) + ["false"]
    assert mechanism.log_prob([2, 0, 1], off) == -inf


@pytest.mark.slow
def test_blocks_world(build: Path) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1]), n=[3, 1], epsilon=2 * LN2, by={"g": ["a", "b"]})
    data, outcomes = [[2, 0, 1], [0, 1, 0]], [[[1, 1, 1], [0, 1, 0]], [[4, -2, 1], [-1, 1, 1]], [[2, 0, 1], [3, -1, -1]]]
    table, tables = listing([listing(group) for group in data]), listing([listing([listing(group) for group in z]) for z in outcomes])
    moved = f"fun z => fold_right Z.add 0 (map (fun xz => distance (fst xz) (snd xz)) (combine {table} z))"
    (answer,) = asked(build, [shown(f"map (fun z => half (Z.to_nat (({moved}) z))) {tables}")])
    at_the_data = mechanism.log_prob(data, data)
    for z, expected in zip(outcomes, fractions(answer), strict=True):
        close(exp(mechanism.log_prob(data, z) - at_the_data), expected)


N = 4
PRIOR = dc.Beta(0.5, 2)
COUNTS = [[i, N - i] for i in range(N + 1)]
SCORES = [[float(dc.hellinger(PRIOR.update(x), PRIOR.update(r))) for r in COUNTS] for x in COUNTS]
SENSITIVITIES = f"""
Definition scores := {listing([listing([rational(value) for value in row]) for row in SCORES])}.
Definition H (x r : nat) : Q := nth r (nth x scores []) 0%Q.
Definition datasets := seq 0 (S {N}).
Definition near (x : nat) : list nat := filter (fun y => orb (Nat.eqb y (S x)) (Nat.eqb x (S y))) datasets.
Definition LS (x : nat) : Q := local_rational H (near x) datasets x.
Definition LS_table := map LS datasets.
Definition d (x y : nat) : Q := inject_Z (Z.abs (Z.of_nat x - Z.of_nat y)).
Definition smooth (gamma : Q) (x : nat) : Q := smooth_rational (fun y => nth y LS_table 0%Q) d gamma datasets x.
"""
"""The Hellinger distances of all posteriors of four records, and from them local and smooth sensitivities by their definitions."""


@pytest.mark.slow
def test_local_sensitivity_world(build: Path) -> None:
    (answer,) = asked(build, [shown("LS_table")], SENSITIVITIES)
    for x, expected in zip(COUNTS, fractions(answer), strict=True):
        close(dc.local_sensitivity(PRIOR, x), expected)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", ["1/10", "1", "3"])
def test_smooth_world(build: Path, gamma: str) -> None:
    mechanism = dc.HellingerSmooth(PRIOR, n=N, epsilon=2, gamma=Fraction(gamma))
    rates = (
        f"map (fun x => Qred ((2 # 1) / ((2 # 1) * (1 + {rational(Fraction(gamma))}) * smooth {rational(Fraction(gamma))} x))%Q) datasets"
    )
    smooth, rate = asked(build, [shown(f"map (smooth {rational(Fraction(gamma))}) datasets"), shown(rates)], SENSITIVITIES)
    values = fractions(smooth)
    for x, expected in zip(COUNTS, values, strict=True):
        close(dc.smooth_sensitivity(PRIOR, x, gamma=Fraction(gamma)), expected)
    assert all(abs(1 / one - 1 / other) <= Fraction(gamma) for one, other in pairwise(values))
    _weights(mechanism, fractions(rate))


@pytest.mark.slow
def test_exponential_world(build: Path) -> None:
    (answer,) = asked(build, [shown("map (fun x => (2 # 1) / ((2 # 1) * largest 0 LS_table))%Q datasets")], SENSITIVITIES)
    _weights(dc.HellingerGlobal(PRIOR, n=N, epsilon=2), fractions(answer))


@pytest.mark.slow
def test_local_world(build: Path) -> None:
    """The exponents of the mechanism, and the theorem's own world of three datasets, whose loss is above what was asked."""
    mechanism = dc.HellingerLocal(PRIOR, n=N, epsilon=2)
    assert mechanism.guarantee.basis == "none"
    (answer,) = asked(build, [shown("map (fun x => (2 # 1) / ((2 # 1) * nth x LS_table 0))%Q datasets")], SENSITIVITIES)
    _weights(mechanism, fractions(answer))
    epsilon, bound = Fraction(1), Fraction(5)
    s = epsilon / (2 * (bound + epsilon / 2 + 3))
    apart: list[list[Fraction]] = [[Fraction(0), s, Fraction(1)], [s, Fraction(0), Fraction(1)], [Fraction(1), Fraction(1), Fraction(0)]]
    three = (
        f"Definition D (x r : nat) : Q := nth r (nth x {listing([listing([rational(value) for value in row]) for row in apart])} []) 0%Q.\n"
    )
    (answer,) = asked(build, [shown("[local_rational D [1%nat] [0; 1; 2]%nat 0; local_rational D [0; 2]%nat [0; 1; 2]%nat 1]")], three)
    left, middle = fractions(answer)
    assert (left, middle) == (s, Fraction(1))
    laws = [[exp(-float(epsilon * distance / (2 * local))) for distance in apart[x]] for x, local in enumerate([left, middle])]
    assert log(laws[1][2] / sum(laws[1])) - log(laws[0][2] / sum(laws[0])) > bound


def _weights(mechanism: Mechanism, rates: Sequence[Fraction]) -> None:
    """The mechanism weighs candidates by e^{-rate · H}."""
    for x, row, rate in zip(COUNTS, SCORES, rates, strict=True):
        for r, distance in zip(COUNTS, row, strict=True):
            close(mechanism.log_prob(x, r) - mechanism.log_prob(x, x), -float(rate) * distance)


@pytest.mark.slow
def test_composition_world(build: Path, tmp_path: Path) -> None:
    """A ledger admits and refuses as the rule of the theorem does, also after refusals."""
    numbers = random.Random(39)  # noqa: S311 - amounts to ask for
    asked_for = [(Fraction(numbers.randrange(1, 40), 100), Fraction(numbers.randrange(4), 1000)) for _ in range(30)]
    pairs = listing([f"({rational(epsilon)}, {rational(delta)})" for epsilon, delta in asked_for])
    tight_delta, tight_epsilon = asked(build, [f"admissions (9 # 1) (1 # 100) {pairs}", f"admissions (1 # 1) (1 # 10) {pairs}"])
    assert _admitted(dc.Ledger(tmp_path / "delta.db"), 9, "1/100", asked_for) == re.findall("true|false", tight_delta)
    assert _admitted(dc.Ledger(tmp_path / "epsilon.db"), 1, "1/10", asked_for) == re.findall("true|false", tight_epsilon)
    assert all({"true", "false"} == set(re.findall("true|false", answer)[8:]) for answer in (tight_delta, tight_epsilon))


def _admitted(ledger: dc.Ledger, epsilon: int, delta: str, asked_for: Sequence[tuple[Fraction, Fraction]]) -> list[str]:
    ledger.create("survey", epsilon, delta=delta)
    admitted = []
    for amounts in asked_for:
        try:
            ledger.spend("survey", *amounts)
            admitted.append("true")
        except BudgetError:
            admitted.append("false")
    return admitted


@pytest.mark.slow
def test_group_privacy_world(build: Path) -> None:
    (answer,) = asked(build, [shown("map (grown_rational (2 # 1)) [1; 2; 3; 5]%nat")])
    for steps, expected in zip([1, 2, 3, 5], fractions(answer), strict=True):
        epsilon, delta = group_privacy(Fraction(LN2), Fraction(1, 1000), steps)
        assert epsilon == steps * Fraction(LN2)
        close(float(delta), expected / 1000)


@pytest.mark.slow
def test_charges_world(build: Path) -> None:
    within = [[], ["a"], ["b"], ["a", "b"]]
    promises = [
        "Add_or_remove",
        *(f"Replace_within {listing([f'{c!r}'.replace(chr(39), chr(34)) for c in columns])}" for columns in within),
    ]
    relations = [Relation.ADD_REMOVE_ONE, *(Relation("replace one", tuple(columns)) for columns in within)]
    table = f"map (fun release => map (steps_of release) {listing(promises)}) {listing(promises)}"
    (answer,) = asked(build, [table], "Open Scope string_scope.\n")
    found = [None if number == "" else int(number) for number in re.findall(r"Some (\d+)|None", answer)]
    assert found == [release.steps_of(budget) for release in relations for budget in relations]


@pytest.mark.slow
def test_inversion_world(build: Path) -> None:
    """Every word of 6 bits that a table decides, and every number of 13 bits that begins with one it does not."""
    weights, bits = [3, 1, 0, 2, 1], 6
    boundaries = [Fraction(sum(weights[:j]), 7) for j in range(len(weights) + 1)]
    table = inversion(lambda j: ball(boundaries[j]), len(weights), bits)
    definitions = (
        f"Definition c := {listing([rational(value) for value in boundaries])}.\n"
        "Definition scaled (bits j : nat) : Q := (nth j c 1 * inject_Z (2 ^ Z.of_nat bits))%Q.\n"
        "Definition low bits j := Qround.Qfloor (scaled bits j).\nDefinition high bits j := Qround.Qceiling (scaled bits j).\n"
        f"Definition decided more w := match searched {len(weights)} {bits} low high more w with Some j => Z.of_nat j | None => -1 end.\n"
    )
    terms = [f"map (decided {more}) (words {bits + more})" for more in (0, 7)]
    first, second = ([int(value) for value in re.findall(r"-?\d+", answer)] for answer in asked(build, terms, definitions))
    undecided = [word for word, found in enumerate(first) if found < 0]
    assert 0 < len(undecided) < 6
    for word, found in enumerate(first):
        if found >= 0:
            assert _one(table, word, StringBits(0, 0)) == found
    for number, found in enumerate(second):
        if number >> 7 in undecided and found >= 0:
            assert _one(table, number >> 7, StringBits(number & 127, 7)) == found
    shares = [second.count(j) for j in range(len(weights))]
    assert all(share <= weight * 2**13 / 7 < share + 2 for share, weight in zip(shares, weights, strict=True))


def _one(table: Inversion, word: int, source: BitSource) -> int:
    return int(located(source, table, np.array([word], dtype=np.uint64), 10)[0])


@pytest.mark.slow
def test_hellinger_world(build: Path) -> None:
    pairs = [([1, 3, 2], [3, 1, 2]), ([5, 1, 2], [1, 7, 4]), ([2, 2], [8, 4])]
    terms = [shown(f"[affinity_squared {listing(first)}%nat {listing(second)}%nat]") for first, second in pairs]
    for (first, second), answer in zip(pairs, asked(build, terms), strict=True):
        (expected,) = fractions(answer)
        close((1 - float(dc.hellinger(dc.Dirichlet(first), dc.Dirichlet(second))) ** 2) ** 2, expected)
