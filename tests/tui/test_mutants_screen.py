"""The mutants screen: figures, rows, the change, steering one and many, live and in replay."""

from functools import partial

import pytest
from fakes import CAPABILITIES, running, started
from mutated import PROGRAM, STEERING, analysis, found, killed, mutants, mutated
from textual.widgets import Input
from turnlog import midway

from fuzztui.features.mutants.screen.functions import FunctionTable
from fuzztui.features.mutants.screen.group_menu import ScopeScreen
from fuzztui.features.mutants.screen.screen import FIGURES
from fuzztui.features.mutants.screen.strip import MutantStrip
from fuzztui.kernel.model.mutants import REACHED
from fuzztui.kernel.wire import commands as cmd
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.selection import parse_selection
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.strip import ChoiceStrip
from fuzztui.tui.labels.mutants import GROUP_LABELS

IDS = [mutant["id"] for mutant in mutants(20)]
FIRST = IDS[0]


def small(count=20):
    """A campaign whose mutants are all pending."""
    log = started("small", engine="mu2").add(
        ev.InstanceState("main", "running", 1),
        ev.InstanceHello("main", "mu2", "0.1", "3.11", 1, CAPABILITIES + STEERING),
        ev.CampaignState("running"),
    )
    found(log, count)
    return log


# -------------------------------------------------------------------- looking


@pytest.mark.slow
async def test_opened_it_has_all_figures_with_their_meaning(drive):
    async with drive(mutated(), press="4i") as d:
        d.assert_shows(
            "score 83.2%", "252 of 303 killed", "(adjusted: 86.6%)", "killed 252", "alive 33",
            "pending 6", "skipped 6", "equivalent 6", "invalid 6", "7 of all 309 are static",
            "last kill 2m ago", "target 41%", "mutants 22%", "compiling 3.0%", "other 34%",
            "schedule 12% of trials", "backlog 340", "126k run", "killed 56%", "not reached 27%",
            "not infected 12%", "deferred 3.2%", "✓ 7,200 pruned pairs checked", "no difference 37",
        )  # fmt: skip
        assert FIGURES in d.app.choices  # for the next time
        await d.press("i")
        assert d.screen.query_one(MutantStrip).size.height == 1
        assert FIGURES not in d.app.choices


async def test_what_was_open_is_open_the_next_time(drive):
    async with drive(mutated()) as d:
        d.app.choices.set(FIGURES, True)
        await d.press("4")
        assert d.screen.query_one(MutantStrip).size.height > 5


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40), (220, 60)])
async def test_the_line_fits_and_is_whole(drive, size):
    async with drive(mutated(), size=size, press="4") as d:
        (line,) = d.screen.query_one(MutantStrip).paint(size[0], 1)
        assert sum(len(span.text) for span in line) <= size[0]
        assert "252" in "".join(span.text for span in line)


# ------------------------------------------------------- files and functions


@pytest.mark.slow
async def test_functions_have_the_numbers_of_their_mutants(drive):
    async with drive(mutated(), press="4t") as d:
        functions = d.screen.query_one(FunctionTable)
        assert functions.display and not d.table.display
        file = functions.current
        summary = d.app.status.mutants
        assert file.is_file and file.total == summary.total
        assert (file.states["killed"], file.left) == (252, 39)
        assert file.score == summary.score
        keys = [functions.rows.key(i) for i in range(len(functions.rows))]
        left = [functions.rows.row(key).left for key in keys[1:]]
        assert left == sorted(left, reverse=True)
        assert sum(left) == file.left


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
async def test_functions_have_the_sort_mark_on_the_column_that_decides(drive, width):
    async with drive(mutated(), size=(width, 24), press="4t") as d:
        functions = d.screen.query_one(FunctionTable)
        assert functions.rows.sort_column.id == "left"
        header = "".join(s.text for s in functions.render_line(0))
        assert "left ▼" in header
        assert "▲" not in header
        functions.sort_by(functions.columns[0])
        await d.still()
        assert " ▲" in "".join(s.text for s in functions.render_line(0))
        rows = [functions.rows.row(functions.rows.key(i)) for i in range(len(functions.rows))]
        names = [row.function for row in rows if not row.is_file]
        assert names == sorted(names)
        assert rows[0].is_file


