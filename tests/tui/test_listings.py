"""Corpus and Findings: tables, details, input files, steering and copying."""

import os

import pytest
from fakes import CAPABILITIES, running, started
from mutated import mutated
from textual.screen import Screen

from fuzztui.kernel.base.signals import signal_signature, signal_title
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import PromoteEntry, ResetEntry, SkipEntry
from fuzztui.kernel.wire.conditions import parse_filter
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.frame.actions import BY_ID


def put(run, relative, data):
    path = run / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.mark.slow
async def test_entries_with_details_and_lineage(drive):
    async with drive(running(), press="2") as d:
        await d.until(lambda: len(d.table.source) == len(d.app.campaign.entries))
        await d.press("G")
        entry = d.table.current
        d.assert_shows(entry.key, "lineage", f"#{entry.src[0]}")


@pytest.mark.slow
async def test_the_input_is_read_and_shown_as_text_and_bytes(drive, tmp_path):
    put(tmp_path, "out/main/queue/id:000000,time:1", b"[table]\nkey = 1\n")
    put(tmp_path, "out/main/queue/id:000001,time:2", b"\xff\x00\x01")
    async with drive(running(), run=tmp_path, press="2", shows="key = 1") as d:
        await d.press("i")
        await d.until_shows("5b 74 61 62")
        await d.press("i", "i", "down", "down")
        await d.until_shows("000000  ff 00 01")


@pytest.mark.slow
async def test_a_fifo_in_the_queue_blocks_nothing(drive, tmp_path):
    (tmp_path / "out/main/queue").mkdir(parents=True)
    os.mkfifo(tmp_path / "out/main/queue/id:000000,time:1")
    async with drive(running(), run=tmp_path, press="2") as d:
        await d.until_shows("not a regular file")


@pytest.mark.slow
async def test_the_cursor_stays_on_its_entry_while_others_come_in(drive):
    async with drive(running(), press=["2", "s", "i", "enter", "down", "down", "down"]) as d:
        key = d.table.cursor
        line = next(i for i, text in enumerate(d.lines()) if key in text)
        for n in range(300, 320):
            d.log.add(ev.EntrySaved("main", n, f"queue/id:{n:06d}", size=1))
        await d.until(lambda: "main/319" in d.app.campaign.entries)
        await d.until(lambda: len(d.table.source) == len(d.app.campaign.entries))
        assert d.table.cursor == key
        assert key in d.lines()[line]


@pytest.mark.slow
async def test_steering_names_the_entry_under_the_cursor(drive):
    async with drive(running(), press=["2", "down"]) as d:
        assert d.table.cursor == "second/0"
        await d.press("u")
        await d.until(lambda: len(d.commands) == 1)
        await d.press("down", "d")
        await d.until(lambda: len(d.commands) == 2)
        await d.press("r")
        await d.until_sent(PromoteEntry(0, "second"), SkipEntry(1, "main"), ResetEntry(1, "main"))
        await d.until(lambda: "promote second/0: done at trial 1,234; z undoes" in d.notices())


@pytest.mark.slow
async def test_marked_entries_are_steered_only_if_all_their_engines_can(drive):
    log = running()
    log.add(ev.InstanceHello("second", "zest", "0.1", "3.11.2", 5001, ["pause", "stop"]))
    async with drive(log, size=(120, 40), press="2") as d:
        promote = BY_ID["entry.promote"]

        def mark(instance):
            keys = (d.table.source.key(n) for n in range(len(d.table.source)))
            assert d.table.go_to(next(k for k in keys if k.startswith(f"{instance}/")))
            d.table.do_table_mark()

        mark("main")
        assert promote.why_not(d.app.action_context()) == ""
        mark("second")
        assert "second" in promote.why_not(d.app.action_context())
        await d.press("u")
        assert not d.commands
        d.table.clear_marks()
        mark("main")
        await d.press("u")
        await d.until(lambda: len(d.commands) == 1)


@pytest.mark.slow
async def test_pending_and_then_what_the_engine_says(drive):
    async with drive(running()) as d:
        d.world.supervisor.silent = True
        await d.press("2", "u")
        await d.until_shows("promote…")
        d.log.add(ev.CommandApplied("c1", "main", 9))
        d.log.add(ev.EntryDescribed("main", 0, ["seed"], 5, True, "success", "promoted"))
        await d.until_shows("▲ promoted")
        assert "promote…" not in d.text()


