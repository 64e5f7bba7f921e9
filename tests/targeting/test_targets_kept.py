"""A document in the cache, and the file beside it that tells whether it still counts."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from fuzztui.features.targeting.analysis import Request, TargetingAnalysis
from fuzztui.features.targeting.analysis import __main__ as child


@pytest.mark.parametrize("killed_at", [".json", child._READ])
def test_killed_while_it_writes_the_old_one_counts_no_more(tmp_path, monkeypatch, killed_at):
    library = tmp_path / "library.py"
    library.write_text("A = 1\n")
    program = SimpleNamespace(sources={}, around={}, read={library})
    stub = ModuleType("fuzztui.features.targeting.analysis.analyse")
    stub.analyse = lambda *a, **k: TargetingAnalysis(("app",), "3.11", notes=(library.read_text(),))
    monkeypatch.setitem(sys.modules, stub.__name__, stub)
    file = tmp_path / "targets" / "key.json"
    request = Request("app:run", sys.executable)

    child._write(file, request, program, tmp_path)
    assert not child._others_have_changed(file)
    library.write_text("A = 22\n")
    assert child._others_have_changed(file)

    was = child.replace_text

    def killed(path, text):
        if path.name.endswith(killed_at):
            raise KeyboardInterrupt
        was(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(child, "replace_text", killed)
        with pytest.raises(KeyboardInterrupt):
            child._write(file, request, program, tmp_path)
    assert child._others_have_changed(file)

    child._write(file, request, program, tmp_path)
    assert not child._others_have_changed(file)
    assert TargetingAnalysis.loads(file.read_bytes()).notes == ("A = 22\n",)
