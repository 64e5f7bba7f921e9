"""Reports the application's source files, and which entries cover which lines of them first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.instrument.edges import ModuleEdges
from fuzztui.engines.instrument.importer import Application, InstrumentedModule
from fuzztui.engines.instrument.lines import LineRecorder
from fuzztui.engines.instrument.statements import SourceOutline, lines_of
from fuzztui.kernel.base import ranges
from fuzztui.kernel.wire.codec import MAX_EVENT, encode_event
from fuzztui.kernel.wire.events import LinesCovered, SourceFile

MAX_FILES: Final = 5_000
"""Files that are reported."""

MAX_TEXT: Final = 400_000
"""Characters of one event about lines."""

ON_IMPORT: Final = -1


class LineReports:
    """Writes :class:`SourceFile` and :class:`LinesCovered` events."""

    def __init__(
        self,
        application: Application,
        recorder: LineRecorder,
        log: EventLog,
        reported: ReportedEvents,
    ) -> None:
        self._application, self.recorder, self._log = application, recorder, log
        self._reported = reported
        self._modules = 0
        self._starts: dict[str, Mapping[int, int]] = {}
        self._statements: dict[str, set[int]] = {}
        """By file: the statements that no event has yet."""
        self._runs: dict[str, Mapping[int, Sequence[int]]] = {}
        """By file: the lines that run one after the other, by the first of them."""
        self._branches: dict[str, tuple[ModuleEdges, set[int]]] = {}
        """By file: its cells, and the branches that no event has yet."""
        self.must_rerun = False
        """Whether queue entries must run again for their lines: a file was reported for the first
        time, or has changed."""

    def on_modules(self) -> None:
        """Report modules that were loaded since the last call, and what ran on import."""
        loaded = self._application.loaded
        if len(loaded) == self._modules:
            return
        for module in loaded[self._modules :] if len(loaded) > self._modules else loaded:
            if module.file not in self._statements and len(self._statements) < MAX_FILES:
                self._add(module)
        # Only at first the map has what ran on import; later it has the cells of any trial.
        first, self._modules = self._modules == 0, len(loaded)
        self.report(ON_IMPORT, self._application.coverage.collect() if first else 0)

    def report(self, entry: int, observed: int) -> None:
        """Report what an entry has covered first: recorded lines, and cells in ``observed``."""
        lines: dict[str, set[int]] = {}
        for file, raw in self.recorder.take().items():
            starts = self._starts.get(file, {})
            self._cover(file, (starts.get(n, n) for n in raw), lines)
        cells = observed.to_bytes(self._application.coverage.size, "little")
        branches = {}
        for file, (edges, left) in self._branches.items():
            new = {n for n in left if cells[edges.base + n]}
            if new:
                left.difference_update(new)
                branches[file] = ranges.encode(new)
            for number in new:
                self._cover(file, self._unrecorded(file, edges.edges[number].line), lines)
        texts = {file: ranges.encode(new) for file, new in lines.items()}
        none: dict[str, str] = {}
        for some, others in zip_longest(_parts(texts), _parts(branches), fillvalue=none):
            self._log.write(LinesCovered(self._log.instance, entry, some, others))

    def _cover(self, file: str, lines: Iterable[int], new: dict[str, set[int]]) -> None:
        """Move statements from those that no event has to ``new``."""
        left = self._statements.get(file, set())
        if found := left.intersection(lines):
            left -= found
            new.setdefault(file, set()).update(found)

    def _unrecorded(self, file: str, line: int) -> Sequence[int]:
        """The lines of a block that a trial has executed and the recorded run has not.

        A function with a cache, or one that runs once in a process, does not run again.
        """
        line = self._starts.get(file, {}).get(line, line)
        return self._runs[file].get(line, ()) if line in self._statements[file] else ()

    def _add(self, module: InstrumentedModule) -> None:
        """Report a file, unless an earlier worker has, and note what is not covered yet."""
        edges = self._application.table.modules.get(module.name)
        file = module.file
        self._statements[file] = set()
        if edges is None:
            return
        try:
            statements, starts, outline = self._lines_of(module)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return  # it has no statements that could be shown
        self._starts[file], self._runs[file] = starts, outline.runs
        lines, taken = set(statements), set(range(len(edges.edges)))
        if self._reported.source_files.get(file) == edges.sha:
            lines -= self._reported.lines.get(file, set())
            taken -= self._reported.branches.get(file, set())
        else:
            event = SourceFile(
                self._log.instance,
                file,
                module.name,
                edges.sha,
                ranges.encode(statements),
                [f"{first}-{last} {name}" for first, last, name in outline.functions],
                [n for pair in outline.blocks for n in pair],
                [starts.get(e.line, e.line) for e in edges.edges],
            )
            if len(encode_event(event)) >= MAX_EVENT:
                return
            self.must_rerun = True
            self._log.write(event)
        self._statements[file] = lines
        self._branches[file] = edges, taken

    def _lines_of(
        self, module: InstrumentedModule
    ) -> tuple[list[int], dict[int, int], SourceOutline]:
        def make() -> tuple[Any, ...]:
            statements, starts, outline = lines_of(module.source)
            return statements, starts, outline.functions, outline.blocks, outline.runs

        cache = self._application.cache
        statements, starts, *outline = cache.get("lines", (), module.source, make)
        return statements, starts, SourceOutline(*outline)


def _parts(texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The texts by file, in parts that fit into one event each."""
    part: dict[str, str] = {}
    size = 0
    for file, text in texts.items():
        if part and size + len(file) + len(text) > MAX_TEXT:
            yield part
            part, size = {}, 0
        part[file] = text
        size += len(file) + len(text)
    if part:
        yield part
