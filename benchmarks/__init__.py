"""Benchmarks: what things cost and how wrong they are, measured on this machine. `python -m benchmarks [module ...]`."""
