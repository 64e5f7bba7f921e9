"""What the end-to-end tests share: the installed command, a campaign, a terminal, an sshd."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Their assertions show values, too.
pytest.register_assert_rewrite("engine_lab", "first_lab", "homes", "supervised")

from engine_lab import Lab  # noqa: E402
from homes import FUZZTUI, Home  # noqa: E402
from supervised import Supervised, rack  # noqa: E402
from terminal import Terminal  # noqa: E402
from waiting import wait_until  # noqa: E402


@pytest.fixture
def home(tmp_path):
    """A user's directory; whatever still runs at the end is killed."""
    home = Home(tmp_path)
    yield home
    home.kill_everything()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A place for engines; those that still run at the end are killed."""
    made = Lab(tmp_path)
    yield made
    made.close()


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    """``made(**plan)``: a campaign of fake engines."""
    with rack(tmp_path) as make:
        yield make


@pytest.fixture
def terminal(home):
    """``terminal(*args)`` runs fuzztui in a real terminal; the window is closed at the end."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    opened: list[Terminal] = []

    def open_terminal(*args: str, command: list[str] | None = None, **kwargs) -> Terminal:
        passed = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "EDITOR", "PYTHONPATH")
        env = {name: home.env[name] for name in passed if name in home.env}
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

    wait_until(up)
    yield [
        "ssh", "-F", "/dev/null", "-i", str(home / "user"), "-p", str(port),
        "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
        "-o", "LogLevel=ERROR", "127.0.0.1",
    ]  # fmt: skip
    process.kill()
    process.wait()
