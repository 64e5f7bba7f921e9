"""The story of a campaign: the few moments that mattered, in order of time.

All of it follows from the state, so that a screen, ``status``, a report and a notification give the
same moments. Texts contain texts of the target: untrusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nextafter
from typing import Any, Final

from fuzztui.kernel.base.text import brief, listed, several, span
from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.finding_tallies import groups, tallies
from fuzztui.kernel.model.gains import Gain, Gains, ranking
from fuzztui.kernel.model.receipts import receipt_of
from fuzztui.kernel.model.selectors import ENDED, SEVERAL_TARGETS, fuzzes_mutant, overtime
from fuzztui.kernel.model.state import CommandStatus, State
from fuzztui.kernel.wire.commands import Command, Pause, Resume, Stop
from fuzztui.kernel.wire.finding_kinds import kind_of

MAX_MOMENTS: Final = 12

_PERIODS: Final = 100
"""Equal parts of the campaign, of which the best ones are bursts."""
_BURSTS: Final = 3
_STEPS: Final = 3
"""Commands with what followed."""
_FINDINGS: Final = 3
_PLATEAU: Final = 0.2
"""Share of the campaign for which nothing new came, from which on that is a moment."""
_SHORTEST_S: Final = 5.0
"""Seconds below which a campaign has no bursts and no plateau."""
_FOLLOWS: Final = 0.1
"""Share of the campaign after a command in which its gain is counted, until the next command."""
_MAX_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment. ``screen`` shows more, in its row ``key``; an empty string: none does."""

    t: float
    """Campaign time in seconds."""
    kind: str
    """start, finding, burst, plateau, command, target, failed, exact, end."""
    text: str
    screen: str = ""
    key: str = ""
    size: int = 0
    """Edges and kills that a burst brought."""


def story(state: State) -> list[Moment]:
    """Return at most :data:`MAX_MOMENTS` moments, the most important ones, in order of time.

    Takes time in proportion to entries and findings. Of several targets together: findings and the
    end, as edges of one say nothing about another.
    """
    if state.engine == SEVERAL_TARGETS:
        found = [*_end(state), *_failed(state), *_findings(state)]
        return sorted(found[:MAX_MOMENTS], key=lambda moment: moment.t)
    gains = Gains.of(state, named=True)
    rest = [*_findings(state), *_bursts(state, gains), *_commands(state, gains)]
    every = [*_end(state), *_start(state, gains), *_phases(state, gains), *_failed(state)]
    every += [*rest[:1], *_plateau(state, gains), *_by_turns(rest[1:])]
    return sorted(every[:MAX_MOMENTS], key=lambda moment: moment.t)


def _by_turns(moments: Iterable[Moment]) -> list[Moment]:
    """The moments of each kind in turn: many of one kind do not displace another kind."""
    seen: dict[str, int] = {}
    ranked = []
    for moment in moments:
        seen[moment.kind] = seen.get(moment.kind, 0) + 1
        ranked.append((seen[moment.kind], moment))
    return [moment for _, moment in sorted(ranked, key=lambda pair: pair[0])]


def gain_text(gain: Gain) -> str:
    """Return a gain as text: ``+92 edges, +6 kills``; ``nothing new``."""
    counts = ((gain.edges, "edge"), (gain.kills, "kill"))
    return ", ".join(f"+{several(n, what)}" for n, what in counts if n) or "nothing new"


def _start(state: State, gains: Gains) -> Iterator[Moment]:
    # Each instance has the same seeds.
    of_instances = Counter(e.instance for e in state.entries.values() if e.is_seed)
    own = (n for id_, n in of_instances.items() if not fuzzes_mutant(state, id_))
    seeds, first = max(own, default=0), gains.first
    if first is not None and (edges := gains.between(first, nextafter(first, inf)).edges):
        with_seeds = f" with {several(seeds, 'seed')}" if seeds else ""
        text = f"began{with_seeds}; {several(edges, 'edge')} in the first statistics"
        yield Moment(first, "start", text, "corpus")


def _end(state: State) -> Iterator[Moment]:
    if state.state not in ENDED:
        return
    parts = [f"{state.state}: {state.reason}" if state.reason else state.state]
    edges = state.series.get("edges")  # of several targets, those of one in a former checkpoint
    if edges is not None and state.engine != SEVERAL_TARGETS:
        parts.append(several(int(edges.last), "edge"))
    if state.mutants and not state.stage:
        killed = state.mutant_counts.get("killed", 0)
        parts.append(f"{killed:,} of {several(len(state.mutants), 'mutant')} killed")
    found = tallies(state).values()
    if known := sum(of.groups for of in found):
        parts.append(several(known, "group of findings", "groups of findings"))
    if left := sum(of.unexamined for of in found):
        parts.append(f"{several(left, 'finding')} not examined yet")
    yield _moment(state.t, "end", "; ".join(parts), "log")


def _findings(state: State) -> Iterator[Moment]:
    found = [g.first for g in groups(state) if not fuzzes_mutant(state, g.first.instance)]
    for n, first in enumerate(found[:_FINDINGS]):
        what = first.title or first.signature or first.file
        place = f" at {first.place}" if first.place else ""
        ordinal = "first " if n == 0 else ""
        text = f"{ordinal}{kind_of(first.category).noun}: {what}{place}"
        yield _moment(first.t, "finding", text, "findings", first.key)


