"""When a hanging program is stopped for its stack: never before it had its time."""

import signal
from types import SimpleNamespace

from fuzztui.run.triage import gdb


class Program:
    """A process below gdb that runs."""

    def __init__(self) -> None:
        self.signals: list[signal.Signals] = []

    def state(self) -> str:
        return "R"

    def signal(self, number: signal.Signals) -> None:
        self.signals.append(number)


def test_a_program_that_runs_at_the_first_look_has_its_time_before_it_is_stopped(monkeypatch):
    now, program = [100.0], Program()
    monkeypatch.setattr(gdb, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(gdb, "descendants", lambda pid: [program])
    stopper = gdb._Stopper(0.5)
    for at in (103.0, 103.2, 103.4):  # the first look comes late
        now[0] = at
        stopper.look(1)
    assert program.signals == []
    now[0] = 103.6
    stopper.look(1)
    assert program.signals == [signal.SIGSTOP]
