"""Campaigns of AFL: fleets on the Overview, what can be steered and what not, finds."""

import re
import shlex
from dataclasses import replace

import pytest
from fakes import Log, running, started
from fleet import NO_COMPILER, REASON, fleet, fleets, hello

from fuzztui.features.findings.screen.actions import FindingContext
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import Changes, Instance, State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import AddSeed, CancelMinimise, Minimise, SkipCurrent
from fuzztui.kernel.wire.events import Record
from fuzztui.tools.status.status import status_dict
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.header import Header
from fuzztui.tui.labels.events import describe
from fuzztui.tui.labels.facts import flow
from fuzztui.tui.labels.instances import trouble, whole
from fuzztui.tui.labels.status import Status
from fuzztui.tui.screens.overview.tables import InstanceStrip
from fuzztui.tui.screens.overview.tiles import Tiles

WATCHED = "watched only: start the campaign with fuzztui to steer it"


# ---------------------------------------------------------------------- fleets


async def test_a_fleet_shows_what_an_afl_user_wants(drive):
    async with drive(fleet(trouble=False)) as d:
        d.assert_shows("pending", "cycles", "stable", "last new", "cpu", "4–6", "93% stable",
                       "● 50 running", "imports from 49 siblings", "AFL++ 4.04c")  # fmt: skip
        # All are fresh: no column of ages. AFL has no figure of valid inputs.
        d.assert_lacks("current", "  age  ", "valid")


@pytest.mark.slow
async def test_who_is_in_trouble_catches_the_eye_in_words(drive):
    async with drive(fleet()) as d:
        d.assert_shows(
            f"2 instances are in trouble:  s3 failed: {REASON}", "✗ 1 failed", "▲ 1 stalled"
        )
        await d.press("s", "s", "s", "enter")  # by state: who needs somebody comes first
        assert d.table.source.key(0) == "s3"
        assert d.table.source.key(1) == "s7"
        await d.press("g")
        assert f"reason {REASON}" in d.text()


async def test_one_in_trouble_is_one_sentence():
    bad = Instance("s1", "failed", "no seeds")
    assert trouble([Instance("main", "running"), bad]) == "s1 failed: no seeds"
    assert trouble([Instance("main", "paused")]) == ""
    many = trouble([Instance(f"s{n}", "stalled") for n in range(20)])
    assert many.startswith("20 instances are in trouble:  s0 stalled;  s1 stalled")
    assert many.endswith("and 14 more")


@pytest.mark.slow
async def test_ages_grow_while_nothing_arrives(drive):
    async with drive(fleet(watched=True), run=None, control=False) as d:
        d.log.t += 31
        await d.until(lambda: re.search(r"main +● running +30s", d.text()))
        d.log.t += 40
        await d.until(lambda: re.search(r"main +● running +1m", d.text()))
        assert d.app.status.stats_age > 71


@pytest.mark.slow
async def test_only_ages_that_read_differently_are_painted(drive):
    async with drive(fleet(watched=True), run=None, control=False) as d:
        d.log.t += 65
        await d.until(lambda: re.search(r"main +● running +1m", d.text()))
        touched = []
        d.table.touch = touched.extend
        d.app.tick()
        await d.pilot.pause()
        assert touched == []
        d.log.t += 70
        d.app.tick()
        await d.until(lambda: len(touched) > 20)


@pytest.mark.slow
async def test_figures_of_afl_are_stale_only_when_two_were_missed(drive):
    async with drive(fleet(4)) as d:
        assert not d.app.status.stats_age > d.app.status.stale_s
        d.log.t += 100
        await d.until_shows("stats 1m old")
        assert d.app.status.stats_age < d.app.status.stale_s == 120
        d.log.t += 60
        await d.until_shows("stats 2m old")
        assert d.app.status.stats_age > d.app.status.stale_s


