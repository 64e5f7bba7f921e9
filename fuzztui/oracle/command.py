"""Asking a command what it makes of an input: bounded, nothing of it left behind."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fuzztui.base.signals import signal_name
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import SupervisorError
from fuzztui.process.execute import ProcessMark
from fuzztui.triage.program import TargetProgram, keeps_shadow, repro_command_line
from fuzztui.triage.sandbox import bench

__all__ = ["MAX_OUTPUT", "PATIENCE", "OracleCommand", "OracleReply", "asked_by"]

MAX_OUTPUT: Final = 1 << 20
"""Bytes of either stream that are kept; of the rest of stdout only a hash is."""

PATIENCE: Final = 5
"""So many times the limit is given to what had no end: the machine may be busy."""

_INPUT: Final = b"INPUT"


@dataclass(frozen=True, slots=True)
class OracleReply:
    """What a command made of an input. Neither name nor place of the input is in what it says."""

    status: int | None
    """As of subprocess; None where it had no end in time."""
    out: bytes
    err: bytes
    """The first :data:`MAX_OUTPUT` bytes of stdout and stderr."""
    digest: str
    """Of all of stdout."""

    @property
    def accepts(self) -> bool:
        """Whether it is content with the input."""
        return self.status == 0

    @property
    def how(self) -> str:
        """How it ended, in a word or two: what counts of it if it does not accept."""
        if self.status is None:
            return "no end"
        if self.status < 0:
            return f"died of {signal_name(-self.status)}"
        return "refused" if self.status else "accepted"


@dataclass(frozen=True, slots=True)
class OracleCommand:
    """One of the two commands. ``limit``: seconds that it may take."""

    subject: TargetProgram
    limit: float
    name: str
    """What it is called for users."""

    def line(self, file: Path) -> str:
        """What to type to have it run on ``file``."""
        return repro_command_line(self.subject, file)

    async def ask(
        self, data: bytes, mark: ProcessMark | None = None, *, patience: float = 1
    ) -> OracleReply:
        """Run it on ``data``, for ``patience`` times its limit.

        Raises :class:`SupervisorError` where it cannot be run at all, OSError where the machine
        lacks something now.
        """
        if words := self.subject.missing():
            raise SupervisorError(words)
        out, err = _Stream(), _Stream()
        with bench(self.subject, data, mark) as place:
            outcome = await place.run(
                self.limit * patience, stdout=True, told=out.take, errors=err.take, nice=False
            )
            launch, where = bytes(place.directory / "launch"), bytes(place.file)
        if outcome.status in (126, 127) and err.head.startswith(launch):
            # The shell's words that it could not become the program.
            why = err.head.decode(errors="replace").strip().rpartition("exec: ")[2]
            raise SupervisorError(f"{self.subject.command[0]} cannot be run: {why}")
        for stream in (out, err):
            stream.head = stream.head.replace(where, _INPUT)
            stream.head = stream.head.replace(bytes(place.directory), b"")
        out.rest.update(out.head)
        return OracleReply(outcome.status, bytes(out.head), bytes(err.head), out.rest.hexdigest())


@dataclass(slots=True)
class _Stream:
    """The beginning of a stream, and a hash of what comes after it."""

    head: bytearray = field(default_factory=bytearray)
    rest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def take(self, data: bytes) -> None:
        room = MAX_OUTPUT - len(self.head)
        self.head += data[:room]
        self.rest.update(data[room:])


def asked_by(campaign: Campaign) -> list[OracleCommand]:
    """``run``, and ``against`` if there is one. Raises :class:`SupervisorError`."""
    oracle = campaign.oracle
    target = TargetProgram.of(campaign)
    env = {key: value for key, value in target.env.items() if not key.startswith("AFL_")}
    preload = target.env.get("AFL_PRELOAD")
    preloaded = {"LD_PRELOAD": preload} if preload else {}
    target = replace(target, env=env | preloaded, unaided=True)
    subjects = [_subject(target, env, oracle["run"]) if oracle["run"] else target]
    if oracle["against"]:
        subjects.append(_subject(target, env, oracle["against"]))
    names = _names([subject.command for subject in subjects])
    return [OracleCommand(s, oracle["timeout_s"], n) for s, n in zip(subjects, names, strict=True)]


def _subject(target: TargetProgram, env: dict[str, str], command: list[str]) -> TargetProgram:
    """Another command in place of the target, in a separate directory."""
    memory = 0 if keeps_shadow(command[0]) else target.memory
    return replace(target, command=tuple(command), env=env, cwd=None, memory=memory, driver=False)


def _names(commands: list[tuple[str, ...]]) -> list[str]:
    """The programs' names; of one with other arguments those, too."""
    names = [Path(command[0]).name for command in commands]
    if len(set(names)) == len(names):
        return names
    ours, theirs = ([w for w in command[1:] if "@@" not in w] for command in commands)
    own = ([w for w in ours if w not in theirs], [w for w in theirs if w not in ours])
    return [shlex.join([n, *words])[:60] for n, words in zip(names, own, strict=True)]
