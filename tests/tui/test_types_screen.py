"""The types screen: what is aimed at and what is left, steering it, live and in replay."""

import hashlib
import itertools
import json
from dataclasses import replace

import pytest
from aimed import LEFT, PINNED, TYPES, aimed, figures, left
from fakes import Supervisor, running, started
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.spoton.distances import label_of
from fuzztui.model.types import TargetRow, TypeRow
from fuzztui.tui import targetsource
from fuzztui.tui.aiming import MOST, Aiming, Asked
from fuzztui.tui.describe import FIGURES, command_words, describe
from fuzztui.tui.typecolumns import Looks, target_columns, type_columns
from fuzztui.tui.typewords import (
    brief_location,
    brief_type,
    named_by,
    place_of,
    type_label,
    weight_words,
    wish_words,
)
from fuzztui.tui.widgets.aimline import AimLine
from fuzztui.tui.widgets.aimstrip import AimStrip
from fuzztui.wire import events as ev
from fuzztui.wire.codec import encode_command
from fuzztui.wire.commands import DemoteEntry, IgnoreTarget, PinTarget, SetTargeted, WeighType

HOSTILE = "[/x]\x1b[31m\u202e"


def commands(d):
    return d.world.supervisor.commands


def strip(d):
    """The lines above the tables, as text."""
    widget = d.screen.query_one(AimStrip)
    lines = widget.paint(widget.size.width, widget.size.height)
    return ["".join(span.text for span in line) for line in lines]


def details(d):
    """What the pane says, before it is wrapped."""
    return "\n".join("".join(span.text for span in line) for line in d.screen.pane.lines)


def rows(table):
    """Keys as a table shows them."""
    return [table.source.key(i) for i in range(len(table.source))]


# -------------------------------------------------------------------- looking


async def test_what_is_aimed_at_and_what_is_left(drive):
    async with drive(aimed()) as d:
        await d.press("7")
        text = d.text()
        for words in (
            " covered 211 ", "29 of 240 targets left, ▓ 9 on the frontier",
            "50% of mutations aim at types [ ]", "next thumbs.model.Thumbnail 65%",
            "pathlib.Path             ━        14%  ×1            0     13   2,191  3,066",
            "⊘ banned", "÷2", "◆ frontier  thumbs/app.py:18:then         12%  pathlib.Path 0",
            "no type is known", "decides about 2 left", "latest finds", "> Raise",
        ):  # fmt: skip
            assert words in text, words
        for words in ("×4 since 0:05:00 by ann@box", "1 step to what is left",
                      "59 arms first covered", "65% of the mutations that aim, 32% of all",
                      "23,618 times: the inputs had one each time"):  # fmt: skip
            assert words in details(d), words
        assert set(rows(d.screen.types)) == set(TYPES)
        assert rows(d.screen.types)[:2] == ["thumbs.model.Thumbnail", "pathlib.Path"]
        assert set(LEFT) < set(rows(d.screen.targets))
        await d.press("j")
        await d.until(lambda: "2,191 inputs had one, 3,066 had none" in details(d))
        assert "so its chance is divided by 2.4" in details(d)


async def test_a_target_in_words(drive):
    async with drive(aimed()) as d:
        await d.press("7", "t")
        assert d.table is not d.screen.table
        assert d.screen.table.current.location == "thumbs/app.py:18:then"
        for words in ("12% of the trials come", "31 of 250", "another arm of its branch",
                      "when its condition holds", "decided by parts of", "0 steps"):  # fmt: skip
            assert words in details(d), words
        assert "t Types  o Pin" in d.text()
        assert d.screen.targets.go_to("thumbs/app.py:57:except")
        await d.until(lambda: "only chance gets there" in details(d))
        assert "(o Pin)" in d.text()


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (120, 15)])
async def test_one_table_at_a_time_where_there_is_little_room(drive, size):
    async with drive(aimed(), size=size) as d:
        await d.press("7")
        assert "thumbs/app.py:18" not in d.text().split("───", 1)[0]
        await d.press("t")
        assert "thumbs/app.py:18:then" in d.text()
        assert d.app.focused is d.screen.targets
        assert not d.screen.types.region.height
        await d.press("t")
        assert d.app.focused is d.screen.types