@pytest.mark.slow
async def test_the_cursor_stays_on_its_instance(drive):
    async with drive(fleet()) as d:
        d.table.sort_by(next(c for c in d.table.columns if c.id == "execs"), True)
        d.table.go_to("s20")
        d.log.add(ev.Stats("s20", 10**9, 1.0, 5), dt=1)
        await d.until(lambda: d.table.source.position("s20") == 0)
        assert d.table.cursor == "s20"


@pytest.mark.slow
async def test_a_fleet_in_any_terminal(drive):
    async with drive(fleet(100), size=(200, 60)) as d:
        for size in ((80, 24), (60, 12), (120, 40), (30, 6), (8, 3), (170, 50)):
            await d.pilot.resize_terminal(*size)
            await d.until(lambda size=size: len(d.lines()) == size[1])
            await d.pilot.press("j")
        await d.until(lambda: "s49" in d.text() or d.table.cursor)


@pytest.mark.slow
async def test_a_strip_and_a_window_say_what_columns_have_no_room_for(drive):
    async with drive(fleet(watched=True), run=None, control=False, press="jjj") as d:
        d.assert_shows("imports from main (", "unknown peer: honggfuzz (88) ≤1m old",
                       "stability and map size 40s old", "in /fuzz/tiff/s1")  # fmt: skip
        await d.press("enter")
        assert "favored 70, pending 117" in d.text()
        await d.press("escape")
        assert "favored 70" not in d.text()
    async with drive(fleet(), press="jjjj") as d:
        assert "cannot" not in d.text()  # the greyed keys say it
        await d.press("enter")
        assert "skip, promote, reset: " in d.text()


def test_all_of_an_instance_that_has_said_nothing():
    facts = whole(Instance("x"), State(), Status())
    assert [f.name for f in facts][:2] == ["instance", "state"]
    assert flow(facts, 1, 1)
    assert flow([], 80, 2) == [flow([], 80, 1)[0]]


# -------------------------------------------------------------------- steering


@pytest.mark.slow
async def test_skipping_the_current_entry(drive):
    async with drive(fleet(4), press="jn") as d:
        await d.until_sent(SkipCurrent("s1"))
        await d.press("2", "n")
        await d.until(lambda: len(d.commands) == 2)
        d.log.add(ev.InstanceState("main", "paused"))
        await d.press("1", "g")
        await d.until_shows("‖ paused")
        await d.press("n")
        assert "Next entry: main is paused" in d.notices()


@pytest.mark.slow
async def test_what_an_instance_cannot_do_has_its_reason(drive):
    async with drive(fleet(4), press="2") as d:
        d.screen.table.go_to("s2/0")
        await d.pilot.pause()
        assert "(d Skip)" in d.text()
        await d.press("d")
        assert f"Skip: s2's engine cannot skip entries: {NO_COMPILER}" in d.notices()
        d.screen.table.go_to("s1/0")
        await d.press("d")
        await d.until(lambda: [c.name for c in d.commands] == ["skip"])


@pytest.mark.slow
async def test_adding_a_seed(drive, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.chdir(tmp_path)
    async with drive(fleet(4), press="a") as d:
        assert "Path of a file" in d.text()
        await d.press("escape", "a", *"~/x[b].tif", "enter")
        await d.until_sent(AddSeed("/home/me/x[b].tif"))
        await d.until(lambda: "add seed /home/me/x[b].tif: done at trial 1,234" in d.notices())
        await d.press("a", *"one.tif", "enter")
        await d.until_sent(AddSeed(f"{tmp_path}/one.tif"), after=1)
        await d.press("a", *"~nobody-here/x", "enter")
        await d.until_notice("home directory")
        assert len(d.commands) == 2


async def test_other_engines_have_these_keys_in_the_help_only(drive):
    async with drive(running()) as d:
        assert "Add seed" not in d.text()
        await d.press("a")
        assert d.notices() == ["Add seed: main's engine cannot add seeds during the campaign"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"engine": "zest", "instance": "handed", "capabilities": None}, ""),
        ({"about": FindingContext(minimising=True)}, ""),
        ({"watched": True, "control": False}, WATCHED),
        ({"control": False}, "opened for viewing only"),
    ],
)
def test_why_a_finding_cannot_be_minimised(changes, words):
    ready = ActionContext(
        state="running", engine="afl", instance="s1", row=True, capabilities=frozenset({"pause"})
    )
    assert BY_ID["finding.minimise"].why_not(replace(ready, **changes)) == words


