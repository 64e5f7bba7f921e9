"""Whoever starts a campaign may leave while it is being started."""

import contextlib
import os
import select
import signal

import pytest
from waiting import wait_until

from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.supervise.daemon import StarterPipe


def test_work_ends_when_the_parent_leaves():
    ours, theirs = os.pipe()
    parent = StarterPipe(theirs)
    before = signal.getsignal(signal.SIGUSR1)
    with (
        pytest.raises(SupervisorError, match="exited before the campaign was running"),
        parent.waiting(),
    ):
        os.close(ours)
        wait_until(lambda: False)  # a compiler that says nothing
    assert signal.getsignal(signal.SIGUSR1) is before
    with pytest.raises(SupervisorError):
        parent.progress("words that nobody reads")
    os.close(theirs)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGRTMIN])
@pytest.mark.parametrize("has_parent", [True, False])
def test_work_ends_at_a_signal_that_ends_supervisors(number, has_parent):
    ours, theirs = os.pipe()
    before = signal.getsignal(number)
    with (
        pytest.raises(SupervisorError, match=f"{number.name} ended the supervisor"),
        StarterPipe(theirs if has_parent else None).waiting(),
    ):
        os.kill(os.getpid(), number)
        wait_until(lambda: False)
    assert signal.getsignal(number) is before
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("reports", [True, False])
def test_work_that_catches_the_error_gets_it_again(reports):
    ours, theirs = os.pipe()
    parent = StarterPipe(theirs)
    with pytest.raises(SupervisorError, match="SIGTERM ended the supervisor"), parent.waiting():
        with contextlib.suppress(SupervisorError):  # as a step that does without its result
            os.kill(os.getpid(), signal.SIGTERM)
            wait_until(lambda: False)
        if reports:
            parent.progress("the next step")
            pytest.fail("the next step began")
    os.close(ours)
    os.close(theirs)


def test_work_goes_on_for_a_parent_that_stays_and_without_one(monkeypatch):
    ours, theirs = os.pipe()
    parent = StarterPipe(theirs)
    looks = 0

    class Poll:
        """The watching thread's look at the pipe."""

        def __init__(self):
            self.poll_ = poll()
            self.register = self.poll_.register

        def poll(self, timeout):
            nonlocal looks
            looks += 1
            return self.poll_.poll(timeout)

    poll = select.poll
    monkeypatch.setattr(select, "poll", Poll)
    with parent.waiting():
        parent.progress("compiling")
        wait_until(lambda: looks > 2)
    parent.ready()
    lines = os.read(ours, 1000).splitlines()
    assert lines == [b'{"progress": "compiling"}', b'{"ready": %d}' % os.getpid()]
    os.close(ours)
    with StarterPipe(None).waiting():
        StarterPipe(None).progress("nobody asked")
