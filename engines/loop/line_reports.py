"""Reports the application's source files, and which entries cover which lines of them first.

Listing the lines of a module takes longer than compiling it, so the loop has modules listed between
trials, one at a time, before the first line of an entry is reported.
"""

from __future__ import annotations

from collections import deque
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

_LISTING: Final = 0.6
"""Work of listing a module's lines, for each byte of source (measured: 0.4 to 0.6 us)."""


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
        self._unlisted: deque[InstrumentedModule] = deque()
        self._on_import = 0
        """The cells that ran on import of the modules that are not listed yet."""
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
        """Have the modules listed that were loaded since the last call."""
        loaded = self._application.loaded
        if len(loaded) == self._modules:
            return
        # Only at first the map has what ran on import; later it has the cells of any trial.
        if not self._modules:
            self._on_import = self._application.coverage.collect()
        new = loaded[self._modules :] if len(loaded) > self._modules else loaded
        self._modules = len(loaded)
        self._unlisted += new
        known, reported = self._application.table.modules, self._reported.source_files
        self.must_rerun = self.must_rerun or any(
            known[m.name].sha != reported.get(m.file) for m in new if m.name in known
        )

    @property
    def price(self) -> float:
        """The work of listing the next module; 0: all are listed."""
        return _LISTING * (1 + len(self._unlisted[0].source)) if self._unlisted else 0.0

    def list_one(self) -> None:
        """Report the next module; after the last one, what ran on import."""
        module = self._unlisted.popleft()
        if module.file not in self._statements and len(self._statements) < MAX_FILES:
            self._add(module)
        if not self._unlisted:
            observed, self._on_import = self._on_import, 0
            self.report(ON_IMPORT, observed)

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
