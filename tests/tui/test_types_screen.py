"""The types screen: what is aimed at and what is left, steering it, live and in replay."""

import hashlib
import json
import threading
from dataclasses import replace

import pytest
from aimed import LEFT, PINNED, TYPES, aimed, figures
from fakes import Gone, Supervisor, running, started
from mixed import mixed

from fuzztui.features.targeting.fold import TargetingSummary, goal_line
from fuzztui.features.targeting.screen import source
from fuzztui.features.targeting.screen.actions import MOST, PendingTargeting, TargetingContext
from fuzztui.features.targeting.screen.strip import TargetingLine, TargetingStrip, targeted_spans
from fuzztui.kernel.remote.protocol import APPLIED, CommandAnswer
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import (
    DemoteEntry,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    WeighType,
)
from fuzztui.kernel.wire.targeting import analysis_of

HOSTILE = "[/x]\x1b[31m\u202e"


def strip(d):
    return d.painted(TargetingStrip)


# -------------------------------------------------------------------- looking


@pytest.mark.slow
async def test_what_is_aimed_at_and_what_is_left(drive):
    async with drive(aimed(), press="7") as d:
        for words in ("×4 since 0:05:00 by ann@box", "1 step to an uncovered goal",
                      "59 branches first covered", "65% of the targeted mutations, 32% of all",
                      "23,618 times: each time the input had the type"):  # fmt: skip
            assert words in d.details(), words
        assert set(d.row_keys(d.screen.types)) == set(TYPES)
        assert d.row_keys(d.screen.types)[:2] == ["thumbs.model.Thumbnail", "pathlib.Path"]
        assert set(LEFT) < set(d.row_keys(d.screen.targets))
        await d.press("j")
        await d.until(lambda: "2,191 inputs with the type (match), 3,066 without" in d.details())
        assert "its chance is divided by 2.4 because of recent misses" in d.details()


@pytest.mark.slow
async def test_a_target_in_words(drive):
    async with drive(aimed(), press="7t") as d:
        assert d.table is not d.screen.table
        assert d.screen.table.current.location == "thumbs/app.py:18:then"
        for words in ("12% of the trials reach its decision", "31 of 250",
                      "another branch of its decision",
                      "when its condition holds", "decided by: distance, type",
                      "   0  pathlib.Path  14%"):  # fmt: skip
            assert words in d.details(), words
        assert "t Types  o Pin" in d.text()
        assert d.screen.targets.go_to("thumbs/app.py:57:except")
        await d.until(lambda: "only chance can cover it" in d.details())
        await d.until_shows("(o Pin)")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (60, 15), (120, 15)])
async def test_one_table_at_a_time_where_there_is_little_room(drive, size):
    async with drive(aimed(), size=size, press="7") as d:
        below_the_header = "\n".join(d.lines()[2:])
        assert "thumbs/app.py:18" not in below_the_header.split("───", 1)[0]
        await d.press("t")
        assert "thumbs/app.py:18:then" in d.text()
        assert d.app.focused is d.screen.targets
        await d.until(lambda: not d.screen.types.region.height)
        await d.press("t")
        assert d.app.focused is d.screen.types


@pytest.mark.slow
@pytest.mark.parametrize(("size", "tabs"), [((80, 24), True), ((60, 15), True), ((120, 15), True),
                                            ((120, 40), False)])  # fmt: skip
async def test_where_there_is_one_table_a_line_tells_of_the_other(drive, size, tabs):
    async with drive(aimed(), size=size, press="7") as d:
        assert ("types 9    t uncovered goals 29" in d.text()) == tabs
        await d.press("t")
        assert ("t types 9    uncovered goals 29" in d.text()) == tabs
        if tabs:
            y = next(y for y, line in enumerate(d.lines()) if "t types 9" in line)
            await d.pilot.click(offset=(4, y))
            await d.until(lambda: d.app.focused is d.screen.types)
            assert "types 9    t uncovered goals 29" in d.text()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
async def test_the_footer_has_what_is_for_the_table_that_is_looked_at(drive, size):
    async with drive(aimed(pin=True), size=size, press="7") as d:
        assert "> Raise  < Lower" in d.lines()[-1]
        await d.press("t")
        footer = d.lines()[-1]
        assert "t Types  o Unpin  [ Less  ] More  " in footer
        assert "Raise" not in footer
        await d.press("greater_than_sign")  # and the key says why
        assert d.notices() == ["Raise: press t to go to the types"]


