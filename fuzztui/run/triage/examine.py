"""Run a finding again, and describe the result: signature, location, a title for users."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fuzztui.engines.execute.overseer import stopped_text
from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.signals import signal_name
from fuzztui.kernel.base.text import several, visible
from fuzztui.kernel.wire.finding_kinds import CRASH, HANG
from fuzztui.kernel.wire.severity import NONE, TIMEOUT, UNKNOWN, Severity
from fuzztui.run.process.execute import ProcessResult, execute
from fuzztui.run.triage.gdb import Backtrace, crash_stack, gdb_path, hang_stacks
from fuzztui.run.triage.sandbox import Sandbox
from fuzztui.run.triage.sanitizer import ABORT, Report, parse_report
from fuzztui.run.triage.severity import reported, signalled
from fuzztui.run.triage.signature import (
    Frame,
    common,
    cycle,
    naming_frame,
    relevant_frames,
    signature,
    signed,
)
from fuzztui.run.triage.traps import trapped

MIN_HANG_S = 0.5
"""Minimum seconds before the stack of a hang is read: on a busy machine, programs start slowly."""

NOT_AGAIN = "did not crash again"
MAX_DETAIL = 8000
MAX_TITLE = 200
MAX_WORDS = 1500
SHOWN = 200
MAX_MAP = 64 << 20
MAX_LINES = 40
_ASSERTION = re.compile(r"(?:Assertion [`'].*|assertion .* failed.*)")


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of running a finding again. ``ended``: whether the target has not failed."""

    signature: str
    title: str
    place: str
    detail: str
    ended: bool = False
    stack: str = ""
    """The stack from gdb; empty if the target itself printed one, or gdb has none."""
    frames: list[dict[str, Any]] = field(default_factory=list)
    basis: dict[str, Any] = field(default_factory=dict)
    """What the signature is made of, as in
    :class:`~fuzztui.kernel.wire.events.FindingDescribed`."""

    @property
    def is_failure(self) -> bool:
        """Whether the target has failed: not if it only took longer than its limit for a crash."""
        return bool(self.signature) and not (self.ended or self.title.startswith(NOT_AGAIN))

    severity: Severity = NONE


async def examine_input(
    sandbox: Sandbox,
    category: str = "",
    sig: int = 0,
    on_output: Callable[[bytes], None] | None = None,
) -> Reproduction:
    """Run an input again; give a hang more time than AFL++ did.

    ``category``: crash, hang, or an empty string if unknown; ``sig``: the signal of a crash that
    AFL++ reported, 0: unknown.
    """
    hangs, program = category == HANG.category, sandbox.program
    limit = program.hang_limit if hangs else program.crash_limit
    outcome = await sandbox.run(limit, stdout=on_output is not None, on_output=on_output)
    if verdict := await _crashed(sandbox, outcome):
        return verdict
    if hangs:
        return await _hung(sandbox, outcome, limit)
    ended, how = outcome.status is not None, _how(outcome, limit)
    if category != CRASH.category:
        return Reproduction("", how, "", _detail("", outcome), ended=ended)
    saw = f" (AFL++ saw {signal_name(sig)})" if sig else ""
    return Reproduction(
        f"did-not-crash-{signal_name(sig) if sig else 'again'}",
        f"{NOT_AGAIN}{saw}",
        "",
        _detail(f"Run again, it {how}.", outcome),
        ended=ended,
        severity=Severity(UNKNOWN, "", "The input does not crash the target each time."),
    )


