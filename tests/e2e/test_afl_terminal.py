"""The AFL++ samples as a newcomer runs them: one command in a real terminal."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from homes import FUZZTUI
from skipped import needs_afl
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.events import CommandApplied, CommandIssued

pytestmark = [pytest.mark.slow, needs_afl()]


SAMPLES = Path(__file__).parents[2] / "sample_campaigns"


@pytest.fixture
def fuzztui(home, terminal):
    """``fuzztui(RUN, *args)`` in a terminal, in the user's directory; RUN is cleared up."""

    def start(run: str, *args: str, **size: int):
        home.run = home.path / run
        line = f"cd {shlex.quote(str(home.path))} && exec {shlex.join([FUZZTUI, *args])}"
        return terminal(command=["sh", "-c", line], **size)

    return start


@pytest.mark.nightly
def test_the_buggy_sample_is_built_crashes_and_is_understood(home, fuzztui):
    campaign = tomllib.loads((SAMPLES / "crashy-afl.toml").read_text())
    # That it is built is on the screen for as long as it takes: long enough to be seen.
    build = f"target.build=sleep 5; {campaign['target']['build']}"
    options = ("--set", "campaign.budget=20s", "--set", build)
    screen = fuzztui("runs/crashy", "crashy-afl.toml", *options, columns=100, rows=30)
    screen.wait("building the target")
    screen.wait("FINISHED")
    screen.keys("3")
    # The sanitizer's word for it, and where: the crash was run again.
    text = screen.wait(lambda t: "AddressSanitizer" in t and "buffer-overflow" in t)
    assert "unpack" in text
    screen.keys("q", then="exit=10")
    run = home.status()
    assert run["state"] == "finished"
    finding = next(f for f in run["findings"] if "overflow" in f["title"])
    repro = home("repro", "runs/crashy", finding["first"], code=10)
    assert "unpack" in repro + home.stderr
    smaller = home("minimise", "runs/crashy", finding["first"], timeout=DEADLINE_S)
    assert re.search(r"\d+ -> \d+ bytes", smaller)


@pytest.mark.nightly
@pytest.mark.skipif(
    not Path("/usr/include/stb/stb_image.h").exists(), reason="libstb-dev is not installed"
)
@pytest.mark.timeout(600)
def test_a_library_of_debians_is_fuzzed_watched_and_steered(home, fuzztui):
    run = "runs/stb-image"
    screen = fuzztui(run, "stb-image-afl.toml", columns=120, rows=40)
    screen.wait("RUNNING")  # a busy machine compiles it for minutes
    wait_until(lambda: all(i["execs"] > 1000 for i in home.status()["instances"]))
    # Fresh: at most two seconds old, on the screen too (older figures have an age beside them).
    wait_until(lambda: max(i["age_s"] for i in home.status()["instances"]) <= 2.5)
    screen.wait(lambda t: re.search(r"^\s*s1 .*running", t, re.MULTILINE))

    # A second pair of eyes that needs no campaign file, and one without a screen.
    watching = fuzztui(run, "watch", f"{run}/out", columns=100, rows=30)
    watching.wait(lambda t: "s1" in t and "watched" in t)
    watching.keys("p", then="watched only")
    watching.keys("q", then="exit=0")
    assert "s1" in home("status", f"{run}/out")

    # Pause one: it stops executing, the other continues; resumed, its rate is honest.
    screen.keys("P")
    wait_until(lambda: home.status()["instances"][0]["state"] == "paused")
    paused, others = -1, set()

    def stands_still() -> bool:
        """While the other one's figures come, and come; those of before the pause may be late."""
        nonlocal paused
        main, other = (i["execs"] for i in home.status()["instances"])
        if main != paused:
            paused = main
            others.clear()
        others.add(other)
        return len(others) > 3

    wait_until(stands_still)
    screen.keys("P")
    wait_until(lambda: home.status()["instances"][0]["execs"] > paused + 1000)

    # Skip and promote entries by their ids. afl-fuzz looks between two entries, which a
    # CmpLog stage may keep far apart: the next entry is asked for until it has answered.
    for verb, entry in (("skip", "s1/1"), ("promote", "s1/2")):
        home("ctl", run, verb, entry, "--timeout", "1s", code=None)

    def answered() -> bool:
        home("ctl", run, "skip-current", "--instance", "s1", code=None)
        return not home.status()["pending_commands"]

    wait_until(answered)
    events = [record.event for record in LogReader(home.path / run).records()]
    asked = {e.id: e.command["c"] for e in events if isinstance(e, CommandIssued)}
    assert "skip" in [asked.get(e.id) for e in events if isinstance(e, CommandApplied)]
    assert home("ctl", run, "skip-current", "--instance", "main").startswith("applied")
    (home.path / "seed").write_bytes(b"\x89PNG\r\n\x1a\nnonsense")
    assert home("ctl", run, "add-seed", "seed").startswith("applied")

    screen.keys("x", then="Stop the campaign")
    screen.keys("y", then="STOPPED")
    wait_until(lambda: running(home.path / run) is None)
