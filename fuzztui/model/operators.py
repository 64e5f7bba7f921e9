"""Operators on text: folding their figures, and what they come to over all instances.

A trial stacks several steps, and each step is of one arm (an operator, or all of havoc):
a find counts for every arm that was among its steps. So arms can be compared, but
what they found does not add up to the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import Any

from fuzztui.model.figures import count, finite
from fuzztui.model.selectors import ENDED
from fuzztui.model.state import CommandStatus, MixtureChange, State
from fuzztui.model.touched import Touched, instance
from fuzztui.wire.codec import CodecError, decode_command
from fuzztui.wire.commands import SetMixture
from fuzztui.wire.events import OperatorFigures
from fuzztui.wire.mixture import CLASSES, MOST_ARMS, MOST_NAME, Mixture, class_of

__all__ = [
    "FEW",
    "MILLION",
    "Arm",
    "Blend",
    "arms",
    "best",
    "blend",
    "mixture_dict",
    "mixture_set",
    "operator_figures",
    "operators_dict",
    "pending_mixtures",
    "turn_over",
]

MILLION = 1_000_000

FEW = 3
"""Finds below which a rate of finds says next to nothing."""

GRACE_S = 3.0
"""So long after an answer figures may still be of before."""

_COUNTS = ("tried", "applied", "found", "crashes")
_LISTS = (*_COUNTS, "weights")


# ------------------------------------------------------------------- folding


def operator_figures(state: State, e: OperatorFigures, touched: Touched) -> None:
    """An instance's figures, in place of its former ones; whatever is no figure is 0."""
    instance(state, e.instance, touched)
    names = list(_names(e.names))
    figures: dict[str, Any] = {name: max(0.0, finite(getattr(e, name))) for name in CLASSES}
    for name in _LISTS:
        told = getattr(e, name)
        figures[name] = [_figure(told[i]) if i < len(told) else 0 for i, _ in names]
    state.operators[e.instance] = now = OperatorFigures(
        e.instance,
        adaptive=e.adaptive,
        trials=max(count(e.trials), 0),
        names=[name for _, name in names],
        **figures,
    )
    touched.campaign = True
    before = state.mixed.get(e.instance)
    mixture = Mixture(now.havoc, now.text, now.splice)
    if before is None or not (
        _goes_on(before, mixture, now.adaptive) or 0 <= state.t - before.t < GRACE_S
    ):
        t = -1.0 if before is None else state.t
        state.mixed[e.instance] = MixtureChange(e.instance, *mixture, now.adaptive, t)


