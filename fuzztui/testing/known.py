"""The user's verdicts about inputs that fail when a corpus is replayed."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.failures import failure_of, frames_of_error
from fuzztui.engines.findings.findings import basis_of
from fuzztui.engines.findings.triage import UNMADE
from fuzztui.engines.instrument.importer import is_below
from fuzztui.engines.instrument.target import application_packages
from fuzztui.features.verdicts.judging import changes
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.verdicts import given_about
from fuzztui.kernel.wire.events import Event, FindingDescribed, FindingSaved, Record
from fuzztui.kernel.wire.finding_kinds import CRASH
from fuzztui.kernel.wire.frames import frame_rows
from fuzztui.kernel.wire.verdicts import KNOWN, WONT_FIX

_INSTANCE: Final = "replay"
_MAX_REASON: Final = 300


class KnownFailures:
    """The verdicts file, and the failures of a replay, grouped by signature as in a campaign."""

    def __init__(self, file: Path, target: TargetSpec) -> None:
        """Raises :class:`~fuzztui.features.verdicts.file.VerdictsError`."""
        self._target = target
        self._state = State()
        self._seq = 0
        for event in changes(self._state, file):
            self._apply(event)

    @property
    def has_verdicts(self) -> bool:
        """Whether the file has any verdict about findings."""
        return bool(self._state.verdicts)

    def add(self, name: str, error: BaseException, *, unmade: bool) -> None:
        """Add the failure of an input. ``unmade``: the generator failed, not the target."""
        if f"{_INSTANCE}/{name}" in self._state.findings:
            return
        files = self._files()
        failure = failure_of(error, files)
        if unmade:
            failure = replace(failure, signature=failure.signature + UNMADE)
        frames = frame_rows(frames_of_error(error, files))
        self._apply(FindingSaved(_INSTANCE, CRASH.category, name))
        self._apply(
            FindingDescribed(
                _INSTANCE,
                CRASH.category,
                name,
                signature=failure.signature,
                frames=frames,
                basis=basis_of(failure, frames),
            )
        )

    def is_exact(self, name: str) -> bool:
        """Whether a verdict has the signature of this failure, so that its group is not needed."""
        return self._signature(name) in self._state.verdicts

    def reason(self, name: str) -> str:
        """Return why a failure is expected; empty unless its verdict is known or wont-fix."""
        given = given_about(self._state, self._signature(name))
        if given is None or given.verdict not in (KNOWN, WONT_FIX):
            return ""
        return brief(f"{given.verdict}: {given.note or given.signature}", _MAX_REASON)

    def _signature(self, name: str) -> str:
        return self._state.findings[f"{_INSTANCE}/{name}"].signature

    def _apply(self, event: Event) -> None:
        self._seq += 1
        apply(self._state, [Record(self._seq, 0.0, event)])

    def _files(self) -> Collection[str]:
        """The source files of the application's modules."""
        include, exclude = application_packages(self._target), self._target.exclude
        return {
            file
            for name, module in list(sys.modules.items())
            if is_below(name, include) and not is_below(name, exclude)
            if isinstance(file := getattr(module, "__file__", None), str)
        }