@pytest.mark.slow
async def test_the_footer_does_not_end_between_less_and_more(drive):
    async with drive(aimed(), size=(80, 24), press="7") as d:
        for width in range(30, 81):
            await d.pilot.resize_terminal(width, 24)
            footer = d.lines()[-1]
            assert ("[ Less" in footer) == ("] More" in footer), footer
            assert footer.endswith("q Leave  ? Help")
        assert "] More" in footer


@pytest.mark.slow
@pytest.mark.parametrize(("width", "seen"), [
    (120, ["chance", "weight", "steps", "+branch", "match", "drawn", "misses"]),
    (80, ["chance", "weight", "steps", "+branch", "match", "drawn", "misses"]),
    (60, ["chance", "weight", "steps", "+branch"]),
])  # fmt: skip
async def test_what_the_width_shows_of_types(drive, width, seen):
    async with drive(aimed(), size=(width, 24), press="7") as d:
        header = next(line for line in d.lines() if " chance ▼" in line).split("▏")[0]
        assert [word for word in header.split() if word not in "▼›…"] == ["type", *seen]
        assert d.screen.types.virtual_size.width == 0


@pytest.mark.slow
@pytest.mark.parametrize("width", [240, 120])
async def test_a_location_takes_what_room_there_is(drive, width):
    async with drive(aimed(), size=(width, 40), press="7") as d:
        whole = "thumbs/store/headers/parsing.py:112:no-case"
        assert (whole in d.text()) == (width == 240)
        assert "…/parsing.py:112:no-case" in d.text() or width == 240


@pytest.mark.slow
async def test_tab_goes_through_both_and_the_details(drive):
    async with drive(aimed(), press=["7", "tab"]) as d:
        assert d.app.focused is d.screen.targets
        assert "thumbs/app.py:18:then\n" in d.text() or "when its condition" in d.text()
        await d.press("tab", "s", *"wh", "enter")  # from the details, of the table that they are of
        assert d.screen.targets.rows.sort_column.id == "where"
        assert d.screen.types.rows.sort_column.id == "chance"


@pytest.mark.slow
async def test_the_tab_is_there_only_for_engines_that_aim(drive):
    async with drive(running()) as d:
        assert "7 Types" not in d.text()
        await d.press("7")
        assert d.notices() == ["Types: the engine of this campaign does not target types"]
        assert d.screen.TAB == "overview"
    async with drive(started("x", engine="spoton"), size=(80, 24), press="7") as d:
        assert d.screen.TAB == "types"
        assert "No instance has reported its types yet." in d.text()
        await d.press("right_square_bracket")
        assert "(] More)" in d.text() or "([ Less)" in d.text()
        assert not d.commands


@pytest.mark.slow
async def test_typed_before_the_log_is_read(drive):
    async with drive(aimed(), size=(60, 15), wait=False) as d:
        await d.press("7")
        await d.ready()
        assert d.screen.TAB == "types"
        await d.until_shows("29 of 240")


@pytest.mark.slow
async def test_a_replay_shows_the_figures_of_then(drive):
    async with drive(aimed(pin=True), replay_at=600.0, press="7") as d:
        await d.until_shows("▼ pinned thumbs/app.py:41:else")
        # Only what decides about the pinned target can be drawn.
        assert d.row_keys(d.screen.types)[0] == "datetime.datetime"
        assert "[ ]" not in strip(d)[1]
        d.app.seek(101.0)
        await d.until_shows("140 of 240 goals uncovered")
        assert "pinned" not in strip(d)[2]
        assert d.row_keys(d.screen.types)[0] == "thumbs.model.Thumbnail"
        await d.until_shows("×4: set by a user")
        d.app.seek(5.0)
        await d.until_shows("No instance has reported")
        assert d.row_keys(d.screen.targets) == []
        assert "7 Types" in d.text()
        d.app.seek(590.0)
        await d.until_shows("29 of 240")
        await d.press("greater_than_sign", "o")
        assert all("not in a replay" in notice for notice in d.notices())
        assert not d.commands


@pytest.mark.slow
async def test_nothing_is_left(drive):
    log = aimed()
    done = figures("main", 601)
    log.add(
        ev.TargetingStats("main", 0.5, "", 240, 0, 0, done.names, [-1] * 9, done.weights,
                       done.factors, [0] * 9, done.picks, done.matches, done.misses, done.new_arms),
        ev.GoalsUncovered("main", 300, {}, [], anew=True), dt=1.0,
    )  # fmt: skip
    async with drive(log, size=(80, 24), press="7") as d:
        assert "all 240 goals are covered" in strip(d)[1]
        assert "none: no goal that is uncovered depends on this type" in d.text()
        await d.press("t")
        d.assert_shows("all goals are covered", "All goals are covered: 240 goals.")


