"""The screen in a real terminal: here, from a second terminal, and through a real sshd."""

import shlex

import pytest
from homes import FUZZTUI, eventually

pytestmark = pytest.mark.slow


def test_start_look_leave_rejoin_stop(home, terminal):
    screen = terminal(str(home.file))
    screen.wait("e2e")
    screen.wait(lambda text: "running" in text and "corpus" in text.lower())
    eventually(lambda: home.status()["execs"] > 0)
    # Leaving never stops the campaign, and says how to come back.
    screen.keys("q")
    text = screen.wait("exit=0")
    assert "attach" in text
    assert home.status()["state"] == "running"
    before = home.status()["execs"]

    again = terminal("attach", str(home.run), columns=80, rows=24)
    again.wait("running")
    eventually(lambda: home.status()["execs"] > before)
    for key, word in (("2", "id"), ("3", "rash"), ("4", "utants"), ("5", "og"), ("1", "exec")):
        again.keys(key)
        again.wait(word)
    again.keys("x")
    again.wait("End the campaign")
    again.keys("y")
    eventually(lambda: home.status()["state"] == "stopped")
    again.wait("stopped")
    assert home.processes() == []


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


def test_a_lost_terminal_stops_nothing(home, terminal):
    screen = terminal(str(home.file))
    screen.wait("running")
    screen.close()
    before = home.status()["execs"]
    eventually(lambda: home.status()["execs"] > before)
    assert home.status()["state"] == "running"


def test_over_ssh_with_the_link_cut_in_the_middle(home, terminal, sshd):
    home.detach()
    remote = shlex.join(
        ["env", f"XDG_RUNTIME_DIR={home.env['XDG_RUNTIME_DIR']}", FUZZTUI, "attach", str(home.run)]
    )
    ssh = [sshd[0], "-t", *sshd[1:], remote]
    screen = terminal(command=ssh)
    screen.wait("running")
    screen.keys("p")
    screen.wait("paused")
    eventually(lambda: home.status()["state"] == "paused")
    screen.keys("p")
    eventually(lambda: home.status()["state"] == "running")
    screen.close()  # the link is cut: ssh dies, sshd hangs up on the remote side
    before = home.status()["execs"]
    eventually(lambda: home.status()["execs"] > before)
    again = terminal(command=ssh)
    again.wait("running")
    again.keys("q")
    again.wait("exit=0")
    assert home.status()["state"] == "running"


def test_replay_of_a_finished_run(home, terminal):
    home(str(home.file), "--headless", "--set", "campaign.budget=4s")
    screen = terminal("replay", str(home.run), "--speed", "4")
    screen.wait(lambda text: "replay" in text.lower())
    screen.wait("finished", seconds=60)
    screen.keys("q")
    screen.wait("exit=0")


def test_small_and_large_terminals(home, terminal):
    home.detach()
    for columns, rows in ((40, 10), (60, 15), (200, 60)):
        screen = terminal("attach", str(home.run), columns=columns, rows=rows)
        screen.wait(lambda text: len(text.strip()) > 20)
        screen.keys("q")
        screen.wait("exit=0")
