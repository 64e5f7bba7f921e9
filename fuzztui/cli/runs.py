"""Find run directories, open their logs, and determine their state."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fuzztui.cli import damage
from fuzztui.cli.origins import has_begun, newest, refuse_other_run
from fuzztui.cli.output import DAMAGED, NOT_RUNNING, CliError, UsageError
from fuzztui.cli.progress import Estimate
from fuzztui.cli.remote_runs import spec_of
from fuzztui.cli.samples import named
from fuzztui.features.watch.directories import Trees, WatchError
from fuzztui.kernel.base.suggest import meant, near
from fuzztui.kernel.base.text import several
from fuzztui.kernel.log.files import SEALED, LogError, list_tails
from fuzztui.kernel.model.host_summary import LOST, NO_HUB, TROUBLE
from fuzztui.kernel.model.selectors import ENDED, standing_name, wall_time
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.stats import PASSIVE
from fuzztui.kernel.remote.address import supervised_runs
from fuzztui.kernel.remote.lock import running, trouble
from fuzztui.kernel.session import LiveClock, ReplayClock, Session
from fuzztui.run.campaign import FrozenCampaign, load
from fuzztui.run.campaign.schema import TARGETS
from fuzztui.run.home.finding import is_run, runs_in

_STEP_S = 0.1
"""Seconds of verifying a log between two updates of the progress line."""


def with_output(loaded: FrozenCampaign, run: Path) -> FrozenCampaign:
    """Return the same campaign with another run directory, below which those of targets are."""
    frozen = {**loaded.frozen, "campaign": {**loaded.frozen["campaign"], "output": str(run)}}
    targets = tuple(
        replace(part, loaded=with_output(part.loaded, run / TARGETS / part.name))
        for part in loaded.campaign.targets
    )
    campaign = replace(loaded.campaign, output=run, targets=targets)
    return replace(loaded, campaign=campaign, frozen=frozen)


def find_run(given: Path | None) -> Path:
    """Return the run for the argument RUN; None means the only or latest run in ``./runs``.

    Raises :class:`CliError`, with suggestions.
    """
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
            raise CliError(
                f"{given} is a directory of AFL, which fuzztui only reads: watch, status, "
                "report, metrics and repro are for it",
                NOT_RUNNING,
            )
        return _only_or_latest(given, trees.nothing())
    if len(given.parts) == 1 and is_run(Path("runs") / given):
        return (Path("runs") / given).absolute()
    if spec := spec_of(given):
        raise UsageError(
            f"{given}: this command is for runs of this machine; run it there: ssh {spec[0]}"
        )
    known = [path.name for path in runs_in(Path("runs"))]
    offer = meant(near(given.name, known))
    raise CliError(f"{given}: there is no such run directory{offer}", NOT_RUNNING)


def find_log(given: Path | None) -> tuple[Path, Path | None]:
    """Return the path of a log, and its run; None for a log alone, as ``watch --keep`` leaves it.

    Raises :class:`CliError`, with suggestions.
    """
    if given is not None and not is_run(given):
        plain = given.is_file() and given.suffix in (".jsonl", ".gz")
        if plain or (not is_run(given.parent) and _is_log(given)):
            return given.absolute(), None
    run = find_run(given)
    return run, run


def _is_log(path: Path) -> bool:
    try:
        return path.is_dir() and ((path / SEALED).exists() or bool(list_tails(path)))
    except OSError:
        return False


def _run_of(file: Path, implied: list[str], given: Path) -> Path:
    loaded = load(file, implied)
    if run := newest(loaded):
        return run
    where = loaded.campaign.output
    refuse_other_run(where, loaded)
    if is_run(where) and not has_begun(where):
        return where  # the command reports that the campaign was never started
    raise CliError(
        f"{given} has no run yet ({where}); start one with: fuzztui {given}", NOT_RUNNING
    )


def _only_or_latest(parent: Path, nothing: WatchError | None = None) -> Path:
    """Return the running, only or latest run in ``parent``. Raises :class:`CliError` if none.

    ``nothing``: why the directory is no output directory of AFL either.
    """
    runs = runs_in(parent)
    if not runs and nothing:
        raise CliError(f"no run in {nothing}", NOT_RUNNING)
    if not runs:
        elsewhere = ", ".join(sorted(str(run) for run in supervised_runs()))
        raise CliError(
            f"no run in {parent}; name a run directory, or start one: fuzztui CAMPAIGN.toml"
            + (f" (running elsewhere: {elsewhere})" if elsewhere else ""),
            NOT_RUNNING,
        )
    alive = [p for p in runs if running(p)]
    if len(alive) > 1:
        names = ", ".join(str(p) for p in sorted(alive))
        raise UsageError(f"several campaigns are running here; name one of {names}")
    started = [p for p in runs if any((p / "log").iterdir())] or runs
    return alive[0] if alive else max(started, key=lambda p: (p / "log").stat().st_mtime)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The newest state of a run, its supervisor, and damage of its log."""

    state: State
    pid: int | None
    """The process ID of the supervisor; None if none is running."""
    trouble: str = ""
    """Why the supervisor cannot write to the log now; an empty string if it can."""
    gone_s: float = 0.0
    """Seconds since the supervisor of an interrupted campaign ended; while a host is not connected,
    since the last record, as there may be none for long."""
    problems: Sequence[str] = ()
    """Damage of the log, as messages; if there is any, numbers are lower bounds."""
    is_past: bool = False
    """Whether ``state`` is that of an earlier time, so that ``pid`` does not apply."""

    @property
    def is_lower_bound(self) -> bool:
        """Whether records of the log are missing, or were lost before a repair."""
        return bool(self.problems) or self.state.lost > 0

    @property
    def damage(self) -> str:
        """Why records of the log are missing; an empty string if none is."""
        if self.problems:
            return "the log is damaged"
        if self.state.lost:
            return f"the log lost {several(self.state.lost, 'record')} before it was repaired"
        return ""

    @property
    def state_name(self) -> str:
        """The state's name; ``interrupted`` if the supervisor ended before the campaign."""
        return standing_name(self.state, supervised=self.pid is not None or self.is_past)