@pytest.mark.slow
async def test_targets_that_engines_do_not_tell_of_are_counted(drive):
    async with drive(aimed(seconds=100), size=(80, 24), press="7t") as d:
        assert "140 of 240 goals uncovered" in strip(d)[1]
        await d.until_shows("+111 not reported")


async def test_a_campaign_without_types_says_what_helps(drive):
    log = started("x", engine="spoton")
    log.add(ev.InstanceState("main", "running", 1), ev.TargetingStats("main", 0.5, "", 12, 12, 3))
    async with drive(log, size=(120, 40), press="7") as d:
        assert "No known type decides an uncovered goal" in d.details()
        assert "@generator" in d.details()
        assert "no type is drawn" in strip(d)[2]


@pytest.mark.slow
async def test_a_program_that_has_changed_is_why_nothing_is_left(drive):
    log = aimed()
    before, changed = figures("main", 601), ["thumbs/app.py"]
    log.add(
        ev.TargetingStats("main", 0.5, "", 0, 0, 0, before.names, [-1] * 9, before.weights,
                       before.factors, [0] * 9, before.picks, before.matches, before.misses,
                       before.new_arms, changed=changed),
        ev.GoalsUncovered("main", 300, {}, [], anew=True), dt=1.0,
    )  # fmt: skip
    async with drive(log, size=(80, 24), press="7") as d:
        assert "thumbs/app.py has changed since the analysis" in strip(d)[1]
        assert strip(d)[2].strip() == "stop and start the campaign to have it analysed again"
        assert "none: no goal that is known to be uncovered depends on this type" in d.text()
        assert "thumbs/app.py has changed since its types were analysed" in d.details()
        await d.press("t")
        await d.until_shows("none: thumbs/app.py has changed")
        assert "thumbs/app.py has changed since its types were analysed" in d.details()
        assert "No known type" not in d.text()
        await d.press("1")
        assert "thumbs/app.py has changed since the analysis" in d.text()
        log.add(ev.InstanceState("main", "stopped"), ev.CampaignEnded("stopped", ""), dt=1.0)
        await d.press("7", "t")
        await d.until(lambda: strip(d)[2].strip().startswith("start the campaign to have it"))


@pytest.mark.slow
async def test_without_any_type_a_program_that_has_changed_is_why(drive):
    log = started("x", engine="spoton")
    figures = ev.TargetingStats("main", 0.5, changed=["thumbs/app.py", "b.py"])
    log.add(ev.InstanceState("main", "running", 1), figures)
    async with drive(log, size=(120, 40), press="7") as d:
        words = "b.py and thumbs/app.py have changed since their types were analysed"
        assert words in " ".join(d.details().split())
        assert "@generator" not in d.details()
        await d.press("t")
        assert words in " ".join(d.details().split())


async def test_what_is_left_elsewhere_is_shown_beside_what_has_changed(drive):
    log = aimed().add(replace(figures("main", 601), changed=["b.py"]), dt=1.0)
    async with drive(log, size=(80, 24), press="7") as d:
        await d.until(lambda: "≠ 1 file changed" in strip(d)[1])
        assert "29 of 240 goals uncovered" in strip(d)[1]
        assert "next" in strip(d)[2]


PROGRAM = (
    "def thumb(path):\n    taken = year(path)\n    if taken == 2008:\n        return old(path)\n"
)


def write_targets(run, program=PROGRAM, **changes):
    """A run's targets.json, of one target."""
    app = run / "app.py"
    app.write_text(program)
    told = {
        "modules": [{"name": "app", "file": str(app),
                     "sha": hashlib.sha256(program.encode()).hexdigest()[:16]}],
        "targets": [{"location": "thumbs/app.py:18:then", "module": "app", "line": 3}],
    } | changes  # fmt: skip
    (run / "targets.json").write_text(json.dumps(told))


@pytest.mark.slow
async def test_the_program_around_a_target(drive, tmp_path):
    write_targets(tmp_path)
    async with drive(aimed(), press="7t") as d:
        await d.until(lambda: "›     3 │     if taken == 2008:" in d.details())
        assert "      2 │     taken = year(path)" in d.details()
        await d.press("j")
        await d.until(lambda: "targets.json does not contain the goal" in d.details())


@pytest.mark.slow
async def test_lines_of_the_program_are_cut_its_own_wraps(drive, tmp_path):
    program = PROGRAM.replace("year(path)", "year(" + "path.resolve()." * 9 + "x)")
    program = program.replace("== 2008", "== a_first_name and another_name")
    write_targets(tmp_path, program=program)
    async with drive(aimed(), press="7t", shows="›     3 │ ") as d:
        code = [line.rpartition("▏")[2].rstrip() for line in d.lines()]
        own = next(i for i, line in enumerate(code) if "›" in line)
        assert code[own - 1].startswith("       2 │     taken = year(pat") and "…" in code[own - 1]
        assert code[own : own + 3] == [
            " ›     3 │     if taken ==", "               a_first_name and",
            "               another_name:",
        ]  # fmt: skip
        assert code[own + 3].startswith("       4 │ ")


