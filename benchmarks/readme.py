"""What was measured, from results.toml: docs/benchmarks.md, README's list, blocks of other pages.

    python benchmarks/readme.py            # writes them
    python benchmarks/readme.py --check    # exit status 1 if a page differs from results.toml

A block is between the lines ``<!-- measured: NAME -->`` and ``<!-- end: NAME -->``: in
docs/benchmarks.md ``all`` has every row, in README ``brief`` has a line of some rows; each other
block has the name of its row.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results.toml"
ALL, BRIEF = "all", "brief"
_BLOCK = re.compile(
    r"(?P<head><!-- measured: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end: (?P=name) -->)", re.DOTALL
)


@dataclass(frozen=True)
class Row:
    """One ``[[row]]`` of results.toml."""

    name: str
    area: str
    title: str
    command: str
    commit: str
    date: datetime.date
    machine: str
    what: str
    figure: str
    n: str
    """How many runs, inputs or targets the figure is of."""
    goal: str = ""
    """What the benchmark was to show; none was set if it is empty."""
    outcome: str = ""
    """Whether the goal was met, or by how much it was missed."""
    note: str = ""
    """What was tried, or what the figure leaves out."""
    brief: str = ""
    """Its line in README."""
    page: str = ""
    """The text of its block on a page of docs/."""
    figures: dict[str, str] = field(default_factory=dict)
    """Figures that are in more than one of the texts, as ``{name}``."""

    def filled(self, text: str) -> str:
        """The text with its figures. Raises :class:`ValueError` for one that is not there."""
        for name, figure in self.figures.items():
            text = text.replace("{" + name + "}", figure)
        if left := re.search(r"\{[a-z_]+\}", text):
            raise ValueError(f"{RESULTS.name}: row {self.name}: figures has no {left[0]}")
        return text

    def lines(self) -> Iterator[str]:
        """Its list in docs/benchmarks.md. The table has its goal."""
        yield f"- measured: {self.filled(self.what)}"
        yield f"- figure: {self.filled(self.figure)}"
        if self.note:
            yield f"- note: {self.filled(self.note)}"
        yield f"- n: {self.n}. Machine: {self.machine}"
        yield f"- command: `{self.command}` at {self.commit}, {self.date}"
        for page in pages():
            if f"<!-- measured: {self.name} -->" in page.read_text():
                yield f"- more: [{page.name}]({page.name})"


def read(file: Path = RESULTS) -> list[Row]:
    """The rows of results.toml, in its order."""
    return [Row(**row) for row in tomllib.loads(file.read_text())["row"]]


def blocks(rows: list[Row]) -> dict[str, str]:
    """The text between the marks, by name."""
    found = {row.name: row.filled(row.page) for row in rows if row.page}
    brief = [f"- {row.filled(row.brief)}" for row in rows if row.brief]
    return found | {
        ALL: "\n" + "\n".join(every(rows)) + "\n\n",
        BRIEF: "\n".join(["", *brief, "\n"]),
    }


def every(rows: list[Row]) -> Iterator[str]:
    """The lines of docs/benchmarks.md: the goals, then all rows by area."""
    yield "| measurement | goal | outcome |\n|---|---|---|"
    for row in rows:
        if row.goal:
            anchor = re.sub(r"[^\w\- ]", "", row.title.lower()).replace(" ", "-")
            yield f"| [{row.title}](#{anchor}) | {row.goal} | {row.filled(row.outcome)} |"
    for area in dict.fromkeys(row.area for row in rows):
        yield f"\n## {area}"
        for row in rows:
            if row.area == area:
                yield f"\n### {row.title}\n"
                yield from row.lines()


def pages() -> Iterator[Path]:
    """Pages that may have blocks."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").glob("*.md"))


def rewritten(text: str, made: dict[str, str]) -> tuple[str, set[str]]:
    """A page with its blocks renewed, and their names. Raises :class:`KeyError`: no such row."""
    used = {match["name"] for match in _BLOCK.finditer(text)}
    return _BLOCK.sub(lambda m: m["head"] + made[m["name"]] + m["end"], text), used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    args = parser.parse_args()
    made = blocks(read())
    left, stale = set(made), False
    for page in pages():
        old = page.read_text()
        new, used = rewritten(old, made)
        left -= used
        if new != old:
            stale = True
            print(f"{page.relative_to(ROOT)}: {'differs' if args.check else 'rewritten'}")
            if not args.check:
                page.write_text(new)
    if left:
        sys.exit(f"{RESULTS.name}: no page has a block for {', '.join(sorted(left))}")
    sys.exit(1 if args.check and stale else 0)


if __name__ == "__main__":
    main()