@pytest.mark.slow
async def test_minimising_shows_how_far_it_is_and_its_answer(drive):
    async with drive(fleet(4), size=(200, 40), silent=True, press="3m") as d:
        await d.until(lambda: d.commands)
        (command,) = d.commands
        assert isinstance(command, Minimise)
        assert command.instance == "s1"
        assert command.file.startswith("crashes/id:000000,sig:11")
        await d.until_shows("starting…")
        d.log.add(ev.CommandProgress("c1", "stage [/x] 2\x1b[2J", 0.41), dt=2.0)
        await d.until_shows("minimising 41%…  SIGSEGV")
        assert r"41% stage [/x] 2\e[2J" in d.text()
        assert "m Cancel" in d.lines()[-1]
        await d.press("m")
        await d.until_sent(CancelMinimise(command.file, "s1"), after=1)
        d.log.add(ev.CommandApplied("c1", "s1", detail="64 bytes became 12"), dt=30.0)
        await d.until_shows("minimised  64 bytes became 12")
        # The sender stopped waiting long ago.
        await d.until(lambda: any(n.endswith("done: 64 bytes became 12") for n in d.notices()))
        d.log.add(
            ev.CommandIssued("c2", encode_command(command), "me"),
            ev.CommandRejected("c2", "s1", "no afl-tmin"),
        )
        await d.until_shows("minimised  no: no afl-tmin")


@pytest.mark.slow
async def test_findings_of_engines_of_ours_are_minimised_too(drive):
    async with drive(running(), size=(200, 40), silent=True, press="3") as d:
        assert "m Minimise" in d.lines()[-1]
        await d.press("m")
        await d.until(lambda: d.commands)
        (command,) = d.commands
        assert isinstance(command, Minimise)
        assert (command.instance, command.file.partition("/")[0]) in {
            ("main", "crashes"),
            ("main", "hangs"),
        }
        d.log.add(ev.CommandProgress("c1", "1,204 tries, 96 -> 31 bytes", -1.0), dt=2.0)
        await d.until_shows("1,204 tries, 96 -> 31 bytes")
        d.log.add(ev.CommandApplied("c1", "", detail="96 -> 9 bytes: /x"), dt=30.0)
        await d.until_shows("minimised  96 -> 9 bytes: /x")


async def test_a_refusal_to_minimise_is_said_once(drive):
    log = fleet(4)
    why = "there is nothing to keep: SIGSEGV in TIFFReadRaw"
    async with drive(log, refuse=why, press="3m") as d:
        await d.until(lambda: f"minimise s1/id:000000: rejected: {why}" in d.notices())


@pytest.mark.slow
async def test_a_watched_campaign_can_be_looked_at_only(drive, monkeypatch):
    # Another screen drops the notices older than this: a busy machine takes longer for the keys.
    monkeypatch.setattr("fuzztui.tui.base.themed.SEEN_S", 1000.0)
    async with drive(fleet(4, watched=True), run=None, control=False) as d:
        assert "watched" in d.text()
        await d.press("p", "x", "P", "n", "a", "2", "u", "3", "m")
        assert set(d.notices()) == {
            f"{label}: {WATCHED}"
            for label in ("Pause", "Stop", "Pause instance", "Next entry", "Add seed", "Promote",
                          "Minimise")
        }  # fmt: skip


