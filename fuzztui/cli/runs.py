"""Finding run directories, and telling what state they are in."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fuzztui.base.suggest import meant, near
from fuzztui.base.text import several
from fuzztui.campaign import CampaignError, FrozenCampaign, load
from fuzztui.cli import damage
from fuzztui.cli.origins import has_begun, is_run, newest, refuse_foreign
from fuzztui.cli.output import DAMAGED, NOT_RUNNING, USAGE, CliError
from fuzztui.cli.progress import Estimate
from fuzztui.cli.samples import named
from fuzztui.log.files import LogError
from fuzztui.model.selectors import ENDED, wall_time
from fuzztui.model.state import State
from fuzztui.remote.address import announced
from fuzztui.remote.client import running, trouble
from fuzztui.session import LiveClock, ReplayClock, Session
from fuzztui.watch.directories import Trees, WatchError

__all__ = [
    "RunStatus",
    "find_run",
    "fold_all",
    "is_run",
    "none_left",
    "open_session",
    "standing",
    "standing_of",
    "unreadable",
    "unsupervised",
    "with_output",
]


_STEP_S = 0.1
"""Between two words on how far a command is."""


def with_output(loaded: FrozenCampaign, run: Path) -> FrozenCampaign:
    """The same campaign in another run directory."""
    frozen = {**loaded.frozen, "campaign": {**loaded.frozen["campaign"], "output": str(run)}}
    return replace(loaded, campaign=replace(loaded.campaign, output=run), frozen=frozen)


def find_run(given: Path | None) -> Path:
    """The run that the user means. Raises :class:`CliError` with what there is instead."""
    if given is None and is_run(Path.cwd()):
        return Path.cwd()
    if given is None:
        return _only_or_latest(Path.cwd() / "runs")
    if is_run(given):
        return given.absolute()
    if given.name == "log" and is_run(given.parent):
        return given.parent.absolute()
    if given.suffix == ".toml":
        file, implied = named(given)
        if file.is_file():
            return _run_of(file, implied, given)
    if given.is_dir():
        trees = Trees([given])
        if trees.places():
            raise CliError(f"{given} is AFL's: fuzztui watch {given}", NOT_RUNNING)
        return _only_or_latest(given, trees.nothing())
    if len(given.parts) == 1 and is_run(Path("runs") / given):
        return (Path("runs") / given).absolute()
    known = [path.name for path in Path("runs").glob("*") if is_run(path)]
    offer = meant(near(given.name, known))
    raise CliError(f"{given}: there is no such run directory{offer}", NOT_RUNNING)


def _run_of(file: Path, implied: list[str], given: Path) -> Path:
    try:
        loaded = load(file, implied)
    except CampaignError as e:
        raise CliError(str(e), USAGE) from None
    if run := newest(loaded):
        return run
    where = loaded.campaign.output
    refuse_foreign(where, loaded)
    if is_run(where) and not has_begun(where):
        return where  # what is asked of it says so
    raise CliError(f"{given} has no run yet ({where}); start it: fuzztui {given}", NOT_RUNNING)


def _only_or_latest(parent: Path, nothing: WatchError | None = None) -> Path:
    """``nothing``: why there is nothing of AFL's to watch either."""
    runs = [p for p in parent.iterdir() if is_run(p)] if parent.is_dir() else []
    if not runs and nothing:
        raise CliError(f"no run in {nothing}", NOT_RUNNING)
    if not runs:
        elsewhere = ", ".join(sorted(str(run) for run in announced()))
        raise CliError(
            f"no run in {parent}; name a run directory, or start one: fuzztui CAMPAIGN.toml"
            + (f" (running elsewhere: {elsewhere})" if elsewhere else ""),
            NOT_RUNNING,
        )
    alive = [p for p in runs if running(p)]
    if len(alive) > 1:
        names = ", ".join(str(p) for p in sorted(alive))
        raise CliError(f"several campaigns run here, name one: {names}", USAGE)
    begun = [p for p in runs if any((p / "log").iterdir())] or runs
    return alive[0] if alive else max(begun, key=lambda p: (p / "log").stat().st_mtime)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The newest state of a run and whether its supervisor lives (its pid)."""

    state: State
    pid: int | None
    trouble: str = ""
    """What its supervisor cannot write into the log now, in its words."""
    gone_s: float = 0.0
    """For how long nobody has supervised it, where somebody should."""
    problems: Sequence[str] = ()
    """Damage of its log, as messages: with any, figures are lower bounds."""
    is_past: bool = False
    """Whether it is the state at an earlier time, of which ``pid`` says nothing."""

    @property
    def is_lower_bound(self) -> bool:
        """Whether records of the log are missing, now or since before a repair."""
        return bool(self.problems) or self.state.lost > 0

    @property
    def damage(self) -> str:
        """Why records of the log are missing; "" if none is."""
        if self.problems:
            return "the log is damaged"
        if self.state.lost:
            return f"the log lost {several(self.state.lost, 'record')} before it was repaired"
        return ""

    @property
    def word(self) -> str:
        """The state's name; ``interrupted`` when the supervisor died in the middle."""
        begun = self.state.state != "empty" or self.state.seq  # its first records may be lost
        if self.pid is None and not self.is_past and begun and self.state.state not in ENDED:
            return "interrupted"
        return self.state.state


