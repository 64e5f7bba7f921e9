"""A run on another machine: looked at, steered, and never doubled, over links that are cut."""

import getpass
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host_lab import Host, Hosts
from host_lab.campaigns import CAMPAIGN, start_campaign
from terminal import Terminal
from waiting import DEADLINE_S, wait_until

from fuzztui.cli.remote_runs import mirrored, user_of
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.client import ControlClient
from fuzztui.kernel.remote.lock import running, trouble
from fuzztui.kernel.remote.mirrored import fetch
from fuzztui.kernel.wire.commands import Pause, Resume

pytestmark = pytest.mark.slow

RUN = "/home/fuzz/runs/c"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Hosts of which the first has a clock that is an hour ahead."""
    with Hosts(3, tmp_path_factory.mktemp("lab"), (3600, 0, 0)) as hosts:
        yield hosts


@pytest.fixture(scope="module")
def box(hosts: Hosts) -> Host:
    """A host with a running campaign of the account "fuzz", shared with the group "fuzzers"."""
    start_campaign(hosts["h1"])
    return hosts["h1"]


@pytest.fixture(autouse=True)
def only_these_hosts(hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No ssh config of the tester, no state of the tester's screens."""
    monkeypatch.setenv("FUZZTUI_SSH", hosts.env()["FUZZTUI_SSH"])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "xdg").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "xdg"))


def fuzztui(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "fuzztui", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def events(spec: str, *kinds: str) -> list[dict]:
    lines = fuzztui("events", spec, "--json", "--kind", ",".join(kinds)).stdout
    return [json.loads(line) for line in lines.splitlines()]


def records_there(box: Host, upto: int) -> list[str]:
    """The lines of the log over there, up to a number, as ``events --json`` prints them."""
    text = box.inside("sh", "-c", f"cd {RUN}/log; zcat campaign.jsonl.gz 2>/dev/null; cat tail-*")
    lines = {json.loads(line)["s"]: line for line in text.splitlines()}
    kept = [line for number, line in sorted(lines.items()) if number <= upto]
    return ['{"v":1,' + line.removeprefix("{") for line in kept]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator:
    """``terminal(*args)`` runs fuzztui in a real terminal."""
    opened: list[Terminal] = []

    def open_terminal(*args: str) -> Terminal:
        names = ("FUZZTUI_SSH", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")
        env = {name: os.environ[name] for name in names if name in os.environ}
        opened.append(Terminal([sys.executable, "-m", "fuzztui", *args], env=env))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


def ours() -> str:
    """The author of commands from here, as the log over there names it."""
    return f"{getpass.getuser()}@{socket.gethostname()} as fuzz@h1"


def test_status_events_and_ctl_work_over_ssh(box: Host) -> None:
    found = json.loads(fuzztui("status", "fuzz@h1:", "--json").stdout)
    assert (found["state"], found["run"]) == ("running", f"fuzz@h1:{RUN}")
    assert found["pid"] == int(box.run(f"head -c 32 {RUN}/supervisor/lock").stdout)
    copied = fuzztui("events", "h1:c", "--json").stdout.splitlines()
    assert copied == records_there(box, json.loads(copied[-1])["s"])
    before = commands(box)
    assert fuzztui("ctl", "h1:runs/c", "pause").stdout.startswith("applied")
    assert fuzztui("ctl", f"h1:{RUN}", "undo").stdout.startswith("applied")
    issued = events("h1:c", "command_issued")[before:]
    assert [e["by"] for e in issued] == [ours()] * 2
    assert issued[1]["undoes"] == [issued[0]["id"]]
    fuzztui("ctl", "h1:c", "add-seed", "relative", code=2)
    fuzztui("repro", "h1:c", "x", code=2)


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("h1:runs/none", "/home/fuzz/runs/none"),
        ("h2:", "no run"),
        ("h9.invalid:x", "no such host"),
        (f"bob@h1:{RUN}", "campaign.group"),
        ("nobody-there@h1:", "refuses your key"),
    ],
)
def test_a_run_that_cannot_be_shown_is_an_error_in_words(box: Host, spec: str, word: str) -> None:
    assert word in fuzztui("status", spec, code=3).stderr


def test_an_address_that_is_an_option_of_ssh_is_refused(tmp_path: Path) -> None:
    fuzztui("status", "--", "-oProxyCommand=true:x", code=2)
    fuzztui("status", "--", f"-oProxyCommand=touch {tmp_path}/evil:x", code=3)  # a path, as in scp
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    "way", [Host.cut, pytest.param(Host.drop_silently, marks=pytest.mark.nightly)]
)
def test_nothing_is_lost_or_doubled_when_the_link_is_cut(box: Host, way) -> None:
    with mirrored("fuzz@h1", "c", read_only=False) as mirror:
        run = mirror.directory
        reader = LogReader(run)
        before = reader.last_seq
        pid = running(run)
        way(box)
        try:
            wait_until(lambda: "not connected since" in trouble(run))
            assert running(run) == pid  # whether it still runs is unknown
            client = ControlClient(run, "test")
            answer = client.send(Pause())
            assert not answer.ok and "not sent" in answer.detail
            client.close()
            assert "not connected" in fetch(run, "out/main/fuzzer_stats")
        finally:
            box.mend()
        wait_until(lambda: not trouble(run))
        there = wait_until(lambda: (n := len(records_there(box, 1 << 60))) > before and n)

        def caught_up() -> bool:
            reader.refresh()
            return reader.last_seq >= there

        wait_until(caught_up)
        lines = b"".join(path.read_bytes() for path in sorted((run / "log").glob("tail-*")))
        mine = [json.loads(line)["s"] for line in lines.decode().splitlines()]
        assert mine == list(range(mine[0], mine[-1] + 1)) and mine[-1] >= there
        assert not reader.problems
        # Commands work again, once each.
        client = ControlClient(run, "test")
        for command in (Pause(), Resume()):
            assert client.send(command, DEADLINE_S).ok
        client.close()
    names = [e["command"]["c"] for e in events("h1:c", "command_issued")]
    assert names[-2:] == ["pause", "resume"]
    assert not mirror.directory.exists()


