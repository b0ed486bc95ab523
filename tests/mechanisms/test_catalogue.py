"""A new built-in mechanism is its own file and a line in the stub of public names: everything else finds it."""

import shutil
import subprocess
import sys
from pathlib import Path

import discreet
from discreet.catalogue import FIRST, built_in
from discreet.mechanisms import MECHANISMS

FILE = '''
"""A mechanism that ignores the data."""

import numpy as np

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import Law
from discreet.model.datasets import simplex_points


class Even(Mechanism):
    """All candidates are equally probable."""

    _names = ("fair",)
    _look = ("#123456", "d", "-", "")

    @property
    def _claim(self):
        return self._by_proof()

    def _raw_law(self, counts):
        points = simplex_points(self.space.total, self.k)
        return Law(points, np.full(len(points), -np.log(len(points))))
'''

LOOK = """
import discreet as dc
from discreet.plotting.style import MECHANISMS as LOOKS
from discreet.requests.release import MECHANISM_NAMES, MECHANISMS

prior = dc.Beta(1, 1)
print(type(dc.mechanism("fair", prior, 5, 1)) is dc.Even, "Even" in MECHANISM_NAMES, "Even" in MECHANISMS, LOOKS["Even"].colour)
print("Even" in [row.mechanism for row in dc.compare(prior, 5, 1, errors=False).rows])
"""


def test_the_built_in_mechanisms_are_those_of_the_stub() -> None:
    assert [cls.__name__ for cls in MECHANISMS] == list(built_in())
    assert next(iter(built_in())) == FIRST
    assert all(getattr(discreet, cls.__name__) is cls for cls in MECHANISMS)


def test_a_new_mechanism_is_its_file_and_a_line(tmp_path: Path) -> None:
    package = tmp_path / "discreet"
    shutil.copytree(Path(discreet.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "mechanisms" / "even.py").write_text(FILE, encoding="utf-8")
    stub = package / "__init__.pyi"
    stub.write_text(stub.read_text(encoding="utf-8") + "from .mechanisms.even import Even as Even\n", encoding="utf-8")
    run = subprocess.run([sys.executable, "-c", LOOK], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["True", "True", "True", "#123456", "True"]
