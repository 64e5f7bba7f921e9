"""Real hosts for tests, in namespaces of this machine: each has its own sshd and host key, name,
processes, network, disk of limited size, /tmp and clocks.

    with Hosts(3, tmp_path, shifts=(0, 3600, -7200)) as hosts:
        hosts["h1"].run("hostname").stdout        # over ssh, as the account "fuzz"
        hosts["h2"].cut()

Programs under test reach them by ``hosts.env()``: an ssh config file that is given with -F, so
that the tester's own ~/.ssh is never read. The programs of this machine (AFL++, Python, the
checkout) are visible in the hosts at the same paths, but no file in /tmp. Accounts: ``fuzz`` and
``ann``, members of the group ``fuzzers``; ``bob``, who is not; ``root``.

Needs root, or sudo without a password; a test is skipped where that, a program or the kernel does
not permit it. Parallel testers have networks of their own; everything is taken down however the
tester ends (``keeper.py``).
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest
from compiled_text import compiler
from shared import shared

_HERE = Path(__file__).parent
_TOOLS = {
    "ip": "iproute2", "tc": "iproute2", "nft": "nftables", "sshd": "openssh-server",
    "ssh": "openssh-client", "ssh-keygen": "openssh-client", "unshare": "util-linux",
    "nsenter": "util-linux",
}  # fmt: skip
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_PROBE = """
set -e
cd "$1"; mkdir disk root; mount -t tmpfs tmpfs disk; mkdir disk/upper disk/work
mount -t overlay probe -o lowerdir=/,upperdir=disk/upper,workdir=disk/work root
ip link add v0 type veth peer name v1; ip link add b0 type bridge; ip link set v0 master b0
tc qdisc add dev v0 root tbf rate 1mbit burst 32kbit latency 400ms
nft add table inet probe; nft add chain inet probe in '{ type filter hook input priority 0; }'
"""
_CONFIG = """
Host {names}
  User fuzz
  IdentityFile {directory}/id
  IdentitiesOnly yes
  IdentityAgent none
  BatchMode yes
  ConnectTimeout 10
  StrictHostKeyChecking yes
  UserKnownHostsFile {directory}/known_hosts
  GlobalKnownHostsFile none
