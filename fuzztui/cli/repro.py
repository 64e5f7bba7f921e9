"""``repro``: run the target on inputs, and show what happens."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from fuzztui.cli.output import DONE, FAILED, FINDINGS, NOT_RUNNING, CliError, UsageError, say
from fuzztui.cli.repro_program import code_of, run_programs
from fuzztui.cli.repro_watched import repro_watched
from fuzztui.cli.runs import find_run, standing
from fuzztui.cli.target_runs import of_target
from fuzztui.cli.watched_status import afl_directories, finding_line
from fuzztui.engines.execute.overseer import Overseer
from fuzztui.features.minimise.program_inputs import judged_by_oracle
from fuzztui.features.minimise.rewrite import instance_of
from fuzztui.features.oracle.judge import OracleJudge
from fuzztui.features.watch.directories import Trees
from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign import Campaign, CampaignError, load
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.inprocess.spec import python_of, spec_near
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.supervise.launchers import CANNOT_START
from fuzztui.run.triage.afl import MAX_INPUT, category_of, programs_of
from fuzztui.run.triage.program import find_file


def repro(options: argparse.Namespace) -> int:
    """Run the target on each input and show what happens.

    Returns FAILED if any could not be run, else FINDINGS if the target fails on any, else DONE.
    """
    trees = afl_directories(options.run)
    if not options.files:
        return _list(options.run, trees)
    run_dir = RunDir(find_run(options.run)) if trees is None else None
    if run_dir is None:
        runs = [partial(repro_watched, options.run, given) for given in options.files]
    else:  # a wrong name is reported before the first one runs
        files = [finding_file(run_dir, given) for given in options.files]
        runs = [partial(_repro_one, run_dir, file) for file in files]
    codes = []
    for n, (given, run) in enumerate(zip(options.files, runs, strict=True), 1):
        if len(runs) > 1:
            say(f"input {n} of {len(runs)}: {given}")
        codes.append(run())
    return FAILED if FAILED in codes else max(codes)


def _repro_one(run_dir: RunDir, file: Path) -> int:
    run_dir, file = of_target(run_dir, file)
    campaign = afl_campaign(run_dir)
    slot = _slot_of(run_dir, file)
    if campaign is None:
        code = repro_by_engine(run_dir, file)
    else:
        code = _repro_afl(campaign, run_dir, file, "" if slot else category_of(file))
    if slot and code == DONE:
        known = (m.id for m in standing(run_dir.path).state.mutants.values() if m.slot == slot)
        mutant = visible(next(known, "a mutant"))
        say(f"this was the original; {file.parent.name}/{file.name} is of {slot}, with {mutant}")
    return code


def _list(run: Path, trees: Trees | None) -> int:
    """Print the findings among which the user may choose; always raises :class:`UsageError`."""
    from fuzztui.features.watch.snapshot import snapshot

    state = standing(find_run(run)).state if trees is None else snapshot(trees).state
    for finding in sorted(state.findings.values(), key=lambda f: f.t):
        print(visible(finding_line(finding)))
    words = f"run one of these: fuzztui repro {run} FILE" if state.findings else "no findings"
    raise UsageError(f"{run}: {words}")


def finding_file(run_dir: RunDir, given: str) -> Path:
    """Return the path of a file in the current directory or the run; AFL++ may have moved it."""
    candidates = Path(given), run_dir.out / given, run_dir.path / given
    for candidate in candidates:
        path = candidate.absolute()
        if path.is_file():
            return path
        # AFL++ moves INSTANCE/crashes/NAME to INSTANCE/crashes.DATE/NAME.
        if found := find_file(path.parent.parent, f"{path.parent.name}/{path.name}"):
            return found
    if any(candidate.exists() for candidate in candidates):  # a FIFO, a device, a directory
        raise UsageError(f"{given}: not a regular file")
    raise UsageError(f"{given}: there is no such file here or in {run_dir.out}")


def afl_campaign(run_dir: RunDir) -> Campaign | None:
    """Return the campaign of a run; None if its engine is an in-process engine."""
    try:
        campaign = load(run_dir.campaign).campaign
    except CampaignError as e:
        if any(run_dir.out.glob("*/spec.json")):  # an in-process engine, which needs only this file
            return None
        raise UsageError(str(e)) from None
    return campaign if campaign.kind == "afl" else None


def _slot_of(run_dir: RunDir, file: Path) -> str:
    """Return the slot of the mutant's turn whose directory contains the file; "" if none does."""
    mutants, file = run_dir.mutants.resolve(), file.resolve()
    parts = file.relative_to(mutants).parts if file.is_relative_to(mutants) else ()
    return parts[1] if len(parts) > 2 and parts[0] in ("slots", "aside") else ""


def _repro_afl(campaign: Campaign, run_dir: RunDir, file: Path, category: str) -> int:
    try:
        data = read_regular(file, MAX_INPUT)
        if judged_by_oracle(campaign, run_dir, file):
            return _repro_oracle(OracleJudge.of(campaign), file, data)
        instance = instance_of(run_dir, file)
        programs = programs_of(campaign, instance, category)
        code = code_of(run_programs(programs, file, data, category))
        # A file of no instance may be a minimised difference.
        if code == DONE and instance is None and campaign.table("oracle"):
            return _repro_oracle(OracleJudge.of(campaign), file, data)
        return code
    except OSError as e:
        raise CliError(str(e)) from None


def _repro_oracle(judge: OracleJudge, file: Path, data: bytes) -> int:
    """Run the commands of ``[oracle]`` on the input. Raises SupervisorError, OSError."""
    found = asyncio.run(judge.findings(data))
    answers = found[-1][1] if found else asyncio.run(judge.ask(data))
    print(judge.report(answers, file), end="", flush=True)
    for finding, _ in found:
        say(f"{finding.category}: {finding.title}")
    if not found:
        say("the oracle reports no finding for this input")
    return FINDINGS if found else DONE


def repro_by_engine(run_dir: RunDir, file: Path, near: Path | None = None) -> int:
    """Run the input in an in-process engine, which prints the result.

    ``near``: a file of the instance whose engine to use, if ``file`` is elsewhere.
    """
    spec = spec_near(run_dir, near or file)
    if spec is None:
        raise CliError(f"{run_dir.path}: no instance was ever started in this run", NOT_RUNNING)
    python, spec_env = python_of(spec)
    package = run_dir.supervisor / "pkg"
    # PYTHONHASHSEED as in the campaign: a failure may depend on the order of a set.
    mark = ProcessMark(run_dir.path, f"repro-{os.getpid()}")
    env = {**os.environ, "PYTHONHASHSEED": "0", **spec_env, "PYTHONPATH": str(package), **mark.env}
    argv = [python, "-P", "-m", "fuzztui.engines", str(spec), "--repro", str(file)]
    # A target that stops its process group must not stop this process. At a terminal it may: the
    # user's shell reports it, and a separate process group could not read from the terminal.
    group = None if sys.stdin.isatty() else 0
    try:
        process = subprocess.Popen(argv, env=env, process_group=group)
    except OSError as e:
        raise CliError(f"{python}: cannot run the target's interpreter: {e.strerror}") from None
    overseer = Overseer(process.pid, mark.kill_leftovers)
    try:
        status = process.wait()
    finally:
        overseer.close()
        mark.kill_leftovers()
        process.wait()
    if overseer.why:
        say(f"hang: {overseer.why}")
    if status == CANNOT_START:
        return FAILED
    return DONE if status == 0 else FINDINGS  # also if the target kills its process
