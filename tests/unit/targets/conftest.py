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


@pytest.fixture
def lab(tmp_path, kept):
    return Laboratory(tmp_path, kept)
