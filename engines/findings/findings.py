"""Crashes and hangs: one file a cause, and a running count."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import CRASHES, HANGS, Store, entry_ids
from fuzztui.engines.execute.failures import Failure
from fuzztui.engines.findings.limit import WINDOW_TRIALS, FindingLimit
from fuzztui.wire.events import FindingDescribed

__all__ = ["Description", "Findings"]

_RECOUNT_S: Final = 60.0
_MAX_UNSAVED: Final = 100_000
_EXECS = re.compile(r",execs:(\d{1,18})")


def _trial(event: FindingDescribed) -> int:
    """The execution at which a finding was saved, by its file's name; 0 if unknown."""
    match = _EXECS.search(event.file)
    return int(match[1]) if match else 0


@dataclass(frozen=True, slots=True)
class Description:
    """Words about a finding: one line, the traceback, the input in short."""

    title: str
    detail: str
    input: str


@dataclass(slots=True)
class _Known:
    """``due``: a changed count is told again at this time, or when it has doubled."""

    event: FindingDescribed
    count: int
    told: int
    since: float = field(init=False)
    due: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = time.monotonic()
        self.postpone()

    def postpone(self) -> None:
        """Due when its age has doubled: what recurs for weeks is told some twenty times."""
        now = time.monotonic()
        self.due = now + max(_RECOUNT_S, now - self.since)


class Findings:
    """The failures met so far, by signature.

    Order of writing: description first, then the file. If the process dies in
    between, the input is still in the journal and runs again after the restart; its
    signature is then known without a file, so it is saved under the same name.
    """

    def __init__(
        self,
        store: Store,
        log: EventLog,
        journal: TrialJournal | None,
        told: ReportedEvents,
        most: int = 0,
    ) -> None:
        """``journal``: gets the numbers of saved findings, if it is not None.

        ``most``: of distinct findings that are saved (:class:`FindingLimit`); 0: no limit.
        """
        self._store, self._log = store, log
        self._limit = FindingLimit(most)
        self._unsaved: set[int] = set()
        """Hashes of signatures that the limit refused, :data:`_MAX_UNSAVED` at most."""
        self._words = defaultdict[int, int](int) if journal is None else journal.words
        self._known: dict[str, _Known] = {}
        self._announced: dict[str, str] = {}
        for signature, event in sorted(told.findings.items(), key=lambda known: _trial(known[1])):
            if (store.directory / event.file).exists():
                self._known[signature] = _Known(event, event.count, event.count)
                self._limit.note(signature, event.place, _trial(event))
            else:
                self._announced[signature] = event.file
        self._words[j.CRASHES] = len(entry_ids(store.directory / CRASHES))
        self._words[j.HANGS] = len(entry_ids(store.directory / HANGS))

    def __contains__(self, failure: Failure) -> bool:
        """Whether there is nothing to save: this signature has a file, or is over the limit."""
        return self._name(failure) in self._known or not self._allowed(failure)

    def knows(self, failure: Failure) -> bool:
        """The same; the failure is then counted once more."""
        known = self._known.get(self._name(failure))
        if known is not None:
            known.count += 1
            return True
        if self._allowed(failure):
            return False
        words = self._words
        if not words[j.NOT_SAVED]:  # by no worker before this one either
            self._log.say(
                "warning",
                f"{self._limit.most} distinct findings in {WINDOW_TRIALS:,} executions: further"
                " ones are counted, not saved; a larger engine.max_findings saves more",
            )
        if len(self._unsaved) < _MAX_UNSAVED:
            self._unsaved.add(hash(failure.signature))
        # Earlier workers may have met the same ones: no sum.
        words[j.NOT_SAVED] = max(words[j.NOT_SAVED], len(self._unsaved))
        return True

    def _name(self, failure: Failure) -> str:
        """The signature by which it is known: an older one, if this directory is that old."""
        old = failure.before
        return old if old in self._known or old in self._announced else failure.signature

    def _allowed(self, failure: Failure) -> bool:
        # A finding that was described before its file was lost is not new.
        return self._name(failure) in self._announced or self._limit.allows(
            failure.signature, failure.place, self._words[j.TRIAL]
        )

    def file_for(self, failure: Failure, tail: str, *, signal: int = 0) -> str:
        """Where a new cause's input is going to be."""
        if before := self._announced.get(self._name(failure)):
            return before
        folder = HANGS if failure.category == "hang" else CRASHES
        sig = f"sig:{signal:02d}," if folder == CRASHES else ""
        return f"{folder}/id:{self._store.next_id(folder):06d},{sig}{tail}"

    def save(
        self,
        failure: Failure,
        data: bytes,
        tail: str,
        describe: Callable[[], Description],
        *,
        signal: int = 0,
    ) -> str:
        """Save a new cause's input; returns its file. May raise ``Stopping`` (full disk)."""
        file = self.file_for(failure, tail, signal=signal)
        folder = file.partition("/")[0]
        signature = self._name(failure)
        self._announced.pop(signature, None)
        words = describe()
        event = FindingDescribed(
            self._log.instance,
            failure.category,
            file,
            signature,
            words.title,
            failure.place,
            words.detail,
            words.input,
        )
        self._log.write(event)
        self._store.put(folder, file.partition("/")[2], data)
        self._known[signature] = _Known(event, 1, 1)
        self._limit.note(signature, failure.place, self._words[j.TRIAL])
        self._words[j.CRASHES if folder == CRASHES else j.HANGS] += 1
        self._words[j.LAST_CRASH if folder == CRASHES else j.LAST_HANG] = int(time.time())
        if folder == CRASHES:
            self._words[j.LAST_CRASH_TRIAL] = self._words[j.TRIAL]
        return file

    def __len__(self) -> int:
        """How many causes have a file."""
        return len(self._known)

    def recount(self, *, final: bool = False) -> None:
        """Tell counts that have doubled or are due; all that changed at the end."""
        now = time.monotonic()
        unsaved, told = self._words[j.NOT_SAVED], self._words[j.NOT_SAVED_TOLD]
        if unsaved >= 10 * max(1, told) or (final and unsaved > told):
            self._words[j.NOT_SAVED_TOLD] = unsaved
            more = f"at least {unsaved:,} more distinct findings were"
            self._log.say(
                "warning",
                f"{more if unsaved > 1 else 'at least 1 more distinct finding was'} not saved"
                f" (engine.max_findings = {self._limit.most})",
            )
        for known in self._known.values():
            if known.count == known.told:
                continue
            if final or known.count >= 2 * known.told or now >= known.due:
                known.event = replace(known.event, count=known.count)
                self._log.write(known.event)
                known.told = known.count
                known.postpone()
