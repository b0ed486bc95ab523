"""All claims of the papers, each with the numbers and the verdict that are computed for it.

Each claim is a function that computes its numbers and searches for a case that breaks it; nothing here is copied from a run. Documents are
named by number: 000 report, 001 short paper, 002 draft, 003 poster, 004 notes.
"""

from collections.abc import Callable, Iterable, Mapping

from discreet.errors import InvalidInputError
from discreet_papers.claim import Claim
from discreet_papers.claims.accuracy import CLAIMS as ACCURACY
from discreet_papers.claims.errors import CLAIMS as ERRORS
from discreet_papers.claims.formulas import CLAIMS as FORMULAS
from discreet_papers.claims.lemmas import CLAIMS as LEMMAS
from discreet_papers.claims.privacy import CLAIMS as PRIVACY
from discreet_papers.claims.sensitivity import CLAIMS as SENSITIVITY
from discreet_papers.claims.statements import CLAIMS as STATEMENTS
from discreet_papers.claims.theorem import CLAIMS as THEOREM

__all__ = ["Claim", "claim_ids", "compute_claims"]

_CLAIMS: Mapping[str, Callable[[], Claim]] = {
    **STATEMENTS,
    **SENSITIVITY,
    **FORMULAS,
    **PRIVACY,
    **LEMMAS,
    **ACCURACY,
    **ERRORS,
    **THEOREM,
}


def claim_ids() -> list[str]:
    """The identifiers of all claims, in the order in which they are reported."""
    return list(_CLAIMS)


def compute_claims(only: Iterable[str] | None = None) -> list[Claim]:
    """Compute the claims, or only those named."""
    wanted = claim_ids() if only is None else list(only)
    unknown = [name for name in wanted if name not in _CLAIMS]
    if unknown:
        raise InvalidInputError(f"only must name claims; there is no {', '.join(unknown)}, there are {', '.join(_CLAIMS)}")
    return [_CLAIMS[name]() for name in wanted]
