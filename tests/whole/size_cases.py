"""Calls of the command line and the library at any size, each in a child of its own with little memory and time.

`python -m tests.whole.size_cases < cases.json` runs the cases that standard input lists and writes one line of JSON for each. A child
answers, or says in a `DiscreetError` of one line what is not computed; whatever else comes of it is a fault.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from typer.testing import CliRunner

import discreet as dc
from discreet.analysis import error_laws, optimum, privacy
from discreet.cli import app
from discreet.inference import noise_aware
from discreet.mechanisms import Exponential, Mechanism
from discreet.model import sensitivity
from discreet.planning import comparison, curves, plans

__all__ = ["API", "COMMANDS", "CONTROLS", "MEMORY", "SECONDS", "WRAPPED", "run"]

MEMORY = 1500 << 20
"""Bytes of data that a call may hold."""
SECONDS = 40
"""Processor time of a call: "in seconds" on a machine that is busy with other things."""
PATIENCE = 8
"""A call that waits for something other than the processor is given up after this many times as long."""

Case = dict[str, Any]
WRAPPED = ("Remapped(LatticeGeometric)", "Remapped(LaplaceZhang)", "Calibrated(HellingerSmooth)", "HellingerSmooth(best)")


def prior_of(case: Case) -> dc.Dirichlet:
    return dc.Dirichlet(case["prior"])


def counts_of(case: Case) -> list[int]:
    """Data of this size: all alike, in one category, or by shares that fall."""
    k, n = len(case["prior"]), case["n"]
    if case["data"] == "alike":
        return [n // k + (i < n % k) for i in range(k)]
    if case["data"] == "one":
        return [0] * (k - 1) + [n]
    share = 0.5 ** np.arange(k)
    return [int(x) for x in np.random.default_rng(0).multinomial(n, share / share.sum())]


def mechanism_of(case: Case) -> Mechanism:
    name, prior, n, epsilon = case["mechanism"], prior_of(case), case["n"], case["epsilon"]
    if name == "HellingerSmooth(best)":
        return dc.HellingerSmooth(prior, n, epsilon, gamma="best")
    if name.startswith("Remapped("):
        return dc.Remapped(dc.mechanism(name[9:-1], prior, n, epsilon))
    if name.startswith("Calibrated("):
        inner = dc.mechanism(name[11:-1], prior, n, epsilon)
        assert isinstance(inner, Exponential)
        return dc.Calibrated(inner)
    return dc.mechanism(name, prior, n, epsilon)


def released(case: Case) -> dc.Release:
    """A record as the mechanism could have drawn it: simulated where an exact draw is another test's business."""
    mechanism, counts = mechanism_of(case), np.array(counts_of(case))
    raw = mechanism._simulate_raw(counts, 1, np.random.default_rng(1))
    reported = mechanism.report(raw)[0]
    guarantee = mechanism.guarantee
    return dc.Release(mechanism, guarantee, tuple(int(x) for x in raw[0]), tuple(int(x) for x in reported))


# --- the library ------------------------------------------------------------------------------------------------------


def _aware(case: Case, what: Callable[[dc.NoiseAware], Any]) -> Any:
    return what(noise_aware.noise_aware(released(case)))


def _saved(ax: Any) -> None:
    ax.figure.savefig(os.devnull, format="png")


def _distances(case: Case) -> None:
    prior, counts = prior_of(case), counts_of(case)
    p, q = prior.update(counts), prior.plus(reversed(counts))
    for distance in (dc.hellinger, dc.kl, dc.chi2, dc.total_variation_bounds, partial(dc.renyi, order="1/3"), partial(dc.renyi, order=2)):
        distance(p, q)
    dc.total_variation_estimate(p, q, 100, np.random.default_rng(0))
    if prior.k == 2:
        dc.total_variation(p, q)


def _distribution(case: Case) -> None:
    prior = prior_of(case)
    for member in (prior, prior.update(counts_of(case))):
        values = member.mean(), member.var(), member.std(), member.cov(), member.entropy(), member.logpdf(np.full(member.k, 1.0 / member.k))
        assert all(np.isfinite(value).all() for value in values)
        member.sample(10, 0)
        member.marginal(0).interval(0.9)
        str(member), member._repr_html_(), member.to_scipy()


def _predictive(case: Case) -> None:
    predictive = prior_of(case).predictive(case["n"])
    predictive.mean(), predictive.var(), predictive.cov(), predictive.logpmf(counts_of(case)), predictive.sample(100, 0)


def _accountant(case: Case) -> None:
    accountant = dc.Accountant().add(mechanism_of(case), min(case["n"], 10**9)).add(dc.LatticeGeometric(prior_of(case), case["n"], 1))
    accountant.epsilon(1e-6), accountant.delta(1)