@pytest.mark.slow
async def test_enter_shows_the_mutants_of_a_function_and_t_returns(drive):
    async with drive(mutated(), press="4tj") as d:
        functions = d.screen.query_one(FunctionTable)
        row = functions.current
        await d.press("enter")
        await d.until(lambda: len(d.table.source) == row.total)
        assert d.screen.focused is d.table
        shown = {d.table.rows.row(d.table.rows.key(i)).function for i in range(row.total)}
        assert shown == {row.function}
        await d.press("t")
        assert d.screen.focused is functions
        assert functions.current is row
        await d.press("t")
        await d.until(lambda: len(d.table.source) == 309)


@pytest.mark.slow
@pytest.mark.parametrize("campaign", [mutated, midway])
async def test_the_opened_strip_loses_no_figure_when_it_is_narrow(drive, campaign):
    async with drive(campaign(), size=(200, 40), press="4i") as d:
        (strip,) = (s for s in d.screen.query(ChoiceStrip) if s.display)
        every = {s.text.strip() for line in strip.unfolded(400) for s in line if s.click}
        every = {text for text in every if any(map(str.isalnum, text))}  # not the bar
        assert every
        for width in (60, 80, 120, 200):
            lines = strip.unfolded(width)
            assert max(sum(len(s.text) for s in line) for line in lines) <= width
            text = " ".join(s.text for line in lines for s in line)
            assert all(words in text for words in every), width
        assert strip.size.height == len(strip.unfolded(200))
        await d.pilot.resize_terminal(80, 24)
        await d.until(lambda: strip.size.height == len(strip.unfolded(80)) > 1)
        await d.press("i")
        assert strip.size.height == 1


@pytest.mark.slow
async def test_a_function_is_steered_as_a_whole_after_its_counts_were_shown(drive):
    async with drive(small(), press="4tj") as d:
        row = d.screen.query_one(FunctionTable).current
        await d.press("d")
        assert isinstance(d.app.screen, ScopeScreen)
        assert not d.commands
        await d.press("d")
        await d.until(lambda: len(d.commands) == 1)
        (command,) = d.commands
        chosen = parse_selection(command.select).of(d.app.campaign.mutants.values())
        assert isinstance(command, cmd.SkipMutants)
        assert {m.function for m in chosen} == {row.function}
        assert len(chosen) == row.total


@pytest.mark.slow
async def test_functions_follow_the_campaign(drive):
    async with drive(small(), press="4t") as d:
        file = d.screen.query_one(FunctionTable).current
        assert file.states["killed"] == 0
        d.log.add(killed("main", FIRST, 1, 100))
        await d.until(lambda: file.states["killed"] == 1)
        d.app.tick()
        await d.until_shows("5.0%")


@pytest.mark.slow
@pytest.mark.parametrize("queue", [False, True])
async def test_functions_of_a_worklist_and_keys_that_do_nothing_there(drive, queue):
    log = midway() if queue else small()
    async with drive(log, size=(120, 40)) as d:
        await d.press(
            "4", "t", *"jjkGg", "slash", *"parse", "enter", "escape", "s", "enter", "S", "backspace"
        )
        await d.press("c", "C", "tab", "t")
        assert d.screen.focused is d.table


@pytest.mark.slow
async def test_an_audit_that_killed_is_an_alarm_at_any_width(drive):
    log = mutated().add(analysis("main", 600, audit_kills=1))
    for size in ((120, 40), (80, 24)):
        async with drive(log, size=size, press="4") as d:
            assert "✗ PRUNING IS NOT SOUND: 1 of 7,200 audits killed" in d.text()
            await d.press("1")
            assert "✗ PRUNING IS NOT SOUND" in d.text()


@pytest.mark.slow
async def test_the_exact_pass_is_said(drive):
    async with drive(mutated().add(analysis("main", 600, phase="exact"))) as d:
        for key in "41":
            await d.press(key)
            assert "exact pass…" in d.text()


@pytest.mark.slow
async def test_a_score_that_is_not_exact_is_a_lower_bound(drive):
    log = mutated().add(analysis("main", 600, phase="exact", unsettled=1234, left_s=95.0))
    async with drive(log) as d:
        for key in "41":
            await d.press(key)
            text = d.text()
            assert "exact pass: 1,234 pairs, 1m 35s left" in text
            assert "at least " in text or "≥" in text
    log.add(analysis("main", 601, unsettled=0))
    async with drive(log) as d:
        for key in "41":
            await d.press(key)
            assert "at least" not in d.text() and "≥" not in d.text()


@pytest.mark.slow
async def test_figures_of_all_instances_are_summed(drive):
    async with drive(mutated().add(analysis("second", 600)), press="4i") as d:
        assert "✓ 14,400 pruned pairs checked" in d.text()


