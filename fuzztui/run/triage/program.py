"""The target of an AFL++ campaign, as a program that can be run without the fuzzer."""

from __future__ import annotations

import getopt
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.renamed_folders import present_file
from fuzztui.kernel.wire.afl import OPTIONS
from fuzztui.kernel.wire.finding_kinds import FOLDERS
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import SupervisorError

HANG_S = 1.0
"""Minimum seconds of a hang for AFL++ (its hang_tmout)."""

CRASH_S = 10.0
"""Minimum time limit for a crash, in seconds: symbolising a sanitizer's report is slow."""

_MODES = ("-O", "-Q", "-U", "-W")
_ITERATIONS = re.compile(r"-[0-9]+")
_CALIBRATED = re.compile(rb"^exec_timeout\s*:\s*([0-9]{1,9})", re.MULTILINE)

_SHADOW = (b"__asan_init", b"__msan_init", b"__tsan_init")
"""Symbols of sanitizers with shadow memory, which needs more address space than any limit."""

_DRIVER = (b"To run the target function on individual input(s) execute:",)
"""A text in AFL++'s driver for LLVMFuzzerTestOneInput; without the fuzzer it only reads files."""

_INSTRUMENTED = (b"__AFL_SHM_ID",)
"""The name of the variable that instrumented programs read."""

_SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0:allocator_may_return_null=1:"
    "detect_odr_violation=0",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    "MSAN_OPTIONS": "exit_code=86:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1",
    "LSAN_OPTIONS": "exitcode=23",
}
"""AFL++'s defaults, without the options that shorten reports."""

_READABLE = {
    # A report of abort() has the stack, for which gdb takes five times as long.
    "ASAN_OPTIONS": "symbolize=1:color=never:log_path=stderr:handle_abort=1",
    "UBSAN_OPTIONS": "symbolize=1:color=never:log_path=stderr:print_stacktrace=1",
    "MSAN_OPTIONS": "symbolize=1:color=never:log_path=stderr",
    "TSAN_OPTIONS": "symbolize=1:color=never:log_path=stderr",
    "LSAN_OPTIONS": "symbolize=1:color=never:log_path=stderr",
}


@dataclass(frozen=True, slots=True)
class TargetProgram:
    """A target's command, and the environment and limits with which AFL++ runs it."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None
    memory: int
    """Limit of the address space in bytes; 0: none."""
    timeout: float
    """AFL++'s time limit for one run, in seconds."""
    input_name: str
    """The name of an input file: some targets depend on its extension."""
    modes: tuple[str, ...]
    """Options for AFL++'s tools to run a target that was not compiled for AFL++: -Q and others."""
    blind: bool
    """Whether the target is fuzzed without instrumentation (-n)."""
    afl_path: str
    driver: bool = False
    """Whether the target is a libFuzzer harness, which takes a file name without the fuzzer."""
    unaided: bool = False
    """Whether AFL++'s environment variables are removed for this program."""

    @classmethod
    def of(cls, campaign: Campaign, directory: Path | None = None) -> TargetProgram:
        """Return the campaign's target; ``directory``: an instance, for its calibrated timeout.

        Raises :class:`SupervisorError` if the target cannot be run without the fuzzer.
        """
        target, engine = campaign.target, campaign.engine
        command = tuple(map(str, target.get("command") or ()))
        if not command:
            raise SupervisorError(f"{campaign.file}: target.command is missing")
        given = _given(list(map(str, engine.get("extra_args") or ())))
        fixed = given.get("-f", "")
        if fixed and not any("@@" in word for word in command):
            raise SupervisorError(
                f"the target reads {fixed} (-f), which AFL++ itself writes: use @@ in "
                "target.command, so that findings can be run again"
            )
        ending = f".{given['-e']}" if given.get("-e") else Path(fixed).suffix
        env = {str(k): str(v) for k, v in (target.get("env") or {}).items()}
        memory = int(target.get("memory_bytes") or 0)
        return cls(
            command,
            env,
            Path(target["cwd"]) if target.get("cwd") else None,
            0 if memory and keeps_shadow(command[0]) else memory,
            float(target.get("timeout_s") or 0) or calibrated(directory) or HANG_S,
            f"input{ending}",
            tuple(mode for mode in _MODES if mode in given),
            "-n" in given,
            str(engine.get("afl_path") or ""),
            all(_ITERATIONS.fullmatch(word) for word in command[1:]) and holds(command[0], _DRIVER),
        )

    @property
    def uninstrumented(self) -> bool:
        """Whether AFL++'s tools cannot measure its coverage, by the same test as afl-fuzz."""
        return not self.modes and not holds(self.command[0], _INSTRUMENTED)

    @property
    def reads_file(self) -> bool:
        """Whether the program gets the input as a file name; otherwise it reads stdin."""
        return self.driver or any("@@" in word for word in self.command)

    @property
    def crash_limit(self) -> float:
        """Time limit for a crash, in seconds."""
        return max(CRASH_S, 5 * self.timeout)

    @property
    def hang_limit(self) -> float:
        """Time limit for a hang, in seconds. Longer than AFL++'s, because the fuzzer runs, too."""
        try:
            configured = float(self.env.get("AFL_HANG_TMOUT", "0")) / 1000
        except ValueError:
            configured = 0.0
        return 2 * max(configured or HANG_S, self.timeout)

    def argv(self, file: Path) -> list[str]:
        """Return the command for the input ``file``."""
        if self.driver:
            return [self.command[0], str(file)]
        return [word.replace("@@", str(file)) for word in self.command]

    def missing(self) -> str:
        """Return why the program cannot be run at all; an empty string if it can."""
        program = Path(self.command[0])
        if not program.is_file():
            return f"{program}: the program no longer exists"
        if not os.access(program, os.X_OK):
            return f"{program}: the program is not executable"
        return ""

    def tool(self, name: str) -> str | None:
        """Return the path of one of AFL++'s tools, from ``engine.afl_path`` or PATH, or None."""
        if self.afl_path and (found := shutil.which(name, path=self.afl_path)):
            return found
        return shutil.which(name)

    def environment(self) -> dict[str, str]:
        """Return additional environment variables, with options for readable sanitizer reports."""
        env = dict(self.env)
        if preload := env.get("AFL_PRELOAD"):
            env["LD_PRELOAD"] = preload
        for name, options in _READABLE.items():
            before = env.get(name) or os.environ.get(name) or _SANITIZERS[name]
            env[name] = f"{before}:{options}"
        return env