def test_a_program_that_is_not_what_was_analysed_is_not_shown(tmp_path):
    where = "thumbs/app.py:18:then"
    assert "no readable targets.json" in source.load(tmp_path, where).problem
    write_targets(tmp_path)
    assert source.load(tmp_path, where).text == "    if taken == 2008:"
    sha = hashlib.sha256(PROGRAM.encode()).hexdigest()[:16]
    now = analysis_of({"app": sha})
    assert source.load(tmp_path, where, now).text == "    if taken == 2008:"
    assert "analysed again since" in source.load(tmp_path, where, "another").problem
    (tmp_path / "app.py").write_text(PROGRAM.replace("2008", "2009"))
    assert "other code now" in source.load(tmp_path, where).problem
    (tmp_path / "app.py").unlink()
    assert "does not exist" in source.load(tmp_path, where).problem
    infinite = {"location": where, "module": "app", "line": float("inf")}
    for wrong in ({"modules": []}, {"targets": 7}, {"targets": [{"line": 3}]},
                  {"targets": [infinite]}):  # fmt: skip
        write_targets(tmp_path, **wrong)
        assert "no readable targets.json" in source.load(tmp_path, where).problem
    (tmp_path / "targets.json").write_text("[" * 100_000)
    assert "no readable targets.json" in source.load(tmp_path, where).problem


@pytest.mark.slow
async def test_sorting_and_filtering_as_everywhere(drive):
    async with drive(aimed()) as d:
        await d.press("7", "slash", *"headerregistry", "enter")  # of names that are not shown whole
        await d.until(
            lambda: d.row_keys(d.screen.types) == ["email.headerregistry.UniqueDateHeader"]
        )
        assert d.row_keys(d.screen.targets) == ["thumbs/store/headers/parsing.py:112:no-case"]
        await d.press("slash", *"zzz", "enter")
        await d.until_shows("no type passes the filter")
        assert "no goal passes the filter" in d.text()
        await d.press("escape")
        assert len(d.row_keys(d.screen.types)) == len(TYPES)
        await d.press("t", "s", *"wh", "enter")
        places = [goal_line(where) for where in d.row_keys(d.screen.targets)]
        assert places == sorted(places)


@pytest.mark.slow
async def test_to_the_entry_that_aiming_brought(drive):
    async with drive(aimed(), press=["7", "backspace"]) as d:
        await d.until(lambda: d.screen.TAB == "corpus" and d.table.current is not None)
        assert d.table.current.op.startswith("typed:thumbs.model.Thumbnail")
        await d.press("7")
        assert d.screen.types.go_to("uuid.UUID")
        await d.press("backspace", "c")
        assert d.notices() == ["No known entry was made by targeting this type.",
                               "uuid.UUID"]  # fmt: skip
        await d.press("t", "backspace")
        assert d.notices()[-1] == "Find: press t to go to the types"


@pytest.mark.slow
async def test_each_instance_has_its_own_figures(drive):
    async with drive(aimed(instances=("main", "s1")), press="7") as d:
        assert "── instances" in d.text()
        log = d.log
        new = figures("s1", 620)
        new.weights[new.names.index("thumbs.model.Thumbnail")] = 1.0
        log.add(new, dt=1.0)
        await d.until_shows("×4 ≠")


@pytest.mark.slow
async def test_who_ends_is_drawn_from_no_more(drive):
    async with drive(aimed(instances=("main", "s1")), press="7") as d:
        new = figures("s1", 620)
        new.probabilities[:] = [0] * len(new.names)
        d.log.add(new, dt=1.0)
        row = d.screen.types.current.name
        await d.until(lambda: d.screen.types.current.probability < 0.4)
        half = d.screen.types.current.probability
        d.log.add(ev.InstanceState("s1", "finished"), dt=1.0)
        await d.until(lambda: d.screen.types.current.probability == pytest.approx(2 * half))
        assert d.screen.types.current.name == row


@pytest.mark.slow
async def test_the_top_stays_the_top_until_somebody_moves(drive):
    async with drive(aimed(), press="7") as d:
        new = figures("main", 601)
        new.probabilities[new.names.index("os.stat_result")] = 900_000
        d.log.add(new, dt=1.0)
        await d.until(lambda: d.row_keys(d.screen.types)[0] == "os.stat_result")
        assert d.screen.types.current.name == "os.stat_result"
        await d.press("j")
        was = d.screen.types.current.name
        d.log.add(figures("main", 602), dt=1.0)
        await d.until(lambda: d.row_keys(d.screen.types)[0] == "thumbs.model.Thumbnail")
        assert d.screen.types.current.name == was


