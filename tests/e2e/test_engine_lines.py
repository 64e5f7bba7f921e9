"""What an engine reports about lines, also of code that runs once, late or never again."""

import pytest
from engine_lab import Lab, events

from fuzztui.kernel.base.ranges import decode

pytestmark = pytest.mark.slow

APP = '''\
from functools import cache


@cache
def once(n):
    """Runs in the first trial only."""
    more = n + 1
    if more > 1:
        more += 1
    return more


def fails(n):
    a = n
    raise ValueError(a)
    return a


def target(data: bytes):
    if data[:1] == b"x":
        once(1)
    try:
        fails(data)
    except ValueError:
        pass
    if data[:1] == b"l":
        import late
        late.work()
    return [
        b
        for b in data
    ]
'''
LATE = """\
def work():
    return 1


def never():
    return 2
"""


def covered(lab: Lab, name: str) -> set[int]:
    path = str(lab.src / name)
    every = events(lab.out / "main", "lines_covered")
    return {n for event in every for n in decode(event.get("lines", {}).get(path, ""))}


def test_lines_of_cached_failing_and_late_code(lab: Lab) -> None:
    lab.write("app.py", APP)
    lab.write("late.py", LATE)
    keys = {"target": {"include": ["app", "late"]}, "engine": {"seeds": lab.seeds("x", "l")}}
    lab.campaign("app:target", budget_trials=60, **keys)
    assert covered(lab, "app.py") == {
        1, 4, 5, 7, 8, 9, 10, 13, 14, 15, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
    }  # fmt: skip
    assert covered(lab, "late.py") == {1, 2, 5}
    files = events(lab.out / "main", "source_file")
    (app,) = [f for f in files if f["path"].endswith("app.py")]
    assert app["functions"] == ["4-10 once", "13-16 fails", "19-32 target"]
    before = events(lab.out / "main", "lines_covered")

    # A new worker continues; a changed file is reported again, with the lines of the queue.
    lab.campaign("app:target", budget_trials=70, **keys)
    assert events(lab.out / "main", "lines_covered") == before
    lab.write("app.py", APP.replace("    a = n\n", "    n += b''\n    a = n\n"))
    lab.campaign("app:target", budget_trials=80, **keys)
    files = [f for f in events(lab.out / "main", "source_file") if f["path"] == app["path"]]
    assert len({f["sha"] for f in files}) == 2
    path = app["path"]
    later = events(lab.out / "main", "lines_covered")[len(before) :]
    lines = {n for event in later for n in decode(event.get("lines", {}).get(path, ""))}
    assert {14, 15, 16, 7} <= lines
    assert 17 not in lines


DIES = """\
import os


def target(data: bytes):
    if data[:1] == b"a":
        return 1
    if data[:1] == b"b":
        return 2
    if data == b"die":
        os._exit(3)
    return 0
"""


def test_lines_that_waited_when_a_worker_died_are_reported_by_the_next(lab: Lab) -> None:
    lab.write("app.py", DIES)
    lab.campaign("app:target", budget_trials=20, engine={"seeds": lab.seeds("a", "b", "die")})
    assert events(lab.out / "main", "finding_described"), "the third seed ended the worker"
    assert covered(lab, "app.py") == {1, 4, 5, 6, 7, 8, 9, 11}


DIES_WHILE_RECORDED = """\
import os
import sys


def target(data: bytes):
    recorded = sys.gettrace() or "monitoring" in dir(sys) and sys.monitoring.get_events(3)
    if data[:1] == b"a":
        if recorded:
            os._exit(3)
        return 1
    if data[:1] == b"b":
        return 2
"""


def test_an_entry_that_ends_the_process_while_its_lines_are_recorded_stays(lab: Lab) -> None:
    lab.write("app.py", DIES_WHILE_RECORDED)
    directory = lab.campaign("app:target", budget_trials=30, engine={"seeds": lab.seeds("a", "b")})
    assert len([*(directory / "queue").glob("*,orig:*")]) == 2
    assert len([*(directory / "crashes").glob("id:*")]) == 1
    assert not (directory / ".unsafe").exists()
    assert {11, 12} <= covered(lab, "app.py"), "the lines of the other entry"
