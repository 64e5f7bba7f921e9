"""Seeds on which an AFL++ target fails: findings from the start.

afl-fuzz skips a seed that crashes or times out, and says so only in its own output, while such a
file is often an old crash or a regression test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from fuzztui.features.corpus.measure import Stopped, run_until
from fuzztui.features.corpus.starting import StartProgress, in_thread
from fuzztui.features.fuzzfirst.batch import CHUNK, AflBatch
from fuzztui.features.fuzzfirst.showmap import InputResult, read_input
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.files import files_in
from fuzztui.kernel.base.signals import signal_name
from fuzztui.kernel.base.text import several, visible
from fuzztui.kernel.model.passive import SEEDS
from fuzztui.kernel.wire.afl import seed_name
from fuzztui.kernel.wire.events import Message
from fuzztui.kernel.wire.finding_kinds import CRASH, CRASHES, HANG, HANGS
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.binaries import binaries_of, with_binary
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.triage.program import TargetProgram

LISTED: Final = 20
"""Failing seeds that the message names."""

_FOLDERS: Final = {CRASH.category: CRASHES, HANG.category: HANGS}


def keep_failing_seeds(
    campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
) -> Sequence[Message]:
    """Run each seed once, and keep those on which the target fails as findings of ``seeds``.

    With the plain binary, and with the one whose reports say most. Done at the first start only.
    Returns a message that names the failing seeds. Blocking. Raises :class:`SupervisorError`.
    """
    directory, done = run_dir.instance(SEEDS), run_dir.supervisor / "seeds-ran"
    try:
        blind = TargetProgram.of(campaign).blind  # -n: afl-showmap cannot run the target
    except SupervisorError as e:
        return [Message("warning", f"seeds: not run before the start: {e}")]
    if blind or done.exists():
        return ()
    files = list(files_in([run_dir.seeds]))
    shown = StartProgress(progress)
    try:
        failing = in_thread(lambda: _failing(campaign, run_dir, files, shown), shown.stopped)
        for folder in _FOLDERS.values() if failing else ():
            (directory / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        unlike = {(one.outcome, one.sig, one.edges): one for one in reversed(failing)}
        for number, one in enumerate(reversed(unlike.values())):
            _keep(directory, number, one)
        done.touch()
    except Stopped:
        raise SupervisorError("the start was cancelled while the seeds ran") from None
    except _NotRun as e:
        return [Message("warning", f"seeds: not run before the start: {e}")]
    except OSError as e:
        raise SupervisorError(f"{e.filename or directory}: {e.strerror or e}") from None
    if not failing:
        return ()
    names = [f"{visible(one.file.name)} ({_how(one)})" for one in failing[:LISTED]]
    names += [f"{len(failing) - LISTED:,} more"] if len(failing) > LISTED else []
    whole = several(len(files), "seed")
    kept = f" ({len(unlike):,} of them, which cover other edges)" * (len(unlike) < len(failing))
    text = f"the target fails on {len(failing):,} of {whole}, kept as findings{kept}: "
    text += ", ".join(names)
    progress(text)
    return [Message("warning", text)]


@dataclass(frozen=True, slots=True)
class _Failing:
    """A seed on which the target fails."""

    file: Path
    outcome: str
    sig: int
    edges: str
    """A digest of the covered edges."""

    @classmethod
    def of(cls, file: Path, result: InputResult) -> _Failing:
        digest = sha256(repr(sorted(result.trace)).encode()).hexdigest()
        return cls(file, result.outcome, result.sig, digest)


class _NotRun(Exception):
    """The target cannot be run on the seeds; the text is the reason."""


def _failing(
    campaign: Campaign, run_dir: RunDir, files: Sequence[Path], shown: StartProgress
) -> list[_Failing]:
    """Return the seeds on which a binary fails. Raises _NotRun."""
    reporting = [one for one in binaries_of(campaign) if one.variant.sanitizer][:1]
    failing: dict[Path, _Failing] = {}
    for binary in (None, *reporting):
        of = with_binary(campaign, binary)
        left = [file for file in files if file not in failing]
        what = f"running seeds{f' with {binary.name}' if binary else ''}"
        try:
            batch = AflBatch(of, run_dir, of.target["command"], "seeds")
            for at in range(0, len(left), CHUNK):  # not all at once: traces take memory
                some = left[at : at + CHUNK]
                show = partial(shown.show_part, what, (at, len(some), len(left)))
                found = run_until(shown.stopped, batch.run(some, show))
                for file, result in zip(some, found, strict=True):
                    if result.outcome in _FOLDERS:
                        failing[file] = _Failing.of(file, result)
        except SupervisorError as e:  # of this thread: that of a cancelled start is in another one
            raise _NotRun(str(e)) from None
    return list(failing.values())


def _keep(directory: Path, number: int, one: _Failing) -> None:
    """Write a finding under a name as AFL's. Raises OSError."""
    if (data := read_input(one.file)) is not None:
        name = seed_name(number, one.file.name, one.sig)
        replace_bytes(directory / _FOLDERS[one.outcome] / name, data, directory)


def _how(one: _Failing) -> str:
    return signal_name(one.sig) if one.sig else one.outcome
