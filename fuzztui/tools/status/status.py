"""What ``fuzztui status --json`` says of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from fuzztui.kernel.model.discovery import discovery_dict
from fuzztui.kernel.model.feature import as_data, own_features, package_features
from fuzztui.kernel.model.figures import figures_dict
from fuzztui.kernel.model.finding_tallies import FindingTally, Group, files_of, groups, tallies
from fuzztui.kernel.model.host_summary import hosts_list, is_reached
from fuzztui.kernel.model.measured import unmeasured
from fuzztui.kernel.model.mutants import mutants_dict
from fuzztui.kernel.model.receipts import receipts_list
from fuzztui.kernel.model.selectors import (
    ENDED,
    fuzzing_time,
    instance_throughput,
    pending_commands,
    progress,
    remaining,
    running_time,
    throughput,
    totals,
)
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.model.story import story, story_dicts
from fuzztui.kernel.model.verdicts import given_about, verdict_of
from fuzztui.kernel.model.watched_targets import targets_list
from fuzztui.kernel.model.yields import Yields, campaign_yields, yields_dict
from fuzztui.kernel.wire.finding_kinds import kind_of


def status_dict(state: State) -> dict[str, Any]:
    """The object of ``fuzztui status --json``: JSON data. ``null``: not reported."""
    t, found, yields = totals(state), tallies(state), campaign_yields(state)
    return {
        "name": state.name,
        "engine": state.engine,
        "target": state.target,
        "state": state.state,
        "reason": state.reason,
        "unmeasured": unmeasured(state) or None,
        "elapsed_s": state.t,
        "running_s": running_time(state),
        "budget_s": state.budget_s or None,
        "budget_trials": state.budget_trials or None,
        "remaining_s": remaining(state),
        "progress": progress(state),
        "seed": state.seed,
        **figures_dict(t.stats),
        "execs_per_sec": _or_none(throughput(state)),
        **{kind_of(category).label: tally.files for category, tally in found.items()},
        "mutants": mutants_dict(state),
        "last_find_s": _or_none(t.last_find_t),
        "groups": {name: of.groups for name, of in found.items()},
        "open_groups": {name: of.open for name, of in found.items()},
        "unexamined": {name: of.unexamined for name, of in found.items()},
        "discovery": discovery_dict(state),
        "story": story_dicts(story(state)),
        "yield": {
            **yields_dict(yields.campaign),
            "mutators": {name: yields_dict(of) for name, of in yields.mutators.items()},
            "binaries": {name: yields_dict(of) for name, of in yields.binaries.items()},
            "schedules": {name: yields_dict(of) for name, of in yields.schedules.items()},
        },
        **_own_figures(state),
        "findings": [_group_dict(g, state) for g in groups(state)],
        "instances": [
            _instance_dict(i, state, found, yields.instances.get(i.id))
            for i in state.instances.values()
        ],
        "hosts": hosts_list(state, found),
        "targets": targets_list(state),
        "machine": {
            "load": _or_none(state.machine_load),
            "cores": state.machine_cores or None,
            "disk_free": _or_none(state.disk_free),
        },
        "pending_commands": pending_commands(state),
        "receipts": receipts_list(state),
        "at_least": state.lost > 0,
        "lost_records": state.lost,
        "unknown_events": sum(state.unknown.values()),
        "unknown_kinds": dict(state.unknown),
        "log_seq": state.seq,
        **({"features": added} if (added := figures_of_packages(state)) else {}),
    }


def _own_figures(state: State) -> dict[str, Any]:
    every = (feature.load(feature.figures)(state) for feature in own_features() if feature.figures)
    return {key: value for figures in every for key, value in figures.items()}


def figures_of_packages(state: State) -> dict[str, dict[str, Any]]:
    """Return the figures of installed features by name and key; of one that fails, the error."""
    return {
        feature.name: feature.made_or(feature.figures, as_data, lambda e: {"error": e}, state)
        for feature in package_features()
        if feature.figures
    }


_Figure = TypeVar("_Figure", int, float)


def _or_none(figure: _Figure) -> _Figure | None:
    return figure if figure >= 0 else None


def _age(t: float, now: float) -> float | None:
    return round(max(0.0, now - t), 3) if t >= 0 else None


def _group_dict(group: Group, state: State) -> dict[str, Any]:
    first, worst = group.first, group.worst
    given = given_about(state, group.signature)
    return {
        "signature": group.signature or None,
        "category": first.category,
        "title": first.title,
        "place": first.place,
        "first": first.key,
        "first_s": first.t,
        "files": len(group.findings),
        "count": group.count,
        "severity": worst.severity or None,
        "severity_class": worst.severity_class,
        "severity_reason": worst.severity_reason,
        "verdict": verdict_of(state, group.signature),
        "note": given.note if given else "",
        "author": given.author if given else "",
        "judged": given.date if given else "",
    }


def _instance_dict(
    i: Instance, state: State, found: Mapping[str, FindingTally], yields: Yields | None
) -> dict[str, Any]:
    over = state.state in ENDED or i.state in ENDED
    per_second = instance_throughput(
        i, fuzzing_time(state), over=state.state in ENDED, lost=state.lost
    )
    return {
        "id": i.id,
        "state": i.state,
        "reason": i.reason,
        "pid": i.pid or None,
        "restarts": i.restarts,
        **figures_dict(i.stats),
        "execs_per_sec": _or_none(per_second),
        "corpus": i.corpus,
        **{kind.label: files_of(kind, i, found) for kind in map(kind_of, found)},
        "core": _or_none(i.stats.core),
        "cpu": i.cpu if is_reached(state, i) else None,
        "rss": i.rss if is_reached(state, i) else None,
        "yield": None if yields is None else yields_dict(yields),
        "stats_s": _or_none(i.stats_t),
        "age_s": None if over else _age(i.stats_t, state.t),
        "slow_age_s": None if over else _age(i.slow_t, state.t),
        "host": i.host or None,
        "directory": i.directory or None,
        "mutant": i.mutant or None,
        "binary": i.binary or None,
        "options": i.options or None,
        "command_line": i.command_line or None,
        "warnings": i.warnings,
        "passive": i.passive or None,
        "received": i.received if i.passive else None,
        "peers": i.peers,
        "capabilities": i.capabilities,
        "unable": i.unable,
        **({"other": i.stats.other} if i.stats.other else {}),
    }
