"""Write the run's ``targets.json``: before the first start, and again when the target has changed.

The hashes of all sources that were read are kept in the supervisor's directory, by module.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fuzztui.features.targeting.analysis import (
    Request,
    TargetingAnalysis,
    TargetsError,
    find_targets,
)
from fuzztui.features.targeting.analysis.application import gather
from fuzztui.features.targeting.analysis.document import DocumentError
from fuzztui.features.targeting.analysis.modules import ModuleSource
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.wire.events import Message
from fuzztui.kernel.wire.targeting import have_changed
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError

MAX_ANALYSES: Final = 2
"""Maximum number of analyses at one start, while the user keeps editing sources."""

_NONE: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Errors of parsing a text that is not a Python program."""

Progress = Callable[[str], None]
Hashes = dict[str, str]


def hashes_file(home: RunDir) -> Path:
    """Return the file of the hashes of all sources that the run's analysis has read."""
    return home.supervisor / "analysed.json"


def analyse(
    campaign: Campaign, home: RunDir, progress: Progress
) -> tuple[TargetingAnalysis, list[Message]]:
    """Find the goals and write them; return them, and messages for the log.

    If the analysis fails, a document without goals is written, whose reason the engine reports.
    Raises :class:`SupervisorError` if the document cannot be written.
    """
    analysis = _Analysis(campaign, home, progress)
    try:
        analysis.read = analysis.sources()
        found = analysis.find()
    except TargetsError as e:
        found = TargetingAnalysis((), "", notes=(f"the analysis failed: {e}",))
        analysis.keep(found, {})
    return found, analysis.messages


def analyse_again(campaign: Campaign, home: RunDir, progress: Progress) -> list[Message]:
    """Analyse again if a source has changed or the last analysis failed; return log messages.

    Starts the target's interpreter, and reads the sources. If the analysis fails, the document
    stays. Constants always stay, because the meaning of queue entries depends on them.
    """
    try:
        before = TargetingAnalysis.loads(home.targets.read_bytes())
    except (OSError, DocumentError):
        return []  # the engine reports the error
    analysis = _Analysis(campaign, home, progress)
    failed = "the last analysis of types failed"
    words = "the target may have changed" if before.modules else failed
    try:
        analysis.read = analysis.sources()
        changed = analysis.changed_since(before) if before.modules else []
        if changed:
            words = have_changed(changed)
        elif before.modules:
            return []
        analysis.check_syntax()
        whose = "their types" if len(changed) > 1 else "its types" if changed else "types"
        analysis.tell("info", f"{words}: {whose} are analysed again")
        found = analysis.find(constants=before)
    except (TargetsError, SupervisorError) as e:
        left = "; goals in unchanged modules stay" if before.modules else ""
        analysis.tell("warning", f"{words}, but the analysis fails: {e}{left}")
        return analysis.messages
    if not any(t.types for t in found.targets):
        why = "; ".join(found.notes[:3]) or "no type decides any goal"
        analysis.tell("warning", f"no mutation is targeted now, all are random: {why}")
    return analysis.messages


class _Analysis:
    """The analysis at one start of a campaign, with its messages."""

    def __init__(self, campaign: Campaign, home: RunDir, progress: Progress) -> None:
        self._campaign, self._home, self._progress = campaign, home, progress
        self._kept = hashes_file(home)
        self.messages: list[Message] = []
        self.read: dict[str, ModuleSource] = {}
        """Sources by module name, as they were before the analysis."""
        self._changed: list[str] = []

    def tell(self, level: str, words: str) -> None:
        """Add a message for the log, and show it to the waiting user."""
        self._progress(words)
        self.messages.append(Message(level, words))

    @property
    def _request(self) -> Request:
        return Request.of_target(self._campaign.target, engine=self._campaign.engine)

    def sources(self) -> dict[str, ModuleSource]:
        """Return the sources that an analysis reads. Raises :class:`TargetsError`."""
        try:
            found = gather(self._request, lambda words: None)
        except subprocess.SubprocessError as e:
            raise TargetsError(str(e)) from None
        return {**found.around, **found.sources}

    def changed_since(self, before: TargetingAnalysis) -> list[str]:
        """Return the files that have changed since the run's document was made."""
        kept = read_json(self._kept)
        known = {m.name: m.sha for m in before.modules}
        now = _hashes(self.read)
        if kept is None:  # a run of an older fuzztui, which kept no hashes of harness and generator
            now = {name: sha for name, sha in now.items() if name in known}
        else:
            known = {str(name): str(sha) for name, sha in kept.items()}
        self._changed = _differing(known, now)
        return self._files(self._changed)

    def check_syntax(self) -> None:
        """Raise :class:`TargetsError` if a changed source cannot be parsed."""
        for source in (self.read[name] for name in self._changed if name in self.read):
            try:
                source.parse()
            except _NONE as e:
                line = f":{e.lineno}" if isinstance(e, SyntaxError) and e.lineno else ""
                words = e.msg if isinstance(e, SyntaxError) else str(e) or type(e).__name__
                raise TargetsError(f"{source.shown}{line}: {words}") from None

    def find(self, constants: TargetingAnalysis | None = None) -> TargetingAnalysis:
        """Analyse and write the document; repeat if sources change during the analysis.

        Raises :class:`TargetsError` without writing.
        """
        for left in reversed(range(MAX_ANALYSES)):
            found = find_targets(self._request, self._progress)
            # The document has no hashes of harness and generator: use those from before.
            read = _hashes(self.read) | {m.name: m.sha for m in found.modules}
            self.read = self.sources()
            changed = self._files(_differing(read, _hashes(self.read)))
            if not changed:
                break
            words = f"{have_changed(changed)} during the analysis of types"
            if left:
                self.tell("info", f"{words}: analysing once more")
            else:
                self.tell("warning", f"{words}, again; restart the campaign when editing is done")
        if constants is not None:
            found = replace(found, constants=constants.constants)
        self.keep(found, read)
        return found

    def keep(self, found: TargetingAnalysis, read: Hashes) -> None:
        """Write the document and the hashes. Raises :class:`SupervisorError`.

        If the process is killed between the two files, the next start analyses again.
        """
        try:
            replace_text(self._home.targets, found.dumps())
            replace_text(self._kept, json.dumps(read))
        except OSError as e:
            raise SupervisorError(
                f"{e.filename or self._home.targets}: {e.strerror or e}"
            ) from None

    def _files(self, names: Sequence[str]) -> list[str]:
        """Return files as in locations; of a module without a file, its name."""
        return [self.read[n].shown if n in self.read else n for n in names]


def _hashes(sources: Mapping[str, ModuleSource]) -> Hashes:
    return {name: source.sha for name, source in sources.items()}


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
