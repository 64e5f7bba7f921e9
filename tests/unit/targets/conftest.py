import pytest
from targets_lab import Laboratory


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


@pytest.fixture
def lab(tmp_path, mypy_cache):
    return Laboratory(tmp_path, mypy_cache)
