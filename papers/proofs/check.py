"""Check the proofs with Coq, and make docs/proofs/checked.md from them: `python papers/proofs/check.py [--write]`.

A proof is refused if a word in it leaves something out, or if a theorem rests on more than the axioms of Coq's classical reals. Every
theorem has a comment (*| ... |*) that says what it is about; the page has nothing that is not in the sources or said by Coq.
"""

import argparse
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "proofs" / "checked.md"
COMMAND = ["coqc", "-q", "-R", ".", "Discreet"]

AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec": "a decidable property of all natural numbers holds, or there is one for which it fails",
    "ClassicalDedekindReals.sig_not_dec": "a negated statement is true or not",
    "FunctionalExtensionality.functional_extensionality_dep": "functions with equal values are equal",
    "Classical_Prop.classic": "a statement is true or not",
}
"""What Coq's own real numbers are made with, and what each says. A theorem may rest on nothing else."""

FORBIDDEN = re.compile(
    r"\b(Admitted|admit|Admit\s+Obligations|give_up|Axioms?|Parameters?|Conjectures?|bypass_check|type_in_type|Declare\s+ML|"
    r"Unset\s+(Guard|Positivity|Universe)\s+Checking)\b"
)
"""Words that leave something unproved."""

FIELDS = ("papers", "python", "by hand", "erratum", "test")
WIDTH = 96
"""Characters of a line of Coq in the page."""
REPEATED = 3
"""So many hypotheses that a theorem shares with the one before it are not written again."""


class RefusedError(Exception):
    """A proof that is not one, or a page that is not made from the proofs; the message says where."""


@dataclass
class Theorem:
    """One theorem: what its comment and its source say, and what Coq says of it."""

    name: str
    file: str
    words: str
    about: dict[str, str]
    statement: str
    declared: list[str]
    """The variables and hypotheses of the sections around it, as they are written."""
    arguments: set[str] = field(default_factory=set)
    axioms: list[str] = field(default_factory=list)

    @property
    def hypotheses(self) -> list[str]:
        """Those of the sections' declarations that the theorem uses."""
        return [line for line in self.declared if self.arguments & set(re.findall(r"[\w']+", line.split(":=")[0]))]


def sources(folder: Path) -> list[Path]:
    """The files of Coq, each after those that it needs."""
    return [folder / line for line in (folder / "_CoqProject").read_text().split("\n") if line.endswith(".v")]


def without_comments(text: str) -> str:
    """The text with every comment replaced by its line breaks; comments may be nested, and strings may look like comments."""
    kept, depth = [], 0
    for part in re.findall(r'\(\*|\*\)|"[^"]*"|[^("*]+|.', text, re.DOTALL):
        depth += (part == "(*") - (part == "*)")
        kept.append(part if depth == 0 and part != "*)" else "\n" * part.count("\n"))
    return "".join(kept)


def check_words(path: Path) -> None:
    """Refuse a file with a word that leaves something unproved."""
    text = without_comments(path.read_text())
    if found := FORBIDDEN.search(text):
        number, words = text.count("\n", 0, found.start()) + 1, " ".join(found[0].split())
        raise RefusedError(f"{path.name}, line {number}: {words} is not allowed; prove it, or state it as a hypothesis")


def theorems(path: Path) -> list[Theorem]:
    """The theorems of a file in order. One without a comment about it is refused."""
    text = path.read_text()
    comments = dict(re.findall(r"\(\*\| (\w+)\n(.*?)\n\|\*\)\nTheorem \1\b", text, re.DOTALL))
    found = list(re.finditer(r"^Theorem (\w+)\b.*?\.(?=\nProof\.)", text, re.DOTALL | re.MULTILINE))
    if missing := [match[1] for match in found if match[1] not in comments]:
        raise RefusedError(f"{path.name}: {missing[0]} has no comment (*| {missing[0]} ... |*) right before it")
    return [_theorem(path, match[1], comments[match[1]], match[0], text[: match.start()]) for match in found]


def _theorem(path: Path, name: str, comment: str, statement: str, before: str) -> Theorem:
    words, *lines = comment.split("\n")
    about = dict(line.split(": ", 1) for line in lines)
    if set(about) - set(FIELDS) or not {"papers", "python", "by hand", "test"} <= set(about):
        raise RefusedError(f"{path.name}: the comment of {name} must have the fields {', '.join(FIELDS)}; erratum may be left out")
    return Theorem(name, path.name, words, about, statement, _declarations(without_comments(before)))