@pytest.mark.slow
async def test_the_change_is_shown_in_its_lines(drive):
    async with drive(mutated(), press="4jjjj", shows="def number(self):") as d:
        spans = [span for line in d.screen.pane.lines for span in line]
        assert ("self.pos < len(self.text)", "strike removed", "") in spans
        assert ("self.pos <= len(self.text)", "bold added", "") in spans


@pytest.mark.slow
async def test_the_story_of_each_state(drive):
    stories = {
        "equivalent": "both ways give the same  (by main)",
        "skipped": "asked for by me@here",
        "invalid": "free variables differ",
        "alive": "made no difference",
        "pending": "infected",
    }
    async with drive(mutated(), size=(120, 50), press=["4", "slash"]) as d:
        for state, words in stories.items():
            d.screen.query_one(Input).value = f"state={state}"
            await d.until(lambda state=state: d.table.current.state == state)
            await d.until_shows(words)


async def test_a_file_that_is_not_as_it_was_is_not_shown(drive, tmp_path):
    other = tmp_path / "other.py"
    other.write_text("secret = 1\n" * 50)
    log = started("m", engine="mu2")
    mutant = {"id": "a:f:math:0:-", "line": 3, "function": "f", "operator": "math",
              "before": "a + b", "after": "a - b"}  # fmt: skip
    log.add(ev.MutantsFound("main", "a", "a.py", str(other), [mutant]))
    async with drive(log, press="4", shows="source not shown") as d:
        d.assert_shows("a + b", "a - b")
        d.assert_lacks("secret")


async def test_without_mutants_there_is_no_tab_and_a_reason(drive):
    async with drive(running()) as d:
        assert "4 Mut" not in d.text()
        await d.press("4", "d", "E", "m")
        assert d.screen.TAB == "overview" and not d.commands
        assert "fuzztui score RUN" in d.notices()[0]
        found(d.log, 5)  # an engine of a package
        await d.until_shows("4 Mutants")
    async with drive(started("m", engine="mu2"), press="4") as d:
        assert "after loading the target" in d.text()
        found(d.log, 5)
        await d.until(lambda: len(d.table.source) == 5)
        assert d.screen.query_one(MutantStrip).display


async def test_kills_come_in_while_one_looks(drive):
    async with drive(small(), press="4jjj") as d:
        key = d.table.cursor
        assert " 0.0% " in d.text()
        d.log.add(killed("main", IDS[0], 7, 99), killed("main", IDS[3], 8, 100))
        await d.until_shows(" 10.0% ")
        assert d.table.cursor == key == IDS[3]
        await d.until_shows("at trial 100 by main/8")
        await d.press("i")
        assert "last kill 0s ago" in d.text()


async def test_sorting_survivors_first(drive):
    async with drive(mutated(), press=["4", "s", "s", "enter"]) as d:
        states = [d.table.source.row(d.table.source.key(i)).state for i in range(309)]
        assert states[0] == "alive"
        assert [s for i, s in enumerate(states) if i == 0 or s != states[i - 1]][:3] == [
            "alive", "pending", "killed",
        ]  # fmt: skip
        await d.press("S")
        assert d.table.source.row(d.table.source.key(308)).state == "alive"


# --------------------------------------------------------------------- filter


@pytest.mark.slow
async def test_one_state_after_the_other(drive):
    async with drive(mutated(), press="4") as d:
        for state, n in (("killed", 252), ("alive", 33), ("pending", 6), ("skipped", 6),
                         ("equivalent", 6), ("invalid", 6), ("", 309)):  # fmt: skip
            await d.press("f")
            await d.until(lambda n=n: len(d.table.source) == n)
            assert (f"{n}/309" in d.text()) == bool(state)


def grouped():
    """A campaign with survivors of three groups, and one that was killed."""
    return small(8).add(
        ev.EntrySaved("main", 0, "queue/id:000000"),
        killed("main", IDS[0], 0, 5),
        ev.MutantState("main", IDS[3], "alive"),
        ev.MutantState("main", IDS[5], "alive"),
        ev.MutantRuns("main", {IDS[3]: [9, 4, 2], IDS[5]: [9, 4, 2], IDS[2]: [5, 0, 0]},
                      {IDS[3]: ["main/0", "ran"], IDS[2]: ["main/0", "reached"]}),
        analysis("main", 5, unsettled=7),
    )  # fmt: skip


