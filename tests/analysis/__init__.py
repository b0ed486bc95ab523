"""Tests of losses, composition, errors and optima."""
