"""Inference from a release: the true counts it allows for, and the posterior that follows."""