def _names(names: Iterable[Any]) -> Iterator[tuple[int, str]]:
    """The first of each name, with its place; what is no name is left out."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        if i >= MOST_ARMS:
            return
        if isinstance(name, str) and 0 < len(name) <= MOST_NAME and name not in seen:
            seen.add(name)
            yield i, name


def _figure(value: Any) -> int:
    return max(count(value), 0) if type(value) is int else 0


def _goes_on(before: MixtureChange, now: Mixture, adaptive: bool) -> bool:
    """Whether nothing was set anew: what is adaptive moves by itself."""
    if before.adaptive != adaptive:
        return False
    return adaptive or now.is_like(Mixture(before.havoc, before.text, before.splice))


def mixture_set(state: State, status: CommandStatus, name: str, touched: Touched) -> None:
    """``name`` did what a command asked for: if that was another mixture, note when and who.

    "": the supervisor saw to it while there was no instance.
    """
    if (command := _mixture_of(status)) is None:
        return
    mixture, wish = command.mixture, state.mixture
    if not command.instance and (wish is None or status.t >= wish.t):
        state.mixture = MixtureChange("", *mixture, command.adaptive, status.t, status.by)
    settings = {**mixture._asdict(), "adaptive": command.adaptive}
    touched.campaign = True
    if name:
        state.mixed[name] = MixtureChange(name, *mixture, command.adaptive, state.t, status.by)
        if figures := state.operators.get(name):
            # The next figures say so too.
            state.operators[name] = replace(figures, **settings)
    elif state.turned:
        state.turned = replace(state.turned, **settings)


def turn_over(state: State, mutant: str) -> None:
    """Nobody mutates inputs of that mutant any more: a campaign has thousands of turns."""
    over = [
        i.id for i in state.instances.values() if i.mutant == mutant and i.id in state.operators
    ]
    for name in over:
        now, before = state.operators.pop(name), state.turned
        state.mixed.pop(name, None)
        both = [now, before] if before else [now]
        sums = _sums(both)
        columns = map(list, zip(*sums.values(), strict=True))  # none of no arms
        counts: dict[str, Any] = dict(zip(_COUNTS, columns, strict=False))
        weights = dict(zip(now.names, now.weights, strict=True))
        state.turned = replace(
            now,
            instance="",
            trials=sum(f.trials for f in both),
            names=list(sums),
            weights=[weights.get(arm, 0) for arm in sums],
            **counts,
        )


def _mixture_of(status: CommandStatus) -> SetMixture | None:
    if status.command.get("c") != SetMixture.name:
        return None
    try:
        command = decode_command(status.command)
    except CodecError:
        return None
    return command if isinstance(command, SetMixture) and not command.mixture.problem else None


# ------------------------------------------------------------------- looking


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm over all instances."""

    name: str
    tried: int = 0
    applied: int = 0
    found: int = 0
    crashes: int = 0
    share: float = 0.0
    """How probable it is within its class, 0 to 1; of several instances the mean."""
    bar: float = 0.0
    """The same against the most probable arm of its class."""

    @property
    def cls(self) -> str:
        """Its class: havoc, text or splice."""
        return class_of(self.name)

    @property
    def pays(self) -> float:
        """Finds per million applications; -1 where there were none."""
        return MILLION * self.found / self.applied if self.applied else -1.0

    @property
    def surely(self) -> float:
        """The same, as much of it as is no luck: what found once by chance is nobody's best."""
        sure = self.found - sqrt(self.found)
        return MILLION * sure / self.applied if self.applied else 0.0


def _every(state: State) -> list[OperatorFigures]:
    """All that was ever told, what is over as one."""
    return [*filter(None, (state.turned,)), *list(state.operators.values())]


def _living(state: State, instance: str = "") -> list[OperatorFigures]:
    """Figures of those that still mutate; of the last ones when none does."""
    told = [f for f in list(state.operators.values()) if not instance or f.instance == instance]
    first = state.stage == "mutants"  # and who fuzzed the target before waits
    idle = (*ENDED, "waiting") if first else ENDED
    living = [f for f in told if state.instances[f.instance].state not in idle]
    if state.turned and not instance and not living and (first or not told):
        return [state.turned]  # between two turns it is as it was
    return living or told


def _sums(every: Iterable[OperatorFigures]) -> dict[str, tuple[int, int, int, int]]:
    """Tried, applied, found, crashes by arm."""
    sums: dict[str, tuple[int, int, int, int]] = {}
    for names, alike in _alike(every):
        tried, applied, found, crashes = (
            [sum(column) for column in zip(*(getattr(f, name) for f in alike), strict=True)]
            for name in _COUNTS
        )
        for name, *row in zip(names, tried, applied, found, crashes, strict=True):
            t, a, f, c = sums.get(name, (0, 0, 0, 0))
            sums[name] = (t + row[0], a + row[1], f + row[2], c + row[3])
    return sums


def arms(state: State) -> dict[str, Arm]:
    """All arms by name, in the order in which they were first told."""
    sums, shares = _sums(_every(state)), _shares(state)
    most = {cls: max((s for n, s in shares.items() if class_of(n) == cls), default=0.0)
            for cls in CLASSES}  # fmt: skip
    rows: dict[str, Arm] = {}
    for name, four in sums.items():
        share, top = shares.get(name, 0.0), most[class_of(name)]
        rows[name] = Arm(name, *four, min(1.0, share), share / top if top else 0.0)
    return rows


def _alike(
    every: Iterable[OperatorFigures],
) -> Iterable[tuple[tuple[str, ...], list[OperatorFigures]]]:
    """Instances by what arms they have: nearly always the same, and then summed in no time."""
    groups: dict[tuple[str, ...], list[OperatorFigures]] = {}
    for figures in every:
        groups.setdefault(tuple(figures.names), []).append(figures)
    return groups.items()


