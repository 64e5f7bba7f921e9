"""The entries that wait for their measurement, and what the log has of earlier ones."""

import asyncio
import os
import tracemalloc
from types import SimpleNamespace

import pytest

from fuzztui.features.fuzzfirst.coverage_tools import Gcov
from fuzztui.features.gcov import queue
from fuzztui.features.gcov.queue import TOGETHER, GcovQueue, known_lines
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import LinesCovered, SourceFile
from fuzztui.run.campaign.rundir import RunDir

SIZE, ENTRIES = 200_000, 100


@pytest.fixture
def run_dir(tmp_path):
    (tmp_path / "run" / "log").mkdir(parents=True)
    return RunDir(tmp_path / "run")


class Build:
    tool = Gcov()

    async def make(self, note):
        pass


class Measurement:
    def __init__(self):
        self.measured = []

    def start(self):
        pass

    async def measure(self, entries):
        self.measured += [(entry.name, len(entry.data)) for entry in entries]


def test_a_long_queue_is_not_held_in_memory(run_dir, tmp_path, monkeypatch):
    for instance, times in (("main", range(0, ENTRIES, 2)), ("s1", range(1, ENTRIES, 2))):
        folder = run_dir.out / instance / "queue"
        folder.mkdir(parents=True)
        for n, time in enumerate(times):
            with (folder / f"id:{n:06d},time:{time},op:havoc").open("wb") as file:
                file.write(b"x")
                file.truncate(SIZE)
    monkeypatch.setattr(queue, "build_for", lambda *_: Build())
    measurement = Measurement()
    monkeypatch.setattr(queue, "EntryMeasurement", lambda *_: measurement)
    waiting = GcovQueue(run_dir, SimpleNamespace(target={"source": str(tmp_path / "src")}))
    waiting.last = True
    tracemalloc.start()
    asyncio.run(waiting.run(os.getppid()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    times = [int(name.split("time:")[1].partition(",")[0]) for name, _ in measurement.measured]
    assert times == list(range(ENTRIES)), "the earliest first, over all instances"
    assert {size for _, size in measurement.measured} == {SIZE}
    assert peak < (TOGETHER + 10) * SIZE


def test_what_is_known_is_of_the_file_as_it_is_now(run_dir):
    writer = LogWriter(run_dir.log)
    for event in (
        SourceFile("", "/a.c", "", "old", "1-9", [], [], [1, 2, 3]),
        LinesCovered("main", 1, {"/a.c": "1-3"}, {"/a.c": "0-2"}),
        SourceFile("", "/a.c", "", "new", "1-9", [], [], [1, 2, 3]),
        LinesCovered("main", 1, {"/a.c": "1"}, {"/a.c": "0"}),
    ):
        writer.append(event, 1.0)
    writer.close(at_rest=True)
    known = {"/a.c": ("new", {1}, {0})}
    assert known_lines(run_dir) == (known, "gcov"), "logs of earlier versions name no tool"
