"""Numbers and tables in pages, and the records they come from.

A page marks a number with the key of its entry in docs/research/numbers.json or in `quoted` of docs/research/benchmarks.json:

    300×<!-- bench: opendp_ratio -->        44 %<!-- bench: coverage: LatticeGeometric, n = 50, ε = 0.1 -->

and has tables made whole, between `<!-- table: name -->` and `<!-- end -->`. As many digits are shown as the page shows.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import product

from benchmarks import page
from benchmarks.computed import (
    COVERED,
    COVERED_AT,
    COVERED_RECORDS,
    ODDS,
    PROMISED_AT,
    PROMISED_FOR,
    SOURCES,
    Numbers,
)
from benchmarks.timing import table

__all__ = ["NUMBERS", "PAGES", "QUOTE", "TABLE", "TABLES", "disagreements", "like", "load", "quoted", "rewritten", "write"]

ROOT = page.DOCS.parent
NUMBERS = page.RESEARCH / "numbers.json"
PAGES = sorted({*ROOT.glob("*.md"), *page.DOCS.rglob("*.md")} - {page.PAGE})
"""All but the page of benchmarks, which is made whole."""

QUOTE = re.compile(r"(-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e-?[0-9]+)?)(\*{0,2} ?[×%]?)<!-- bench: ([^|\n]+?) -->")
TABLE = re.compile(r"^( *)<!-- table: (\w+) -->\n(.*?)^ *<!-- end -->$", re.MULTILINE | re.DOTALL)


def like(value: float | str, shown: str) -> str:
    """The value with as many digits as are shown. Whole numbers are exact; zeros at the end of a rounded one are no digits."""
    grouped = "," if "," in shown else ""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:{grouped}}"
    mantissa, letter, _ = shown.partition("e")
    digits = len(mantissa.partition(".")[2])
    if letter:
        return re.sub(r"e([-+])0*", lambda sign: "e" + sign[1].replace("+", ""), f"{value:.{digits}e}")
    if digits:
        return f"{value:.{digits}f}"
    plain = shown.replace(",", "")
    step = Decimal(10) ** (len(plain) - len(plain.rstrip("0"))) if plain.rstrip("0") else Decimal(1)
    return f"{int((Decimal(repr(value)) / step).to_integral_value() * step):{grouped}}"


def load() -> Numbers:
    """Both records."""
    return {**json.loads(NUMBERS.read_text()), **json.loads(page.RECORD.read_text())["quoted"]}


def rewritten(text: str, numbers: Mapping[str, float | str]) -> str:
    """A page with every marked number and table as the records have it."""

    def number(found: re.Match[str]) -> str:
        shown, unit, key = found.groups()
        value = numbers[key]
        scaled = value * 100.0 if "%" in unit and not isinstance(value, str) else value
        return f"{like(scaled, shown)}{unit}<!-- bench: {key} -->"

    def whole(found: re.Match[str]) -> str:
        indent, name, _ = found.groups()
        lines = [f"<!-- table: {name} -->", "", *TABLES[name](numbers).splitlines(), "", "<!-- end -->"]
        return "\n".join(indent + line if line else line for line in lines)

    return TABLE.sub(whole, QUOTE.sub(number, text))


def quoted(text: str, keys: Iterable[str]) -> set[str]:
    """Which of the keys a page quotes. A table takes all that begin with its name."""
    tables = tuple(f"{found[2]}: " for found in TABLE.finditer(text))
    marked = {found[3] for found in QUOTE.finditer(text)}
    return {key for key in keys if key in marked or key.startswith(tables)}


def disagreements(computed: Numbers, recorded: Numbers, noise: float) -> list[str]:
    """What is on record and was computed otherwise, relatively by more than noise, or not at all."""

    def same(value: float | str, other: float | str) -> bool:
        if isinstance(value, float) and isinstance(other, float):
            return abs(value - other) <= noise * abs(other)
        return value == other

    groups = {_group(key) for key in computed}
    gone = [f"{key} is no longer computed" for key in recorded if _group(key) in groups and key not in computed]
    shared = [key for key in recorded if key in computed]
    return [f"{key} is {computed[key]}, not {recorded[key]}" for key in shared if not same(computed[key], recorded[key])] + gone


def _group(key: str) -> str:
    return key.partition(":")[0]


def write(names: list[str]) -> int:
    """Compute the sources named, or all, and put what pages quote into the record and into the pages. An exit code."""
    unknown = set(names) - {source.name for source in SOURCES}
    if unknown:
        print(f"no such source: {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in SOURCES)}", file=sys.stderr)
        return 2
    measured = json.loads(page.RECORD.read_text())
    page.PAGE.write_text(page.page(measured))
    timed = measured["quoted"]
    numbers: Numbers = load() if names else dict(timed)
    for source in SOURCES:
        if not names or source.name in names:
            print(source.name, flush=True)
            numbers |= source.compute()
    texts = {path: path.read_text() for path in PAGES}
    kept = sorted(key for key in set().union(*(quoted(text, numbers) for text in texts.values())) if key not in timed)
    NUMBERS.write_text(json.dumps({key: numbers[key] for key in kept}, ensure_ascii=False, indent=1) + "\n")
    for path, text in texts.items():
        path.write_text(rewritten(text, numbers))
    return 0


# --- tables -----------------------------------------------------------------------------------------------------------


def _float(numbers: Mapping[str, float | str], key: str) -> float:
    return float(numbers[key])


def _odds(numbers: Mapping[str, float | str]) -> str:
    rows = [(epsilon, str(numbers[f"odds: factor, ε = {epsilon}"]), f"{numbers[f'odds: belief, ε = {epsilon}']} %") for epsilon in ODDS]
    return table(("ε", "odds change by at most", "a belief of one half becomes at most"), rows)


def _promises(numbers: Mapping[str, float | str]) -> str:
    rows = []
    for epsilon in PROMISED_AT:
        for k in PROMISED_FOR:
            where = f"ε = {epsilon}, k = {k}"
            kept = f"{_float(numbers, f'promises: replace one, {where}'):.2f}"
            private = [
                f"{_float(numbers, f'promises: {name}, {where}'):.2f} ({_float(numbers, f'promises: {name}, share, {where}'):.2f})"
                for name in ("add or remove", "add or remove at half")
            ]
            rows.append((epsilon, k, f"{kept} ({kept})", *private))
    return table(("ε", "k", "n public, ε", "n private, ε", "n private, ε/2"), rows)


def _coverage(numbers: Mapping[str, float | str]) -> str:
    cells = list(product(COVERED_RECORDS, COVERED_AT))
    rows = [
        (f"`{name}`", *(f"{_float(numbers, f'coverage: {name}, n = {n}, ε = {epsilon}'):.3f}" for n, epsilon in cells)) for name in COVERED
    ]
    return table(("naive coverage", *(f"n={n}, ε={epsilon}" for n, epsilon in cells)), rows)


def _worst_loss(numbers: Mapping[str, float | str]) -> str:
    bases = {"HellingerGlobal": "proof", "HellingerSmooth": "proof", "HellingerLocal": "none"}
    rows = []
    for name, basis in bases.items():
        ratio = _float(numbers, f"worst_loss: {name}")
        rows.append((name, basis, f"**{ratio:.3f}**" if ratio > 1.0 else f"{ratio:.3f}", numbers[f"worst_loss: {name}, where"]))
    return table(("mechanism", "basis", "largest loss/ε", "where (prior; n; ε)"), rows)


TABLES: Mapping[str, Callable[[Mapping[str, float | str]], str]] = {
    "odds": _odds,
    "promises": _promises,
    "coverage": _coverage,
    "worst_loss": _worst_loss,
}
