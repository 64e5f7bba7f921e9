"""``status``: print the state of a run or of an AFL output directory, as text or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

from fuzztui.cli.host_lines import host_lines, host_rows
from fuzztui.cli.json_output import print_json
from fuzztui.cli.mutant_lines import found_rows, status_rows
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, duration, speed, still_run
from fuzztui.cli.properties import property_lines
from fuzztui.cli.runs import RunStatus, find_run, no_records, standing, unsupervised
from fuzztui.cli.watched_status import (
    afl_directories,
    coverage_text,
    figure_rows,
    watched_object,
    watched_text,
)
from fuzztui.cli.worklist import folded_slots, stage_rows
from fuzztui.features.comparisons.fold import made_for_comparisons
from fuzztui.kernel.base.text import ago, brief, clock, several
from fuzztui.kernel.model.discovery import discovery_rate, discovery_text
from fuzztui.kernel.model.feature import features, list_of
from fuzztui.kernel.model.finding_tallies import FindingTally, files_of, groups, tallies
from fuzztui.kernel.model.host_summary import host_summaries, is_reached
from fuzztui.kernel.model.measured import unmeasured
from fuzztui.kernel.model.passive import MUTANT_INPUTS, ORACLE, SEEDS, to_look_at
from fuzztui.kernel.model.receipts import receipts
from fuzztui.kernel.model.selectors import (
    ENDED,
    exact_words,
    fuzzing_time,
    instance_throughput,
    other_text,
    overtime,
    running_time,
    throughput,
    totals,
)
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.model.stats import PASSIVE
from fuzztui.kernel.model.story import story
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.model.yields import CampaignYields, campaign_yields, rate_words, yield_words
from fuzztui.kernel.remote.mirrored import origin_of, run_name
from fuzztui.kernel.wire.finding_kinds import CRASH, CRASHES, KINDS
from fuzztui.kernel.wire.severity import beside
from fuzztui.kernel.wire.verdicts import NEW, label
from fuzztui.tools.status.status import figures_of_packages, status_dict

FRESH_S = 3.0
"""Seconds up to which ``status`` does not print the age of an instance's statistics."""

MAX_GROUPS = 50
"""Maximum number of finding groups that ``status`` lists."""

STEERED = 3
"""Number of commands whose receipts ``status`` lists, the latest ones."""


def status(options: argparse.Namespace) -> int:
    """Print the status of a run or of an AFL output directory: a page of text or a JSON object."""
    if (trees := afl_directories(options.run, *options.also)) is not None:
        from fuzztui.features.watch.snapshot import snapshot

        seen = snapshot(trees)
        if options.json:
            whole = watched_object(options.run, seen)
            print_json("status", {**whole, "run": None if options.also else whole["run"]})
        else:
            print(watched_text(options.run, seen))
        return DONE
    run = find_run(options.run)
    now = standing(run)
    if now.problems and not now.state.seq and now.pid is None:
        if options.json:
            print_json("status", status_object(run, now))
        raise no_records(run, now.problems)
    if now.state_name == "empty" and now.pid is None:
        # A campaign that could not start has left no frozen copy.
        file = run / "campaign.toml" if (run / "campaign.toml").exists() else "CAMPAIGN.toml"
        raise CliError(
            f"{run_name(run)}: the campaign was never started; start it with: fuzztui {file}",
            NOT_RUNNING,
        )
    if options.json:
        print_json("status", status_object(run, now))
    else:
        print(status_text(run, now))
    return DONE


def status_object(run: Path, now: RunStatus) -> dict[str, object]:
    """Return the object of ``status --json``."""
    whole = {
        **status_dict(now.state),
        "state": now.state_name,
        "run": run_name(run),
        "pid": now.pid,
    }
    whole["trouble"] = now.trouble or None
    whole |= {"problems": [*now.problems], "at_least": now.is_lower_bound}
    for row in whole["instances"] if now.gone_s else ():
        for age in ("age_s", "slow_age_s"):
            row[age] = None if row[age] is None else round(row[age] + now.gone_s, 3)
    for row in whole["hosts"] if now.gone_s else ():
        for age in ("age_s", "for_s"):
            row[age] = None if row[age] is None else round(row[age] + now.gone_s, 3)
    return whole


