"""Run an oracle command on an input, with limits, and kill everything that it leaves."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.signals import signal_name
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.triage.program import TargetProgram, keeps_shadow, repro_command_line
from fuzztui.run.triage.sandbox import open_sandbox

MAX_OUTPUT: Final = 1 << 20
"""Bytes kept of stdout and of stderr; the rest of stdout only enters a hash."""

PATIENCE: Final = 5
"""Factor by which the time limit is raised for the second run, because the machine may be busy."""

_INPUT: Final = b"INPUT"


@dataclass(frozen=True, slots=True)
class OracleReply:
    """How a command ended on an input. The path of the input is removed from the output."""

    status: int | None
    """As of subprocess; None: not finished within the time limit."""
    out: bytes
    err: bytes
    """The first :data:`MAX_OUTPUT` bytes of stdout and stderr."""
    digest: str
    """SHA-256 of all of stdout."""

    @property
    def accepts(self) -> bool:
        """Whether the command accepts the input (exit status 0)."""
        return self.status == 0

    @property
    def how(self) -> str:
        """How the command ended, as a short text that is part of signatures."""
        if self.status is None:
            return "no end"
        if self.status < 0:
            return f"died of {signal_name(-self.status)}"
        return "refused" if self.status else "accepted"


@dataclass(frozen=True, slots=True)
class OracleCommand:
    """A command of the oracle, ``run`` or ``against``. ``limit``: seconds that one run may take."""

    program: TargetProgram
    limit: float
    name: str
    """Its name in messages."""

    def line(self, file: Path) -> str:
        """Return the shell command that runs it on ``file``."""
        return repro_command_line(self.program, file)

    async def ask(
        self, data: bytes, mark: ProcessMark | None = None, *, patience: float = 1
    ) -> OracleReply:
        """Run the command on ``data``, for at most ``patience`` times its limit.

        Raises :class:`SupervisorError` if it can never be run, OSError if the machine lacks
        something now.
        """
        if reason := self.program.missing():
            raise SupervisorError(reason)
        out, err = _Stream(), _Stream()
        with open_sandbox(self.program, data, mark) as place:
            outcome = await place.run(
                self.limit * patience,
                stdout=True,
                on_output=out.take,
                on_stderr=err.take,
                nice=False,
            )
            launch, where = bytes(place.directory / "launch"), bytes(place.file)
        if outcome.status in (126, 127) and err.head.startswith(launch):
            # The shell reports that it could not execute the program.
            why = err.head.decode(errors="replace").strip().rpartition("exec: ")[2]
            raise SupervisorError(f"{self.program.command[0]} cannot be run: {why}")
        for stream in (out, err):
            stream.head = stream.head.replace(where, _INPUT)
            stream.head = stream.head.replace(bytes(place.directory), b"")
        out.rest.update(out.head)
        return OracleReply(outcome.status, bytes(out.head), bytes(err.head), out.rest.hexdigest())


@dataclass(slots=True)
class _Stream:
    """The beginning of a stream, and a hash of the rest."""

    head: bytearray = field(default_factory=bytearray)
    rest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def take(self, data: bytes) -> None:
        room = MAX_OUTPUT - len(self.head)
        self.head += data[:room]
        self.rest.update(data[room:])


def oracle_commands(campaign: Campaign) -> list[OracleCommand]:
    """Return the command ``run``, and ``against`` if given. Raises :class:`SupervisorError`."""
    oracle = campaign.table("oracle")
    target = TargetProgram.of(campaign)
    env = {key: value for key, value in target.env.items() if not key.startswith("AFL_")}
    preload = target.env.get("AFL_PRELOAD")
    preloaded = {"LD_PRELOAD": preload} if preload else {}
    target = replace(target, env=env | preloaded, unaided=True)
    programs = [_program(target, env, oracle["run"]) if oracle["run"] else target]
    if oracle["against"]:
        programs.append(_program(target, env, oracle["against"]))
    names = _names([program.command for program in programs])
    return [OracleCommand(s, oracle["timeout_s"], n) for s, n in zip(programs, names, strict=True)]


def _program(target: TargetProgram, env: dict[str, str], command: list[str]) -> TargetProgram:
    """The target with another command, in a separate directory."""
    memory = 0 if keeps_shadow(command[0]) else target.memory
    return replace(target, command=tuple(command), env=env, cwd=None, memory=memory, driver=False)


def _names(commands: list[tuple[str, ...]]) -> list[str]:
    """The programs' names; with the differing arguments if the programs have the same name."""
    names = [Path(command[0]).name for command in commands]
    if len(set(names)) == len(names):
        return names
    ours, theirs = ([w for w in command[1:] if "@@" not in w] for command in commands)
    own = ([w for w in ours if w not in theirs], [w for w in theirs if w not in ours])
    return [shlex.join([n, *words])[:60] for n, words in zip(names, own, strict=True)]