@pytest.mark.slow
async def test_survivors_in_groups_the_first_first(drive):
    async with drive(grouped(), press="4") as d:

        def keys():
            return d.row_keys()

        every = keys()
        unreached = [IDS[i] for i in (1, 4, 6, 7)]
        for wanted in (
            [IDS[3], IDS[5], IDS[2], *unreached], [IDS[3], IDS[5]], [IDS[2]], unreached, every,
        ):  # fmt: skip
            await d.press("v")
            await d.until(lambda wanted=wanted: keys() == wanted)
            assert d.table.cursor == wanted[0] or wanted == every
        # A killed mutant leaves its group.
        await d.press("v", "v")
        d.log.add(killed("main", IDS[3], 1, 9))
        await d.until(lambda: keys() == [IDS[5]])
        await d.press("escape")
        await d.until(lambda: keys() == every)


async def test_all_filters_are_named_and_one_key_removes_them(drive):
    async with drive(grouped(), press="4") as d:
        every = d.row_keys()
        await d.press("slash", *"parse", "enter", "v", "f")
        await d.until(lambda: d.screen._group and d.screen._only and not d.row_keys())
        wanted = {GROUP_LABELS[d.screen._group], d.screen._only, '"parse"'}
        assert {word for word in wanted if word in d.table.empty} == wanted
        await d.press("escape")
        await d.until(lambda: d.row_keys() == every)
        assert (d.screen._group, d.screen._only) == ("", "")
        assert d.table.rows.sort_column is None


async def test_a_group_by_the_mouse(drive):
    async with drive(grouped(), press="4") as d:
        strip = d.screen.query_one(MutantStrip)
        for wanted in ([IDS[2]], IDS[:8]):
            strip.post_message(strip.Chosen(REACHED))
            await d.until(lambda wanted=wanted: len(d.table.source) == len(wanted))


@pytest.mark.slow
async def test_the_entry_that_came_nearest(drive):
    async with drive(grouped(), press="4v") as d:
        await d.until(lambda: d.table.cursor == IDS[3])
        await d.until(lambda: "main/0" in d.text() and "infected ×4" in d.text())
        await d.press("backspace")
        await d.until(lambda: d.screen.TAB == "corpus" and d.table.cursor == "main/0")


@pytest.mark.slow
async def test_a_mutant_is_judged_after_the_end(drive, recorded, tmp_path):
    log = grouped().add(ev.InstanceState("main", "finished"), ev.CampaignState("finished"))
    async with drive(log, run=tmp_path, press="4vd") as d:
        await d.until(lambda: recorded)
        assert recorded == [(tmp_path, cmd.SkipMutants(IDS[3]))]
        assert not d.commands
        await d.until_notice("recorded")
        assert BY_ID["mutant.promote"].why_not(d.app.action_context())
        assert not BY_ID["mutant.equivalent"].why_not(d.app.action_context())
        # A verdict can be taken back.
        assert BY_ID["mutant.requeue"].why_not(d.app.action_context())
        await d.press("escape")
        log.add(*(ev.MutantState("main", id, "equivalent") for id in IDS[:8]))
        await d.until(lambda: not BY_ID["mutant.requeue"].why_not(d.app.action_context()))
        cursor = d.table.cursor
        await d.press("r")
        await d.until(lambda: len(recorded) == 2)
        assert recorded[1] == (tmp_path, cmd.RequeueMutants(cursor))


async def test_a_mutant_leaves_the_filter_when_it_is_killed(drive):
    async with drive(small(), press="4f") as d:
        assert len(d.table.source) == 20
        d.log.add(killed("main", IDS[5], 1, 9))
        await d.until(lambda: len(d.table.source) == 19)
        await d.press("escape")
        await d.until(lambda: len(d.table.source) == 20)


@pytest.mark.slow
async def test_clicking_a_state_in_the_legend(drive):
    async with drive(mutated(), press="4") as d:
        y, line = next((i, t) for i, t in enumerate(d.lines()) if "33 alive" in t)
        await d.pilot.click(offset=(line.index("alive"), y))
        await d.until(lambda: len(d.table.source) == 33)
        await d.pilot.click(offset=(line.index("alive"), y))
        await d.until(lambda: len(d.table.source) == 309)