def status_rows_of(run: Path, now: RunStatus) -> list[tuple[str, str]]:
    """Return the rows of ``status``, without the lines about instances and findings."""
    state, t = now.state, totals(now.state)
    reason = f" ({state.reason})" if state.reason else ""
    over = state.state in ENDED
    # The campaign time was lost with the records: an average or a part of a budget would be wrong.
    whole_time = not (over and state.lost)
    budget = ""
    if state.budget_s and whole_time:
        budget = f" of {duration(state.budget_s)}"
        budget += "" if over or overtime(state) else exact_words(state.exact_s, duration)
    elif state.budget_trials and whole_time:
        whole = several(state.budget_trials, "trial")
        budget = f", {t.stats.execs * 100 // state.budget_trials}% of {whole}"
    average = " on average" if over else ""
    per_second = f"  at {speed(throughput(state))}{average}" if whole_time else ""
    least = "at least " if now.is_lower_bound else ""
    known = ", of the known mutants" if least else ""  # not "at least": a ratio may fall, too
    discovery, all_yields = discovery_rate(state), campaign_yields(state)
    yields = all_yields.campaign
    about_mutants = stage_rows(state) if state.stage else status_rows(state)
    return [
        ("campaign", f"{state.name}  [{state.engine}]  {state.target}"),
        ("state", f"{now.state_name}{reason}"),
        *([("measured", f"nothing: {why}")] if (why := unmeasured(state)) else []),
        *([("trouble", now.trouble)] if now.trouble else []),
        *host_rows(state, now.gone_s),
        *([("log", _lost(now))] if least else []),
        ("elapsed", _elapsed(state, budget)),
        ("execs", f"{least}{t.stats.execs:,}{per_second}"),
        ("corpus", f"{least}{t.stats.corpus:,}{_for_comparisons(state)}"),
        ("coverage", (least if t.stats.edges >= 0 else "") + coverage_text(t)),
        *figure_rows(t, least),
        *([("discovery", discovery_text(discovery))] if discovery else []),
        *([("yield", f"each CPU hour {yield_words(yields)}")] if yields.whole.known else []),
        *_yield_rows(all_yields),
        *_shard(state),
        *((name, text + known * (name in ("mutants", "score"))) for name, text in about_mutants),
        *_rows_of_features(state, run),
        *_steering(state),
        *found_rows(state, at_least=now.is_lower_bound),
        *_added(state),
        ("run", run_name(run)),
    ]


def _rows_of_features(state: State, run: Path) -> Iterator[tuple[str, str]]:
    """The rows of features; of one that fails, the error."""
    for feature in features():
        if feature.rows:
            failed = partial(_failed_row, feature.name)
            yield from feature.made_or(feature.rows, _as_rows, failed, state, run)


def _steering(state: State) -> Iterator[tuple[str, str]]:
    """The rows about what has come since users steered, the latest command first."""
    for n, receipt in enumerate(islice(receipts(state), STEERED)):
        yield "" if n else "steering", f"{clock(receipt.effect.t)} {receipt.what}: {receipt.text}"


def _as_rows(made: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(brief(str(name)), str(text)) for name, text in list_of(tuple, made)]


def _failed_row(name: str, error: str) -> list[tuple[str, str]]:
    return [(brief(name), error)]


def _added(state: State) -> Iterator[tuple[str, str]]:
    """The figures of installed features."""
    for name, figures in figures_of_packages(state).items():
        texts = (
            f"{key} {value if isinstance(value, str) else json.dumps(value)}"
            for key, value in figures.items()
        )
        yield brief(name), ", ".join(texts)


def _shard(state: State) -> Iterator[tuple[str, str]]:
    """The row about the part of the program's mutants that the campaign has."""
    if state.shard:
        whole = several(state.shard_mutants, "mutant")
        numbers = ", ".join(map(str, state.shard_numbers))
        yield "shard", f"{brief(numbers)} of {state.shards}, of {whole} in all"


def status_text(run: Path, now: RunStatus) -> str:
    """Return the text that ``status`` prints: aligned rows, then a line for each instance."""
    state, rows = now.state, status_rows_of(run, now)
    lines = [f"{name:<9} {brief(text)}" for name, text in [*rows, *_story_rows(state)]]
    shown, folded = folded_slots(state)
    found = tallies(state)
    width = max([9, *(len(brief(i.id)) for i in shown)])
    for host in host_summaries(state, found).values():
        lines += host_lines(host, state, now.gone_s)
        for i in (i for i in shown if i.host == host.name):
            lines += [f"  {line}" for line in _instance_lines(i, now, found, width)]
    for i in (i for i in shown if i.host not in state.hosts):
        lines += _instance_lines(i, now, found, width)
    lines += [folded] if folded else []
    lines += property_lines(state)
    for group in islice((g for g in groups(state) if g.signature), MAX_GROUPS):
        finding = group.first
        place = f" at {finding.place}" if finding.place else ""
        verdict = verdict_of(state, finding.signature)
        about = "" if verdict == NEW else f"{label(verdict)} "
        kind = finding.category + beside(group.worst.severity)
        lines.append(brief(f"  {about}{kind}: {finding.title}{place}"))
    if (more := len(state.groups) - MAX_GROUPS) > 0:
        lines.append(f"  and {more:,} more: fuzztui attach {brief(run_name(run))} lists them all")
    if now.state_name == "interrupted":
        living = unsupervised(run)
        still = f"; {still_run(living)} without supervision" if living else ""
        origin = origin_of(run)
        file = (run if origin is None else Path(origin.run)) / "campaign.toml"
        where = "" if origin is None else f"on {origin.address}: "
        who, again = "the supervisor", "resumes the campaign"
        if state.hosts:
            who, again = "the hub", "connects to the hosts, which continue without it"
        lines.append(f"{who} ended {duration(now.gone_s)} ago{still}")
        lines.append(f"{where}fuzztui {file} {again}")
    return "\n".join(lines)