def standing(run: Path) -> RunStatus:
    """Fold the whole log of a run (by its last checkpoint). Raises :class:`CliError`."""
    return standing_of(open_session(run), run)


def standing_of(session: Session, run: Path | None) -> RunStatus:
    """Fold what the session's clock allows; ``run``: the run of that log, if there is one."""
    pid = None if run is None else running(run)
    state = fold_all(session)
    now = RunStatus(
        state,
        pid,
        "" if run is None else trouble(run),
        problems=session.problems,
        is_past=session.mode == "replay" and session.clock.now() < session.end_t,
    )
    if now.word != "interrupted":
        return now
    gone_s = max(0.0, time.time() - wall_time(state, state.t)) if state.wall else 0.0
    _left_alone(state, () if run is None else unsupervised(run))
    return replace(now, gone_s=gone_s)


def none_left(run: Path, now: RunStatus, what: str) -> CliError:
    """The error where a log that misses records has none about ``what``: it may have had some."""
    words = f"{run}: records about {what}, if there were any, are lost: {now.damage}"
    return CliError(words, DAMAGED)


def unsupervised(run: Path) -> list[str]:
    """The instances whose engines still run, although their supervisor is gone."""
    from fuzztui.instances.process import EngineProcess  # and asyncio, which few commands need

    return EngineProcess.unsupervised(run)


def _left_alone(state: State, living: Collection[str]) -> None:
    """Nobody has looked since the supervisor died: say of instances what is so now."""
    for i in state.instances.values():
        if i.state not in ENDED:
            i.execs_per_sec = -1.0
            if i.id not in living:
                i.state, i.pid, i.cpu, i.rss, i.processes = "interrupted", 0, 0.0, 0, 0


def open_session(path: Path, *, at: float | None = None) -> Session:
    """A session on a run or a log: of the present, or standing at campaign time ``at``.

    Raises :class:`CliError` when there is no log.
    """
    try:
        clock = LiveClock() if at is None else ReplayClock(t=at, paused=True)
        return damage.watch(Session(path, clock))
    except (LogError, OSError) as e:
        raise unreadable(e) from None


def unreadable(error: LogError | OSError) -> CliError:
    """The error for a log that cannot be opened."""
    words = str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        words = f"{error.filename}: {error.strerror}"
    return CliError(words, NOT_RUNNING)


def fold_all(session: Session) -> State:
    """Apply everything that the session's clock allows now; report damage of the whole log."""
    progress = Estimate()
    try:
        while not session.check(_STEP_S):
            progress.words("verifying the log")
        session.draft()
        while session.poll().records or session.behind:
            progress.show("reading the log: record", session.state.seq, session.end_seq)
        damage.report()
    except (LogError, OSError) as e:
        raise CliError(f"the campaign log cannot be read any more: {e}", NOT_RUNNING) from None
    finally:
        progress.clear()
        session.save_draft()  # of an interrupted command, too: the next one continues from there
    return session.state
