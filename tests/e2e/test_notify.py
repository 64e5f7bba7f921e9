"""``notify.command`` of real campaigns."""

import json
from pathlib import Path

import pytest
from homes import Home, kill_holder, logged
from skipped import needs_afl
from waiting import wait_until

from fuzztui.kernel.wire.events import Notified

pytestmark = pytest.mark.slow

APP = """
def check(data):
    if data[:1] == b"a":
        raise KeyError
    if data[:1] == b"b":
        raise IndexError
"""
CAMPAIGN = """
[campaign]
name = "e2e"
output = "run"
seed = 1
[target]
function = "app:check"
[engine]
kind = "zest"
[notify]
command = "./hook"
"""
AFL = """
[campaign]
name = "e2e"
output = "run"
[target]
command = ["./app", "@@"]
build = "$CC -o app $SOURCE/app.c"
[engine]
kind = "afl"
[stop]
crashes = 1
[notify]
command = "./hook"
"""
C = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    FILE *f = fopen(argv[1], "r");
    if (f && getc(f) == 'b') abort();
    return 0;
}
"""


def hook(home: Home, command: str = "cat >> objects") -> None:
    script = home.path / "hook"
    script.write_text(f"#!/bin/sh\ncd {home.path}\n{command}\n")
    script.chmod(0o755)


def objects(home: Home) -> list[dict]:
    file = home.path / "objects"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def reported(home: Home) -> list[list[str]]:
    """The findings of each ``notified`` record that is on the disk."""
    return [event.findings for event in logged(home.run, Notified)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.file.write_text(CAMPAIGN)
    (tmp_path / "app.py").write_text(APP)
    hook(home)
    return home


def test_each_group_and_the_end_are_reported(home: Home) -> None:
    home.headless("20000 trials", code=10)
    found = [one for new in objects(home) for one in new.get("new", [])]
    assert sorted(f["title"] for f in found) == ["IndexError", "KeyError"]
    assert all(Path(f["file"]).is_file() for f in found)
    assert [one["end"] for one in objects(home) if one["news"] == "end"] == ["finished"]
    home(*found[0]["reproduce"].split()[1:], code=10)


def test_after_a_kill_of_the_supervisor_no_group_is_reported_again(home: Home) -> None:
    home.detach()
    wait_until(lambda: sum(len(new) for new in reported(home)) == 2)
    kill_holder(home.run)
    home.detach()
    wait_until(lambda: home.status()["state"] == "running")
    home.stop()
    assert sum(len(one.get("new", [])) for one in objects(home)) == 2
    assert [one["news"] for one in objects(home)][-1] == "end"


def test_a_command_that_fails_harms_nothing(home: Home) -> None:
    hook(home, "exit 3")
    home.headless("20000 trials", code=10)
    assert home.status()["groups"]["crash"] == 2


def test_the_command_can_be_tested(home: Home) -> None:
    home("check", str(home.file), "--notify")
    assert [one["news"] for one in objects(home)] == ["test"]
    hook(home, "echo cannot >&2; exit 4")
    home("check", str(home.file), "--notify", code=1)
    assert f"{home.file}:11" in home.stderr and "cannot" in home.stderr


@needs_afl()
def test_a_crash_of_afl_is_reported_with_its_signature(home: Home) -> None:
    home.file.write_text(AFL)
    (home.path / "app.c").write_text(C)
    home(str(home.file), "--headless", code=10)
    [new, end] = objects(home)
    assert new["new"][0]["signature"] and end["news"] == "end"
