"""The bundle, starting a server on this machine, and what the errors of ssh mean."""

import asyncio
import io
import tarfile

import pytest

from fuzztui.machines.hosts.bundle import bundle, open_host, remote_script
from fuzztui.machines.hosts.check import check_hosts
from fuzztui.machines.hosts.ssh import HostError, complaint, ssh_argv
from fuzztui.run.campaign.places import HostPlace

BOX = HostPlace("box", "user@box", 1)


def test_the_bundle_is_the_same_each_time_and_has_no_screens():
    first = bundle()
    bundle.cache_clear()
    assert bundle() == first
    with tarfile.open(fileobj=io.BytesIO(first.data)) as tar:
        names = set(tar.getnames())
    assert {"fuzztui/run/supervise/supervisor.py", "fuzztui/engines/loop/control.py"} <= names
    assert {"fuzztui/run/afl/steer.c", "native/psutil/__init__.py", "tomli_w/__init__.py"} <= names
    parts = {tuple(name.split("/")[:2]) for name in names}
    assert not parts & {("fuzztui", "tui"), ("fuzztui", "themes"), ("fuzztui", "sample_campaigns")}
    assert not [name for name in names if "__pycache__" in name]


def test_the_command_is_one_word_for_any_shell():
    *options, address, command = ssh_argv("user@box", remote_script(BOX, ["--run", "a'b\nc"]))
    assert (options[0], options[-1], address) == ("ssh", "--", "user@box")
    assert command.startswith("exec sh -c '")
    assert "\n" not in command
    assert command.count("'") == 2  # no quoting of quotes, which csh and fish do differently
    assert len(command) < 100_000


def test_the_home_of_a_python_is_the_hosts():
    script = remote_script(HostPlace("b", "b", 1, python="~/venv/bin/python"), [])
    assert script.startswith('exec "$HOME"/venv/bin/python -I')


@pytest.mark.parametrize("address", ["-oProxyCommand=x", "a b", ""])
def test_an_address_is_never_an_option(address):
    with pytest.raises(HostError):
        ssh_argv(address, "true")


async def test_this_machine_needs_no_ssh(monkeypatch):
    monkeypatch.setenv("PATH", "")
    opened = await open_host(HostPlace("here", "", 1), ["-c", "x"], module="timeit")
    await opened.stdout.read()
    assert await opened.wait() == 1  # NameError: x
    assert "NameError" in opened.stderr_tail


async def test_no_ssh_here(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(HostError) as error:
        await open_host(BOX, [])
    assert "ssh client" in error.value.advice


async def ssh_of(monkeypatch, tmp_path, script: str) -> HostError:
    """The error if ssh is that shell script."""
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\n{script}\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("FUZZTUI_SSH", str(ssh))
    with pytest.raises(HostError) as error:
        await open_host(BOX, [])
    return error.value


async def test_a_shell_that_prints_without_end(monkeypatch, tmp_path):
    error = await ssh_of(monkeypatch, tmp_path, "exec yes hello")
    assert ".bashrc" in error.advice


async def test_a_line_without_end(monkeypatch, tmp_path):
    error = await ssh_of(monkeypatch, tmp_path, "exec cat /dev/zero")
    assert ".bashrc" in error.advice


@pytest.mark.parametrize(
    ("answer", "advised"),
    [
        ('{"what":"python","version":"3.9.2","python":"/p","others":"/q /r"}', 'python = "/q"'),
        ('{"what":"python","version":"3.9.2","python":"/p","others":""}', "install Python 3.11"),
        ('{"what":"system","system":"darwin"}', "another host"),
        ('{"what":"psutil","python":"/p","machine":"riscv64","why":"ELF"}', "/p -m pip install"),
        ('{"what":"disk","path":"/x","why":"No space left"}', "free some"),
        ('{"what":"permission","path":"/x","why":"Permission denied"}', "XDG_CACHE_HOME"),
        ('{"what":"os","path":"/x","why":"Input/output error"}', "correct that"),
        ('{"what":"damaged"}', "try again"),
        ('{"what":"foreign","path":"/x"}', "remove that directory"),
        ('{"what":"cache","path":"/x"}', "remove that directory"),
        ('{"what":["\\u001b"],"path":{"a":1}}', "correct that"),
        ("nonsense", "ssh user@box true"),
        ("[]", "ssh user@box true"),
    ],
)
async def test_what_a_failed_start_means(monkeypatch, tmp_path, answer, advised):
    line = f"hello \0fuzztui-boot 1 failed {answer}\n".encode()
    (tmp_path / "line").write_bytes(line)
    error = await ssh_of(monkeypatch, tmp_path, f"exec cat {tmp_path}/line")
    assert advised in error.advice
    assert "\x1b" not in str(error)


async def test_the_check_of_a_host_whose_server_ends_at_once_ends(monkeypatch, tmp_path):
    """In Python 3.11 ``wait_for`` lost the cancellation, and the link connected for ever."""
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nprintf '\\0fuzztui-boot 1 ready\\n'; echo reason >&2; exit 1\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("FUZZTUI_SSH", str(ssh))
    async with asyncio.timeout(60.0):
        (report,) = await check_hosts([BOX], None, lambda text: None)
    assert not report.is_ready
    assert report.findings[-1].text == "reason"


async def test_a_host_that_ends_before_it_starts(monkeypatch, tmp_path):
    error = await ssh_of(monkeypatch, tmp_path, "printf '\\0fuzztui-boot 1 need\\n'; exit 1")
    assert "exit status 1" in error.reason


@pytest.mark.parametrize(
    ("status", "stderr", "advised", "lasting"),
    [
        (255, "u@box: Permission denied (publickey).", "ssh-copy-id", True),
        (255, "Host key verification failed.", "compare the key", True),
        (255, "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!", "ssh-keygen -R", True),
        (255, "ssh: Could not resolve hostname box: Name or service not known", "config", True),
        (255, "ssh: connect to host box port 22: Connection refused", "start sshd", False),
        (255, "ssh: connect to host box port 22: Connection timed out", "network", False),
        (255, "", "shows the whole message", False),
        (127, "sh: 1: exec: python3: not found", "Python 3.11", True),
        (126, "sh: 1: exec: /etc: Permission denied", "executable", True),
        (2, "Unknown option: -I", "--version", False),
        (None, "", "in time", False),
    ],
)
def test_what_an_error_of_ssh_means(status, stderr, advised, lasting):
    error = complaint("u@box", status, stderr, "python3")
    assert advised in str(error)
    assert stderr in error.reason
    assert error.lasting is lasting


def test_what_a_host_prints_is_escaped():
    assert "\x1b" not in str(complaint("box", 255, "\x1b[2Jgone\n"))
