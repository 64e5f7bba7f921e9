"""A new group of findings is announced on every screen, once; a stall shows in the header."""

from __future__ import annotations

import json

import pytest
from fakes import WALL, running, started

from fuzztui.kernel.model.stall import STALL_S
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.app.attention import BELL, alert_sequence
from fuzztui.tui.base import themed
from fuzztui.tui.base.user_state import MAX_RUNS, NO_LOOK, last_look, remember_look


def save(log, n, signature="", instance="main"):
    name = f"crashes/id:{n:06}"
    log.add(ev.FindingSaved(instance, "crash", name, id=n))
    if signature:
        log.add(ev.FindingDescribed(instance, "crash", name, signature, f"title {signature}"))


def begun():
    log = started(budget_s=0.0)
    log.add(ev.InstanceState("main", "running"), ev.CampaignState("running"))
    return log


def titles(driver):
    return [n.title for n in driver.app._notifications]


async def more(driver, *found):
    for n, signature in found:
        save(driver.world.log, n, signature)
    await driver.ready()


@pytest.mark.slow
@pytest.mark.parametrize("tab", ["overview", "corpus", "log"])
async def test_each_new_group_is_announced_once_from_any_screen(drive, tab):
    async with drive(begun()) as d:
        d.app.perform(f"view.{tab}")
        await d.pilot.pause()
        await more(d, (1, "A"))
        assert len(titles(d)) == 1 and "title A" in d.notices()[0]
        await more(d, (2, "A"))
        assert len(titles(d)) == 1
        await more(d, (3, "B"), (4, "C"))
        assert len(titles(d)) == 2 and titles(d)[1].startswith("2 ")
        assert d.app.status.unseen == 3


@pytest.mark.slow
async def test_what_the_log_contains_already_is_counted_and_not_announced(drive):
    async with drive(running()) as d:
        assert not titles(d)
        assert d.app.status.unseen == d.app.status.groups == 3
        await d.press("3")
        assert d.app.status.unseen == 0
        await more(d, (900, "Z"))
        assert d.app.status.unseen == 0  # the user sees it
        await d.press("1")
        await more(d, (901, "Y"))
        assert d.app.status.unseen == 1


async def test_a_finding_without_a_description_is_announced_after_a_while(drive):
    async with drive(begun()) as d:
        await more(d, (1, ""))
        assert not titles(d)
        d.log.t += 20
        d.app.tick()
        await d.pilot.pause()
        assert len(titles(d)) == 1


async def test_a_replay_announces_nothing(drive):
    async with drive(running(), replay_at=0.0) as d:
        d.world.clock.t = d.log.t
        d.app.nudge()
        await d.ready()
        assert not titles(d) and d.app.status.unseen == 0


@pytest.mark.slow
async def test_looks_are_remembered(drive):
    looks = []
    log = running()
    async with drive(log) as d:
        object.__setattr__(d.app._opening, "remember_look", looks.append)
        await d.press("3")
        await d.until(lambda: looks)
    assert looks == [(WALL, len(log.records))]
    async with drive(log, wait=False) as d:
        object.__setattr__(d.app._opening, "last_look", lambda: looks[0])
        await d.ready()
        assert d.app.status.unseen in (0, 3)  # read before or after it was set


async def test_a_stall_is_in_the_header_with_advice(drive):
    async with drive(begun()) as d:
        d.log.t += STALL_S - 1
        d.app.tick()
        await d.pilot.pause()
        assert d.app.status.quiet_s == 0
        d.log.t += 2
        d.app.tick()
        await d.pilot.pause()
        assert d.app.status.quiet_s > STALL_S
        assert d.app.status.advice in d.text()


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "fuzztui" / "looks"


def test_a_look_is_stored_by_run(state, tmp_path):
    assert last_look(tmp_path / "a") == NO_LOOK
    remember_look(tmp_path / "a", (WALL, 7))
    remember_look(tmp_path / "b", (WALL + 1, 8))
    assert last_look(tmp_path / "a") == (WALL, 7)
    assert last_look(tmp_path / "b") == (WALL + 1, 8)


def test_only_so_many_runs_are_remembered(state, tmp_path):
    for n in range(MAX_RUNS + 3):
        remember_look(tmp_path / str(n), (WALL, n))
    assert len(json.loads(state.read_text())) == MAX_RUNS
    assert last_look(tmp_path / "0") == NO_LOOK
    assert last_look(tmp_path / str(MAX_RUNS)) == (WALL, MAX_RUNS)


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"%s": 3}', '{"%s": [1]}', '{"%s": ["a", "b"]}', '{"%s": [1, 1e999]}',
     '{"%s": [1, -4]}', '{"%s": [true, 3]}'],
)  # fmt: skip
def test_a_broken_file_is_no_look(state, tmp_path, content):
    state.parent.mkdir(parents=True)
    state.write_text(content.replace("%s", str(tmp_path)))
    assert last_look(tmp_path) == NO_LOOK
    remember_look(tmp_path, (WALL, 7))
    assert last_look(tmp_path) == (WALL, 7)


@pytest.mark.parametrize(
    ("env", "start"),
    [
        ({}, ""),
        ({"TERM": "linux"}, ""),
        ({"TERM": "xterm-256color"}, "\x1b]9;"),
        ({"TERM": "rxvt-unicode-256color"}, "\x1b]777;notify;"),
        ({"TERM": "foot"}, "\x1b]777;notify;"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "\x1b]777;notify;"),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x,1,0"}, "\x1bPtmux;\x1b\x1b]9;"),
    ],
)
def test_the_sequence_fits_the_terminal(env, start):
    sequence = alert_sequence("c: New crash", "a;b", env)
    assert sequence.startswith(BELL + start)
    assert bool(start) == (len(sequence) > 1)
    assert "a;b" not in sequence


@pytest.mark.slow
async def test_a_notification_is_not_shown_again_on_the_next_screen(drive, monkeypatch):
    monkeypatch.setattr(themed, "SEEN_S", 1000.0)  # a busy machine takes longer than the second
    async with drive(running(), toasts=True) as d:
        d.app.notify("seen before", timeout=9000)
        await d.until_shows("seen before")
        (old,) = d.app._notifications
        old.raised_at -= 2000.0
        d.app.notify("not read yet", timeout=9000)
        await d.press("2")
        await d.until_shows("not read yet")
        assert "seen before" not in d.text()
        await d.press("1")
        await d.until(lambda: d.screen.TAB == "overview" and "not read yet" in d.text())
        assert "seen before" not in d.text()
