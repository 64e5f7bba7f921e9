"""Why an afl-fuzz ended: its own reason, extracted from its output.

If afl-fuzz does not start, and at many other ends, its exit status is 1 and its output ends in
``PROGRAM ABORT`` or ``SYSTEM ERROR``, after colours and paragraphs of advice.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from fuzztui.kernel.base.files import closing_fd, open_regular, read_tail

_TAIL = 256 * 1024
START = "fuzztui: starts "
"""Precedes the output of each process in ``worker.log``, with its command line."""

TOO_LONG = f"{START}(its first words were too many)"
"""The first line of a ``worker.log`` that was emptied, in the middle of a process's output."""

NOISE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\x0e\x0f\r]")
_ABORT = re.compile(
    r"PROGRAM ABORT : (?P<why>.*?)\s*Location :"
    r"|SYSTEM ERROR : (?P<what>.*?)\s*Stop location :[^\n]*\s*OS message : (?P<os>[^\n]*)"
    r"|(?P<usage>(?:invalid option|option requires an argument) -- [^\n]*)",
    re.DOTALL,
)
_BEGUN = re.compile(r"All set and ready to roll!|Fuzzing test case #")
"""Printed once all seeds have been run: a later end does not mean that afl-fuzz cannot start."""

_ENDED = re.compile(r"\+\+\+ \w+ aborted .*", re.DOTALL)
"""The last output at any end with status 0, requested or not ("Baking" in April)."""

_PASSING = re.compile(
    r"is in use|shmget|fork\(\)|pipe\(\)|Resource temporarily|Too many open files"
    r"|crashed with signal 9\b|AFL_FORKSRV_INIT_TMOUT|Unable to communicate with fork server|"
    + "|".join(
        os.strerror(e)
        for e in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM, errno.EAGAIN, errno.EINTR)
    )
)
"""Messages about problems that may be gone at the next start: shortages, or an earlier process that
is still ending."""

_FAST_RESUME = re.compile(r"Will perform FAST RESUME")
"""Printed after afl-fuzz has removed fastresume.bin, so that the next start works without the file.
afl-fuzz ends if the file does not fit, and 4.22a also if the complete queue was fuzzed before, with
a message about seeds that crash (AFLplusplus#2314). 4.04c has no such file.
"""

_HINTS = (
    (
        "No instrumentation detected",
        "build the program with afl-cc (target.build can do it), or use AFL++'s QEMU mode if it "
        'is installed (not in Debian): engine.extra_args = ["-Q"]',
    ),
    ("is a shell script", "name the program that it starts in target.command"),
    ("is not an ELF|not an executable", "name a program in target.command"),
    (
        "valid input seed that does not crash|results in a crash",
        "every seed crashes the program: run it by hand on a seed; name a good input in "
        "engine.seeds, or raise target.memory",
    ),
    (
        "All test cases time out or crash",
        "every seed crashes the program or takes longer than target.timeout",
    ),
    ("results in a timeout", "raise target.timeout, or remove that seed"),
    (
        "No usable test cases in '.*_resume'",
        "the queue is gone: move the instance's directory away to start from the seeds again",
    ),
    ("No usable test cases", "the files in engine.seeds are empty"),
    (
        "(Program|Library) 'afl-",
        "this AFL++ lacks that mode: see engine.extra_args and engine.afl_path",
    ),
    ("Program '.*' not found or not executable", "name the program in target.command"),
    ("is in use", "another afl-fuzz uses this directory"),
    (
        "handshake failed|crashed with signal",
        "the program ends before it reads an input: run it by hand; a library may be missing, or "
        "target.memory too small",
    ),
    (r"shmat\(\) call failed", "raise target.memory"),
    ("core_pattern|suspected hang", "set AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 in target.env"),
    (r"option .*-- |Unknown -p|Multiple -", "correct engine.extra_args or engine.options"),
    ("MOpt and custom mutator", "remove -L from engine.extra_args, or the custom mutator"),
    ("-b and AFL_NO_AFFINITY", "remove AFL_NO_AFFINITY from the environment"),
    (
        "shared object|shared librar|undefined symbol|wrong ELF class",
        "a library is missing or does not fit: check AFL_PRELOAD and "
        "AFL_CUSTOM_MUTATOR_LIBRARY in target.env and in the environment",
    ),
    ("shmget", "remove the shared memory of killed fuzzers: see ipcs -m, ipcrm"),
)
"""What to do about AFL's well-known reasons, in terms of a campaign file."""


def begin_log(directory: Path, command_line: str) -> None:
    """Write the command line of a new process to ``worker.log``. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    with closing_fd(open_regular(directory / "worker.log", flags)) as fd:
        os.write(fd, f"\n{START}{command_line}\n".encode())


def shorten_log(directory: Path, limit: int = 8 << 20) -> None:
    """Empty a ``worker.log`` of more than ``limit`` bytes: AFL prints tens of MB a day.

    The process continues to append to the file. Raises OSError.
    """
    path = directory / "worker.log"
    if not path.exists() or path.lstat().st_size <= limit or not _BEGUN.search(_printed(directory)):
        return
    with closing_fd(open_regular(path, os.O_WRONLY | os.O_APPEND)) as fd:
        os.ftruncate(fd, 0)
        os.write(fd, f"\n{TOO_LONG}\nFuzzing test case #\n".encode())


def reason_of(printed: str) -> str:
    """Return AFL's last reason in the output of one process; an empty string if none."""
    all_found = list(_ABORT.finditer(printed))
    if not all_found:
        return ""
    found = all_found[-1]
    reason = found["why"] or found["what"] or found["usage"]
    if found["os"]:
        reason += f": {found['os']}"
    reason = " ".join(reason.split())[:500].rstrip(".!")
    hint = next((hint for pattern, hint in _HINTS if re.search(pattern, reason)), "")
    return f"afl-fuzz: {reason}: {hint}" if hint else f"afl-fuzz: {reason}"


def refusal_of(directory: Path, status: int | None) -> str:
    """Return why afl-fuzz can never start; an empty string for all other ends."""
    if status != 1:
        return ""
    printed = _printed(directory)
    if _BEGUN.search(printed) or _FAST_RESUME.search(printed):
        return ""
    reason = reason_of(printed)
    return "" if _PASSING.search(reason) else reason


def finished_by_itself(directory: Path, status: int | None) -> bool:
    """Whether a limit in afl-fuzz's own options ended it, according to its last output.

    The status does not show that: a signal also ends afl-fuzz with status 0, and the status of an
    adopted process is unknown. 4.04c prints the same text for -E, except for the limit.
    """
    if status not in (0, None):
        return False
    last = _ENDED.findall(_printed(directory))
    return bool(last) and ("programmatically" in last[-1] or "limit was reached" in last[-1])


def shortage_of(directory: Path) -> str:
    """Return the problem that the last process reported; an empty string if none."""
    printed = _printed(directory)
    reason = reason_of(printed)
    if reason and _FAST_RESUME.search(printed) and not _BEGUN.search(printed):
        return "afl-fuzz could not use its fastresume.bin: it resumes without the file"
    return reason


def _printed(directory: Path) -> str:
    """The output of the last process that was started here."""
    text = read_tail(directory / "worker.log", _TAIL)
    return NOISE.sub("", text.rpartition(f"\n{START}")[2])
