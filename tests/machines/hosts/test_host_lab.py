"""The hosts that other tests use: what is said about them is so, and nothing of them is left."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host_lab import Host, Hosts, as_root
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

SHIFTS = (0, 3600, -7200)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Three hosts; tests leave them as they were."""
    with Hosts(3, tmp_path_factory.mktemp("lab"), SHIFTS) as hosts:
        yield hosts


def test_each_host_is_a_machine_of_its_own(hosts: Hosts) -> None:
    seen = {name: host.run("hostname").stdout.strip() for name, host in hosts.items()}
    assert seen == {"h1": "h1", "h2": "h2", "h3": "h3"}
    boots = {host.run("cat /proc/sys/kernel/random/boot_id").stdout for host in hosts.values()}
    here = Path("/proc/sys/kernel/random/boot_id").read_text()
    assert len(boots | {here}) == 4
    hosts["h1"].run("echo h1 > ~/mine; echo h1 > /tmp/mine")
    assert hosts["h1"].run("cat ~/mine /tmp/mine").stdout == "h1\nh1\n"
    assert hosts["h2"].run("ls -d ~/mine /tmp/*", check=False).stdout == ""
    assert int(hosts["h1"].run("ps -e --no-headers | wc -l").stdout) < 20


def test_clocks_are_shifted_and_waits_are_not(hosts: Hosts) -> None:
    for host, shift in zip(hosts.values(), SHIFTS, strict=True):
        before = time.time()
        there = float(host.run("date +%s").stdout) - shift
        assert before - 1 <= there <= time.time()
        python = "import time; a = time.time(); time.sleep(.2); print(time.time() - a)"
        assert 0.1 < float(host.run(f"python3 -c '{python}'").stdout) < 20
    up = [float(host.run("cut -d' ' -f1 /proc/uptime").stdout) for host in hosts.values()]
    assert up[1] - up[0] > 50_000 and up[2] - up[1] > 50_000


def test_hosts_reach_each_other_and_the_tester(hosts: Hosts) -> None:
    for name in ("h2", "h3", "hub"):
        hosts["h1"].run(f"getent hosts {name}")
    hosts["h1"].run("timeout 5 bash -c '</dev/tcp/h2/22'")
    hosts["h1"].cut()
    assert hosts["h2"].run("timeout 1 bash -c '</dev/tcp/h1/22'", check=False).returncode == 124
    hosts["h1"].mend()


def test_the_tester_s_own_settings_of_ssh_are_not_read(hosts: Hosts) -> None:
    argv = [*hosts.ssh, "-G", "h1"]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    assert f"userknownhostsfile {hosts.config.parent}/known_hosts" in shown
    assert [line for line in shown if line.startswith("identityfile")] == [
        f"identityfile {hosts.config.parent}/id"
    ]
    assert hosts.env()["FUZZTUI_SSH"].split() == hosts.ssh


@pytest.mark.parametrize("way", [Host.cut, Host.drop_silently])
def test_ssh_notices_a_silent_link_by_itself(hosts: Hosts, way: Callable[[Host], None]) -> None:
    host = hosts["h2"]
    alive = ["-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2"]
    client = subprocess.Popen(
        [*hosts.ssh, *alive, "h2", "echo here; exec sleep 60"], stdout=subprocess.PIPE
    )
    assert client.stdout is not None and client.stdout.readline() == b"here\n"
    way(host)
    assert client.poll() is None  # nobody told it
    assert client.wait(DEADLINE_S) == 255
    client.stdout.close()
    # The process over there heard nothing of it.
    assert "sleep 60" in host.inside("ps", "-eo", "args")
    host.mend()
    host.run("pkill -x sleep")


def test_a_reboot_keeps_the_disk_and_nothing_else(hosts: Hosts) -> None:
    host = hosts["h3"]
    host.run(
        "echo kept > ~/kept; echo lost > /tmp/lost; setsid sleep 600 >/dev/null 2>&1 </dev/null &"
    )
    before = host.run("cat /proc/sys/kernel/random/boot_id").stdout
    client = subprocess.Popen([*hosts.ssh, "h3", "exec sleep 600"], stderr=subprocess.DEVNULL)
    wait_until(lambda: "sleep 600" in host.inside("ps", "-eo", "args"))
    host.reboot()
    assert client.wait(DEADLINE_S) == 255
    assert host.run("cat ~/kept; ls /tmp").stdout == "kept\n"
    assert host.run("cat /proc/sys/kernel/random/boot_id").stdout != before
    assert "sleep 600" not in host.inside("ps", "-eo", "args")
    host.power_off()
    argv = [*hosts.ssh, "-o", "ConnectTimeout=1", "h3", "true"]
    assert subprocess.call(argv, stderr=subprocess.DEVNULL) == 255
    host.boot()
    host.run("test -e ~/kept")