@pytest.mark.slow
async def test_without_a_watcher_nothing_looks_alive(drive):
    async with drive(fleet(watched=True, trouble=False), run=None, control=False) as d:
        assert "● 50 running" in d.text()
        assert "≤1m old" not in d.text()  # 49 siblings: no figures
        object.__setattr__(d.app._opening, "died", lambda: "It was killed.")
        d.app._dead = "It was killed."  # as will be seen when it is looked for next
        d.app.tick()
        await d.until_shows("NO WATCHER")
        assert "? 50 running" in d.text()
        assert "● running" not in d.text()
        said = "The watcher has ended, nothing is updated any more: It was killed."
        await d.until_shows(said)
        await d.press("j")
        assert "honggfuzz (88)" in d.text()
        assert "old" not in next(line for line in d.lines() if "honggfuzz" in line)


# -------------------------------------------------------------------- findings


@pytest.mark.slow
async def test_a_finding_before_it_is_described(drive):
    log = fleet(2, seconds=30)
    name = "crashes/id:000007,sig:06,src:000000+000002,time:1,execs:2,op:splice,rep:8"
    log.add(ev.FindingSaved("s1", "crash", name, 7, [0], "splice,rep:8", 6))
    log.add(ev.FindingSaved("s1", "crash", "crashes/odd[/x]name"))
    log.add(ev.FindingSaved("s1", "hang", "hangs/id:000001,src:000000,op:havoc", 1, [0], "havoc"))
    async with drive(log) as d:
        assert "SIGABRT, found by splice" in d.text()  # among the events
        await d.press("3")
        for words in ("SIGABRT, found by splice", "crashes/odd[/x]name", "hang, found by havoc",
                      "6 SIGABRT", "not described yet", "seed a.tif"):  # fmt: skip
            assert words in d.text(), words
        log.add(ev.FindingDescribed("s1", "crash", name, "aa", "abort() in TIFFOpen", "tif.c:9"))
        await d.until_shows("abort() in TIFFOpen")


async def test_lineage_goes_through_siblings_back_to_the_seed(drive):
    log = fleet(2, seconds=30).add(
        ev.EntrySaved("s1", 3, "queue/id:000003,sync:main,src:000000,+cov", [0], "", "main"),
        ev.FindingSaved("s1", "crash", "crashes/id:000000,sig:11,src:000003", 0, [3], "havoc", 11),
    )
    async with drive(log, press="3") as d:
        d.assert_shows("└ s1/3  imported from main", "main/0  seed a.tif")


async def test_seeds_that_were_added_are_no_stranger(drive):
    log = fleet(2).add(ev.Synced("main", {"s1": 3, "added": 4, "watched:added": 5}))
    async with drive(log) as d:
        assert "imports from s1 (3 read) and 9 added seeds ≤1m old" in d.text()
        assert "unknown peer" not in d.text()


async def test_how_far_imports_are_is_a_number_of_entries(drive):
    """What AFL keeps is the next id: after ids 0 to 34 that is 35."""
    log = fleet(4).add(ev.Synced("main", {"s1": 12, "s2": 35, "s3": 1, "added": 1}))
    async with drive(log, size=(160, 40)) as d:
        assert "imports from s1 (12 read), s2 (35), s3 (1) and 1 added seed" in d.text()
        assert "#35" not in d.text()
        log.add(ev.InstanceState("main", "paused"))
        await d.until_lacks("1 added seed ≤1m old")
    text = describe(ev.Synced("main", {"s2": 35, "s3": 1})).text
    assert text == "35 of s2, 1 of s3 imported"


@pytest.mark.slow
async def test_an_entry_that_got_another_number_is_no_seed(drive):
    log = fleet(1, seconds=30)
    name = "queue/id:000000,time:0,execs:0,orig:id:000009,src:000004,time:7,execs:8,op:havoc,rep:2"
    log.add(ev.EntrySaved("main", 0, name, [4], "havoc,rep:2", time_ms=7, execs=8, first=9))
    async with drive(log, size=(160, 40), press="2") as d:
        await d.until_shows("havoc,rep:2 of (then #4), found as #9")
        assert "seed id:" not in d.text()


