"""The server of the screen to release, which keeps releases where the module's survey says."""

import pytest

from tests.web.release.releases import Survey


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    """A budget that no test uses up; a module may have another."""
    return Survey(tmp_path_factory.mktemp("survey"), epsilon=100)


@pytest.fixture(scope="module")
def variables(survey: Survey) -> dict[str, str]:
    return {"XDG_DATA_HOME": survey.home}
