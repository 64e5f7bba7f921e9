"""The three jobs that a screen is for, in keys from the first screen, live and in a replay."""

import pytest
from fakes import running, started
from mutated import mutated
from turnlog import midway

from fuzztui.kernel.model.progress import phase
from fuzztui.kernel.model.state import Finding
from fuzztui.kernel.model.story import story
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import PromoteMutants
from fuzztui.tui.screens.overview.event_list import EventList

SIZES = [(80, 24), (120, 40)]
LARGEST, SMALLER = ("right_square_bracket",), ("right_square_bracket",) * 2


def jumps():
    """Seeds with most edges, then gains of 200, 500 and 90 edges; the last one is at the end."""
    log = started().add(ev.CampaignState("running"), ev.InstanceState("main", "running", 1))
    for second, edges, entry in ((4, 4000, 0), (20, 4200, 1), (53, 4700, 2), (100, 4790, 3)):
        log.add(dt=second - log.state.t)
        log.add(ev.EntrySaved("main", 900 + entry, f"queue/id:00090{entry}"))
        log.add(ev.EntryDescribed("main", 900 + entry, ["edge"], edges))
        log.add(ev.Stats("main", 1000 * second, 10.0, edges=edges))
    return log


def the_first_crash(d):
    finding = d.table.current
    assert d.screen.TAB == "findings" and isinstance(finding, Finding)
    assert finding.t == min(f.t for f in d.world.session.state.findings.values())
    assert "input" in d.text()


@pytest.mark.parametrize("size", SIZES)
async def test_one_key_shows_the_first_crash_and_its_input(drive, size):
    async with drive(running(300), size=size, press="3") as d:
        the_first_crash(d)


@pytest.mark.parametrize("size", SIZES)
async def test_two_keys_of_a_replay_show_the_first_crash_and_its_input(drive, size):
    async with drive(running(300), size=size, replay_at=0.0) as d:
        await d.until(lambda: d.app.marks)
        await d.press("full_stop", "3")
        await d.until(lambda: d.screen.TAB == "findings" and d.table.current is not None)
        the_first_crash(d)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("keys", "entry"),
    [(LARGEST, "902"), (SMALLER, "901"), ((*SMALLER, "left_square_bracket"), "902")],
)
async def test_one_key_shows_the_largest_gain_and_another_what_brought_it(drive, size, keys, entry):
    async with drive(jumps(), size=size) as d:
        assert "] gains" in d.text()
        await d.press(*keys)
        moment = d.screen.query_one(EventList).current
        assert moment is not None and moment.described.label == "burst"
        assert moment.key == f"main/{entry}" and moment.described.text in d.text()
        await d.press("enter")
        await d.until(lambda: d.screen.TAB == "corpus" and d.table.cursor == f"main/{entry}")


async def test_a_story_without_gains_says_so(drive):
    log = running(1)
    assert not any(moment.size for moment in story(log.state))
    async with drive(log, press=LARGEST) as d:
        d.assert_notice("The story has no other gain.")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("at", [0.0, 100.0])
async def test_one_key_of_a_replay_goes_to_the_largest_gain(drive, size, at):
    """From the end, too, which has a smaller gain; the seeds are none."""
    async with drive(jumps(), size=size, replay_at=at) as d:
        await d.until(lambda: d.app.marks)
        await d.press(*LARGEST)
        assert d.world.clock.t == pytest.approx(53.0)
        await d.until_shows("gain 1 of 4: +500 edges, main/902")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("log", "key"), [(mutated, "v"), (midway, "f")], ids=["mu2", "fuzz-first"])
async def test_three_keys_promote_a_mutant_and_show_the_effect(drive, size, log, key):
    async with drive(log(), size=size, press=["4", key]) as d:
        await d.until(lambda: len(d.table.rows) < d.table.rows.total)
        mutant = d.table.current
        assert mutant.survives and phase(mutant) in ("waiting", "unknown")
        await d.press("u")
        await d.until_sent(PromoteMutants(mutant.id))
        await d.until_shows("▲", "since ")
        assert d.table.cursor == mutant.id
