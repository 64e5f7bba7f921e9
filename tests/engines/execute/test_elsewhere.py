"""What one input executes in place of instrumented code: files and the names of their modules."""

import importlib
import json
import sys

import pytest
from compiled_extension import extension

from fuzztui.engines.execute.elsewhere import modules_of


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "inner_work.py").write_text("import json\ndef run(d): return json.loads(d)\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("inner_work")
    del sys.modules["inner_work"]


def test_files_outside_of_the_library_are_named_as_they_were_imported(work):
    assert modules_of(lambda: work.run("[1]"))[work.__file__] == "inner_work"
    assert json.__file__ not in modules_of(lambda: json.loads("[1]"))


def test_an_error_of_the_target_restores_the_profiler(work):
    before = sys.getprofile()
    with pytest.raises(ValueError, match="Expecting"):
        modules_of(lambda: work.run("["))
    assert sys.getprofile() is before


def test_calls_of_compiled_code_name_its_module(tmp_path, monkeypatch):
    file = extension(tmp_path, "ext_called")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("ext_called")
    assert modules_of(lambda: module.parse(b""))[str(file)] == "ext_called"
    assert not any("ext_called" in name for name in modules_of(lambda: repr(module)).values())
    del sys.modules["ext_called"]
