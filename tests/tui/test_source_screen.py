"""The Source screen: files, lines, and the ways from them and to them."""

import json
import shutil
import sys
from dataclasses import replace

import pytest
from fakes import Log, running, started
from mutated import mutated
from sourced import PATH, source_file, sourced

from fuzztui.features.source.fold import STATES
from fuzztui.features.source.screen.code import CHANGED, GUTTER, LEGEND, MEANINGS, load_text
from fuzztui.features.source.screen.measure import MeasuredLines
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.base.dialogs import ConfirmScreen
from fuzztui.tui.labels.events import describe


def gutter(d, line):
    """The state of a line, as the table has it."""
    code = d.screen.code
    column = next(c for c in code.columns if c.id == "cov")
    return column.value(code.rows.row(str(line)))


async def test_lines_with_their_coverage_mutants_and_findings(drive):
    async with drive(sourced(goal=True), size=(160, 60), press="8", shows="def is_digit") as d:
        assert {n: gutter(d, n) for n in (4, 5, 12, 18, 26, 27, 28, 30, 31, 32, 33)} == {
            4: "covered", 5: "covered", 12: "covered", 18: "covered", 26: "partly",
            27: "frontier", 28: "covered", 30: "partly", 31: "frontier", 32: "never",
            33: "covered",
        }  # fmt: skip
        assert gutter(d, 1) == gutter(d, 7) == ""
        rows = {node.function: node for node in d.screen._rows.values()}
        file = rows[""]
        assert (file.statements, file.covered, file.frontier, file.findings) == (25, 22, 2, 1)
        assert (rows["Parser.items"].covered, rows["Parser.items"].statements) == (9, 12)
        assert (
            file.mutants
            == 54
            == rows["Parser.items"].mutants
            + rows["Parser.number"].mutants
            + (rows["is_digit"].mutants + rows["Parser.__init__"].mutants)
        )
        line = next(n for n in d.lines() if "self.text.startswith" in n)
        assert "✗1" in line
        assert "▒" in line
        assert "Decimal" in next(n for n in d.lines() if "too deep" in n)


async def test_from_a_line_to_its_mutants_finding_and_first_entry_and_back(drive):
    async with drive(sourced(), toasts=True, press="8", shows="def is_digit") as d:
        d.screen.reveal(f"{PATH}:30")
        await d.until(lambda: d.screen.code.cursor == "30" and d.screen.has_class("-code"))
        await d.press("m")
        await d.until(lambda: d.screen.TAB == "mutants" and d.screen.table.cursor)
        first = d.screen.table.current
        assert first.line == 30
        await d.press("L")  # back to the line
        await d.until(lambda: d.screen.TAB == "source")
        assert d.screen.code.cursor == "30"
        await d.press("m")
        await d.until(lambda: d.screen.TAB == "mutants")
        assert d.screen.table.current.line == 30
        assert d.screen.table.current.id != first.id
        await d.press("8", "f")
        await d.until(lambda: d.screen.TAB == "findings")
        assert d.screen.table.current.file == "crashes/id:000000"
        await d.press("8")
        d.screen.reveal(f"{PATH}:12")
        await d.pilot.pause()
        await d.press("3", "L")
        await d.until(lambda: d.screen.TAB == "source" and d.screen.code.cursor == "30")
        await d.press("backspace")
        await d.until(lambda: d.screen.TAB == "corpus")
        assert d.screen.table.cursor == "main/5"
        await d.press("8")
        d.screen.reveal(f"{PATH}:4")  # ran on import
        await d.press("backspace")
        assert d.screen.TAB == "source"
        d.assert_notice("imported")


async def test_from_a_goal_to_its_line(drive):
    log = sourced(goal=True).add(ev.TargetingStats("main", 0.5, targets=2, uncovered=1, frontier=1))
    async with drive(log, size=(220, 60), press="7t") as d:
        await d.until(lambda: d.screen.table.current is not None)
        await d.press("L")
        await d.until(lambda: d.screen.TAB == "source" and d.screen.code.cursor == "27")


