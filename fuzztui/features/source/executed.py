"""Which statements of which files inputs execute: the target runs again, with each line traced."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import read_regular, temporary_directory
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.inprocess.ask import ask


@dataclass(frozen=True, slots=True)
class FunctionCoverage:
    """A function, with those inside it."""

    name: str
    first: int
    last: int
    statements: int
    """Number of its lines that can run, of which ``executed`` did."""
    executed: int
    calls: int = -1
    """How often inputs have called the function; -1: unknown."""

    @property
    def entered(self) -> bool:
        """Whether an input has entered the function."""
        return self.calls > 0 or (self.calls < 0 and self.executed > 0)

    @property
    def called(self) -> str:
        """The number of calls as text; an empty string: unknown."""
        return "never" if not self.entered else f"{self.calls:,}" if self.calls > 0 else ""


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The lines of one file."""

    name: str
    """Path relative to the root of the coverage if it is below that; else absolute."""
    statements: frozenset[int]
    executed: frozenset[int]
    """The ``statements`` that ran."""
    functions: Sequence[FunctionCoverage] = ()
    conditions: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """By line of a condition that ran: its branches never taken (1 or more), and all of them."""
    hits: Mapping[int, int] = field(default_factory=dict)
    """How often each of ``executed`` ran; empty: unknown."""
    branches: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """How often a branch was taken, by line and the branch's number there; empty: unknown."""

    def hit(self, line: int) -> int:
        """How often a line ran; 1 if only that it ran is known."""
        return self.hits.get(line, int(line in self.executed))

    @property
    def missing(self) -> list[int]:
        """The statements that did not run."""
        return sorted(self.statements - self.executed)

    @property
    def percent(self) -> float:
        """The share that ran, in percent; 100 without statements."""
        return 100 * len(self.executed) / len(self.statements) if self.statements else 100.0


@dataclass(frozen=True, slots=True)
class Growth:
    """The number of covered ``lines`` after an entry was found."""

    t: float
    """Campaign time in seconds; -1: unknown."""
    entry: str
    lines: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of some inputs."""

    files: list[FileCoverage]
    root: Path
    growth: list[Growth] = field(default_factory=list)
    note: str = ""
    """How the lines of a C target were measured, and what was not, as text for users."""

    @property
    def total(self) -> FileCoverage:
        """All files as one: lines have numbers of their own."""
        statements = [(f.name, n) for f in self.files for n in f.statements]
        number = {line: n for n, line in enumerate(statements)}
        executed = frozenset(number[f.name, n] for f in self.files for n in f.executed)
        branches = [taken for f in self.files for taken in f.branches.values()]
        taken = {(0, n): count for n, count in enumerate(branches)}
        return FileCoverage("TOTAL", frozenset(number.values()), executed, branches=taken)


def coverage_of(
    executed: Mapping[str, set[int]],
    statements: Mapping[str, Sequence[int]],
    first: Mapping[str, Mapping[int, int]],
    root: Path,
) -> Coverage:
    """Return the coverage from the executed lines. A line counts for its statement (``first``)."""
    files = []
    for file, lines in sorted(statements.items()):
        starts = first.get(file, {})
        ran = {starts.get(n, n) for n in executed.get(file, ())}
        path = Path(file)
        name = str(path.relative_to(root)) if path.is_relative_to(root) else file
        files.append(FileCoverage(name, frozenset(lines), frozenset(lines) & ran))
    return Coverage(files, root)


LinesByFile = dict[str, set[int]]
_MAX_TABLE: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class CoveredInput:
    """An input whose lines are wanted."""

    file: Path
    """Absolute path."""
    entry: str
    t: float = -1.0
    """The campaign time when it was found, in seconds; -1: unknown."""

    @property
    def key(self) -> str:
        """The entry as screens name it: ``main/12``."""
        return f"{self.file.parent.parent.name}/{id_of(self.file.name)}"


def id_of(name: str) -> int:
    """Return the id in the name of an entry's file; -1 if it has none."""
    match = re.match(r"id:(\d+)", name)
    return int(match[1]) if match else -1


