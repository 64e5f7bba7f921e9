"""The screen in a real terminal: here, from a second terminal, and through a real sshd."""

import contextlib
import os
import shlex
import signal
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest
from homes import FUZZTUI
from waiting import wait_until

pytestmark = pytest.mark.slow


def test_start_look_leave_rejoin_stop(home, terminal):
    screen = terminal(str(home.file))
    screen.wait("e2e")
    screen.wait(lambda text: "running" in text and "corpus" in text.lower())
    wait_until(lambda: home.status()["execs"] > 0)
    # Leaving never stops the campaign, and says how to come back.
    text = screen.keys("q", then="exit=0")
    assert "attach" in text
    assert home.status()["state"] == "running"
    before = home.status()["execs"]

    again = terminal("attach", str(home.run), columns=80, rows=24)
    again.wait("running")
    wait_until(lambda: home.status()["execs"] > before)
    for key, word in (("2", "id"), ("3", "rash"), ("4", "utants"), ("5", "og"), ("1", "exec")):
        again.keys(key, then=word)
    again.keys("x", then="Stop the campaign")
    again.keys("y")
    wait_until(lambda: home.status()["state"] == "stopped")
    again.wait("stopped")
    assert home.processes() == []


def test_the_home_screen_opens_stops_and_resumes_a_run(home, terminal):
    home.detach()
    # Keys act on the first run: none of another campaign of this user may be in the list.
    apart = (
        "import sys, pathlib; from fuzztui.run.home import listing; from fuzztui.cli import main;"
        f"listing.supervised_runs = lambda: [pathlib.Path({str(home.run)!r})]; sys.exit(main([]))"
    )
    screen = terminal(command=[sys.executable, "-c", apart])
    screen.wait("1 under way")
    screen.keys("Enter", then=lambda text: "Overview" in text and "running" in text.lower())
    screen.keys("q", then="1 under way")
    screen.keys("x", then="Stop the campaign")
    screen.keys("y")
    wait_until(lambda: home.status()["state"] == "stopped")
    screen.wait("0 under way")
    screen.keys("r", then="Resume the campaign")
    screen.keys("y")
    wait_until(lambda: home.status()["state"] == "running")
    screen.wait("running")
    screen.keys("q", then="exit=0")
    assert home.status()["state"] == "running"


def test_two_terminals_see_one_campaign(home, terminal):
    home.detach()
    one = terminal("attach", str(home.run))
    two = terminal("attach", str(home.run))
    for screen in (one, two):
        screen.wait("running")
    one.keys("p")
    for screen in (one, two):
        screen.wait("paused")
    assert home.status()["state"] == "paused"
    two.keys("p")
    one.wait("running")


def test_a_lost_terminal_ends_the_screen_and_nothing_else(home, terminal):
    screen = terminal(str(home.file))
    screen.wait("running")
    process = psutil.Process(screen.pid(str(home.file)))
    screen.close()
    wait_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
    before = home.status()["execs"]
    wait_until(lambda: home.status()["execs"] > before)
    assert home.status()["state"] == "running"


def test_over_ssh_with_the_link_cut_in_the_middle(home, terminal, sshd):
    home.detach()
    remote = shlex.join(
        ["env", f"XDG_RUNTIME_DIR={home.env['XDG_RUNTIME_DIR']}", FUZZTUI, "attach", str(home.run)]
    )
    ssh = [sshd[0], "-t", *sshd[1:], remote]
    screen = terminal(command=ssh)
    screen.wait("running")
    screen.keys("p", then="paused")
    wait_until(lambda: home.status()["state"] == "paused")
    screen.keys("p")
    wait_until(lambda: home.status()["state"] == "running")
    screen.close()  # the link is cut: ssh dies, sshd hangs up on the remote side
    before = home.status()["execs"]
    wait_until(lambda: home.status()["execs"] > before)
    again = terminal(command=ssh)
    again.wait("running")
    again.keys("q", then="exit=0")
    assert home.status()["state"] == "running"


def test_replay_of_a_finished_run(home, terminal):
    home.headless("4s")
    screen = terminal("replay", str(home.run), "--speed", "4")
    screen.wait(lambda text: "replay" in text.lower())
    screen.wait("finished")
    screen.keys("q", then="exit=0")


def test_small_and_large_terminals(home, terminal):
    home.detach()
    for columns, rows in ((40, 10), (60, 15), (200, 60)):
        screen = terminal("attach", str(home.run), columns=columns, rows=rows)
        screen.wait(lambda text: len(text.strip()) > 20)
        screen.keys("q", then="exit=0")


SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]
UNTOUCHED = {
    "alternate_on": "0", "cursor_flag": "1", "mouse_any_flag": "0", "mouse_sgr_flag": "0",
    "wrap_flag": "1", "ECHO": "1", "ICANON": "1", "ISIG": "1",
}  # fmt: skip
"""The terminal of a shell's command."""
IN_USE = {"alternate_on": "1", "cursor_flag": "0", "mouse_any_flag": "1", "ECHO": "0"}
"""A part of the terminal under a screen."""


def shows(screen, modes):
    return modes.items() <= screen.modes().items()


def killed(screen, signum, *words):
    """Send a signal to the screen; checks that it died of that and left the terminal alone."""
    os.kill(screen.pid(*words), signum)
    text = screen.wait("exit=")
    assert f"exit={128 + signum}" in text
    assert "Traceback" not in text
    wait_until(lambda: screen.modes() == UNTOUCHED)


@pytest.mark.parametrize("signum", SIGNALS, ids=lambda s: s.name)
def test_a_signal_restores_the_terminal(home, terminal, signum):
    home.detach()
    for arguments, word in (
        (["attach", str(home.run)], "running"),
        (["replay", str(home.run), "--speed", "1"], "REPLAY"),
        (["watch", str(home.run / "out")], "watched"),
    ):
        screen = terminal(*arguments)
        screen.wait(word)
        assert shows(screen, IN_USE)
        killed(screen, signum, *arguments)
    before = home.status()["execs"]
    wait_until(lambda: home.status()["execs"] > before)
    assert home.status()["state"] == "running"
    # The watcher, a child of the third screen, goes with it.
    wait_until(lambda: not watchers(home.run / "out"))


def watchers(directory):
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "fuzztui.features.watch" in words and str(directory) in words:
            found.append(process)
    return found


def test_a_signal_at_any_moment_of_the_start_restores_the_terminal(home, terminal):
    home.detach()
    delay = drawn = 0
    while drawn < 3:
        screen = terminal("attach", str(home.run))
        wait_until(partial(screen.runs, "attach"))
        time.sleep(delay / 10)
        drawn += shows(screen, IN_USE)
        killed(screen, signal.SIGTERM, "attach")
        delay += 1


def test_a_signal_while_it_leaves_restores_the_terminal(home, terminal):
    home.detach()
    screen = terminal("attach", str(home.run))
    screen.wait("running")
    pid = screen.pid("attach")
    screen.keys("q")
    with contextlib.suppress(ProcessLookupError):  # it has left already
        os.kill(pid, signal.SIGTERM)
    text = screen.wait("exit=")
    assert "exit=143" in text or "exit=0" in text
    wait_until(lambda: screen.modes() == UNTOUCHED)


BROKEN = """
import sys
from fuzztui.tui.app.app import FuzzApp
async def _watch(self):
    raise RuntimeError("nobody foresaw this")
FuzzApp._watch = _watch
from fuzztui.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_an_error_in_a_worker_restores_the_terminal(home, terminal):
    home.detach()
    screen = terminal(command=[sys.executable, "-c", BROKEN, "attach", str(home.run)])
    text = screen.wait("exit=")
    assert "exit=1" in text
    assert "nobody foresaw this" in text
    assert "attach" in text.replace("\n", "")  # how to come back; it may be wrapped
    assert "Traceback" not in text
    (file,) = Path(home.env["XDG_STATE_HOME"]).glob("fuzztui/*error*")
    details = file.read_text()
    assert "in _watch" in details
    assert "RuntimeError: nobody foresaw this" in details
    wait_until(lambda: screen.modes() == UNTOUCHED)
    assert home.status()["state"] == "running"


def test_an_entry_opens_in_the_editor_and_the_screen_comes_back(home, terminal):
    home("e2e.toml", "--headless", "--set", "campaign.budget=2000 trials", code=None)
    script = home.path / "editor"
    script.write_text('#!/bin/sh\necho "EDITOR SHOWS $1"\nread line\n')
    script.chmod(0o755)
    home.env["EDITOR"] = str(script)
    screen = terminal("attach", str(home.run))
    screen.wait("finished")
    screen.keys("2", then="lineage")
    screen.keys("e", then="EDITOR SHOWS")
    screen.keys("Enter", then="lineage")
    screen.keys("q", then="exit=0")
