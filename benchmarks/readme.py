"""README's table of what was measured, and the measured blocks of docs/, from results.toml.

    python benchmarks/readme.py            # writes them
    python benchmarks/readme.py --check    # exit status 1 if a page differs from results.toml

A block is between the lines ``<!-- measured: NAME -->`` and ``<!-- end: NAME -->``; the table
in README is the block ``table``.
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

__all__ = ["RESULTS", "Row", "pages", "read", "rewritten"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results.toml"
TABLE = "table"
_BLOCK = re.compile(
    r"(?P<head><!-- measured: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end: (?P=name) -->)", re.DOTALL
)


@dataclass(frozen=True)
class Row:
    """One ``[[row]]`` of results.toml; no ``what``: it is in no table, only on a page."""

    name: str
    command: str
    commit: str
    date: datetime.date
    machine: str
    what: str = ""
    figure: str = ""
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


def read(file: Path = RESULTS) -> list[Row]:
    """The rows of results.toml, in its order."""
    return [Row(**row) for row in tomllib.loads(file.read_text())["row"]]


def blocks(rows: list[Row]) -> dict[str, str]:
    """The text between the marks, by name."""
    lines = ["| what | figure | command |", "|---|---|---|"]
    lines += [f"| {row.filled(row.what)} | {row.filled(row.figure)} | `{row.command}` |"
              for row in rows if row.what]  # fmt: skip
    found = {row.name: row.filled(row.page) for row in rows if row.page}
    return found | {TABLE: "\n" + "\n".join(lines) + "\n\n"}


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
