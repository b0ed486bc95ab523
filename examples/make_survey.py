"""Make examples/survey.csv: an invented health survey. No row stands for a person; the same seed gives the same file.

Each participant answered once or twice, so a person is more than one row: that is what `--privacy-id` is for.
"""

import csv
import random
from pathlib import Path

PEOPLE = 1500
SMOKING = {"18-34": (0.62, 0.12, 0.26), "35-54": (0.52, 0.25, 0.23), "55+": (0.48, 0.40, 0.12)}
ANSWERS = ("never", "former", "current")


def rows(seed: int = 20261115) -> list[dict[str, str]]:
    """The survey's rows, in no particular order."""
    generator = random.Random(seed)  # noqa: S311  an example, not a release
    found = []
    for number in range(PEOPLE):
        age = generator.choices(tuple(SMOKING), weights=(3, 4, 3))[0]
        answer = generator.choices(ANSWERS, weights=SMOKING[age])[0]
        row = {"participant": f"P{number:05d}", "age": age, "smoking": answer}
        found += [row] * generator.choice((1, 1, 1, 2))
    generator.shuffle(found)
    return found


if __name__ == "__main__":
    with (Path(__file__).parent / "survey.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=("participant", "age", "smoking"), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows())
