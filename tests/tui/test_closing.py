"""The closing card of a campaign that has ended."""

from __future__ import annotations

import shlex
from pathlib import Path

from fakes import running, started
from mutated import mutated

from fuzztui.kernel.wire import events as ev
from fuzztui.run.home.finding import TEST_FILE
from fuzztui.tui.base.chart import WAITING, Chart
from fuzztui.tui.frame.footer import actions_for
from fuzztui.tui.labels.closing import MAX_COMMANDS, MAX_LISTED, closing_rows
from fuzztui.tui.labels.run_files import set_file
from fuzztui.tui.labels.status import status_of
from fuzztui.tui.screens.overview.charts import ChartGrid
from fuzztui.tui.screens.overview.closing_card import ClosingCard
from fuzztui.tui.screens.overview.event_list import EventList
from fuzztui.tui.screens.overview.screen import EVENT_ROWS


def ended(log, state="finished"):
    log.add(ev.CampaignEnded(state, "the budget is used up"), dt=1.0)
    return log


def rows_of(log, run):
    state = log.state
    return closing_rows(state, status_of(state, state.t), run)


def test_findings_lead_to_their_rows_and_a_command_reproduces_the_first(tmp_path):
    rows = rows_of(ended(running()), tmp_path)
    findings = [r for r in rows if r.screen == "findings"]
    assert len(findings) == MAX_LISTED and all(r.key for r in findings)
    commands = [shlex.split(r.text) for r in rows if not r.screen]
    assert len(commands) <= MAX_COMMANDS
    assert commands[0][:3] == ["fuzztui", "repro", str(tmp_path)]
    assert any("campaign.budget=3600s" in words for words in commands)  # twice as much


def test_commands_are_shown_from_here_and_copied_for_anywhere(tmp_path, monkeypatch):
    run = tmp_path / "runs/tom"
    run.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    commands = [row for row in rows_of(ended(running()), run) if not row.screen]
    for row in commands:
        shown, copied = shlex.split(row.text), shlex.split(row.copied)
        assert [str(Path(word).absolute()) if "runs/tom" in word else word for word in shown] == (
            copied
        )
        assert any(word.startswith("runs/tom") for word in shown)
    file = Path(shlex.split(commands[0].copied)[3])
    assert not file.is_absolute() and file.parts[0] == "out"


async def test_in_a_low_terminal_the_card_is_whole_and_events_keep_rows(
    drive, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path.parent)
    async with drive(running(), size=(80, 24)) as d:
        charts = d.screen.query_one(ChartGrid)
        assert charts.display
        ended(d.log)
        await d.ready()
        await d.until(lambda: not charts.display)
        card = d.screen.query_one(ClosingCard)
        await d.until(lambda: len(card.paint(80, 0)) == card.size.height)
        events = d.screen.query_one(EventList)
        await d.until(lambda: events.size.height >= EVENT_ROWS)
        assert card.region.bottom <= events.region.y
        painted = "".join(line.strip() for line in d.painted(ClosingCard)).replace(" ", "")
        commands = [row.text for row in card._rows if not row.screen]
        assert len(commands) == MAX_COMMANDS
        assert all(command.replace(" ", "") in painted for command in commands)
        await d.pilot.resize_terminal(80, 33)
        await d.until(lambda: charts.display)


async def test_in_a_low_terminal_a_key_shows_the_charts_then_the_card_again(drive):
    async with drive(running(), size=(80, 24)) as d:
        charts, card = d.screen.query_one(ChartGrid), d.screen.query_one(ClosingCard)
        ended(d.log)
        await d.ready()
        await d.until(lambda: card.display and not charts.display)
        seen = []
        while not card.display or not seen:
            await d.press("v")
            if charts.display:
                seen.append([c._graph.title for c in d.screen.query(Chart) if c.display])
            await d.still()
        assert len(seen) > 1 and all(seen) and len({*map(tuple, seen)}) == len(seen)
        await d.until(lambda: not charts.display)
        await d.press("w")
        await d.until(lambda: charts.display and not card.display)


