"""Presentation by the command line and the page: words, tables for a terminal, HTML, pictures, and the page of a report."""
