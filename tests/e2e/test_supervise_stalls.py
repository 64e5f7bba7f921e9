"""Real engines whose target stops them: the campaign continues, and says why it did not."""

import os
import signal
import sys

import pytest
from skipped import nightly
from supervised import Supervised

from fuzztui.kernel.wire.events import Message
from fuzztui.run.process.identity import descendants

pytestmark = pytest.mark.slow

TARGET = """
import os, signal
runs = 0

def target(data: bytes):
    global runs
    runs += 1
    if runs == 300 and not os.path.exists({mark!r}):
        open({mark!r}, "x").close()
        {act}
"""


@pytest.fixture
def campaign(tmp_path):
    made: list[Supervised] = []

    def make(act: str) -> Supervised:
        s = Supervised(tmp_path)
        made.append(s)
        s.python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (tmp_path / "app.py").write_text(TARGET.format(mark=str(tmp_path / "mark"), act=act))
        path = f'target.path=["{tmp_path}"]'
        s.start('target.function="app:target"', path, 'target.include=["app"]')
        return s

    yield make
    for s in made:
        s.clean_up()


MONITOR = "os.kill(os.getppid(), signal.SIGSTOP)"
ITS_GROUP = "os.killpg(os.getpgid(os.getppid()), signal.SIGSTOP)"


@pytest.mark.parametrize("act", [MONITOR, *nightly(ITS_GROUP)], ids=["monitor", "its group"])
def test_a_target_that_stops_its_monitor(campaign, act):
    s = campaign(act)
    s.until(lambda st: st.instances["main"].state == "paused")
    state = s.until(lambda st: st.instances["main"].state == "running")
    s.until(lambda st: st.instances["main"].stats.execs > state.instances["main"].stats.execs)
    assert [e.instance for e in s.events(Message) if "not by fuzztui" in e.text] == ["main"]
    assert s.state().instances["main"].restarts == 0
    assert s.stop().findings == {}


def test_a_worker_that_stops_itself_costs_no_budget(campaign):
    s = campaign("os.kill(os.getpid(), signal.SIGSTOP)")
    # A finding is saved first, and described then.
    state = s.until(lambda st: any("SIGSTOP" in f.title for f in st.findings.values()))
    assert len(state.findings) == 1
    s.until(lambda st: st.instances["main"].stats.execs > 1000)
    assert s.state().instances["main"].restarts == 0
    s.stop()


def test_a_pause_of_all_its_processes_is_left_alone(campaign):
    s = campaign("pass")
    pid = s.until(lambda st: st.instances["main"].stats.execs > 500).instances["main"].pid
    everything = [pid, *(p.pid for p in descendants(pid))]
    for each in everything:
        os.kill(each, signal.SIGSTOP)
    s.until(lambda st: st.instances["main"].state == "paused")
    for each in reversed(everything):
        os.kill(each, signal.SIGCONT)
    state = s.until(lambda st: st.instances["main"].state == "running")
    s.until(lambda st: st.instances["main"].stats.execs > state.instances["main"].stats.execs)
    assert not [e for e in s.events(Message) if "not by fuzztui" in e.text]
    assert s.stop().findings == {}
