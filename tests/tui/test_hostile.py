"""What targets, files and other people's logs say is drawn literally and kills nothing."""

import pytest
from fakes import CAPABILITIES, Log
from mutated import STEERING

from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import decode_record, encode_record
from fuzztui.kernel.wire.events import Record

pytestmark = pytest.mark.slow

EVIL = "[/x][bold red]\x1b[2J\x1b]0;pwn\x07\u202e\u200b\ud800\tend"
DRAWN = "[/x][bold red]\\e[2J"


def evil_log():
    log = Log().add(
        ev.CampaignStarted(EVIL, EVIL, EVIL, 1, 60.0, 0, [EVIL], 1e9, EVIL),
        ev.SupervisorStarted(1, 1_800_000_000.0, EVIL, [EVIL], [EVIL]),
        ev.InstanceState(EVIL, "running", 1, EVIL),
        ev.InstanceHello(EVIL, EVIL, EVIL, EVIL, 1, [*CAPABILITIES, *STEERING, EVIL]),
        ev.CampaignState("running", EVIL),
        ev.EntrySaved(EVIL, 0, EVIL, [], EVIL, EVIL, size=3),
        ev.EntrySaved(EVIL, 1, f"queue/{EVIL}", [0], EVIL, size=3),
        ev.EntryDescribed(EVIL, 1, [EVIL], 3, True, EVIL, EVIL),
        ev.FindingSaved(EVIL, "crash", f"crashes/{EVIL}", 1, [1], EVIL),
        ev.FindingDescribed(EVIL, "crash", f"crashes/{EVIL}", EVIL, EVIL, EVIL, EVIL, EVIL),
        ev.FindingSaved(EVIL, EVIL, EVIL),
        ev.Message(EVIL, EVIL, EVIL),
        ev.CommandIssued(EVIL, {"c": EVIL, "instance": EVIL, "entry": 1}, EVIL),
        ev.CommandIssued("x", {}, EVIL),
        ev.CommandRejected("x", EVIL, EVIL),
        ev.Unknown(EVIL, {EVIL: EVIL, "n": [1, {"a": EVIL}]}),
        ev.Stats(EVIL, 10, 1.0, 2, edges=-1, edges_total=-1, valid=-1, invalid=5),
        ev.Stats(EVIL, 10**17, 9e18, 10**15, edges=10**12, edges_total=1, valid=1, invalid=0),
        ev.InstanceHello(
            EVIL, EVIL, EVIL, EVIL, 1, [*CAPABILITIES, *STEERING, EVIL], {EVIL: EVIL}, f"/{EVIL}\0"
        ),
        ev.Synced(EVIL, {EVIL: 2**63 - 1, f"{EVIL}2": -5, "x": EVIL}),
        ev.CommandIssued("m", {"c": "minimise", "instance": EVIL, "file": f"crashes/{EVIL}"}, EVIL),
        ev.CommandProgress("m", EVIL, 9e18),
        ev.InstanceState(EVIL, EVIL, -1, EVIL, -1),
        *evil_mutants(EVIL),
        *evil_mutants(EVIL * 250),
        dt=1.0,
    )
    # As it comes from a file: half a surrogate pair survives JSON.
    log.records = [decode_record(encode_record(r)) for r in log.records]
    return log