@dataclass(slots=True)
class ExecutedLines:
    """The lines that each input has executed, and the statements of the files."""

    inputs: Sequence[CoveredInput]
    by_input: list[LinesByFile]
    statements: dict[str, list[int]] = field(default_factory=dict)
    first: dict[str, dict[int, int]] = field(default_factory=dict)
    """By file: the first line of the statement that a line belongs to."""
    others: LinesByFile = field(default_factory=dict)
    """Lines that ran after the last input ended."""
    on_import: LinesByFile = field(default_factory=dict)
    """Lines that ran before the first input."""

    def coverage(self, root: Path, *, over_time: bool = False) -> Coverage:
        """Return the coverage of all inputs; names are relative to ``root``, if below."""
        growth: list[Growth] = []
        until: LinesByFile = {}
        before = -1
        for each, lines_of in zip(self.inputs, self.by_input, strict=True):
            _add(until, lines_of)
            if over_time:
                total = sum(len(f.executed) for f in self._coverage(until, root).files)
                if total != before:
                    growth.append(Growth(each.t, each.entry, total))
                    before = total
        _add(until, self.others)
        return replace(self._coverage(until, root), growth=growth)

    def first_inputs(self) -> dict[str, dict[int, CoveredInput | None]]:
        """Return the first of the inputs by file and executed statement; None: it ran on import."""
        found: dict[str, dict[int, CoveredInput | None]] = {}
        known = {file: frozenset(lines) for file, lines in self.statements.items()}
        pairs = [(None, self.on_import), *zip(self.inputs, self.by_input, strict=True)]
        for each, lines_of in pairs:
            for file, lines in lines_of.items():
                starts, statements = self.first.get(file, {}), known.get(file, frozenset())
                firsts = found.setdefault(file, {})
                for line in {starts.get(n, n) for n in lines} & statements:
                    firsts.setdefault(line, each)
        return found

    def _coverage(self, lines: LinesByFile, root: Path) -> Coverage:
        return coverage_of(lines, self.statements, self.first, root)


def instrumented_sources(run: RunDir) -> dict[str, set[str]]:
    """Return hashes of the sources that the engines have instrumented, by path."""
    found: dict[str, set[str]] = {}
    for table in run.out.glob("*/edges.json"):
        try:
            for module in loads(read_regular(table, _MAX_TABLE))["modules"]:
                found.setdefault(str(module["file"]), set()).add(str(module["sha"]))
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
    return found


def instrumented_files(run: RunDir, campaign: Campaign) -> list[str]:
    """Return the files that the engines have instrumented. Raises :class:`SupervisorError`."""
    found = sorted(f for f in instrumented_sources(run) if Path(f).is_file())
    if not found and campaign.hosts:
        raise SupervisorError(
            f"{run.path}: which files were instrumented is known on the hosts only: run this "
            "command there, for the host's run ('fuzztui status' shows its place)"
        )
    if not found:
        raise SupervisorError(
            f"{run.path}: no engine has instrumented a file yet; start the campaign"
        )
    return found


def executed_lines(
    campaign: Campaign,
    run: RunDir,
    files: Sequence[str],
    inputs: Sequence[CoveredInput],
    progress: Callable[[int, int], None],
) -> ExecutedLines:
    """Run the inputs of a Python target, and return the lines of ``files`` that they execute.

    ``progress`` gets the number of inputs that are done, and of all. Raises
    :class:`SupervisorError`.
    """
    request = {
        "inputs": [str(each.file) for each in inputs],
        "edges": "", "modules": [], "words": False, "answers": False, "lines": [*files],
    }  # fmt: skip
    new: LinesByFile = {}
    found = ExecutedLines(inputs, [{} for _ in inputs])
    directory = run.instance("main")
    with temporary_directory() as folder:
        file = Path(folder) / "request.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        try:
            with closing(ask(campaign, ["--batch", str(file)], directory)) as answers:
                for answer in answers:
                    # The lines of an input are reported before its verdict.
                    _add(new, dict(_lines(answer.get("lines"))))
                    if answer.get("import"):
                        _add(found.on_import, new)
                    if isinstance(verdict := answer.get("verdict"), list):
                        found.by_input[int(verdict[0])], new = new, {}
                        progress(int(verdict[0]) + 1, len(inputs))
            found.others = new
            _add_statements(found, campaign, directory, files)
        except (ValueError, TypeError, LookupError, AttributeError) as e:
            raise SupervisorError(
                f"the engine's answer is damaged: {type(e).__name__}: {e}"
            ) from None
    return found


def _add(to: LinesByFile, lines: LinesByFile) -> None:
    for name, numbers in lines.items():
        to.setdefault(name, set()).update(numbers)


def _lines(lines: Any) -> Iterator[tuple[str, set[int]]]:
    for file, numbers in lines.items() if isinstance(lines, dict) else ():
        yield str(file), set(map(int, numbers))


def _add_statements(
    found: ExecutedLines, campaign: Campaign, directory: Path, files: Sequence[str]
) -> None:
    with closing(ask(campaign, ["--statements", *files], directory)) as answers:
        answer = next((a for a in answers if "statements" in a), {})
    found.statements = {
        str(f): [int(n) for n in lines] for f, lines in answer["statements"].items()
    }
    found.first = {
        str(f): {int(line): int(start) for line, start in pairs}
        for f, pairs in answer["first"].items()
    }
