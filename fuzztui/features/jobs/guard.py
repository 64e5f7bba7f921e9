"""The guard of a job: runs a command, and ends all its processes when its stdin pipe closes.

``python -I -S -c SOURCE COMMAND...``, where SOURCE is the text of this file: standard library only,
so that a worker needs nothing of fuzztui for it. The write end of the pipe is held by the process
that carries the job out. When that process dies, by whatever cause, the kernel closes the pipe.
The guard is a subreaper: a process of the job that loses its parent, or starts a session of its
own, stays a descendant of the guard. Exits with the command's status, 128+N after signal N.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LOOK_MS = 500
_KILL_S = 10.0
"""Seconds after which processes that do not die (in uninterruptible sleep) are given up."""
FOLDER = "FUZZTUI_JOB"
"""Environment variable: the directory of the job, which is removed if the pipe has closed."""
CUT = 75
"""Exit status after the pipe has closed (EX_TEMPFAIL)."""


def descendants(pid: int) -> list[int]:
    """Return the pids of all living descendants; zombies of this process are reaped before."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] not in (b"Z", b"X"):
                children.setdefault(int(fields[1]), []).append(int(name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def kill_descendants() -> None:
    """Kill in rounds until no descendant is left, because they may start others meanwhile."""
    until = time.monotonic() + _KILL_S
    while (left := descendants(os.getpid())) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _start(argv: list[str]) -> int:
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    this = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        # If the guard itself is killed, at least its child ends. This process has one thread.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != this:
            os._exit(CUT)
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.execvp(argv[0], argv)
    except OSError as e:
        os.write(2, f"fuzztui: {argv[0]}: {e.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def main(argv: list[str]) -> int:
    """Run the command; return the exit status of the guard."""
    cut = False
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        pid = _start(argv)
        fd = os.pidfd_open(pid)
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(fd, select.POLLIN)
        while True:
            ready = dict(poll.poll(_LOOK_MS))
            if fd in ready:
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                cut = 0 in dict(poll.poll(0)) and not os.read(0, 4096)
                return 128 - status if status < 0 else status
            if 0 in ready and not os.read(0, 4096):
                cut = True
                return CUT
    finally:
        kill_descendants()
        if cut and (folder := os.environ.get(FOLDER)):
            # The process that would remove the directory of the job may be dead.
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
