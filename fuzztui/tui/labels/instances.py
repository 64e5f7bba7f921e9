"""Text about one instance and about a fleet, without the table's columns. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.figures import titled
from fuzztui.kernel.model.finding_tallies import groups_of
from fuzztui.kernel.model.passive import ADDED, MUTANT_INPUTS, ORACLE, SEEDS
from fuzztui.kernel.model.selectors import ENDED, known_total, other_text
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.model.yields import yield_words
from fuzztui.kernel.wire.events import Stats
from fuzztui.kernel.wire.finding_kinds import KINDS
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.events import engine_text
from fuzztui.tui.labels.facts import Fact, fact
from fuzztui.tui.labels.features import feature_facts
from fuzztui.tui.labels.hosts import host_facts
from fuzztui.tui.labels.instance_columns import (
    REPORTING,
    age_cell,
    per_second,
    state_cell,
    state_word,
)
from fuzztui.tui.labels.mutants import brief_change, place
from fuzztui.tui.labels.states import last_new_cell, state_sign, state_style
from fuzztui.tui.labels.status import FRESH_S, Status, has_died

TROUBLE = ("failed", "stalled")
"""States in which an instance does not fuzz and needs the user's attention."""

NAMED = 6
"""Maximal number of peers, or of instances in trouble, that are listed by name."""


def present(instances: Iterable[Instance]) -> list[Instance]:
    """Return the instances without those that fuzzed a mutant and have ended."""
    return [i for i in instances if not (i.mutant and i.state in ENDED)]


def facts(instance: Instance, state: State, status: Status) -> Iterator[Fact]:
    """Yield what has no column, the most urgent first."""
    there = status.hosts.get(instance.host)
    if there is not None and there.in_trouble:
        yield from host_facts(there, status, named=True)
    if (mutant := state.mutants.get(instance.mutant)) is not None:
        words = f"{place(mutant)}  {brief_change(mutant.before, mutant.after)}"
        yield fact("fuzzes mutant", words)
    if instance.id == MUTANT_INPUTS:
        words = "inputs transferred from mutants; this instance never fuzzes"
        yield fact("", words, "muted")
    if instance.id == ORACLE:
        words = "runs entries through the commands of [oracle]; this instance never fuzzes"
        yield fact("", words, "muted")
    if instance.id == SEEDS:
        yield fact("", "seeds on which the target fails; this instance never fuzzes", "muted")
    if instance.passive:
        words = f"{several(instance.received, 'entry', 'entries')} from outside"
        yield fact("", f"{words}; this instance never fuzzes", "muted")
        yield fact("from", instance.passive)
    if instance.reason:
        yield fact("reason", instance.reason, f"bold {state_style(instance.state)}")
    yield from feature_facts(instance, state)
    if runs := f"{instance.binary}  {instance.options}".strip():
        yield fact("runs" if instance.binary else "options", runs)
    if instance.peers:
        renewed = instance.state in REPORTING and not status.is_out_of_reach(instance)
        yield Fact("imports from", _peers(instance, state.instances, renewed=renewed))
    yields = status.yields.instances.get(instance.id)
    if yields is not None and yields.whole.known:
        yield fact("per CPU hour", yield_words(yields))
    about = [engine_text(instance.engine, instance.version)]
    about += [f"python {instance.python}"] if instance.python else []
    about += [f"pid {instance.pid}"] if instance.pid > 0 else []
    if any(about):
        yield fact("engine", " ".join(word for word in about if word))
    if age := slow_age(instance, status):
        yield fact("stability and map size", f"{age} old", "muted")
    if there is not None and not there.in_trouble:
        yield from host_facts(there, status, named=True)
    if instance.directory:
        yield fact("in", instance.directory)