@pytest.mark.slow
async def test_words_and_conditions(drive):
    cases = [
        ("operator=math", lambda m: m.operator == "math"),
        ("operator=math,state=killed", lambda m: m.operator == "math" and m.state == "killed"),
        ("state=alive items", lambda m: m.state == "alive" and "items" in m.function.lower()),
        ("function=Parser.num* line=19", lambda m: m.line == 19),
        ("operator=", lambda m: True),
        ("NOT is_digit(self", lambda m: m.after.startswith("not is_digit(self")),
        (FIRST, lambda m: m.id == FIRST),
        ("static", lambda m: m.static),
        ("free variables", lambda m: m.state == "invalid"),
    ]
    async with drive(mutated()) as d:

        def listed(wanted):
            source = d.table.source
            return [source.key(i) for i in range(len(source))] == wanted

        await d.press("4", "slash")
        for text, passes in cases:
            d.screen.query_one(Input).value = text
            wanted = [m.id for m in d.app.campaign.mutants.values() if passes(m)]
            assert wanted, text
            await d.until(partial(listed, wanted))
            await d.until(partial(lambda n: f"{n} of 309" in d.text(), len(wanted)))


# ------------------------------------------------------------------- steering


@pytest.mark.parametrize(
    ("key", "command"),
    [
        ("u", cmd.PromoteMutants(FIRST)),
        ("d", cmd.SkipMutants(FIRST)),
        ("r", cmd.RequeueMutants(FIRST)),
        ("less_than_sign", cmd.MoveMutants(FIRST, "first")),
        ("greater_than_sign", cmd.MoveMutants(FIRST, "last")),
    ],
)
async def test_keys_steer_the_mutant_under_the_cursor(drive, key, command):
    async with drive(small(), press=["4", key]) as d:
        await d.until_sent(command)
        await d.until_notice("done at trial 1,234 (so many mutants)")


async def test_the_row_of_a_steered_mutant_shows_what_came_since(drive):
    log = small()
    async with drive(log, press=["4", "u"]) as d:
        await d.until_sent(cmd.PromoteMutants(FIRST))
        log.add(ev.MutantState("main", IDS[0], "alive", steer="promoted"))
        await d.until(lambda: "▲ promoted" in d.text())
        for runs, since in ((64, "+64 runs"), (2943, "+2,943 runs")):
            log.add(ev.MutantRuns("main", {IDS[0]: [runs, runs, runs]}))
            await d.until(lambda since=since: since in d.text())
        assert d.text().count(since) == 1, "the other mutants have no command"


@pytest.mark.slow
async def test_what_is_killed_is_only_requeued(drive):
    async with drive(mutated(), press="4") as d:
        assert "(d Skip)" in d.text()
        await d.press("d")
        assert d.notices() == ["Skip: the mutant is already killed; press r to requeue it"]
        await d.press("m")
        assert "(Skip: the mutant is already killed; press r to requeue it)" in d.text()
        await d.press(*["down"] * 4)  # all of the file: some of them live
        assert "(Skip:" not in d.text()
        await d.press("escape", "r")
        await d.until_sent(cmd.RequeueMutants(FIRST))


@pytest.mark.slow
async def test_a_verdict_wants_its_reason(drive):
    async with drive(small(), press=["4", "equals_sign"]) as d:
        assert "Why can no input" in d.text()
        await d.press("enter")  # without a reason nothing is sent
        await d.press("escape")
        await d.press("equals_sign", *"same", "space", *"both", "enter")
        await d.until_sent(cmd.MarkEquivalent(FIRST, "same both"))


@pytest.mark.slow
async def test_pending_at_once_and_then_what_the_engine_says(drive):
    log = small()
    async with drive(log, size=(120, 60)) as d:  # room for the whole story
        d.world.supervisor.silent = True
        await d.press("4", "d")
        await d.until_shows("skip…")
        assert "1 pending" in d.text()
        log.add(ev.CommandApplied("c1", "main", 9, "1 mutant skipped"))
        log.add(ev.MutantState("main", IDS[0], "skipped", reason="asked for"))
        await d.until_shows("⊘ skipped")
        assert "skip…" not in d.text()
        await d.until(lambda: "applied 1 mutant skipped" in d.text())  # in its story


async def test_a_pending_selection_marks_all_that_it_means(drive):
    log = small()
    log.add(ev.CommandIssued("c9", {"c": "promote-mutants", "select": "operator=math"}, "ctl"))
    async with drive(log, press="4") as d:
        assert d.text().count("promote…") == 3


