"""The big table against Textual's DataTable (the named peer), same rows, same terminal.

CPU milliseconds until painted, the median of several goes, 120x40, seven columns::

    python benchmarks/tui_table.py [--rows 10000] [--rows 100000]

DataTable needs some 20 s to load 100,000 rows; the ratio is DataTable / ours.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from lab.options import parse
from lab.rows import Rows
from textual.app import ComposeResult
from textual.widgets import DataTable

from fuzztui.tui.base.columns import Column
from fuzztui.tui.base.themed import ThemedApp
from fuzztui.tui.frame.table import BigTable

WORDS = ("alive", "killed", "pending", "skipped")


@dataclass(slots=True)
class Row:
    key: str
    state: str
    execs: int
    edges: int
    size: int
    rate: float
    note: str


def make_rows(n: int) -> dict[str, Row]:
    rng = random.Random(7)
    rows = {}
    for i in range(n):
        key = f"main/{i}"
        rows[key] = Row(
            key,
            rng.choice(WORDS),
            rng.randrange(10**6),
            rng.randrange(5000),
            rng.randrange(9999),
            rng.random() * 1000,
            f"havoc of {rng.randrange(n)}",
        )
    return rows


def cells(row: Row) -> tuple[str, ...]:
    return (
        row.key,
        row.state,
        f"{row.execs:,}",
        str(row.edges),
        str(row.size),
        f"{row.rate:.1f}",
        row.note,
    )


TITLES = ("entry", "state", "execs", "edges", "size", "rate", "note")


def column(i: int) -> Column[Row]:
    attribute = ("key", "state", "execs", "edges", "size", "rate", "note")[i]
    return Column(
        TITLES[i],
        TITLES[i],
        lambda row: (cells(row)[i], "edge" if i == 3 else ""),
        lambda row: getattr(row, attribute),
        flex=i == 6,
    )


class Ours:
    """The operations on a BigTable."""

    def __init__(self) -> None:
        self.columns = [column(i) for i in range(7)]
        self.widget: BigTable[Row] = BigTable(self.columns)
        self.reverse = False

    def load(self, rows: dict[str, Row]) -> None:
        self.rows = rows
        self.widget.load(rows)

    def update(self, keys: list[str]) -> None:
        self.widget.touch(keys)

    def insert(self, row: Row) -> None:
        self.rows[row.key] = row
        self.widget.touch([row.key])

    def sort(self) -> None:
        self.reverse = not self.reverse
        self.widget.sort_by(self.columns[2 if self.reverse else 4], self.reverse)

    def scroll(self, y: int) -> None:
        self.widget.scroll_to(y=y, animate=False)


class Peer:
    """The same on a DataTable."""

    def __init__(self) -> None:
        self.widget: DataTable[str] = DataTable(cursor_type="row")
        self.reverse = False

    def load(self, rows: dict[str, Row]) -> None:
        self.rows = rows
        for title in TITLES:
            self.widget.add_column(title, key=title)
        for key, row in rows.items():
            self.widget.add_row(*cells(row), key=key)

    def update(self, keys: list[str]) -> None:
        for key in keys:
            self.widget.update_cell(key, "execs", f"{self.rows[key].execs:,}")

    def insert(self, row: Row) -> None:
        self.rows[row.key] = row
        self.widget.add_row(*cells(row), key=row.key)

    def sort(self) -> None:
        self.reverse = not self.reverse
        title = "execs" if self.reverse else "size"
        self.widget.sort(title, key=lambda text: int(text.replace(",", "")), reverse=self.reverse)

    def scroll(self, y: int) -> None:
        self.widget.scroll_to(y=y, animate=False)


async def run(side: Ours | Peer, n: int, goes: int) -> dict[str, float]:
    rows = make_rows(n)
    rng = random.Random(3)
    result: dict[str, float] = {}

    class Shown(ThemedApp):
        def compose(self) -> ComposeResult:
            yield side.widget

    app = Shown()

    async with app.run_test(size=(120, 40)) as pilot:

        async def timed(name: str, times: int, work: Callable[[int], None]) -> None:
            took = []
            for i in range(times):
                start = time.process_time()
                work(i)
                await painted(pilot.pause)
                took.append(1000 * (time.process_time() - start))
            result[name] = statistics.median(took)

        def change(_: int) -> None:
            keys = rng.sample(list(rows), 100)
            for key in keys:
                rows[key].execs += 1000
            side.update(keys)

        def add(i: int) -> None:
            side.insert(Row(f"new/{i}", "alive", i, i, i, 1.0, "new"))

        await timed("load", 1, lambda _: side.load(rows))
        await timed("update 100 cells", goes, change)
        await timed("sort", goes, lambda _: side.sort())
        await timed("insert a row", goes, add)
        await timed("scroll", goes, lambda i: side.scroll(i * 137 % n))
    return result


async def painted(pause: Callable[[], Awaitable[None]]) -> None:
    """Until everything that was asked for is on the screen."""
    await pause()
    await pause()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--goes", type=int, default=9, help="counts of which the median is taken")
    options = parse(parser, "tui_table", rows=[100], goes=1)
    kept = Rows("tui_table", options.results)
    for n in options.rows or [10_000]:
        ours = asyncio.run(run(Ours(), n, options.goes))
        peer = asyncio.run(run(Peer(), n, options.goes))
        print(f"{n:,} rows{'':12}{'ours ms':>10}{'DataTable ms':>14}{'ratio':>8}")
        for name, value in ours.items():
            kept.add(rows=n, operation=name, ours_ms=value, peer_ms=peer[name])
            print(f"{name:24}{value:10.1f}{peer[name]:14.1f}{peer[name] / value:8.1f}")


if __name__ == "__main__":
    main()