@pytest.mark.slow
async def test_a_finding_that_a_resumed_afl_fuzz_put_aside(drive, tmp_path):
    directory = tmp_path / "sync" / "main"
    for day in ("01", "02"):
        (directory / f"crashes.2026-11-{day}-10:00:00").mkdir(parents=True)
    (directory / "crashes").mkdir()
    moved = directory / "crashes.2026-11-02-10:00:00" / "id:000000,sig:11"
    moved.write_bytes(b"II*\0boom")
    log = started("w", engine="afl", budget_s=0).add(
        ev.InstanceState("main", "running", 1),
        ev.InstanceHello("main", "AFL++", "4.04c", directory=str(directory)),
        ev.FindingSaved("main", "crash", "crashes/id:000000,sig:11", 0, [], "havoc", 11, size=8),
        ev.CampaignState("running"),
    )
    async with drive(log, run=None, control=False, press="3", shows="boom") as d:
        pane = "".join(line.strip() for line in d.lines())
        assert f"file{moved}" in pane.replace(" ", "")
        assert "crashes/id:000000" not in pane
        await d.press("C")
        await d.until(lambda: d.app.clipboard == str(moved))
        await d.press("c")
        await d.until(lambda: d.app.clipboard.startswith("fuzztui"))
        assert shlex.split(d.app.clipboard) == ["fuzztui", "repro", str(directory), str(moved)]


async def test_hello_of_an_engine_without_python_says_no_more_than_it_knows(drive):
    log = started("w", engine="afl").add(hello("main", 0, watched=True))
    async with drive(log, size=(100, 40)) as d:
        assert "AFL++ 4.04c  pid 5000" in d.text()


@pytest.mark.parametrize("version", ["++4.04c", "4.04c"])
def test_a_version_has_one_form(version):
    hello = ev.InstanceHello("main", "afl-fuzz", version)
    assert describe(hello).text == "afl-fuzz 4.04c"
    i = Instance("main", engine="afl-fuzz", version=version)
    about = next(f for f in whole(i, State(), Status()) if f.name == "engine")
    assert about.spans[0].text == "afl-fuzz 4.04c"


def test_the_status_object_tells_ages_peers_and_refusals():
    state = fleet(4).state
    main, _, s2, _ = status_dict(state)["instances"]
    assert main["age_s"] == 0.4
    assert main["slow_age_s"] == 41.0
    assert main["directory"] is None
    assert set(main["peers"]) == {"s1", "s2", "s3"}
    assert "skip" in main["capabilities"]
    assert s2["unable"]["skip"] == NO_COMPILER
    apply(state, [Record(state.seq + 1, state.t + 60, ev.InstanceState("main", "stopped"))])
    main, s1, *_ = status_dict(state)["instances"]
    assert (main["age_s"], s1["age_s"]) == (None, 60.4)


def two_campaigns():
    """Two campaigns that are watched at once: of 100 s, and of 20 s in the middle of it."""
    log = Log().add(
        ev.CampaignStarted("a + b", "afl", "/bin/a, /bin/b", 0, instances=["a:main", "b:main"]),
        ev.CampaignState("running"),
        ev.InstanceState("a:main", "running"),
    )
    log.t = 40.0
    log.add(ev.InstanceState("b:main", "running"))
    log.t = 60.0
    log.add(ev.Stats("b:main", 2000, 0.0, 1), ev.InstanceState("b:main", "stopped"))
    log.t = 100.0
    log.add(ev.Stats("a:main", 1000, 0.0, 1), ev.InstanceState("a:main", "stopped"))
    log.add(ev.CampaignEnded("stopped"))
    return log


@pytest.mark.parametrize("size", [(120, 40), (200, 50)])
async def test_each_of_two_watched_campaigns_has_its_own_time_and_rate(drive, size):
    async with drive(two_campaigns(), size=size, run=None, control=False) as d:
        table = d.screen.instances
        cells = {column.id: column.cell for column, _ in table._layout.cells}
        rows = d.app.campaign.instances.values()
        shown = {i.id: [cells[c](i)[0] for c in ("ran", "rate")] for i in rows}
        assert shown == {"a:main": ["0:01:40", "10"], "b:main": ["0:00:20", "100"]}
        assert d.app.status.campaigns == 2