@pytest.mark.slow
async def test_many_at_once(drive):
    async with drive(mutated(), press="4jjjm") as d:
        assert isinstance(d.app.screen, ScopeScreen)
        d.assert_shows(
            "this mutant", "math in Parser.__init__", "all in Parser.__init__",
            "math in tests/program.py", "all in tests/program.py", "math everywhere",
        )  # fmt: skip
        await d.press("down", "down", "down", "d")
        await d.until_sent(cmd.SkipMutants("file=tests/program.py,operator=math"))
        said = "skip 51 mutants (file=tests/program.py,"
        await d.until(lambda: any(n.startswith(said) for n in d.notices()))


@pytest.mark.slow
async def test_many_by_mouse(drive):
    async with drive(mutated(), press="4m") as d:
        lines = d.lines()
        y = next(i for i, t in enumerate(lines) if "boundary everywhere" in t)
        await d.pilot.click(offset=(lines[y].index("boundary every"), y))
        lines = d.lines()
        y = next(i for i, t in enumerate(lines) if "Promote  " in t and "│" in t)
        await d.pilot.click(offset=(lines[y].index("Promote"), y))
        await d.until_sent(cmd.PromoteMutants("operator=boundary"))


@pytest.mark.slow
async def test_many_after_the_end(drive):
    async with drive(mutated().add(ev.CampaignEnded("finished")), press="4") as d:
        counts = d.app.status.mutants
        for state in filter(counts.count, ("alive", "not run", "never reached")):
            while d.app.screen._only != state:
                await d.press("f")
            await d.until(lambda: d.table.current is not None)
            await d.press("m")
            await d.until(lambda: isinstance(d.app.screen, ScopeScreen))
            assert "all that the table shows" not in d.text()  # a selection has no word for it
            await d.press("escape")


@pytest.mark.slow
async def test_many_as_the_table_is_narrowed(drive):
    async with drive(mutated()) as d:
        await d.press("4", "slash", *"operator", "equals_sign", *"math", "enter", "f", "f")
        await d.until(lambda: d.table.current.state == "alive")
        n = len(d.table.source)
        await d.press("m")
        assert "all that the table shows" in d.text()
        await d.press("up", "equals_sign", *"why", "enter")
        await d.until_sent(cmd.MarkEquivalent("operator=math,state=alive", "why"))
        await d.until_notice(f"equivalent {n} mutants")


@pytest.mark.slow
async def test_leaving_the_menu_does_nothing(drive):
    async with drive(mutated(), press=["4", "m", "down", "escape"]) as d:
        assert d.screen.TAB == "mutants"
        assert not d.commands


@pytest.mark.slow
async def test_the_exact_pass_asks_first(drive):
    async with drive(mutated(), press="4E") as d:
        assert "Run 39 survivors" in d.text()
        await d.press("n")
        await d.press("E", "y")
        await d.until_sent(cmd.ExactPass())


@pytest.mark.slow
async def test_what_the_engine_cannot_is_grey_with_the_reason(drive):
    log = started("m", engine="mu2").add(ev.CampaignState("running"))
    found(log, 3)
    async with drive(log, press="4d") as d:
        assert d.notices() == ["Skip: the engine has not reported its capabilities yet"]
        log.add(ev.InstanceHello("main", "mu2", capabilities=["pause", "skip-mutants"]))
        await d.until_lacks("(d Skip)")
        assert "(u Promote)" in d.text()
        await d.press("u")
        assert d.notices()[-1] == "Promote: this campaign's engine cannot promote mutants"
        await d.press("m", "u")
        assert "(Promote: this campaign's engine cannot promote mutants)" in d.text()
        await d.press("d")
        await d.until(lambda: d.commands)
        assert [c.name for c in d.commands] == ["skip-mutants"]


@pytest.mark.slow
async def test_over_looked_at_and_replayed_campaigns_cannot_be_steered(drive):
    log = mutated()
    async with drive(log, control=False, press="4d") as d:
        assert d.notices() == ["Skip: opened for viewing only"]
    async with drive(log, replay_at=300.0, press="4d") as d:
        assert "d Skip" not in d.text()
        assert ": 24" in d.text()
    log.add(ev.CampaignEnded("finished"))
    async with drive(log, press="4u") as d:
        assert d.notices() == ["Promote: the campaign has finished"]


@pytest.mark.slow
async def test_a_replay_goes_back_before_the_kills(drive):
    async with drive(mutated(), replay_at=600.0, press="4", shows="252 killed") as d:
        await d.press("i", "ctrl+home")
        await d.until_lacks("This campaign has no mutants")
        for _ in range(3):
            await d.press("right")
        await d.until_shows("last kill 0s ago")
        assert "252 of" not in d.text()


