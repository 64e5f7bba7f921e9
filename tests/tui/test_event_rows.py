"""The event list: repeats are one row, groups of findings stay on top, a row leads somewhere."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from fakes import running, started
from mutated import mutated

from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Pause, PromoteMutants, RestoreMutants
from fuzztui.tui.labels.event_rows import MAX_PINNED, event_rows
from fuzztui.tui.screens.overview.event_list import EventList


def rows_of(*events):
    return event_rows(started().add(*events).state)


def crash(n, signature):
    name = f"crashes/id:{n:06}"
    return (
        ev.FindingSaved("main", "crash", name, id=n),
        ev.FindingDescribed("main", "crash", name, signature, f"title {signature}"),
    )


def entries(count):
    return [ev.EntrySaved("main", n, f"queue/id:{n:06}", op="havoc") for n in range(count)]


def test_findings_of_one_group_are_one_row_at_the_top():
    events = [*crash(1, "A"), *crash(2, "A"), *crash(3, "B"), *entries(50)]
    rows = rows_of(*events, ev.Message("info", "later"))
    assert [(r.key, r.screen, r.pinned) for r in rows[:2]] == [
        ("main/crashes/id:000003", "findings", True),
        ("main/crashes/id:000001", "findings", True),
    ]
    assert not any(r.screen == "findings" for r in rows[2:])
    assert "×2" in rows[1].described.text


def test_only_the_newest_groups_are_pinned():
    rows = rows_of(*(e for n in range(9) for e in crash(n, str(n))))
    assert sum(r.pinned for r in rows) == MAX_PINNED
    assert sum(r.screen == "findings" for r in rows) == 9


def test_consecutive_entries_and_equal_states_are_one_row():
    stops = [ev.InstanceState(f"s{n}", "stopped", reason="by a user") for n in range(7)]
    rows = rows_of(*entries(9), *stops, ev.InstanceState("s8", "failed"))
    assert [r.screen for r in rows[:3]] == ["log", "log", "corpus"]
    assert rows[2].key == "main/8"
    assert len(rows) == 3 + 3  # and the start of the campaign


def test_a_command_and_its_answers_are_one_row():
    issued = ev.CommandIssued("c1", encode_command(Pause("")), "me")
    waiting = rows_of(issued)
    rows = rows_of(issued, ev.CommandApplied("c1", "main"), ev.CommandApplied("c1", "s1"))
    assert len(rows) == len(waiting)
    assert "pause" in rows[0].described.text


def test_the_commands_of_one_undo_are_one_row_unless_one_was_rejected():
    def undos(*answers):
        given = [ev.CommandIssued("c1", encode_command(PromoteMutants("state=alive")), "me")]
        for n, answer in enumerate(answers, 2):
            back = encode_command(RestoreMutants(f"m{n}"))
            given += [ev.CommandIssued(f"c{n}", back, "me", ["c1"]), answer(f"c{n}", "main")]
        return [r for r in rows_of(*given) if "undo" in r.described.text]

    done, refused = ev.CommandApplied, ev.CommandRejected
    assert len(undos(done, done, done)) == 1
    assert len(undos(done, refused, done)) == 2


def test_kills_lead_to_their_mutant():
    state = mutated().state
    kills = [r for r in event_rows(state) if r.screen == "mutants"]
    assert kills and all(r.key in state.mutants for r in kills)


@dataclass
class Place:
    screen: str
    key: str


@pytest.mark.slow
@pytest.mark.parametrize("click", [False, True])
async def test_a_row_leads_to_its_finding(drive, click):
    async with drive(running()) as d:
        events = d.screen.query_one(EventList)
        if click:
            await d.pilot.click(EventList, offset=(30, 1))
        else:
            d.screen.set_focus(events)
            await d.press("enter")
        await d.until(lambda: d.app.current_mode == "findings")
        await d.until(lambda: d.table.current is not None)
        assert d.table.current.category == "hang"


@pytest.mark.slow
async def test_the_cursor_stays_on_its_event_and_other_rows_lead_to_the_log(drive):
    async with drive(running()) as d:
        events = d.screen.query_one(EventList)
        d.screen.set_focus(events)
        await d.press("G")
        row = events.current
        assert row.screen == "log"
        d.log.add(ev.Message("info", "something new"))
        await d.ready()
        assert events.current.key == row.key
        await d.press("enter")
        await d.until(lambda: d.app.current_mode == "log")
        await d.until(lambda: d.table.current is not None)
        assert str(d.table.current.seq) == row.key


@pytest.mark.slow
async def test_the_log_shows_what_happened_and_its_fields_on_request(drive):
    async with drive(running(), press="5") as d:
        await d.until(lambda: d.table.current is not None)
        folded = len(d.screen.pane.lines)
        await d.press("v")
        assert len(d.screen.pane.lines) > folded
        await d.press("v")
        assert len(d.screen.pane.lines) == folded