@pytest.mark.slow
async def test_names_of_hostile_programs_are_harmless(drive):
    log = aimed()
    names = [HOSTILE, "\ud800", "x" * 190, "a." * 99, "[bold]y", "日本.型"]
    n = len(names)
    log.add(
        ev.InstanceState(HOSTILE, "running", 1),
        ev.TargetingStats(HOSTILE, 9.0, HOSTILE, 10**9, 10**8, 10**12, names, [0] * n, [2.0] * n,
                       [1.0] * n, [10**5] * n, [1] * n, [1] * n, [1] * n, [1] * n),
        replace(figures("s1", 600), instance="s1", ignored=[*names, "\x1b[2J"]),
        ev.GoalsUncovered(HOSTILE, 5, {
            name: {"frontier": True, "reached": 3, "types": [[name, 0], ["x" * 190, 3]]}
            for name in [*names, "a" * 300 + ".py:3:then", "::::", "x.py:" + "9" * 50 + ":then"]
        }),
        ev.CommandIssued("c77", encode_command(WeighType(HOSTILE, 3.0)), HOSTILE),
        ev.CommandIssued("c78", encode_command(PinGoal(HOSTILE)), HOSTILE),
        ev.CommandIssued("c79", encode_command(IgnoreGoal(HOSTILE)), HOSTILE),
    )  # fmt: skip
    for size in ((120, 40), (80, 24), (40, 12)):
        async with drive(log, size=size) as d:
            for key in ("7", "t", "1"):
                await d.press(key, *"js" * (key != "1"))
                d.assert_lacks("\x1b", "\u202e")
                assert len(d.lines()) == size[1]


@pytest.mark.slow
async def test_a_thousand_rows_of_each_do_not_freeze(drive):
    log = started("x", engine="spoton")
    names = [f"package.module{i % 37}.Type{i}" for i in range(1000)]
    log.add(ev.InstanceState("main", "running", 1))
    ones = [1] * 1000
    log.add(ev.TargetingStats("main", 0.5, "", 5000, 3000, 100, names, ones, [1.0] * 1000,
                           [1.0] * 1000, [1000] * 1000, ones, ones, ones, ones))  # fmt: skip
    log.add(ev.GoalsUncovered("main", 9, {
        f"p/m{i % 9}.py:{i}:then": {"frontier": False, "reached": 0,
                                    "types": [[names[(i + n) % 1000], n] for n in range(8)]}
        for i in range(1000)
    }))  # fmt: skip
    async with drive(log, press=["7", "end", "t", "end", "home", "t", "pageup"]) as d:
        assert len(d.row_keys(d.screen.types)) == len(d.row_keys(d.screen.targets)) == 1000


# ------------------------------------------------------------------- steering


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (["greater_than_sign"], WeighType("thumbs.model.Thumbnail", 8.0)),
        (["less_than_sign"], WeighType("thumbs.model.Thumbnail", 2.0)),
        (["b"], WeighType("thumbs.model.Thumbnail", 0.0)),
        (["end", "b"], WeighType("PIL.Image.Image", 1.0)),
        (["t", "o"], PinGoal("thumbs/app.py:18:then")),
        (["t", "d"], IgnoreGoal("thumbs/app.py:18:then")),
        (["t", "d", "k", "d"], IgnoreGoal("thumbs/app.py:18:then", False)),
        (["right_square_bracket"], SetTargetedShare(0.55)),
        (["left_square_bracket"], SetTargetedShare(0.45)),
        (["greater_than_sign"] * 3, WeighType("thumbs.model.Thumbnail", 32.0)),
        (["right_square_bracket"] * 3, SetTargetedShare(0.65)),
    ],
)
async def test_keys_ask_for_it_steps_as_one_command(drive, never_settles, keys, asked):
    async with drive(aimed()) as d:
        await d.press("7", *keys)  # however long that takes
        assert not d.commands
        d.screen.leave()
        await d.until(lambda: d.commands)
        await d.still()
        assert d.commands == [asked]


