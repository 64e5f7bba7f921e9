"""A fuzz-first campaign on the screen: the worklist, the stage, who is thanked."""

import shutil
from dataclasses import replace

import pytest
import turnlog
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Input
from turnlog import begun, built, collected, handed, ids, midway, on_target, turn

from fuzztui.features.fuzzfirst.fold import mutant_behind, outlook
from fuzztui.features.fuzzfirst.screen.detail import (
    TurnDetail,
    change_of_line,
    worklist_mutant_lines,
)
from fuzztui.features.fuzzfirst.screen.worklist import STAGES, Worklist, progress_glyph
from fuzztui.features.mutants.screen.context import MutantContext
from fuzztui.features.mutants.screen.group_menu import ScopeMenu, ScopeScreen
from fuzztui.features.mutants.screen.groups import MutantGroup
from fuzztui.features.mutants.screen.screen import MutantsScreen
from fuzztui.features.source.index import SourceIndex
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.progress import NO_TURN, PHASES, WAITING, phase, verdict
from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import (
    MarkEquivalent,
    MoveMutants,
    PromoteMutants,
    RequeueMutants,
    SkipMutants,
    UseMutants,
)
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.footer import actions_for
from fuzztui.tui.labels.events import MUTANTS, describe
from fuzztui.tui.labels.lineage import Lineage

M = ids(40)
HOSTILE = "[/x]\x1b[31m\u202e"


# -------------------------------------------------------------------- order


@pytest.mark.slow
async def test_the_table_is_the_queue(drive):
    async with drive(midway(), press="4i") as d:
        shown = d.row_keys()
        assert shown[:8] == [M[3], M[2], M[1], M[0], M[5], M[4], M[6], M[10]]
        assert shown[-5:] == [M[9], M[7], M[8], M[20], M[21]]
        d.assert_shows(
            "▶ fuzzing", "02:10/05:00", "▲ in 2m", "▔ budget ends", "parser.c:13",
            "1 of 2  mutants are fuzzed", "15m 37s of 30m 00s for mutants", "target in 14m 22s",
            "the budget allows 1 of 31 waiting mutants", "score 75.0%  3 of 4 mutants killed",
            "13 entries, 44 edges, 1 crash of the target", "39 pruned inputs", "▶ running 1",
            "◌ waiting 31", "✗ build failed 1", "= duplicate 1", "⊘ skipped 1",
        )  # fmt: skip


@pytest.mark.slow
async def test_the_queue_follows_what_happens(drive):
    async with drive(midway(), press="4i") as d:
        d.log.add(ev.MutantPositions({M[30]: -1.0}))
        await d.until(lambda: d.row_keys()[4] == M[30])
        d.log.add(ev.MutantState("", M[5], "skipped", reason="by hand"))
        await d.until(lambda: d.row_keys()[5] == M[4])
        assert phase(d.world.session.state.mutants[M[5]]) == "skipped"
        assert d.row_keys().index(M[5]) > d.row_keys().index(M[8])
        collected(d.log, M[3], "m5", {"entries": 7, "edges": 1, "crashes": 0, "hangs": 0})
        await d.until_shows("no mutant is running")
        assert d.row_keys()[:5] == [M[3], M[2], M[1], M[0], M[30]]
        await d.until_shows("✓ done 4")
        assert "3 of 5 mutants killed" in d.text()


@pytest.mark.slow
async def test_without_a_queue_it_is_the_table_of_before_and_a_seek_changes_it(drive):
    log = begun()
    log.records = [r if r.seq <= 3 else replace(r, t=20.0) for r in log.records]
    log.t = 50.0
    async with drive(log, replay_at=30.0, press="4") as d:
        assert d.table.rows.sort_column.id == "number"
        d.app.seek(10.0)
        await d.until(lambda: not d.world.session.state.stage)
        await d.until(lambda: d.table.rows.sort_column is None)
        d.app.seek(40.0)
        await d.until(lambda: d.row_keys()[:2] == M[:2])