"""


class Host:
    """One host. ``address``: what users give to ssh; ``ip``: its address on the network."""

    def __init__(self, hosts: Hosts, name: str, ip: str) -> None:
        self._hosts = hosts
        self.name = name
        self.ip = ip
        self.address = f"fuzz@{name}"

    @property
    def ssh(self) -> list[str]:
        """The command that runs another one there, as the account ``fuzz``."""
        return [*self._hosts.ssh, self.address]

    def run(
        self, command: str, *, user: str = "fuzz", check: bool = True, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command there over ssh. Fails the test if it fails, unless told otherwise."""
        done = subprocess.run(
            [*self._hosts.ssh, f"{user}@{self.name}", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        assert not check or done.returncode == 0, (command, done.returncode, done.stderr)
        return done

    def inside(self, *argv: str, check: bool = True) -> str:
        """The output of a command that is run there as root, also while the link is cut."""
        done = self._ask("inside", *argv)
        assert not check or done["code"] == 0, (argv, done)
        return str(done["out"])

    def cut(self) -> None:
        """Pull the cable: no packet passes, and neither side is told."""
        self._ask("link", "down")

    def drop_silently(self) -> None:
        """Drop all packets while the link is up, as a firewall on the way does."""
        self._ask("drop", True)

    def mend(self) -> None:
        """Undo :meth:`cut` and :meth:`drop_silently`."""
        self._ask("drop", False)
        self._ask("link", "up")

    def slow(self, kbit: int) -> None:
        """Limit the link to ``kbit`` kilobits a second each way; 0: no limit."""
        self._ask("slow", kbit)

    def fill_disk(self) -> None:
        """Fill its disk to the last byte."""
        self._ask("fill", True)

    def free_disk(self) -> None:
        """Undo :meth:`fill_disk`."""
        self._ask("fill", False)

    def power_off(self) -> None:
        """All processes die, and no packet says so. The disk is kept, /tmp is lost."""
        self._ask("link", "down")
        self._ask("kill")

    def boot(self) -> None:
        """Start it after :meth:`power_off`; returns when its sshd listens."""
        self.mend()
        self._ask("boot")

    def reboot(self) -> None:
        """All processes die, connections are closed, and it starts again with a new boot id."""
        self._ask("kill")
        self._ask("boot")

    def listening(self) -> set[tuple[str, int]]:
        """The addresses and ports on which any process there accepts TCP connections."""
        found = set()
        for line in str(self._ask("sockets")).splitlines():
            _, local, _, state, *_ = line.split()
            if state == "0A":
                raw, _, port = local.partition(":")
                words = [bytes.fromhex(raw[i : i + 8])[::-1] for i in range(0, len(raw), 8)]
                found.add((_address(b"".join(words)), int(port, 16)))
        return found

    def _ask(self, what: str, *arguments: Any) -> Any:
        return self._hosts.ask(what, self.name, *arguments)


class Hosts(Mapping[str, Host]):
    """``count`` hosts, ``h1``, ``h2``, ...; ``shifts``: by how many seconds their clocks are ahead.

    A context manager. Skips the test if this machine cannot have hosts.
    """

    def __init__(self, count: int, directory: Path, shifts: tuple[int, ...] = ()) -> None:
        self._shifts = [*shifts, *[0] * count][:count]
        self._directory = directory / "hosts"
        self._lock = threading.Lock()
        self._hosts: dict[str, Host] = {}
        self._keeper: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        if why := missing():
            pytest.skip(why)
        self._prepare()
        keeper = [*as_root(), "unshare", "--mount", "--propagation", "private"]
        self._keeper = subprocess.Popen(
            [*keeper, sys.executable, "-I", str(_HERE / "keeper.py"), str(self._directory),
             *map(str, self._shifts)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "PATH": _PATH},
        )  # fmt: skip
        try:
            ips = self.ask("up")
        except BaseException:
            self.__exit__()
            raise
        self._hosts = {name: Host(self, name, ip) for name, ip in ips.items()}
        self._write_config(ips)
        return self

    def __exit__(self, *_: object) -> None:
        keeper, self._keeper = self._keeper, None
        assert keeper is not None and keeper.stdin is not None and keeper.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            keeper.stdin.close()
        keeper.stdout.close()
        assert keeper.wait(60) == 0, "the keeper of the hosts failed"

    def __getitem__(self, name: str) -> Host:
        return self._hosts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    @property
    def config(self) -> Path:
        """The ssh config file that knows all hosts."""
        return self._directory / "config"

    @property
    def ssh(self) -> list[str]:
        """The command by which the hosts are reached."""
        return ["ssh", "-F", str(self.config)]

    def env(self) -> dict[str, str]:
        """The environment for programs under test."""
        return {**os.environ, "FUZZTUI_SSH": shlex.join(self.ssh)}

    def ask(self, what: str, *arguments: Any) -> Any:
        """A request to the keeper (``keeper.py``); fails the test if it fails."""
        keeper = self._keeper
        assert keeper is not None and keeper.stdin is not None and keeper.stdout is not None
        with self._lock:
            keeper.stdin.write(json.dumps([what, *arguments]) + "\n")
            keeper.stdin.flush()
            line = keeper.stdout.readline()
        assert line, "the keeper of the hosts has ended"
        answer = json.loads(line)
        assert "ok" in answer, (what, arguments, answer["error"])
        return answer["ok"]

    def _prepare(self) -> None:
        """All files that the hosts find at their first boot."""
        self._directory.mkdir()
        _keygen(self._directory / "id")
        if any(self._shifts):
            argv = [compiler(), "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]
            source = str(_HERE / "shift.c")
            shim = shared("shift.so", lambda out: subprocess.run([*argv, out, source], check=True))
            shutil.copy(shim, self._directory / "shift.so")
        for i in range(1, len(self._shifts) + 1):
            for place in ("disk", "root"):
                (self._directory / f"h{i}" / place).mkdir(parents=True)
            _keygen(self._directory / f"h{i}/key")

    def _write_config(self, ips: Mapping[str, str]) -> None:
        blocks = [f"Host {name}\n  HostName {ip}\n" for name, ip in ips.items()]
        names = " ".join([*ips, *ips.values()])
        blocks.append(_CONFIG.format(names=names, directory=self._directory))
        self.config.write_text("".join(blocks))
        known = [
            f"{name},{ip} {(self._directory / name / 'key.pub').read_text()}"
            for name, ip in ips.items()
        ]
        (self._directory / "known_hosts").write_text("".join(known))


@functools.cache
def missing() -> str:
    """Why this machine cannot have hosts; an empty string if it can."""
    absent = {package for tool, package in _TOOLS.items() if shutil.which(tool, path=_PATH) is None}
    if absent:
        return f"hosts in namespaces need {', '.join(sorted(absent))}"
    if os.geteuid() and subprocess.call(["sudo", "-n", "true"], stderr=subprocess.DEVNULL):
        return "hosts in namespaces need root, or sudo without a password"
    spaces = ["--mount", "--propagation", "private", "--net", "--uts", "--ipc", "--pid", "--fork"]
    clocks = ["--time", "--boottime", "1", "--monotonic", "1"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        done = subprocess.run(
            [*as_root(), "unshare", *spaces, *clocks, "sh", "-c", _PROBE, "sh", place],
            capture_output=True, text=True, check=False, env={**os.environ, "PATH": _PATH},
        )  # fmt: skip
    if done.returncode:
        return f"this kernel or container has no namespaces for hosts: {done.stderr.strip()[-300:]}"
    return ""


def as_root() -> list[str]:
    """What is in front of a command that needs root."""
    return [] if os.geteuid() == 0 else ["sudo", "-n", "env", f"PATH={_PATH}"]


def _keygen(path: Path) -> None:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def _address(packed: bytes) -> str:
    return str(ipaddress.ip_address(packed))
