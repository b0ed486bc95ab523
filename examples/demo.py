"""The main job on the bundled survey: a budget, a private posterior, its picture, and what the ledger says. Writes to build/demo."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "demo"

BEGINNING = """\
An invented survey of 1,500 people, some of whom answered twice. How many of them smoke?
We publish an answer that gives away almost nothing about any one of them."""
BUDGET = "First, a budget: all that may ever be given away about one person in this survey. ε = 1 is a common choice."
RELEASE = "One release, for a tenth of the budget: count each person once, add exactly the noise that the promise needs, draw a picture."
HISTORY = "The ledger remembers what was spent. It refuses a release that would spend more than is left."
ENDING = """\
In {folder} there are now

  survey.csv       a copy of the answers: with real people, what stays private
  ledger.db        the budget and what was spent of it
  posterior.json   the public record: all that a reader needs, and nothing private
  posterior.png    its picture: the thick intervals allow for the noise, the dashed ones do not and are too narrow

Go on with the record, in the shell or in Python:

  {program} show {folder}/posterior.json

  >>> from pathlib import Path
  >>> import discreet
  >>> release = discreet.Release.from_json(Path("{folder}/posterior.json").read_text())
  >>> release.noise_aware().marginal("current").interval(0.95)

Next: docs/start/tutorial.md, or the notebook examples/tour.ipynb.
To hide also whether someone took part, say --public nothing to both commands.
"""


def run(why: str, command: str) -> None:
    """Say why, show a command as a user would type it, and run it."""
    print(f"\n{why}\n\n$ discreet {command}", flush=True)
    subprocess.run([sys.executable, "-m", "discreet", *shlex.split(command)], cwd=OUT, check=True)  # noqa: S603


def main() -> None:
    """How many smoke, without exposing anyone."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    shutil.copy(HERE / "survey.csv", OUT / "survey.csv")
    print(BEGINNING)
    run(BUDGET, "ledger create ledger.db survey --epsilon 1 --unit person")
    run(
        RELEASE,
        "release survey.csv --column smoking --categories never,former,current --epsilon 0.1 --privacy-id participant "
        "--ledger ledger.db --dataset survey --output posterior.json --plot posterior.png",
    )
    run(HISTORY, "ledger history ledger.db survey")
    program = Path(sys.executable).with_name("discreet")
    print("\n" + ENDING.format(folder=os.path.relpath(OUT), program=os.path.relpath(program)))


if __name__ == "__main__":
    main()