async def test_before_there_is_any_mutant_it_says_what_is_done(drive):
    async with drive(begun(0), press="4") as d:
        assert "The mutants are being created and ranked." in d.text()


@pytest.mark.slow
async def test_narrowed_to_a_phase(drive):
    async with drive(midway(), press="4fff") as d:
        await d.until(lambda: d.row_keys() == [M[2], M[1], M[0]])
        assert "done 3/40" in d.text()
        await d.press("m")
        assert isinstance(d.app.screen, ScopeScreen)
        assert "all that the table shows" not in d.text()  # a selection has no word for it
        await d.press("escape", "escape")
        await d.until(lambda: len(d.row_keys()) == 40)
        await d.press("slash")
        d.screen.query_one(Input).value = "memcmp"
        await d.until(lambda: d.row_keys() == [M[5], M[15], M[25], M[35]])


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (60, 18), (120, 40), (200, 60)])
async def test_at_any_size(drive, size):
    for log in (midway(), on_target(), begun(3, trials=120_000)):
        async with drive(log, size=size) as d:
            for key in "41235":
                await d.press(key)
                assert all(len(line) <= size[0] for line in d.lines())


@pytest.mark.slow
async def test_budgets_in_trials(drive):
    log = begun(40, trials=1_200_000)
    turn(log, M[0], "m1", 60.0, origins={})
    async with drive(log, press="4i") as d:
        d.assert_shows(
            "54,000 of 600k for mutants", "target after 546k execs", "54,000/100k", "in 46,000",
            "in 146k",
        )  # fmt: skip


@pytest.mark.slow
async def test_rounds_say_why_mutants_have_turns_and_when_they_have_the_next(drive):
    log = begun(40)
    plan = {"mutants_s": 900.0, "each_s": 300.0, "abreast": 1, "round": 1, "stuck_s": 360.0}
    log.add(ev.PhaseStarted("target", {**plan, "round": 0, "mutants_s": 0.0}))
    async with drive(log, size=(80, 24), press="14") as d:
        d.assert_shows("after round 0: the target is fuzzed", "mutants when stuck", "when stuck")
        d.assert_lacks("no turn", "budget ends")
        why = "stuck: no new edge in 6 min"
        d.log.add(ev.PhaseStarted("mutants", plan, why))
        await d.until_shows("round 1: mutants are fuzzed", "next", "▔ round ends")
        await d.press("1")
        d.assert_shows(f"round 1  mutants, {why}", "target in")
        assert all(len(line) <= 80 for line in d.lines())


@pytest.mark.slow
async def test_what_roadblocks_hide_has_a_column_only_if_a_mutant_changes_one(drive):
    log = begun(6)
    async with drive(log, size=(140, 40), press="4") as d:
        d.assert_lacks("hides")
    row = {"id": M[1], "line": 10, "operator": "x", "before": "a", "after": "b", "place": 1.0}
    log.add(ev.MutantsFound("", "", turnlog.FILE, "", [{**row, "roadblock": 9, "hides": 1234}]))
    async with drive(log, size=(140, 40), press="4") as d:
        d.assert_shows("hides", "1,234")
        d.table.go_to(M[1])
        await d.until(
            lambda: "hides      a roadblock (line 9): when it was ranked, 1,234" in d.text()
        )


# ------------------------------------------------------------------ details


@pytest.mark.slow
async def test_the_details_of_each(drive, tmp_path):
    source = tmp_path / "parser.c"
    shutil.copy(turnlog.PROGRAM, source)
    told = {
        M[3]: ["2m 10s of 5m 00s", "m5 (running)  117k execs", "24 inputs kept, 3 pruned in "
               "mutants/aside/m5", "while (start <= end && text[start] == ' ')"],
        M[5]: ["▲ in 2m 45s (number 1)", "▲ promoted"],
        M[4]: ["number 2: the mutants' budget ends before its turn"],
        M[2]: ["killed     0:13:25 by m3/31: the mutant crashes, the original does not; 4 inputs",
               "12 entries, 41 edges, 1 crash to the target", "transfer 0.44s",
               "also       src/parser.c:18", "SIGABRT in parse  in the transfer to the target"],
        M[1]: ["no input has killed the mutant", "nothing new to the target"],
        M[7]: ["use of undeclared identifier 'dpeth'", "^~~~~"],
        M[8]: ["same as    src/parser.c:12"],
        M[9]: ["rejected   it fails on all 27 inputs", "27 inputs kill the mutant"],
        M[20]: ["skipped    by hand"],
        M[21]: ["equivalent a comment only"],
    }  # fmt: skip
    async with drive(midway(), size=(120, 60), press="4") as d:
        for id, words in told.items():
            d.table.go_to(id)
            for part in words:
                await d.until(lambda part=part: part.removeprefix("▲ in") in d.text())