def test_a_full_disk(hosts: Hosts) -> None:
    host = hosts["h1"]
    host.fill_disk()
    assert host.run("echo more > ~/more && cat ~/more", check=False).returncode == 1
    host.run("echo more > /tmp/more")  # another file system
    host.free_disk()
    host.run("echo more > ~/more")


def test_a_slow_link(hosts: Hosts) -> None:
    hosts["h1"].slow(2000)
    begun = time.monotonic()
    hosts["h1"].run("head -c 300000 /dev/urandom | base64 -w0")
    # 400 kB at 250 kB/s: no machine is faster than its link.
    assert time.monotonic() - begun > 1.2
    hosts["h1"].slow(0)
    assert len(hosts["h1"].run("head -c 300000 /dev/zero | base64 -w0").stdout) == 400_000


def test_listening_sockets_are_seen(hosts: Hosts) -> None:
    host = hosts["h1"]
    assert host.listening() == {("0.0.0.0", 22), ("::", 22)}
    server = "import socket,time; s=socket.create_server(('127.0.0.1',7070)); print(1,flush=True)"
    client = subprocess.Popen(
        [*hosts.ssh, "h1", f'python3 -c "{server}; time.sleep(600)"'],
        stdout=subprocess.PIPE,
    )
    assert client.stdout is not None and client.stdout.readline() == b"1\n"
    assert ("127.0.0.1", 7070) in host.listening()
    assert ("127.0.0.1", 7070) not in hosts["h2"].listening()
    host.run("pkill -f create_serve[r]")
    client.wait(DEADLINE_S)
    client.stdout.close()


def test_accounts_and_programs(hosts: Hosts) -> None:
    host = hosts["h2"]
    assert "fuzzers" in host.run("id", user="ann").stdout
    assert "fuzzers" not in host.run("id", user="bob").stdout
    assert host.run("id -u", user="root").stdout == "0\n"
    assert host.run("python3 -c 'print(1)'").stdout == "1\n"
    assert host.run("command -v afl-fuzz").stdout.strip().endswith("/afl-fuzz")


def bridges() -> set[str]:
    """The bridges of hosts on this machine."""
    return {path.name for path in Path("/sys/class/net").glob("fzt*")}


def processes(text: str) -> list[str]:
    """The command lines of other processes of this machine that contain a text."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if text in line and int(process.name) != os.getpid():
            found.append(line)
    return found


def test_nothing_is_left_and_testers_do_not_clash(tmp_path: Path, hosts: Hosts) -> None:
    before = bridges()
    with Hosts(1, tmp_path) as others:
        assert others["h1"].ip != hosts["h1"].ip
        mine = bridges() - before
        assert others["h1"].run("hostname").stdout == "h1\n"
        others["h1"].run(f"setsid tail -f {tmp_path}/none /dev/null >/dev/null 2>&1 </dev/null &")
        wait_until(lambda: processes(f"{tmp_path}/none"))
    assert mine and not mine & bridges()
    assert not processes(str(tmp_path))
    hosts["h1"].run("true")


TESTER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from host_lab import Hosts
with Hosts(1, Path(sys.argv[1])) as hosts:
    hosts["h1"].run(f"setsid tail -f {sys.argv[1]}/none /dev/null >/dev/null 2>&1 </dev/null &")
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("victim", ["tester", "keeper"])
def test_nothing_is_left_of_a_killed_tester(tmp_path: Path, hosts: Hosts, victim: str) -> None:
    helpers = str(Path(__file__).parents[2] / "helpers")
    (tmp_path / "first").mkdir()
    argv = [sys.executable, "-c", TESTER, str(tmp_path / "first"), helpers]
    tester = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert tester.stdout is not None and tester.stdout.readline() == b"up\n"
    if victim == "keeper":
        keeper = Path(f"/proc/{tester.pid}/task/{tester.pid}/children").read_text().split()[0]
        subprocess.run([*as_root(), "kill", "-KILL", keeper], check=True)
    tester.kill()
    tester.wait()
    tester.stdout.close()
    wait_until(lambda: not processes(str(tmp_path)))
    with Hosts(1, tmp_path) as again:  # perhaps with the number that was left
        again["h1"].run("true")