async def test_tab_goes_through_both_and_the_details(drive):
    async with drive(aimed()) as d:
        await d.press("7", "tab")
        assert d.app.focused is d.screen.targets
        assert "thumbs/app.py:18:then\n" in d.text() or "when its condition" in d.text()
        await d.press("tab", "s")  # from the details, of the table that they are of
        assert d.screen.targets.rows.sort_column.id == "where"
        assert d.screen.types.rows.sort_column.id == "chance"


async def test_the_tab_is_there_only_for_engines_that_aim(drive):
    async with drive(running()) as d:
        assert "7 Types" not in d.text()
        await d.press("7")
        assert d.notices() == ["Types: this campaign's engine aims at no types"]
        assert d.screen.TAB == "overview"
    async with drive(started("x", engine="spoton"), size=(80, 24)) as d:
        await d.press("7")
        assert d.screen.TAB == "types"
        assert "No instance has told of its types yet." in d.text()
        await d.press("right_square_bracket")
        assert "(] More)" in d.text() or "([ Less)" in d.text()
        assert commands(d) == []


async def test_typed_before_the_log_is_read(drive):
    async with drive(aimed(), size=(60, 15), wait=False) as d:
        await d.press("7")
        await d.ready()
        assert d.screen.TAB == "types"
        await d.until(lambda: "29 of 240" in d.text())


async def test_a_replay_shows_the_figures_of_then(drive):
    async with drive(aimed(pin=True), replay_at=600.0) as d:
        await d.press("7")
        await d.until(lambda: "▼ pinned thumbs/app.py:41:else" in d.text())
        # Only what decides about the pinned target can be drawn.
        assert rows(d.screen.types)[0] == "datetime.datetime"
        assert "[ ]" not in strip(d)[1]
        d.app.seek(101.0)
        await d.until(lambda: "140 of 240 targets left" in d.text())
        assert "pinned" not in strip(d)[2]
        assert rows(d.screen.types)[0] == "thumbs.model.Thumbnail"
        await d.until(lambda: "×4: somebody's word" in d.text())
        d.app.seek(5.0)
        await d.until(lambda: "No instance has told" in d.text())
        assert rows(d.screen.targets) == []
        assert "7 Types" in d.text()
        d.app.seek(590.0)
        await d.until(lambda: "29 of 240" in d.text())
        await d.press("greater_than_sign", "o")
        assert all("not in a replay" in notice for notice in d.notices())
        assert commands(d) == []


async def test_nothing_is_left(drive):
    log = aimed()
    done = figures("main", 601)
    log.add(
        ev.TypeFigures("main", 0.5, "", 240, 0, 0, done.names, [-1] * 9, done.weights,
                       done.factors, [0] * 9, done.picks, done.matches, done.misses, done.new_arms),
        ev.TargetsLeft("main", 300, {}, [], anew=True), dt=1.0,
    )  # fmt: skip
    async with drive(log, size=(80, 24)) as d:
        await d.press("7")
        assert "all 240 targets are covered" in strip(d)[1]
        assert "none: nothing that is left to cover depends on it" in d.text()
        await d.press("t")
        assert "everything that can be aimed at is covered" in d.text()
        assert "Everything that can be aimed at is covered: all 240 targets." in d.text()


async def test_targets_that_engines_do_not_tell_of_are_counted(drive):
    log = aimed(seconds=100)
    async with drive(log, size=(80, 24)) as d:
        await d.press("7", "t")
        assert "140 of 240 targets left" in strip(d)[1]
        assert "+111 not told" in d.text()


async def test_a_campaign_without_types_says_what_helps(drive):
    log = started("x", engine="spoton")
    log.add(ev.InstanceState("main", "running", 1), ev.TypeFigures("main", 0.5, "", 12, 12, 3))
    async with drive(log, size=(120, 40)) as d:
        await d.press("7")
        assert "No type is known to decide about what is left" in details(d)
        assert "@generator" in details(d)
        assert "no type is drawn" in strip(d)[2]


