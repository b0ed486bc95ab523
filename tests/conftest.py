"""Settings for every test: no windows, no wall-clock limits, the same examples in every run, and no ledger but the test's own."""

import os

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("discreet", deadline=None, derandomize=True, max_examples=100, print_blob=True)
settings.load_profile("discreet")
os.environ.pop("DISCREET_LEDGER", None)
