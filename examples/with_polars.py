"""A private posterior of a lazy polars table: the rows are scanned once, and only the counts are collected."""

from pathlib import Path

import polars as pl

import discreet as dc

CATEGORIES = ["never", "former", "current"]

survey = pl.scan_csv(Path(__file__).with_name("survey.csv"))

# What chooses rows must be public: the age group is part of the question here, and who is in it is not protected.
older = survey.filter(pl.col("age") != "18-34")
counts = dc.count(older, "smoking", CATEGORIES, privacy_id="participant")

prior = dc.Dirichlet.jeffreys(categories=CATEGORIES)
release = dc.LatticeGeometric(prior, n=counts.total, epsilon="0.5").release(counts)
print(release)

posterior = release.noise_aware()
for category, mean, (low, high) in zip(CATEGORIES, posterior.mean(), posterior.interval(0.95), strict=True):
    print(f"{category:8} {mean:.3f}, 95 % interval {low:.3f} to {high:.3f}")
