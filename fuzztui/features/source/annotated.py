"""What a campaign knows about each line of a source file: coverage, mutants, findings. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from fuzztui.kernel.model.state import Finding, Mutant, State
from fuzztui.kernel.wire.frames import MAX_TEXT, parse_frames

COVERED: Final = "covered"
MISSED: Final = "missed"


@dataclass(frozen=True, slots=True)
class AnnotatedLine:
    """One line of a file."""

    number: int
    text: str
    coverage: str = ""
    """:data:`COVERED`, :data:`MISSED`; an empty string: no statement begins here, or unknown."""
    mutants: tuple[Mutant, ...] = ()
    findings: tuple[Finding, ...] = ()
    """The first finding of each group whose innermost frame in the annotated files is here."""
    on_stack: bool = False
    """Whether the line is on the stack of the first finding of any group."""

    @property
    def reached_only(self) -> bool:
        """Whether findings have reached the line, but no input of the corpus has covered it."""
        return self.on_stack and self.coverage == MISSED

    @property
    def killed(self) -> int:
        """The number of killed mutants."""
        return sum(m.state == "killed" for m in self.mutants)

    @property
    def survivors(self) -> int:
        """The number of mutants that no input has killed, though one could."""
        return sum(m.survives for m in self.mutants)


@dataclass(frozen=True, slots=True)
class AnnotatedFile:
    """One file."""

    name: str
    lines: tuple[AnnotatedLine, ...]

    @property
    def covered(self) -> int:
        """The number of statements that an input has executed."""
        return sum(line.coverage == COVERED for line in self.lines)

    @property
    def statements(self) -> int:
        """The number of statements; 0: unknown."""
        return sum(bool(line.coverage) for line in self.lines)

    @property
    def mutants(self) -> tuple[Mutant, ...]:
        """The mutants of all lines."""
        return tuple(m for line in self.lines for m in line.mutants)

    @property
    def findings(self) -> int:
        """The number of groups of findings whose innermost frame is in this file."""
        return sum(len(line.findings) for line in self.lines)


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file, and its coverage if that was measured."""

    name: str
    """Path for users, relative to a root."""
    text: str
    statements: Collection[int] | None = None
    executed: Collection[int] = ()


def annotated_files(state: State, files: Mapping[str, SourceText]) -> list[AnnotatedFile]:
    """Return the files, by their absolute paths, with what the campaign knows of their lines."""
    mutants: dict[str, dict[int, list[Mutant]]] = {}
    for m in state.mutants.values():
        mutants.setdefault(m.path, {}).setdefault(m.line, []).append(m)
    findings, stacks = _findings(state.findings.values(), files)
    return [
        _annotated(source, mutants.get(path, {}), findings.get(path, {}), stacks.get(path, ()))
        for path, source in files.items()
    ]


def _annotated(
    source: SourceText,
    mutants: Mapping[int, list[Mutant]],
    findings: Mapping[int, list[Finding]],
    stacks: Collection[int],
) -> AnnotatedFile:
    known, executed = source.statements or (), source.executed
    lines = (
        AnnotatedLine(
            n,
            text,
            (COVERED if n in executed else MISSED) if n in known else "",
            tuple(mutants.get(n, ())),
            tuple(findings.get(n, ())),
            n in stacks,
        )
        # As in Python and C: other characters that str.splitlines() knows end no line.
        for n, text in enumerate(source.text.removesuffix("\n").split("\n"), 1)
    )
    return AnnotatedFile(source.name, tuple(lines))


def _findings(
    findings: Iterable[Finding], files: Collection[str]
) -> tuple[dict[str, dict[int, list[Finding]]], dict[str, set[int]]]:
    """The first finding of each group, at the innermost frame in one of the files.

    And the lines of the files on the stacks of these findings.
    """
    paths = {path[-MAX_TEXT:]: path for path in files}  # as events contain them
    found: dict[str, dict[int, list[Finding]]] = {}
    stacks: dict[str, set[int]] = {}
    for finding in findings:
        if not finding.first:
            continue
        frames = [f for f in parse_frames(finding.frames) if f.located and f.file in paths]
        for frame in frames:
            stacks.setdefault(paths[frame.file], set()).add(frame.line)
        for frame in frames[:1]:
            lines = found.setdefault(paths[frame.file], {})
            lines.setdefault(frame.line, []).append(finding)
    return found, stacks