def test_the_change_stands_in_its_line():
    state = midway().state
    mutant = state.mutants[M[3]]
    source = SourceExcerpt(
        13, 12, ("    size_t end = start + n;", mutant.before, "        start++;")
    )
    lines = change_of_line(mutant, source)
    texts = ["".join(span.text for span in line) for line in lines]
    assert texts == [
        "     12 │ size_t end = start + n;",
        "-    13 │ while (start < end && text[start] == ' ')",
        "+    13 │ while (start <= end && text[start] == ' ')",
        "     14 │     start++;",
    ]
    spans = [span for line in lines for span in line]
    assert ("<", "strike removed", "") in spans
    assert ("<=", "bold added", "") in spans


def test_a_line_that_becomes_two():
    mutant = replace(begun(1).state.mutants[M[0]], before="  a();", after="  a();\n    b();")
    texts = ["".join(s.text for s in line) for line in change_of_line(mutant, None)]
    assert texts == ["-     9 │ a();", "+     9 │ a();", "+       │     b();"]


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=20), max_size=5))
def test_any_change_is_drawn_in_any_lines(before, after, around):
    mutant = replace(begun(1).state.mutants[M[0]], before=before, after=after, line=2)
    lines = change_of_line(mutant, SourceExcerpt(2, 1, tuple(around)))
    for line in lines:
        for span in line:
            assert span.text.isprintable()


# ----------------------------------------------------------------- steering


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "command"),
    [
        ("u", PromoteMutants(M[4])),
        ("d", SkipMutants(M[4])),
        ("less_than_sign", MoveMutants(M[4], "first")),
        ("greater_than_sign", MoveMutants(M[4], "last")),
        ("K", MoveMutants(M[4], "up")),
        ("J", MoveMutants(M[4], "down")),
        ("shift+up", MoveMutants(M[4], "up")),
        ("shift+down", MoveMutants(M[4], "down")),
    ],
)
async def test_keys_send_commands_with_the_id(drive, key, command):
    async with drive(midway(), press="4", row=M[4]) as d:
        await d.press(key)
        await d.until_sent(command)


@pytest.mark.slow
async def test_a_key_switches_the_use_of_mutants(drive):
    async with drive(midway(), press="4U") as d:
        await d.until_sent(UseMutants("parallel"))
        d.world.session.state.plan["parallel"] = 1.0
        await d.press("U")
        await d.until_sent(UseMutants("sequential"), after=1)


@pytest.mark.slow
async def test_requeue_and_a_verdict(drive):
    async with drive(midway(), press="4", row=M[1]) as d:
        await d.press("r")
        await d.until_sent(RequeueMutants(M[1]))
        await d.press("equals_sign", *"dead", "enter")
        await d.until_sent(MarkEquivalent(M[1], "dead"), after=1)


@pytest.mark.slow
async def test_what_is_asked_is_shown_until_it_is_answered(drive):
    async with drive(midway(), silent=True, press="4", row=M[6]) as d:
        await d.press("u")
        await d.until_shows("promote…")
        d.log.add(ev.CommandApplied("c1", "", detail="1 mutant promoted"))
        await d.until_lacks("promote…")


