"""The server of the screen to release, which keeps releases where the module's survey says."""

import pytest

from tests.web.release.releases import Survey


@pytest.fixture(scope="module")
def variables(survey: Survey) -> dict[str, str]:
    return {"XDG_DATA_HOME": survey.home}
