"""``fuzztui adopt DIR``: supervise a fleet of afl-fuzz that was started by hand."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from pathlib import Path

from fuzztui.cli.asking import agreed
from fuzztui.cli.output import FAILED, CliError, UsageError, say, short_path
from fuzztui.cli.progress import Waiting
from fuzztui.cli.run import load_file, run_file, show, start_campaign
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.text import ago, aligned, brief, listed, several, visible
from fuzztui.kernel.wire.afl import MAX_COMMAND_LINE
from fuzztui.run.campaign import FrozenCampaign
from fuzztui.run.campaign.model import FROZEN
from fuzztui.tools.adopt.campaign import campaign_of
from fuzztui.tools.adopt.fleet import FoundFleet, FoundInstance, check_directory, survey
from fuzztui.tools.adopt.processes import END_S, LiveFuzzer, end, living
from fuzztui.tools.adopt.run import has_started, make_run, remembered, run_of_fleet

AGAIN_S = 1.0
"""Seconds within which a script has started an ended afl-fuzz again."""


def adopt(options: argparse.Namespace) -> int:
    """Show the fleet and, with the user's consent, stop it and start it again as a run."""
    before = run_of_fleet(Path(os.path.realpath(options.directory)))
    if before and has_started(before):
        say(f"{options.directory} is the sync directory of the run {short_path(before)}")
        ours = load_file(before / FROZEN, []).campaign.own_names
        alive = living(before / "out").values()
        if strangers := [one for one in alive if one.name in ours and not one.problem]:
            raise UsageError(f"{_shown(strangers)}: was started by hand; end it, and try again")
        return run_file(before / FROZEN, options)
    directory = check_directory(options.directory)
    run = (options.output or before or Path("runs") / directory.name).absolute()
    say(f"looking at {directory}")
    fleet = survey(directory, options.without, remembered(run))
    print("\n".join(visible(line) for line in _described(fleet)), flush=True)
    loaded = campaign_of(fleet, run)
    print("\n".join(visible(line) for line in _plan(fleet, loaded)), flush=True)
    if not options.yes and not _consent(directory):
        return FAILED
    make_run(loaded, fleet)
    try:
        _end(fleet)
        start_campaign(load_file(run / FROZEN, []), "adopting")
    except (UserError, KeyboardInterrupt):
        say(f"not adopted; nothing in {directory} is lost. The same command tries again, and these")
        say("lines, each in a shell of its own, go on without fuzztui:")
        for command in fleet.commands:
            say(command.by_hand(directory))
        raise
    return show(options, run, over=False)


def _described(fleet: FoundFleet) -> list[str]:
    """The lines about what is there."""
    rows = [("instance", "state", "entries", "crashes", "executions")]
    rows += [_row(one) for one in fleet.instances]
    table = [*aligned(rows, right={2, 3, 4})]
    lines = [table[0]]
    for one, row in zip(fleet.instances, table[1:], strict=True):
        lines.append(row)
        if one.command:
            variables = [f"{name}={value}" for name, value in one.command.env.items()]
            lines.append(
                f"    {brief(shlex.join([*variables, *one.command.argv]), MAX_COMMAND_LINE)}"
            )
        lines += [f"    cannot be adopted: {one.problem}"] if one.problem else []
    if fleet.left:
        lines.append(
            f"left as {'it is' if len(fleet.left) == 1 else 'they are'}: {listed(fleet.left)}"
        )
    return lines


def _row(one: FoundInstance) -> tuple[str, str, str, str, str]:
    state = "dead"
    if one.live:
        age = ago(time.time() - one.live.began)
        state = f"{one.seen.state or 'running'}, process {one.live.process.pid}, for {age}"
    elif one.problem:
        state = one.seen.state
    stats = one.seen.stats
    counts = (stats.corpus, one.seen.crash_files, stats.execs)
    return (one.name, state, *(f"{count:,}" for count in counts))  # type: ignore[return-value]


def _plan(fleet: FoundFleet, loaded: FrozenCampaign) -> list[str]:
    """The lines about what fuzztui will do."""
    run, count = loaded.campaign.output, len(fleet.instances)
    alive = [one.name for one in fleet.instances if one.live]
    lines = [
        f"fuzztui will make the run {short_path(run)}: its directory out is a symbolic link to "
        f"{fleet.directory}, whose files stay there;"
    ]
    if alive:
        lines.append(
            f"end {several(len(alive), 'afl-fuzz', 'afl-fuzz')} ({listed(alive)}) with SIGTERM, and"
            " wait until the files are written;"
        )
    again = "it" if count == 1 else "each"
    lines.append(
        f"start {again} again under the same name, with the same program, options and variables, "
        "and -i -."
    )
    if not fleet.commands[0].is_main:
        lines.append(f"No instance is -M: {fleet.commands[0].name} becomes the main one.")
    if any(not one.live for one in fleet.instances):
        lines.append("Of dead instances only variables that begin with AFL_ are known.")
    return lines


def _consent(directory: Path) -> bool:
    if not sys.stdin.isatty():
        say("nothing was changed: no terminal could be asked; if you agree, add --yes")
        return False
    return agreed(f"Adopt the fleet in {directory}?")


def _end(fleet: FoundFleet) -> None:
    """Stop the living processes. Raises :class:`CliError` if one goes on, or has come back."""
    names = {one.name for one in fleet.instances}
    fuzzers = [one.live for one in fleet.instances if one.live]
    if fuzzers:
        say(f"ending {several(len(fuzzers), 'afl-fuzz', 'afl-fuzz')}: mostly within a second")
    with Waiting() as waiting:
        left = end(fuzzers, waiting)
    if left:
        raise CliError(
            f"{_shown(left)}: still runs {END_S:.0f} s after SIGTERM; nothing was killed"
        )
    time.sleep(AGAIN_S if fuzzers else 0.0)
    if back := [one for name, one in living(fleet.directory).items() if name in names]:
        raise CliError(f"{_shown(back)}: was started again: stop the script that does this")


def _shown(fuzzers: list[LiveFuzzer]) -> str:
    return listed([f"{one.name} (process {one.process.pid})" for one in fuzzers])
