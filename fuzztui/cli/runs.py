"""Finding run directories, and telling what state they are in."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import fuzztui
from fuzztui.campaign import CampaignError, Loaded, load
from fuzztui.cli.origins import has_begun, is_run, newest, refuse_foreign
from fuzztui.cli.words import NOT_RUNNING, USAGE, Failure, say
from fuzztui.log.files import LogError
from fuzztui.model.selectors import ENDED, wall_time
from fuzztui.model.state import State
from fuzztui.remote.address import announced
from fuzztui.remote.client import running, trouble
from fuzztui.session import LiveClock, ReplayClock, Session
from fuzztui.supervise.foreign.trees import Trees

__all__ = [
    "SAMPLES",
    "Standing",
    "find_run",
    "fold_all",
    "is_run",
    "open_session",
    "sample",
    "standing",
    "unsupervised",
    "with_output",
]

SAMPLES = Path(fuzztui.__file__).parent / "sample_campaigns"


def sample(file: Path) -> Path:
    """The file, or the sample campaign of that name where there is no such file."""
    if not file.exists() and (SAMPLES / file.name).is_file():
        say(f"{file} is not here: using the sample campaign that comes with fuzztui")
        return SAMPLES / file.name
    return file


def with_output(loaded: Loaded, run: Path) -> Loaded:
    """The same campaign in another run directory."""
    frozen = {**loaded.frozen, "campaign": {**loaded.frozen["campaign"], "output": str(run)}}
    return replace(loaded, campaign=replace(loaded.campaign, output=run), frozen=frozen)


def find_run(given: Path | None) -> Path:
    """The run that the user means. Raises :class:`Failure` with what there is instead."""
    if given is None and is_run(Path.cwd()):
        return Path.cwd()
    if given is None:
        return _only_or_latest(Path.cwd() / "runs")
    if is_run(given):
        return given.absolute()
    if given.name == "log" and is_run(given.parent):
        return given.parent.absolute()
    if given.suffix == ".toml" and (file := sample(given)).is_file():
        return _run_of(file, given)
    if given.is_dir():
        if Trees([given]).places():
            raise Failure(f"{given} is AFL's: fuzztui watch {given}", NOT_RUNNING)
        return _only_or_latest(given)
    if len(given.parts) == 1 and is_run(Path("runs") / given):
        return (Path("runs") / given).absolute()
    raise Failure(f"{given}: there is no such run directory", NOT_RUNNING)


def _run_of(file: Path, given: Path) -> Path:
    try:
        loaded = load(file)
    except CampaignError as e:
        raise Failure(str(e), USAGE) from None
    if run := newest(loaded):
        return run
    where = loaded.campaign.output
    refuse_foreign(where, loaded)
    if is_run(where) and not has_begun(where):
        return where  # what is asked of it says so
    raise Failure(f"{given} has no run yet ({where}); start it: fuzztui {given}", NOT_RUNNING)


def _only_or_latest(parent: Path) -> Path:
    runs = [p for p in parent.iterdir() if is_run(p)] if parent.is_dir() else []
    if not runs:
        elsewhere = ", ".join(sorted(str(run) for run in announced()))
        raise Failure(
            f"no run in {parent}; name a run directory, or start one: fuzztui CAMPAIGN.toml"
            + (f" (running elsewhere: {elsewhere})" if elsewhere else ""),
            NOT_RUNNING,
        )
    alive = [p for p in runs if running(p)]
    if len(alive) > 1:
        names = ", ".join(str(p) for p in sorted(alive))
        raise Failure(f"several campaigns run here, name one: {names}", USAGE)
    begun = [p for p in runs if any((p / "log").iterdir())] or runs
    return alive[0] if alive else max(begun, key=lambda p: (p / "log").stat().st_mtime)


@dataclass(frozen=True, slots=True)
class Standing:
    """The newest state of a run and whether its supervisor lives (its pid)."""

    state: State
    pid: int | None
    trouble: str = ""
    """What its supervisor cannot write into the log now, in its words."""
    gone_s: float = 0.0
    """For how long nobody has supervised it, where somebody should."""

    @property
    def word(self) -> str:
        """The state's name; ``interrupted`` when the supervisor died in the middle."""
        if self.pid is None and self.state.state not in (*ENDED, "empty"):
            return "interrupted"
        return self.state.state


def standing(run: Path) -> Standing:
    """Fold the whole log of a run (by its last checkpoint). Raises :class:`Failure`."""
    pid = running(run)
    now = Standing(fold_all(open_session(run)), pid, trouble(run))
    if now.word != "interrupted":
        return now
    state = now.state
    gone_s = max(0.0, time.time() - wall_time(state, state.t)) if state.wall else 0.0
    _left_alone(state, unsupervised(run))
    return replace(now, gone_s=gone_s)


def unsupervised(run: Path) -> list[str]:
    """The instances whose engines still run, although their supervisor is gone."""
    from fuzztui.supervise.processes import EngineProcess  # and asyncio, which few commands need

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

    Raises :class:`Failure` when there is no log.
    """
    try:
        return Session(path, LiveClock() if at is None else ReplayClock(t=at, paused=True))
    except (LogError, OSError) as e:
        raise Failure(str(e), NOT_RUNNING) from None


def fold_all(session: Session) -> State:
    """Apply everything that the session's clock allows now."""
    try:
        while session.poll().records or session.behind:
            pass
    except (LogError, OSError) as e:
        raise Failure(f"the campaign log cannot be read any more: {e}", NOT_RUNNING) from None
    return session.state
