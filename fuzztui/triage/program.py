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

from fuzztui.base.files import read_regular
from fuzztui.campaign import Campaign
from fuzztui.campaign.fleet import OPTIONS
from fuzztui.campaign.rundir import SupervisorError

__all__ = ["TargetProgram", "find_file", "keeps_shadow", "repro_command_line"]

HANG_S = 1.0
"""What AFL++ calls a hang takes this long at least (its hang_tmout)."""

CRASH_S = 10.0
"""A crash gets this long at least: symbolising a sanitizer's report is slow."""

_MODES = ("-O", "-Q", "-U", "-W")
_ITERATIONS = re.compile(r"-[0-9]+")
_CALIBRATED = re.compile(rb"^exec_timeout\s*:\s*([0-9]{1,9})", re.MULTILINE)

_SHADOW = (b"__asan_init", b"__msan_init", b"__tsan_init")
"""Programs with one of these keep a shadow of their memory: a limit leaves no room for that."""

_DRIVER = (b"To run the target function on individual input(s) execute:",)
"""AFL++'s driver for LLVMFuzzerTestOneInput. Outside of the fuzzer it only reads files."""

_INSTRUMENTED = (b"__AFL_SHM_ID",)
"""The variable that instrumented programs read."""

_SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0:allocator_may_return_null=1:"
    "detect_odr_violation=0",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    "MSAN_OPTIONS": "exit_code=86:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1",
    "LSAN_OPTIONS": "exitcode=23",
}
"""What AFL++ sets where the user sets nothing, but for what keeps reports short."""

_READABLE = {
    "ASAN_OPTIONS": "symbolize=1:color=never:log_path=stderr",
    "UBSAN_OPTIONS": "symbolize=1:color=never:log_path=stderr:print_stacktrace=1",
    "MSAN_OPTIONS": "symbolize=1:color=never:log_path=stderr",
    "TSAN_OPTIONS": "symbolize=1:color=never:log_path=stderr",
    "LSAN_OPTIONS": "symbolize=1:color=never:log_path=stderr",
}


@dataclass(frozen=True, slots=True)
class TargetProgram:
    """A target's command and the circumstances that AFL++ runs it in."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None
    memory: int
    """Limit of the address space in bytes, 0 for none."""
    timeout: float
    """AFL++'s limit for one run, seconds."""
    input_name: str
    """What an input is called when it is given as a file: some targets go by the ending."""
    modes: tuple[str, ...]
    """How AFL++'s tools see a target that was not compiled for it: -Q and its like."""
    blind: bool
    """The target is fuzzed without instrumentation (-n)."""
    afl_path: str
    driver: bool = False
    """The target is a libFuzzer harness, which takes a file's name when no fuzzer is there."""
    unaided: bool = False
    """What is set for AFL++ is none of its business."""

    @classmethod
    def of(cls, campaign: Campaign, directory: Path | None = None) -> TargetProgram:
        """The campaign's target; ``directory``: an instance's, which tells the timeout.

        Raises :class:`SupervisorError` where it cannot be run outside of the fuzzer.
        """
        target, engine = campaign.target, campaign.engine
        command = tuple(map(str, target.get("command") or ()))
        if not command:
            raise SupervisorError(f"{campaign.file}: target.command is missing")
        given = _given(list(map(str, engine.get("extra_args") or ())))
        fixed = given.get("-f", "")
        if fixed and not any("@@" in word for word in command):
            raise SupervisorError(
                f"the target reads {fixed} (-f), which AFL++ itself writes: put @@ into "
                "target.command to have findings run again"
            )
        ending = f".{given['-e']}" if given.get("-e") else Path(fixed).suffix
        env = {str(k): str(v) for k, v in (target.get("env") or {}).items()}
        memory = int(target.get("memory_bytes") or 0)
        return cls(
            command,
            env,
            Path(target["cwd"]) if target.get("cwd") else None,
            0 if memory and keeps_shadow(command[0]) else memory,
            float(target.get("timeout_s") or 0) or _calibrated(directory) or HANG_S,
            f"input{ending}",
            tuple(mode for mode in _MODES if mode in given),
            "-n" in given,
            str(engine.get("afl_path") or ""),
            all(_ITERATIONS.fullmatch(word) for word in command[1:])
            and _holds(command[0], _DRIVER),
        )

    @property
    def uninstrumented(self) -> bool:
        """Whether AFL++'s tools cannot see what it executes, as afl-fuzz tells that."""
        return not self.modes and not _holds(self.command[0], _INSTRUMENTED)

    @property
    def reads_file(self) -> bool:
        """Whether it is told the input's name; else it reads stdin."""
        return self.driver or any("@@" in word for word in self.command)

    @property
    def crash_limit(self) -> float:
        """Seconds that a run of a crash may take."""
        return max(CRASH_S, 5 * self.timeout)

    @property
    def hang_limit(self) -> float:
        """Seconds after which a run has no end. Longer than AFL++'s: it runs beside the fuzzer."""
        try:
            told = float(self.env.get("AFL_HANG_TMOUT", "0")) / 1000
        except ValueError:
            told = 0.0
        return 2 * max(told or HANG_S, self.timeout)

    def argv(self, file: Path) -> list[str]:
        """The command with the input's name in its place."""
        if self.driver:
            return [self.command[0], str(file)]
        return [word.replace("@@", str(file)) for word in self.command]

    def missing(self) -> str:
        """Why the program cannot be run at all, in words; "" where it can."""
        program = Path(self.command[0])
        if not program.is_file():
            return f"{program}: the program is not there any more"
        if not os.access(program, os.X_OK):
            return f"{program}: the program is not executable"
        return ""

    def tool(self, name: str) -> str | None:
        """One of AFL++'s tools, from ``engine.afl_path`` or PATH."""
        if self.afl_path and (found := shutil.which(name, path=self.afl_path)):
            return found
        return shutil.which(name)

    def environment(self) -> dict[str, str]:
        """What it finds in its environment beyond ours; sanitizers are told to be readable."""
        env = dict(self.env)
        if preload := env.get("AFL_PRELOAD"):
            env["LD_PRELOAD"] = preload
        for name, options in _READABLE.items():
            before = env.get(name) or os.environ.get(name) or _SANITIZERS[name]
            env[name] = f"{before}:{options}"
        return env