def _audit(case: Case) -> None:
    first = counts_of(case)
    second = [*first[:-2], first[-2] + 1, first[-1] - 1] if first[-1] else [first[0] - 1, *first[1:-1], first[-1] + 1]
    dc.audit(mechanism_of(case).simulate, first, second)


def _simulate(case: Case, size: int) -> None:
    mechanism_of(case).simulate(counts_of(case), size, 0)


def _metric(case: Case) -> None:
    metric = dc.MetricExponential(prior_of(case), case["n"], case["epsilon"], dc.hellinger)
    privacy.privacy_loss(metric), metric.simulate(counts_of(case), 10, 0)


def private(case: Case) -> dc.LatticeGeometric:
    """The mechanism that needs no n."""
    return dc.LatticeGeometric(prior_of(case), epsilon=case["epsilon"])


API: dict[str, Callable[[Case], Any]] = {
    "compare": lambda case: str(comparison.compare(prior_of(case), case["n"], case["epsilon"])),
    "plan ε": lambda case: plans.plan(prior_of(case), error=case["target"], n=case["n"], mechanism=case["planned"]),
    "plan n": lambda case: plans.plan(prior_of(case), error=case["target"], epsilon=case["epsilon"], mechanism=case["planned"]),
    "plan width": lambda case: plans.plan(prior_of(case), width=case["target"], n=case["n"]),
    "plan price": lambda case: plans.plan(prior_of(case), price=1.0 + case["target"], n=case["n"]),
    "plan worst width": lambda case: plans.plan(prior_of(case), width=case["target"], n=case["n"], worst=True),
    "plan n by width": lambda case: plans.plan(prior_of(case), width=case["target"], epsilon=case["epsilon"]),
    "plan n by price": lambda case: plans.plan(prior_of(case), price=1.0 + case["target"], epsilon=case["epsilon"]),
    "private plan width": lambda case: plans.plan(prior_of(case), width=case["target"], n=case["n"], public="nothing"),
    "private plan price": lambda case: plans.plan(prior_of(case), price=1.0 + case["target"], n=case["n"], public="nothing"),
    "private n by price": lambda case: plans.plan(prior_of(case), price=1.0 + case["target"], epsilon=case["epsilon"], public="nothing"),
    "width curve": lambda case: str(curves.width_curve(prior_of(case), case["n"])),
    "plan worst": lambda case: plans.plan(prior_of(case), error=case["target"], n=case["n"], worst=True),
    "predictive": lambda case: error_laws.expected_error(mechanism_of(case), over="predictive"),
    "predictive kl": lambda case: error_laws.expected_error(mechanism_of(case), over="predictive", distance=dc.kl),
    "worst": lambda case: error_laws.expected_error(mechanism_of(case), over="worst"),
    "given": lambda case: error_laws.expected_error(mechanism_of(case), counts_of(case)),
    "given kl": lambda case: error_laws.expected_error(mechanism_of(case), counts_of(case), distance=dc.kl),
    "error_law": lambda case: error_laws.error_law(mechanism_of(case), counts_of(case)),
    "error_summary": lambda case: error_laws.error_summary(mechanism_of(case)),
    "private compare": lambda case: str(comparison.compare(prior_of(case), case["n"], case["epsilon"], public="nothing")),
    "private plan ε": lambda case: plans.plan(prior_of(case), error=case["target"], n=case["n"], public="nothing"),
    "private plan n": lambda case: plans.plan(prior_of(case), error=case["target"], epsilon=case["epsilon"], public="nothing"),
    "private worst": lambda case: error_laws.expected_error(private(case), over="worst", n=case["n"]),
    "private given": lambda case: error_laws.expected_error(private(case), counts_of(case)),
    "private error_law": lambda case: error_laws.error_law(private(case), counts_of(case)),
    "private remap": lambda case: dc.Remapped(private(case)).simulate(counts_of(case), 3, 0),
    "privacy_loss": lambda case: privacy.privacy_loss(mechanism_of(case)),
    "delta_at": lambda case: privacy.delta_at(mechanism_of(case), case["epsilon"] / 2),
    "loss_profile": lambda case: privacy.loss_profile(mechanism_of(case)),
    "privacy_profile": lambda case: privacy.privacy_profile(mechanism_of(case), np.linspace(0.0, 1.0, 100)),
    "verify": lambda case: str(privacy.verify(mechanism_of(case))),
    "guarantee": lambda case: mechanism_of(case).guarantee,
    "optimal": lambda case: optimum.optimal(prior_of(case), case["n"], case["epsilon"]),
    "optimal worst": lambda case: optimum.optimal(prior_of(case), case["n"], case["epsilon"], "worst"),
    "law": lambda case: mechanism_of(case).law(counts_of(case)),
    "log_prob": lambda case: mechanism_of(case).log_prob(counts_of(case), released(case).raw),
    "simulate": lambda case: _simulate(case, 3),
    "mean": lambda case: _aware(case, lambda aware: (aware.mean(), aware.std(), repr(aware))),
    "interval": lambda case: _aware(case, lambda aware: aware.interval(0.9)),
    "sample": lambda case: _aware(case, lambda aware: aware.sample(10, 0)),
    "plot": lambda case: _aware(case, lambda aware: _saved(aware.plot())),
    "plot prior": lambda case: _saved(prior_of(case).plot()),
    "local_sensitivity": lambda case: sensitivity.local_sensitivity(prior_of(case), counts_of(case)),
    "global_sensitivity": lambda case: sensitivity.global_sensitivity(prior_of(case), case["n"]),
    "smooth_sensitivity": lambda case: (
        sensitivity.smooth_sensitivity(prior_of(case), counts_of(case), gamma=1),
        sensitivity.smooth_sensitivity(prior_of(case), counts_of(case), beta=case["epsilon"]),
    ),
    "distances": _distances,
    "distribution": _distribution,
    "predictive law": _predictive,
    "accountant": _accountant,
    "audit": _audit,
    "metric": _metric,
}