STEERING = ("promote", "skip", "equivalent", "requeue", "first", "last", "up", "down")
NOT_NOW = {
    M[3]: {"requeue", "first", "last", "up", "down"},  # at work
    M[5]: {"requeue"},  # waits
    M[2]: {"promote", "skip", "equivalent", "first", "last", "up", "down"},  # killed
    M[1]: {"promote", "skip", "first", "last", "up", "down"},  # survived
    M[7]: {"promote", "skip", "first", "last", "up", "down"},  # does not build
    M[8]: set(STEERING),  # the same as another
    M[20]: {"promote", "skip", "first", "last", "up", "down"},  # skipped
}


@pytest.mark.slow
async def test_what_cannot_be_done_is_grey_and_says_why(drive):
    async with drive(midway(), press="4") as d:
        for id, grey in NOT_NOW.items():
            d.table.go_to(id)
            now = d.app.action_context()
            got = {name for name in STEERING if BY_ID[f"mutant.{name}"].why_not(now)}
            assert got == grey, d.world.session.state.mutants[id].stage
        d.table.go_to(M[8])
        await d.press("K")
        d.assert_notice("duplicate of another")
        assert not d.commands


@pytest.mark.slow
async def test_nothing_is_steered_when_the_targets_turn_has_come_or_in_a_replay(drive):
    async with drive(on_target(), press="4", row=M[6]) as d:
        await d.press("d", "K", "r")
        assert "budget ends" not in d.text()
        assert "none: the turns of mutants are over" in d.text()
        assert not d.commands
        d.assert_notice("the mutant phase is over")
    async with drive(midway(), replay_at=10_000.0, press="4d") as d:
        d.assert_notice("not in a replay")
    async with drive(midway().add(ev.CampaignEnded("stopped", "asked for")), press="4u") as d:
        d.assert_notice("the campaign has stopped")


def test_the_footer_has_what_a_queue_has():
    def labels(stage):
        now = ActionContext(state="running", stage=stage)
        return {a.id for a in actions_for(MutantsScreen.scopes(), now)}

    assert labels("mutants") - labels("") == {"mutant.up", "mutant.down"}
    assert labels("") - labels("mutants") == {"mutant.accept", "mutants.exact", "mutants.survivors"}
    row = MutantContext(progress="waiting")
    queue = ActionContext(state="running", alive=True, stage="mutants", row=True, about=row)
    able = replace(queue, capabilities=frozenset({"move-mutants"}))
    assert BY_ID["mutant.up"].why_not(able) == ""
    later = replace(able, stage="target")
    assert "its budget is used up" in BY_ID["mutant.up"].why_not(later)
    assert "its budget is used up" in BY_ID["mutants.use"].why_not(later)
    assert "no worklist" in BY_ID["mutants.use"].why_not(replace(later, stage=""))
    assert BY_ID["mutant.up"].why_not(replace(later, about=replace(row, go_on=True))) == ""
    other = replace(able, stage="", about=MutantContext("alive"))
    assert "no worklist" in BY_ID["mutant.up"].why_not(other)


@pytest.mark.slow
async def test_many_at_once(drive):
    async with drive(midway(), press="4", row=M[4]) as d:
        await d.press("m", "down", "d")
        await d.until_sent(SkipMutants("file=src/parser.c,operator=++[ ][=][=]>[ ]--"))


@pytest.mark.slow
async def test_what_leaves_the_queue_leaves_the_cursor_where_it_is(drive):
    async with drive(midway(), press="4", row=M[4]) as d:
        waiting = d.table.rows.position(M[4])
        below = [d.table.rows.key(waiting + n) for n in (1, 2)]
        await d.press("d", "d")
        await d.until_sent(SkipMutants(M[4]), SkipMutants(below[0]))
        assert d.table.cursor == below[1]
        await d.press("less_than_sign")
        assert d.table.cursor == below[1]


@pytest.mark.slow
async def test_the_cursor_rests_until_it_is_moved(drive):
    async with drive(midway(), press="4", row=M[3]) as d:
        assert (d.table.cursor, d.table.scroll_offset.y) == (M[3], 0)
        collected(d.log, M[3], "m5", {"entries": 7})
        await d.until_shows("✓ done  src/parser.c:13")
        assert d.row_keys()[0] == M[3]  # the latest that is over, until the next one begins
        d.log.add(ev.MutantProgress(M[5], "pruning", "m6"))
        await d.until(lambda: d.table.cursor == M[5])
        assert (d.row_keys()[0], d.table.scroll_offset.y) == (M[5], 0)


