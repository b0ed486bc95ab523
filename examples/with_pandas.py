"""A private posterior of a pandas table: count, release, and intervals that allow for the noise."""

from pathlib import Path

import pandas as pd

import discreet as dc

CATEGORIES = ["never", "former", "current"]

survey = pd.read_csv(Path(__file__).with_name("survey.csv"))

# A participant may have several rows, so persons are protected, not rows.
counts = dc.count(survey, "smoking", CATEGORIES, privacy_id="participant")

prior = dc.Dirichlet.uniform(categories=CATEGORIES)
release = dc.LatticeGeometric(prior, n=counts.total, epsilon=1).release(counts)
print(release)

posterior = release.noise_aware()
for category, mean, (low, high) in zip(CATEGORIES, posterior.mean(), posterior.interval(0.95), strict=True):
    print(f"{category:8} {mean:.3f}, 95 % interval {low:.3f} to {high:.3f}")
