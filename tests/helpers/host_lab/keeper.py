"""The process with root's rights behind :class:`host_lab.Hosts`: makes hosts, breaks links.

    unshare --mount python -I keeper.py DIRECTORY COUNT SHIFT...

Requests are lines of JSON on stdin, ``[name of a function of Keeper, host, argument...]``; each is
answered by a line, ``{"ok": ...}`` or ``{"error": ...}``. At the end of stdin, however the tester
ended, everything is taken down. If this process is killed, the kernel does it: hosts die with
their parent, disks and network namespaces are mounted only in this process's mount namespace.
What then rests is an empty bridge, which the next keeper of that number removes.

Standard library only; runs as root, perhaps by sudo.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LOCKS = Path("/run/fuzztui-test-hosts")
"""One lock for each network 10.77.N.0/24 in use, so that testers side by side do not clash."""

MAX_LABS = 250
DISK = "1g"
BOOT_S = 30.0
_HERE = Path(__file__).parent
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def run(*argv: str, check: bool = True) -> str:
    """Run a command; its output. Raises RuntimeError with its messages if it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def take_number() -> int:
    """The first free number of a network; its lock is held until this process ends."""
    LOCKS.mkdir(exist_ok=True)
    for number in range(MAX_LABS):
        fd = os.open(LOCKS / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
        else:
            return number
    raise RuntimeError(f"all {MAX_LABS} networks of test hosts are in use")


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Keeper:
    """All hosts of one tester. Public functions are requests."""

    def __init__(self, directory: Path, shifts: list[int]) -> None:
        self._directory = directory
        self._shifts = {f"h{i}": shift for i, shift in enumerate(shifts, 1)}
        self._number = take_number()
        self._bridge = f"fzt{self._number}"
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}
        self._boots = dict.fromkeys(self._shifts, 0)

    def ip(self, host: str = "") -> str:
        """The address of a host, or of the tester's machine in this network."""
        return f"10.77.{self._number}.{10 + int(host[1:]) if host else 1}"

    def up(self) -> dict[str, str]:
        """Make the network and boot all hosts; their addresses."""
        run("ip", "link", "del", self._bridge, check=False)  # of a killed keeper
        run("ip", "link", "add", self._bridge, "type", "bridge")
        run("ip", "addr", "add", f"{self.ip()}/24", "dev", self._bridge)
        run("ip", "link", "set", self._bridge, "up")
        names = {name: self.ip(name) for name in self._shifts}
        lines = ["127.0.0.1 localhost", f"{self.ip()} hub"]
        lines += [f"{address} {name}" for name, address in names.items()]
        (self._directory / "hosts").write_text("\n".join(lines) + "\n")
        # Names in this process's mount namespace only: none is left in /run.
        Path("/run/netns").mkdir(exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        for host, address in names.items():
            disk = str(self._directory / host / "disk")
            run("mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", host, disk)
            space, link = self._space(host), self._link(host)
            run("ip", "netns", "add", space)
            run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("ip", "link", "set", link, "master", self._bridge)
            run("ip", "link", "set", link, "up")
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", space, "link", "set", "eth0", "up")
            self._start(host)
        for host in names:
            self._wait(host)
        return names

    def boot(self, host: str) -> None:
        """Start a host that is off; returns when its sshd listens."""
        if host in self._hosts:
            raise RuntimeError(f"{host} is running")
        self._start(host)
        self._wait(host)

    def kill(self, host: str) -> None:
        """End all processes of a host at once. The kernel closes their connections."""
        process = self._hosts.pop(host)
        process.kill()
        process.wait()
        deadline = time.monotonic() + BOOT_S
        while run("ip", "netns", "pids", self._space(host)).strip():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{host}: processes are left")
            time.sleep(0.02)

    def link(self, host: str, state: str) -> None:
        """Pull the cable, or plug it in."""
        run("ip", "link", "set", self._link(host), state)

    def drop(self, host: str, on: bool) -> None:
        """Drop all packets to and from a host whose link stays up, or do so no longer."""
        nft = ("nsenter", f"--net=/run/netns/{self._space(host)}", "nft")
        run(*nft, "delete", "table", "inet", "cut", check=False)
        if on:
            run(*nft, "add", "table", "inet", "cut")
            for way, key in (("input", "iifname"), ("output", "oifname")):
                hook = f"{{ type filter hook {way} priority 0; }}"
                run(*nft, "add", "chain", "inet", "cut", way, hook)
                run(*nft, "add", "rule", "inet", "cut", way, key, "eth0", "drop")

    def slow(self, host: str, kbit: int) -> None:
        """Limit the link to ``kbit`` kilobits a second each way; 0: no limit."""
        inside = ("tc", "-n", self._space(host))
        for tc, device in ((("tc",), self._link(host)), (inside, "eth0")):
            run(*tc, "qdisc", "del", "dev", device, "root", check=False)
            if kbit:
                limits = ("rate", f"{kbit}kbit", "burst", "32kbit", "latency", "400ms")
                run(*tc, "qdisc", "add", "dev", device, "root", "tbf", *limits)

    def fill(self, host: str, on: bool) -> None:
        """Fill the host's disk to the last byte, or free that space."""
        filler = self._directory / host / "disk/filler"
        if not on:
            filler.unlink(missing_ok=True)
            return
        with filler.open("ab", buffering=0) as file:
            piece = bytes(1 << 20)
            while piece:
                try:
                    file.write(piece)
                except OSError:
                    piece = piece[: len(piece) // 2]

    def inside(self, host: str, *argv: str) -> dict[str, object]:
        """Run a command in a host as root, past ssh and the network."""
        pid = str(self._init(host))
        spaces = ("--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd")
        done = subprocess.run(
            ["nsenter", "-t", pid, *spaces, *argv], capture_output=True, text=True, check=False
        )
        return {"code": done.returncode, "out": done.stdout, "err": done.stderr}

    def sockets(self, host: str) -> str:
        """The TCP sockets of a host, as in /proc/net/tcp."""
        net = Path(f"/proc/{self._init(host)}/net")
        return (net / "tcp").read_text() + (net / "tcp6").read_text()

    def down(self) -> None:
        """Remove everything."""
        for host in list(self._hosts):
            self.kill(host)
        for host in self._shifts:
            run("ip", "netns", "del", self._space(host), check=False)
            run("umount", str(self._directory / host / "disk"), check=False)
        run("ip", "link", "del", self._bridge, check=False)

    def _space(self, host: str) -> str:
        return f"{self._bridge}-{host}"

    def _link(self, host: str) -> str:
        return f"{self._bridge}{host}"

    def _start(self, host: str) -> None:
        self._boots[host] += 1
        # Monotonic clocks of two machines are unrelated, and start again at each boot.
        ahead = str(100_000 * int(host[1:]) // self._boots[host])
        own = ("--uts", "--ipc", "--mount", "--propagation", "private", "--pid", "--time")
        argv = [
            *("nsenter", f"--net=/run/netns/{self._space(host)}", "unshare", *own),
            *("--boottime", ahead, "--monotonic", ahead, "--fork", "--kill-child=KILL"),
            *("bash", str(_HERE / "init.sh"), str(self._directory), host),
            str(self._shifts[host]),
        ]
        with (self._directory / host / "console").open("ab") as console:
            self._hosts[host] = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env={"PATH": os.environ["PATH"]},
                cwd="/",
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 (this process has one thread)
            )

    def _wait(self, host: str) -> None:
        """Wait until the host's sshd listens."""
        deadline = time.monotonic() + BOOT_S
        while not self._listens(host):
            if self._hosts[host].poll() is not None or time.monotonic() > deadline:
                console = (self._directory / host / "console").read_text(errors="replace")
                raise RuntimeError(f"{host} does not boot: {console[-2000:]}")
            time.sleep(0.05)

    def _listens(self, host: str) -> bool:
        try:
            return any(
                line.split()[1].endswith(":0016") and line.split()[3] == "0A"
                for line in self.sockets(host).splitlines()
                if ":" in line.split()[0]
            )
        except OSError:  # the host's first process is not there yet
            return False

    def _init(self, host: str) -> int:
        """The host's PID 1, as this machine numbers it."""
        pid = self._hosts[host].pid  # nsenter, which has become unshare
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children:
            raise FileNotFoundError(f"{host} has no processes")
        return int(children[0])


def main() -> None:
    """Serve requests until the end of stdin."""
    # Ctrl+C in the tester's terminal is the tester's business: it ends stdin.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    keeper = Keeper(Path(sys.argv[1]), [int(shift) for shift in sys.argv[2:]])
    try:
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            try:
                answer = {"ok": getattr(keeper, name)(*arguments)}
            except Exception as e:  # the tester's to judge
                answer = {"error": f"{type(e).__name__}: {e}"}
            print(json.dumps(answer), flush=True)
    finally:
        keeper.down()


if __name__ == "__main__":
    main()