async def _hung(sandbox: Sandbox, outcome: ProcessResult, limit: float) -> Reproduction:
    if outcome.status is not None:
        return Reproduction(
            "ended-in-time",
            f"ended after {outcome.seconds:.1f} s when run again",
            "",
            _detail(f"Run again, it {_how(outcome, limit)}.", outcome),
            ended=True,
            severity=Severity(UNKNOWN, "", "The input does not hang the target each time."),
        )
    if outcome.stopped:
        title = stopped_text(outcome.stopped)
        made = f"stopped by {outcome.stopped}"
        return Reproduction(made, title, "", _detail("", outcome), severity=TIMEOUT)
    title = f"no end within {limit:g} s"
    # The program is known to hang, so half of the limit is enough for the stacks.
    stacks = await hang_stacks(sandbox, max(limit / 2, MIN_HANG_S))
    if not stacks:
        edges, why = await _edges(sandbox, limit)
        made, text = signature("hang", [], edges), _detail(why, outcome)
        return Reproduction(made, title, "", text, severity=TIMEOUT)
    frames = common([stack.frames for stack in stacks])
    return replace(_verdict("hang", title, frames, _bounded(stacks[-1]), outcome), severity=TIMEOUT)


async def _crashed(sandbox: Sandbox, outcome: ProcessResult) -> Reproduction | None:
    """The result of a run that failed; None if the run did not fail."""
    report = parse_report(outcome.output)
    if report and report.kind == ABORT:
        if verdict := _aborted(report, outcome):
            return verdict
    elif report and (outcome.status != 0):
        return _reported(report)
    if outcome.signal:
        return await _signalled(sandbox, outcome)
    code = sandbox.program.env.get("AFL_CRASH_EXITCODE", "")
    if outcome.status is not None and code == str(outcome.status):
        edges, _ = await _edges(sandbox, sandbox.program.crash_limit)
        title = f"exit status {code} (AFL_CRASH_EXITCODE)"
        made, text = signature(title, [], edges), _detail("", outcome)
        unknown = Severity(UNKNOWN, "", "An exit status does not say what has failed.")
        return Reproduction(made, title, "", text, severity=unknown)
    return None


def _aborted(report: Report, outcome: ProcessResult) -> Reproduction | None:
    """The result for a report of abort(), as gdb's stack would give it; None without symbols."""
    if not any(frame.function and not frame.runtime for frame in report.frames):
        return None
    printed = replace(outcome, output=report.printed.encode())
    verdict = _verdict("SIGABRT", "SIGABRT", report.frames, report.text, printed)
    return replace(verdict, stack="", severity=reported(report))


def _reported(report: Report) -> Reproduction:
    frames = relevant_frames(report.frames)
    named = naming_frame(frames) if frames else None
    access = report.access.partition(" ")[0]
    # The function comes first, because a narrow screen cuts the end of a title.
    title = report.kind + (f" in {named.name}" if named else "")
    title += f" ({access})" if access else ""
    made = signed(report.kind, report.frames, access)
    return Reproduction(
        made.signature,
        visible(title)[:MAX_TITLE],
        visible(named.place)[:MAX_TITLE] if named else "",
        _cut(visible(report.text, lines=True)),
        frames=made.frames,
        basis=made.basis,
        severity=reported(report),
    )


async def _signalled(sandbox: Sandbox, outcome: ProcessResult) -> Reproduction:
    name = signal_name(outcome.signal)
    stack = await crash_stack(sandbox, outcome.signal, sandbox.program.crash_limit)
    if stack and (report := trapped(stack, _detail(_bounded(stack), outcome))):
        return replace(_reported(report), stack=visible(_bounded(stack), lines=True))
    severity = signalled(name, stack.frames if stack else (), stack.fault if stack else None)
    if stack and relevant_frames(stack.frames):
        found = _verdict(name, name, stack.frames, _bounded(stack), outcome)
        return replace(found, severity=severity)
    edges, why = await _edges(sandbox, sandbox.program.crash_limit)
    made = signature(name, [], edges)
    return Reproduction(made, name, "", _detail(why, outcome), severity=severity)