def _shares(state: State) -> dict[str, float]:
    """How probable each arm is within its class: the mean over those who draw."""
    weights: dict[str, int] = {}
    known: dict[str, int] = {}
    for names, alike in _alike(_living(state)):
        for name, *column in zip(names, *(f.weights for f in alike), strict=True):
            weights[name] = weights.get(name, 0) + sum(column)
            known[name] = known.get(name, 0) + len(alike)
    return {name: weight / known[name] / MILLION for name, weight in weights.items()}


@dataclass(frozen=True, slots=True)
class Blend:
    """The mixture over all instances that have one."""

    mixture: Mixture
    """The mean; of those that live, as long as any does."""
    adaptive: bool
    """Whether any instance's is."""
    differ: bool
    """Whether instances have different ones."""
    instances: int
    trials: int
    t: float = -1.0
    """Campaign time of the last change that somebody made, -1 if there was none."""
    by: str = ""
    best: tuple[Arm, ...] = ()
    """The arms that pay best, the best first."""


BEST = 5


def best(rows: Iterable[Arm]) -> list[Arm]:
    """Arms that have found anything, those that pay best first."""
    return sorted((a for a in rows if a.found), key=lambda a: (-a.surely, -a.found, a.name))


def blend(state: State, instance: str = "") -> Blend | None:
    """The mixture of the campaign, or of one instance; None if it has no operators on text."""
    living = _living(state, instance)
    if not living:
        return None
    mixtures = [Mixture(f.havoc, f.text, f.splice) for f in living]
    n = len(living)
    mean = Mixture(*(fsum(m[i] for m in mixtures) / n for i in range(len(CLASSES))))
    adaptive = any(f.adaptive for f in living)
    changes = [state.mixed[f.instance] for f in living if f.instance in state.mixed]
    last = max(changes, key=lambda c: c.t, default=state.mixture)
    if last is not None and (wish := state.mixture) is not None and last.by != wish.by:
        # Who begins later is told of it then.
        mixture = Mixture(last.havoc, last.text, last.splice)
        last = wish if last.t >= wish.t and _goes_on(wish, mixture, last.adaptive) else last
    return Blend(
        mean,
        adaptive,
        any(f.adaptive != adaptive for f in living)
        or any(not m.is_like(mixtures[0]) for m in mixtures),
        n,
        sum(f.trials for f in _every(state)),
        -1.0 if last is None else last.t,
        "" if last is None else last.by,
        tuple(best(arms(state).values())[:BEST]),
    )


def pending_mixtures(state: State) -> list[tuple[CommandStatus, SetMixture]]:
    """Mixtures that were asked for and that somebody has still to answer for, oldest first."""
    waiting = (c for c in list(state.commands.values()) if c.state == "pending")
    return [(status, command) for status in waiting if (command := _mixture_of(status))]


# ---------------------------------------------------------------------- JSON


def _parts(mixture: Iterable[float]) -> dict[str, float]:
    return {name: round(part, 6) for name, part in zip(CLASSES, mixture, strict=True)}


def operators_dict(state: State) -> list[dict[str, Any]]:
    """``fuzztui operators --json``: the arms, in the order in which they were told."""
    return [
        {
            "name": arm.name,
            "class": arm.cls,
            "tried": arm.tried,
            "applied": arm.applied,
            "found": arm.found,
            "crashes": arm.crashes,
            "found_per_million": round(arm.pays, 3) if arm.applied else None,
            "weight": round(arm.share, 6),
        }
        for arm in arms(state).values()
    ]


def mixture_dict(state: State) -> dict[str, Any] | None:
    """``mixture`` of ``fuzztui status --json``; None where there are no operators on text."""
    whole = blend(state)
    if whole is None:
        return None
    return {
        **_parts(whole.mixture),
        "adaptive": whole.adaptive,
        "since_s": whole.t if whole.t >= 0 else None,
        "by": whole.by or None,
        "trials": whole.trials,
        "pending": [
            {**_parts(c.mixture), "adaptive": c.adaptive} for _, c in pending_mixtures(state)
        ],
        "instances": {
            f.instance: {
                **_parts((f.havoc, f.text, f.splice)), "adaptive": f.adaptive, "trials": f.trials,
            }
            for f in state.operators.values()
        },
        "best": [
            {"name": a.name, "found": a.found, "applied": a.applied} for a in whole.best
        ],
    }  # fmt: skip
