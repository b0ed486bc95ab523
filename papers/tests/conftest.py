"""The settings of every test, which are those of the library's own: a home of its own, no windows, the same bits in every run."""

from tests.conftest import pytest_configure, pytest_fixture_setup, pytest_runtest_protocol

__all__ = ["pytest_configure", "pytest_fixture_setup", "pytest_runtest_protocol"]
