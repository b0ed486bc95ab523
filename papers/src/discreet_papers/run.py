"""One run of the reproduction: computes what is wanted, skips what an earlier run has left, and writes files and report.

What was computed is kept with a key made of both packages' source and of the settings, so a run that was killed goes on where it stopped,
and a change to either computes everything anew.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from discreet.errors import InternalError, InvalidInputError
from discreet_papers.catalogue import ITEMS
from discreet_papers.claims import Claim, claim_ids, compute_claims
from discreet_papers.data import Data, write_atomically
from discreet_papers.figure import Figure, Inline, inline, save_figure
from discreet_papers.report import Shown, write_report

__all__ = ["ReproductionOutcome", "ReproductionPlan", "reproduce_all"]

Tell = Callable[[int, int, str], None]


@dataclass(frozen=True)
class ReproductionPlan:
    """What to compute and where to put it."""

    out: Path
    items: tuple[str, ...]
    claims: tuple[str, ...]
    stamp: str
    """A hash of the package's source, taken once: whatever a run leaves is for this very code."""
    quick: bool = False
    jobs: int = 1

    @classmethod
    def of(cls, out: Path, only: Iterable[str] | None = None, *, quick: bool = False, jobs: int = 1) -> "ReproductionPlan":
        """Everything, or only the figures, tables and claims named."""
        wanted = list(only or [])
        known = [*ITEMS, *claim_ids()]
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise InvalidInputError(
                f"only must name figures, tables or claims; there is no {', '.join(unknown)}, there are {', '.join(known)}"
            )
        if jobs < 1:
            raise InvalidInputError(f"jobs must be at least 1, got {jobs}")
        if not wanted:
            return cls(out, tuple(ITEMS), tuple(claim_ids()), _source_hash(), quick, jobs)
        items, claims = (tuple(name for name in group if name in wanted) for group in (ITEMS, claim_ids()))
        return cls(out, items, claims, _source_hash(), quick, jobs)

    def key(self, name: str) -> str:
        """What the files of one figure, table or claim are kept under. Claims are the same in quick runs."""
        return sha256(f"{self.stamp} {name} {self.quick and name in ITEMS}".encode()).hexdigest()


@dataclass(frozen=True)
class ReproductionOutcome:
    """The claims of a run, and how much of it was taken from an earlier one."""

    claims: list[Claim]
    items: int
    reused: int
    report: Path


def _source_hash() -> str:
    """A hash of every file of this package and of the library that it computes with."""
    digest = sha256()
    for package in ("discreet", "discreet_papers"):
        root = Path(str(resources.files(package)))
        for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".html")):
            digest.update(f"{package}/{path.relative_to(root)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


# --- one thing at a time, in any process ------------------------------------------------------------------------------


def produce(name: str, plan: ReproductionPlan) -> bool:
    """Make the files of one figure, table or claim unless they are there, and return whether anything had to be computed."""
    return _produce_item(name, plan) if name in ITEMS else _produce_claim(name, plan)


def _produce_item(name: str, plan: ReproductionPlan) -> bool:
    item, stem = ITEMS[name], plan.out / "data" / name
    data = Data.read(stem, plan.key(name))
    computed = data is None
    if data is None:
        data = item.compute(plan.quick)
        data.write(stem, plan.key(name))
    if isinstance(item, Figure) and _stored_inline(name, plan) is None:
        save_figure(item, data, plan.out / "figures")
        shown = inline(item, data)
        _store(plan.out / "cache" / f"{name}.json", {"key": plan.key(name), "panels": shown.panels, "legend": shown.legend})
        computed = True
    return computed


def _produce_claim(name: str, plan: ReproductionPlan) -> bool:
    path = plan.out / "cache" / f"claim-{name}.json"
    if _load(path, plan.key(name)) is not None:
        return False
    [claim] = compute_claims([name])
    _store(path, {"key": plan.key(name), "claim": claim.to_json()})
    return True


def _store(path: Path, value: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False), "utf-8")


def _load(path: Path, key: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if found.get("key") == key else None


def _stored_inline(name: str, plan: ReproductionPlan) -> Inline | None:
    pictures = all((plan.out / "figures" / f"{name}.{kind}").exists() for kind in ("svg", "png"))
    found = _load(plan.out / "cache" / f"{name}.json", plan.key(name)) if pictures else None
    return None if found is None else Inline(list(found["panels"]), [(label, key) for label, key in found["legend"]])


# --- all of them ------------------------------------------------------------------------------------------------------


def _each(plan: ReproductionPlan, names: list[str]) -> Iterator[tuple[str, bool]]:
    if plan.jobs == 1:
        for name in names:
            yield name, produce(name, plan)
        return
    # Spawned, not forked: linear algebra threads do not survive a fork.
    with ProcessPoolExecutor(plan.jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(produce, name, plan): name for name in names}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        finally:  # after an error or an interrupt, what has not begun is not begun
            pool.shutdown(cancel_futures=True)


def reproduce_all(plan: ReproductionPlan, tell: Tell | None = None) -> ReproductionOutcome:
    """Carry out the plan: figures, data, claims and the report."""
    names = [*plan.items, *plan.claims]
    try:
        plan.out.mkdir(parents=True, exist_ok=True)
        computed = 0
        for done, (name, fresh) in enumerate(_each(plan, names), start=1):
            computed += fresh
            if tell is not None:
                tell(done, len(names), name)
        claims = [_stored_claim(name, plan) for name in plan.claims]
        write_claims(claims, plan.out)
        shown = [_shown(name, plan) for name in plan.items]
        report = write_report(claims, shown, plan.out, quick=plan.quick)
    except OSError as error:
        raise InvalidInputError(f"out must be a directory that can be written to: {error.strerror}") from error
    return ReproductionOutcome(claims, len(plan.items), len(names) - computed, report)


def _stored_claim(name: str, plan: ReproductionPlan) -> Claim:
    found = _load(plan.out / "cache" / f"claim-{name}.json", plan.key(name))
    if found is None:
        raise InternalError(f"the claim {name} was computed but is not where it was put")
    return Claim.from_json(found["claim"])


def _shown(name: str, plan: ReproductionPlan) -> Shown:
    data = Data.read(plan.out / "data" / name, plan.key(name))
    return Shown(ITEMS[name], data or Data({}), _stored_inline(name, plan))


# --- claims as files --------------------------------------------------------------------------------------------------


def write_claims(found: list[Claim], directory: Path) -> None:
    """Write the claims as claims.json, claims.csv (one number a row) and claims.md."""
    (directory / "claims.json").write_text(json.dumps([claim.to_json() for claim in found], indent=2, ensure_ascii=False) + "\n", "utf-8")
    with (directory / "claims.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "where", "claim", "number", "value", "kind", "condition", "searched", "figure"])
        for claim in found:
            for name, value in claim.numbers.items():
                writer.writerow(
                    [claim.id, claim.where, claim.claim, name, repr(value), claim.kind, claim.condition_text, claim.reach, claim.figure]
                )
    (directory / "claims.md").write_text(_markdown(found), "utf-8")


def _markdown(found: list[Claim]) -> str:
    head = ["# The papers' claims, computed", "", "| id | where | claim | computed | verdict |", "|---|---|---|---|---|"]
    rows = []
    for claim in found:
        numbers = "<br>".join(f"{name}: {value:.6g}" for name, value in claim.numbers.items())
        cells = (claim.id, claim.where, claim.claim, numbers, claim.verdict)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*head, *rows]) + "\n"