@pytest.mark.slow
async def test_who_has_chosen_a_row_keeps_it_but_the_view_never_jumps(drive):
    log = midway().add(ev.MutantPositions({M[6]: -1.0}))
    async with drive(log, press="4jjjj") as d:
        assert d.table.cursor == M[6]
        d.log.add(ev.MutantProgress(M[6], "fuzzing", "m6"))
        await d.until_shows("▶ fuzzing  src/parser.c:16")
        collected(d.log, M[6], "m6", {"entries": 7})
        await d.until(lambda: d.row_keys()[:2] == [M[3], M[6]])
        await d.pilot.pause()
        assert (d.table.cursor, d.table.scroll_offset.y) == (M[6], 0)
        await d.until_shows("✓ done  src/parser.c:16")


@pytest.mark.slow
async def test_what_was_skipped_in_its_turn_counts_as_fuzzed(drive):
    log = midway().add(ev.MutantState("", M[3], "skipped", reason="by hand"))
    collected(log, M[3], "m5", {"entries": 7}, "skipped")
    log.add(
        ev.MutantState("", M[5], "skipped", reason="by hand"),
        ev.MutantProgress(M[5], "done", "m6", "skipped"),
    )
    async with drive(log, size=(120, 60), press="4i") as d:
        assert "score 60.0%  3 of 5 mutants killed" in d.text()  # M[5] was never fuzzed
        d.table.go_to(M[3])
        await d.until_shows("skipped    set by a user during its turn")
        assert "alive      no input has killed the mutant" in d.text()


@pytest.mark.slow
async def test_what_is_the_program_itself_is_called_equivalent(drive):
    log = midway()
    words = "it is the same program once it is compiled"
    log.add(
        ev.MutantState("", M[30], "equivalent", reason=words),
        ev.MutantProgress(M[30], "dropped", reason=words),
    )
    async with drive(log, size=(120, 60), press="4i") as d:
        assert "≡ equivalent 2" in d.text()
        d.table.go_to(M[30])
        await d.until_shows("same as    the original, once compiled")
        await d.press("r")
        d.assert_notice("or of the original")


async def test_stage_2_tells_what_mutants_really_had(drive):
    log = midway()
    plan = {"mutants_s": 1800.0, "before_s": 359.9, "each_s": 300.0, "abreast": 1}
    log.add(ev.PhaseStarted("target", plan))
    async with drive(log) as d:
        line = next(line for line in d.lines() if "2 of 2" in line)
        assert "  6m 00s for mutants" in line
        bar = line.split("fuzzed")[1].split("6m")[0].strip()
        assert bar.index("┃") / len(bar) < 0.15


@pytest.mark.slow
async def test_mutants_without_a_turn_do_not_wait_in_the_targets_phase(drive):
    log = midway()
    waiting = [m for m in log.state.mutants.values() if m.listed_stage in WAITING]
    assert {progress_glyph(m).state for m in waiting} >= {"queued", "built"}
    over = ev.PhaseStarted("target", {"mutants_s": 1800.0, "before_s": 1800.0, "each_s": 300.0})
    async with drive(log, press="4") as d:
        first = d.row_keys()[4:8]
        assert set(first) < {m.id for m in waiting}  # the queue, after the turns
        d.log.add(over)
        await d.until(lambda: d.row_keys()[-len(waiting) :][:4] == first)
        assert d.row_keys()[:4] == [M[3], M[2], M[1], M[0]]
        status, place = (next(c for c in d.table.columns if c.id == i) for i in ("stage", "place"))
        cells = [status.cell(mutant)[0] for mutant in waiting]
        assert all(NO_TURN in cell for cell in cells), cells
        d.table.sort_by(place)  # the user's choice decides
        assert d.row_keys() == [
            m.id for m in sorted(d.world.session.state.mutants.values(), key=place.sort)
        ]