@pytest.mark.slow
async def test_steps_are_sent_when_none_follows(drive):
    async with drive(aimed(), press=["7", "greater_than_sign"]) as d:
        await d.until_sent(WeighType("thumbs.model.Thumbnail", 8.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "keys"), [(aimed, ["7", "greater_than_sign"]), (mixed, ["6", "less_than_sign"])]
)
@pytest.mark.parametrize("leave", ["1", "question_mark", "q"])
async def test_what_is_pending_is_sent_when_the_screen_is_left(
    drive, never_settles, log, keys, leave
):
    async with drive(log(), press=keys) as d:
        assert not d.commands
        await d.press(leave)
        await d.until(lambda: d.commands)
    assert len(d.commands) == 1


@pytest.mark.slow
async def test_who_leaves_does_not_wait_for_an_answer(drive, monkeypatch):
    monkeypatch.setattr("fuzztui.tui.app.action_app.LEAVE_S", 0.05)
    log, answer = aimed(), threading.Event()

    class Mute(Supervisor):
        def send(self, command, timeout=10.0, **_about):
            self.commands.append(command)
            answer.wait(timeout)
            return CommandAnswer(APPLIED)

    async with drive(log, supervisor=Mute(log), press=["7", "greater_than_sign", "q"]) as d:
        await d.until(lambda: d.app._exit and d.commands)  # its thread may be slower than we
    answer.set()
    assert d.commands == [WeighType("thumbs.model.Thumbnail", 8.0)]


@pytest.mark.slow
async def test_steps_for_several_things_are_a_command_each(drive, never_settles):
    async with drive(aimed(), silent=True) as d:
        await d.press("7", "greater_than_sign", "j", "less_than_sign", "less_than_sign")
        assert "→ thumbs.model.Thumbnail ×8, pathlib.Path ÷4" in strip(d)[2]
        assert "not sent yet" in strip(d)[2]
        d.screen.leave()
        await d.until_sent(
            WeighType("thumbs.model.Thumbnail", 8.0), WeighType("pathlib.Path", 0.25)
        )


@pytest.mark.slow
async def test_pending_until_the_engines_answer(drive):
    async with drive(aimed(), silent=True, press=["7", "greater_than_sign"]) as d:
        await d.until_shows("sent by me@here, waiting for the engines…")
        assert "→ ×8" in d.text()
        # The next step continues from what is asked for.
        await d.press("greater_than_sign")
        assert "→ ×16" in d.text()
        await d.until(lambda: len(d.commands) == 2)
        d.log.add(ev.CommandApplied("c1", "main", 9), ev.CommandApplied("c2", "main", 9), dt=1.0)
        await d.until_shows("×16 since")
        assert "→" not in d.text()


@pytest.mark.slow
async def test_a_pin_is_asked_then_shown_then_ended(drive):
    async with drive(aimed(), silent=True, press="7t") as d:
        assert d.screen.targets.go_to(PINNED)
        await d.press("o")
        await d.until_shows("→ pin…")
        await d.until(lambda: d.commands)
        d.log.add(ev.CommandApplied("c1", "main", 9), figures("main", 601, pinned=PINNED), dt=1.0)
        await d.until(lambda: f"▼ pinned {PINNED}" in strip(d)[2])
        assert d.row_keys(d.screen.targets)[0] == PINNED
        assert "only this goal is targeted, until" in d.details()
        assert "o Unpin" in d.text()
        # On another target the key pins that one; on a type it ends the pin.
        await d.press("t")
        assert "o Unpin" in d.text()
        await d.press("o")
        await d.until_sent(PinGoal(""), after=1)
        d.log.add(ev.CommandApplied("c2", "main", 9), figures("main", 602), dt=1.0)
        await d.until(lambda: "next Thumbnail" in strip(d)[2])


@pytest.mark.slow
async def test_targets_are_ignored_each_by_a_command_then_shown_so_then_minded_again(drive):
    log, others = aimed(), ["thumbs/app.py:18:then", "thumbs/model.py:9:loop"]
    async with drive(log, silent=True, press="7t") as d:
        for where in others:
            assert d.screen.targets.go_to(where)
            await d.press("d")
        await d.until(lambda: d.text().count("→ ignore…") >= 2)
        assert f"→ ignore {others[0]}, ignore {others[1]}" in strip(d)[2]
        await d.until(lambda: len(d.commands) == 2)
        assert d.commands == [IgnoreGoal(where) for where in others]
        log.add(
            ev.CommandApplied("c1", "main", 9), ev.CommandApplied("c2", "main", 9),
            figures("main", 601, ignored=others), dt=1.0,
        )  # fmt: skip
        await d.until(lambda: "⊘ 2 ignored" in strip(d)[1])
        assert d.row_keys(d.screen.targets)[-2:] == others
        assert d.screen.targets.go_to(others[1])
        await d.until(lambda: "the goal is never targeted, as if it were covered" in d.details())
        d.assert_shows("⊘ ignored", "d Unignore")
        await d.press("d")
        await d.until_shows("→ target…")
        await d.until_sent(IgnoreGoal(others[1], False), after=2)
        log.add(ev.CommandApplied("c3", "main", 9), dt=1.0)  # so it is before figures say it
        await d.until(lambda: "⊘ 1 ignored" in strip(d)[1])
        # Pinning ends it, too.
        assert d.screen.targets.go_to(others[0])
        await d.press("o")
        await d.until_shows("→ pin…")
        assert "d Ignore" in d.text()
        await d.until(lambda: len(d.commands) == 4)
        log.add(ev.CommandApplied("c4", "main", 9), dt=1.0)
        await d.until(lambda: f"▼ pinned {others[0]}" in strip(d)[2])
        assert "ignored" not in strip(d)[1]


