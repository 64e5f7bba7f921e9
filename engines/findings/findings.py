"""Findings: one file for each signature, and how often each signature occurred."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import Store, entry_ids
from fuzztui.engines.execute.failures import Failure
from fuzztui.kernel.wire.afl import entry_name
from fuzztui.kernel.wire.events import FindingDescribed
from fuzztui.kernel.wire.finding_kinds import CRASHES, HANGS, kind_of
from fuzztui.kernel.wire.frames import Basis, Rules, parse_frames, signature_under
from fuzztui.kernel.wire.severity import severity_in_python

_RECOUNT_S: Final = 60.0
"""Seconds after which a changed count is reported first."""
_MAX_UNSAVED: Final = 100_000
"""Distinct findings above the limit that are counted."""
_EXECS = re.compile(r",execs:(\d{1,18})")


def _trial(event: FindingDescribed) -> int:
    """The execution at which a finding was saved, from its file's name; 0 if unknown."""
    match = _EXECS.search(event.file)
    return int(match[1]) if match else 0


_BETWEEN: Final = "\0"


def _key(of_property: str, signature: str) -> str:
    """The key of a finding: its signature, in a suite with the name of its property."""
    return f"{of_property}{_BETWEEN}{signature}" if of_property else signature


def _signature(event: FindingDescribed, rules: Rules) -> str:
    return signature_under(event.signature, event.frames, event.basis, rules)


@dataclass(frozen=True, slots=True)
class Description:
    """Texts about a finding: one line, the traceback, and a short form of the input.

    ``frames``: the frames of its stack, as in :class:`FindingDescribed`.
    """

    title: str
    detail: str
    input: str
    frames: list[dict[str, Any]] = field(default_factory=list)


def basis_of(failure: Failure, frames: Sequence[Any]) -> dict[str, Any]:
    """The parts of a signature without the place, which other rules about frames may change.

    Empty if the signature's place is not that of a frame.
    """
    signature = f"{failure.title} @ {failure.place}"
    if all(frame.place != failure.place for frame in parse_frames(frames)):
        return {}
    return Basis(failure.title, failure.signature.removeprefix(signature)).row()


@dataclass(slots=True)
class _Known:
    """A saved finding. ``due``: when a changed count is reported, unless it doubles first."""

    event: FindingDescribed
    count: int
    reported: int
    since: float = field(init=False)
    due: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = time.monotonic()
        self.postpone()

    def postpone(self) -> None:
        """Report next when its age has doubled: about twenty times in some weeks."""
        now = time.monotonic()
        self.due = now + max(_RECOUNT_S, now - self.since)