async def test_a_tiny_budget_has_tenths(drive):
    log = begun()
    log.add(ev.PhaseStarted("mutants", {"mutants_s": 119.9994, "each_s": 0.25, "abreast": 1}))
    turn(log, M[0], "m1", 0.1, origins={})
    async with drive(log, press="4i") as d:
        d.assert_shows("of 2m 00s for mutants", "0.1/0.2s", "0.1s of 0.2s")


@pytest.mark.slow
async def test_waits_of_neighbours_differ(drive):
    log = begun()
    log.add(ev.PhaseStarted("mutants", {"mutants_s": 1800.0, "each_s": 17.0, "abreast": 1}))
    async with drive(log, press="4") as d:
        turns = [line.split("queued")[1][:14].strip() for line in d.lines() if "◌ queued" in line]
        assert turns[:7] == ["next", *(f"in {t}" for t in (
            "17s", "34s", "51s", "1m 05s", "1m 25s", "1m 40s"))]  # fmt: skip


@pytest.mark.slow
async def test_nothing_covers_or_cuts_what_matters(drive):
    log = midway().add(ev.MutantState("", M[4], "pending", steer="promoted"))
    log.add(ev.MutantProgress(M[12], "fuzzing", "m6"))
    async with drive(log, size=(80, 24), press="4if") as d:
        now = next(line for line in d.lines() if line.startswith(" now"))
        assert "02:10/05:00   and 1 more" in now
        assert now.rstrip().endswith("1 of 30 more")
        assert "▲ ▔ budget ends" in d.text()
    async with drive(log, size=(120, 40), press="4fff", shows="done 3/40") as d:
        assert "verdict" in next(line for line in d.lines() if "done 3/40" in line)


def test_scopes_with_long_names_can_be_told_apart():
    title = "a long operator that replaces one call by another"
    menu = ScopeMenu([MutantGroup(f"{title} {end}", "x=y") for end in ("in src/f.c", "everywhere")],
                     [], lambda *_: "")  # fmt: skip
    shown = [line[1].text for line in menu.paint(70, 9)[:2]]
    assert shown[0].rstrip().endswith("in src/f.c")
    assert shown[1].rstrip().endswith("everywhere")


@pytest.mark.slow
async def test_the_killer_is_gone_to(drive):
    async with drive(midway(), press="4", row=M[2]) as d:
        await d.press("backspace")
        await d.until(lambda: d.screen.TAB == "corpus" and d.table.cursor == "m3/31")


# ------------------------------------------------------------ other screens


@pytest.mark.slow
async def test_the_overview_tells_the_stage_and_hides_ended_slots(drive):
    for size in ((120, 40), (80, 24)):
        async with drive(midway(), size=size) as d:
            d.assert_shows(
                "1 of 2  mutants are fuzzed", "target in 14m 22s", "⇄ from mutants", "+3 ended",
                "Mutants killed",
            )  # fmt: skip
            assert d.row_keys() == ["main", "s1", "handed", "m5"]
        async with drive(on_target(), size=size) as d:
            d.assert_shows(
                "2 of 2  the target is fuzzed", "15 entries, 49 edges, 1 crash of the target",
                "Edges", "┊",  # where the target's turn began
            )  # fmt: skip
            assert d.row_keys() == ["main", "s1", "handed"]


@pytest.mark.slow
async def test_an_instance_says_which_mutant_it_fuzzes(drive):
    async with drive(midway()) as d:
        assert "parser.c:13" in d.text()
        d.table.go_to("m5")
        await d.press("enter")
        await d.until_shows("fuzzes mutant  src/parser.c:13")
        await d.press("escape")
        d.table.go_to("handed")
        await d.until_shows("never fuzzes")
        await d.press("P")
        d.assert_notice("no instance under the cursor")
        assert not d.commands


async def test_a_slot_that_failed_is_no_trouble_of_the_campaign(drive):
    async with drive(midway().add(ev.InstanceState("m3", "failed", 0, "all seeds crash"))) as d:
        assert "m3 failed" not in d.text()


