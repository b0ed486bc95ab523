"""Child of the kill tests: releases a study and is killed before or after a step, the first or a later time that it is taken."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from discreet.ledger.ledger import Ledger
from discreet.requests.studies import release as study_release
from discreet.requests.studies.study import Study


def killed(step: Any, when: str, turn: int) -> Any:
    """The step, by which this process is killed before or after its so manieth time."""
    times = 0

    def taken(*arguments: Any, **options: Any) -> Any:
        nonlocal times
        times += 1
        if when == "before" and times == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        done = step(*arguments, **options)
        if when == "after" and times == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return taken


def main(folder: Path, name: str, when: str, turn: int) -> None:
    owner: Any = Ledger if name == "charge_together" else study_release
    setattr(owner, name, killed(getattr(owner, name), when, turn))
    Study.load(folder / "study.toml").release(folder / "ledger.db", folder / "published")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
