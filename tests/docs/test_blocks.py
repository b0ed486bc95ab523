"""The documentation runs: every Python block is executed and every command is run, page by page, as a reader would.

`print(...)  # → text` says how what is printed begins, and is checked.
A block of TOML that begins with the name of a file, `# study.toml`, is written to that file.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli import app
from tests.places import DOCS, PAGES, ROOT

WALKED = [*PAGES, ROOT / "README.md"]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\w+\.toml)\n")
INDENTED = re.compile(r"(?:^ {4}\S.*\n(?: {4}.*\n)*)", re.MULTILINE)

ELSEWHERE = re.compile(r"# In an environment of its own: pip install (\S+)\n")
"""How a block begins that uses libraries which cannot be installed beside the others; tests/docs/test_coming_from.py runs it."""

PRINTED = re.compile(r"^print\(.*\)  # (→ )?(.*)$", re.MULTILINE)

TOO_LONG = ("reproduce", "compare --n 1500", "explore")
"""Commands that take minutes, or answer until interrupted; they have tests of their own, and here only their options are looked at."""


@dataclass(frozen=True)
class Step:
    """A block of Python, one command line, or a file to be written."""

    line: int
    kind: str
    text: str


def steps(page: Path) -> list[Step]:
    """What a reader of this page would run, in the order of reading."""
    text = page.read_text()
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] == "python" and not ELSEWHERE.match(match[2]):
            found.append(Step(line + 1, "python", match[2]))
        if match[1] == "toml" and NAMED.match(match[2]):
            found.append(Step(line, "file", match[2]))
        if match[1] in ("sh", "console"):
            found += [Step(line, "shell", command) for command in commands(match[2])]
    plain = FENCE.sub(lambda match: re.sub(r"[^\n]", "", match[0]), text)
    for match in INDENTED.finditer(plain):
        found += [Step(plain.count("\n", 0, match.start()) + 1, "shell", command) for command in commands(match[0])]
    return sorted(found, key=lambda step: step.line)


def commands(block: str) -> list[str]:
    """The lines that call discreet, continued ones joined, without prompts and comments."""
    lines = [line.strip().removeprefix("$ ") for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith("discreet ")]


def run(command: str) -> None:
    words = shlex.split(command, comments=True)[1:]
    if command.removeprefix("discreet ").startswith(TOO_LONG):
        words = [*words, "--help"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, f"{command}\n{result.output}"


def execute(step: Step, name: str, namespace: dict[str, object]) -> None:
    """Run a block, and compare what it prints with what its comments say."""
    printed: dict[int, str] = {}

    def note(*values: object) -> None:
        printed[sys._getframe(1).f_lineno] = " ".join(map(str, values))

    namespace["print"] = note
    # Blank lines before the block, so that a failure names the line of the page.
    exec(compile("\n" * (step.line - 1) + step.text, name, "exec"), namespace)  # noqa: S102 - our own pages
    for found in PRINTED.finditer(step.text):
        line = step.line + step.text.count("\n", 0, found.start())
        if found[1]:
            assert printed[line].startswith(found[2]), f"line {line} prints {printed[line]}"
        else:
            assert not re.search("[0-9]", found[2]), f"line {line}: a number in the comment of a print is checked after an arrow, `# → ...`"


def needs_spark(step: Step) -> bool:
    return "pyspark" in step.text


def with_survey(folder: Path) -> Path:
    """The folder, with the survey at the places where pages look for it."""
    (folder / "examples").mkdir()
    for place in (folder, folder / "examples"):
        shutil.copy(ROOT / "examples" / "survey.csv", place)
    shutil.copy(ROOT / "examples" / "wards.csv", folder / "examples")
    return folder


def walk(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, leave_out: tuple[str, ...] = ("pyspark", "pymc", "diffprivlib")
) -> None:
    """Run a page in an empty folder that holds the survey, without the blocks that use a library which is slow or not always there."""
    monkeypatch.chdir(with_survey(folder))
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for step in steps(page):
        if any(library in step.text for library in leave_out):
            continue
        if step.kind == "shell":
            run(step.text)
        elif named := NAMED.match(step.text):
            Path(named[1]).write_text(step.text)
        else:
            execute(step, str(page), namespace)


LONG_PAGES = ("accuracy.md", "choosing.md", "gallery.md")
"""What they compute takes long."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page.name in LONG_PAGES)) for page in WALKED]
)
def test_every_block_and_command_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walk(page, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in WALKED if any(map(needs_spark, steps(page)))], ids=lambda page: page.name)
def test_pages_with_spark_run(page: Path, tmp_path: Path) -> None:
    """In a process of its own: a Java machine that another test has started reads relative paths in that test's folder."""
    code = "import sys, pytest; from pathlib import Path; from tests.docs.test_blocks import walk; folder = Path(sys.argv[2])"
    walked = "walk(Path(sys.argv[1]), folder, pytest.MonkeyPatch(), leave_out=('pymc',))"
    python_path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(  # noqa: S603 - our own page
        [sys.executable, "-c", f"{code}; {walked}", str(page), str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": python_path, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


def test_a_block_that_fails_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (page := tmp_path / "page.md").write_text("```python\nassert 1 == 2\n```\n")
    (folder := tmp_path / "walk").mkdir()
    with pytest.raises(AssertionError):
        walk(page, folder, monkeypatch)


@pytest.mark.parametrize("comment", ["→ 4", "→ 2.5", "2"])
def test_a_wrong_or_unchecked_number_in_a_comment_is_noticed(comment: str) -> None:
    with pytest.raises(AssertionError):
        execute(Step(1, "python", f"x = 1\nprint(x + 1)  # {comment}\n"), "page", {})


def test_what_is_printed_is_compared_line_by_line() -> None:
    execute(Step(7, "python", "x = 2.71\nprint(x)  # → 2.7\nprint(-x)  # the opposite\nprint(1, x)  # → 1 2.71\n"), "page", {})


@pytest.mark.parametrize("page", ["```sh\ndiscreet plan\n```\n", "Type\n\n    discreet plan \\\n        --n\n"])
def test_a_command_that_fails_is_noticed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "page.md").write_text(page)
    (folder := tmp_path / "walk").mkdir()
    with pytest.raises(AssertionError, match="discreet plan"):
        walk(path, folder, monkeypatch)


def test_the_reference_has_every_public_name() -> None:
    reference = (DOCS / "reference" / "reference.md").read_text()
    listed = set(re.findall(r"\.\. auto(?:class|function):: discreet\.(?:\w+\.)*(\w+)", reference))
    for module, members in re.findall(r"\.\. automodule:: discreet\.([\w.]+)\n   :members:([^\n]*)", reference):
        room = {name for name in vars(import_module(f"discreet.{module}")) if not name.startswith("_")}
        listed |= {module} | ({name.strip() for name in members.split(",")} if members.strip() else room)
    assert set(discreet.__all__) <= listed


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (DOCS / "index.md").read_text().splitlines()
    missing = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES} - {"index"} - set(index)
    assert not missing


def test_every_page_that_code_refers_to_is_there() -> None:
    """A stranger who clones the repository has its pages, and no others."""
    pages = {page.relative_to(DOCS).as_posix() for page in PAGES}
    code = [path for folder in ("src", "papers", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    named = {(path.name, page) for path in code for page in re.findall(r"(?<![\w/])docs/([\w/-]+\.md)", path.read_text())}
    assert {(file, page) for file, page in named if page not in pages} == set()
    assert len(named) > 20