def _peers(instance: Instance, known: Collection[str], *, renewed: bool) -> Line:
    """The peers, with the id that is imported next from each; ids count from 0.

    Peers that are not shown here stand out. ``renewed``: whether newer statistics will come.
    """
    peers = {k: v for k, v in instance.peers.items() if k != instance.id}
    siblings = [name for name in peers if name in known]
    strangers = [name for name in peers if name not in known and _base(name) != ADDED]
    ours = sum(peers[name] for name in peers if name not in known and _base(name) == ADDED)
    few = 0 < len(siblings) <= NAMED
    spans: list[TextSpan] = []
    if len(siblings) > NAMED:
        spans.append(TextSpan(f"{len(peers)} siblings", "imported"))
    elif few:
        spans.append(TextSpan(_far(siblings, peers, unit=True), "imported"))
    if strangers:
        more = f" and {len(strangers) - NAMED} more" if len(strangers) > NAMED else ""
        noun = "unknown peer: " if len(strangers) == 1 else "unknown peers: "
        spans.append(TextSpan((" and " if spans else "") + noun, "muted"))
        spans.append(TextSpan(_far(strangers[:NAMED], peers, unit=not few) + more, "pending"))
    if ours:
        spans.append(TextSpan(" and " if spans else "", "muted"))
        spans.append(TextSpan(several(ours, "added seed"), "imported"))
    if renewed and (strangers or ours or few):
        spans.append(TextSpan(" ≤1m old", "muted"))  # the supervisor reads no more often
    return spans


def _far(names: Sequence[str], peers: Mapping[str, int], *, unit: bool) -> str:
    """Peers with the number of entries read; ``unit``: the first number is followed by "read"."""
    words = [f"{_named(name)} ({peers[name]:,}" for name in names]
    words[0] += " read" if unit else ""
    return plain("), ".join(words) + ")")


def _named(name: str) -> str:
    return "mutants' inputs" if name == MUTANT_INPUTS else name


def _base(name: str) -> str:
    """The name without the label of its tree, which a watch of several trees puts in front."""
    return name.rpartition(":")[2]


def slow_age(instance: Instance, status: Status) -> str:
    """Return the age of statistics that come rarely; "" if fresh, or if no new ones will come."""
    away = status.is_out_of_reach(instance)
    if instance.slow_t < 0 or instance.state not in REPORTING or away:
        return ""
    age = status.now - instance.slow_t
    return format.age(age) if age >= FRESH_S else ""


def _unsupported(instance: Instance) -> dict[str, list[str]]:
    """Commands that the engine cannot execute, by reason: many commands share one."""
    out: dict[str, list[str]] = {}
    for name, why in instance.unable.items():
        out.setdefault(why, []).append(name)
    return out


def glance(instance: Instance, state: State, status: Status) -> list[Fact]:
    """Return the facts for a strip of a few lines: the name, then :func:`facts`."""
    name = Fact("", [TextSpan(plain(instance.id), "bold")])
    return [name, *facts(instance, state, status)]


def whole(instance: Instance, state: State, status: Status) -> list[Fact]:
    """Return all facts about an instance, with statistics."""
    word = state_cell(instance)[0].split(":", 1)[0]
    died = has_died(instance, over=status.over)
    style = f"bold {state_style('failed' if died else instance.state)}"
    speed = per_second(instance, status)
    rate = f"{format.rate(speed)}/s"
    if status.over:
        rate += " on average"
    away = status.is_out_of_reach(instance) and not status.over
    if away and instance.state not in ENDED:
        word, style, rate = f"last seen {instance.state}", "muted", f"{rate} when last seen"
    i, stats = instance, instance.stats
    age = age_cell(i, status)[0]
    fresh = "as last reported" if away else "current"
    counts = [(kind, groups_of(kind, i, status.found)) for kind in KINDS]
    finds = [several(n, k.noun, k.plural) for k, n in counts if n or k.default]
    figures_ = [
        ("statistics", f"{age} old" if age not in ("", "none") else age or fresh),
        ("execs", format.count(stats.execs) + (f", {rate}" if speed >= 0 else "")),
        ("corpus", _with("corpus", i.corpus, stats)),
        ("edges", _edges(i)),
        ("findings", ", ".join(finds)),
        (
            "last new",
            last_new_cell(i.last_find_t, status)[0] or "none" + " yet" * (not status.over),
        ),
        *((f.title, _with(f.name, number, stats)) for f, number in titled(stats)),
    ]
    if stats.stability >= 0:
        figures_.append(("stability", format.percent(stats.stability, 100.0)))
    if stats.other:
        figures_.append(("also reports", other_text(instance)))
    if instance.processes and not away:
        used = f"{100 * instance.cpu:.0f}% cpu, {format.size(instance.rss)} memory"
        figures_.append(("uses", used))
    if instance.restarts:
        figures_.append(("restarts", f"{instance.restarts:,}"))
    if instance.capabilities:
        figures_.append(("supports", ", ".join(instance.capabilities)))
    figures_ += [("warning", warning) for warning in instance.warnings]
    if instance.command_line:
        figures_.append(("command", instance.command_line))
    if not status.watched:  # there every grey key shows the reason
        # Not in the strip: most of these are commands of other engine kinds.
        figures_ += [
            ("cannot", f"{', '.join(names)}: {why}")
            for why, names in _unsupported(instance).items()
        ]
    return [
        fact("instance", instance.id, "bold"),
        fact("state", word, style),
        *facts(instance, state, status),
        *(fact(name, value) for name, value in figures_),
    ]