def evil_mutants(evil):
    told = {
        "id": evil, "line": 3, "function": evil, "operator": evil, "before": evil, "after": evil,
        "static": evil,
    }  # fmt: skip
    return (
        ev.MutantsFound(EVIL, evil, evil, f"/{evil}", [told, {"id": f"{evil}2"}, {"id": 3}, {}]),
        ev.MutantState(EVIL, evil, "killed", evil, evil, 7, evil, evil, evil),
        ev.MutantState(EVIL, f"{evil}2", evil, evil, evil, -1, evil, evil, evil),
        ev.MutantState(EVIL, f"{evil}3", "equivalent", reason=evil, steer=evil),
        ev.MutantRuns(EVIL, {evil: [1, 2, 3], f"{evil}4": evil, f"{evil}5": [-1, 2**63 - 1, 1]}),
        ev.MutationStats(
            EVIL, -1.0, 9e18, 0.0, 2.0, 10**18, -1, audits=3, audit_kills=2, share=7.0,
            backlog=10**17, phase=evil,
        ),
        ev.EntryDescribed(EVIL, 1, ["kill", evil], kills=10**15),
        ev.CommandIssued(evil, {"c": evil, "select": evil, "to": evil, "because": evil}, evil),
        ev.CommandIssued(f"{evil}2", {"c": evil, "select": f"file={evil}", "to": [evil]}, evil),
        ev.CommandIssued(f"{evil}3", {"c": evil, "select": "file=*"}, evil),
        ev.CommandRejected(f"{evil}3", evil, evil),
    )  # fmt: skip


def clean(text):
    return all(ch.isprintable() or ch == "\n" for ch in text)


@pytest.mark.parametrize(("size", "replay_at"), [((120, 40), None), ((60, 20), 5.0)])
async def test_every_screen_draws_it_literally(drive, size, replay_at):
    async with drive(evil_log(), size=size, replay_at=replay_at) as d:
        for key in "12345":
            await d.press(key)
            if size[0] == 120:
                await d.until_shows(DRAWN)
            assert clean(d.text())
            for step in ("down", "enter", "G", "escape"):
                await d.pilot.press(step)
            assert clean(d.text())
        for key in ("question_mark", "ctrl+p"):
            await d.press(key)
            assert clean(d.text())
            await d.press("escape")


async def test_questions_notices_and_copies(drive):
    async with drive(evil_log()) as d:
        d.world.supervisor.refuse = EVIL
        await d.press("2", "u")
        await d.until_notice("rejected")
        assert all(clean(n) for n in d.notices())
        await d.press("c", "3", "c", "C", "v")
        for key in ("4", *"jdm", "down", "d", "equals_sign", *"ex", "enter", *"EycCf"):
            await d.press(key)
            assert clean(d.text())
        await d.until(lambda: len(d.commands) == 5)
        await d.press("backspace")
        assert all(clean(n) for n in d.notices())
        await d.press("x")
        assert "Stop the campaign" in d.text()
        assert clean(d.text())
        await d.press("escape")


async def test_a_filter_of_markup(drive):
    async with drive(evil_log()) as d:
        for key in "234":
            await d.press(key, "slash")
            for ch in "[/x]":
                await d.pilot.press(ch)
            await d.pilot.pause()
            assert len(d.table.source) > 0
            await d.press("escape")


async def test_times_that_no_writer_of_ours_would_stamp(drive):
    log = Log()
    log.records = [
        Record(1, 0.0, ev.CampaignStarted("t", "zest", budget_s=1e308)),
        Record(2, 5.0, ev.CampaignState("running")),
        Record(3, -3.0, ev.EntrySaved("main", 0)),
        Record(4, 1e11, ev.Stats("main", 1, age=1e9)),
    ]
    async with drive(log) as d:
        for key in "12345":
            await d.press(key)
        assert clean(d.text())


async def test_a_hundred_instances_and_thousands_of_findings(drive):
    log = Log()
    names = [f"i{n}" for n in range(100)]
    log.add(ev.CampaignStarted("many", "zest", instances=names), ev.CampaignState("running"))
    for n, name in enumerate(names):
        log.add(ev.InstanceState(name, "running", n), ev.Stats(name, n, 1.0, n))
    for n in range(3000):
        log.add(ev.FindingSaved(names[n % 100], "crash", f"crashes/{n}"))
        log.add(ev.FindingDescribed(names[n % 100], "crash", f"crashes/{n}", f"s{n % 7}", "Oops"))
    async with drive(log) as d:
        assert len(d.table.source) == 100
        assert d.table.size.height > 8
        await d.press("G")
        assert d.table.cursor == "i99"
        await d.press("3")
        assert len(d.table.source) == 7
