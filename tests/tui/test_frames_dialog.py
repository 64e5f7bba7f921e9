"""The dialog for the frames that count for signatures, on the Findings screen."""

from __future__ import annotations

import pytest
from fakes import running

from fuzztui.features.findings.screen.dialogs import Consequence, FrameList, FramesScreen
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import CountFrames, SkipFrames
from fuzztui.kernel.wire.frames import LIBRARY, Basis, StackFrame, frame_rows
from fuzztui.tui.app.attention import Attention
from fuzztui.tui.frame.actions import BY_ID

REQUIRE = StackFrame("require", "/src/checks.py", 5)
LOADS = StackFrame("loads", "/usr/lib/python3/json.py", 2, LIBRARY)
DEEP = [StackFrame(f"level{n}", "/src/deep.py", n) for n in range(1, 20)]


def found(name, line, *more):
    frames = [LOADS, REQUIRE, StackFrame("parse", "/src/crate.py", line), *more]
    return ev.FindingDescribed(
        "main", "crash", f"crashes/{name}", "E @ checks.py:5 in require", f"E: {name}",
        "checks.py:5 in require", frames=frame_rows(frames), basis=Basis("E").row(),
    )  # fmt: skip


def with_frames(*more):
    return running().add(found("one", 12, *more), found("two", 20))


async def on_group(d):
    await d.press("3")
    while not (d.table.current and d.table.current.basis):
        await d.press("down")


def dialog(d):
    screen = d.app.screen
    assert isinstance(screen, FramesScreen)
    return screen.query_one(FrameList), screen.query_one(Consequence)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 12), (80, 24), (220, 60)])
async def test_a_frame_is_skipped(drive, size):
    async with drive(with_frames(), size=size) as d:
        await on_group(d)
        await d.press("f")
        frames, follows = dialog(d)
        assert frames.frames[frames.at] == REQUIRE  # the one that gives the signature
        assert follows.signature == "E @ checks.py:5 in require"
        assert d.app.screen.query("Vertical").first().region.height <= len(frames.frames) + 9
        await d.press("space")
        assert follows.signature == "E @ crate.py:12 in parse"
        await d.until(lambda: "1 split" in follows.text)
        await d.press("enter")
        assert d.commands == [SkipFrames(["checks.py in require"])]


@pytest.mark.slow
async def test_a_skipped_frame_counts_again_also_by_its_files_rule(drive):
    async with drive(with_frames().add(ev.SkippedFrames(["checks.py in *", "other"]))) as d:
        await on_group(d)
        await d.press("f", "up")
        frames, follows = dialog(d)
        assert frames.frames[frames.at] == REQUIRE
        await d.press("space")
        assert (frames.rules, follows.signature) == (("other",), "E @ checks.py:5 in require")
        await d.press("f", "f", "enter")  # its file: as before, and again
        assert d.commands == [CountFrames(["checks.py in *"])]


@pytest.mark.slow
async def test_nothing_is_sent_without_a_change(drive):
    async with drive(with_frames()) as d:
        await on_group(d)
        for keys in (("enter",), ("space", "space", "enter"), ("space", "escape")):
            await d.press("f", *keys)
            assert not isinstance(d.app.screen, FramesScreen)
        assert not d.commands


@pytest.mark.slow
async def test_many_frames_are_scrolled(drive):
    async with drive(with_frames(*DEEP), size=(80, 16)) as d:
        await on_group(d)
        await d.press("f", "pagedown", "pagedown", "pagedown")
        assert "level19" in d.text()
        await d.press("pageup", "pageup", "pageup")
        assert dialog(d)[0].at == 0


@pytest.mark.slow
async def test_names_of_a_target_are_escaped(drive):
    log = running()
    bad = StackFrame("f\x1b[31m[b]", "/src/\x1bx.py", 3)
    log.add(
        ev.FindingDescribed(
            "main", "crash", "crashes/one", "S", "title", "place",
            frames=frame_rows([bad]), basis=Basis("E").row(),
        )
    )  # fmt: skip
    async with drive(log) as d:
        await on_group(d)
        await d.press("f")
        assert "\x1b" not in d.text() and "[b]" in d.text()
        await d.press("space")  # no rule can have that name
        assert dialog(d)[0].rules == ()


@pytest.mark.slow
async def test_a_finding_without_frames_has_no_dialog(drive):
    async with drive(running(), press="3f") as d:
        assert not isinstance(d.app.screen, FramesScreen)


@pytest.mark.slow
async def test_an_ended_run_gets_its_rules_by_a_process(drive, recorded, tmp_path):
    async with drive(with_frames().add(ev.CampaignEnded("finished"))) as d:
        await on_group(d)
        assert BY_ID["finding.frames"].why_not(d.app.action_context()) == ""
        await d.press("f", "space", "enter")
        await d.until(lambda: recorded)
        assert recorded == [(tmp_path, SkipFrames(["checks.py in require"]))]


def test_a_split_is_no_news():
    state, attention = State(), Attention()
    events = [
        found("one", 12), found("two", 20), ev.SkippedFrames(["require"]), found("three", 30),
    ]  # fmt: skip
    records = [ev.Record(n, 0.0, event) for n, event in enumerate(events, 1)]
    apply(state, records[:2])
    assert [f.title for f in attention.news(state, 0.0)] == ["E: one"]
    apply(state, records[2:3])
    assert len(state.groups) == 2
    assert attention.news(state, 0.0) == []
    apply(state, records[3:])
    assert [f.title for f in attention.news(state, 0.0)] == ["E: three"]