def _with(name: str, number: float, stats: Stats) -> str:
    """The number of a figure, and the figures that are shown in the line of ``name``."""
    within = [f"{f.title} {format.count(int(n))}" for f, n in titled(stats, name)]
    return ", ".join([format.count(int(number)), *within])


def _edges(instance: Instance) -> str:
    total = known_total(instance.stats.edges, instance.stats.edges_total)
    of = f" of {format.count(total)} ({format.percent(instance.stats.edges, total)})"
    words = format.count(instance.stats.edges) + (of if total > 0 else "")
    within = titled(instance.stats, "edges")
    return ", ".join([words, *(f"{format.count(int(n))} {f.title}" for f, n in within)])


# ------------------------------------------------------------------- fleets


def tally(
    instances: Iterable[Instance],
    *,
    brief: bool = False,
    lost: Callable[[Instance], bool] = lambda _: False,
    died: Callable[[Instance], bool] = lambda _: False,
) -> Line:
    """Return the numbers of instances by state, those in trouble last and bold.

    ``brief``: without the states' names. ``lost``: whether the last known state of an instance is
    shown, because no supervisor runs, or its host is not connected. ``died``: see
    :func:`has_died`.
    """
    counts = Counter(
        (died(i) or i.state in TROUBLE, lost(i) and i.state not in ENDED, i.state, state_word(i))
        for i in instances
    )
    order = sorted(counts, key=lambda s: (*s[:2], s[2] != "running", s))
    spans = []
    for bad, gone, state, word in order[-NAMED:]:
        sign = "?" if gone else state_sign(state)
        style = f"bold {state_style(state if state in TROUBLE else 'failed')}"
        words = f"{sign} {counts[bad, gone, state, word]} "
        words += "" if brief else f"{plain(word, 12)}  "
        spans.append(TextSpan(words, "muted" if gone else style if bad else state_style(state)))
    return spans


def trouble(instances: Sequence[Instance]) -> str:
    """Return the instances in trouble with reasons, in one line; "" if there are none."""
    bad = [i for state in TROUBLE for i in instances if i.state == state]
    if not bad:
        return ""
    words = [f"{i.id} {i.state}" + (f": {i.reason}" if i.reason else "") for i in bad[:NAMED]]
    if len(bad) == 1:
        return words[0]
    more = f"; and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
    return f"{len(bad)} instances are in trouble:  {';  '.join(words)}{more}"


def failure(reason: str, instances: Sequence[Instance]) -> list[str]:
    """Return why the campaign has failed: ``reason``, and instances whose reason is not in it."""
    untold = [i for i in instances if i.state == "failed" and i.reason not in reason]
    words = ["The campaign has failed" + (f": {reason}" if reason else ""), trouble(untold)]
    return [text for text in words if text]
