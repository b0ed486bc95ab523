"""Private posteriors of a DuckDB relation, charged to a ledger: the budget pays for two releases and not for a third."""

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

import discreet as dc

CATEGORIES = ["never", "former", "current"]

database = duckdb.connect()
survey = database.read_csv(str(Path(__file__).with_name("survey.csv")))
counts = dc.count(survey, "smoking", CATEGORIES, privacy_id="participant")
prior = dc.Dirichlet.uniform(categories=CATEGORIES)

with TemporaryDirectory() as folder:
    ledger = dc.Ledger(f"{folder}/ledger.db")
    ledger.create("survey", epsilon=1, unit="person")
    for _ in range(3):
        try:
            release = ledger.release("survey", dc.LatticeGeometric(prior, counts.total, epsilon="0.5"), counts)
        except dc.BudgetError as error:
            print(f"refused: {error}")
            continue
        print(release)
        for category, (low, high) in zip(CATEGORIES, release.noise_aware().interval(0.95), strict=True):
            print(f"{category:8} 95 % interval {low:.3f} to {high:.3f}")
