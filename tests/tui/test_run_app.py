"""The whole way: a log on disk, a real terminal, a key, a word on leaving."""

import re
import select
import signal

import pytest
from ptys import Terminal
from waiting import wait_until

from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.state import Changes
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.wire import events as ev
from fuzztui.tui import _opening, latest_state, run_app


@pytest.fixture
def terminal():
    opened = []

    def start(*arguments, **options):
        opened.append(Terminal(*arguments, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.mark.slow
def test_live_and_back_to_the_shell(run, terminal):
    lock = RunLock(run)
    try:
        t = terminal(run, "live", 0)
        t.until(b"tomllib-zest")
        t.until(b"KeyError")
        t.press(b"q")
        t.until(f"Come back with: fuzztui attach {run}".encode())
        assert t.ended() == 0
    finally:
        lock.release()


@pytest.mark.slow
def test_without_its_supervisor_it_says_how_to_go_on(run, terminal, tmp_path):
    # And a redirected stderr does not take the screen with it.
    with (tmp_path / "stderr").open("wb") as stderr:
        t = terminal(run, "live", 0, stderr=stderr)
        t.until(b"NO SUPERVISOR")
        t.press(b"q")
        t.until(f"Resume with: fuzztui {run}/campaign.toml".encode())
        assert t.ended() == 0
    assert (tmp_path / "stderr").read_bytes() == b""


@pytest.mark.slow
def test_after_the_end_the_terminal_keeps_the_result(run, terminal):
    writer = LogWriter(run / "log")
    writer.append(ev.CampaignEnded("finished", "the budget \x1b[31m is used up"), 121.0)
    writer.close()
    t = terminal(run, "live", 0)
    t.until(b"FINISHED")
    t.press(b"q")
    assert t.ended() == 0
    t.drain()
    left = t.seen.rpartition(b"\x1b[?1049l")[2].decode()
    assert "The campaign has finished: the budget \\e[31m is used up" in left
    assert "KeyError" in left  # a cause
    assert f"fuzztui replay {run}" in left


@pytest.mark.slow
def test_a_failure_is_told_whole_and_is_an_exit_status(run, terminal):
    reason = "no \x1b[31mcore_pattern\x1b[0m for us " + "and so on " * 30 + "the end"
    writer = LogWriter(run / "log")
    writer.append(ev.InstanceState("main", "failed", reason=reason), 121.0)
    writer.append(ev.CampaignState("failed", "every instance has failed"), 121.0)
    writer.close()
    t = terminal(run, "live", 0)
    t.until(b"FAILED")
    t.press(b"q")
    assert t.ended() == 1
    t.drain()
    assert b"the campaign tomllib-zest has failed: every instance has failed" in t.seen
    assert ("main has failed: " + reason.replace("\x1b", "\\e")).encode() in t.seen


def test_the_log_has_the_last_word_on_the_campaigns_state(run):
    """Somebody has stopped it since the screen looked."""
    opening = _opening(run, run, mode="live", speed=1.0, at=None, control=False)
    seen = opening.session()
    while seen.poll() != Changes() or seen.behind:
        pass
    assert latest_state(opening, seen.state) == "running"
    writer = LogWriter(run / "log")
    writer.append(ev.CampaignState("stopping"), 500.0)
    writer.flush()
    assert latest_state(opening, seen.state) == "stopping"
    writer.append(ev.CampaignEnded("stopped", "asked for"), 501.0)
    writer.close()
    assert latest_state(opening, seen.state) == "stopped"


@pytest.mark.slow
def test_who_only_watched_has_nothing_to_come_back_to(run, terminal):
    t = terminal(run, "live", 0, "watch")
    t.until(b"watched")
    t.press(b"q")
    assert t.ended() == 0
    t.drain()
    assert b"Come back" not in t.seen
    assert b"Resume with" not in t.seen


@pytest.mark.slow
def test_a_replay_from_a_moment_on(run, terminal):
    t = terminal(run, "replay", 97)
    t.until(b"REPLAY")
    t.until(b"KeyError")
    t.press(b" ")
    t.press(b"q")
    assert t.ended() == 0


@pytest.mark.slow
def test_the_theme_that_was_chosen_comes_back(run, terminal, tmp_path):
    kept = tmp_path / "fuzztui" / "theme"

    def choose_the_next():
        t = terminal(run, "replay", 97, "remembered")
        t.until(b"KeyError")
        t.press(b"T")
        t.until(b"esc restores")
        before = kept.read_text() if kept.exists() else "midwatch\n"
        t.press(b"j\rq")

        def chosen():
            assert t.process.poll() is None
            t.drain()
            return kept.exists() and kept.read_text() != before

        wait_until(chosen)
        t.press(b"q")  # the other one may have come before the dialog was gone
        assert t.ended() == 0
        return kept.read_text()

    chosen = choose_the_next()
    assert choose_the_next() not in ("midwatch\n", chosen)  # it began with the one chosen


@pytest.mark.slow
def test_a_broken_memory_of_the_theme_is_told_and_forgotten(run, terminal, tmp_path):
    (tmp_path / "fuzztui").mkdir()
    (tmp_path / "fuzztui" / "theme").write_bytes(b"\xff")
    t = terminal(run, "replay", 97, "remembered")
    t.until(b"contains no valid name")
    t.until(b"KeyError")
    t.press(b"q")
    assert t.ended() == 0


def left_on(seen):
    """Private modes that differ, at the end of this output, from a terminal's usual ones."""
    modes = {b"7": b"h", b"25": b"h"}
    usual = dict(modes)
    for number, switch in re.findall(rb"\x1b\[\?(\d+)([hl])", seen):
        modes[number] = switch
    return {n for n, switch in modes.items() if switch != usual.get(n, b"l")}


@pytest.mark.slow
@pytest.mark.parametrize("signum", [None, signal.SIGTERM, signal.SIGHUP])
def test_every_mode_of_the_terminal_is_switched_off_again(run, terminal, signum):
    t = terminal(run, "live", 0)
    # This terminal reports resizes in band, for which Textual switches more on.
    t.until(b"\x1b[?2048$p")
    t.press(b"\x1b[?2048;2$y")
    t.until(b"\x1b[?1016h")
    t.until(b"KeyError")
    assert {b"1049", b"1003", b"1016", b"2004", b"2048", b"1004", b"25"} <= left_on(t.seen)
    if signum is None:
        t.press(b"\x1b[113;1;113u")  # q, as kitty's protocol has it
        assert t.ended() == 0
    else:
        t.process.send_signal(signum)
        assert t.ended() == -signum
    t.drain()
    assert left_on(t.seen) == set()
    assert t.seen.count(b"\x1b[>") == t.seen.count(b"\x1b[<u") == 1


@pytest.mark.slow
def test_a_signal_while_the_terminal_takes_no_output_ends_it(run, terminal):
    t = terminal(run, "live", 0)
    t.until(b"KeyError")
    # Nothing is read any more: the screen's output soon fills the terminal's buffer.
    wait_until(lambda: t.press(b"12345") or not select.select([], [t.slave], [], 0)[1])
    t.process.send_signal(signal.SIGTERM)
    assert t.process.wait(60) == -signal.SIGTERM


def test_no_terminal_is_a_sentence(run, capsys):
    assert run_app(run, run, mode="live") == 2
    assert "need a terminal" in capsys.readouterr().err


def test_an_unknown_theme_is_a_sentence(run, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert run_app(run, run, mode="live", theme="nope") == 2
    assert (
        "the theme 'nope' does not exist; choose one of ansi, contrast" in capsys.readouterr().err
    )
    monkeypatch.setenv("FUZZTUI_THEME", "nada")
    assert run_app(run, run, mode="live") == 2
    said = capsys.readouterr().err
    assert "FUZZTUI_THEME" in said
    assert "the theme 'nada' does not exist; choose one of ansi, contrast" in said
