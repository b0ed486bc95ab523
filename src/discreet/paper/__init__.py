"""Recomputes the figures, tables and claims of the papers that this library is based on."""
