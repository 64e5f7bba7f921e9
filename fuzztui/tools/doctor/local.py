"""Everything on this machine that matters for campaigns: ``fuzztui doctor``."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import fuzztui
from fuzztui.engines.process.check import NEWEST
from fuzztui.kernel.base.bounds import real, whole
from fuzztui.run.campaign.extras import MODULES, absent_modules, install_command
from fuzztui.tools.doctor.afl import afl_findings
from fuzztui.tools.doctor.facts import line_of, machine_facts, run_program
from fuzztui.tools.doctor.findings import (
    ABSENT,
    FAILED,
    OK,
    WARNING,
    MachineFinding,
    disk_finding,
    judged,
    size_text,
)
from fuzztui.tools.scaffold.interpreters import OLDEST, project_pythons

_LEAST_MEMORY: Final = 1 << 30
_LEAST_WATCHES: Final = 8192
_LEAST_SIZE: Final = (80, 24)
_INOTIFY: Final = Path("/proc/sys/fs/inotify")
_USES: Final = {
    "first": "fuzz-first, [mutants]",
    "spoton": "the engine spoton",
    "text": "[text] with a language",
    "cluster": "Dask clusters",
    "web": "fuzztui serve",
}

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TerminalFacts:
    """What is known about the terminal."""

    is_terminal: bool
    columns: int = 0
    lines: int = 0
    draws_ascii: bool = False


def local_findings(
    folder: Path, terminal: TerminalFacts, environ: Mapping[str, str], progress: Progress
) -> Iterator[MachineFinding]:
    """Yield all findings; ``folder``: the directory of a project, where runs would be."""
    facts = machine_facts(folder / "runs")
    yield MachineFinding("fuzztui", OK, f"{fuzztui.__version__}, {Path(fuzztui.__file__).parent}")
    progress("interpreters")
    yield from _interpreters(folder, environ)
    yield from _extras()
    yield judged("cores", f"{whole(facts['cores'])}, load {real(facts['load']):.1f}")
    free = whole(facts["memory_free"])
    yield judged(
        "memory",
        f"{size_text(free)} free of {size_text(whole(facts['memory']))}",
        "end what uses the memory, or use few instances",
        bad=free < _LEAST_MEMORY,
    )
    yield disk_finding(
        facts, "free space, or set campaign.output", "set campaign.output to another directory"
    )
    yield from _inotify()
    yield from _terminal(terminal, environ)
    progress("AFL++")
    yield from afl_findings(str(facts["core_pattern"]), str(facts["governor"]))
    yield from _ssh()


def _interpreters(folder: Path, environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    """The interpreter that ``init`` would use, and those it would not."""
    for python in project_pythons(folder, environ):
        if python.problem:
            oldest = ".".join(map(str, OLDEST))
            yield MachineFinding(
                "python",
                WARNING,
                f"{python.path} ({python.origin}) {python.problem}",
                f"make it again with Python {oldest} or newer, or set target.python",
            )
            continue
        newest = ".".join(map(str, NEWEST))
        yield judged(
            "python",
            f"{python.version_text}, {python.path} ({python.origin})",
            f"engines were tried with 3.11 to {newest}: name an older one if coverage is wrong",
            bad=python.version[:2] > NEWEST,
        )
        return


def _extras() -> Iterator[MachineFinding]:
    """The packages that only some campaigns need."""
    for extra, use in _USES.items():
        if absent := absent_modules(extra):
            text = f"{', '.join(absent)} not installed; needed only for {use}"
            yield MachineFinding(f"[{extra}]", ABSENT, text, install_command(extra, absent))
        else:
            yield MachineFinding(f"[{extra}]", OK, ", ".join(map(_versioned, MODULES[extra])))


def _versioned(module: str) -> str:
    try:
        return f"{module} {metadata.version(module)}"
    except metadata.PackageNotFoundError:
        return module


def _inotify() -> Iterator[MachineFinding]:
    """Whether inotify works, so that new files are noticed at once; otherwise by polling."""
    watches = line_of(_INOTIFY / "max_user_watches")
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = libc.inotify_init1(os.O_CLOEXEC)
    except (OSError, AttributeError):
        descriptor = -1
    if descriptor < 0:
        limit = line_of(_INOTIFY / "max_user_instances")
        text = f"this user has no instance left (max_user_instances is {limit or 'unknown'})"
        mend = "new files are noticed a second later; sudo sysctl fs.inotify.max_user_instances=512"
        yield MachineFinding("inotify", WARNING, text, mend)
        return
    os.close(descriptor)
    mend = f"sudo sysctl fs.inotify.max_user_watches={_LEAST_WATCHES * 8}"
    yield judged(
        "inotify",
        f"{watches or 'unknown'} watches for each user",
        f"raise it for many instances: {mend}",
        bad=watches.isdecimal() and int(watches) < _LEAST_WATCHES,
    )


def _terminal(terminal: TerminalFacts, environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    if not terminal.is_terminal:
        text = "stdout is not one: campaigns run without a screen, as with --headless"
        yield MachineFinding("terminal", ABSENT, text, "run doctor in a terminal to check it")
        return
    width, height = _LEAST_SIZE
    yield judged(
        "terminal",
        f"{environ.get('TERM', 'TERM is not set')}, {terminal.columns} by {terminal.lines}",
        f"make it at least {width} by {height}: tables leave out columns",
        bad=terminal.columns < width or terminal.lines < height,
    )
    yield judged(
        "UTF-8",
        "no: screens are drawn in ASCII" if terminal.draws_ascii else "yes",
        "set a locale such as LANG=C.UTF-8; FUZZTUI_ASCII=0 if the terminal shows it anyway",
        bad=terminal.draws_ascii,
    )
    yield _colours(environ)


def _colours(environ: Mapping[str, str]) -> MachineFinding:
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR"):
        return MachineFinding("colours", OK, "none, because NO_COLOR is set")
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return MachineFinding("colours", OK, "16 million")
    if "256" in term or "direct" in term:
        remote = " (ssh does not carry COLORTERM)" if environ.get("SSH_CONNECTION") else ""
        return MachineFinding("colours", OK, f"256; COLORTERM=truecolor: all{remote}")
    few = "none" if term in ("", "dumb") else "16"
    mend = "set TERM=xterm-256color, or COLORTERM=truecolor, if the terminal has more"
    return judged("colours", few, mend)


def _ssh() -> Iterator[MachineFinding]:
    ssh = shutil.which("ssh")
    if ssh is None:
        text = "not on PATH; only attach USER@HOST:RUN and [hosts] need it"
        yield MachineFinding("ssh", ABSENT, text, "apt install openssh-client")
        return
    status, printed = run_program([ssh, "-V"])
    if status < 0:
        text = f"{ssh} cannot be run: {printed.removeprefix('error: ')}"
        yield MachineFinding("ssh", FAILED, text, "install it again")
        return
    version = re.match(r"\S+", printed)
    yield MachineFinding("ssh", OK, f"{version[0].rstrip(',') if version else ssh}")
