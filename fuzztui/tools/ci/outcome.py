"""The outcome of ``fuzztui ci``, from which all reports are made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import read_if_regular, real_path
from fuzztui.kernel.base.text import several

MAX_SOURCE_BYTES: Final = 16 << 20
_MAX_FRAMES: Final = 100
_MAX_DETAIL: Final = 1 << 18
_FRAME: Final = re.compile(r'^ *File "([^"\n]+)", line (\d{1,9}),? in (.+)$', re.MULTILINE)
_REVERSED: Final = "(most recent call first)"
_CLASS: Final = re.compile(r"[A-Za-z_][\w.]*")
_FOREIGN: Final = frozenset({"site-packages", "dist-packages", "node_modules", "venv", "env"})
"""Directories in a repository with code that is not part of it; also those with a leading dot."""


@dataclass(frozen=True, slots=True)
class CodeLocation:
    """A line of a file in the repository. ``file``: relative, with slashes."""

    file: str
    line: int
    column: int = 0
    """In characters, from 1; 0: only ``line`` is known, and ``end_...`` have no meaning."""
    end_line: int = 0
    end_column: int = 0
    """The column after the last character."""


@dataclass(frozen=True, slots=True)
class LocatedFrame:
    """One call of a traceback, the outermost first."""

    path: str
    line: int
    function: str
    location: CodeLocation | None
    """None: the code is not part of the repository."""


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One group of findings, by its first input."""

    signature: str
    category: str
    title: str
    detail: str
    verdict: str
    is_open: bool
    """Whether it is new or a regression, so that it fails the build."""
    input: str
    """The file in the kept corpus, for reproduction."""
    frames: tuple[LocatedFrame, ...]
    location: CodeLocation | None
    """The innermost call on a changed line, else in the repository."""
    severity: str = ""
    """A level of :mod:`fuzztui.kernel.wire.severity`; an empty string: not decided."""
    severity_text: str = ""

    @property
    def rule(self) -> str:
        """The kind of the bug without details that change: ``crash/ValueError``."""
        name = _CLASS.match(self.title)
        return f"{self.category}/{name[0] if name else 'failure'}"

    def fingerprint(self, source: Callable[[CodeLocation], str]) -> str:
        """A hash that stays when lines move: class, own functions, and text of the line.

        ``source``: returns the text of a line.
        """
        functions = [frame.function for frame in self.frames if frame.location]
        text = source(self.location) if self.location else self.signature
        return _hash(self.rule, *functions, text)


@dataclass(frozen=True, slots=True)
class ReportedSurvivor:
    """A mutant that no input kills, in the code that was mutated."""

    id: str
    location: CodeLocation | None
    function: str
    change: str
    """The code before and after the mutation, as text."""
    is_noted: bool
    """Whether it is worth an annotation: on a changed line, or new against a baseline."""
    is_new: bool
    """Whether it is not in the baseline; without a baseline all are new."""

    @property
    def fingerprint(self) -> str:
        """A hash that stays when lines move."""
        return _hash(self.id)


@dataclass(frozen=True, slots=True)
class ReportedKill:
    """A mutant on a changed line that a new input kills, and no input of the kept corpus."""

    location: CodeLocation | None
    function: str
    change: str
    input: str
    """The start of the input: a literal of bytes, or the value that a generator has made."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition that the build must meet. ``code``: the exit code if it fails; 0: it holds."""

    name: str
    text: str
    code: int = 0


