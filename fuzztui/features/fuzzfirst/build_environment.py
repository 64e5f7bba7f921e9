"""The environment of the user's build command: a build tree, and compilers that record their calls.

Commands such as make and ninja find one file changed and build incrementally. Dependents that they
would miss (of a header that the Makefile does not list) are touched, so that they look changed.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.features.fuzzfirst.wrappers import Tools
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json, read_regular
from fuzztui.run.process.execute import ProcessMark, ProcessResult, execute

MAX_CALLS = 20_000
_MAX_RECORD = 4 << 20

_SOURCES = frozenset(
    {".c", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".i", ".ii", ".s", ".S", ".sx"}
)
_WITH_VALUE = frozenset(
    {"-o", "-x", "-I", "-L", "-l", "-D", "-U", "-B", "-T", "-u", "-z", "-e", "-h", "-include"}
    | {"-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-iwithprefix", "-isysroot"}
    | {"-iwithprefixbefore", "-Xlinker", "-Xclang", "-Xassembler", "-Xpreprocessor", "-mllvm"}
    | {"-MF", "-MT", "-MQ", "-target", "-arch", "--param", "-aux-info", "-rpath", "-framework"}
)
_WRITING = frozenset({"-o", "-E", "-aux-info"})
_WRITING_ALSO = ("-M", "-Wp,-M", "--coverage", "-ftest-coverage", "-save-temps", "-fdump")
"""Options that name or choose an output, and how others begin."""


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call of a compiler."""

    cwd: str
    args: tuple[str, ...]
    compiler: str = ""
    """The name by which the build called the compiler, such as ``afl-cc``."""

    def checking(self, source: str) -> list[str]:
        """Return the arguments that check one of the :meth:`sources`, and write no file."""
        out = ["-fsyntax-only"]
        words = iter(self.args)
        for word in words:
            more = [next(words, "")] if word in _WITH_VALUE else []
            if word.startswith("-"):
                if word not in _WRITING and not word.startswith(_WRITING_ALSO):
                    out += [word, *more]
            elif self._path(word) == source:
                out.append(word)
        return out

    def is_repeatable(self) -> bool:
        """Whether the call can be checked in a copy: its directory is there, and no response file
        may hold paths of the original's.
        """
        return Path(self.cwd).is_dir() and not any(word.startswith("@") for word in self.args)

    def _path(self, word: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, word))  # noqa: PTH118

    def sources(self) -> Iterator[str]:
        """Every source among the arguments, by absolute path."""
        words = iter(self.args)
        for word in words:
            if word in _WITH_VALUE:
                next(words, "")
            elif not word.startswith("-") and Path(word).suffix in _SOURCES:
                yield self._path(word)


def read_calls(directory: Path) -> list[Call]:
    """Return the recorded calls; none if the records are too large. Raises OSError."""
    with os.scandir(directory) as entries:
        found = [(entry.name, entry.stat(follow_symlinks=False).st_size) for entry in entries]
    if len(found) > MAX_CALLS or any(size > _MAX_RECORD for _, size in found):
        return []
    calls = (_call(read_regular(directory / name, _MAX_RECORD)) for name, _ in found)
    return [call for call in calls if call]


def sources_of(calls: Sequence[Call]) -> set[str]:
    """Every source that was given to a compiler, by absolute path."""
    return {name for call in calls for name in call.sources()}


def _call(record: bytes) -> Call | None:
    """Parse a record; None if it is incomplete."""
    words = [word.decode(errors="surrogateescape") for word in record.split(b"\0")]
    if len(words) < 4 or words[2] != str(len(words) - 4) or words[-1]:
        return None
    return Call(words[0], tuple(words[3:-1]), words[1])


_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".h++", ".H", ".inc", ".inl", ".tcc", ".ipp"})


class BuildEnvironment:
    """Runs ``command`` in ``tree`` with the compilers of ``tools``.

    ``program``: the file that the command makes. ``plain``: compile without AFL++'s passes.
    """

    def __init__(
        self,
        tree: BuildTree,
        program: Path,
        tools: Tools,
        command: str,
        mark: ProcessMark,
        *,
        plain: bool,
    ) -> None:
        self.tree = tree
        self.program = program
        self.calls: list[Call] = []
        """Compiler calls of the last build."""
        self._tools = tools
        self._command = command
        self._mark = mark
        self._plain = plain
        self._bin = tree.home / "bin"
        self.records = tree.home / "records"
        self._sources: set[str] = set()
        self._stale = True

    async def make(self) -> None:
        """Copy the source again, with nothing built. Raises :class:`SupervisorError`, OSError."""
        stopped = threading.Event()
        try:
            await in_thread(lambda: self.tree.make(lambda: not stopped.is_set()), stopped.set)
        finally:
            self._sources = set()
        self.dress()
        self._stale = False

    def dress(self) -> None:
        """Write the recording compilers. Raises OSError."""
        self._tools.wrap(self._bin, self.records, plain=self._plain)

    def resume(self) -> bool:
        """Take over the tree of an earlier start; False if it is unusable. Raises OSError."""
        left = read_json(self.tree.home / "sources.json")
        if left is None or not self.tree.usable():
            return False
        self._sources = set(left["sources"])
        self._stale = left["stale"]
        self.dress()
        return True

    async def build(self, limit: float) -> ProcessResult:
        """Remove the program and run the command with a limit in seconds. Raises OSError."""
        self.tree.begin()  # an interrupted build may leave incomplete object files
        self.program.unlink(missing_ok=True)
        shutil.rmtree(self.records)
        self.records.mkdir(mode=0o700)
        outcome = await execute(
            ["sh", "-eu", "-c", self._command],
            self._mark,
            cwd=self.tree.build,
            limit=limit,
            env=self._tools.environment(self._bin, self.tree.source),
            stdout=True,
        )
        await in_thread(self._read)
        if outcome.status is not None and outcome.status >= 0:
            self.tree.end()
        return outcome

    def seen(self, name: str) -> bool:
        """Whether a recorded compiler call read this file of the source."""
        return name in self._sources

    async def mutant(self, name: str, text: bytes, limit: float) -> ProcessResult:
        """Build with ``text`` in the file ``name``. Raises OSError, :class:`SupervisorError`."""
        direct = name in self._sources
        # A source that no recorded call reads is probably copied by the command before compiling.
        hidden = not direct and Path(name).suffix not in _HEADERS
        if hidden or not self._sources or not await in_thread(self.tree.usable):
            await self.make()
        fresh = not self._sources
        if self._stale or not direct:
            await in_thread(lambda: self.tree.touch(self._sources))
        self._stale = not direct
        with self.tree.holding(name, text):
            outcome = await self.build(limit)
            if outcome.status == 0 and not fresh and not self._compiled(name if direct else ""):
                # The command did not notice the change: build from scratch.
                await self.make()
                with self.tree.holding(name, text):
                    outcome = await self.build(limit)
        return outcome

    def _read(self) -> None:
        self.calls = read_calls(self.records)
        self._sources |= self._names(self.calls)
        sources = {"sources": sorted(self._sources), "stale": self._stale}
        replace_text(self.tree.home / "sources.json", json.dumps(sources))

    def _compiled(self, name: str) -> bool:
        names = self._names(self.calls)
        return name in names if name else bool(names)

    def _names(self, calls: list[Call]) -> set[str]:
        base = os.path.realpath(self.tree.source)
        real = (os.path.realpath(path) for path in sources_of(calls))
        return {os.path.relpath(path, base) for path in real if path.startswith(base + os.sep)}
