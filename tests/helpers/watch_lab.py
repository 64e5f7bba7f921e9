"""AFL output directories as other people's fuzzers leave them, and the log that we make of one."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from waiting import wait_until

from fuzztui.features.watch.directories import Trees
from fuzztui.features.watch.watcher import CampaignWatcher
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, Message, Record

E = TypeVar("E", bound=Event)

PLOT = (
    "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, map_size, "
    "saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found\n"
)


def stats(start: int, run: int, **more: object) -> str:
    """A fuzzer_stats of 4.04c."""
    values = {
        "start_time": start, "last_update": start + run, "run_time": run, "fuzzer_pid": 4194304,
        "execs_done": 1000 * run, "execs_per_sec": "900.00", "corpus_count": 12,
        "corpus_favored": 3, "pending_total": 4, "stability": "99.00%", "saved_crashes": 0,
        "saved_hangs": 0, "edges_found": 50, "total_edges": 1000, "afl_banner": "target",
        "afl_version": "++4.04c", "command_line": "afl-fuzz -i in -o out -- ./target",
    }  # fmt: skip
    values.update(more)
    return "".join(f"{key:<18}: {value}\n" for key, value in values.items())


def row(s: int, execs: int | None = None) -> str:
    """A row of plot_data."""
    return (
        f"{s}, 1, 2, 12, 4, 3, 5.00%, 0, 0, 4, 900.00, {1000 * s if execs is None else execs}, 50\n"
    )


class Fuzzer:
    """One instance's directory; ``ago`` seconds old, ``run`` of them fuzzed."""

    def __init__(
        self, path: Path, *, ago: int = 3600, run: int = 3600, figures: bool = True
    ) -> None:
        self.path = path
        self.start = int(time.time()) - ago
        for folder in ("queue", "crashes", "hangs"):
            (path / folder).mkdir(parents=True)
        if figures:
            self.write_stats(run)
            rows = "".join(row(s) for s in range(60, run + 1, 60))
            (path / "plot_data").write_text(PLOT + rows)
            self.age(self.start + run)
        self._lock = -1

    def put(self, file: str, old: bool = True) -> None:
        """A file in queue/, crashes/ or hangs/."""
        (self.path / file).parent.mkdir(exist_ok=True)
        (self.path / file).write_bytes(b"x" * 10)
        if old:
            os.utime(self.path / file, (self.start + 100,) * 2)

    def add_row(self, s: int, execs: int | None = None) -> None:
        """Another row of plot_data, which is of now."""
        with (self.path / "plot_data").open("a") as file:
            file.write(row(s, execs))

    def write_stats(self, run: int, **more: object) -> None:
        """Another fuzzer_stats, which is of now."""
        (self.path / "fuzzer_stats").write_text(stats(self.start, run, **more))

    def age(self, at: float, *names: str) -> None:
        """Set the time of its files, by default of those with figures."""
        for name in names or ("fuzzer_stats", "plot_data"):
            os.utime(self.path / name, (at, at))

    def live(self) -> None:
        """Hold the lock, as afl-fuzz does."""
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def die(self) -> None:
        """Let go of it."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1


class Watched:
    """A watch without its own thread: ``look`` makes it look once."""

    def __init__(self, log: Path, *directories: Path) -> None:
        self.log = log
        self.watch = CampaignWatcher(Trees(directories), log)
        self.watch.begin()

    def look(self) -> None:
        """Whatever is due now, and what inotify told."""
        for instance in self.watch._instances.values():
            instance.finds._check_due = 0.0
            instance.finds.rescan()
            instance.peers._due = 0.0
        self.watch._find_more()
        self.watch._log(self.watch._completed_files())
        self.watch._log(self.watch._looked())
        self.watch._flush()

    def until(self, what: Callable[[State], object]) -> State:
        """Look until the state is as wanted."""

        def reached() -> State | None:
            if what(state := self.state):
                return state
            self.look()
            return None

        return wait_until(reached, lambda: self.state)

    @property
    def records(self) -> list[Record]:
        """The whole log."""
        reader = LogReader(self.log)
        assert reader.problems == []
        return list(reader.records())

    def events(self, kind: type[E]) -> list[E]:
        """Those of a kind in the log."""
        return [r.event for r in self.records if isinstance(r.event, kind)]

    @property
    def texts(self) -> list[str]:
        """Of the messages in the log."""
        return [event.text for event in self.events(Message)]

    @property
    def state(self) -> State:
        """The log, folded."""
        state = State()
        apply(state, self.records)
        return state


@contextmanager
def watching(home: Path) -> Iterator[Callable[..., Watched]]:
    """Begins watches, with logs in ``home``; ends them all."""
    watches: list[Watched] = []

    def begin(*directories: Path) -> Watched:
        watches.append(Watched(home / f"log{len(watches)}", *directories))
        return watches[-1]

    yield begin
    for each in watches:
        each.watch.close()