@pytest.mark.slow
async def test_the_same_key_ignores_one_after_the_other(drive):
    async with drive(aimed(), silent=True, press="7t") as d:
        table = d.screen.targets
        first, below = d.row_keys(table)[:3], d.row_keys(table)[3]
        await d.press("d", "d", "d")
        assert table.cursor == below
        await d.until(lambda: d.commands == [IgnoreGoal(where) for where in first])
        for n in (1, 2, 3):
            d.log.add(ev.CommandApplied(f"c{n}", "main", 9), dt=1.0)
        d.log.add(figures("main", 601, ignored=first))
        await d.until(lambda: d.row_keys(table)[-3:] == first)
        assert (d.row_keys(table)[0], table.cursor) == (below, below)
        # From one that is ignored it continues among those; at the end it turns back.
        await d.press("end", "d")
        assert table.cursor == first[1]
        await d.until_sent(IgnoreGoal(first[2], False), after=3)


@pytest.mark.slow
async def test_the_same_key_bans_one_after_the_other(drive):
    log = aimed()
    async with drive(log, silent=True, press="7") as d:
        table = d.screen.types
        first, below = d.row_keys(table)[:2], d.row_keys(table)[2]
        await d.press("b", "b")
        await d.until(lambda: d.commands == [WeighType(name, 0.0) for name in first])
        new = figures("main", 601)
        for name in first:
            new.weights[new.names.index(name)] = 0.0
            new.probabilities[new.names.index(name)] = 0
        log.add(ev.CommandApplied("c1", "main", 9), ev.CommandApplied("c2", "main", 9), new, dt=1.0)
        await d.until(lambda: d.row_keys(table)[0] == table.cursor == below)


@pytest.mark.slow
async def test_the_only_one_of_its_kind_keeps_the_cursor(drive, never_settles):
    async with drive(aimed()) as d:
        await d.press("7", "end", "b")  # the only one that is banned
        assert d.screen.types.cursor == "PIL.Image.Image"
        await d.press("b")
        d.screen.leave()
        await d.until_sent(WeighType("PIL.Image.Image", 0.0))


@pytest.mark.slow
async def test_a_replay_shows_what_was_ignored_then(drive):
    log = aimed()
    ignored = IgnoreGoal("thumbs/app.py:18:then")
    log.add(ev.CommandIssued("c9", encode_command(ignored)), dt=10.0)
    log.add(ev.CommandApplied("c9", "main", 9), figures("main", 611, ignored=[ignored.location]))
    log.add(figures("main", 700), dt=90.0)
    async with drive(log, replay_at=612.0, press=["7", "t", "end"]) as d:
        await d.until_shows("⊘ ignored   thumbs/app.py:18:then")
        await d.press("d")
        assert d.notices() == ["Unignore: not in a replay"]
        d.app.seek(590.0)
        await d.until_lacks("ignored")
        assert "◆ frontier  thumbs/app.py:18:then" in d.text()


@pytest.mark.slow
async def test_an_engine_that_cannot_ignore_says_so(drive):
    async with drive(aimed(able=False), press="7td") as d:
        assert d.notices() == ["Ignore: this campaign's engine cannot ignore a goal"]
        assert not d.commands


@pytest.mark.slow
async def test_what_no_type_decides_about_cannot_be_pinned_or_ignored(drive):
    async with drive(aimed(), press="7dt") as d:
        assert d.screen.targets.go_to("thumbs/app.py:57:except")
        await d.press("o", "d", "b", "greater_than_sign")
        assert d.notices() == [
            "Ignore: press t to go to the goals",
            "Pin: no type is known that decides this goal",
            "Ignore: no type is known that decides this goal", "Ban: press t to go to the types",
            "Raise: press t to go to the types",
        ]  # fmt: skip
        assert not d.commands


