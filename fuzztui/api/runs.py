"""A run for scripts: its state now or at a time, steering, waiting. Reading never writes."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

from fuzztui.api.rows import (
    RunEntry,
    RunFinding,
    RunMutant,
    RunSeries,
    entry_rows,
    finding_rows,
    mutant_rows,
    series_rows,
)
from fuzztui.cli.output import silenced
from fuzztui.cli.runs import RunStatus, find_log, no_records, standing_of, unreadable
from fuzztui.cli.status import status_object
from fuzztui.kernel.base import versions
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.suggest import meant, near
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.model.receipts import receipts
from fuzztui.kernel.model.selectors import ENDED, throughput, totals
from fuzztui.kernel.model.state import State
from fuzztui.kernel.session import LiveClock, ReplayClock, Session

_POLL_S: Final = 0.2
_LONGEST_S: Final = 1e6
"""Of steering; a socket refuses infinity."""


class RunError(Exception):
    """What a command would print instead of an answer: what is wrong, and what to do."""


@contextmanager
def _errors() -> Iterator[None]:
    try:
        with silenced():
            yield
    except UserError as e:
        raise RunError(str(e)) from None
    except (LogError, OSError) as e:
        raise RunError(str(unreadable(e))) from None


@dataclass(frozen=True, slots=True)
class Steering:
    """The answer to one steering command.

    ``result``: applied, rejected, pending (no engine has answered yet), or recorded (a verdict
    after the end). ``text``: details or the reason. ``id``: in the log; "": unknown.
    """

    result: str
    text: str
    id: str

    @property
    def ok(self) -> bool:
        """Whether the command was carried out."""
        return self.result in ("applied", "recorded")


class RunState:
    """The state of a run at one time; it does not change while the run goes on.

    ``problems``: damage of the log, as texts; if there are any, numbers are lower bounds.
    """

    def __init__(self, path: Path, run: Path | None, now: RunStatus) -> None:
        self._path, self._run, self._status, state = path, run, now, now.state
        self._is_over = False  # the fold went on
        of = totals(state)
        self.name, self.engine, self.target = state.name, state.engine, state.target
        self.state: str = now.state_name
        """starting, running, paused, stopping, finished, stopped, failed or interrupted."""
        self.has_ended: bool = self.state in (*ENDED, "interrupted")
        self.reason: str = state.reason
        self.elapsed_s: float = state.t
        self.execs: int = of.stats.execs
        self.execs_per_sec: float = throughput(state)
        """-1: unknown, like ``edges``."""
        self.corpus: int = of.stats.corpus
        self.edges: int = of.stats.edges
        self.at_least: bool = now.is_lower_bound
        self.problems: tuple[str, ...] = tuple(now.problems)

    @property
    def _now(self) -> RunStatus:
        if self._is_over:
            raise RunError("a state that wait gave to until: read it there, or use run.at(seconds)")
        return self._status

    @cached_property
    def findings(self) -> tuple[RunFinding, ...]:
        """The groups of findings."""
        return tuple(finding_rows(self._now.state, self._run))

    @cached_property
    def entries(self) -> tuple[RunEntry, ...]:
        """The corpus of all instances."""
        return tuple(entry_rows(self._now.state, self._run))

    @cached_property
    def mutants(self) -> tuple[RunMutant, ...]:
        """The mutants, without excluded ones; empty if the campaign has none."""
        return tuple(mutant_rows(self._now.state))

    @cached_property
    def series(self) -> dict[str, RunSeries]:
        """Figures over campaign time: ``rate`` (executions a second), execs, edges and others."""
        return series_rows(self._now.state)

    @cached_property
    def status(self) -> dict[str, Any]:
        """The object of ``fuzztui status --json``."""
        return versions.versioned("status", status_object(self._path, self._now))

    def receipt(self, steering: Steering) -> str:
        """What came of a command until this state, as text: ``3 mutants: runs 4 -> 90``; or ""."""
        found = (r.text for r in receipts(self._now.state) if r.command.id == steering.id)
        return next(found, "")

    def __repr__(self) -> str:
        return f"RunState({self.name!r}, {self.state!r}, {self.elapsed_s:.1f} s)"


class Run:
    """A run, live or ended, or a log alone; see :func:`open_run`. ``path``: its directory.

    No file stays open between calls; later versions may keep some until the end of the ``with``.
    """

    def __init__(self, path: Path, run: Path | None) -> None:
        self.path, self._run = path, run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def now(self) -> RunState:
        """Return the present state; of an ended run the last one. Raises :class:`RunError`."""
        with _errors():
            return self._folded(Session(self.path, LiveClock()))

    def at(self, seconds: float) -> RunState:
        """Return the state after so many seconds of campaign time. Raises :class:`RunError`."""
        _check_seconds("seconds", seconds)
        with _errors():
            return self._folded(Session(self.path, ReplayClock(t=seconds, paused=True)))

    def wait(
        self, until: Callable[[RunState], object] | None = None, timeout_s: float = math.inf
    ) -> RunState:
        """Wait until ``until`` is true of the state, without it for the end; return that state.

        Rows of a state that ``until`` gets can be read during the call only, but for the last.
        Raises :class:`RunError` if the campaign ends before, or after ``timeout_s`` seconds.
        """
        _check_seconds("timeout_s", timeout_s)
        deadline = time.monotonic() + timeout_s
        with _errors():
            session = Session(self.path, LiveClock())
        while True:
            with _errors():  # not around until: its errors are the script's
                now = self._folded(session)
            if until(now) if until else now.has_ended:
                return now
            if now.has_ended:
                reason = f": {visible(now.reason)}" if now.reason else ""
                raise RunError(f"{self.path}: the campaign is {now.state}{reason}")
            if time.monotonic() >= deadline:
                raise RunError(f"{self.path}: not within {timeout_s:g} s; it is {now.state}")
            now._is_over = True
            time.sleep(min(_POLL_S, max(0.0, deadline - time.monotonic())))

    def steer(
        self,
        action: str,
        *words: str,
        instance: str = "",
        because: str = "",
        note: str = "",
        to: str = "",
        adaptive: bool = False,
        fixed: bool = False,
        timeout_s: float | None = None,
    ) -> list[Steering]:
        """Do what ``fuzztui ctl RUN ACTION WORDS`` does; return an answer for each command.

        Most actions are one command. Raises :class:`RunError` if the words are wrong, or if no
        campaign is running.
        """
        from fuzztui.cli.ctl import ACTIONS, answers  # slow to import

        if action not in ACTIONS:
            raise RunError(f"{action!r} is no command of ctl{meant(near(action, ACTIONS))}")
        if self._run is None:
            raise RunError(f"{self.path}: a log alone cannot be steered")
        id_, *more = words or ("",)
        _check_seconds("timeout_s", timeout_s or 0.0)
        timeout = None if timeout_s is None else min(_LONGEST_S, timeout_s)
        options = argparse.Namespace(
            run=self._run, action=action, id=id_, more=more, instance=instance, because=because,
            note=note, to=to or None, adaptive=adaptive, fixed=fixed, timeout=timeout,
        )  # fmt: skip
        with _errors():
            return [
                Steering("pending" if a.pending else a.result, a.detail, a.id)
                for a in answers(options)
            ]

    def _folded(self, session: Session) -> RunState:
        now = standing_of(session, self._run, _fold)
        if not session.end_seq:
            raise no_records(self.path, now.problems)
        return RunState(self.path, self._run, now)


def _check_seconds(name: str, seconds: float) -> None:
    if not seconds >= 0:  # NaN compares with nothing
        raise RunError(f"{name}: {seconds} is no number of seconds; give 0 or more")


def open_run(path: str | PathLike[str] | None = None) -> Run:
    """Open a run, as commands name it: a run directory, a campaign file (its newest run), a log.

    None: the only or latest run in ``./runs``. Raises :class:`RunError`.
    """
    with _errors():
        return Run(*find_log(None if path is None else Path(path)))


def _fold(session: Session) -> State:
    session.check()
    return session.fold_rest()
