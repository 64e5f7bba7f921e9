"""Recording executed lines."""

import types

from fuzztui.engines.instrument import lines
from fuzztui.engines.instrument.lines import LineRecorder
from fuzztui.engines.instrument.statements import outline_of

SOURCE = """\
def outer(n):
    if n > 2:
        return inner(n)
    return [
        n
        for _ in range(n)
    ]


def inner(n):
    while n > 5:
        raise ValueError
    return n
"""


def module(file):
    made = types.ModuleType("m")
    exec(compile(SOURCE, file, "exec"), made.__dict__)
    return made


def test_each_line_of_the_files_is_recorded_once():
    recorder = LineRecorder()
    recorder.add("/a.py")
    with recorder.recording():
        ours, other = module("/a.py"), module("/b.py")
    assert recorder.take() == {"/a.py": {1, 10}}
    ours.outer(3)  # not in a recording
    with recorder.recording():
        ours.outer(3)
        other.outer(1)
        with recorder.suspended():
            ours.outer(1)
        with recorder.recording():
            pass
        ours.inner(1)
    assert recorder.take() == {"/a.py": {2, 3, 11, 13}}
    with recorder.recording():
        ours.outer(3)
    assert recorder.take() == {}
    try:
        with recorder.recording():
            ours.inner(9)
    except ValueError:
        pass
    assert recorder.take() == {"/a.py": {12}}


def test_names_of_files_that_are_made_while_a_target_runs_are_not_all_kept(monkeypatch):
    monkeypatch.setattr(lines, "MAX_FILES", 3)
    asked = []
    recorder = LineRecorder(lambda file: asked.append(file) or file == "/mine.py")
    with recorder.recording():
        for name in ("/a", "/b", "/c", "/d", "/d", "/a", "/mine.py"):
            module(name)
    assert set(recorder.take()) == {"/mine.py"}
    assert len(recorder._seen) == 4 and asked.count("/a") == 1


def test_functions_and_blocks_of_a_source():
    outline = outline_of(SOURCE.encode(), {5: 4, 6: 4, 7: 4})
    assert outline.functions == [(1, 7, "outer"), (10, 13, "inner")]
    assert outline.blocks == [(2, 3), (11, 12)]
    assert outline.runs == {2: [2], 3: [3], 11: [11], 12: [12]}
    text = b'def f():\n    """Doc."""\n    a\n    b\n    for c in d:\n        e\n    g\n'
    assert outline_of(text, {}).runs == {3: [3, 4, 5, 7], 6: [6]}
    text = b"try:\n    a\nexcept E:\n    b\nelse:\n    c\n"
    text += b"for x in y:\n    d\nif p: q\nelif r:\n    s\n"
    assert outline_of(text, {}).blocks == [(1, 3), (1, 6), (7, 8), (9, 10), (10, 11)]
    text = b"match x:\n    case 1:\n        a\nclass C:\n    @d\n    def f(self):\n        pass\n"
    outline = outline_of(text, {})
    assert outline.blocks == [(2, 3)]
    assert outline.functions == [(5, 7, "C.f")]
