"""The command line of ssh for a host, and the error of a host that cannot be used."""

from __future__ import annotations

from typing import Final

from fuzztui.kernel.base.ssh import ssh_command, users_ssh
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign.places import address_problem

_FAILED: Final = 255
_NOT_FOUND: Final = 127
_NOT_EXECUTABLE: Final = 126
_MAX_SHOWN: Final = 400


class HostError(Exception):
    """A host cannot be used: the reason, and what the user can do (``advice``; "": nothing).

    ``lasting``: it stays so until the user does something, as far as can be known.
    """

    def __init__(self, reason: str, advice: str = "", *, lasting: bool = False) -> None:
        super().__init__(f"{reason.rstrip('.')}; {advice}" if advice else reason)
        self.reason = reason
        self.advice = advice
        self.lasting = lasting


def ssh_argv(address: str, script: str) -> list[str]:
    """Return the command that runs a script of ``sh`` on a host. Raises :class:`HostError`.

    The user's shell over there may be any: it gets one quoted word.
    """
    if problem := address_problem(address):
        raise HostError(f"{visible(address)!r} {problem}", lasting=True)
    try:
        return ssh_command(address, script)
    except ValueError as e:
        raise HostError(str(e), "write it as in a shell", lasting=True) from None


# What ssh prints, the reason, the advice, and whether the error is lasting.
_MEANINGS: Final = (
    (
        ("permission denied", "too many authentication failures"),
        "the host refuses your key",
        "make `{ssh} {address} true` work without a password: ssh-add, ssh-copy-id {address}, or "
        "IdentityFile in your ssh config",
        True,
    ),
    (
        ("remote host identification has changed", "host key for"),
        "the host's key has changed",
        "if that is expected, remove the old key with ssh-keygen -R; then run "
        "`{ssh} {address} true`",
        True,
    ),
    (
        ("host key verification failed", "no matching host key"),
        "the host's key is unknown",
        "run `{ssh} {address} true` once and compare the key that ssh shows",
        True,
    ),
    (
        ("could not resolve hostname", "name or service not known"),
        "there is no such host",
        "correct the address, or add the name to your ssh config",
        True,
    ),
    (
        ("connection refused",),
        "no sshd listens there",
        "start sshd on the host, or set its Port in your ssh config",
        False,
    ),
    (
        ("timed out", "no route to host", "network is unreachable", "not responding"),
        "the host does not answer",
        "look whether the host runs and the network reaches it: `{ssh} {address} true`",
        False,
    ),
    (
        ("bad configuration option", "bad owner or permissions", "terminating,"),
        "your ssh config is wrong",
        "correct the line that ssh names",
        True,
    ),
)


def complaint(address: str, status: int | None, stderr: str, python: str = "") -> HostError:
    """Return the error of an ssh that ended before fuzztui ran on the host.

    ``status``: its exit status, None: it was ended because nothing came in time. ``stderr``: the
    end of what it printed. ``python``: the interpreter that was started.
    """
    last, ssh = _last_lines(stderr), users_ssh()
    tail = f": {last}" if last else ""
    lower = stderr.lower()
    if status == _NOT_EXECUTABLE:
        return HostError(
            f"{python} cannot be executed on the host{tail}",
            f"make it executable for your account there, or name another interpreter: [hosts] "
            f'"{address}" = {{ python = "/path/to/python3" }}',
            lasting=True,
        )
    if status == _NOT_FOUND:
        return HostError(
            f"{python} cannot be run on the host{tail}",
            f'install Python 3.11 or newer there, or name it: [hosts] "{address}" = '
            '{ python = "/path/to/python3" }',
            lasting=True,
        )
    for words, reason, advice, lasting in _MEANINGS:
        if status in (_FAILED, None) and any(word in lower for word in words):
            remedy = advice.format(address=address, ssh=ssh)
            return HostError(f"{reason}{tail}", remedy, lasting=lasting)
    if status is None:
        return HostError(
            f"the host did not start Python in time{tail}",
            f"look at what `{ssh} {address} {python} --version` does; a slow or waiting start-up "
            "file of the shell is the usual reason",
        )
    if status == _FAILED:
        return HostError(f"ssh failed{tail}", f"`{ssh} {address} true` shows the whole message")
    return HostError(
        f"the command on the host ended with exit status {status}{tail}",
        f"look at what `{ssh} {address} {python} --version` prints",
    )


def _last_lines(text: str) -> str:
    lines = [visible(line.strip()) for line in text.splitlines() if line.strip()]
    shown = " / ".join(lines[-3:])
    return shown if len(shown) <= _MAX_SHOWN else f"...{shown[-_MAX_SHOWN:]}"
