"""Recomputes the figures, tables and claims of the papers that discreet is based on. `discreet reproduce` runs it where it is installed."""

__version__ = "0.3.0"
