"""The main job on the bundled survey: a budget, a private posterior, its picture, and what the ledger says. Writes to build/demo."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "demo"


def run(command: str) -> None:
    """Show a command as a user would type it, and run it."""
    print(f"\n$ discreet {command}", flush=True)
    subprocess.run([sys.executable, "-m", "discreet", *shlex.split(command)], cwd=OUT, check=True)  # noqa: S603


def main() -> None:
    """An invented survey of 1,500 people, some of whom answered twice: how many smoke, without exposing anyone."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    shutil.copy(HERE / "survey.csv", OUT / "survey.csv")
    run("ledger create ledger.db survey --epsilon 1 --unit person")
    run(
        "release survey.csv --column smoking --categories never,former,current --epsilon 0.1 --privacy-id participant "
        "--ledger ledger.db --dataset survey --output posterior.json --plot posterior.png"
    )
    run("ledger history ledger.db survey")
    print(f"\nThe public record is {OUT / 'posterior.json'}, the picture {OUT / 'posterior.png'}. In Python:\n")
    print('  release = discreet.Release.from_json(open("posterior.json").read())')
    print('  release.noise_aware().marginal("current").interval(0.95)')


if __name__ == "__main__":
    main()