async def test_in_a_common_terminal_events_keep_rows_beside_charts(drive, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    async with drive(running(), size=(120, 40)) as d:
        ended(d.log)
        await d.ready()
        events, charts = d.screen.query_one(EventList), d.screen.query_one(ChartGrid)
        await d.until(lambda: events.size.height >= EVENT_ROWS)
        assert charts.display


def test_a_campaign_that_measured_nothing_is_to_be_checked_not_continued(tmp_path):
    log = started().add(ev.Stats("main", execs=9000, valid=9000, invalid=0, edges=0))
    log.add(ev.Message("warning", "it executes a.py", "main", ev.UNGUIDED))
    rows = rows_of(ended(log), tmp_path)
    assert rows[0].style == "failed" and rows[0].text.endswith("it executes a.py")
    commands = [shlex.split(r.text) for r in rows if not r.screen]
    assert commands[0][:2] == ["fuzztui", "check"]
    assert not any(word.startswith("campaign.budget") for words in commands for word in words)


def test_survivors_are_counted_by_function(tmp_path):
    log = ended(mutated())
    state = log.state
    alive = [m for m in state.mutants.values() if m.state == "alive"]
    rows = rows_of(log, tmp_path)
    (left,) = [r for r in rows if r.name == "survivors"]
    assert all(m.function in left.text for m in alive[:1])
    assert any("--survivors" in r.text for r in rows if not r.screen)


def test_uncovered_goals_are_counted_by_file(tmp_path):
    log = started(engine="spoton")
    left = {f"app.py:{n}:then": {"frontier": False, "reached": 0, "types": []} for n in range(3)}
    log.add(ev.GoalsUncovered("main", left=left))
    (row,) = [r for r in rows_of(ended(log), tmp_path) if r.screen == "types"]
    assert "app.py 3" in row.text


def test_without_a_run_there_is_no_command(tmp_path):
    assert all(r.screen for r in rows_of(ended(running()), None))


def test_a_stopped_campaign_is_continued_with_its_budget(tmp_path):
    rows = rows_of(ended(running(), "stopped"), tmp_path)
    assert any(r.text.endswith("campaign.toml") for r in rows)


def test_a_failed_campaign_is_checked_and_started_again(tmp_path):
    def commands():
        return [r.text for r in rows_of(ended(running(), "failed"), tmp_path) if not r.screen]

    set_file(tmp_path, None)
    frozen = str(tmp_path / "campaign.toml")
    assert not any("--set" in text for text in commands())
    assert [shlex.split(text) for text in commands()[:2]] == [
        ["fuzztui", "check", frozen], ["fuzztui", frozen],
    ]  # fmt: skip
    set_file(tmp_path, tmp_path / "my file.toml")
    assert shlex.split(commands()[1]) == ["fuzztui", str(tmp_path / "my file.toml")]
    set_file(tmp_path, tmp_path / TEST_FILE)  # there is no such file
    assert shlex.split(commands()[1]) == ["fuzztui", frozen]


async def test_no_chart_waits_after_the_end(drive):
    async with drive(started()) as d:
        await d.until_shows(WAITING)
        d.log.add(ev.CampaignEnded("failed", "no such [module]"), dt=1.0)
        await d.until(lambda: WAITING not in d.text() and "no statistics" in d.text())
        assert "no such [module]" in d.text()


async def test_the_card_comes_with_the_end(drive):
    async with drive(running()) as d:
        card = d.screen.query_one(ClosingCard)
        assert not card.display
        keys = {a.id for a in actions_for(d.screen.scopes(), d.app.action_context())}
        assert "campaign.pause" in keys and "overview.copy_next" not in keys
        ended(d.log)
        await d.ready()
        assert card.display
        keys = {a.id for a in actions_for(d.screen.scopes(), d.app.action_context())}
        assert "overview.copy_next" in keys
        assert not keys & {"campaign.pause", "campaign.stop", "instance.pause"}
        for _ in range(2):
            await d.press("c")
        first, second = (n.message for n in d.app._notifications)
        assert first != second


async def test_a_replay_has_no_card(drive):
    log = ended(running())
    async with drive(log, replay_at=log.t) as d:
        assert not d.screen.query_one(ClosingCard).display


async def test_the_story_is_in_the_place_of_events_once_the_campaign_has_ended(drive):
    log = running(120).add(ev.CampaignEnded("finished", "the budget is used up"), dt=1.0)
    async with drive(log, size=(120, 40)) as d:
        events = d.screen.query_one(EventList)
        await d.until(lambda: events.is_story and events.current)
        await d.press("y")
        await d.until(lambda: not events.is_story)
        await d.press("y")
        await d.until(lambda: events.is_story and events.has_focus)
        at = next(n for n, moment in enumerate(d.app.story) if moment.kind == "finding")
        await d.press(*["down"] * at, "enter")
        await d.until(lambda: d.screen.TAB == "findings")


async def test_a_moment_of_a_replay_is_a_time_to_go_to(drive):
    async with drive(running(300), replay_at=10.0, size=(120, 40)) as d:
        await d.until(lambda: d.app.story)
        events = d.screen.query_one(EventList)
        assert not events.is_story
        await d.press("y")
        await d.until(lambda: events.is_story and events.has_focus)
        await d.press("end", "enter")
        assert d.world.clock.t == d.app.story[-1].t
