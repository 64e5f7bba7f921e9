"""Which modules refer to the application, and are imported again with it."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.mutants.harness_modules import harness_modules, is_test_file


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    files = {
        "conftest": "conftest.py",
        "tests.test_a": "tests/test_a.py",
        "tests.deep.helpers": "tests/deep/helpers.py",
        "shop_app": "shop_app.py",
        "lib": "tests/.venv/lib/python3/site-packages/lib.py",
        "raw": "raw.py",
    }
    for name, file in files.items():
        module = ModuleType(name)
        module.__file__ = str(tmp_path / file)
        monkeypatch.setitem(sys.modules, name, module)
    (tmp_path / "tests").mkdir()
    return {name: tmp_path / file for name, file in files.items()}


def spec(**keys: Any) -> TargetSpec:
    return TargetSpec(function="tests", **keys)


@pytest.mark.parametrize("part", ["tests", "tests/test_a.py", "tests/test_a.py::test_b[x:y]"])
def test_of_tests_all_modules_in_their_directory(names, tmp_path, part):
    names["tests.test_a"].touch()
    found = set(harness_modules(spec(suite=(str(tmp_path / part),))))
    assert found & names.keys() == {"conftest", "tests.test_a", "tests.deep.helpers"}


def test_of_one_function_its_file(names, tmp_path):
    one = TargetSpec(function=f"{tmp_path / 'raw.py'}:raw")
    assert set(harness_modules(one)) & names.keys() == {"raw"}
    assert not set(harness_modules(TargetSpec(function="shop_app:price"))) & names.keys()


def test_tests_in_the_package_have_no_mutants():
    assert all(map(is_test_file, ("/p/test_a.py", "/p/a_test.py", "/p/conftest.py")))
    assert not any(map(is_test_file, ("/p/tests.py", "/test_p/core.py", "/p/testing.py")))
