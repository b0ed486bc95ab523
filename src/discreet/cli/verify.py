"""`discreet verify`: compute the privacy loss of a configuration, or of a record's, and compare it with what is claimed."""

import os
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.questions import FAILED, asks
from discreet.errors import ClaimError, InvalidInputError
from discreet.present.record import guarantee_fields, verification_lines
from discreet.present.terminal import print_json, print_lines
from discreet.requests.parsing import STANDARD_INPUT, read_record
from discreet.requests.plan import VerifyRequest

if TYPE_CHECKING:
    from discreet.analysis.privacy import Verification
    from discreet.mechanisms import Mechanism
    from discreet.record.release import Release

_NOT_COMPUTED = 3


@asks(VerifyRequest)
def verify(asked: VerifyRequest) -> None:
    """Compute the exact privacy loss of a configuration, or of the one that a record names, and compare it with the claim.

    Exit code 0: the claim holds. 1: it does not, or nothing is claimed. 2: bad input. 3: the loss cannot be computed at this size.

    Examples: discreet verify posterior.json, or discreet verify EHDS --n 1000 --epsilon 1 --prior 1,1
    """
    from discreet.analysis.privacy import verify as compute

    try:
        subject = _recorded(asked) if _is_file(asked.mechanism) else _configured(asked)
    except ClaimError as error:
        _print_false_claim(error.in_shell, as_json=asked.as_json)
        raise typer.Exit(FAILED) from None
    result = compute(subject)
    if asked.as_json:
        print_json(_plain(subject, result))
    else:
        print_lines(verification_lines(subject, result))
    if result.holds is not True:
        raise typer.Exit(_NOT_COMPUTED if result.holds is None else FAILED)


def _is_file(text: str) -> bool:
    return text == STANDARD_INPUT or text.lower().endswith((".json", ".parquet", ".html")) or os.path.isfile(text)  # noqa: PTH113 - what is no path is no file either


def _recorded(asked: VerifyRequest) -> "Release":
    contradicting = [one.option for one, _ in asked.given() if not one.positional and one.name != "as_json"]
    if contradicting:
        raise InvalidInputError(
            f"{asked.mechanism} is a record, which has its own n, epsilon and prior: leave out {', '.join(contradicting)}"
        )
    return read_record(asked.mechanism)


def _configured(asked: VerifyRequest) -> "Mechanism":
    from discreet.mechanisms import mechanism
    from discreet.model.dirichlet import Dirichlet

    has_public_total = asked.public == "total"
    if has_public_total and asked.n is None:
        raise InvalidInputError(
            "--n is missing: give the number of records, or --public nothing if it is private, or the JSON file of a release in place of "
            "the mechanism"
        )
    if not has_public_total and asked.n is not None:
        raise InvalidInputError("--n is a public number of records, and with --public nothing there is none: leave one of them out")
    name = f"Calibrated({asked.mechanism})" if asked.calibrated else asked.mechanism
    epsilon = Fraction(1) if asked.epsilon is None else asked.epsilon
    return mechanism(name, asked.prior or Dirichlet.uniform(2), asked.n, epsilon, **asked.arguments("mechanism"))


def _print_false_claim(reason: str, *, as_json: bool) -> None:
    """A record whose claim is not its mechanism's: there is nothing to compute."""
    if as_json:
        print_json({**dict.fromkeys(_VERIFICATION_FIELDS), "holds": False, "reason": reason})
    else:
        print_lines([("Verdict", f"does not hold: {reason}")])


_VERIFICATION_FIELDS = ("mechanism", "n", "claimed", "loss", "loss_bound", "slack", "delta_bound", "reached_between", "holds", "reason")


def _plain(subject: "Mechanism | Release", result: "Verification") -> dict[str, Any]:
    from discreet.analysis.privacy import mechanism_of

    loss = result.loss
    values = {
        "mechanism": mechanism_of(subject).title,
        "n": subject.n,
        "claimed": guarantee_fields(result.claimed),
        "loss": None if loss is None else loss.value,
        "loss_bound": None if loss is None else loss.bound,
        "slack": result.slack,
        "delta_bound": None if result.delta is None else result.delta.bound,
        "reached_between": None if loss is None else loss.at,
        "holds": result.holds,
        "reason": result.reason or None,
    }
    return {name: values[name] for name in _VERIFICATION_FIELDS}