async def test_an_instance_whose_directory_is_deleted_is_called_that(drive):
    async with drive(two_campaigns(), run=None, control=False) as d:
        d.log.add(ev.InstanceState("b:main", "stopped", reason=ev.DIRECTORY_GONE))
        await d.until_shows("■ deleted")
        assert "DELETED" not in d.text()
        d.log.add(ev.CampaignEnded("stopped", ev.ALL_GONE))
        await d.until_shows("DELETED")


async def test_answers_from_before_the_screen_was_opened_are_no_news(drive):
    log = fleet(4)
    command = encode_command(Minimise("crashes/id:000000", "s1"))
    log.add(ev.CommandIssued("c1", command, "me"))
    log.add(ev.CommandApplied("c1", "s1", detail="64 bytes became 12"), dt=30.0)
    log.add(*(ev.Message("info", f"record {n}") for n in range(3)))
    async with drive(log) as d:
        old = d.app.campaign.commands["c1"].done_t
        # A long log arrives in several polls, of which only the first says that all is new.
        d.app.notify_answers(Changes(commands=frozenset({"c1"})))
        await d.pilot.pause()
        assert d.notices() == []
        log.add(ev.CommandIssued("c2", command, "me"))
        log.add(ev.CommandApplied("c2", "s1", detail="12 bytes"), dt=30.0)
        await d.until(lambda: any(n.endswith("done: 12 bytes") for n in d.notices()))
        assert d.app.campaign.commands["c2"].done_t > old


@pytest.mark.parametrize("reason", ["last statistics 5 m ago", ev.DIRECTORY_GONE])
async def test_an_instance_that_died_is_the_first_row_and_colours_the_header(drive, reason):
    log = fleet(20, watched=True, trouble=False)
    async with drive(log, size=(80, 24)) as d:
        assert "trouble" not in d.lines()[0]
        calm = [span.style for span in d.screen.query_one(Header)._badge()]
        log.add(ev.InstanceState("s15", "stopped", 0, reason), dt=1.0)
        await d.until(lambda: d.row_keys(d.screen.instances)[0] == "s15")
        assert d.row_keys(d.screen.instances)[1:3] == ["main", "s1"]
        await d.until(lambda: d.app.status.troubled == 1)
        assert d.screen.instances.columns[1].cell(log.state.instances["s15"])[1] == "bold failed"
        assert {span.style for span in d.screen.query_one(Header)._badge()} - {*calm} == {
            "bold failed"
        }
        fleets = d.screen.query_one(InstanceStrip).paint(80, 1)[0]
        assert fleets[-1].style == "bold failed"

        log.add(ev.InstanceState("s15", "running", 6000), dt=1.0)  # it was started again
        await d.until(lambda: d.row_keys(d.screen.instances)[0] == "main")
        await d.until(lambda: d.app.status.troubled == 0)


async def test_an_instance_that_a_user_has_stopped_is_no_trouble(drive):
    log = fleet(20, trouble=False)
    async with drive(log) as d:
        log.add(ev.InstanceState("s15", "stopped", 0, "stopped by ann"), dt=1.0)
        await d.ready()
        assert d.row_keys(d.screen.instances)[0] == "main"
        assert d.app.status.troubled == 0


async def test_each_of_several_targets_has_its_own_figures_and_no_total_mixes_them(drive):
    async with drive(fleets(9), size=(80, 24), run=None, control=False) as d:
        await d.until_shows("tiffinfo")
        assert not d.screen.query_one(Tiles).display
        assert [of.name for of in d.app.status.targets][:3] == ["tiffinfo", "djpeg", "pdf0"]
        assert "and 1 more target" in d.text()  # a third of the lines has eight
        assert "load 1.50 on 2 cores, 3.0 GiB free" in d.text()


async def test_one_target_has_tiles(drive):
    async with drive(fleet(3, watched=True), run=None, control=False) as d:
        assert d.screen.query_one(Tiles).display
        assert not d.app.status.targets