def _declarations(before: str) -> list[str]:
    """What the sections that are open at the end of a text declare."""
    declared: list[list[str]] = []
    for sentence in re.split(r"\.\s", before):
        kind, *rest = sentence.split() or [""]
        if kind == "Section":
            declared.append([])
        elif kind == "End" and declared:
            declared.pop()
        elif declared and rest and kind in ("Variable", "Variables", "Hypothesis", "Hypotheses", "Context"):
            declared[-1].append(f"{sentence.strip()}.")
    return [line for section in declared for line in section]


def run(arguments: list[str], folder: Path) -> str:
    """What a command prints; refused if it fails."""
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RefusedError(f"{' '.join(arguments[-1:])} is not accepted by Coq:\n{done.stderr.strip()}")
    return done.stdout


def compiled(folder: Path, build: Path) -> None:
    """Compile every file in a folder of its own, from nothing."""
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    for path in sources(folder):
        check_words(path)
        shutil.copy(path, build)
        run([*COMMAND, path.name], build)


def computed(script: str, build: Path) -> str:
    """What Coq prints for a script about the compiled files."""
    path = build / "Asked.v"
    names = " ".join(source.stem for source in sorted(build.glob("*.v")) if source != path)
    path.write_text(f"From Discreet Require Import {names}.\n{script}")
    return run([*COMMAND, path.name], build)


def audit(found: list[Theorem], build: Path) -> None:
    """Ask Coq for the arguments and the axioms of every theorem; an axiom that is not of the classical reals is refused."""
    script = "".join(f"About {theorem.name}.\nPrint Assumptions {theorem.name}.\nCheck I.\n" for theorem in found)
    answers = re.split(r"^I\n +: True\n", computed(script, build), flags=re.MULTILINE)
    if len(answers) != len(found) + 1:
        raise RefusedError("Coq did not answer for every theorem")
    for theorem, answer in zip(found, answers, strict=False):
        read_answer(theorem, answer)


def read_answer(theorem: Theorem, answer: str) -> None:
    """Fill in what Coq answered about a theorem, and refuse a statement that the page would not show whole, or an axiom of another kind."""
    about, known, rests = answer.partition(f"\nExpands to: Constant Discreet.{theorem.file.removesuffix('.v')}.{theorem.name}\n")
    if not known:
        raise RefusedError(f"{theorem.file}: {theorem.name} is not what Coq calls so; give it a name of its own")
    named = re.sub(r"%\w+", "", about.rpartition("\nArguments ")[2].partition(f"\n{theorem.name} is ")[0])
    theorem.arguments = set(re.findall(r"[\w']+", named)) - {theorem.name, "_"}
    lines = [*theorem.hypotheses, theorem.statement]
    if hidden := theorem.arguments - set(re.findall(r"[\w']+", " ".join([*lines, *definitions("\n".join(lines))]))):
        raise RefusedError(f"{theorem.file}: {theorem.name} has the hypothesis {min(hidden)}, which the page would not show")
    # A line that does not begin with a blank names an axiom, or says what is assumed of a definition.
    theorem.axioms = sorted(re.findall(r"^([\w.']+)", rests.partition("Axioms:\n")[2], re.MULTILINE))
    if rests.strip() != "Closed under the global context" and not theorem.axioms:
        raise RefusedError(f"{theorem.file}: what {theorem.name} rests on cannot be read from Coq's answer")
    if beyond := [axiom for axiom in theorem.axioms if axiom not in AXIOMS]:
        raise RefusedError(f"{theorem.file}: {theorem.name} rests on {beyond[0]}, which is no axiom of the classical reals")


INTRODUCTION = """# Proofs that a machine checks

The theorems that promises rest on are written in [Coq](https://coq.inria.fr) in `papers/proofs`. `make proofs` checks them, and this
page is made from them. Each section has a statement; what is *not* in its proof, if anything; errors of the
[papers](../research/reproduction.md); and the statement in Coq with its hypotheses. The definitions are at the end.

The table names the Python that a theorem is about, where the papers state it, the test in `tests/project/test_proofs.py` that computes the
same small world in Coq's rationals and in Python, and the axioms that the proof rests on. No theorem says that the Python code is its
mechanism: the [tests](exactness.md) are there for that.

All axioms are those of Coq's own real numbers:
"""


