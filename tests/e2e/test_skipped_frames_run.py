"""Which frames count for signatures, in real campaigns: Python and AFL++, in two runs each."""

import json
import shutil
from pathlib import Path

import pytest
from homes import Home, write_seeds
from waiting import wait_until

from fuzztui.cli.output import FINDINGS

pytestmark = pytest.mark.slow

CHECKS = """
def require(condition):
    if not condition:
        raise ValueError
"""
APP = """
from checks import require

def head(data):
    require(data[:1] != b"a")

def tail(data):
    require(data[1:2] != b"b")

def check(data):
    head(data)
    tail(data)
"""
CAMPAIGN = """
[campaign]
name = "e2e"
output = "run"
seed = 1
budget = "2000 trials"
[target]
function = "app:check"
include = ["app", "checks"]
[engine]
kind = "zest"
seeds = ["seeds"]
"""
RULE = "checks.py in require"
PLAIN = {"ValueError @ checks.py:4 in require"}
CALLERS = {"ValueError @ app.py:5 in head", "ValueError @ app.py:8 in tail"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.file.write_text(CAMPAIGN)
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "checks.py").write_text(CHECKS)
    write_seeds(tmp_path, "a", "xb", "c")
    return home


def groups(home: Home, *args: str) -> dict[str, str]:
    """The verdict of each group by signature."""
    rows = json.loads(home(*args, "--json"))["findings"]
    return {row["signature"]: row["verdict"] for row in rows}


def test_a_python_campaign_of_two_runs(home: Home) -> None:
    first, second = home.path / "run", home.path / "run-2"
    home(str(home.file), "--headless", code=FINDINGS)
    assert set(groups(home, "status", str(first))) == PLAIN
    home("ctl", str(first), "judge", PLAIN.copy().pop(), "known")
    home("ctl", str(first), "skip-frames", RULE)
    one = groups(home, "status", str(first))
    assert set(one) < CALLERS  # the engine had saved one input
    assert list(one.values()) == ["known"]
    assert groups(home, "replay", str(first)) == one
    # The next run has the rules from its start, and an input of each caller.
    home(str(home.file), "--headless", "--new", code=FINDINGS)
    assert groups(home, "status", str(second)) == dict.fromkeys(CALLERS, "new")
    home("ctl", str(second), "judge", "ValueError @ app.py:8 in tail", "wont-fix")
    home("ctl", str(second), "undo")
    home("ctl", str(second), "count-frames", RULE)
    assert groups(home, "status", str(second)) == dict.fromkeys(PLAIN, "known")
    home("ctl", str(second), "undo")
    assert groups(home, "status", str(second)) == dict.fromkeys(CALLERS, "new")
    assert RULE in (home.path / "e2e.verdicts.toml").read_text()


def test_while_the_engine_runs(home: Home) -> None:
    home(str(home.file), "--detach", "--set", "campaign.budget=10m")

    def signatures() -> set[str]:
        return {row["signature"] for row in home.status()["findings"]}

    try:
        wait_until(lambda: signatures() == PLAIN)
        home("ctl", str(home.run), "skip-frames", RULE)
        wait_until(lambda: signatures() == CALLERS)  # the second one is saved now
        home("ctl", str(home.run), "undo")
        wait_until(lambda: signatures() == PLAIN)
        file = home.path / "e2e.verdicts.toml"
        file.write_text(f'[signatures]\nskip = ["{RULE}"]\n')  # by a person
        wait_until(lambda: signatures() == CALLERS)
    finally:
        home("ctl", str(home.run), "stop")


SOURCE = r"""
#include <stdio.h>
#define KEEP __attribute__((noinline))
KEEP int load(volatile int *p) { return *p + 1; }
KEEP int first(char *b) { return load((volatile int *)(long)(b[1] & 1)) + 2; }
KEEP int second(char *b) { return load((volatile int *)(long)(b[1] & 1)) + 3; }
int main(void) {
  static char b[9];
  int n = fread(b, 1, sizeof b, stdin);
  if (n > 1 && b[0] == 'f') return first(b);
  if (n > 1 && b[0] == 's') return second(b);
  return 0;
}
"""
AFL = """
[campaign]
name = "e2e"
output = "run"
seed = 1
budget = "10m"
[target]
command = ["./t"]
build = "$CC -g -O1 -o t $SOURCE/t.c"
[engine]
kind = "afl"
seeds = ["seeds"]
"""


@pytest.mark.skipif(
    not (shutil.which("afl-cc") and shutil.which("gdb")), reason="afl++ or gdb is missing"
)
def test_an_afl_campaign(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.file.write_text(AFL)
    (tmp_path / "t.c").write_text(SOURCE)
    write_seeds(tmp_path, "xxxx")
    home(str(home.file), "--detach")

    def places() -> list[str]:
        return sorted(row["place"] for row in home.status()["findings"])

    try:
        # Three functions are in the signature: two groups, both in the same place.
        wait_until(lambda: places() == ["t.c:4 in load"] * 2)
        before = {row["signature"] for row in home.status()["findings"]}
        home("ctl", str(home.run), "skip-frames", "t.c in load")
        assert places() == ["t.c:5 in first", "t.c:6 in second"]
        home("ctl", str(home.run), "skip-frames", "first", "second")
        (merged,) = places()
        assert merged.endswith("in main")
        home("ctl", str(home.run), "undo")
        home("ctl", str(home.run), "undo")
        assert {row["signature"] for row in home.status()["findings"]} == before
    finally:
        home("ctl", str(home.run), "stop")
