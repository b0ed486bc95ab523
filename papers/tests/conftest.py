"""The settings of every test, which are those of the library's own: a home of its own, no windows, the same examples in every run."""

from tests.conftest import pytest_configure

__all__ = ["pytest_configure"]
