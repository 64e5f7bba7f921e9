"""Get the stack from gdb: where a target receives a signal, or where it is while it hangs.

gdb reads the target's symbols, so its output is as untrusted as the target. gdb must not execute
files that it finds: no init files, no auto-loading, no debuginfod.
"""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzztui.run.process.execute import execute
from fuzztui.run.process.identity import ProcessId, descendants
from fuzztui.run.triage.sandbox import Sandbox
from fuzztui.run.triage.severity import Fault
from fuzztui.run.triage.signature import Frame

START_S = 20.0
"""Seconds for gdb itself, for example to read large symbol tables."""

FRAMES = 256
LOOKS = 5
"""Number of times that a hanging program is stopped to read its stack."""

LOOK_EVERY_S = 0.1
_HELD = "t"
"""The state of a process (proc(5)) that its debugger has stopped."""

MAX_LINE = 2000
MAX_NAME = 200

_SAFE = (
    "set auto-load off",
    "set debuginfod enabled off",
    "set style enabled off",
    "set confirm off",
    "set pagination off",
    "set width 0",
    "set disassembly-flavor intel",
)
_STYLE = (
    "set filename-display absolute",
    "set print frame-arguments none",
    "set print entry-values no",
    "set print thread-events off",
    "set print inferior-events off",
    "set backtrace past-main off",
    "handle all nostop noprint pass",
)
_STACK, _MAPPINGS, _END = "@@ fuzztui stack", "@@ fuzztui mappings", "@@ fuzztui end"
_FAULT = "@@ fuzztui fault"
_INLINED = """
frame = gdb.selected_frame()
block, line = gdb.block_for_pc(frame.pc()), gdb.find_pc_line(frame.pc())
at = " at {}:{}".format(line.symtab.fullname(), line.line) if line.symtab else ""
names = []
while block is not None and not (block.function and block.function.name == frame.name()):
    names += [block.function.print_name] if block.function else []
    block = block.superblock
for name in names if block else ():
    print("#0  {} (){}".format(name, at))
    at = ""
"""
"""Python of gdb: frames like those of ``bt``, of the functions that are inlined where the program
stands. At their first instruction gdb itself takes the program for not being in them yet.
"""
_SIGNAL = (
    f"echo \\n{_FAULT},",
    "output/x $_siginfo._sifields._sigfault.si_addr",
    "echo ,",
    "output/d $_siginfo.si_code",
    "echo ,",
    "output/x $sp",
    "echo \\n",
)
_LOOK = (
    f"echo \\n{_STACK}\\n",
    f"python exec({_INLINED!r})",
    f"bt {FRAMES}",
    "x/i $pc",
    *_SIGNAL,
    f"echo \\n{_MAPPINGS}\\n",
    "info proc mappings",
    f"echo \\n{_END}\\n",
)
_ENV = {"SHELL": "/bin/sh", "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
_FRAME = re.compile(r"#(\d{1,5}) +(?:0x(?P<pc>[0-9a-f]{1,16}) in )?(?P<rest>.*)")
_POSITION = re.compile(r":(\d{1,9})\Z")
_MAPPING = re.compile(
    r"\s*0x([0-9a-f]{1,16})\s+0x([0-9a-f]{1,16})\s+0x[0-9a-f]+\s+0x([0-9a-f]{1,16})\s+"
    r"(?:[rwxps-]{4}\s+)?(\S.*)"
)
_COUNTER = re.compile(r"=> 0x([0-9a-f]{1,16})(?:[^\t]*:\t(.*))?")
_FAULT_LINE = re.compile(rf"{_FAULT},0x([0-9a-f]{{1,16}}),(-?\d{{1,9}}),0x([0-9a-f]{{1,16}})")


@dataclass(frozen=True, slots=True)
class Backtrace:
    """A stack, innermost first, and gdb's own text of it."""

    frames: tuple[Frame, ...]
    text: str
    fault: Fault | None = None
    """What gdb knows of the signal; None: nothing."""


def gdb_path() -> str | None:
    """Return the path of gdb; None if it is not installed."""
    return shutil.which("gdb")


async def crash_stack(sandbox: Sandbox, number: int, limit: float) -> Backtrace | None:
    """Return the stack at which the target gets the signal ``number``; None if gdb has none."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return None
    stacks = await _ask(sandbox, [f"handle {name} stop print nopass", "run", *_LOOK], limit)
    return stacks[0] if stacks else None


async def hang_stacks(sandbox: Sandbox, limit: float) -> list[Backtrace]:
    """Return several stacks of a target, read after ``limit`` seconds, a few moments apart."""
    script = ["handle SIGSTOP stop print nopass", "run", *_LOOK]
    script += ["continue", *_LOOK] * (LOOKS - 1)
    stopper = _Stopper(limit)
    return await _ask(sandbox, script, limit + LOOKS * LOOK_EVERY_S, stopper.look)


async def _ask(
    sandbox: Sandbox,
    script: Sequence[str],
    limit: float,
    meanwhile: Callable[[int], None] | None = None,
) -> list[Backtrace]:
    gdb = gdb_path()
    if gdb is None:
        return []
    command = ["nice", "-n", "10", gdb, "-nx", "-batch", "-q"]
    for line in _SAFE:
        command += ["-iex", line]
    wrapper = f"set exec-wrapper /bin/sh {shlex.quote(str(sandbox.quiet))}"
    for line in (wrapper, *_STYLE, *script):
        command += ["-ex", line]
    outcome = await execute(
        [*command, "--args", *sandbox.argv],
        sandbox.mark,
        cwd=sandbox.cwd,
        limit=START_S + limit,
        stdin=sandbox.stdin,
        env=_ENV,
        stdout=True,
        meanwhile=meanwhile,
    )
    return [found for found in parse_backtraces(outcome.output) if found.frames]


class _Stopper:
    """Sends SIGSTOP to the target of gdb after ``limit`` seconds of running, then repeatedly.

    Time in which gdb holds the target (to start, to read symbols) does not count; otherwise every
    hang on a busy machine would be in the dynamic loader.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._due = self._look_at = 0.0
        self._patience = time.monotonic() + START_S / 2
        self._below: list[ProcessId] = []
        self._stopping = False

    def look(self, pid: int) -> None:
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_EVERY_S
        states = [process.state() for process in self._below]
        is_new = not states  # on a busy machine the target may run already at the first look
        if not all(states) or not states or self._stopping:
            self._below = descendants(pid)
            states = [process.state() for process in self._below]
        held = is_new or not any(states) or (_HELD in states and now < self._patience)
        if held and not self._stopping:
            self._due = now + self._limit
        elif now >= self._due:
            self._stopping = True
            # A target that is stopped already gets the signal later, and then stops at once.
            for process in self._below:
                process.signal(signal.SIGSTOP)


def parse_backtraces(output: bytes) -> list[Backtrace]:
    """Return the stacks in gdb's output; never raises."""
    lines = [line[:MAX_LINE] for line in output.decode(errors="replace").splitlines()]
    found: list[Backtrace] = []
    stack: list[str] | None = None
    mappings: list[str] | None = None
    for line in lines:
        if line == _STACK:
            stack, mappings = [], None
        elif line == _MAPPINGS and stack is not None:
            mappings = []
        elif line == _END and stack is not None:
            found.append(_backtrace(stack, mappings or []))
            stack = mappings = None
        elif mappings is not None:
            mappings.append(line)
        elif stack is not None:
            stack.append(line)
    return found


def _backtrace(lines: Sequence[str], mappings: Sequence[str]) -> Backtrace:
    modules = _Modules(mappings)
    at = next((m for line in lines if (m := _COUNTER.match(line))), None)
    counter = int(at[1], 16) if at else -1
    fault = None
    frames: list[Frame] = []
    text: list[str] = []
    for line in lines:
        if head := _FRAME.match(line):
            # gdb prints no address for an innermost frame at the beginning of a source line.
            pc = int(head["pc"], 16) if head["pc"] else (counter if not frames else -1)
            frames.append(_frame(head["rest"], modules.at(pc)))
            text.append(line)
        elif found := _FAULT_LINE.fullmatch(line):
            instruction = at[2] or "" if at else ""
            address, stack = int(found[1], 16), int(found[3], 16)
            fault = Fault(address, int(found[2]), counter, stack, instruction)
    return Backtrace(tuple(frames), "\n".join(text), fault)


def _frame(rest: str, where: tuple[str, int]) -> Frame:
    """``func (x=...) at file.c:12`` or ``?? () from libfoo.so``."""
    module, offset = where
    if rest == "<signal handler called>":
        return Frame(rest, module=module, offset=offset)
    name, _, arguments = rest.partition(" (")
    name = "" if name == "??" else name[:MAX_NAME]
    _, _, library = arguments.rpartition(") from ")
    _, _, file = arguments.rpartition(") at ")
    if position := _POSITION.search(file):
        return Frame(name, file[: position.start()], int(position[1]), module, offset)
    library = library if library != arguments else ""
    return Frame(name, module=module or library, offset=offset)


class _Modules:
    """Maps an address to file and offset, which do not depend on the address layout."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._rows: list[tuple[int, int, int, str]] = []
        for line in lines:
            if found := _MAPPING.fullmatch(line):
                start, end, offset = (int(found[n], 16) for n in (1, 2, 3))
                self._rows.append((start, end, offset, found[4].strip()))
        self._rows.sort()

    def at(self, pc: int) -> tuple[str, int]:
        """Return the file of an address and the offset in it; ``("", -1)`` if in no file."""
        at = bisect_right(self._rows, pc, key=lambda row: row[0]) - 1
        if at >= 0 and self._rows[at][0] <= pc < self._rows[at][1]:
            start, _, offset, name = self._rows[at]
            return ("", -1) if name.startswith("[") else (name, pc - start + offset)
        return "", -1
