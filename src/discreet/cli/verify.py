"""`discreet verify`: compute the privacy loss of a configuration, or of a record's, and compare it with what is claimed."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import FAILED, DeltaOption, GammaOption, JsonOption, PublicOption
from discreet.errors import ClaimError, InvalidInputError
from discreet.present.record import guarantee_fields
from discreet.present.terminal import errors_in_one_line, print_json, print_lines
from discreet.present.verification import verification_lines
from discreet.requests.parsing import mechanism_options, parse_number, parse_prior, parse_public
from discreet.requests.record_files import STANDARD_INPUT, read_record
from discreet.requests.release import MECHANISM_HELP

if TYPE_CHECKING:
    from discreet.analysis.privacy import Verification
    from discreet.mechanisms import Mechanism
    from discreet.record.release import Release

_NOT_COMPUTED = 3
_EPSILON, _PRIOR = "1", "1,1"


def verify(
    mechanism: Annotated[
        str, typer.Argument(help=f"{MECHANISM_HELP}; or the file of a release, - for standard input.", show_default=False)
    ],
    n: Annotated[int | None, typer.Option("--n", "-n", help="Number of records, which is public. A record brings its own.")] = None,
    public: PublicOption = "total",
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", help="Privacy parameter, as a decimal or a fraction.", show_default=_EPSILON)
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="Concentrations such as 1,1,1, or uniform:K or jeffreys:K for K categories.", show_default=_PRIOR)
    ] = None,
    gamma: GammaOption = None,
    delta: DeltaOption = None,
    calibrated: Annotated[bool, typer.Option("--calibrated", help="Raise the exponent until the computed loss is epsilon.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the exact privacy loss of a configuration, or of the one that a record names, and compare it with the claim.

    Exit code 0: the claim holds. 1: it does not, or nothing is claimed. 2: bad input. 3: the loss cannot be computed at this size.

    Examples: discreet verify posterior.json, or discreet verify EHDS --n 1000 --epsilon 1 --prior 1,1
    """
    given = {"--n": n, "--epsilon": epsilon, "--prior": prior, "--gamma": gamma, "--delta": delta, "--calibrated": calibrated or None}
    given["--public"] = None if public == "total" else public
    with errors_in_one_line():
        from discreet.analysis.privacy import verify as compute

        subject: Mechanism | Release
        if _is_file(mechanism):
            try:
                subject = _recorded(mechanism, [option for option, value in given.items() if value is not None])
            except ClaimError as error:
                _print_false_claim(error.in_shell, as_json=as_json)
                raise typer.Exit(FAILED) from None
        else:
            level, known = _EPSILON if epsilon is None else epsilon, _PRIOR if prior is None else prior
            name, records = f"Calibrated({mechanism})" if calibrated else mechanism, _records(n, public)
            subject = _configured(name, records, level, known, mechanism_options(gamma, delta))
        result = compute(subject)
    if as_json:
        print_json(_plain(subject, result))
    else:
        print_lines(verification_lines(subject, result))
    if result.holds is not True:
        raise typer.Exit(_NOT_COMPUTED if result.holds is None else FAILED)


def _is_file(text: str) -> bool:
    return text == STANDARD_INPUT or text.lower().endswith((".json", ".parquet", ".html")) or os.path.isfile(text)  # noqa: PTH113 - what is no path is no file either


def _recorded(path: str, contradicting: list[str]) -> "Release":
    if contradicting:
        raise InvalidInputError(f"{path} is a record, which has its own n, epsilon and prior: leave out {', '.join(contradicting)}")
    return read_record(path)


def _records(n: int | None, public: str) -> int | None:
    """The public number of records; None if it is private."""
    has_public_total = parse_public(public) == "total"
    if has_public_total and n is None:
        raise InvalidInputError(
            "--n is missing: give the number of records, or --public nothing if it is private, or the JSON file of a release in place of "
            "the mechanism"
        )
    if not has_public_total and n is not None:
        raise InvalidInputError("--n is a public number of records, and with --public nothing there is none: leave one of them out")
    return n


def _configured(name: str, n: int | None, epsilon: str, prior: str, options: dict[str, Any]) -> "Mechanism":
    from discreet.mechanisms import mechanism as find

    return find(name, parse_prior(prior), n, parse_number(epsilon, "--epsilon"), **options)


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