@pytest.mark.slow
async def test_a_refusal_takes_the_wish_back(drive):
    async with drive(aimed(), refuse="no such type", press=["7", "greater_than_sign"]) as d:
        await d.until_notice("no such type")
        await d.until_lacks("→")
        assert d.notices() == ["thumbs.model.Thumbnail ×8: rejected: no such type"]


@pytest.mark.slow
async def test_what_was_sent_to_nobody_is_not_wished_for_ever(drive, monkeypatch):
    monkeypatch.setattr("fuzztui.tui.frame.steered.ECHO_S", 0.3)
    log = aimed()
    async with drive(log, supervisor=Gone(log)) as d:
        await d.press("7", "greater_than_sign", "right_square_bracket")
        await d.until_notice("connection refused")
        await d.until_lacks("→")


@pytest.mark.slow
async def test_an_engine_that_cannot_says_why(drive):
    async with drive(aimed(able=False)) as d:
        await d.press("7", "greater_than_sign", "right_square_bracket")
        assert d.notices() == [
            "Raise: this campaign's engine cannot weigh types: targets.json could not be made",
            "More: this campaign's engine cannot change the targeted share during the campaign",
        ]  # fmt: skip
        assert not d.commands


def test_why_nothing_more_can_be_asked():
    assert not TargetingContext(weight=1.0).raising()
    assert "banned" in TargetingContext(weight=0.0).raising()
    assert "banned" in TargetingContext(weight=0.0).lowering()
    assert "high" in TargetingContext(weight=MOST).raising()
    assert "low" in TargetingContext(weight=1 / MOST).lowering()
    assert "no type under" in TargetingContext().weighing()
    assert "already" in TargetingContext(targeted=1.0).more()
    assert "already" in TargetingContext(targeted=0.0).less()
    assert not TargetingContext(targeted=0.0).more()
    assert TargetingContext(pinned="a").unpins
    assert not TargetingContext(pinned="a", target="b", on_targets=True).unpins
    assert "no goal under" in TargetingContext(on_targets=True).ignoring()
    assert not TargetingContext(on_targets=True, target="a", ignored=True).ignoring()


def test_what_is_asked_about_a_target_is_what_was_asked_last():
    asked = PendingTargeting((IgnoreGoal("a"), PinGoal("a"), IgnoreGoal("b"), PinGoal("c"),
                   IgnoreGoal("c"), IgnoreGoal("b", False)))  # fmt: skip
    assert [asked.ignored(name) for name in "abcd"] == [False, False, True, None]


# -------------------------------------------------------- overview and corpus


@pytest.mark.slow
async def test_one_line_on_the_overview(drive):
    async with drive(aimed(pin=True)) as d:
        line = next(line for line in d.lines() if "goals uncovered" in line)
        assert "▼ thumbs/app.py:41:else" in line
        assert line.endswith("50% of mutations targeted")
    async with drive(running()) as d:
        assert not d.screen.query_one(TargetingLine).display


def test_when_every_goal_is_covered_no_share_is_shown():
    over = TargetingSummary(0.5, "", 9, 0, 0, is_over=True)
    assert targeted_spans(over) == []
    assert (
        "covered" in TargetingContext.of(over, None, PendingTargeting(()), on_targets=False).more()
    )
    shown = targeted_spans(TargetingSummary(0.5, "", 9, 2, 1, adaptive=True))[0]
    assert "50% of mutations targeted, adaptive" in "".join(span.text for span in shown)


@pytest.mark.slow
async def test_coverage_of_libraries_has_a_scale_of_its_own(drive):
    async with drive(aimed()) as d:
        assert "Library code  22,986" in d.text()
        assert "22,986" in d.lines()[4]
        d.assert_shows("▒ all 1,065  █ valid 745", " 3rd party ")
        await d.press("enter")
        await d.until_shows("745 by valid inputs, 22,986 3rd-party lines")
    async with drive(aimed(), size=(80, 24)) as d:
        assert "22,986" in d.lines()[3]
        assert "▒ all 1,065" in d.text()


@pytest.mark.slow
async def test_it_is_not_shown_where_it_is_not_measured(drive):
    for log in (aimed(libraries=False), running()):
        async with drive(log) as d:
            d.assert_shows("Corpus  ")
            d.assert_lacks("Library", "library", "libs")


@pytest.mark.slow
async def test_entries_can_be_demoted_where_the_engine_can(drive):
    async with drive(aimed(), press="2") as d:
        assert "▽ demoted" in d.text()
        assert d.table.go_to("main/3")
        await d.until_shows("main/3  demoted")
        await d.press("j", "D")
        await d.until_sent(DemoteEntry(4, "main"))
    async with drive(running(), press="2D") as d:
        assert d.notices() == ["Demote: main's engine cannot demote entries"]