@pytest.mark.slow
async def test_lineage_and_thanks(drive):
    async with drive(on_target(), size=(200, 40), press="2", row="main/2") as d:
        await d.until_shows(
            "via mutant src/parser.c:12", "havoc,rep:2 of #1", "└ main/1  imported from mutants",
            "└ handed/1  transferred from a mutant in m3, its #31", "└ m3/31  havoc,rep:4 of #1",
            "└ m1/27", "seed 1  of the campaign",
        )  # fmt: skip
        column = {
            line.split()[0]: line for line in d.lines() if line.startswith((" main/", " hand"))
        }
        assert "parser.c:12" in column["handed/1"]
        assert "parser.c:9" in column["handed/0"]
        assert "parser.c" not in column["main/3"].partition("▏")[0]
        await d.press("backspace", "backspace", "backspace")
        assert d.table.cursor == "m3/31"
        await d.until_shows("of mutant  src/parser.c:12")
        await d.press("3")
        await d.until_shows("transferred from a mutant in m3, its #31")
        table = d.lines()[: d.screen.pane.region.y]
        assert sum("parser.c:12" in line for line in table) == 2
        assert "when a mutant's corpus was run on the target" in " ".join(
            line.strip() for line in d.lines()
        )


async def test_files_of_slots_are_read_where_they_lie(drive, tmp_path):
    queue = tmp_path / "mutants/slots/m3/out/m3/queue"
    queue.mkdir(parents=True)
    (queue / "id:000031,src:000001").write_bytes(b"MUTA of m3")
    async with drive(midway(), run=tmp_path, press="2", row="m3/31") as d:
        await d.until_shows("MUTA of m3")


@pytest.mark.slow
async def test_the_log_has_words_for_all_of_it(drive):
    async with drive(on_target(), size=(260, 150), press="5") as d:
        await d.until_shows(
            "mutants are being fuzzed: the budget allows about 6 mutants; 40 of", "is being built",
            "is built and waits for its turn", "starts its turn: inputs on which it fails",
            "is being fuzzed",
            "has ended its turn: its inputs are being transferred: its budget is used up",
            "is done: 12 entries, 41 edges, 1 crash for the target, 4 kills",
            "does not build: parser.c:16:19: error", "is a duplicate: the same program as",
            "is rejected: it fails on all 27", "1 mutant moved in the worklist",
            "the target is being fuzzed",
        )  # fmt: skip


def test_events_belong_to_mutants_and_are_plain_words():
    event = ev.MutantProgress(HOSTILE, HOSTILE, HOSTILE, HOSTILE + "\nsecond line")
    assert describe(event).group == MUTANTS
    assert "second line" not in describe(event).text
    odd = ev.PhaseStarted("mutants", {"count": 1e300, "listed": None, "made": float("inf")})
    assert describe(odd).text.startswith("mutants are being fuzzed: the budget allows about")
    again = ev.PhaseStarted("mutants", {"round": 2}, "stuck: no new edge in 9 s")
    assert describe(again).text == "mutants are being fuzzed, round 2 (stuck: no new edge in 9 s)"
    odd = ev.PhaseStarted("mutants", {"round": "x"}, "why")
    assert describe(odd).text == "mutants are being fuzzed: why"


# --------------------------------------------------------------------- pure


def test_who_is_behind_is_what_the_model_says():
    log = on_target()
    state = State()
    kin = Lineage(lambda: state)
    for at in range(0, len(log.records), 3):
        kin.take(apply(state, log.records[at : at + 3]))
        for row in [*state.entries.values(), *state.findings.values()]:
            assert kin.behind(row) == mutant_behind(state, row)
    assert kin.behind(state.entries["main/2"]) == M[2]
    assert kin.behind(state.entries["main/3"]) == ""
    assert kin.behind(state.entries["m5/27"]) == M[3]


