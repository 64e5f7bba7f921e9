"""The run's ``targets.json``: found before its first start, and again when the program has changed.

What was read for it is kept beside the supervisor's files, by module: the hash of its source.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fuzztui.base.files import read_json, replace_text
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.targeting.analysis import Request, TargetingAnalysis, TargetsError, find_targets
from fuzztui.targeting.analysis.application import gather
from fuzztui.targeting.analysis.document import DocumentError
from fuzztui.targeting.analysis.modules import ModuleSource
from fuzztui.wire.analysed import have_changed
from fuzztui.wire.events import Message

__all__ = ["analyse", "analyse_again"]

MAX_ANALYSES: Final = 2
"""At one start: who continues editing need not be waited for."""

_NONE: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What comes of parsing what is no program, or not yet."""

Progress = Callable[[str], None]
Hashes = dict[str, str]


def analyse(
    campaign: Campaign, home: RunDir, progress: Progress
) -> tuple[TargetingAnalysis, list[Message]]:
    """Find the goals; returns what is written, and what the log is to be told.

    A failure is a document, too: nothing is aimed at then, and the engine tells why. Raises
    :class:`SupervisorError` if it cannot be written.
    """
    analysis = _Analysis(campaign, home, progress)
    try:
        analysis.read = analysis.sources()
        found = analysis.find()
    except TargetsError as e:
        found = TargetingAnalysis((), "", notes=(f"the analysis failed: {e}",))
        analysis.keep(found, {})
    return found, analysis.told


def analyse_again(campaign: Campaign, home: RunDir, progress: Progress) -> list[Message]:
    """The same where a source has changed since, or where it failed; else nothing is touched.

    Costs a start of the target's interpreter, and reading the sources. Where it fails, what there
    is stays. Constants stay what they were in any case: what queue entries mean depends on all of
    them. Returns what the log is to be told.
    """
    try:
        before = TargetingAnalysis.loads(home.targets.read_bytes())
    except (OSError, DocumentError):
        return []  # the engine says what is wrong with it
    analysis = _Analysis(campaign, home, progress)
    failed = "the types could not be analysed the last time"
    words = "the program may have changed" if before.modules else failed
    try:
        analysis.read = analysis.sources()
        changed = analysis.changed_since(before) if before.modules else []
        if changed:
            words = have_changed(changed)
        elif before.modules:
            return []
        analysis.check_syntax()
        whose = "their types" if len(changed) > 1 else "its types" if changed else "they"
        analysis.tell("info", f"{words}: {whose} are analysed again")
        found = analysis.find(constants=before)
    except (TargetsError, SupervisorError) as e:
        left = "; targets in what has not changed count as before" if before.modules else ""
        analysis.tell("warning", f"{words}, and cannot be analysed now: {e}{left}")
        return analysis.told
    if not any(t.types for t in found.targets):
        why = "; ".join(found.notes[:3]) or "no branch is left that a type decides"
        analysis.tell("warning", f"no mutation aims at a type now, all are random: {why}")
    return analysis.told


class _Analysis:
    """One start's: what it reads, what it tells."""

    def __init__(self, campaign: Campaign, home: RunDir, progress: Progress) -> None:
        self._campaign, self._home, self._progress = campaign, home, progress
        self._kept = home.supervisor / "analysed.json"
        self.told: list[Message] = []
        self.read: dict[str, ModuleSource] = {}
        """By name, as the sources were when it began."""
        self._changed: list[str] = []

    def tell(self, level: str, words: str) -> None:
        """Whoever waits for the start, and the log."""
        self._progress(words)
        self.told.append(Message(level, words))

    @property
    def _request(self) -> Request:
        return Request.of_target(self._campaign.target, engine=self._campaign.engine)

    def sources(self) -> dict[str, ModuleSource]:
        """What an analysis would read now. Raises :class:`TargetsError`."""
        try:
            found = gather(self._request, lambda words: None)
        except subprocess.SubprocessError as e:
            raise TargetsError(str(e)) from None
        return {**found.around, **found.sources}

    def changed_since(self, before: TargetingAnalysis) -> list[str]:
        """What is not what it was when the run's document was made, as people call it."""
        kept = read_json(self._kept)
        known = {m.name: m.sha for m in before.modules}
        now = _hashes(self.read)
        if kept is None:  # a run of an older fuzztui: of harness and generator nothing is known
            now = {name: sha for name, sha in now.items() if name in known}
        else:
            known = {str(name): str(sha) for name, sha in kept.items()}
        self._changed = _differing(known, now)
        return self._files(self._changed)

    def check_syntax(self) -> None:
        """Raises :class:`TargetsError` if what has changed is no program at the moment."""
        for source in (self.read[name] for name in self._changed if name in self.read):
            try:
                source.parse()
            except _NONE as e:
                line = f":{e.lineno}" if isinstance(e, SyntaxError) and e.lineno else ""
                words = e.msg if isinstance(e, SyntaxError) else str(e) or type(e).__name__
                raise TargetsError(f"{source.shown}{line}: {words}") from None

    def find(self, constants: TargetingAnalysis | None = None) -> TargetingAnalysis:
        """Find and write the document; again if somebody changes sources meanwhile.

        Raises :class:`TargetsError`; nothing is written then.
        """
        for left in reversed(range(MAX_ANALYSES)):
            found = find_targets(self._request, self._progress)
            # Of harness and generator nobody says what was read: what was there before counts.
            read = _hashes(self.read) | {m.name: m.sha for m in found.modules}
            self.read = self.sources()
            changed = self._files(_differing(read, _hashes(self.read)))
            if not changed:
                break
            words = f"{have_changed(changed)} while types were analysed"
            if left:
                self.tell("info", f"{words}: that is done once more")
            else:
                self.tell("warning", f"{words}, again: stop and start the campaign when it is done")
        if constants is not None:
            found = replace(found, constants=constants.constants)
        self.keep(found, read)
        return found

    def keep(self, found: TargetingAnalysis, read: Hashes) -> None:
        """Write it. Killed between the two files, it is analysed again. Raises SupervisorError."""
        try:
            replace_text(self._home.targets, found.dumps())
            replace_text(self._kept, json.dumps(read))
        except OSError as e:
            raise SupervisorError(
                f"{e.filename or self._home.targets}: {e.strerror or e}"
            ) from None

    def _files(self, names: Sequence[str]) -> list[str]:
        """As locations have them; of what is gone its module's name tells."""
        return [self.read[n].shown if n in self.read else n for n in names]


def _hashes(sources: Mapping[str, ModuleSource]) -> Hashes:
    return {name: source.sha for name, source in sources.items()}


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