def _story_rows(state: State) -> Iterator[tuple[str, str]]:
    name = "story"
    for m in story(state):
        yield name, f"{clock(m.t)} {m.kind:<8} {m.text}"
        name = ""


def _instance_lines(
    i: Instance, now: RunStatus, found: Mapping[str, FindingTally], width: int
) -> list[str]:
    """Return the lines of ``status`` about one instance; ``width``: of the longest name."""
    if i.passive:
        words = f"{several(i.received, 'entry', 'entries')} from outside: {brief(i.passive)}"
        return [f"  {brief(i.id):<{width}} {PASSIVE:<10} {words}"]
    state = now.state
    rate = instance_throughput(i, fuzzing_time(state), over=state.state in ENDED, lost=state.lost)
    files = [(kind, files_of(kind, i, found)) for kind in KINDS if kind.folder == CRASHES]
    crashed = files_of(CRASH, i, found)
    noun = "crash" if crashed == 1 else "crashes"
    crashes = "".join(f" {n:,} {kind.label}" for kind, n in files if n and kind is not CRASH)
    lines = [
        f"  {brief(i.id):<{width}} {_word(i, state):<10} {i.stats.execs:>12,} execs "
        f"{speed(rate):>10} {i.corpus:>7,} corpus {crashed:>4,} {noun}{crashes}" + _old(i, now)
    ]
    if i.id == ORACLE and (waiting := to_look_at(i.stats.pending)):
        lines.append(f"    {waiting}")
    if i.reason and i.reason != state.reason:
        lines.append(f"    {brief(i.reason)}")
    if i.stats.other:
        lines.append(f"    also reports {other_text(i)}")
    return lines


def _elapsed(state: State, budget: str) -> str:
    """Campaign time, as on the screens; if it differs, running time, which a time budget counts."""
    ran, whole = duration(running_time(state)), duration(state.t)
    if over := overtime(state):
        fuzzed = duration(running_time(state) - over)
        pauses = "" if ran == whole else f", and {duration(state.t - running_time(state))} paused"
        return f"{whole}: {fuzzed}{budget} fuzzed, {duration(over)} in the exact pass{pauses}"
    if ran == whole:
        return whole + budget
    if state.budget_s:
        return f"{whole}; {ran}{budget} without pauses"
    return f"{whole}{budget}; {ran} without pauses"


def _lost(now: RunStatus) -> str:
    lost = f"{several(now.state.lost, 'record')} lost before the log was repaired"
    what = "damaged" if now.problems else lost
    return f'{what}; each number means "at least"'


def _word(i: Instance, state: State) -> str:
    """The label of an instance's state; passive instances have a label of their own."""
    if not is_reached(state, i) and i.state not in ENDED and i.state != "waiting":
        return f"? {brief(i.state)}"
    if i.id in (ORACLE, SEEDS):
        return ORACLE if i.id == ORACLE else "failing"
    return "by mutants" if i.id == MUTANT_INPUTS else brief(i.state)


def _old(i: Instance, now: RunStatus) -> str:
    """The age of a running instance's statistics, as ``, 12s old``; "" if they are fresh."""
    age = now.state.t - i.stats_t + now.gone_s
    if now.state_name in ENDED or i.state in ENDED or i.stats_t < 0 or age < FRESH_S:
        return ""
    return f", {ago(age)} old"


def _for_comparisons(state: State) -> str:
    """How many entries were made for a comparison; empty if none was."""
    made = sum(1 for _ in made_for_comparisons(state))
    return f", {made:,} of them for comparisons (fuzztui comparisons)" if made else ""


def _yield_rows(of: CampaignYields) -> Iterator[tuple[str, str]]:
    """Rows that compare binaries, and power schedules, if there are several."""
    for group in (of.binaries, of.schedules):
        for name, yields in group.items():
            if yields.whole.known:
                yield "", f"{brief(name)}: {rate_words(yields.whole)}"