def test_who_was_unknown_is_asked_again():
    log = begun().add(ev.EntrySaved("main", 5, "queue/id:5", [0], "", "handed"))
    state = State()
    kin = Lineage(lambda: state)
    kin.take(apply(state, log.records))
    assert kin.behind(state.entries["main/5"]) == ""
    built(log, M[0])
    turn(log, M[0], "m1", 10.0, origins={})
    handed(log, 0, "m1", 27)
    kin.take(apply(state, log.records))
    assert kin.behind(state.entries["main/5"]) == M[0]


def test_turns_come_when_those_before_are_over():
    log = begun(6)
    state = log.state
    state.plan["abreast"] = 2.0
    turns = Worklist(lambda: state)
    view = outlook(state, log.t)
    waits = turns.waits(view, log.t)
    assert [waits[id] for id in M[:6]] == [0, 0, 300, 300, 600, 600]
    log.add(ev.MutantState("", M[0], "pending", steer="promoted"))
    turns.take(apply(state, log.records))
    waits = turns.waits(outlook(state, log.t), log.t)
    assert [waits[id] for id in M[:6]] == [0, 0, 300, 600, 900, 900]


def test_a_hostile_plan_costs_nothing():
    state = begun(6).state
    for plan in ({"abreast": 1e308}, {"abreast": -5.0}, {"mutants_s": 1e300, "each_s": -1.0}):
        state.plan |= plan
        turns = Worklist(lambda: state)
        assert turns.glance(1.0) is not None
        assert len(turns.waits(outlook(state, 1.0), 1.0)) <= 6


def test_every_stage_has_a_sign_of_its_own():
    assert len({s.glyph for s in STAGES.values()}) == len(STAGES)
    assert set(PHASES) - {"at work", "waiting", "skipped", "equivalent"} <= set(STAGES)


@pytest.mark.slow
async def test_hostile_text_is_only_text(drive):
    log = begun(0)
    rows_ = [{"id": f"{HOSTILE}{i}", "line": i, "operator": HOSTILE, "before": HOSTILE * (i + 1),
              "after": "\t" + HOSTILE, "place": i} for i in range(4)]  # fmt: skip
    log.add(ev.MutantsFound("", HOSTILE, HOSTILE, HOSTILE, rows_))
    for i, stage in enumerate(("failed", "fuzzing", "refused", HOSTILE)):
        log.add(
            ev.MutantProgress(f"{HOSTILE}{i}", stage, HOSTILE, HOSTILE + "\n" + HOSTILE,
                           {HOSTILE: 1.0}, {HOSTILE: 5}),
        )  # fmt: skip
    async with drive(log) as d:
        for key in "41235":
            await d.press(key)
            d.assert_lacks("\x1b", "\u202e")
        await d.press("4", "j", "j", "j", "m", "escape", "f", "f")


def test_a_file_has_the_score_of_the_mutants_with_a_verdict():
    state, index = midway().state, SourceIndex()
    index.take(state, Changes(reset=True))
    (path,) = index.paths()
    file = next(iter(index.nodes(path, path, every=True)))
    verdicts = [verdict(mutant) for mutant in state.mutants.values()]
    assert file.killed == verdicts.count("killed") > 0
    assert file.score == file.killed / len([*filter(None, verdicts)])
    assert file.left > file.survivors, "mutants without a turn can be killed yet"


def test_details_have_the_words_of_the_table():
    log = begun(1).add(ev.MutantProgress(M[0], "collecting", "m1"))
    (first, *_) = worklist_mutant_lines(log.state.mutants[M[0]], log.state, None, TurnDetail())
    assert "transferring" in "".join(span.text for span in first)


def test_a_mutant_of_which_the_log_says_nothing_is_drawn():
    state = State()
    log = begun(0).add(ev.MutantProgress("x", "done", "m1", brought={"kept": 1}))
    apply(state, log.records)
    lines = worklist_mutant_lines(state.mutants["x"], state, None, TurnDetail())
    assert any("does not contain" in span.text for line in lines for span in line)


def test_a_cell_takes_no_look_at_the_state():
    """It is drawn while the thread that reads the log may change the state."""

    def state():
        raise AssertionError

    assert Worklist(state).numbers == {}