def standing(run: Path) -> RunStatus:
    """Fold the whole log of a run, from the last checkpoint. Raises :class:`CliError`."""
    return standing_of(open_session(run), run)


def standing_of(
    session: Session, run: Path | None, fold: Callable[[Session], State] | None = None
) -> RunStatus:
    """Fold the log up to the session's clock; ``run``: the run of the log, if there is one.

    ``fold``: does so; without it :func:`fold_all`, which shows progress and may write checkpoints.
    """
    pid = None if run is None else running(run)
    state = (fold or fold_all)(session)
    now = RunStatus(
        state,
        pid,
        "" if run is None else trouble(run),
        problems=session.problems,
        is_past=session.mode == "replay" and session.clock.now() < session.end_t,
    )
    interrupted = now.state_name == "interrupted"
    cut = pid is not None and any(h.state in TROUBLE for h in state.hosts.values())
    if not interrupted and (not cut or state.state in ENDED):
        return now
    gone_s = max(0.0, time.time() - wall_time(state, state.t)) if state.wall else 0.0
    if interrupted:
        _mark_interrupted(state, () if run is None else unsupervised(run))
    return replace(now, gone_s=gone_s)


def none_left(run: Path, now: RunStatus, what: str) -> CliError:
    """Return the error for a damaged log without records about ``what``, which may be lost."""
    message = f"{run}: records about {what}, if there were any, are lost: {now.damage}"
    return CliError(message, DAMAGED)


def unsupervised(run: Path) -> list[str]:
    """Return the instances whose engines still run although the supervisor has ended."""
    from fuzztui.run.instances.process import EngineProcess  # imports asyncio: slow

    return EngineProcess.unsupervised(run)


def _mark_interrupted(state: State, living: Collection[str]) -> None:
    """Update the instances of an interrupted campaign, except those in ``living``.

    Without a hub its hosts continue, but no host is connected any more.
    """
    for there in state.hosts.values():
        if there.state not in ("ended", *TROUBLE):
            there.state, there.reason, there.changed_t = LOST, NO_HUB, state.t
    for i in state.instances.values():
        if i.state not in (*ENDED, PASSIVE):
            i.execs_per_sec = -1.0
            if i.id not in living and not i.host:
                i.state, i.pid, i.cpu, i.rss, i.processes = "interrupted", 0, 0.0, 0, 0


def open_session(path: Path, *, at: float | None = None) -> Session:
    """Open a run or a log: live, or paused at campaign time ``at``.

    Raises :class:`CliError` if there is no readable log.
    """
    try:
        clock = LiveClock() if at is None else ReplayClock(t=at, paused=True)
        return damage.watch(Session(path, clock))
    except (LogError, OSError) as e:
        raise unreadable(e) from None


def unreadable(error: LogError | OSError) -> CliError:
    """Return the error for a log that cannot be opened."""
    message = str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        message = f"{error.filename}: {error.strerror}"
    return CliError(message, NOT_RUNNING)


def fold_all(session: Session) -> State:
    """Fold the log up to the session's clock; report damage of the whole log."""
    try:
        with Estimate() as progress:
            while not session.check(_STEP_S):
                progress.show_text("verifying the log")
            session.draft()
            while session.poll().records or session.behind:
                progress.show("reading the log: record", session.state.seq, session.end_seq)
        damage.report()
    except (LogError, OSError) as e:
        raise CliError(f"the campaign log cannot be read any more: {e}", NOT_RUNNING) from None
    finally:
        session.save_draft()  # even if interrupted: the next command continues from here
    return session.state


def no_records(path: Path, problems: Sequence[str]) -> CliError:
    """Return the error for a log without a readable record."""
    if problems:
        return CliError(f"{path}: the log is damaged; none of its records is readable", DAMAGED)
    return CliError(f"{path}: the log is empty; no campaign was recorded", NOT_RUNNING)
