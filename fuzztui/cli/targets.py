"""``fuzztui targets``: the goals of a campaign, and the types that influence them."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace

from fuzztui.cli.json_output import print_json
from fuzztui.cli.mutant_lines import percent
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, at_terminal, say
from fuzztui.cli.progress import Counter
from fuzztui.cli.run import import_target, unfit
from fuzztui.cli.samples import campaign_or_project, named
from fuzztui.cli.since import code_changes, nothing_changed
from fuzztui.features.targeting.analysis import (
    AnalysedGoal,
    Request,
    TargetingAnalysis,
    TargetsError,
    find_targets,
)
from fuzztui.features.targeting.screen.labels import MIN_ROOM, all_of, nearest, place, short_names
from fuzztui.kernel.base.text import several, visible
from fuzztui.run.campaign import FrozenCampaign, load
from fuzztui.run.campaign.rundir import Unfit
from fuzztui.run.home.finding import is_run
from fuzztui.run.inprocess.ask import unknown_aliases

_LOCATION = 0.45
"""Share of a line for the location of a goal, if the line does not fit."""


def targets(options: argparse.Namespace) -> int:
    """Print the goals of a campaign as a table, or the static analysis as JSON."""
    path = campaign_or_project(options.path)
    file = path / "campaign.toml" if path.is_dir() and is_run(path) else named(path)[0]
    if not file.exists():
        raise CliError(f"{path}: there is no such campaign file or run directory", NOT_RUNNING)
    loaded = load(file, options.overrides)
    code = code_changes(options)
    document = _find(loaded, options)
    if code is not None:
        files = {module.name: module.file for module in document.modules}
        goals = (
            g for g in document.targets if code.in_changed_code(files.get(g.module, ""), g.line)
        )
        document = replace(document, targets=tuple(goals))
        if not document.targets:
            nothing_changed(code, "goals")
    if options.json:
        print_json("targets", document.to_json())
        return DONE
    brief = at_terminal() and not options.all
    for line in table(document, shutil.get_terminal_size().columns if brief else 0):
        print(line)
    print(summary(document))
    for note in document.notes:
        say(note)
    known = [influence.name for influence in document.types]
    aliases = loaded.campaign.engine.get("aliases", {})
    for name, message in unknown_aliases(aliases, known).items():
        say(f'engine.aliases: "{name}": {message}')
    return DONE


def _find(loaded: FrozenCampaign, options: argparse.Namespace) -> TargetingAnalysis:
    """Run the static analysis on an existing target. Raises :class:`CliError`."""
    campaign = loaded.campaign
    observed = str(options.observed.absolute()) if options.observed else ""
    engine = campaign.engine if options.run else None
    try:
        request = Request.of_target(campaign.target, observed=observed, engine=engine)
        with Counter() as counter:
            document = find_targets(request, counter.show_now)
    except TargetsError as e:
        key = re.match(r"target\.\w+", str(e))
        raise unfit(loaded, Unfit(str(e), key[0] if key else "target")) from None
    if document.unsure and options.run:
        import_target(loaded)
    elif document.unsure:
        say(f"{' and '.join(document.unsure)}: not checked, as --no-run imports nothing")
    return document


def table(document: TargetingAnalysis, width: int = 0) -> Iterator[str]:
    """Yield a line for each goal: its location, and its types with distances, nearest first.

    Goals that are not reachable from the target function come last. ``width``: columns; unreachable
    goals are then only counted, and if lines are longer, only the nearest types are listed, with
    short names. 0: everything in full.
    """
    rows = sorted(document.targets, key=lambda t: not t.reachable)
    shown = [t for t in rows if t.reachable or not width]
    wide = max((len(visible(t.location)) for t in shown), default=0)
    lines = [f"{visible(t.location):<{wide}}  {_in_full(t)}" for t in shown]
    if width and max(map(len, lines), default=0) > width:
        wide = min(wide, int(width * _LOCATION))
        room = max(width - wide - 2, MIN_ROOM)
        short = short_names(t.name for t in document.types)
        lines = [
            f"{place(t.location, wide):<{wide}}  {nearest(_types(t), short, room)}" for t in shown
        ]
    yield from lines
    if further := len(rows) - len(shown):
        are = "is" if further == 1 else "are"
        yield f"{several(further, 'goal')} {are} not reachable from the target; see --all"


def _types(target: AnalysedGoal) -> list[tuple[str, int]]:
    return [(t.name, t.distance) for t in target.types]


def _in_full(target: AnalysedGoal) -> str:
    if target.never:
        return "(never taken, as mypy infers)"
    return "(not reachable) " * (not target.reachable) + all_of(_types(target))


def summary(document: TargetingAnalysis) -> str:
    """Return one line with the numbers of goals, with and without a type, and of types."""
    taken = [t for t in document.targets if not t.never]
    total, typed = len(taken), sum(1 for t in taken if t.types)
    share = f" ({percent(typed / total)})" if total else ""
    return (
        f"{several(total, 'goal')}: {typed:,} with a type{share}, {total - typed:,} without;"
        f" {several(len(document.types), 'type')}"
    )
