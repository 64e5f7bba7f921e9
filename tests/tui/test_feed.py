"""The feed never blocks the loop, survives a failing session and lends the state safely."""

import asyncio
import threading

import pytest
from waiting import DEADLINE_S, turns_of_the_loop, until

from fuzztui.kernel.model.state import Changes
from fuzztui.tui.app import feed as feed_module
from fuzztui.tui.app.feed import Feed, default_hz
from fuzztui.tui.base.background import in_thread


class Listener:
    def __init__(self):
        self.changes = []
        self.troubles = []
        self.present = 0

    def on_present(self):
        self.present += 1

    def on_changes(self, changes):
        self.changes.append(changes)

    def on_trouble(self, problem):
        self.troubles.append(problem)


class Session:
    """Does what it is told, in the order that it is told."""

    behind = False
    mode = "live"
    is_settled = True

    def __init__(self):
        self.answers = []
        self.sought = []
        self.polls = 0
        self.hold = None

    def poll(self):
        self.polls += 1
        if self.hold is not None:
            self.hold.wait(DEADLINE_S)
        answer = self.answers.pop(0) if self.answers else Changes()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def seek(self, t):
        self.sought.append(t)
        return Changes(reset=True)


@pytest.fixture
def parts():
    session, listener = Session(), Listener()
    return session, listener, Feed(session, listener, 200.0)


async def test_only_real_changes_are_told(parts):
    session, listener, feed = parts
    session.answers = [Changes(), Changes(records=1), Changes()]
    task = asyncio.create_task(feed.run())
    await until(lambda: session.polls > 5)
    task.cancel()
    assert listener.changes == [Changes(records=1)]
    assert listener.troubles == []


async def test_a_failing_session_is_told_once_and_tried_again(parts, monkeypatch):
    monkeypatch.setattr(feed_module, "BACK_OFF_S", 0.01)
    session, listener, feed = parts
    session.answers = [OSError(5, "Input/output error"), ValueError("bad"), ValueError("bad")]
    task = asyncio.create_task(feed.run())
    await until(lambda: session.polls > 5)
    task.cancel()
    assert listener.troubles == ["the log: Input/output error", "ValueError: bad", ""]


async def test_the_state_is_lent_while_the_session_works(parts):
    session, _, feed = parts
    session.hold = threading.Event()
    task = asyncio.create_task(feed.run())
    await until(lambda: session.polls == 1)
    seen = []
    feed.when_free(lambda: seen.append(session.polls))
    await turns_of_the_loop()
    assert seen == []
    session.hold.set()
    await until(lambda: seen)
    task.cancel()


async def test_the_latest_seek_wins(parts):
    session, listener, feed = parts
    feed.seek(1.0)
    feed.seek(2.0)
    task = asyncio.create_task(feed.run())
    await until(lambda: listener.changes)
    task.cancel()
    assert session.sought == [2.0]


async def test_while_behind_there_is_no_pause():
    session, listener = Session(), Listener()
    session.answers = [Changes(records=1)] * 20
    session.behind = True
    feed = Feed(session, listener, 0.001)  # one poll in a thousand seconds
    task = asyncio.create_task(feed.run())
    await until(lambda: len(listener.changes) == 20)
    assert not listener.present
    session.behind = False
    await until(lambda: listener.present)
    task.cancel()
    assert listener.present == 1


async def test_where_nothing_happens_it_is_polled_rarely(parts, monkeypatch):
    session, listener, feed = parts
    monkeypatch.setattr(feed_module, "QUIET_POLLS", 3)
    monkeypatch.setattr(feed_module, "QUIET_S", 3600.0)
    pauses, timeout = [], asyncio.timeout
    monkeypatch.setattr(asyncio, "timeout", lambda s: (pauses.append(s), timeout(s))[1])
    task = asyncio.create_task(feed.run())
    await until(lambda: feed._quiet > 3 and pauses[3:])
    assert pauses == [1 / 200] * 3 + [3600.0]
    polls = session.polls
    assert polls == 4
    session.answers = [Changes(records=1)]
    feed.nudge()
    await until(lambda: listener.changes)
    await until(lambda: session.polls == polls + 1 + 4)  # as often as ever, until it is quiet
    session.mode = "replay"  # whose clock continues
    feed.nudge()
    await until(lambda: session.polls > polls + 20)
    task.cancel()


async def test_a_hanging_thread_does_not_keep_the_loop():
    hold = threading.Event()
    begun = threading.Event()
    task = asyncio.create_task(in_thread(lambda: (begun.set(), hold.wait(DEADLINE_S))))
    await until(begun.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    hold.set()
    assert all(t.daemon for t in threading.enumerate() if t.name == "fuzztui-work")


async def test_exceptions_come_back():
    def stop():
        raise StopIteration

    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 / 0)
    with pytest.raises(RuntimeError):
        await in_thread(stop)


@pytest.mark.parametrize(
    ("env", "hz"),
    [
        ({}, 4.0),
        ({"SSH_CONNECTION": "x"}, 2.0),
        ({"FUZZTUI_HZ": "1"}, 1.0),
        ({"FUZZTUI_HZ": "?"}, 4.0),
    ],
)
def test_how_often(monkeypatch, env, hz):
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.delenv("FUZZTUI_HZ", raising=False)
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    assert default_hz() == hz