@dataclass(slots=True)
class CiOutcome:
    """All that a run of ``fuzztui ci`` has found."""

    campaign: str
    root: Path
    """The repository, to which locations are relative."""
    since: str = ""
    """The commit since which changed code was mutated, or the diff; empty: all code was mutated."""
    verdicts: str = ""
    """The verdicts file; relative to the repository if it is inside."""
    shard: str = ""
    """The part of the mutants that was judged, such as ``2/4``; empty: all."""
    changed: int = 0
    """The number of changed functions."""
    replayed: int = 0
    executions: int = 0
    """Executions of the fuzzing, without the replay."""
    mutants: int = 0
    killed: int = 0
    invalid: int = 0
    exact: bool = True
    """Whether every mutant ran on every input that might kill it."""
    kept: int = 0
    """Inputs in the kept corpus."""
    added: int = 0
    """Inputs that this run has added to the kept corpus; they are among ``kept``."""
    seeds: int = 0
    """The campaign's own seeds, which are replayed with the kept corpus but are not part of it."""
    findings: list[ReportedFinding] = field(default_factory=list)
    survivors: list[ReportedSurvivor] = field(default_factory=list)
    kills: list[ReportedKill] = field(default_factory=list)
    """Mutants on changed lines that only new inputs kill."""
    gates: list[Gate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds by part: replay, recording, fuzzing, score, merge."""
    absolute: bool = False
    """Whether reports name the repository's directory."""

    @property
    def code(self) -> int:
        """The exit code: that of the first gate that fails."""
        return next((gate.code for gate in self.gates if gate.code), 0)

    @property
    def fingerprint(self) -> str:
        """A hash that another run of the same campaign and shard has, too."""
        return _hash(self.campaign, self.shard)

    @property
    def inputs(self) -> str:
        """The kept corpus in a few words, and the seeds that are not part of it."""
        added = f" (+{self.added:,})" if self.added else ""
        seeds = f" and {several(self.seeds, 'seed')} of the campaign" if self.seeds else ""
        return f"{several(self.kept, 'kept input')}{added}{seeds}"

    @property
    def open_findings(self) -> list[ReportedFinding]:
        """The findings that fail the build."""
        return [finding for finding in self.findings if finding.is_open]

    @property
    def new_survivors(self) -> list[ReportedSurvivor]:
        """The survivors that are not in the baseline, those worth an annotation first."""
        new = [s for s in self.survivors if s.is_new]
        return sorted(new, key=lambda s: not s.is_noted)

    @property
    def noted_survivors(self) -> list[ReportedSurvivor]:
        """The survivors that annotations are for."""
        return [s for s in self.new_survivors if s.is_noted and s.location]

    def source(self, location: CodeLocation) -> str:
        """Return the text of a line without blanks around it; empty if it cannot be read."""
        try:
            data = read_if_regular(self.root / location.file, MAX_SOURCE_BYTES) or b""
        except ValueError:  # the name cannot be that of a file
            return ""
        lines = data.decode("utf-8", "replace").split("\n")
        return lines[location.line - 1].strip() if location.line <= len(lines) else ""


def stack_frames(detail: str, root: Path) -> tuple[LocatedFrame, ...]:
    """Return the calls of the last traceback in a text, at most the 100 innermost."""
    last = detail[-_MAX_DETAIL:].rpartition("Traceback (most recent call last)")[2]
    found = [
        LocatedFrame(path, int(line), function.strip(), located(path, int(line), root))
        for path, line, function in _FRAME.findall(last)
    ]
    if _REVERSED in last:  # faulthandler writes the innermost call first
        found.reverse()
    return tuple(found[-_MAX_FRAMES:])


def located(path: str, line: int, root: Path) -> CodeLocation | None:
    """Return a place in a file of the repository; None for code that is in none of them.

    Generated code has names that look like files: ``<string>``, the template that it was made of.
    """
    try:
        inside = real_path(path).relative_to(root)
        is_file = (root / inside).is_file()
    except (ValueError, OSError):
        return None
    folders = inside.parts[:-1]
    if line < 1 or not is_file or any(part in _FOREIGN or part.startswith(".") for part in folders):
        return None
    return CodeLocation(inside.as_posix(), line)


def named(file: Path, root: Path) -> str:
    """Return the name of a file for readers: relative to the repository if it is inside."""
    file = file.resolve()
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)


def _hash(*words: str) -> str:
    text = "\0".join(words)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
