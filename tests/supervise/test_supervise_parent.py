"""Whoever starts a campaign may leave while it is being started."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from fuzztui.campaign.rundir import SupervisorError
from fuzztui.supervise.daemon import StarterPipe


def test_work_ends_when_the_parent_leaves():
    ours, theirs = os.pipe()
    parent = StarterPipe(theirs)
    before = signal.getsignal(signal.SIGUSR1)
    leaving = threading.Timer(0.2, os.close, [ours])
    leaving.start()
    with (
        pytest.raises(SupervisorError, match="exited before the campaign was running"),
        parent.waiting(),
    ):
        time.sleep(60)  # a compiler that says nothing
    assert signal.getsignal(signal.SIGUSR1) is before
    with pytest.raises(SupervisorError):
        parent.progress("words that nobody reads")
    os.close(theirs)


def test_work_goes_on_for_a_parent_that_stays_and_without_one():
    ours, theirs = os.pipe()
    parent = StarterPipe(theirs)
    with parent.waiting():
        parent.progress("compiling")
        time.sleep(0.5)
    parent.ready()
    lines = os.read(ours, 1000).splitlines()
    assert lines == [b'{"progress": "compiling"}', b'{"ready": %d}' % os.getpid()]
    os.close(ours)
    with StarterPipe(None).waiting():
        StarterPipe(None).progress("nobody asked")