def test_the_screen_over_a_link_that_is_cut(box: Host, terminal) -> None:
    screen = terminal("attach", "fuzz@h1:c")
    screen.wait("RUNNING")
    screen.keys("p", then="PAUSED")
    screen.keys("p", then="RUNNING")
    screen.keys("3", then="boom")
    screen.wait("abc")  # the input, copied when it was shown
    screen.wait("ssh fuzz@h1")  # how to reproduce it over there
    box.cut()
    try:
        screen.wait("not connected since")
        screen.keys("p", then="not sent")
    finally:
        box.mend()
    screen.wait(lambda text: "not connected since" not in text)
    screen.keys("p", then="PAUSED")
    screen.keys("p", then="RUNNING")
    screen.keys("q")
    assert "fuzztui attach fuzz@h1:" in screen.wait("exit=0")
    assert {e["by"] for e in events("h1:c", "command_issued")} == {ours()}


def commands(box: Host) -> int:
    """How many commands the log over there contains."""
    return sum('"command_issued"' in line for line in records_there(box, 1 << 60))


def test_read_only_is_refused_over_there(box: Host) -> None:
    before = commands(box)
    with mirrored("fuzz@h1", "c", read_only=True) as mirror:
        assert user_of(mirror.directory, mirror).why_not_steer
        client = ControlClient(mirror.directory, "test")
        client.why_not_steer = ""  # a client that does not care
        result = client.send(Pause())
        client.close()
        assert not result.ok and "--read-only" in result.detail
    assert commands(box) == before


def test_a_member_of_the_group_looks_and_does_not_steer(box: Host, terminal) -> None:
    spec, before = f"ann@h1:{RUN}", commands(box)
    assert json.loads(fuzztui("status", spec, "--json").stdout)["state"] == "running"
    assert "group_may_steer" in fuzztui("ctl", spec, "pause", code=1).stdout
    with mirrored("ann@h1", RUN, read_only=False) as mirror:
        finding = next((mirror.directory / "log").glob("tail-*"))
        assert finding.exists()
        file = box.run(f"cd {RUN} && ls out/main/crashes/id* | head -1").stdout.strip()
        assert fetch(mirror.directory, file) == ""
        assert (mirror.directory / file).read_bytes() == b"abc"
        assert fetch(mirror.directory, "supervisor/stderr")
        assert fetch(mirror.directory, "out/../../../../etc/passwd")
    screen = terminal("attach", spec)
    screen.wait("RUNNING")
    screen.keys("p", then="only look")
    screen.keys("q", then="exit=0")
    # The same on the host itself, where no link refuses anything.
    code = (
        "import sys; from pathlib import Path;"
        "from fuzztui.kernel.remote.client import ControlClient;"
        "from fuzztui.kernel.wire.commands import Pause;"
        f"r = ControlClient(Path({RUN!r}), 'x').send(Pause()); print(r.ok, r.detail)"
    )
    python = 'PYTHONPATH="$(ls -dt ~/.cache/fuzztui/lib/* | head -1)" python3 -P -c'
    assert box.run(f'{python} "{code}"', user="ann").stdout.startswith("False")
    assert commands(box) == before
    assert box.run(f"cat {RUN}/supervisor/stderr", user="ann", check=False).returncode
    assert box.run(f"ls {RUN}", user="bob", check=False).returncode


def test_a_host_that_reboots_ends_the_supervisor_and_not_the_screen(hosts: Hosts) -> None:
    box = hosts["h3"]  # of this test alone
    start_campaign(box)
    with mirrored("fuzz@h3", "c", read_only=False) as mirror:
        run = mirror.directory
        assert running(run)
        box.reboot()
        wait_until(lambda: running(run) is None)
        assert not mirror.died()
        group = 'group = "fuzzers"'
        start_campaign(box, CAMPAIGN.replace(group, f"{group}\ngroup_may_steer = true"))
        wait_until(lambda: running(run))
        last = LogReader(run).last_seq
        wait_until(lambda: LogReader(run).last_seq > last)
    # Its owner has changed his mind about the group.
    assert fuzztui("ctl", f"ann@h3:{RUN}", "pause").stdout.startswith("applied")
    (*_, issued) = events(f"ann@h3:{RUN}", "command_issued")
    assert issued["by"] == ours().replace("fuzz@h1", "ann@h3")
    assert json.loads(fuzztui("status", "h3:", "--json").stdout)["state"] == "paused"
