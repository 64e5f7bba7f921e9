import os
from pathlib import Path

import pytest
from shared import HOME
from targets_lab import Laboratory


@pytest.fixture(scope="session")
def kept():
    """The directory for caches of all workers: mypy reads a library's code once, not in each."""
    directory = Path(os.environ[HOME]) / "targets"
    directory.mkdir(exist_ok=True)
    return directory


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each analysis runs mypy: slow, and slower still when each worker runs its first one."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here) and "lab" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def lab(tmp_path, kept):
    return Laboratory(tmp_path, kept)
