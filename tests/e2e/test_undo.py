"""``fuzztui ctl RUN undo`` on real engines: what was set is as before, and the log says so."""

import json

import pytest
from homes import Home
from waiting import wait_until

from fuzztui.cli.runs import standing
from fuzztui.kernel.model.state import State

pytestmark = pytest.mark.slow

SKIPPED = "function=skip_*"


def state(home: Home) -> State:
    return standing(home.run).state


def settings(home: Home) -> dict[str, tuple[str, str, str]]:
    """What users have set: of each mutant verdict, reason and position."""
    return {
        m.id: (m.state if m.state in ("skipped", "equivalent") else "", m.reason, m.steer)
        for m in state(home).mutants.values()
    }


def test_entries_and_mutants_are_as_before(home: Home) -> None:
    home.file.write_text(home.file.read_text().replace('"zest"', '"mu2"\ninstances = 2'))
    home.detach("--set", 'target.include=["tomllib"]')
    run = str(home.run)
    wait_until(lambda: home.status()["corpus"] > 20 and len(state(home).mutants) > 100)
    wait_until(lambda: sum(m.state == "killed" for m in state(home).mutants.values()) > 20)
    start = settings(home)
    assert {one[::2] for one in start.values()} == {("", "")}

    # Entries.
    home("ctl", run, "skip", "main/2")
    home("ctl", run, "demote", "main/2")
    assert state(home).entries["main/2"].steer == "demoted"
    assert "undo of demote main/2" in (home("ctl", run, "undo"), home.stderr)[1]
    wait_until(lambda: state(home).entries["main/2"].steer == "skipped")
    home("ctl", run, "undo")
    wait_until(lambda: state(home).entries["main/2"].steer == "")

    # Many mutants, some of which were set before.
    def on_an_alive_one(*command: str) -> str:
        for m in reversed(state(home).mutants.values()):  # an input may kill one meanwhile
            if m.state == "alive" and not m.steer:
                home("ctl", run, command[0], m.id, *command[1:], code=None)
                if settings(home)[m.id] != ("", "", ""):
                    return m.id
        raise AssertionError("no mutant is alive")

    promoted = on_an_alive_one("promote-mutants")
    equal = on_an_alive_one("mark-equivalent", "--because", "it is")
    middle = settings(home)
    assert (middle[promoted][2], middle[equal][0]) == ("promoted", "equivalent")
    home("ctl", run, "skip-mutants", "file=*")
    assert sum(m.state == "skipped" for m in state(home).mutants.values()) > 20
    home("ctl", run, "undo")
    now = settings(home)
    killed = {m.id for m in state(home).mutants.values() if m.state == "killed"}
    assert {i: s for i, s in now.items() if i not in killed} == {
        i: s for i, s in middle.items() if i not in killed
    }
    home("ctl", run, "undo")
    home("ctl", run, "undo")
    now = settings(home)
    assert {i: s for i, s in now.items() if i not in killed} == {
        i: s for i, s in start.items() if i not in killed
    }

    ended = {of["what"]: of["ended"] for of in home.status()["receipts"]}
    assert ended["skip-mutants file=*"] == "undone"
    assert ended[f"promote-mutants {promoted}"] == "replaced", "by the skip, before its own undo"

    # A discarded kill is there again, with its killer.
    dead = next(m for m in state(home).mutants.values() if m.state == "killed")
    home("ctl", run, "requeue-mutants", dead.id)
    home("ctl", run, "undo", code=None)  # the corpus may have killed it again
    wait_until(lambda: state(home).mutants[dead.id].state == "killed")

    # Pauses, the end of the list, and what cannot be undone.
    home("ctl", run, "pause")
    wait_until(lambda: home.status()["state"] == "paused")
    home("ctl", run, "undo")
    wait_until(lambda: home.status()["state"] == "running")
    home("ctl", run, "exact-pass")
    out = home("ctl", run, "undo", code=None)  # the command before, if there is one left
    assert "cannot be undone" in out + home.stderr
    home("ctl", run, "stop")
    wait_until(lambda: home.status()["state"] == "stopped")
    receipts = home.status()["receipts"]
    assert json.loads(home("replay", run, "--json"))["receipts"] == receipts


def test_undo_knows_the_log_only(home: Home) -> None:
    """A new supervisor, which has seen no command, restores what was set before."""
    home.detach()
    run = str(home.run)
    wait_until(lambda: home.status()["corpus"] > 5)
    home("ctl", run, "skip", "main/2")
    wait_until(lambda: state(home).entries["main/2"].steer == "skipped")
    home("ctl", run, "stop")
    wait_until(lambda: home.status()["state"] == "stopped")
    home.detach()
    wait_until(lambda: home.status()["state"] == "running")
    home("ctl", run, "undo")
    wait_until(lambda: state(home).entries["main/2"].steer == "")
    home("ctl", run, "undo", code=1)
    home("ctl", run, "stop")