@pytest.mark.slow
async def test_an_engine_that_cannot_is_greyed_with_the_reason(drive):
    log = started().add(
        ev.InstanceState("main", "running", 1),
        ev.InstanceHello("main", "afl", "4.40c", "", 1, ["pause"]),
        ev.CampaignState("running"),
        ev.EntrySaved("main", 0, "queue/id:000000"),
    )
    async with drive(log, press="2") as d:
        assert "(u Promote)" in d.text()
        await d.press("u")
        assert d.notices() == ["Promote: main's engine cannot promote entries"]
        log.add(ev.InstanceHello("main", "zest", "1", "", 1, CAPABILITIES))
        await d.until_lacks("(u Promote)")


@pytest.mark.slow
async def test_going_to_the_parent(drive):
    async with drive(running(), press="2G") as d:
        parent = f"{d.table.current.instance}/{d.table.current.src[0]}"
        await d.press("backspace")
        assert d.table.cursor == parent
        await d.press("g", "backspace")
        assert "The log contains no parent of this entry." in d.notices()


@pytest.mark.slow
async def test_copying_the_path(drive, tmp_path):
    async with drive(running(), run=tmp_path, press="2c") as d:
        assert d.app.clipboard == str(tmp_path / "out/main/queue/id:000000,time:1")


@pytest.mark.slow
async def test_filtering(drive):
    async with drive(running(), press=["2", "slash", *"second/1"]) as d:
        await d.until(lambda: len(d.table.source) < 20)
        assert all(d.table.source.key(i).startswith("second/") for i in range(2))
        bar = d.screen.query_one(FilterBar)
        assert f"{len(d.table.source)} of {len(d.app.campaign.entries)}" in d.text()
        await d.press("enter")
        assert d.screen.focused is d.table
        assert bar.display
        await d.press("escape")
        assert not bar.display
        await d.until(lambda: len(d.table.source) == len(d.app.campaign.entries))


@pytest.mark.slow
async def test_keys_typed_into_the_filter_do_nothing_else(drive):
    async with drive(running(), press=["2", "slash", "p", "x", "q", "u", "1"]) as d:
        assert d.screen.TAB == "corpus"
        assert not d.commands
        assert d.screen.query_one(FilterBar).text == "pxqu1"
        await d.press("escape")
        assert d.screen.focused is d.table


@pytest.mark.slow
async def test_no_frame_shows_the_cursor_on_one_row_and_the_details_of_another(drive, monkeypatch):
    async with drive(running(), press=["2", "home"]) as d:
        frames = []
        draw = Screen._compositor_refresh

        def note(screen):
            draw(screen)
            frames.append((d.table.cursor, d.screen.pane.lines))

        monkeypatch.setattr(Screen, "_compositor_refresh", note)
        for _ in range(3):
            await d.press("down")
        lines = {}
        for key, shown in frames:
            assert lines.setdefault(key, shown)[0] == shown[0]
        assert len(lines) == len({str(shown[0]) for shown in lines.values()}) > 1


@pytest.mark.slow
async def test_enter_moves_to_the_details_and_escape_back(drive):
    async with drive(running(), press=["2", "enter"]) as d:
        assert isinstance(d.screen.focused, DetailPane)
        await d.press("j", "escape")
        assert d.screen.focused is d.table


@pytest.mark.slow
async def test_kills_are_a_column_where_there_are_any(drive):
    async with drive(mutated(), press="2") as d:
        assert "kills" in d.lines()[2]
        assert "── killed" in d.text()
        d.assert_shows("2 mutants first", "tests/program.py:")
    async with drive(running(), press="2") as d:
        assert "kills" not in d.lines()[2]


async def test_one_row_a_cause(drive):
    async with drive(running(), press="3") as d:
        assert len(d.table.source) == 3
        d.assert_shows("✗ crash", "▲ hang", "×3", "3 files with this signature", "Traceback")


@pytest.mark.slow
async def test_one_row_a_file(drive):
    async with drive(running(), press="3v") as d:
        assert len(d.table.source) == 5
        assert "again" in d.text()
        await d.press("v")
        assert len(d.table.source) == 3


