"""Whether a campaign has measured anything: decides its end state and its exit code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fuzztui.kernel.base.text import listed
from fuzztui.kernel.model.selectors import ENDED, SEVERAL_TARGETS
from fuzztui.kernel.model.state import Instance, State

_BEFORE: Final = ("waiting", "starting", "restarting", "running", "stalled")
"""States of an instance that may still execute its first input."""


def executed(state: State) -> bool:
    """Whether any instance has executed an input, also on a mutant.

    An entry or a finding proves that, even if the worker died before its first statistics.
    """
    return bool(state.findings or state.entries) or any(map(_has_run, [*state.instances.values()]))


def may_still_start(state: State) -> bool:
    """Whether an instance of the target has not executed anything yet, but may."""
    return any(i.state in _BEFORE for i in _idle(state)) and not _has_turns(state)


def unguided(state: State) -> str:
    """Return why no input has executed instrumented code; an empty string if one has, or unknown.

    The engines report why. afl-fuzz does not: without instrumentation it starts only with ``-n``,
    which its user chose.
    """
    own = [i for i in [*state.instances.values()] if not i.mutant]
    if max((i.stats.edges for i in own), default=-1) != 0:
        return ""
    return next((i.unguided for i in own if i.unguided), "")


def unmeasured(state: State) -> str:
    """Return why the campaign measures nothing, or has measured nothing; empty if it does measure.

    Reasons: it executed no input, or no instrumented code, or an instance could not start. Empty
    for a campaign that has failed, whose state has a reason, and if the log has lost records.
    """
    if state.state == "failed" or state.lost:
        return ""
    if state.state not in ENDED:
        return unguided(state)
    idle = list(_idle(state))
    failed = next((i for i in idle if i.state == "failed" and i.reason), None)
    if not executed(state):
        return f"no input was executed: {failed.reason if failed else state.reason}"
    if state.engine == SEVERAL_TARGETS:
        return ""  # each target is a campaign of its own, whose state says how it ended
    if failed is not None:
        return f"{failed.id} has executed no input: {failed.reason}"
    if state.state == "finished" and idle and not _has_turns(state):
        return f"{listed([i.id for i in idle], 4)}: executed no input"
    return unguided(state)


def _has_turns(state: State) -> bool:
    """Whether instances have fuzzed mutants, which may have used the time budget of the target."""
    return any(i.mutant for i in list(state.instances.values()))


def _idle(state: State) -> Iterator[Instance]:
    """The instances of the target that have executed nothing."""
    for i in list(state.instances.values()):
        if not (i.mutant or i.passive or _has_run(i)):
            yield i


def _has_run(instance: Instance) -> bool:
    """Whether an instance has run an input to its end, or saved one that fails or hangs.

    If the engine counts outcomes, an execution alone is no proof: the first input may hang.
    """
    s = instance.stats
    ran = s.execs > 0 if s.valid < 0 else s.valid + s.invalid > 0 or s.findings_not_saved > 0
    return bool(ran or instance.entry_files or instance.crash_files or instance.hang_files)
