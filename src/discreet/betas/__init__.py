"""Mixtures of many Betas at once, a row each: their moments, and one search for all their quantiles."""