def _bursts(state: State, gains: Gains) -> Iterator[Moment]:
    if state.t < _SHORTEST_S:
        return
    width = state.t / _PERIODS
    started = (gains.first or 0.0) + width  # until then it is the start
    periods = [gains.between(max(started, n * width), (n + 1) * width) for n in range(_PERIODS + 1)]
    for n in ranking(periods)[:_BURSTS]:
        gain = periods[n]
        by = f" by {listed(gain.entries, 1)}" if gain.entries else ""
        key = gain.entries[0] if gain.entries else ""
        screen = "corpus" if key or not gain.kills else "mutants"
        text = f"{gain_text(gain)} in {span(width)}{by}"
        yield Moment(gain.t, "burst", brief(text, _MAX_TEXT), screen, key, gain.size)


def _plateau(state: State, gains: Gains) -> Iterator[Moment]:
    """The longest time without anything new."""
    times = [*gains.times(), state.t]
    if len(times) < 2 or state.t < _SHORTEST_S:
        return
    pauses = [*zip(state.pauses[::2], state.pauses[1::2], strict=False)]

    def running(pair: tuple[float, float]) -> float:
        paused = (min(end, pair[1]) - max(begin, pair[0]) for begin, end in pauses)
        return pair[1] - pair[0] - sum(max(0.0, length) for length in paused)

    longest = max(pairwise(times), key=running)
    length = running(longest)
    if length >= _PLATEAU * state.t:
        until = gain_text(gains.between(longest[1], longest[1] + state.t / _PERIODS))
        then = f", then {until}" if longest[1] < state.t else ""
        yield Moment(longest[0], "plateau", f"nothing new for {span(length)}{then}")


def _commands(state: State, gains: Gains) -> Iterator[Moment]:
    """What a user did, and what followed, the largest gain first."""
    steps: dict[str, list[CommandStatus]] = {}
    for status in state.commands.values():
        if status.seq and status.by and status.state == "applied" and not status.undoes:
            steps.setdefault(status.step or status.id, []).append(status)
    firsts = sorted((of for of in steps.values()), key=lambda of: of[0].t)
    ends = [*(of[0].t for of in firsts[1:]), state.t]
    rows: list[tuple[Gain, float, list[CommandStatus], Command]] = []
    for of, end in zip(firsts, ends, strict=False):
        command = command_of(of[0])
        if command is None or isinstance(command, Pause | Resume | Stop):
            continue
        begin, until = of[0].t, min(end, of[0].t + _FOLLOWS * state.t)
        gain = gains.between(nextafter(begin, inf), nextafter(until, inf))
        rows.append((gain, until - begin, of, command))
    for gain, length, of, command in sorted(rows, key=lambda row: -row[0].size)[:_STEPS]:
        more = f" and {len(of) - 1:,} more" if len(of) > 1 else ""
        receipt = receipt_of(state, of[0].id) if len(of) == 1 else None
        after = f"{gain_text(gain)} in the {span(length)} after"
        followed = f"{receipt.text}; {after}" if receipt is not None else after
        what, mutant = command.summary, state.mutants.get(str(of[0].command.get("select")))
        if mutant is not None and mutant.file:  # no row shows its id
            what = what.replace(mutant.id, f"{mutant.file}:{mutant.line}")
        text = f"{of[0].by}: {brief(what, 80)}{more}; {followed}"
        yield _moment(of[0].t, "command", text, "log", str(of[0].seq))


def _phases(state: State, gains: Gains) -> Iterator[Moment]:
    turns = sum(m.turn_began_s >= 0 for m in state.mutants.values())
    if state.stage == "target" and state.stage_t > 0 and turns:
        text = f"{several(turns, 'mutant')} fuzzed; now the target, with what they brought"
        yield Moment(state.stage_t, "target", text, "mutants")
    if over := overtime(state):
        begin = max(0.0, state.t - over)
        kills = gains.between(begin, state.t + 1).kills
        yield Moment(
            begin, "exact", f"exact pass of {span(over)}: +{several(kills, 'kill')}", "mutants"
        )


def _failed(state: State) -> Iterator[Moment]:
    failed = [i for i in state.instances.values() if i.state == "failed" and not i.mutant]
    if failed and state.state != "failed":
        first = min(failed, key=lambda i: i.ended_t)
        more = f", and {several(len(failed) - 1, 'other')}" if len(failed) > 1 else ""
        text = f"{first.id} failed{more}: {first.reason}"
        yield _moment(max(0.0, first.ended_t), "failed", text, "overview", first.id)


def _moment(t: float, kind: str, text: str, screen: str = "", key: str = "") -> Moment:
    return Moment(t, kind, brief(text, _MAX_TEXT), screen, key)


def story_dicts(moments: Iterable[Moment]) -> list[Mapping[str, Any]]:
    """``story`` of ``fuzztui status --json``."""
    return [{"t": round(m.t, 3), "kind": m.kind, "text": m.text} for m in moments]