# --- the command line -------------------------------------------------------------------------------------------------


def _command(case: Case, *arguments: str) -> None:
    text = ["--epsilon", repr(case["epsilon"]), "--prior", ",".join(map(repr, case["prior"]))]
    where = ["--n", str(case["n"])]
    given = {"both": [*where, *text], "n": [*where, *text[2:]], "ε": text, "none": []}[arguments[-1]]
    result = CliRunner().invoke(app, [*arguments[:-1], *given])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, 1, 2, 3):
        raise AssertionError(f"exit code {result.exit_code}")
    if result.exit_code == 2:  # beside the error, notices and word that it takes long may have been printed
        [error] = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        raise dc.DiscreetError(error)


def _record(case: Case, command: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        record.write_text(released(case).to_json())
        _command(case, command, str(record), "none")


COMMANDS: dict[str, Callable[[Case], Any]] = {
    "discreet compare": lambda case: _command(case, "compare", "both"),
    "discreet compare --json": lambda case: _command(case, "compare", "--json", "both"),
    "discreet plan --n": lambda case: _command(case, "plan", "--error", repr(case["target"]), "-m", case["planned"], "n"),
    "discreet plan --epsilon": lambda case: _command(case, "plan", "--error", repr(case["target"]), "-m", case["planned"], "ε"),
    "discreet plan --worst": lambda case: _command(case, "plan", "--error", repr(case["target"]), "--worst", "n"),
    "discreet verify": lambda case: _command(case, "verify", case["papers"], "both"),
    "discreet verify --calibrated": lambda case: _command(case, "verify", "EHDS", "--calibrated", "both"),
    "discreet verify record": lambda case: _record(case, "verify"),
    "discreet show": lambda case: _record(case, "show"),
}


def _busy(_: Case) -> None:
    while True:
        pass


CONTROLS: dict[str, Callable[[Case], Any]] = {
    "too much memory": lambda _: np.ones(300 << 20),
    "too much time": _busy,
    "a warning": lambda _: np.log(np.zeros(1)),
    "a foreign error": lambda case: case["missing"],
}
"""What a fault looks like."""


# --- one child for each case ------------------------------------------------------------------------------------------


def _child(case: Case, pipe: int) -> None:
    """Run a case and write what came of it. The parent's libraries are loaded already, so the limit is on what the case takes."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no dump of a child that is ended
    seconds = case.get("limit", SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    signal.alarm(PATIENCE * SECONDS)
    warnings.simplefilter("error")
    try:
        {**API, **COMMANDS, **CONTROLS}[case["call"]](case)
        outcome = "answered"
    except dc.DiscreetError as error:
        lines = str(error).strip().splitlines()
        outcome = f"refused: {lines[0]}" if len(lines) == 1 else f"fault: an error of {len(lines)} lines: {error}"
    except BaseException:  # what must not happen is reported whole
        outcome = f"fault: {traceback.format_exc()}"
    os.write(pipe, outcome.encode())


def run(case: Case) -> Case:
    """What came of a case in a child of its own, with the processor time it took and the memory it had at most."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _child(case, writing)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        outcome = pipe.read().decode()
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        outcome = f"fault: ended by {name}" + (": too slow" if name in ("SIGXCPU", "SIGALRM", "SIGKILL") else "")
    return {**case, "outcome": outcome, "seconds": round(usage.ru_utime + usage.ru_stime, 2), "megabytes": usage.ru_maxrss // 1024}


def main() -> None:
    """Run the cases of standard input."""
    mpl.use("agg")
    import matplotlib.pyplot  # noqa: F401
    import scipy.interpolate
    import scipy.optimize
    import scipy.signal
    import scipy.stats  # noqa: F401  loaded once for all children

    for case in json.load(sys.stdin):
        sys.stdout.write(json.dumps(run(case)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