PROGRAM = (
    "def thumb(path):\n    taken = year(path)\n    if taken == 2008:\n        return old(path)\n"
)


def write_targets(run, **changes):
    """A run's targets.json, of one target."""
    app = run / "app.py"
    app.write_text(PROGRAM)
    told = {
        "modules": [{"name": "app", "file": str(app),
                     "sha": hashlib.sha256(PROGRAM.encode()).hexdigest()[:16]}],
        "targets": [{"location": "thumbs/app.py:18:then", "module": "app", "line": 3}],
    } | changes  # fmt: skip
    (run / "targets.json").write_text(json.dumps(told))


async def test_the_program_around_a_target(drive, tmp_path):
    write_targets(tmp_path)
    async with drive(aimed()) as d:
        await d.press("7", "t")
        await d.until(lambda: "›     3 │     if taken == 2008:" in details(d))
        assert "      2 │     taken = year(path)" in details(d)
        await d.press("j")
        await d.until(lambda: "targets.json does not know it" in details(d))


def test_a_program_that_is_not_what_was_analysed_is_not_shown(tmp_path):
    where = "thumbs/app.py:18:then"
    assert "no targets.json" in targetsource.load(tmp_path, where).problem
    write_targets(tmp_path)
    assert targetsource.load(tmp_path, where).text == "    if taken == 2008:"
    (tmp_path / "app.py").write_text(PROGRAM.replace("2008", "2009"))
    assert "something else now" in targetsource.load(tmp_path, where).problem
    (tmp_path / "app.py").unlink()
    assert "no such file" in targetsource.load(tmp_path, where).problem
    infinite = {"location": where, "module": "app", "line": float("inf")}
    for wrong in ({"modules": []}, {"targets": 7}, {"targets": [{"line": 3}]},
                  {"targets": [infinite]}):  # fmt: skip
        write_targets(tmp_path, **wrong)
        assert "no targets.json" in targetsource.load(tmp_path, where).problem
    (tmp_path / "targets.json").write_text("[" * 100_000)
    assert "no targets.json" in targetsource.load(tmp_path, where).problem


async def test_sorting_and_filtering_as_everywhere(drive):
    async with drive(aimed()) as d:
        await d.press("7", "slash", *"headerregistry", "enter")  # of names that are not shown whole
        await d.until(lambda: rows(d.screen.types) == ["email.headerregistry.UniqueDateHeader"])
        assert rows(d.screen.targets) == ["thumbs/store/headers/parsing.py:112:no-case"]
        await d.press("slash", *"zzz", "enter")
        await d.until(lambda: "no type passes the filter" in d.text())
        assert "no target passes the filter" in d.text()
        await d.press("escape")
        assert len(rows(d.screen.types)) == len(TYPES)
        await d.press("t", "s")
        places = [place_of(where) for where in rows(d.screen.targets)]
        assert places == sorted(places)


async def test_to_the_entry_that_aiming_brought(drive):
    async with drive(aimed()) as d:
        await d.press("7", "backspace")
        await d.until(lambda: d.screen.TAB == "corpus" and d.table.current is not None)
        assert d.table.current.op.startswith("typed:thumbs.model.Thumbnail")
        await d.press("7")
        assert d.screen.types.go_to("uuid.UUID")
        await d.press("backspace", "c")
        assert d.notices() == ["No entry that is known was made by aiming at this type.",
                               "uuid.UUID"]  # fmt: skip
        await d.press("t", "backspace")
        assert d.notices()[-1] == "Find: t goes to the types"


async def test_each_instance_has_its_own_figures(drive):
    async with drive(aimed(instances=("main", "s1"))) as d:
        await d.press("7")
        assert "── instances" in d.text()
        log = d.world.log
        new = figures("s1", 620)
        new.weights[new.names.index("thumbs.model.Thumbnail")] = 1.0
        log.add(new, dt=1.0)
        await d.until(lambda: "×4 ≠" in d.text())