async def test_from_an_entry_to_the_line_it_covered_first(drive):
    log = sourced()
    # Another instance had covered some of them before, and 5 of main covers them again.
    log.add(ev.EntrySaved("s1", 7, "queue/id:000007"), ev.LinesCovered("s1", 7, {PATH: "4-5,31"}))
    async with drive(log, toasts=True, press="2") as d:
        await d.until(lambda: len(d.table.source) == len(d.app.campaign.entries))
        for key, line in (("main/3", "5"), ("s1/7", "31")):
            assert d.table.go_to(key)
            await d.press("L")
            await d.until(lambda: d.screen.TAB == "source")
            await d.until(lambda at=line: d.screen.code.cursor == at)
            await d.press("2")
            await d.until(lambda: d.screen.TAB == "corpus")
        assert d.table.go_to("main/2")
        await d.press("L")
        await d.until_notice("main/2")
        assert d.screen.TAB == "corpus"


async def test_the_next_line_to_look_at(drive):
    async with drive(sourced(0), press="8", shows="def is_digit") as d:
        seen = []
        for _ in range(3):
            await d.press("n")
            seen.append(d.screen.code.cursor)
        assert seen == ["27", "30", "31"]
        await d.press("N")
        assert d.screen.code.cursor == "30"


async def test_the_tree_follows_the_line(drive):
    async with drive(sourced(), size=(140, 40), press="8", shows="def is_digit") as d:

        def function():
            return d.screen._rows[d.screen.files.cursor].function

        await d.press("n")
        await d.until(lambda: d.screen.code.cursor == "5" and function() == "is_digit")
        d.screen.reveal(f"{PATH}:27")
        await d.until(lambda: function() == "Parser.items")
        d.screen.reveal(f"{PATH}:5")
        await d.press("up", "up")
        await d.until(lambda: d.screen.files.cursor == PATH)  # around no function
        await d.press("t", "down", "down")
        assert function() and d.screen.code.cursor == "3"  # and not the other way round


async def test_in_a_replay_the_gutter_is_that_of_the_time(drive):
    log = sourced()
    start = next(r.t for r in log.records if isinstance(r.event, ev.SourceFile))
    async with drive(log, replay_at=start + 15, press="8", shows="def is_digit") as d:
        assert gutter(d, 4) == "partly"  # the function was defined, and never entered
        assert gutter(d, 12) == "never"
        d.app.seek(start + 75)
        await d.until(lambda: gutter(d, 12) == "covered")
        assert gutter(d, 24) == "never"
        d.app.seek(start + 15)
        await d.until(lambda: gutter(d, 12) == "never")


async def test_before_any_line_is_measured_no_share_is_shown(drive):
    log = sourced()
    start = next(r.t for r in log.records if isinstance(r.event, ev.SourceFile))
    step = next(r.t for r in log.records if isinstance(r.event, ev.LinesCovered))

    def shares():
        rows = d.screen._rows
        return {rows[k].function: rows[k].covered for k in rows if rows[k].statements > 0}

    async with drive(log, replay_at=start) as d:
        assert start < step
        await d.press("8")
        await d.until_shows("def is_digit")
        assert set(shares().values()) == {-1}
        assert gutter(d, 12) == ""
        d.app.seek(step)
        await d.until(lambda: shares()["is_digit"] == 1)
        assert shares()["Parser.items"] == 1
        assert gutter(d, 12) == "never"
        d.app.seek(start)
        await d.until(lambda: set(shares().values()) == {-1})


async def test_new_lines_show_without_moving_the_cursor(drive):
    async with drive(sourced(), press="8", shows="def is_digit") as d:
        d.screen.reveal(f"{PATH}:21")
        await d.pilot.pause()
        d.log.add(ev.LinesCovered("s1", 2, {PATH: "27"}), dt=1.0)
        await d.until(lambda: gutter(d, 27) == "covered")
        assert d.screen.code.cursor == "21"
        assert d.screen._rows[PATH].covered == 23


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40), (220, 60)])
async def test_tree_and_code_in_every_size(drive, size):
    async with drive(sourced(), size=size, press="8") as d:
        await d.until(lambda: d.screen.code.rows.total)
        await d.press("enter")
        await d.until(lambda: d.screen.has_class("-code"))
        await d.press("g", "down", "down", "down")
        assert d.screen.code.cursor == "4"
        await d.until_shows("is_digit")
        await d.press("enter")
        assert d.screen.focused is d.screen.pane
        await d.press("escape")
        assert d.screen.focused is d.screen.code
        await d.press("escape")
        assert d.screen.focused is d.screen.files
        await d.press("t")
        assert d.screen.focused is d.screen.code