@pytest.mark.slow
async def test_a_description_that_comes_later_joins_the_cause(drive):
    async with drive(running(), press="3") as d:
        d.log.add(ev.FindingSaved("second", "crash", "crashes/late", 9))
        await d.until(lambda: len(d.table.source) == 4)
        await d.press("G")
        assert "not described yet" in d.text()
        d.log.add(ev.FindingDescribed("second", "crash", "crashes/late", "sig-KeyE", "KeyError: x"))
        await d.until(lambda: len(d.table.source) == 3)


@pytest.mark.slow
async def test_copying_the_command_that_reproduces(drive, tmp_path):
    run = tmp_path / "my runs"
    run.mkdir()
    async with drive(running(), run=run, press="3c") as d:
        file = "out/main/crashes/id:000001,sig:00,time:95"
        assert d.app.clipboard == f"fuzztui repro '{run}' '{run}/{file}'"
        await d.press("C")
        assert d.app.clipboard == f"{run}/{file}"


async def test_no_findings_is_said(drive):
    async with drive(started(), press="3") as d:
        assert "no findings yet" in d.text()
        await d.press("c")
        assert d.notices() == ["Copy repro: no row under the cursor"]


@pytest.mark.slow
async def test_the_crashing_input(drive, tmp_path):
    put(tmp_path, "out/main/crashes/id:000001,sig:00,time:95", b"[a.b]\nx = 1")
    async with drive(running(), run=tmp_path, size=(120, 60), press="3", shows="[a.b]") as d:
        await d.press("i")
        await d.until_shows("5b 61 2e 62")


@pytest.mark.slow
async def test_an_input_that_could_not_be_copied_is_read_after_a_reconnection(drive, tmp_path):
    async with drive(running(), run=tmp_path, size=(120, 60), press="3") as d:
        await d.until(lambda: d.screen._preview is not None)
        problem = d.screen._preview[1].input.file.problem
        assert problem and problem in d.text()
        file = tmp_path / "out" / d.table.current.instance / d.table.current.file
        file.parent.mkdir(parents=True)
        file.write_bytes(b"copied now")
        d.app._unwritten = "box: not connected"  # the next look finds that the host was reached
        await d.until_shows("copied now")


@pytest.mark.slow
async def test_without_a_run_directory_there_is_no_file_to_read(drive):
    async with drive(running(), run=None, press="2c3c") as d:
        assert d.app.clipboard == ""
        assert "KeyError" in d.text()


@pytest.mark.slow
async def test_nobody_waits_for_entries_of_a_campaign_that_is_over(drive):
    async with drive(started(), press="2", shows="waiting for the first entry") as d:
        d.log.add(ev.CampaignState("failed", "no seeds"))
        await d.until_shows("no entry")
        assert "waiting" not in d.text()


@pytest.mark.slow
async def test_finds_of_a_watched_campaign_name_the_command_that_runs_them(drive):
    log = started(engine="afl")
    log.add(ev.FindingSaved("main", "crash", "crashes/id:000000,sig:11", 0, sig=11))
    async with drive(log, run=None, control=False, press="3", shows="not run: Copy repro") as d:
        assert "not described yet" not in d.text()


@pytest.mark.slow
async def test_a_group_by_signal_alone_says_so(drive):
    """A watched campaign's target is never run: the name's signal is all there is."""
    log = started(engine="afl")
    for n in range(3):
        file = f"crashes/id:{n:06d},sig:11"
        log.add(
            ev.FindingSaved("main", "crash", file, n, sig=11),
            ev.FindingDescribed("main", "crash", file, signal_signature(11), signal_title(11)),
        )
    async with drive(log, run=None, control=False, size=(140, 40), press="3") as d:
        await d.until_shows("3 files with this signal")
        d.assert_shows("SIGSEGV (by its file name; fuzztui has not run it)", "not run: Copy repro")
        d.assert_lacks("with this signature")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_what_is_wrong_with_a_filter_is_shown_whole(drive, size):
    async with drive(mutated(), size=size, press=["4", "slash", *"zz>3"]) as d:
        problem = parse_filter("zz>3", d.screen.keys()).problem
        assert len(problem) > size[0]
        bar = d.screen.query_one(FilterBar)
        shown = " ".join(line.strip() for line in d.lines()[bar.region.y : bar.region.bottom])
        assert problem in shown
        assert d.table.size.height >= 2
        await d.press(*["backspace"] * 4)
        await d.until(lambda: bar.size.height == 1)