async def test_who_ends_is_drawn_from_no_more(drive):
    async with drive(aimed(instances=("main", "s1"))) as d:
        await d.press("7")
        new = figures("s1", 620)
        new.probabilities[:] = [0] * len(new.names)
        d.world.log.add(new, dt=1.0)
        row = d.screen.types.current.name
        await d.until(lambda: d.screen.types.current.probability < 0.4)
        half = d.screen.types.current.probability
        d.world.log.add(ev.InstanceState("s1", "finished"), dt=1.0)
        await d.until(lambda: d.screen.types.current.probability == pytest.approx(2 * half))
        assert d.screen.types.current.name == row


async def test_the_top_stays_the_top_until_somebody_moves(drive):
    async with drive(aimed()) as d:
        await d.press("7")
        new = figures("main", 601)
        new.probabilities[new.names.index("os.stat_result")] = 900_000
        d.world.log.add(new, dt=1.0)
        await d.until(lambda: rows(d.screen.types)[0] == "os.stat_result")
        assert d.screen.types.current.name == "os.stat_result"
        await d.press("j")
        was = d.screen.types.current.name
        d.world.log.add(figures("main", 602), dt=1.0)
        await d.until(lambda: rows(d.screen.types)[0] == "thumbs.model.Thumbnail")
        assert d.screen.types.current.name == was


async def test_names_of_hostile_programs_are_harmless(drive):
    log = aimed()
    names = [HOSTILE, "\ud800", "x" * 190, "a." * 99, "[bold]y", "日本.型"]
    n = len(names)
    log.add(
        ev.InstanceState(HOSTILE, "running", 1),
        ev.TypeFigures(HOSTILE, 9.0, HOSTILE, 10**9, 10**8, 10**12, names, [0] * n, [2.0] * n,
                       [1.0] * n, [10**5] * n, [1] * n, [1] * n, [1] * n, [1] * n),
        replace(figures("s1", 600), instance="s1", ignored=[*names, "\x1b[2J"]),
        ev.TargetsLeft(HOSTILE, 5, {
            name: {"frontier": True, "reached": 3, "types": [[name, 0], ["x" * 190, 3]]}
            for name in [*names, "a" * 300 + ".py:3:then", "::::", "x.py:" + "9" * 50 + ":then"]
        }),
        ev.CommandIssued("c77", encode_command(WeighType(HOSTILE, 3.0)), HOSTILE),
        ev.CommandIssued("c78", encode_command(PinTarget(HOSTILE)), HOSTILE),
        ev.CommandIssued("c79", encode_command(IgnoreTarget(HOSTILE)), HOSTILE),
    )  # fmt: skip
    for size in ((120, 40), (80, 24), (40, 12)):
        async with drive(log, size=size) as d:
            for key in ("7", "t", "1"):
                await d.press(key, *"js" * (key != "1"))
                assert "\x1b" not in d.text()
                assert "\u202e" not in d.text()
                assert len(d.lines()) == size[1]


async def test_a_thousand_rows_of_each_do_not_freeze(drive):
    log = started("x", engine="spoton")
    names = [f"package.module{i % 37}.Type{i}" for i in range(1000)]
    log.add(ev.InstanceState("main", "running", 1))
    ones = [1] * 1000
    log.add(ev.TypeFigures("main", 0.5, "", 5000, 3000, 100, names, ones, [1.0] * 1000,
                           [1.0] * 1000, [1000] * 1000, ones, ones, ones, ones))  # fmt: skip
    log.add(ev.TargetsLeft("main", 9, {
        f"p/m{i % 9}.py:{i}:then": {"frontier": False, "reached": 0,
                                    "types": [[names[(i + n) % 1000], n] for n in range(8)]}
        for i in range(1000)
    }))  # fmt: skip
    async with drive(log) as d:
        await d.press("7", "end", "t", "end", "home", "t", "pageup")
        assert len(rows(d.screen.types)) == len(rows(d.screen.targets)) == 1000


