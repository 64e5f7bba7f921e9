"""Mutants in the format of mutation-testing-elements, which Stryker's viewers read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fuzztui import __version__
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.model.mutants import (
    EXCLUDED,
    NOT_RUN,
    REACHED,
    UNKNOWN_REACH,
    UNREACHED,
    WAITS,
    Knowledge,
    survivor_group,
)
from fuzztui.kernel.model.progress import phase, verdict
from fuzztui.kernel.model.state import Mutant

SCHEMA_VERSION: Final = "2.0"
MAX_COVERING: Final = 100
"""Entries that reach a mutant, but do not kill it, that are listed: all would be gigabytes."""
_THRESHOLDS: Final = {"high": 80, "low": 60}
"""Percentages below which viewers colour a score yellow and red: Stryker's own defaults."""

_NO_VERDICT: Final = {
    "failed": "CompileError", "refused": "Ignored", "dropped": "Ignored", "skipped": "Ignored",
    "equivalent": "Ignored",
}  # fmt: skip
"""The status of a fuzz-first mutant without a verdict, by its phase; others are still to come."""

_CUT: Final = "…"
"""Ends an expression that was cut after 120 characters when it was recorded."""


_SHORT: Final = re.compile(r"\bempty\(")
"""In an expression that is no Python: short for what ``fuzztui mutants RUN ID`` writes out."""


@dataclass(frozen=True, slots=True)
class MutatedSource:
    """The source of a file with mutants. ``name``: as shown, relative if that is possible."""

    name: str
    language: str
    source: str


@dataclass(slots=True)
class TestsOfMutants:
    """Which entries kill and reach which mutants; a *test* of the report is a queue entry."""

    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Folder and file name of the entries, by id: ``main/12``."""
    killers: dict[str, dict[str, str]] = field(default_factory=dict)
    """By id of the mutant: the entries that kill it, each with the kind of kill."""
    reached_by: dict[str, list[str]] = field(default_factory=dict)
    """By id of the mutant: the entries that reach it."""


def mutation_report(
    files: Mapping[str, MutatedSource],
    mutants: Iterable[Mutant],
    tests: TestsOfMutants,
    *,
    has_run: bool,
    known: Knowledge,
) -> dict[str, Any]:
    """Return the report as JSON data.

    ``files``: by :attr:`Mutant.path`; mutants of other files are left out. ``has_run``: whether
    the mutants are those of a run. ``known``: what the
    log shows about mutants that have not run.
    """
    shown: dict[str, dict[str, Any]] = {}
    lines: dict[str, list[str]] = {}
    for mutant in mutants:
        if (file := files.get(mutant.path)) is None:
            continue
        if file.name not in shown:
            shown[file.name] = {"language": file.language, "source": file.source, "mutants": []}
            lines[file.name] = file.source.split("\n")
        killers = tests.killers.get(mutant.id, {})
        status, reason = _status(mutant, killers, has_run=has_run, known=known)
        reached = tests.reached_by.get(mutant.id, ())
        item = {
            "id": visible(mutant.id),
            "mutatorName": visible(mutant.operator) or "unknown",
            "description": visible(f"{mutant.before.strip()} -> {mutant.after.strip()}"),
            "location": _location(mutant, lines[file.name]),
            "status": status,
            "static": mutant.static,
        }
        if not mutant.after.endswith(_CUT) and not _SHORT.search(mutant.after):
            item["replacement"] = visible(mutant.after.strip())
        if reason:
            item["statusReason"] = visible(reason, lines=True)
        if killers:
            item["killedBy"] = sorted(killers)
        if killers or reached:
            item["coveredBy"] = sorted({*killers, *sorted(reached)[:MAX_COVERING]})
        shown[file.name]["mutants"].append(item)
    report = {
        "schemaVersion": SCHEMA_VERSION,
        "thresholds": _THRESHOLDS,
        "files": shown,
        "framework": {"name": "fuzztui", "version": __version__},
    }
    if tests.names:
        report["testFiles"] = _test_files(tests)
    return report


def _status(
    mutant: Mutant, killers: Mapping[str, str], *, has_run: bool, known: Knowledge
) -> tuple[str, str]:
    """The status, and the reason for it (an empty string: none)."""
    decided = verdict(mutant) if mutant.stage else mutant.state
    if decided == "killed" or (killers and decided in ("alive", "pending")):
        how = mutant.oracle or next(iter(killers.values()), "")
        return ("Timeout" if how == "timeout" else "Killed"), mutant.detail or how
    if decided == EXCLUDED:
        return "Ignored", f"excluded by pragma: {mutant.reason}"
    if not has_run:
        return "Pending", ""
    if mutant.stage and decided != "alive":
        return _NO_VERDICT.get(phase(mutant), "Pending"), mutant.reason
    if decided in ("skipped", "equivalent"):
        return "Ignored", ": ".join(filter(None, (decided, mutant.reason)))
    if decided == "invalid":
        return "CompileError", mutant.reason or mutant.detail
    if decided == "alive":
        return "Survived", "accepted" if mutant.accepted else ""
    group = survivor_group(mutant, known)
    if group == UNREACHED:
        return "NoCoverage", ""
    return ("Pending" if group in (WAITS, NOT_RUN) else "Survived"), _WHY.get(group, "")


_WHY: Final = {
    WAITS: "the campaign has not run it yet",
    NOT_RUN: "not run before the end of the campaign: 'fuzztui score RUN' settles it",
    REACHED: "inputs reach it, and none makes its value differ",
    UNKNOWN_REACH: "no input makes its value differ",
}


def _location(mutant: Mutant, lines: Sequence[str]) -> dict[str, Any]:
    """The place of the expression, inside of the file even if the file was edited since.

    If columns are unknown (fuzz-first, old logs), the place is the line without its indentation.
    """
    line = min(max(mutant.line, 1), len(lines))
    end_line = min(max(mutant.end_line, line), len(lines))
    text = lines[line - 1].rstrip("\r")
    if mutant.column < 1 or mutant.end_column < 1:
        column, end_column, end_line = len(text) - len(text.lstrip()) + 1, len(text) + 1, line
    else:
        column = min(mutant.column, len(text) + 1)
        end_column = min(mutant.end_column, len(lines[end_line - 1]) + 1)
    if end_line == line:
        end_column = max(end_column, column)
    return {
        "start": {"line": line, "column": column},
        "end": {"line": end_line, "column": end_column},
    }


def _test_files(tests: TestsOfMutants) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for id_, (folder, name) in sorted(tests.names.items()):
        rows = found.setdefault(visible(folder), {"tests": []})["tests"]
        rows.append({"id": id_, "name": visible(name)})
    return found
