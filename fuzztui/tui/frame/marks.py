"""The moments of a campaign to which keys jump in a replay, and their signs on the timeline."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from fuzztui.kernel.model.state import State
from fuzztui.tui.labels.states import STEERED, finding_sign

FINDING, STEERING, KILL, EDGE = "finding", "steering", "kill", "edge"

KINDS = (FINDING, STEERING, KILL, EDGE)
"""The kinds of marks."""

ANY = "any mark"

MAX_TIMES = 10_000
"""Maximal marks of one kind: of more, the first one in each of as many equal periods."""

Sign = tuple[str, str]
"""A glyph and its style."""

STEERING_SIGN: Sign = (STEERED, "promoted")
"""The sign of a command; that of a finding depends on its category."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Campaign times in seconds by kind, in order of time; findings with their categories."""

    findings: Sequence[tuple[float, str]] = ()
    times: tuple[Sequence[float], ...] = ((), (), (), ())
    """The times of each kind, in the order of :data:`KINDS`."""

    def __bool__(self) -> bool:
        return any(self.times)

    def of(self, kind: str) -> Sequence[float]:
        """Return the times of one kind."""
        return self.times[KINDS.index(kind)]

    def kinds(self) -> list[str]:
        """Return the kinds to which one can jump: those with marks, after :data:`ANY`."""
        return [ANY, *(kind for kind in KINDS if self.of(kind))]

    def first_kind(self) -> str:
        """Return the most interesting kind that the campaign has."""
        return next((kind for kind in (FINDING, KILL, EDGE, STEERING) if self.of(kind)), ANY)

    def after(self, kind: str, t: float) -> float | None:
        """Return the time of the next mark after ``t``; None: there is none."""
        later = (times[bisect_right(times, t) :][:1] for times in self._all(kind))
        return min((t for times in later for t in times), default=None)

    def before(self, kind: str, t: float) -> float | None:
        """Return the time of the last mark before ``t``; None: there is none."""
        earlier = (times[: bisect_left(times, t)][-1:] for times in self._all(kind))
        return max((t for times in earlier for t in times), default=None)

    def count(self, kind: str, t: float) -> tuple[int, int]:
        """Return how many marks there are up to ``t``, and in all."""
        every = self._all(kind)
        return sum(bisect_right(times, t) for times in every), sum(map(len, every))

    def sign(self, low: float, high: float) -> Sign | None:
        """Return the sign of what happened from ``low`` to before ``high``; None: nothing.

        Kills and edges have none: they are gains.
        """
        i = bisect_left(self.of(FINDING), low)
        if i < len(self.findings) and self.findings[i][0] < high:
            category = self.findings[i][1]
            return finding_sign(category), category
        commands = self.of(STEERING)
        i = bisect_left(commands, low)
        return STEERING_SIGN if i < len(commands) and commands[i] < high else None

    def _all(self, kind: str) -> Sequence[Sequence[float]]:
        return self.times if kind == ANY else (self.of(kind),)


def marks_of(state: State) -> Marks:
    """Return the marks of a whole campaign: groups of findings, new edges, kills and commands.

    A group has its mark at its first finding. Of older commands, which the state does not keep,
    there is one mark in each part of the campaign's time.
    """
    findings = sorted((f.t, f.category) for f in state.findings.values() if f.first)
    kept = _thin(findings, state.t)
    commands = {c.t for c in state.commands.values()}
    if (older := state.series.get("commands")) is not None:
        commands.update(older.times)
    kills = (m.killed_t for m in state.mutants.values() if m.killed_t >= 0)
    edges = (e.t for e in state.entries.values() if e.is_new or "valid-edge" in e.reasons)
    rest = (_thin(sorted((t, "") for t in times), state.t) for times in (commands, kills, edges))
    return Marks(kept, tuple([t for t, _ in each] for each in (kept, *rest)))


def _thin(marks: Sequence[tuple[float, str]], end: float) -> list[tuple[float, str]]:
    if len(marks) <= MAX_TIMES or end <= 0:
        return list(marks[:MAX_TIMES])
    firsts: dict[int, tuple[float, str]] = {}
    for mark in marks:
        firsts.setdefault(min(MAX_TIMES - 1, int(mark[0] / end * MAX_TIMES)), mark)
    return list(firsts.values())
