"""What is proposed for ``target.compare``: only what exists, and shows the values."""

import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from fuzztui.engines.findings.candidates import candidates, compare_advice

LIBRARY = """
import itertools, threading
counter = itertools.count()

class Doc:
    def __init__(self, text):
        self.words, self._lock = text.split(","), threading.Lock()
    def unwrap(self):
        return self.words
    def to_dict(self, deep):  # needs more
        return {}
    def as_dict(self):
        return self  # not plain
    def to_json(self):
        return str(next(counter))  # varies
    def serialize(self):
        raise ValueError

def parse(text):
    return Doc(text)

def dumps(doc, sort=False, **more):
    return ",".join(doc.words)

def to_string(one, other):
    return ""

def unparse(doc):
    return doc.words[5]

class tostring:  # no function
    def __init__(self, doc): pass
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "candidates_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__("candidates_library")
    monkeypatch.delitem(sys.modules, "candidates_library")
    monkeypatch.setitem(sys.modules, "candidates_library", module)
    return module


def test_what_exists_and_shows_the_value(library: ModuleType) -> None:
    values = [library.parse("a,b"), library.parse("")]
    found = candidates(library.parse, values)
    assert found == ["candidates_library:dumps", "candidates_library:Doc.unwrap"]


def test_what_shows_only_some_of_the_values_is_not_proposed(library: ModuleType) -> None:
    found = candidates(library.parse, [library.parse("a,b,c,d,e,f")])
    assert "candidates_library:unparse" in found


def test_there_may_be_nothing() -> None:
    assert candidates(len, [threading.Lock()]) == []


def test_the_one_that_shows_most_values_is_advised() -> None:
    assert 'compare = "m:b"' in compare_advice([("m:a", "m:b"), ("m:b",), ()])
    assert "compare =" not in compare_advice([(), ()])
    assert "compare =" not in compare_advice([])
