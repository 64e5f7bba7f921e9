"""The program's lasting state: what a call leaves is found and put back."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from fuzztui.engines.mutants.lasting_state import LastingState

STATE = {
    "dict": ("kept = {1: 2}", "kept[3] = 4", "kept"),
    "order": ("kept = {1: 2, 3: 4}", "kept[1] = kept.pop(1)", "list(kept)"),
    "list": ("kept = [1]", "kept.append(2)", "kept"),
    "set": ("kept = {1}", "kept.symmetric_difference_update({1, 2})", "sorted(kept)"),
    "deque": ("import collections\nkept = collections.deque([1], 3)", "kept.append(2)", "kept"),
    "ordered": (
        "import collections\nkept = collections.OrderedDict.fromkeys('ab')",
        "kept.move_to_end('a')",
        "list(kept)",
    ),
    "bytes": ("kept = bytearray(b'ab')", "kept[0] = 99", "kept"),
    "nested": ("kept = ({'a': [1]},)", "kept[0]['a'].clear()", "kept"),
    "default": ("def call(n=[]):\n    n.append(1)\n    return len(n)", "call()", "call()"),
    "cell": (
        "def make():\n    n = 0\n    def count():\n        nonlocal n\n        n += 1\n"
        "        return n\n    return count\ncount = make()",
        "count()",
        "count()",
    ),
    "unset cell": (
        "def make():\n    def fill():\n        nonlocal n\n        n = 1\n"
        "    def seen():\n        try:\n            return n\n        except NameError:\n"
        "            return 0\n    if False:\n        n = 0\n    return fill, seen\n"
        "fill, seen = make()",
        "fill()",
        "seen()",
    ),
    "global": ("kept = None", "globals().update(kept=1, new=2)", "kept, 'new' in globals()"),
    "class": ("class C:\n    n = 0", "C.n += 1; C.new = 1", "C.n, hasattr(C, 'new')"),
    "instance": ("class C: pass\nkept = C()", "kept.n = 1", "vars(kept)"),
    "slots": (
        "class C:\n    __slots__ = 'a', 'b'\nkept = C()\nkept.a = 1",
        "kept.a = kept.b = 2",
        "kept.a, hasattr(kept, 'b')",
    ),
    "function": ("def call(): pass", "call.n = 1", "vars(call)"),
    "method": (
        "class C:\n    def add(self): self.n = 1\nadd = C().add",
        "add()",
        "vars(add.__self__)",
    ),
    "weak": (
        "import weakref\nclass C: pass\nkept = weakref.WeakValueDictionary()\none = C()",
        "kept[1] = one",
        "len(kept)",
    ),
    "lru_cache": (
        "import functools\n@functools.lru_cache\ndef call(n): return object()",
        "call(1)",
        "call.cache_info().currsize",
    ),
}


class Programs:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def make(self, source: str, name: str = "prog") -> dict[str, Any]:
        module = ModuleType(name)
        self._patch.setitem(sys.modules, name, module)
        exec(source, vars(module))
        return vars(module)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Programs]:
    yield Programs(monkeypatch)


def own(name: str) -> bool:
    return name.partition(".")[0] == "prog"


@pytest.mark.parametrize("name", STATE)
def test_what_a_call_leaves_is_put_back(programs: Programs, name: str) -> None:
    source, call, seen = STATE[name]
    names = programs.make(source)
    lasting = LastingState(own)
    assert not lasting.look()
    exec(call, names)
    lasting.look()
    lasting.put_back()
    assert not lasting.look()
    before: dict[str, Any] = programs.make(source)
    assert repr(eval(seen, names)) == repr(eval(seen, before))
    assert not lasting.failed


@pytest.mark.parametrize("name", sorted(STATE.keys() - {"default", "cell", "lru_cache"}))
def test_what_a_set_up_leaves_is_put_back_to_from_then_on(programs: Programs, name: str) -> None:
    source, call, seen = STATE[name]
    names = programs.make(source)
    lasting = LastingState(own)
    exec(call, names)
    set_up = repr(eval(seen, names))
    lasting.accept()
    assert not lasting.look()
    lasting.put_back()
    assert repr(eval(seen, names)) == set_up


def test_what_is_torn_down_is_put_back_to_too(programs: Programs) -> None:
    names = programs.make("kept = []\nempty = {}")
    lasting = LastingState(own)
    for value in (["a"], ["b"], []):
        names["kept"][:] = value
        names["empty"].update(dict.fromkeys(value))
        lasting.accept()
        names["kept"].append("of a mutant")
        names["empty"]["of a mutant"] = 1
        assert lasting.look() or names["kept"] != value
        lasting.put_back()
        assert names["kept"] == value and "of a mutant" not in names["empty"]
        names["empty"].clear()


def test_what_is_known_to_change_is_put_back_without_a_look(programs: Programs) -> None:
    names = programs.make("kept = {}\nother = []")
    lasting = LastingState(own)
    names["kept"][1] = 1
    assert lasting.look()
    lasting.put_back()
    names["kept"][2] = 2
    names["other"].append(1)
    lasting.put_back()
    assert (names["kept"], names["other"]) == ({}, [1])
    assert lasting.look()
    lasting.put_back()
    assert names["other"] == []


def test_no_code_of_the_program_runs(programs: Programs) -> None:
    names = programs.make(
        "ran = False\n"
        "class Key:\n"
        "    def note(self, *_):\n"
        "        global ran\n        ran = True\n        return 1\n"
        "    __hash__ = object.__hash__\n"
        "    __eq__ = __len__ = __bool__ = __iter__ = note\n"
        "    __class__ = property(note)\n"
        "class Table(dict):\n"
        "    __len__ = __iter__ = __getitem__ = values = Key.note\n"
        "kept = {Key(): Key()}\n"
        "table = Table(a=Key())\n"
        "things = [Key(), Key()]\n"
    )
    lasting = LastingState(own)
    assert not lasting.look()
    dict.update(names["table"], b=1)
    names["kept"].clear()
    names["things"].reverse()
    assert lasting.look()
    lasting.put_back()
    assert not names["ran"]
    assert dict.__len__(names["table"]) == 1
    assert not lasting.look()


def test_submodules_that_are_imported_late_stay(programs: Programs) -> None:
    names = programs.make("__path__ = []")
    lasting = LastingState(own)
    names["late"] = ModuleType("prog.late")
    names["n"] = 1
    assert lasting.look()
    lasting.put_back()
    assert "late" in names
    assert "n" not in names


def test_modules_that_are_added_later_keep_the_first_copies(programs: Programs) -> None:
    names = programs.make("kept = []")
    earlier = LastingState(own)
    names["kept"].append(1)
    late = programs.make("more = [1]", "prog.late")
    lasting = LastingState(own)
    lasting.keep(earlier)
    late["more"].append(2)
    assert lasting.look()
    lasting.put_back()
    assert (names["kept"], late["more"]) == ([], [1])


def test_a_program_with_too_many_objects_is_copied_in_part(programs: Programs) -> None:
    names = programs.make("near = []\nmany = [[n] for n in range(1000)]")
    lasting = LastingState(own, max_objects=100)
    assert lasting.left_out
    names["near"].append(1)
    assert lasting.look()
    lasting.put_back()
    assert names["near"] == []