# ------------------------------------------------------------------- steering


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (["greater_than_sign"], WeighType("thumbs.model.Thumbnail", 8.0)),
        (["less_than_sign"], WeighType("thumbs.model.Thumbnail", 2.0)),
        (["b"], WeighType("thumbs.model.Thumbnail", 0.0)),
        (["end", "b"], WeighType("PIL.Image.Image", 1.0)),
        (["t", "o"], PinTarget("thumbs/app.py:18:then")),
        (["t", "d"], IgnoreTarget("thumbs/app.py:18:then")),
        (["t", "d", "d"], IgnoreTarget("thumbs/app.py:18:then", False)),
        (["right_square_bracket"], SetTargeted(0.55)),
        (["left_square_bracket"], SetTargeted(0.45)),
        (["greater_than_sign"] * 3, WeighType("thumbs.model.Thumbnail", 32.0)),
        (["right_square_bracket"] * 3, SetTargeted(0.65)),
    ],
)
async def test_keys_ask_for_it_steps_as_one_command(drive, keys, asked):
    async with drive(aimed()) as d:
        await d.press("7", *keys)
        await d.until(lambda: commands(d))
        await d.still()
        assert commands(d) == [asked]


async def test_steps_for_several_things_are_a_command_each(drive):
    log = aimed()
    async with drive(log, supervisor=Supervisor(log, silent=True)) as d:
        await d.press("7", "greater_than_sign", "j", "less_than_sign", "less_than_sign")
        assert "→ thumbs.model.Thumbnail ×8, pathlib.Path ÷4" in strip(d)[2]
        assert "to be sent" in strip(d)[2]
        await d.until(lambda: len(commands(d)) == 2)
        assert commands(d) == [
            WeighType("thumbs.model.Thumbnail", 8.0), WeighType("pathlib.Path", 0.25),
        ]  # fmt: skip


async def test_pending_until_the_engines_answer(drive):
    log = aimed()
    async with drive(log, supervisor=Supervisor(log, silent=True)) as d:
        await d.press("7", "greater_than_sign")
        await d.until(lambda: "asked by me@here, the engines will answer…" in d.text())
        assert "→ ×8" in d.text()
        # The next step goes on from what is asked for.
        await d.press("greater_than_sign")
        assert "→ ×16" in d.text()
        await d.until(lambda: len(commands(d)) == 2)
        log.add(ev.CommandApplied("c1", "main", 9), ev.CommandApplied("c2", "main", 9), dt=1.0)
        await d.until(lambda: "×16 since" in d.text())
        assert "→" not in d.text()


async def test_a_pin_is_asked_then_shown_then_ended(drive):
    log = aimed()
    async with drive(log, supervisor=Supervisor(log, silent=True)) as d:
        await d.press("7", "t")
        assert d.screen.targets.go_to(PINNED)
        await d.press("o")
        await d.until(lambda: "→ pin…" in d.text())
        await d.until(lambda: commands(d))
        log.add(ev.CommandApplied("c1", "main", 9), figures("main", 601, pinned=PINNED), dt=1.0)
        await d.until(lambda: f"▼ pinned {PINNED}" in strip(d)[2])
        assert rows(d.screen.targets)[0] == PINNED
        assert "it alone is aimed at, until" in details(d)
        assert "o Unpin" in d.text()
        # On another target the key pins that one; on a type it ends the pin.
        await d.press("t")
        assert "o Unpin" in d.text()
        await d.press("o")
        await d.until(lambda: len(commands(d)) == 2)
        assert commands(d)[1] == PinTarget("")
        log.add(ev.CommandApplied("c2", "main", 9), figures("main", 602), dt=1.0)
        await d.until(lambda: "next thumbs" in strip(d)[2])


