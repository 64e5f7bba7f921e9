"""``engine.minimise_seeds``: only seeds that together cover what all of them cover are used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from fuzztui.features.corpus.choose import choose
from fuzztui.features.corpus.cmin import CminFailed, cmin
from fuzztui.features.corpus.entries import MAX_INPUT_BYTES, CorpusInputs, directory_inputs
from fuzztui.features.corpus.measure import Measurer, Stopped, run_until
from fuzztui.features.corpus.starting import StartProgress, in_thread
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.base.files import files_in, read_if_regular, read_json, temporary_directory
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.wire.events import Message
from fuzztui.run.afl.seeds import gather_seeds
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.ask import ask
from fuzztui.run.process.execute import ProcessMark

_MU2: Final = "mu2"
_OF_MUTANTS: Final = ("operators", "mutate", "oracle", "shard")
"""Keys of ``[engine]`` that decide which seeds kill which mutants."""

_Needed = tuple[list[int], str]
"""Indices of the seeds that are needed, and a note for the user."""
_MAX_JOBS: Final = 8
_MAX_PROGRAM: Final = 1 << 30


def minimise_seeds(
    campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
) -> Sequence[Message]:
    """Leave in the run's ``seeds/`` only what is needed; return a message for the log.

    Needed is what covers something, with mu2 also what kills mutants.
    With AFL++ afl-cmin decides; if it fails, all seeds are used. Seeds on which the target fails
    stay, because they are findings. Blocking. Raises :class:`SupervisorError`.
    """
    if not campaign.engine["seeds"]:
        return ()
    if campaign.kind != AFL:
        gather_seeds(campaign.engine["seeds"], run_dir.seeds, progress)
    try:
        with temporary_directory() as temporary:
            return [_minimised(campaign, run_dir, Path(temporary), progress)]
    except OSError as e:
        raise SupervisorError(
            f"engine.minimise_seeds: {e.filename or run_dir.seeds}: {e.strerror or e}"
        ) from None


def _minimised(
    campaign: Campaign, run_dir: RunDir, work: Path, progress: Callable[[str], None]
) -> Message:
    (work / "in").mkdir()
    inputs = directory_inputs(run_dir.seeds, work / "in")
    number = inputs.files
    digest = _digest(campaign, inputs)
    record = read_json(run_dir.minimised_seeds) or {}
    if record.get("digest") == digest and isinstance(record.get("kept"), list):
        kept = {str(sha) for sha in record["kept"]}
        note = ", as found at an earlier start"
    else:
        progress(f"running {several(number, 'seed')}, to leave out those that cover nothing new")
        (work / "runs").mkdir()
        try:
            shown = StartProgress(progress)
            at, note = in_thread(
                lambda: _needed(campaign, run_dir, inputs, work / "runs", shown), shown.stopped
            )
        except Stopped:
            raise SupervisorError("the start was cancelled while the seeds ran") from None
        except (CminFailed, SupervisorError) as e:
            text = (
                f"seeds: all {number:,} are used, because minimising them failed: {brief(str(e))}"
            )
            progress(text)
            return Message("warning", text)
        kept = {inputs.entries[n].sha256 for n in at}
        replace_text(run_dir.minimised_seeds, json.dumps({"digest": digest, "kept": sorted(kept)}))
    needless = {entry.sha256 for entry in inputs.entries} - kept
    seen: set[str] = set()
    left = 0
    for file in files_in([run_dir.seeds]):
        data = read_if_regular(file, MAX_INPUT_BYTES + 1)
        if data is None or len(data) > MAX_INPUT_BYTES:  # no entry: it was not run
            continue
        sha = hashlib.sha256(data).hexdigest()
        if sha in needless or sha in seen:
            file.unlink(missing_ok=True)
        else:
            left += 1
        seen.add(sha)
    kill = ", kill what all kill" if campaign.kind == _MU2 else ""
    text = f"seeds: {left:,} of {number:,} cover what all cover{kill}, and are used{note}"
    progress(text)
    return Message("info", text)


def _digest(campaign: Campaign, inputs: CorpusInputs) -> str:
    """A digest of what the result depends on: seeds, settings, and a program of AFL++."""
    program = b""
    if campaign.kind == AFL:
        program = read_if_regular(campaign.target["command"][0], _MAX_PROGRAM) or b""
    of_mutants = [campaign.engine.get(key) for key in _OF_MUTANTS] if campaign.kind == _MU2 else []
    parts = [
        sorted(entry.sha256 for entry in inputs.entries),
        hashlib.sha256(program).hexdigest(),
        repr(sorted(campaign.target.items())),
        repr(campaign.engine.get("extra_args")),
        repr(campaign.engine.get("afl_path")),
        *map(repr, of_mutants),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _needed(
    campaign: Campaign,
    run_dir: RunDir,
    inputs: CorpusInputs,
    work: Path,
    shown: StartProgress,
) -> _Needed:
    jobs = min(_MAX_JOBS, usable_cpus())

    def show(done: int, total: int) -> None:
        shown.show("running seeds", done, total)

    measurer = Measurer(campaign, run_dir.instance("main"), work, jobs, show, shown.stopped)
    copies = [entry.copy for entry in inputs.entries]
    is_afl = campaign.kind == AFL
    # afl-cmin ends at the first seed that crashes or times out (4.04c).
    measured = measurer.measure(copies, 1 if is_afl else 2)
    failing = [at for at, one in enumerate(measured.inputs) if one.fails]
    note = f"; the target fails on {several(len(failing), 'seed')}" if failing else ""
    if not is_afl:
        chosen = {one.at for one in choose(inputs.entries, measured).chosen}
        if campaign.kind == _MU2:
            chosen |= _killers(campaign, run_dir, copies, shown)
        return sorted(chosen.union(failing)), note
    well = [at for at, one in enumerate(measured.inputs) if not one.fails]
    if not well:
        return failing, note
    mark = ProcessMark(run_dir.path, "cmin")

    def read(done: int) -> None:
        shown.show("afl-cmin", done, len(well))

    kept = run_until(shown.stopped, cmin(campaign, [copies[at] for at in well], mark, read))
    return [*(well[at] for at in kept), *failing], note


def _killers(
    campaign: Campaign, run_dir: RunDir, copies: Sequence[Path], shown: StartProgress
) -> set[int]:
    """The seeds that a score of them names as killers. Raises :class:`SupervisorError`."""
    numbers = {str(copy): at for at, copy in enumerate(copies)}
    folders = sorted({str(copy.parent) for copy in copies})
    jobs = min(_MAX_JOBS, usable_cpus())
    question = ["--jobs", str(jobs), "--within", "0", "--score", *folders]
    with closing(ask(campaign, question, run_dir.instance("main"))) as answers:
        for answer in answers:
            if shown.stopped.is_set():
                raise Stopped
            if isinstance(result := answer.get("result"), dict):
                killers = {str(row.get("killer")) for row in result["mutants"]}
                return {numbers[killer] for killer in killers & numbers.keys()}
            match answer.get("progress"):
                case {"done": int(done), "total": int(total)}:
                    shown.show("running mutants on seeds", done, total)
    raise SupervisorError("the engine ended without a score")