async def test_a_changed_file_is_marked(drive):
    async with drive(sourced(sha="0123456789abcdef"), press="8", shows="def is_digit") as d:
        assert "changed" in d.lines()[3] + d.lines()[2]


async def test_a_version_that_the_campaign_loads_later_is_read_again(drive):
    async with drive(sourced(sha="0123456789abcdef"), press="8", shows="def is_digit") as d:
        assert "changed" in d.lines()[3] + d.lines()[2]
        d.log.add(source_file(), dt=1.0)
        await d.until(lambda: "changed" not in d.lines()[3] + d.lines()[2])
        assert gutter(d, 12) == "never"  # earlier lines are of the other version


async def test_a_line_that_the_filter_hides_is_shown_again(drive):
    async with drive(sourced(), press="8", shows="def is_digit") as d:
        d.screen.reveal(f"{PATH}:12")
        await d.press("slash", *"too", "enter")
        await d.until(lambda: len(d.screen.code.rows) == 1)
        d.screen.reveal(f"{PATH}:12")
        await d.until(lambda: d.screen.code.cursor == "12")


def test_how_files_are_read(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("a\nb\n")
    assert load_text(str(file), "", 0.0).lines == ["a", "b"]
    assert load_text(str(file), "", 1.0).warning == CHANGED  # newer than the campaign
    assert load_text(str(file), "00", 0.0).warning == CHANGED
    assert load_text(str(tmp_path), "", 0.0).problem
    assert load_text("a.py", "", 0.0).problem
    assert load_text(str(tmp_path / "none"), "", 0.0).problem
    file.write_bytes(b"\n" * 200_000)
    text = load_text(str(file), "", 0.0)
    assert len(text.lines) == 100_000
    assert text.warning
    with file.open("wb") as big:
        big.truncate(5 << 20)
    assert load_text(str(file), "", 0.0).problem


async def test_a_file_that_is_gone_still_shows_what_is_known(drive):
    log = Log()
    log = sourced(0)
    for at, record in enumerate(log.records):
        if isinstance(record.event, ev.SourceFile):
            event = ev.SourceFile("main", "/gone/x.py", "x", "aa", "1-3", ["1-3 f"])
            log.records[at] = type(record)(record.seq, record.t, event)
        elif isinstance(record.event, ev.LinesCovered):
            event = ev.LinesCovered("main", 1, {"/gone/x.py": "2"})
            log.records[at] = type(record)(record.seq, record.t, event)
    async with drive(log, press="8") as d:
        d.screen.reveal("/gone/x.py:2")
        await d.until(lambda: d.screen.code.rows.total == 3)
        assert gutter(d, 2) == "covered"
        assert "does not exist" in d.text()
        frames = [{"function": "f", "file": "/gone/x.py", "line": 9}]
        log.add(
            ev.FindingSaved("main", "crash", "crashes/id:000009", 9),
            ev.FindingDescribed(
                "main", "crash", "crashes/id:000009", "E", frames=frames, basis={"name": "E"}
            ),
            dt=1.0,
        )
        await d.until(lambda: [*d.screen._file.rows] == ["1", "2", "3", "9"])
        assert d.screen.code.cursor == "2"
        d.screen.reveal("nonsense")
        d.screen.reveal("/never/heard.py:99999999")
        await d.pilot.pause()


async def test_text_of_files_and_logs_is_drawn_literally(drive, tmp_path):
    evil = tmp_path / "[bold red]e\x1b[2J.py"
    evil.write_text("x = '[/x]\x1b[2J\u202e'  # " + "y" * 5000 + "\n\x0c\x00\n")
    log = started()
    name = "[/x]\x1b]0;f"
    log.add(
        ev.SourceFile("main", str(evil), "m", "aa", "1-2", [f"1-2 {name}"]),
        ev.LinesCovered("main", 0, {str(evil): "1"}),
        dt=1.0,
    )
    async with drive(log, press="8", shows="[/x]") as d:
        d.assert_lacks("\x1b", "\u202e")
        await d.press("enter", "enter")


async def test_without_any_source_the_screen_says_what_to_do(drive):
    async with drive(running(), press="8", shows="names no source file") as d:
        assert "run the corpus again" in d.text()


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_without_lines_of_a_c_target_the_screen_says_what_to_do(drive, size, command):
    command("", 2, "fuzztui: this campaign has no target.build")
    async with drive(started("crashy", engine="afl"), size=size, toasts=True, press="8") as d:
        await d.until_shows("target.coverage = true")
        assert "docs/source.md" in d.text()
        await d.press("r")
        await d.until_notice("target.build")
        for state in ("building", "measuring"):
            d.log.add(ev.CoverageBuild(state), dt=1.0)
            await d.until(lambda: d.screen.files.empty.startswith("target.coverage: "))
        d.log.add(ev.CoverageBuild("failed", "no gcc[/x]"), dt=1.0)
        await d.until_shows("no gcc[/x]")


ANSWER = {
    "by_line": {
        PATH: {
            "statements": [4, 5, 8, 12, 27],
            "first": [[4, "", 0.0], [5, "main/1", 30.0], [12, "main/2", 55.0]],
            "smallest": [[5, "main/3", 2], [12, "main/3", 2]],
        }
    }
}


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A stand-in for the command that answers ``ANSWER``, or fails with a message."""

    def answers(text, code=0, says="fuzztui: inputs: 1 of 2", before=""):
        script = tmp_path / "python"
        script.write_text(
            f"#!{shutil.which('sh')}\necho '{says}' >&2\n"
            f"{before}cat {tmp_path}/answer\nexit {code}\n"
        )
        script.chmod(0o755)
        (tmp_path / "answer").write_text(text)
        monkeypatch.setattr(sys, "executable", str(script))

    return answers


async def test_coverage_of_an_old_log_is_measured(drive, command):
    command(json.dumps(ANSWER))
    async with drive(mutated(18, 60), toasts=True, press="8", shows="def is_digit") as d:
        assert gutter(d, 5) == ""
        await d.press("r")
        await d.until(lambda: gutter(d, 5) == "covered")
        assert gutter(d, 27) == "never"
        assert d.screen._rows[PATH].covered == 3
        d.screen.reveal(f"{PATH}:12")
        await d.until_shows("main/3")
        await d.press("b")
        await d.until(lambda: d.screen.TAB == "corpus")
        assert d.screen.table.cursor == "main/3"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_smallest_entry_of_a_c_target(drive, size, command, tmp_path):
    """The log of a C target has its lines, but not the smallest entry of each."""
    wait = f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done\n"
    command(json.dumps(ANSWER), says="fuzztui: entries: 1 of 7, 9s left", before=wait)
    log = Log()
    for record in sourced().records:
        event = record.event
        if isinstance(event, ev.CampaignStarted):
            event = replace(event, engine="afl")
        log.add(event, dt=record.t - log.t)
    log.add(ev.CoverageBuild("ready"))
    async with drive(log, size=size, toasts=True, press="8") as d:
        d.screen.reveal(f"{PATH}:12")
        await d.until_shows("main/1")
        await d.press("b")  # nothing was measured yet
        await d.until_shows("1 of 7, 9s left")
        (tmp_path / "go").touch()
        await d.until(lambda: d.screen._measured.done and not d.screen._progress)
        assert "9s left" not in d.text()
        assert gutter(d, 12) == "covered"
        await d.press("b")
        await d.until(lambda: d.screen.TAB == "corpus")
        assert d.screen.table.cursor == "main/3"


async def test_a_line_that_only_a_finding_has_reached(drive):
    log = sourced()
    before = log.records[-1].t
    frames = [{"function": f, "file": PATH[-200:], "line": n} for f, n in (("f", 32), ("g", 30))]
    log.add(
        ev.FindingSaved("main", "hang", "hangs/id:000000", 0, [3], "havoc", 0, 9, 9, 31),
        ev.FindingDescribed(
            "main", "hang", "hangs/id:000000", "sig-2", "hang", frames=frames, basis={"name": "H"}
        ),
        dt=60.0,
    )  # fmt: skip
    async with drive(log, size=(120, 40), replay_at=before, press="8", shows="def is_digit") as d:
        covered = d.screen._rows[PATH].covered
        assert gutter(d, 32) == "never"
        d.app.seek(before + 60.0)
        await d.until(lambda: gutter(d, 32) == "finding")
        assert gutter(d, 30) == "partly"
        assert d.screen._rows[PATH].covered == covered
        d.screen.reveal(f"{PATH}:32")
        await d.until_shows("╳ finding")


def test_the_help_explains_each_state_of_a_line():
    assert {*GUTTER} == {*MEANINGS} == {*STATES}
    for state, (glyph, _) in GUTTER.items():
        assert f"{glyph} {state}" in LEGEND.columns["code"]["cov"]


async def test_a_measured_log_is_replayed(drive, command):
    command(json.dumps(ANSWER))
    async with drive(mutated(18, 60), replay_at=50.0, press="8", shows="def is_digit") as d:
        await d.press("r")
        await d.until(lambda: gutter(d, 5) == "covered")
        assert gutter(d, 12) == "never"
        d.app.seek(60.0)
        await d.until(lambda: gutter(d, 12) == "covered")


async def test_a_running_measurement_is_not_cancelled_by_its_key(drive, command, tmp_path):
    ended = "exec 3<&0\n(cat <&3; kill $$) >/dev/null 2>&1 &\n"
    wait = f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done\n"
    command(json.dumps(ANSWER), before=ended + wait)
    async with drive(mutated(18, 60), toasts=True, press="8", shows="def is_digit") as d:
        await d.press("r")
        await d.until(lambda: d.screen._measurement is not None)
        await d.press("r")
        await d.until(lambda: isinstance(d.app.screen, ConfirmScreen))
        await d.press("n")
        await d.until(lambda: not isinstance(d.app.screen, ConfirmScreen))
        (tmp_path / "go").touch()
        await d.until(lambda: gutter(d, 5) == "covered")
        (tmp_path / "go").unlink()
        await d.press("r")
        await d.until(lambda: d.screen._measurement is not None)
        await d.press("r")
        await d.until(lambda: isinstance(d.app.screen, ConfirmScreen))
        await d.press("y")
        await d.until_notice("cancelled")
        assert d.screen._measurement is None


async def test_a_measurement_that_fails_says_why(drive, command):
    command("", 2)
    async with drive(mutated(18, 60), toasts=True, press="8r") as d:
        await d.until_notice("1 of 2")
        command("", 2, "fuzztui: target.coverage failed:\n  a.c:3: error: here\n  make: 2")
        await d.press("r")
        await d.until(
            lambda: any("failed:" in t and "error: here" in t and "2" in t for t in d.notices())
        )
        command("{}")
        await d.press("r")
        await d.until_notice("damaged")


def test_measured_lines_at_a_time():
    measured = MeasuredLines.of(ANSWER)
    file = measured.files[PATH]
    measured.at(40.0)
    assert file.drain() == {4: "never", 5: "never"}
    measured.at(100.0)
    assert (file.covered, file.drain()) == (3, {12: "never"})
    shown = file.first
    measured.at(200.0)  # a live campaign: nothing is counted again
    assert file.first is shown
    measured.at(10.0)
    assert set(file.first) == {4}
    assert measured.smallest[PATH][12].size == 2


def test_events_about_lines_as_text():
    found = describe(ev.LinesCovered("main", 7, {"/a/b.py": "3-5", "/a/c.py": "1"}))
    assert (found.label, found.text) == ("lines", "#7  b.py:3-5  c.py:1")
    assert "on import" in describe(ev.LinesCovered("main", -1, {"/x": 5})).text
    assert "/a/b.py" in describe(ev.SourceFile("main", "/a/b.py")).text
    assert "no gcc" in describe(ev.CoverageBuild("failed", "no gcc")).text


async def test_a_line_number_without_end_is_refused(drive):
    async with drive(mutated(18, 60), toasts=True, press="8") as d:
        d.screen.reveal(f"{PATH}:{'9' * 5000}")
        await d.until_notice(PATH)
        assert not d.screen.has_class("-code")
