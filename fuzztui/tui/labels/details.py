"""What details of several kinds of rows have: properties, titles, source code. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from fuzztui.kernel.base.signals import signal_name
from fuzztui.kernel.model.state import Finding
from fuzztui.tui.base.canvas import Line, OneLine, TextSpan
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.run_files import run_command

LABEL = 10
"""Cells for the names of properties."""

NUMBER = 5
"""Cells for line numbers."""

MEMBERS = 20
"""Maximal number of listed files of one signature, or mutants of one killer."""


def repro_command(run: Path, file: Path) -> str:
    """Return the command line that reproduces a finding."""
    return run_command(run, ["fuzztui", "repro", str(run), str(file)])


def finding_title(finding: Finding) -> str:
    """Return a finding's title; without a description, the signal and mutator in its file name.

    If the file name is not in AFL's format, the title is the file name.
    """
    if finding.title:
        return finding.title
    op = finding.op.split(",", 1)[0]
    if finding.id < 0 or not (finding.sig or op):
        return finding.file
    what = signal_name(finding.sig) if finding.sig > 0 else finding.category
    return f"{what}, found by {op}" if op else what


def excerpt_lines(source: SourceExcerpt) -> Iterator[Line]:
    """Yield lines of source code with their numbers; the line of the crash is marked."""
    for number, text in enumerate(source.lines, source.first):
        here = number == source.line
        mark = TextSpan(f"{'▸' if here else ' '}{number:>6} ", "bold" if here else "muted")
        yield OneLine([mark, TextSpan(plain(text.expandtabs(4)), "bold" if here else "")])


def finding_text(finding: Finding, files: int) -> str:
    """Return title, location, and the number of files of its group if it has several."""
    place = f"  at {finding.place}" if finding.place else ""
    times = f"  ×{files:,}" if files > 1 else ""
    return f"{finding_title(finding)}{place}{times}"


def pair(name: str, value: str, style: str = "") -> Line:
    """Return a property's line; neither text needs to be plain yet."""
    return [TextSpan(plain(name).ljust(LABEL) + " ", "muted"), TextSpan(plain(value), style)]


def title(text: str) -> Line:
    """Return a heading."""
    return OneLine([TextSpan(f"── {plain(text)} ", "muted"), TextSpan("─" * 12, "rule")])


def listed(heading: str, rows: Iterable[Line], count: int, most: int) -> list[Line]:
    """Return a heading, the first ``most`` of ``count`` rows, and how many more; [] if none."""
    if not count:
        return []
    more = [[TextSpan(f"  … {count - most:,} more", "muted")]] if count > most else []
    return [[], title(heading), *islice(rows, most), *more]


def number_span(mark: str, number: int, style: str) -> TextSpan:
    """Return the number in front of a source line."""
    return TextSpan(f"{mark} {number:>{NUMBER}} │ ", style)


def side_style(style: str) -> str:
    """Return the style of one side of the change (removed or added)."""
    # Without colours, the old text is struck through and the new text is bold.
    return f"strike {style}" if style == "removed" else f"bold {style}"