async def test_an_id_that_reads_as_a_selection_is_sent_as_an_id(drive):
    log = small(0)
    log.add(ev.MutantsFound("main", "m", "m.py", "", [{"id": "operator=math", "line": 1}]))
    async with drive(log, press="4d") as d:
        await d.until(lambda: d.commands)
        assert parse_selection(d.commands[0].select).named == ["operator=math"]


@pytest.mark.slow
async def test_a_command_acts_on_the_marked_mutants_in_one_step(drive):
    async with drive(small(), press=["4", "space", "j", "space"]) as d:
        assert list(d.table.marks) == [IDS[0], IDS[2]]
        assert d.app.action_context().marked == 2
        await d.press("slash", *"nothing", "enter")
        await d.until(lambda: len(d.table.source) == 0)
        assert d.table.marks.hidden(d.table.source) == 2
        await d.press("escape")
        assert not d.table.marks  # the marks first, then the filter
        assert len(d.table.source) == 0
        await d.press("escape")
        await d.until(lambda: len(d.table.source) == len(IDS))
        await d.press("g", "space", "j", "M", "S", "d")
        await d.until(lambda: d.commands)
        (command,) = d.commands
        assert isinstance(command, cmd.SkipMutants)
        assert parse_selection(command.select).named == sorted(IDS[:3])
        assert not d.table.marks


@pytest.mark.slow
async def test_space_plays_a_replay_and_marks_nothing(drive):
    async with drive(mutated(), replay_at=5.0, press="4") as d:
        paused = d.app.action_context().paused_replay
        await d.press("space")
        assert d.app.action_context().paused_replay is not paused
        assert not d.table.marks


async def test_a_mutant_that_nothing_selects_has_no_menu(drive):
    log = small(0).add(ev.MutantState("main", "operator=math", "alive"))
    async with drive(log, press="4m") as d:
        d.assert_notice("looks like a selection")
        assert len(d.app.screen_stack) == 1


# ------------------------------------------------------------- going and copying


@pytest.mark.slow
async def test_to_the_entry_that_killed_it(drive):
    async with drive(mutated(), press="4") as d:
        killer = d.table.current.killer
        await d.press("backspace")
        await d.until(lambda: d.app.current_mode == "corpus" and d.table.cursor == killer)
        d.assert_shows("── killed", "mutants first")
        await d.press("4", "f", "f", "backspace")
        await d.until(lambda: "No entry has killed this mutant." in d.notices())


@pytest.mark.slow
async def test_a_killer_that_the_corpus_does_not_know(drive):
    async with drive(small().add(killed("main", IDS[0], 77, 5)), press=["4", "backspace"]) as d:
        await d.until(lambda: "main/77 is not in this table." in d.notices())


@pytest.mark.slow
async def test_copying_id_and_place(drive):
    async with drive(mutated(), press="4c") as d:
        assert d.app.clipboard == FIRST
        await d.press("C")
        assert d.app.clipboard == f"{PROGRAM}:5"


@pytest.mark.slow
async def test_keys_typed_into_a_reason_do_nothing_else(drive):
    async with drive(small(), press=["4", "equals_sign", *"udxq1", "escape"]) as d:
        assert d.screen.TAB == "mutants"
        assert not d.commands


@pytest.mark.slow
async def test_every_size_of_terminal(drive):
    async with drive(mutated(), size=(200, 60), press="4") as d:
        assert "303 mutants" in d.text()
        for size in ((120, 40), (80, 24), (60, 18), (30, 10), (8, 3)):
            await d.pilot.resize_terminal(*size)
            await d.until(lambda size=size: len(d.lines()) == size[1])
            for key in (
                "m",
                "down",
                "escape",
                "j",
                "enter",
                "escape",
                "equals_sign",
                "escape",
                "f",
            ):
                await d.pilot.press(key)
        assert not d.commands


@pytest.mark.slow
async def test_eight_thousand_mutants(drive):
    async with drive(mutated(8000, 60), press="4G") as d:
        assert d.table.cursor.split(":")[3] == "7999"
        await d.press("f", "f")
        alive = d.app.campaign.mutant_counts["alive"]
        await d.until(lambda: len(d.table.source) == alive)
        await d.press("m", "up")
        assert f"{alive:,}" in d.text()
        await d.press("escape", "slash", *"9:x")
        await d.until(lambda: 0 < len(d.table.source) < alive)
        assert isinstance(d.screen.query_one(FilterBar).text, str)


