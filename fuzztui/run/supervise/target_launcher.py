"""The launcher of a campaign of several targets: each instance is the supervisor of one target.

The run of a target is ``RUN/targets/NAME``, an ordinary run that can be attached and replayed. Its
supervisor's process is the instance ``NAME`` of the whole campaign; what the target's campaign
reports to that instance's directory, the feature ``targets`` writes.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import real
from fuzztui.kernel.base.files import read_json, read_tail
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.events import Message, Stats
from fuzztui.run.campaign import Campaign, CampaignError, FrozenCampaign, load, write_frozen
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run
from fuzztui.run.instances.launcher import Launch, Launcher
from fuzztui.run.instances.life import EndReason
from fuzztui.run.observe.stats_reader import FileStats, StatsSource

PART_FILE: Final = "supervisor/part.json"
"""In a target's run: the directory of its instance in the whole campaign."""

ENDED_FILE: Final = "ended.json"
"""In the instance's directory: how the target's campaign has ended."""

PAUSED_FILE: Final = "paused"
"""In the instance's directory: there while a user has paused the target in its own run."""

FIND_AGE: Final = "find_age"
"""The key in ``fuzzer_stats`` for the seconds since the last find of the target's own engines."""

FINISHED: Final = "finished"

FINISH: Final = signal.SIGRTMIN
"""Sent to a target's supervisor when the whole campaign has finished: it ends its engines, and has
its last findings run again."""

WHOLE_FINISHED: Final = EndReason("stopped", "the whole campaign has finished", is_patient=True)
"""Why that supervisor ends its own campaign: it may be started again."""

_CANNOT_START: Final = 1
_TAIL: Final = 4096

_IDENTITY: Final = (("engine", "kind"), ("target", "function"), ("target", "command"))


class TargetRuns(Launcher):
    """The supervisors of the targets. They are paused and resumed by signals."""

    signals: Mapping[str, int] = {"pause": signal.SIGUSR1, "resume": signal.SIGUSR2}
    stall_s = 300.0  # a target may be built first, and has last findings
    grace_s = 60.0
    finish_signal = FINISH

    def setup(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        """Check that the run of each target is free. Raises :class:`SupervisorError`."""
        for part in campaign.targets:
            where = part.loaded.campaign.output
            if pid := running(where):
                raise SupervisorError(
                    f"{where}: process {pid} already supervises the target {part.name}; "
                    f"'fuzztui ctl {where} stop' ends it"
                )
            _refuse_other_target(where, part.loaded)
        return ()

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Make the run of a target; return the command line of the target's supervisor."""
        part = campaign.targets[index]
        where = part.loaded.campaign.output
        directory = run_dir.instance(part.name)
        _refuse_other_target(where, part.loaded)
        where.parent.mkdir(mode=0o700, exist_ok=True)
        prepare_run(where)
        write_frozen(part.loaded, where)
        if _end(directory)[0] != FINISHED:  # a campaign whose budget is spent does not start again
            (directory / ENDED_FILE).unlink(missing_ok=True)
        replace_text(where / PART_FILE, json.dumps({"directory": str(directory)}))
        return Launch([sys.executable, "-P", "-m", "fuzztui.run.supervise.part", str(where)])

    def refusal(self, directory: Path, status: int | None) -> str:
        """Return why the target's campaign could not start, or has failed."""
        state, reason = _end(directory)
        if status == _CANNOT_START and state != FINISHED:
            return _last_error(directory) or f"cannot start: see {directory.name}/worker.log"
        return reason or "its campaign has failed" if state == "failed" else ""

    def limit_reached(self, directory: Path, status: int | None) -> str:
        """Return how the target's campaign has ended; an empty string if its supervisor died."""
        state, reason = _end(directory)
        return (f"{state}: {reason}" if reason else state) if state in ENDED else ""

    def stats_source(self, run_dir: RunDir, name: str, known: Instance) -> StatsSource:
        """Return the source of the sums of a target's instances."""
        return _Sums(run_dir.instance(name), name)


class _Sums(FileStats):
    """The sums of a target's instances, with the time of the last find."""

    def look(self, *, last: bool = False) -> Stats | None:
        """Return new statistics; None if there are none."""
        if (stats := super().look(last=last)) is None:
            return None
        try:
            age = real(float(self.values.get(FIND_AGE, "")), -1.0)
        except ValueError:
            return stats
        return replace(stats, find_age=age + stats.age if age >= 0 else -1.0)


def part_directory(run_dir: RunDir) -> Path | None:
    """Return the directory of a target's instance in the whole campaign; None: it is no part."""
    match read_json(run_dir.path / PART_FILE):
        case {"directory": str(found)} if Path(found).is_dir():
            return Path(found)
    return None


def _end(directory: Path) -> tuple[str, str]:
    """The state and the reason with which a target's campaign has ended; empty: it has not."""
    match read_json(directory / ENDED_FILE):
        case {"state": str(state), "reason": str(reason)}:
            return state, reason
    return "", ""


def _last_error(directory: Path) -> str:
    """The last error in the log of a target's supervisor, which may have several lines."""
    _, found, error = read_tail(directory / "worker.log", _TAIL).rpartition("fuzztui: ")
    return " ".join(error.split())[:1000] if found else ""


def _refuse_other_target(where: Path, loaded: FrozenCampaign) -> None:
    """Raise :class:`SupervisorError` if the run of a target is of another one."""
    try:
        before = load(where / "campaign.toml").frozen
    except CampaignError:
        return
    for table, key in _IDENTITY:
        old, new = before[table].get(key), loaded.frozen[table].get(key)
        if old != new:
            raise SupervisorError(
                f"{where} is of another target: {table}.{key} is {old!r} there, {new!r} now; "
                "give the target another name, or start another run with --new"
            )