def _verdict(
    kind: str, title: str, stack: Sequence[Frame], text: str, outcome: ProcessResult
) -> Reproduction:
    """The result for a stack; names an endless recursion and quotes a failed assertion."""
    more: list[str] = []
    frames = relevant_frames(stack)
    named = naming_frame(frames) if frames else None
    place = named.place if named else ""
    endless = cycle(frames) if kind == "SIGSEGV" else []
    printed = _last_output(outcome)
    if endless:
        title += f" in {endless[0].name}: endless recursion"
        place = f"in {endless[0].name}"
    elif named:
        title += f" in {named.name}"
    if found := _ASSERTION.search(printed) if kind == "SIGABRT" else None:
        # The text is part of the signature: it comes from the program, not from the input.
        title += f": {found[0].strip()}"
        more = [found[0].strip()]
    made = signed(kind, stack, *more)
    return Reproduction(
        made.signature,
        visible(title)[:MAX_TITLE],
        visible(place)[:MAX_TITLE],
        _detail(text, outcome),
        stack=visible(text, lines=True),
        frames=made.frames,
        basis=made.basis,
    )


async def _edges(sandbox: Sandbox, limit: float) -> tuple[str, str]:
    """A hash of the covered edges, and a note why these are used instead of a stack."""
    missing = "gdb has no stack" if gdb_path() else "gdb is not installed, so there is no stack"
    program = sandbox.program
    tool = program.tool("afl-showmap")
    if tool is None or program.blind:
        reason = "the target is not instrumented" if program.blind else "afl-showmap is missing"
        return "", f"({missing}, {reason}: findings with this signal are one group.)"
    memory = str(program.memory >> 20) if program.memory else "none"
    map_file = sandbox.directory / "edges"
    await execute(
        [
            "nice", "-n", "10", tool, "-q", "-e", "-t", str(int(limit * 1000)), "-m", memory,
            *program.modes, "-o", str(map_file), "--", *sandbox.argv,
        ],
        sandbox.mark,
        cwd=sandbox.cwd,
        limit=limit + 5,
        stdin=sandbox.stdin,
        env=program.env,
    )  # fmt: skip
    try:
        edges = sorted(read_regular(map_file, MAX_MAP).split())
    except OSError:
        edges = []
    if not edges:
        note = f"({missing}, nor edges from afl-showmap: findings with this signal are one group.)"
        return "", note
    digest = hashlib.sha256(b"\n".join(edges)).hexdigest()
    by = several(len(edges), "edge")
    return digest, f"({missing}: findings are grouped by the {by} that they cover.)"


def printable(data: bytes) -> str:
    """Return a short form of an input on one line, with unprintable bytes escaped."""
    text = visible(data[: SHOWN * 4].decode(errors="backslashreplace"))
    return text if len(text) <= SHOWN and len(data) <= SHOWN * 4 else text[:SHOWN] + "..."


def _how(outcome: ProcessResult, limit: float) -> str:
    if outcome.stopped:
        return f"stopped its own process ({outcome.stopped})"
    if outcome.status is None:
        return f"did not end within {limit:g} s"
    if outcome.signal:
        return f"died of {signal_name(outcome.signal)} after {outcome.seconds:.1f} s"
    return f"ended with exit status {outcome.status} after {outcome.seconds:.1f} s"


def _last_output(outcome: ProcessResult) -> str:
    text = outcome.output[-2 * MAX_WORDS :].decode(errors="replace").strip()
    return visible(text, lines=True)[-MAX_WORDS:]


def _detail(text: str, outcome: ProcessResult) -> str:
    last = _last_output(outcome)
    printed = f"\n\nThe target printed:\n{last}" if last else ""
    return (_cut(visible(text, lines=True), MAX_DETAIL - len(printed)) + printed).strip()


def _bounded(stack: Backtrace) -> str:
    """gdb's stack; only both ends of a deep one."""
    lines = [line[:300] for line in stack.text.splitlines()]
    half = MAX_LINES // 2
    if len(lines) > MAX_LINES:
        lines[half:-half] = [f"... {len(lines) - 2 * half} more ..."]
    return "\n".join(lines)


def _cut(text: str, limit: int = MAX_DETAIL) -> str:
    half = limit // 2 - 20
    if len(text) <= limit:
        return text
    return f"{text[:half]}\n... {len(text) - 2 * half} left out ...\n{text[-half:]}"
