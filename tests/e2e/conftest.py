"""What the end-to-end tests share: the installed command, a campaign, a terminal, an sshd."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from terminal import Terminal

BIN = Path(sys.executable).parent
FUZZTUI = str(BIN / "fuzztui")

CAMPAIGN = """\
[campaign]
name = "e2e"
output = "run"
seed = 1

[target]
function = "tomllib:loads"
expected = ["tomllib.TOMLDecodeError"]

[engine]
kind = "zest"
"""


def eventually(what: Callable[[], object], seconds: float = 30) -> object:
    """Poll until ``what()`` is true; returns it."""
    end = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.1)
    return value


class Home:
    """A directory of a user's with one campaign in it, and the command to drive it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = path / "run"
        self.file = path / "e2e.toml"
        self.file.write_text(CAMPAIGN)
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(path / "xdg")}
        (path / "xdg").mkdir(mode=0o700)

    def __call__(self, *args: str, code: int | None = 0, timeout: float = 60) -> str:
        """Run ``fuzztui args``; returns stdout; checks the exit code."""
        done = subprocess.run(
            [FUZZTUI, *args],
            cwd=self.path, env=self.env, capture_output=True, text=True,
            timeout=timeout, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.stderr = done.stderr
        assert code is None or done.returncode == code, (args, done)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def status(self) -> dict:
        return json.loads(self("status", str(self.run), "--json"))

    def detach(self, *args: str) -> None:
        self(str(self.file), "--detach", *args)

    def processes(self) -> list[psutil.Process]:
        """Every living process that carries this run's marker."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("FUZZTUI_RUN") == str(self.run):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return [p for p in found if p.status() != psutil.STATUS_ZOMBIE]

    def supervisor(self) -> int:
        return int(self.status()["pid"] or 0)

    def kill_everything(self) -> None:
        if self.run.is_dir() and (pid := self.status_pid()):
            os.kill(pid, signal.SIGKILL)
        for process in self.processes():
            process.kill()

    def status_pid(self) -> int | None:
        from fuzztui.remote.client import running

        return running(self.run)


@pytest.fixture
def home(tmp_path):
    """A user's directory; whatever still runs at the end is killed."""
    home = Home(tmp_path)
    yield home
    home.kill_everything()


@pytest.fixture
def terminal(home):
    """``terminal(*args)`` runs fuzztui in a real terminal; the window is closed at the end."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    opened: list[Terminal] = []

    def open_terminal(*args: str, command: list[str] | None = None, **kwargs) -> Terminal:
        env = {"XDG_RUNTIME_DIR": home.env["XDG_RUNTIME_DIR"]}
        opened.append(Terminal(command or [FUZZTUI, *args], env=env, **kwargs))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def sshd(tmp_path_factory):
    """A real sshd on loopback that lets this user in by key: the argv of an ssh command to it."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if server is None:
        pytest.skip("openssh-server is not installed")
    home = tmp_path_factory.mktemp("sshd")
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name)], check=True
        )
    (home / "authorized_keys").write_bytes((home / "user.pub").read_bytes())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = home / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {home}/host\nPidFile none\n"
        f"AuthorizedKeysFile {home}/authorized_keys\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
    )
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    process = subprocess.Popen([server, "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE)

    def up() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    eventually(up)
    yield [
        "ssh", "-F", "/dev/null", "-i", str(home / "user"), "-p", str(port),
        "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
        "-o", "LogLevel=ERROR", "127.0.0.1",
    ]  # fmt: skip
    process.kill()
    process.wait()
