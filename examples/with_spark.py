"""A private posterior of a Spark table: one aggregation runs where the data are. Needs the extra `spark` and Java 17 or later."""

from pathlib import Path

from pyspark.sql import SparkSession

import discreet as dc

CATEGORIES = ["never", "former", "current"]

spark = SparkSession.builder.master("local[1]").appName("discreet example").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
try:
    survey = spark.read.csv(str(Path(__file__).with_name("survey.csv")), header=True)
    counts = dc.count(survey, "smoking", CATEGORIES, privacy_id="participant")
finally:
    spark.stop()

prior = dc.Dirichlet.uniform(categories=CATEGORIES)
release = dc.LatticeGeometric(prior, n=counts.total, epsilon=1).release(counts)
print(release)

posterior = release.noise_aware()
for category, mean, (low, high) in zip(CATEGORIES, posterior.mean(), posterior.interval(0.95), strict=True):
    print(f"{category:8} {mean:.3f}, 95 % interval {low:.3f} to {high:.3f}")