async def test_targets_are_ignored_each_by_a_command_then_shown_so_then_minded_again(drive):
    log, others = aimed(), ["thumbs/app.py:18:then", "thumbs/model.py:9:loop"]
    async with drive(log, supervisor=Supervisor(log, silent=True)) as d:
        await d.press("7", "t")
        for where in others:
            assert d.screen.targets.go_to(where)
            await d.press("d")
        await d.until(lambda: d.text().count("→ ignore…") >= 2)
        assert f"→ ignore {others[0]}, ignore {others[1]}" in strip(d)[2]
        await d.until(lambda: len(commands(d)) == 2)
        assert commands(d) == [IgnoreTarget(where) for where in others]
        log.add(
            ev.CommandApplied("c1", "main", 9), ev.CommandApplied("c2", "main", 9),
            figures("main", 601, ignored=others), dt=1.0,
        )  # fmt: skip
        await d.until(lambda: "⊘ 2 ignored" in strip(d)[1])
        assert rows(d.screen.targets)[-2:] == others
        assert d.screen.targets.go_to(others[1])
        await d.until(lambda: "nothing aims at it, as if it were covered" in details(d))
        assert "⊘ ignored" in d.text()
        assert "d Unignore" in d.text()
        await d.press("d")
        await d.until(lambda: "→ aim…" in d.text())
        await d.until(lambda: len(commands(d)) == 3)
        assert commands(d)[2] == IgnoreTarget(others[1], False)
        log.add(ev.CommandApplied("c3", "main", 9), dt=1.0)  # so it is before figures say it
        await d.until(lambda: "⊘ 1 ignored" in strip(d)[1])
        # Pinning ends it, too.
        assert d.screen.targets.go_to(others[0])
        await d.press("o")
        await d.until(lambda: "→ pin…" in d.text())
        assert "d Ignore" in d.text()
        await d.until(lambda: len(commands(d)) == 4)
        log.add(ev.CommandApplied("c4", "main", 9), dt=1.0)
        await d.until(lambda: f"▼ pinned {others[0]}" in strip(d)[2])
        assert "ignored" not in strip(d)[1]


async def test_a_replay_shows_what_was_ignored_then(drive):
    log = aimed()
    ignored = IgnoreTarget("thumbs/app.py:18:then")
    log.add(ev.CommandIssued("c9", encode_command(ignored)), dt=10.0)
    log.add(ev.CommandApplied("c9", "main", 9), figures("main", 611, ignored=[ignored.location]))
    log.add(figures("main", 700), dt=90.0)
    async with drive(log, replay_at=612.0) as d:
        await d.press("7", "t", "end")
        await d.until(lambda: "⊘ ignored   thumbs/app.py:18:then" in d.text())
        await d.press("d")
        assert d.notices() == ["Unignore: not in a replay"]
        d.app.seek(590.0)
        await d.until(lambda: "ignored" not in d.text())
        assert "◆ frontier  thumbs/app.py:18:then" in d.text()


async def test_an_engine_that_cannot_ignore_says_so(drive):
    async with drive(aimed(able=False)) as d:
        await d.press("7", "t", "d")
        assert d.notices() == ["Ignore: this campaign's engine cannot ignore a code target"]
        assert commands(d) == []


async def test_what_no_type_decides_about_cannot_be_pinned_or_ignored(drive):
    async with drive(aimed()) as d:
        await d.press("7", "d", "t")
        assert d.screen.targets.go_to("thumbs/app.py:57:except")
        await d.press("o", "d", "b", "greater_than_sign")
        assert d.notices() == [
            "Ignore: t goes to the code targets",
            "Pin: no type is known to decide about it",
            "Ignore: no type is known to decide about it", "Ban: t goes to the types",
            "Raise: t goes to the types",
        ]  # fmt: skip
        assert commands(d) == []


async def test_a_refusal_takes_the_wish_back(drive):
    log = aimed()
    async with drive(log, supervisor=Supervisor(log, refuse="no such type")) as d:
        await d.press("7", "greater_than_sign")
        await d.until(lambda: any("no such type" in n for n in d.notices()))
        await d.until(lambda: "→" not in d.text())
        assert d.notices() == ["thumbs.model.Thumbnail ×8: refused: no such type"]


async def test_what_was_sent_to_nobody_is_not_wished_for_ever(drive, monkeypatch):
    monkeypatch.setattr("fuzztui.tui.wishes.ECHO_S", 0.3)
    log = aimed()

    class Gone(Supervisor):
        def connect(self, _run):
            raise OSError("connection refused")

    async with drive(log, supervisor=Gone(log)) as d:
        await d.press("7", "greater_than_sign", "right_square_bracket")
        await d.until(lambda: any("connection refused" in n for n in d.notices()))
        await d.until(lambda: "→" not in d.text())