def find_file(directory: Path, file: str) -> Path | None:
    """Where a finding (``crashes/NAME``) of an instance is now.

    A resumed afl-fuzz puts away what it has found: ``crashes.DATE/NAME``. The newest of
    that name is meant.
    """
    if (directory / file).is_file():
        return directory / file
    folder, _, name = file.partition("/")
    if folder not in ("crashes", "hangs"):
        return None
    try:
        away = [d for d in directory.iterdir() if d.name.startswith(f"{folder}.")]
    except OSError:
        return None
    found = (d / name for d in sorted(away, reverse=True))
    return next((path for path in found if path.is_file()), None)


def repro_command_line(subject: TargetProgram, file: Path) -> str:
    """A line for a shell that runs the target on a file as the campaign does."""
    words = [shlex.quote(word) for word in subject.argv(file)]
    if subject.env:
        env = dict(subject.env)
        if "AFL_PRELOAD" in env:
            env["LD_PRELOAD"] = env["AFL_PRELOAD"]
        words = ["env", *(shlex.quote(f"{k}={v}") for k, v in env.items()), *words]
    line = " ".join(words)
    if not subject.reads_file:
        line += f" < {shlex.quote(str(file))}"
    before = [f"cd {shlex.quote(str(subject.cwd))}"] if subject.cwd else []
    before += [f"ulimit -v {subject.memory // 1024}"] if subject.memory else []
    return f"({' && '.join([*before, line])})" if before else line


def _given(arguments: list[str]) -> dict[str, str]:
    """The options among ``engine.extra_args``; those of a newer afl-fuzz end the list."""
    try:
        return dict(getopt.getopt(arguments, OPTIONS)[0])
    except getopt.GetoptError:
        return {word: "" for word in arguments if word in (*_MODES, "-n")}


def _calibrated(directory: Path | None) -> float:
    """The timeout that afl-fuzz found for itself, 0 where it does not tell."""
    if directory is None:
        return 0.0
    try:
        found = _CALIBRATED.search(read_regular(directory / "fuzzer_stats", 64 * 1024))
    except OSError:
        return 0.0
    return int(found[1]) / 1000 if found else 0.0


def keeps_shadow(program: str) -> bool:
    """Whether a program was built with a sanitizer that no limit of memory leaves room for."""
    return _holds(program, _SHADOW)


def _holds(program: str, marks: tuple[bytes, ...]) -> bool:
    """Whether one of the ``marks`` is in a program's file."""
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
