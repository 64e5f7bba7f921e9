"""The figures of campaigns in the text format of Prometheus (text/plain; version=0.0.4).

Names end with the unit, or with ``_total`` for what only grows. A figure that no engine reports has
no line. Figures that are at least so large, because records of the log are lost or cannot be read,
are marked by ``fuzztui_at_least`` 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fuzztui.kernel.model.figures import FIGURES, Figure
from fuzztui.kernel.model.mutants import COUNTED_STATES
from fuzztui.kernel.model.yields import KINDS
from fuzztui.kernel.wire.finding_kinds import kind_of

Labels = Mapping[str, str]
Sample = tuple[str, Labels, float]
"""The name of a metric, its labels and the value."""

MAX_FIGURE: Final = 1 << 63
"""Integers of packages are left out of the metrics from this size on."""


def _kind(figure: Figure) -> str:
    return "counter" if figure.metric.endswith("_total") else "gauge"


_REPORTED: Final = tuple(figure for figure in FIGURES if figure.metric)

METRICS: Final = {
    **{f"fuzztui_{f.metric}": (_kind(f), f.means) for f in _REPORTED if f.total},
    **{f"fuzztui_instance_{f.metric}": (_kind(f), f"{f.means}; of one") for f in _REPORTED},
    "fuzztui_campaign_info": ("gauge", "1; the labels name engine, target and run"),
    "fuzztui_campaign_state": ("gauge", "1; the label names the state that the campaign is in"),
    "fuzztui_running_seconds_total": ("counter", "Seconds for which engines ran"),
    "fuzztui_remaining_seconds": ("gauge", "Estimated seconds until the budget is used up"),
    "fuzztui_executions_per_second": ("gauge", "Executions per second, now"),
    "fuzztui_last_find_seconds": ("gauge", "Campaign time at which the last entry was found"),
    "fuzztui_discoveries_per_100k_at_most": (
        "gauge",
        "Upper 95% bound of discoveries in the next 100,000 executions, by what is discovered",
    ),
    "fuzztui_cpu_seconds_total": ("counter", "CPU seconds of all instances that are measured"),
    "fuzztui_late_yield_per_cpu_hour": (
        "gauge",
        "Finds per CPU hour in the last hour, or half of a shorter campaign, by what is found",
    ),
    "fuzztui_mutator_late_yield_per_cpu_hour": (
        "gauge",
        "The same for what each mutator has found, per CPU hour of all instances",
    ),
    "fuzztui_findings": ("gauge", "Saved files of findings, by category"),
    "fuzztui_finding_groups": ("gauge", "Findings with different signatures, by category"),
    "fuzztui_open_finding_groups": (
        "gauge",
        "Those that no verdict closes, and regressions, by category",
    ),
    "fuzztui_unexamined_findings": (
        "gauge",
        "Saved files that were not run again yet, so that they are of no group, by category",
    ),
    "fuzztui_mutants": ("gauge", "Mutants of the program, by state"),
    "fuzztui_mutation_score_ratio": ("gauge", "Killed of all mutants, 0 to 1; a lower bound"),
    "fuzztui_feature_figure": ("gauge", "Numbers of installed features, by feature and figure"),
    "fuzztui_log_lost_records": ("gauge", "Records that a repair of the log has given up"),
    "fuzztui_at_least": ("gauge", "1: the log is damaged, each figure is at least so large"),
    "fuzztui_host_connected": ("gauge", "1: the host is connected to the hub, 0: it is not"),
    "fuzztui_host_state": ("gauge", "1; the label names the state of the connection to the host"),
    "fuzztui_host_state_seconds": ("gauge", "Seconds for which the connection is in this state"),
    "fuzztui_host_instances": ("gauge", "Instances on a host"),
    "fuzztui_host_executions_total": ("counter", "Executions on a host"),
    "fuzztui_host_executions_per_second": ("gauge", "Executions per second on a host, now"),
    "fuzztui_host_corpus_entries": ("gauge", "Entries of the queues on a host"),
    "fuzztui_host_cores": ("gauge", "Processors that the campaign may use on a host"),
    "fuzztui_host_used_cores": ("gauge", "Processors that the campaign uses on a host"),
    "fuzztui_host_clock_ahead_seconds": ("gauge", "Seconds by which the host's clock is ahead"),
    "fuzztui_host_statistics_age_seconds": ("gauge", "Age of the oldest statistics of a host"),
    "fuzztui_instance_state": ("gauge", "1; the label names the state that the instance is in"),
    "fuzztui_instance_executions_per_second": ("gauge", "Executions per second of an instance"),
    "fuzztui_instance_restarts_total": ("counter", "Restarts of an instance"),
    "fuzztui_instance_statistics_age_seconds": ("gauge", "Age of an instance's statistics"),
    "fuzztui_instance_cpu_seconds_total": ("counter", "CPU seconds of an instance's processes"),
    "fuzztui_instance_late_yield_per_cpu_hour": ("gauge", "The same for what an instance found"),
    "fuzztui_instance_memory_bytes": ("gauge", "Resident memory of an instance's processes"),
}
"""Type and help of each metric."""


def exposition(campaigns: Iterable[Mapping[str, Any]]) -> str:
    """Return the text for several campaigns: objects of ``fuzztui status --json``."""
    by_name: dict[str, list[Sample]] = {name: [] for name in METRICS}
    for status in campaigns:
        for sample in _samples(status):
            by_name[sample[0]].append(sample)
    lines: list[str] = []
    for name, samples in by_name.items():
        if samples:
            kind, words = METRICS[name]
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{_braced(labels)} {value:.16g}" for _, labels, value in samples]
    text = "".join(f"{line}\n" for line in lines)
    return text.encode("utf-8", "replace").decode()  # names of files may be no UTF-8


def _samples(status: Mapping[str, Any]) -> Iterator[Sample]:
    own = {"campaign": status["name"], "run": status["run"]}
    yield (
        "fuzztui_campaign_info",
        {**own, "engine": status["engine"], "target": status["target"]},
        1,
    )
    yield "fuzztui_campaign_state", {**own, "state": status["state"]}, 1
    figures = {
        "fuzztui_running_seconds_total": status["running_s"],
        "fuzztui_remaining_seconds": status["remaining_s"],
        "fuzztui_executions_per_second": status["execs_per_sec"],
        "fuzztui_last_find_seconds": status["last_find_s"],
        "fuzztui_log_lost_records": status["lost_records"],
        "fuzztui_at_least": int(bool(status["at_least"])),
    }
    yield from _known(own, figures)
    yield from _known(own, {f"fuzztui_{f.metric}": _in(status, f) for f in _REPORTED if f.total})
    for category, groups in status["groups"].items():
        labels = {**own, "category": category}
        yield from _known(
            labels,
            {
                "fuzztui_findings": status[kind_of(category).label],
                "fuzztui_finding_groups": groups,
                "fuzztui_open_finding_groups": status["open_groups"][category],
                "fuzztui_unexamined_findings": status["unexamined"][category],
            },
        )
    for what in ("edges", "kills") if status["discovery"] else ():
        bound = status["discovery"][f"{what}_per_100k_at_most"]
        yield from _known({**own, "of": what}, {"fuzztui_discoveries_per_100k_at_most": bound})
    yields = status["yield"]
    yield from _known(own, {"fuzztui_cpu_seconds_total": yields["whole"]["cpu_s"]})
    yield from _late("fuzztui_late_yield_per_cpu_hour", own, yields)
    for name, of in yields["mutators"].items():
        yield from _late("fuzztui_mutator_late_yield_per_cpu_hour", {**own, "mutator": name}, of)
    if mutants := status["mutants"]:
        for state in COUNTED_STATES:
            yield "fuzztui_mutants", {**own, "state": state}, mutants[state]
        yield from _known(own, {"fuzztui_mutation_score_ratio": mutants["score"]})
    for name, added in status.get("features", {}).items():
        for key, value in added.items():
            if type(value) is float or (type(value) is int and abs(value) < MAX_FIGURE):
                yield "fuzztui_feature_figure", {**own, "feature": name, "figure": key}, value
    for host in status["hosts"]:
        yield from _of_host({**own, "host": host["name"]}, host)
    for instance in status["instances"]:
        labels = {**own, "instance": instance["id"]}
        labels |= {"host": instance["host"]} if instance["host"] else {}
        yield from _of_instance(labels, instance)


def _of_host(labels: Labels, host: Mapping[str, Any]) -> Iterator[Sample]:
    if host["connected"] is not None:
        yield "fuzztui_host_connected", labels, int(host["connected"])
    if host["state"]:
        yield "fuzztui_host_state", {**labels, "state": host["state"]}, 1
    figures = {
        "fuzztui_host_state_seconds": host["for_s"],
        "fuzztui_host_instances": host["instances"],
        "fuzztui_host_executions_total": host["execs"],
        "fuzztui_host_executions_per_second": host["execs_per_sec"],
        "fuzztui_host_corpus_entries": host["corpus"],
        "fuzztui_host_cores": host["cores"],
        "fuzztui_host_used_cores": host["cpu"],
        "fuzztui_host_statistics_age_seconds": host["age_s"],
    }
    yield from _known(labels, figures)
    yield "fuzztui_host_clock_ahead_seconds", labels, host["clock_s"]


def _of_instance(labels: Labels, instance: Mapping[str, Any]) -> Iterator[Sample]:
    yield "fuzztui_instance_state", {**labels, "state": instance["state"]}, 1
    figures = {
        "fuzztui_instance_executions_per_second": instance["execs_per_sec"],
        "fuzztui_instance_restarts_total": instance["restarts"],
        "fuzztui_instance_statistics_age_seconds": instance["age_s"],
        "fuzztui_instance_memory_bytes": instance["rss"],
        **{f"fuzztui_instance_{f.metric}": _in(instance, f) for f in _REPORTED},
    }
    yield from _known(labels, figures)
    if yields := instance["yield"]:
        figures = {"fuzztui_instance_cpu_seconds_total": yields["whole"]["cpu_s"]}
        yield from _known(labels, figures)
        yield from _late("fuzztui_instance_late_yield_per_cpu_hour", labels, yields)


def _late(name: str, labels: Labels, yields: Mapping[str, Any]) -> Iterator[Sample]:
    for kind in KINDS:
        rate = yields["late"][f"{kind}_per_cpu_hour"]
        yield from _known({**labels, "of": kind}, {name: rate})


def _in(status: Mapping[str, Any], figure: Figure) -> float | None:
    """The number of a figure in an object of ``status --json``."""
    group, key = figure.place
    number: float | None = (status[group] if group else status)[key]
    return number


def _known(labels: Labels, figures: Mapping[str, float | None]) -> Iterator[Sample]:
    for name, value in figures.items():
        if value is not None and value >= 0:
            yield name, labels, value


_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def _braced(labels: Labels) -> str:
    """``{name="value",...}``; values may be of any text, also from a target."""
    escaped = (f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{','.join(escaped)}}}"