async def test_an_engine_that_cannot_says_why(drive):
    async with drive(aimed(able=False)) as d:
        await d.press("7", "greater_than_sign", "right_square_bracket")
        assert d.notices() == [
            "Raise: this campaign's engine cannot weigh types: targets.json could not be made",
            "More: this campaign's engine cannot change how much it aims while it runs",
        ]  # fmt: skip
        assert commands(d) == []


def test_why_nothing_more_can_be_asked():
    assert not Aiming(weight=1.0).raising()
    assert "banned" in Aiming(weight=0.0).raising()
    assert "banned" in Aiming(weight=0.0).lowering()
    assert "high" in Aiming(weight=MOST).raising()
    assert "low" in Aiming(weight=1 / MOST).lowering()
    assert "no type under" in Aiming().weighing()
    assert "already" in Aiming(targeted=1.0).more()
    assert "already" in Aiming(targeted=0.0).less()
    assert not Aiming(targeted=0.0).more()
    assert Aiming(pinned="a").unpins
    assert not Aiming(pinned="a", target="b", on_targets=True).unpins
    assert "no code target under" in Aiming(on_targets=True).ignoring()
    assert not Aiming(on_targets=True, target="a", ignored=True).ignoring()


def test_what_is_asked_about_a_target_is_what_was_asked_last():
    asked = Asked((IgnoreTarget("a"), PinTarget("a"), IgnoreTarget("b"), PinTarget("c"),
                   IgnoreTarget("c"), IgnoreTarget("b", False)))  # fmt: skip
    assert [asked.ignored(name) for name in "abcd"] == [False, False, True, None]


# -------------------------------------------------------- overview and corpus


async def test_one_line_on_the_overview(drive):
    async with drive(aimed(pin=True)) as d:
        line = next(line for line in d.lines() if "targets left" in line)
        assert "▼ thumbs/app.py:41:else" in line
        assert line.endswith("50% of mutations aim at types")
    async with drive(running()) as d:
        assert not d.screen.query_one(AimLine).display


async def test_coverage_of_libraries_has_a_scale_of_its_own(drive):
    async with drive(aimed()) as d:
        assert "Library code  22,986" in d.text()
        assert "22,986" in d.lines()[4]
        assert "━ all 1,065  ┅ valid 745" in d.text()
        assert " libs " in d.text()
        await d.press("enter")
        await d.until(lambda: "745 by valid inputs, 22,986 lines of libraries" in d.text())
    async with drive(aimed(), size=(80, 24)) as d:
        assert "22,986" in d.lines()[3]
        assert "━ all 1,065" in d.text()


async def test_it_is_not_shown_where_it_is_not_measured(drive):
    for log in (aimed(libraries=False), running()):
        async with drive(log) as d:
            assert "Library" not in d.text()
            assert "library" not in d.text()
            assert "libs" not in d.text()
            assert "Corpus  " in d.text()


async def test_entries_can_be_demoted_where_the_engine_can(drive):
    async with drive(aimed()) as d:
        await d.press("2")
        assert "▽ demoted" in d.text()
        assert d.table.go_to("main/3")
        await d.until(lambda: "main/3  demoted" in d.text())
        await d.press("j", "D")
        await d.until(lambda: commands(d))
        assert commands(d) == [DemoteEntry(4, "main")]
    async with drive(running()) as d:
        await d.press("2", "D")
        assert d.notices() == ["Demote: main's engine cannot demote entries"]


# ---------------------------------------------------------------------- words


def test_names_are_shortened_from_where_they_say_least():
    assert brief_type("datetime.datetime", 17) == "datetime.datetime"
    assert brief_type("a.very.long.package.datetime.datetime", 20) == "…datetime.datetime"
    assert brief_type("email.headerregistry.UniqueDateHeader", 20) == "UniqueDateHeader"
    assert brief_type("AVeryLongNameOfAClassIndeed", 12) == "AVer…sIndeed"
    assert brief_location("package/module.py:12:then", 30) == "package/module.py:12:then"
    assert brief_location("a/b/package/module.py:12:then", 20) == "…/module.py:12:then"
    assert brief_location("a/averylongmodule.py:12:then", 12) == "….py:12:then"


