"""The server of every screen, one for each module of tests."""

from collections.abc import Iterator, Sequence

import pytest

from tests.web.server import Server, explore


@pytest.fixture(scope="module")
def options() -> Sequence[str]:
    """What is typed after `discreet explore`; a module may say something else."""
    return ()


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    """Its environment, beside this process's own; a folder or a module may say something else."""
    return {}


@pytest.fixture(scope="module")
def server(options: Sequence[str], variables: dict[str, str]) -> Iterator[Server]:
    with explore(*options, **variables) as found:
        yield found
