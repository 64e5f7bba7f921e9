"""Run a program on one input, and print what happens."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Sequence
from pathlib import Path

from fuzztui.cli.output import DONE, FINDINGS, say
from fuzztui.kernel.base.text import visible
from fuzztui.run.triage.afl import examine_in_turn
from fuzztui.run.triage.examine import Reproduction
from fuzztui.run.triage.program import TargetProgram, repro_command_line

MAX_SHOWN = 1 << 20
"""Bytes of a target's output that are shown."""


def run_programs(
    programs: Sequence[TargetProgram], file: Path, data: bytes, category: str
) -> Reproduction:
    """Run the input, print what happens. Raises SupervisorError, OSError."""
    shown = _Shown()
    program, result = asyncio.run(examine_in_turn(programs, category, data, on_output=shown.take))
    shown.end()
    if result.stack:
        print(result.stack)
    print(f"command: {visible(repro_command_line(program, file))}", flush=True)
    say(f"{result.title}{f' ({result.place})' if result.place else ''}")
    return result


def code_of(result: Reproduction) -> int:
    """Return the exit code: FINDINGS if the program has failed, else DONE."""
    return DONE if result.ended else FINDINGS


class _Shown:
    """Prints the output of a target: escaped, and at most ``MAX_SHOWN`` bytes."""

    def __init__(self) -> None:
        self._left = MAX_SHOWN
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._line_open = False

    def take(self, data: bytes) -> None:
        if self._left > 0:
            self._show(self._decoder.decode(data[: self._left]))
            self._left -= len(data)
            if self._left <= 0:
                self._show("\n... the rest of the output is left out\n")

    def end(self) -> None:
        self._show(self._decoder.decode(b"", final=True) + ("\n" if self._line_open else ""))

    def _show(self, text: str) -> None:
        if text:
            print(visible(text, lines=True), end="", flush=True)
            self._line_open = not text.endswith("\n")