@pytest.mark.slow
async def test_after_a_loss_of_records_the_score_is_one_of_what_is_known(drive):
    async with drive(mutated(), press="4") as d:
        assert "as far as known" not in d.text()
        d.log.add(ev.RecordsLost(1, "a block was damaged"))
        await d.until_shows("as far as known")


# ----------------------------------------------------------------------- undo


@pytest.mark.slow
async def test_z_restores_what_the_log_says_was_set_before(drive):
    log = small().add(ev.MutantState("main", IDS[1], "alive", steer="promoted"))
    async with drive(log, press="4") as d:
        assert d.app.action_context().undo
        await d.press("z")
        assert not d.commands
        await d.press("j", "d")
        await d.until_sent(cmd.SkipMutants(IDS[1]))
        log.add(ev.MutantState("main", IDS[1], "skipped"))
        await d.until(lambda: d.app.action_context().undo == "")
        await d.press("z")
        await d.until_sent(cmd.RestoreMutants(f"id={IDS[1]}", "alive", steer="promoted"), after=1)
        log.add(ev.MutantState("main", IDS[1], "alive", steer="promoted"))
        await d.until(lambda: d.app.action_context().undo)  # there is nothing left to undo
        text = d.text()
        await d.press("1")
        await d.until(lambda: "undo of skip-mutants program.py:5" in d.text()), text


async def test_the_commands_of_one_key_press_are_one_step(drive):
    async with drive(small()) as d:
        d.app.steer(cmd.SkipMutants(IDS[0]), "skip")
        d.app.steer(cmd.SkipMutants(IDS[1]), "skip")
        await d.until(lambda: len(d.commands) == 2)
        d.log.add(*(ev.MutantState("main", id, "skipped") for id in IDS[:2]))
        await d.until(lambda: d.app.action_context().undo == "")
        await d.press("z")
        await d.until(lambda: len(d.commands) == 4)
        assert {c.select for c in d.commands[2:]} == {f"id={id}" for id in IDS[:2]}
        d.log.add(*(ev.MutantState("main", id, "pending") for id in IDS[:2]))
        await d.until(lambda: d.app.action_context().undo)


# ------------------------------------------------------------------- accepted


def accepted(id, verdict="accepted"):
    row = {"id": id, "verdict": verdict, "because": "\x1btoo rare", "author": "ada", "date": "2026"}
    return ev.VerdictsChanged([], [row])


@pytest.mark.slow
async def test_a_survivor_is_accepted_and_not_any_more(drive):
    async with drive(grouped(), size=(120, 40), press="4v") as d:
        await d.until(lambda: d.table.cursor == IDS[3])
        await d.press("A", "x", "enter")
        await d.until_sent(cmd.AcceptMutants(IDS[3], "x"))
        d.log.add(accepted(IDS[3]))
        await d.until(lambda: d.screen._scores.groups["accepted"] == 1)
        keys = d.row_keys()
        assert keys[-1] == IDS[3]  # apart: the last of the survivors
        d.table.move_to(len(keys) - 1)
        await d.until_shows("too rare")
        assert "\x1b" not in d.text()
        await d.press("A")
        await d.until_sent(cmd.UnacceptMutants(IDS[3]), after=1)
        # A group of their own.
        for _ in range(4):
            await d.press("v")
        await d.until(lambda: len(d.table.source) == 1 and d.table.cursor == IDS[3])


async def test_marked_survivors_are_accepted_in_one_command(drive):
    async with drive(grouped(), press="4v") as d:
        await d.until(lambda: d.table.cursor == IDS[3])
        await d.press("space", "space", "A", "x", "enter")
        await d.until(lambda: d.commands)
        (command,) = d.commands
        assert isinstance(command, cmd.AcceptMutants)
        assert set(parse_selection(command.select).named) == {IDS[3], IDS[5]}


async def test_only_survivors_are_accepted_also_after_the_end(drive, recorded, tmp_path):
    log = grouped().add(ev.InstanceState("main", "finished"), ev.CampaignState("finished"))
    async with drive(log, run=tmp_path, press=["4", "v", "A", "x", "enter"]) as d:
        await d.until(lambda: recorded)
        assert recorded == [(tmp_path, cmd.AcceptMutants(IDS[3], "x"))]
        log.add(killed("main", IDS[3], 1, 9))
        await d.press("escape")
        await d.until(lambda: d.app.campaign.mutants[IDS[3]].state == "killed")
        d.table.go_to(IDS[3])
        await d.until(lambda: BY_ID["mutant.accept"].why_not(d.app.action_context()))