def page(found: list[Theorem]) -> str:
    """docs/proofs/checked.md."""
    axioms = "\n".join(f"{number}. `{name}`: {words}." for number, (name, words) in enumerate(AXIOMS.items(), 1))
    heads = "| theorem | Python | papers | test | axioms |\n|---|---|---|---|---|"
    defined = "\n".join(
        folded(text) for text in definitions("\n".join(line for each in found for line in [*each.hypotheses, each.statement]))
    )
    parts = [
        INTRODUCTION.rstrip(),
        axioms,
        "\n".join([heads, *map(_row, found)]),
        *(_section(theorem, before) for before, theorem in zip([None, *found], found, strict=False)),
        f"## The definitions\n\n```coq\n{defined}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def definitions(statements: str) -> list[str]:
    """The definitions that the statements use, and those that these use, in the order of the sources."""
    text = "\n".join(without_comments(path.read_text()) for path in sources(HERE))
    start = r"^(?:Program )?(?:Definition|Fixpoint|Inductive|Notation|Record) (\w+)\b"
    defined = {match[1]: match[0] for match in re.finditer(start + r".*?\.(?=\s*\n)", text, re.DOTALL | re.MULTILINE)}
    needed: set[str] = set()
    new = set(re.findall(r"\w+", statements)) & set(defined)
    while new:
        needed |= new
        new = {word for name in new for word in re.findall(r"\w+", defined[name])} & set(defined) - needed
    return [body for name, body in defined.items() if name in needed]


def _row(theorem: Theorem) -> str:
    about, numbers = theorem.about, {name: str(number) for number, name in enumerate(AXIOMS, 1)}
    code = ", ".join(f"`{'.'.join(name.split('.')[-2:])}`" for name in about["python"].split(", "))
    rests = ", ".join(sorted(numbers[axiom] for axiom in theorem.axioms)) or "none"
    return f"| [`{theorem.name}`](#{theorem.name}) | {code} | {about['papers']} | `{about['test']}` | {rests} |"


def _section(theorem: Theorem, before: Theorem | None) -> str:
    about = theorem.about
    lines = [
        *([] if about["by hand"] == "nothing." else [f"- *Not in the proof*: {about['by hand'].rstrip('.')}."]),
        *([f"- *Erratum*: {about['erratum']}"] if "erratum" in about else []),
    ]
    code = "\n".join(folded(line) for line in [*_unrepeated(theorem, before), theorem.statement])
    return "\n\n".join([f"## {theorem.name}", theorem.words, *(["\n".join(lines)] if lines else []), f"```coq\n{code}\n```"])


def _unrepeated(theorem: Theorem, before: Theorem | None) -> list[str]:
    """The hypotheses of a theorem, without those that it shares with the one before if they are many."""
    lines = theorem.hypotheses
    if before is None or len(before.hypotheses) < REPEATED or lines[: len(before.hypotheses)] != before.hypotheses:
        return lines
    return [f"(* what {before.name} assumes *)", *lines[len(before.hypotheses) :]]


def folded(text: str) -> str:
    return "\n".join(
        line if len(line) <= WIDTH else textwrap.fill(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def check(folder: Path, build: Path) -> list[Theorem]:
    """Compile and audit the proofs in a folder; all theorems, with what they rest on."""
    compiled(folder, build)
    found = [theorem for path in sources(folder) for theorem in theorems(path)]
    audit(found, build)
    return found


def main() -> int:
    """Check everything, then compare the page or write it; 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/proofs/checked.md instead of comparing it")
    parser.add_argument("--sources", type=Path, default=HERE, help="the folder of the proofs")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "proofs", help="where they are compiled; it is emptied first")
    options = parser.parse_args()
    if shutil.which(COMMAND[0]) is None:
        print("coqc was not found: install Coq 8.16 or newer (Debian: apt install coq)", file=sys.stderr)
        return 2
    try:
        found = check(options.sources, options.build)
    except RefusedError as refusal:
        print(refusal, file=sys.stderr)
        return 1
    if options.write:
        PAGE.write_text(page(found))
    elif options.sources == HERE and PAGE.read_text() != page(found):
        print("docs/proofs/checked.md is not what the proofs say: run papers/proofs/check.py --write", file=sys.stderr)
        return 1
    axioms = {axiom for theorem in found for axiom in theorem.axioms}
    print(f"{len(found)} theorems checked; they rest on {len(axioms)} axioms of the classical reals")
    return 0


if __name__ == "__main__":
    sys.exit(main())