class Findings:
    """The saved findings, by signature.

    The description is written first, then the file. If the process dies in between, the input is
    in the journal and runs again after the restart. It is then saved under the described name.
    """

    def __init__(
        self,
        store: Store,
        log: EventLog,
        journal: TrialJournal | None,
        reported: ReportedEvents,
        *,
        most: int = 0,
        rules: Rules = (),
        of_property: Callable[[], str] = str,
    ) -> None:
        """``of_property`` returns the name of the property that runs now: each property has
        findings of its own. Without a suite it returns an empty string.

        ``journal``: receives the counts of crashes and hangs; None: not published.

        ``reported``: earlier findings. ``most``: limit of :class:`FindingLimit`; 0: no limit.
        ``rules``: about frames that do not count for signatures.
        """
        self._store, self._log = store, log
        self._limit = FindingLimit(most)
        self._of_property = of_property
        self._unsaved: set[int] = set()
        """Hashes of signatures above the limit, at most :data:`_MAX_UNSAVED`."""
        self._counters = defaultdict[int, int](int) if journal is None else journal.counters
        self._saved: list[_Known] = []
        self._known: dict[str, _Known] = {}
        """The first of :attr:`_saved` with each signature."""
        self._announced: dict[str, str] = {}
        for event in sorted(reported.findings.values(), key=_trial):
            signature = _key(event.property, _signature(event, rules))
            if not (store.directory / event.file).exists():
                self._announced[signature] = event.file
            else:
                self._saved.append(_Known(event, event.count, event.count))
                self._limit.note(signature, event.place, _trial(event))
        self.regroup(rules)
        self._counters[j.CRASHES] = len(entry_ids(store.directory / CRASHES))
        self._counters[j.HANGS] = len(entry_ids(store.directory / HANGS))

    def __contains__(self, failure: Failure) -> bool:
        """Whether the failure is not saved: its signature has a file, or is above the limit."""
        return self._name(failure) in self._known or not self._allowed(failure)

    def count_known(self, failure: Failure) -> bool:
        """As ``failure in findings``, and if so, count the failure."""
        known = self._known.get(self._name(failure))
        if known is not None:
            known.count += 1
            return True
        if self._allowed(failure):
            return False
        counters = self._counters
        if not counters[j.NOT_SAVED]:  # nor has an earlier worker warned
            self._log.message(
                "warning",
                f"{self._limit.most} distinct findings within {WINDOW_TRIALS:,} executions: further"
                " findings are counted, not saved; increase engine.max_findings to save more",
            )
        if len(self._unsaved) < _MAX_UNSAVED:
            self._unsaved.add(hash(self._name(failure)))
        # Not a sum, because earlier workers may have counted the same findings.
        counters[j.NOT_SAVED] = max(counters[j.NOT_SAVED], len(self._unsaved))
        return True

    def _name(self, failure: Failure) -> str:
        """The failure's key here; in the older form if an older version has reported it."""
        one = self._of_property()
        old = _key(one, failure.before)
        return old if old in self._known or old in self._announced else _key(one, failure.signature)

    def _allowed(self, failure: Failure) -> bool:
        # A finding that was described before its file was lost is not new.
        return self._name(failure) in self._announced or self._limit.allows(
            failure.signature, failure.place, self._counters[j.TRIAL]
        )

    def file_for(self, failure: Failure, tail: str, *, signal: int = 0) -> str:
        """The path for a finding with a new signature, relative to the instance directory."""
        if before := self._announced.get(self._name(failure)):
            return before
        folder = kind_of(failure.category).folder
        sig = f"sig:{signal:02d}," if folder == CRASHES else ""
        return f"{folder}/{entry_name(self._store.next_id(folder), sig + tail)}"

    def save(
        self,
        failure: Failure,
        data: bytes,
        tail: str,
        describe: Callable[[], Description],
        *,
        signal: int = 0,
    ) -> str:
        """Save a finding with a new signature. Returns its path in the instance directory.

        May raise ``Stopping`` while the disk is full.
        """
        file = self.file_for(failure, tail, signal=signal)
        folder = file.partition("/")[0]
        name = self._name(failure)
        of_property, _, signature = name.rpartition(_BETWEEN)
        self._announced.pop(name, None)
        description = describe()
        basis = basis_of(failure, description.frames)
        event = FindingDescribed(
            self._log.instance,
            failure.category,
            file,
            signature,
            description.title,
            failure.place,
            description.detail,
            description.input,
            frames=description.frames if basis else [],
            basis=basis,
            property=of_property,
        )
        event = severity_in_python(failure.category, failure.signature).put_in(event)
        self._log.write(event)
        self._store.put(folder, file.partition("/")[2], data)
        self._known[name] = known = _Known(event, 1, 1)
        self._saved.append(known)
        self._limit.note(signature, failure.place, self._counters[j.TRIAL])
        self._counters[j.CRASHES if folder == CRASHES else j.HANGS] += 1
        self._counters[j.LAST_CRASH if folder == CRASHES else j.LAST_HANG] = int(time.time())
        if folder == CRASHES:
            self._counters[j.LAST_CRASH_TRIAL] = self._counters[j.TRIAL]
        return file

    def regroup(self, rules: Rules) -> None:
        """Use other rules about frames that do not count, also for findings already saved."""
        self._known = {}
        for row in self._saved:
            self._known.setdefault(_key(row.event.property, _signature(row.event, rules)), row)

    def __len__(self) -> int:
        """Number of signatures with a file."""
        return len(self._known)

    def recount(self, *, final: bool = False) -> None:
        """Report counts that have doubled or are due. ``final``: all changed counts."""
        now = time.monotonic()
        unsaved, reported = self._counters[j.NOT_SAVED], self._counters[j.NOT_SAVED_TOLD]
        if unsaved >= 10 * max(1, reported) or (final and unsaved > reported):
            self._counters[j.NOT_SAVED_TOLD] = unsaved
            more = f"at least {unsaved:,} more distinct findings were"
            self._log.message(
                "warning",
                f"{more if unsaved > 1 else 'at least 1 more distinct finding was'} not saved"
                f" (engine.max_findings = {self._limit.most})",
            )
        for known in self._known.values():
            if known.count == known.reported:
                continue
            if final or known.count >= 2 * known.reported or now >= known.due:
                known.event = replace(known.event, count=known.count)
                self._log.write(known.event)
                known.reported = known.count
                known.postpone()


WINDOW_TRIALS: Final = 1_000_000
"""Executions within which at most ``most`` findings are saved. Not a time, so that a campaign
with the same seed saves the same files on a slower machine."""

_TOTAL: Final = 50
"""The limit for the whole life of an instance, in multiples of ``most``: 5,000 findings by default,
as in AFL."""

_CROWDED: Final = 4
"""A class or location is frequent if at least ``most`` / this many saved findings have it."""


class FindingLimit:
    """Decides which new findings are saved.

    A flood of findings has one exception class at many locations, or many classes at one location.
    A finding whose class and location are both rare may be another bug. For rare findings the
    limit is twice as high, so that a flood leaves space for them.
    """

    def __init__(self, most: int) -> None:
        """``most``: findings saved within :data:`WINDOW_TRIALS` executions; 0: no limit."""
        self.most = most
        self._recent: deque[int] = deque()
        self._total = 0
        self._classes, self._places = Counter[str](), Counter[str]()

    def note(self, signature: str, place: str, trial: int) -> None:
        """Record a saved finding. ``trial``: its execution, not before the last recorded one."""
        self._recent.append(trial)
        self._total += 1
        self._classes[_class_of(signature)] += 1
        self._places[place] += 1

    def allows(self, signature: str, place: str, trial: int) -> bool:
        """Whether a new finding of execution ``trial`` may be saved."""
        if not self.most:
            return True
        while self._recent and self._recent[0] <= trial - WINDOW_TRIALS:
            self._recent.popleft()
        alike = max(self._classes[_class_of(signature)], self._places[place])
        limit = self.most if alike >= max(1, self.most // _CROWDED) else 2 * self.most
        return len(self._recent) < limit and self._total < _TOTAL * limit


def _class_of(signature: str) -> str:
    """The part before the location: the exception's class, or how the process died."""
    return signature.partition(" @ ")[0]
