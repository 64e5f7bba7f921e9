"""The stricter kill criterion: a different exit status or stdout kills a mutant, too."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace

from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.features.fuzzfirst.showmap import Unrunnable, read_input
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import open_sandbox

MAX_OUTPUT = 1 << 20
"""Bytes of a program's output that are compared."""


_Answer = tuple[int, bytes]
"""A program's result on an input: its status as in subprocess, and a digest of its stdout."""


class Outputs:
    """Compares the output of mutants and target, with one process per input.

    Raises :class:`SupervisorError` for a target that cannot be run without AFL++.
    """

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self._campaign = campaign
        self._subject = TargetProgram.of(campaign)
        self._mark = ProcessMark(run_dir.path, "output-oracle")
        self._known: dict[str, _Answer | None] = {}
        """The target's results by digest; None: it timed out, or the second run differed."""

    async def differing(self, command: Sequence[str], inputs: Sequence[Input]) -> dict[str, str]:
        """Return digests of inputs on which ``command``, a mutant, differs, each with "output".

        Compares exit status and stdout. Inputs on which two runs of the target differ do not
        count, nor do timeouts, which are another kill criterion. Raises :class:`SupervisorError`
        if mutant or target cannot be run at all.
        """
        target = {**self._campaign.target, "command": list(command)}
        mutant = TargetProgram.of(replace(self._campaign, target=target))
        for subject in (self._subject, mutant):
            if why := subject.missing():
                raise Unrunnable(why)
        found: dict[str, str] = {}
        for one in inputs:
            data = await asyncio.to_thread(read_input, one.path)
            if data is not None and await self._differs(mutant, one.digest, data):
                found[one.digest] = "output"
        return found

    async def _differs(self, mutant: TargetProgram, digest: str, data: bytes) -> bool:
        if digest not in self._known:
            before = await self._answer(self._subject, data)
            again = await self._answer(self._subject, data) if before else None
            self._known[digest] = before if before == again else None
        expected = self._known[digest]
        if expected is None:
            return False
        # Twice: a temporary lack of memory must not kill a mutant.
        for _ in range(2):
            answer = await self._answer(mutant, data)
            if answer is None or answer == expected:
                return False
        return True

    async def _answer(self, subject: TargetProgram, data: bytes) -> _Answer | None:
        """Run the program; None if it times out."""
        output = bytearray()

        def take(more: bytes) -> None:
            output.extend(more[: MAX_OUTPUT - len(output)])

        try:
            with open_sandbox(_silenced(subject), data, self._mark) as place:
                outcome = await place.run(subject.hang_limit, stdout=True, on_output=take)
        except OSError as e:
            message = f"{e.filename or subject.command[0]}: {e.strerror or e}"
            raise SupervisorError(message) from None
        if outcome.status is None:
            return None
        # The paths of the program and the input differ in each run.
        program = subject.command[0].encode(errors="surrogateescape")
        plain = output.replace(str(place.directory).encode(), b"/").replace(program, b"program")
        return outcome.status, hashlib.sha256(plain).digest()


def _silenced(subject: TargetProgram) -> TargetProgram:
    """Return the same program with its stderr discarded."""
    argv = (subject.command[0], "@@") if subject.driver else subject.command
    command = ("/bin/sh", "-c", 'exec "$@" 2>/dev/null', "sh", *argv)
    return replace(subject, command=command, driver=False)
