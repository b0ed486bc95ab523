"""Inference from the release of a table: posteriors of its groups, sums, shares, ranks and contrasts."""
