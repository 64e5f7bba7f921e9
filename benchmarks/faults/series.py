"""One campaign under faults: round after round on the same run, then an orderly stop.

As root a series lives in mount and IPC namespaces of its own (``unshare``): the run is on a small
tmpfs that can be filled, and whatever shared memory is left is its own.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from faults import invariants, processes
from faults.campaigns import ALWAYS, SUBJECTS
from faults.clock import Clock
from faults.fold import Fold, LogFollower, Violation
from faults.inject import FAULTS
from faults.processes import MARK, Process
from faults.terminal import Screen

PRIVATE = "FUZZTUI_CHAOS_PRIVATE"
"""Environment variable: this process has namespaces of its own."""

DISK = "192m"
COMMAND_S = 300.0
"""Seconds that a command may take: the analysis of types takes a minute on a busy machine."""
SETTLE_S = 60.0
"""Seconds after which a file must be in the log, or a stopped campaign must have ended."""


@dataclass
class Row:
    """The result of one round, or of the end of a series (``round`` -1)."""

    engine: str
    series: int
    round: int
    seed: int
    fault: str
    killed: list[str] = field(default_factory=list)
    resumed_s: float = -1.0
    violations: list[dict[str, str]] = field(default_factory=list)
    kept: str = ""
    """Where the run was copied to, if something was wrong."""
    seconds: float = 0.0


class Growth:
    """Whether a campaign executes: figures that have grown :attr:`TIMES` times since the start.

    Once is not enough: that may be the last figures of a process that was killed.
    ``slots``: instances come and go, so the sum has to grow, else each of those that fuzz.
    """

    TIMES = 2

    def __init__(self, slots: bool) -> None:
        self._slots = slots
        self._last: dict[str, float] = {}
        self._grown: Counter[str] = Counter()

    def enough(self, fold: Fold) -> bool:
        """Look again."""
        # Others (an oracle, inputs that were transferred) never fuzz, and have no state.
        fuzzing = {n: i for n, i in fold.instances.items() if i.state}
        now = {n: i.figures.get("execs", 0) for n, i in fuzzing.items()}
        if self._slots:
            now = {"": sum(now.values())}
        for name, execs in now.items():
            self._grown[name] += execs > self._last.get(name, execs)
            self._last[name] = execs
        return (
            fold.state == "running"
            and bool(now)
            and all(self._grown[name] >= self.TIMES for name in now)
            and (self._slots or all(i.state == "running" for i in fuzzing.values()))
        )


class Series:
    """The campaign of one series.

    :param limit: seconds within which the campaign must go on after a fault.
    :param cache: a directory that series share: mypy's cache, the library that moves the clock.
    :param faults: these alone; None: all that are possible.
    """

    def __init__(
        self,
        engine: str,
        number: int,
        seed: int,
        *,
        limit: float,
        keep: Path,
        cache: Path,
        faults: list[str] | None = None,
    ) -> None:
        self.engine, self.number, self.seed = engine, number, seed
        self.subject = SUBJECTS[engine]
        self._limit, self._keep, self._wanted = limit, keep, faults
        self.private = bool(os.environ.get(PRIVATE))
        self.home = Path(tempfile.mkdtemp(prefix="chaos-"))
        self.disk = self.home / "disk"
        self.run = self.disk / "run"
        self.temporary, self.runtime = self.home / "tmp", self.home / "xdg"
        for directory in (self.disk, self.temporary, self.runtime):
            directory.mkdir(mode=0o700)
        library = cache / "clock.so"
        fakes = self.subject.clock and library.exists()
        self.clock = Clock(library, self.home / "clock") if fakes else None
        self.env = self._environment(cache)
        if self.private:
            _mount(self.disk, DISK)
            _mount(Path("/dev/shm"), "64m")
        self.fold, self._follower = Fold(), LogFollower(self.run)
        self._found: list[Violation] = []
        self._seen = 0
        self._given_up: set[str] = set()
        self._was_full = False

    def _environment(self, cache: Path) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("FUZZTUI_")}
        env |= {
            MARK: str(self.home),
            "TMPDIR": str(self.temporary),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_CACHE_HOME": str(cache),
        }
        return env | (self.clock.env if self.clock else {})

    def faults(self) -> list[str]:
        """The faults that this series can have on this machine."""
        names = [*self.subject.faults, *ALWAYS]
        names += ["clock"] if self.clock else []
        names = [n for n in names if self.private or not n.startswith("disk")]
        return [n for n in names if self._wanted is None or n in self._wanted]

    # ----------------------------------------------------------------- commands

    def fuzztui(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run ``fuzztui`` with these arguments to its end."""
        return subprocess.run(
            self._command(*args), env=self.env, cwd=self.home, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=COMMAND_S, check=False,
        )  # fmt: skip

    def begin(self) -> subprocess.Popen[bytes]:
        """Give the command that starts, rejoins or resumes the campaign."""
        overrides = ("campaign.budget=24h", f"campaign.output={self.run}", *self.subject.overrides)
        words = (word for override in overrides for word in ("--set", override))
        return self.ask(self.subject.sample, "--detach", *words)

    def ask(self, *args: str) -> subprocess.Popen[bytes]:
        """Begin ``fuzztui`` with these arguments; what it prints goes to the file ``commands``."""
        with (self.home / "commands").open("ab") as out:
            return subprocess.Popen(
                self._command(*args),
                env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip

    def finish(self, begun: subprocess.Popen[bytes]) -> int:
        """Wait for a command; returns its exit code."""
        try:
            return begun.wait(COMMAND_S)
        except subprocess.TimeoutExpired:
            self.note(Violation("command", f"it takes longer than {COMMAND_S:g} s"))
            begun.kill()
            return begun.wait()

    def open_screen(self) -> Screen:
        """Attach a screen."""
        return Screen(self._command("attach", str(self.run)), self.env, str(self.home))

    @staticmethod
    def _command(*args: str) -> list[str]:
        return [str(Path(sys.executable).parent / "fuzztui"), *args]

    def processes(self) -> list[Process]:
        """The processes of the campaign, and of commands about it."""
        return processes.find(str(self.home), self.private)

    # ------------------------------------------------------------------- rounds

    def note(self, violation: Violation) -> None:
        """Report a broken invariant with the round that is in progress."""
        self._found.append(violation)

    def start(self) -> float:
        """Start the campaign; returns the seconds until it executed something."""
        return self._go_on()

    def round(self, number: int) -> Row:
        """Inject one fault at a random moment, give the same command again, and look."""
        rng = random.Random(f"{self.seed}/{self.engine}/{self.number}/{number}")
        row = Row(self.engine, self.number, number, self.seed, rng.choice(self.faults()))
        begun = time.monotonic()
        time.sleep(rng.uniform(0.05, 1.5))
        self._was_full |= row.fault.startswith("disk")
        row.killed = FAULTS[row.fault](self, rng)
        time.sleep(rng.choice((0.0, rng.uniform(0.0, 1.0))))
        row.resumed_s = round(self._go_on(), 2)
        self._wait_logged()
        self._close(row, begun)
        return row

    def end(self) -> Row:
        """Stop the campaign in order, and check everything."""
        row = Row(self.engine, self.number, -1, self.seed, "end of series")
        begun = time.monotonic()
        done = self.fuzztui("ctl", str(self.run), "stop")
        if done.returncode:
            self.note(Violation("command", f"stop: exit {done.returncode}: {done.stderr[-500:]}"))
        if not _until(lambda: not self.processes(), SETTLE_S):
            for process in self.processes():
                self.note(Violation("left", f"{process.role}: {process.command}"))
        self._read()
        fold, found = invariants.check_log(self.run, self.fold, self._follower)
        left = invariants.check_left(self.run, self.temporary, self.runtime, self.private)
        for violation in (
            *found,
            *invariants.check_disk(self.run, fold, was_full=self._was_full),
            *invariants.check_commands(self.run, fold, self.fuzztui),
            *left,
        ):
            self.note(violation)
        self._close(row, begun)
        return row

    def close(self) -> None:
        """Kill what still runs, and remove everything."""
        processes.kill_all(str(self.home), self.private)
        if self.private:
            subprocess.run(["umount", "-l", self.disk], check=False)
        shutil.rmtree(self.home, ignore_errors=True)

    def _read(self) -> None:
        self.fold.apply(self._follower.poll())

    def _go_on(self) -> float:
        """Give the command, and wait until all instances run and execute more."""
        begun = time.monotonic()
        if code := self.finish(self.begin()):
            self.note(Violation("resume", f"the same command: exit {code}: {self.last_words()}"))
        growth = Growth(self.subject.slots)

        def goes_on() -> bool:
            self._read()
            return growth.enough(self.fold)

        if not _until(goes_on, self._limit):
            states = {n: (i.state, i.figures.get("execs")) for n, i in self.fold.instances.items()}
            self.note(
                Violation("resume", f"not within {self._limit:g} s: {self.fold.state} {states}")
            )
        return time.monotonic() - begun

    def _wait_logged(self) -> None:
        """Wait until the log has all files that are on disk now."""
        there = set(invariants.unlogged(self.run, self.fold)) - self._given_up

        def logged() -> bool:
            self._read()
            there.intersection_update(invariants.unlogged(self.run, self.fold))
            return not there

        if not _until(logged, SETTLE_S):
            self._given_up |= there
            for file in sorted(there)[:5]:
                self.note(Violation("lost", f"{file} is not in the log after {SETTLE_S:g} s"))

    def last_words(self) -> str:
        """The end of what all commands have printed."""
        return (self.home / "commands").read_text(errors="replace")[-400:]

    def _close(self, row: Row, begun: float) -> None:
        new = [*self.fold.violations, *self._follower.problems]
        row.violations = [asdict(v) for v in [*new[self._seen :], *self._found]]
        self._seen, self._found = len(new), []
        row.seconds = round(time.monotonic() - begun, 2)
        if row.violations:
            row.kept = str(self._keep_run(row))

    def _keep_run(self, row: Row) -> Path:
        place = self._keep / f"{self.engine}-{self.seed}-{self.number}-{row.round}"
        shutil.rmtree(place, ignore_errors=True)
        with suppress(shutil.Error):  # the campaign runs: files that vanish meanwhile are left out
            shutil.copytree(
                self.home, place, symlinks=True, ignore_dangling_symlinks=True,
                ignore=shutil.ignore_patterns("*.sock"), dirs_exist_ok=True,
            )  # fmt: skip
        place.mkdir(parents=True, exist_ok=True)
        (place / "row.json").write_text(json.dumps(asdict(row), indent=2))
        return place


def run_series(job: dict[str, Any]) -> Iterator[Row]:
    """Run the rounds ``first`` to ``last`` (excluded) of a series, and end it.

    ``job``: what ``chaos.py`` has planned, as JSON.
    """
    series = Series(
        job["engine"], job["series"], job["seed"], limit=job["limit"], keep=Path(job["keep"]),
        cache=Path(job["cache"]), faults=job["faults"],
    )  # fmt: skip
    try:
        series.start()
        for number in range(job["first"], job["last"]):
            yield series.round(number)
        yield series.end()
    finally:
        series.close()


def _until(true: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _mount(place: Path, size: str) -> None:
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", place], check=True
    )