def find_file(directory: Path, file: str) -> Path | None:
    """Return the present path of a finding (``crashes/NAME``) of an instance, or None.

    A resumed afl-fuzz moves its findings to ``crashes.DATE/NAME``; the newest one is returned.
    """
    folder, _, name = file.partition("/")
    if folder in FOLDERS:
        return present_file(directory, folder, name)
    path = directory / file
    return path if path.is_file() else None


def repro_command_line(program: TargetProgram, file: Path) -> str:
    """Return a shell command that runs the target on a file as the campaign does."""
    words = [shlex.quote(word) for word in program.argv(file)]
    if program.env:
        env = dict(program.env)
        if "AFL_PRELOAD" in env:
            env["LD_PRELOAD"] = env["AFL_PRELOAD"]
        words = ["env", *(shlex.quote(f"{k}={v}") for k, v in env.items()), *words]
    line = " ".join(words)
    if not program.reads_file:
        line += f" < {shlex.quote(str(file))}"
    before = [f"cd {shlex.quote(str(program.cwd))}"] if program.cwd else []
    before += [f"ulimit -v {program.memory // 1024}"] if program.memory else []
    return f"({' && '.join([*before, line])})" if before else line


def _given(arguments: list[str]) -> dict[str, str]:
    """The options in ``engine.extra_args``; unknown ones of a newer afl-fuzz end the list."""
    try:
        return dict(getopt.getopt(arguments, OPTIONS)[0])
    except getopt.GetoptError:
        return {word: "" for word in arguments if word in (*_MODES, "-n")}


def calibrated(directory: Path | None) -> float:
    """The timeout that afl-fuzz has calibrated, in seconds; 0: unknown."""
    if directory is None:
        return 0.0
    try:
        found = _CALIBRATED.search(read_regular(directory / "fuzzer_stats", 64 * 1024))
    except OSError:
        return 0.0
    return int(found[1]) / 1000 if found else 0.0


def keeps_shadow(program: str) -> bool:
    """Whether a program has a sanitizer whose shadow memory does not fit in a memory limit."""
    return holds(program, _SHADOW)


def holds(program: str, marks: tuple[bytes, ...]) -> bool:
    """Whether a program's file contains one of ``marks``."""
    try:
        with Path(program).open("rb") as file:
            before = b""
            while block := file.read(1 << 20):
                if any(mark in before + block for mark in marks):
                    return True
                before = block[-100:]
    except OSError:
        pass
    return False
