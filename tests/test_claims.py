"""The papers' claims: verdicts are computed, and come out as recorded."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.computed import claim_numbers
from benchmarks.quotes import disagreements, load

import discreet as dc
from discreet.mechanisms.hellinger import HellingerLocal, HellingerSmooth, HellingerSmoothDelta
from discreet.paper.catalogue import ITEMS
from discreet.paper.claim import HOLDS, HOLDS_NOT, Claim
from discreet.paper.claims import claim_ids, compute_claims

NOISE = 1e-6
"""How far a quoted number may be off, relatively."""

# The start of every verdict, as computed from the exact mechanisms.
VERDICTS = {
    "statement-1": "holds when the second line is read as the mirror image",
    "statement-2": "holds when 0 < x < n",
    "statement-3": "holds when n >= 4",
    "global-sensitivity": "holds when the two smallest prior parameters are 1",
    "published-edge": HOLDS_NOT,
    "edge": HOLDS,
    "local-at-data": HOLDS,
    "smooth-lipschitz": HOLDS,
    "total-variation": HOLDS,
    "candidates": "holds when m = 2",
    "one-step": "holds when β - 1 = α",
    "two-steps": "holds when β in it is read as β - 1",
    "floor-sign": "holds when the sign is changed",
    "privacy-laplace": HOLDS,
    "enough-noise": HOLDS,
    "dimension-sensitivity": HOLDS_NOT,
    "privacy-ehd": "holds when no prior parameter is below 1",
    "privacy-ehds": HOLDS,
    "privacy-ehdl": "holds when prior parameters are small",
    "ehdl-proof": HOLDS_NOT,
    "privacy-delta": HOLDS,
    "delta-within-epsilon": "holds when the prior is the unit prior",
    "loss-below-epsilon": HOLDS,
    "less-noise": HOLDS,
    "sliding": "holds when the probability is read as a function of the score",
    "dilation": HOLDS,
    "laplace-dilation": HOLDS,
    "tables-laplace": HOLDS,
    "tables-fixed": "holds when n >= 5",
    "figure-3": "holds when n is tiny",
    "figure-3-improved": HOLDS,
    "figure-4": "holds when better means a larger probability of the true posterior",
    "figure-4-delta": HOLDS,
    "errors-fall": "holds when k is 2 or 3",
    "small-data": "holds when n >= 8",
    "crossover-gamma": HOLDS_NOT,
    "crossover-delta": "holds when n >= 209, or 339 against noise rounded to the nearest integer",
    "crossover-more": HOLDS_NOT,
    "approaches": HOLDS_NOT,
    "priors-gamma": HOLDS_NOT,
    "priors-delta": "holds when 'very close' is left out; it is ahead of LSDim from a = 100",
    "conclusion-1": HOLDS_NOT,
    "conclusion-2": HOLDS_NOT,
    "conclusion-3": HOLDS,
    "poster-asymptotic": HOLDS,
    "poster-400": "holds when n is at least 339 (k = 2), 404 (k = 3), 1019 (k = 4)",
    "theorem-4.1": HOLDS,
    "theorem-4.2": "holds when < is read as <=",
    "theorem-4.3": "holds when noise of ln(1/γ)/ε is rounded up to whole steps",
    "theorem-4.4": HOLDS,
    "corollary-4.4.1": HOLDS,
    "theorem-4.5-LSZhang": "holds when the data are balanced and = is read as >=",
    "theorem-4.5-LSHist": "holds when the data are balanced",
    "theorem-4.5-EHD": "holds when only the lower bound is meant",
    "theorem-4.5-EHDL": HOLDS,
    "large-n": HOLDS,
    "small-n": HOLDS,
    "good-outputs": HOLDS,
    "utility-h": "holds when the mechanism is LSHist, LSZhang",
    "utility-kl": HOLDS,
}


def _claim(name: str) -> Claim:
    (claim,) = compute_claims([name])
    return claim


def test_there_are_enough_claims_and_each_has_a_recorded_verdict() -> None:
    assert claim_ids() == list(VERDICTS)
    assert len(claim_ids()) >= 25


@pytest.mark.parametrize(("name", "verdict"), VERDICTS.items())
def test_verdicts(name: str, verdict: str) -> None:
    claim = _claim(name)
    assert claim.id == name
    assert claim.verdict == verdict if verdict in (HOLDS, HOLDS_NOT) else claim.verdict.startswith(verdict)
    assert claim.where[:3].isdigit()
    assert claim.numbers
    assert not any(math.isnan(value) for value in claim.numbers.values())
    assert claim.figure == "" or claim.figure in ITEMS
    assert not disagreements(claim_numbers(claim), load(), NOISE), "run `python -m benchmarks --write-numbers claims`"


def test_the_number_of_claims_of_each_verdict_is_the_one_quoted() -> None:
    starts = ["holds when" if verdict not in (HOLDS, HOLDS_NOT) else verdict for verdict in VERDICTS.values()]
    assert {key: starts.count(key) for key in set(starts)} == {key: load()[f"claims: {key}"] for key in (HOLDS, "holds when", HOLDS_NOT)}
    assert load()["claims: all"] == len(VERDICTS)


def test_a_claim_whose_quoted_number_changed_is_noticed() -> None:
    claim = _claim("candidates")
    changed = dict.fromkeys(claim.numbers, 90)
    assert disagreements(claim_numbers(replace(claim, numbers=changed)), load(), NOISE)


def test_the_published_edge_is_reproduced_with_its_slip() -> None:
    true, slipped = _claim("published-edge").numbers.values()
    assert true == pytest.approx(0.339, abs=5e-4)
    assert slipped == pytest.approx(0.161, abs=5e-4)


# --- negative controls: with another mechanism the verdicts are others ------------------------------------------------


def test_a_verdict_follows_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sensitivity that is wrong, claims that hold no longer do."""
    source = "discreet.paper.claims_sensitivity"
    monkeypatch.setattr(f"{source}.global_sensitivity", lambda prior, n: 0.5)
    assert _claim("global-sensitivity").verdict == HOLDS_NOT
    monkeypatch.setattr(f"{source}.local_sensitivities", lambda prior, counts: 1.0 + 0.0 * counts[:, 0])
    assert _claim("statement-2").verdict == HOLDS_NOT
    assert _claim("statement-3").verdict == HOLDS_NOT
    monkeypatch.setattr(f"{source}.local_sensitivity", lambda prior, counts: 0.161)
    assert _claim("published-edge").verdict == HOLDS


def test_a_more_accurate_mechanism_would_make_the_papers_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an eighth of its noise EHDS overtakes LSDim, and no longer keeps its promise."""
    smooth = HellingerSmooth._sensitivity
    monkeypatch.setattr(HellingerSmooth, "_sensitivity", lambda self, counts: smooth(self, counts) / 8.0)
    assert _claim("crossover-gamma").verdict == HOLDS
    assert _claim("privacy-ehds").verdict == HOLDS_NOT


def test_a_leaking_mechanism_loses_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HellingerSmoothDelta, "_sensitivity", HellingerLocal._sensitivity)
    assert _claim("privacy-delta").verdict == HOLDS_NOT
    monkeypatch.setattr(HellingerLocal, "_sensitivity", lambda self, counts: np.full(counts.shape[:-1], 100.0))
    assert _claim("privacy-ehdl").verdict == HOLDS_NOT


def test_unknown_claims_are_named() -> None:
    with pytest.raises(dc.InvalidInputError, match="there is no nonsense, there are statement-1"):
        compute_claims(["nonsense"])