@given(st.text(max_size=80), st.integers(6, 60))
def test_short_names_are_short(name, room):
    assert len(brief_type(name, room)) <= room
    assert len(brief_location(name, room)) <= room


@given(st.text(max_size=120))
def test_types_in_names_of_entries_are_found_again(name):
    assert type_label(name) == label_of(name)
    assert named_by(f"typed:{type_label(name)},rep:4") == ([type_label(name)] if name else [])
    assert place_of(name)[1] >= 0


def test_what_is_not_aimed_names_no_type():
    assert named_by("havoc,rep:4") == named_by("") == named_by("typed:,rep:2") == []


def test_columns_of_what_was_never_drawn():
    looks = Looks(lambda: 30, lambda _: "", lambda _: "")
    cells = {c.id: c.cell(TypeRow("x"))[0] for c in type_columns(looks)}
    assert (cells["weight"], cells["distance"], cells["picks"]) == ("×1", "–", "0")
    cells = {c.id: c.cell(TargetRow("m.py:3:then", False, 0, 0, ()))[0]
             for c in target_columns(looks)}  # fmt: skip
    assert (cells["left"], cells["reached"]) == ("· further", "–")
    for every, a, b in (
        (type_columns(looks), TypeRow("x"), TypeRow("y", 3, 0.5, True, 2.0, 0.3, 5, 4, 1, 2)),
        (target_columns(looks), TargetRow("::", True, 3, 9, (("x", 1),)),
         TargetRow("a.py:7:x", False, 0, 0, ())),
    ):  # fmt: skip
        for column, (one, other) in itertools.product(every, ((a, b), (b, a), (a, a))):
            if column.sort is not None:
                assert column.sort(one) <= column.sort(other) or column.sort(one) >= column.sort(
                    other
                )


def test_the_log_has_words_for_it():
    told = describe(figures("main", 600, pinned=PINNED))
    assert told.text.startswith("29 of 240 targets left, 9 on the frontier  9 types  50% aim")
    assert told.text.endswith(f"pinned {PINNED}")
    assert told.group == FIGURES
    assert describe(figures("main", 600, ignored=[PINNED])).text.endswith("50% aim  1 ignored")
    assert describe(left("main", 5)).text == "29 told"
    assert command_words(encode_command(WeighType("a.B", 0.5))) == "weigh-type a.B ÷2"
    assert command_words(encode_command(WeighType("a.B", 0.0, "s1"))) == (
        "weigh-type a.B ⊘ banned on s1"
    )
    assert command_words(encode_command(PinTarget("m.py:3:then"))) == "pin-target m.py:3:then"
    assert command_words(encode_command(PinTarget(""))) == "pin-target none"
    assert command_words(encode_command(IgnoreTarget("m.py:3:then"))) == "ignore-target m.py:3:then"
    assert command_words(encode_command(IgnoreTarget("m.py:3:then", False, "s1"))) == (
        "ignore-target m.py:3:then off on s1"
    )
    assert command_words(encode_command(SetTargeted(0.55))) == "targeted 55%"
    assert command_words(encode_command(DemoteEntry(4, "main"))) == "demote main/4"
    for wrong in ({"weight": "x"}, {"weight": float("nan")}, {"weight": 10**400}, {}):
        assert command_words({"c": "weigh-type", "type": "a.B", **wrong}) == "weigh-type a.B ?"
    assert command_words({"c": "targeted", "share": 7}) == "targeted ?"


def test_wishes_and_weights_in_words():
    assert [weight_words(w) for w in (0, 1, 4, 0.25, 1000, 0.001)] == [
        "⊘ banned", "×1", "×4", "÷4", "×1,000", "÷1,000",
    ]  # fmt: skip
    assert wish_words(WeighType("a.B", 2.0)) == "a.B ×2"
    assert wish_words(PinTarget("")) == "unpin"
    assert wish_words(IgnoreTarget("m.py:3:then")) == "ignore m.py:3:then"
    assert wish_words(IgnoreTarget("m.py:3:then", False)) == "unignore m.py:3:then"
    assert wish_words(SetTargeted(0.0)) == "0% aim"
