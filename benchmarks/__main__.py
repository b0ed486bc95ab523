"""Run every benchmark module, or those named on the command line, and print their tables as Markdown.

A benchmark module is a file in this folder with `run() -> str`. Adding one is all it takes to be listed. With `--write`, measure against
other libraries and replace docs/research/benchmarks.json, .md and .png; compute every other number that pages quote and replace
docs/research/numbers.json;
and put both into the pages. With `--write-numbers [source ...]`, do without the measuring.
"""

import sys
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import benchmarks
from benchmarks.timing import machine


def modules() -> dict[str, ModuleType]:
    """Every module of this folder that has something to run."""
    found = {info.name: import_module(f"benchmarks.{info.name}") for info in iter_modules(benchmarks.__path__) if info.name != "__main__"}
    return {name: module for name, module in found.items() if hasattr(module, "run")}


def main(names: list[str]) -> int:
    """Print the machine and the tables."""
    if names == ["--write"] or names[:1] == ["--write-numbers"]:
        from benchmarks import page, peers, quotes

        if names == ["--write"]:
            page.write(peers.measure())
        return quotes.write(names[1:])
    known = modules()
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(known)}, or --write, or --write-numbers", file=sys.stderr)
        return 2
    print(f"# Benchmarks\n\n{machine()}\n")
    for name in names or list(known):
        print(known[name].run(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
