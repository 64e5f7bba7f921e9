"""Text mutators: folding their figures, and what they come to over all instances.

A trial stacks several steps, and each step is of one arm (an operator, or all of havoc):
a find counts for every arm that was among its steps. So arms can be compared, but
what they found does not add up to the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from fuzztui.kernel.model.changes import ChangesBuilder, instance
from fuzztui.kernel.model.commands import applied, command_of, unanswered
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.progress import TURN_OVER
from fuzztui.kernel.model.receipts import Meter, summed
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.stall import Advice
from fuzztui.kernel.model.state import MixtureChange, State
from fuzztui.kernel.model.stats import count, finite
from fuzztui.kernel.wire.commands import Command, SetMixture, WeighMutator
from fuzztui.kernel.wire.events import CommandApplied, MutantProgress, MutatorStats
from fuzztui.kernel.wire.mixture import CLASSES, MAX_ARMS, MAX_NAME, STACK, Mixture, class_of

MILLION = 1_000_000

FEW = 3
"""Number of finds below which a mutator's rate of finds is taken for chance."""

FEW_USES = 200
"""Number of applications below which a mutator's rate of finds is taken for chance."""

MANY_STEPS = 1000
"""Minimum number of steps for a share of havoc."""

GRACE_S = 3.0
"""Seconds after an answer for which figures may still be older than the answer."""

_COUNTS = ("tried", "applied", "found", "crashes")
_LISTS = (*_COUNTS, "weights")


# ------------------------------------------------------------------- folding


def operator_figures(state: State, e: MutatorStats, touched: ChangesBuilder) -> None:
    """Replace an instance's figures; what is not a number becomes 0."""
    instance(state, e.instance, touched)
    names = list(_names(e.names))
    figures: dict[str, Any] = {name: max(0.0, finite(getattr(e, name))) for name in CLASSES}
    for name in _LISTS:
        values = getattr(e, name)
        figures[name] = [_figure(values[i]) if i < len(values) else 0 for i, _ in names]
    wishes = [max(finite(wish), 0.0) for wish in e.wishes]
    figures["wishes"] = [wishes[i] if i < len(wishes) else 1.0 for i, _ in names] if wishes else []
    state.mutators[e.instance] = now = MutatorStats(
        e.instance,
        adaptive=e.adaptive,
        trials=max(count(e.trials), 0),
        names=[name for _, name in names],
        **figures,
    )
    touched.campaign = True
    before = state.mixture_changes.get(e.instance)
    mixture = Mixture(now.havoc, now.text, now.splice)
    fresh = before is not None and 0 <= state.t - before.t < GRACE_S
    if before is None:
        state.mixture_changes[e.instance] = MixtureChange(e.instance, *mixture, now.adaptive)
    elif fresh:  # these figures may still count steps before the change
        state.mixture_changes[e.instance] = replace(before, trials=now.trials, havocs=_havocs(now))
    elif not _goes_on(before, mixture, now.adaptive):
        state.mixture_changes[e.instance] = MixtureChange(
            e.instance, *mixture, now.adaptive, state.t, "", now.trials, _havocs(now)
        )


def _names(names: Iterable[Any]) -> Iterator[tuple[int, str]]:
    """Yield the index and text of each valid name; of equal names only the first."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        if i >= MAX_ARMS:
            return
        if isinstance(name, str) and 0 < len(name) <= MAX_NAME and name not in seen:
            seen.add(name)
            yield i, name


def _figure(value: Any) -> int:
    return max(count(value), 0) if type(value) is int else 0


def _havocs(figures: MutatorStats) -> int:
    """Number of havoc steps, including those in place of a drawn step that could do nothing."""
    return figures.tried[figures.names.index("havoc")] if "havoc" in figures.names else 0


def _goes_on(before: MixtureChange, now: Mixture, adaptive: bool) -> bool:
    """Whether ``now`` still follows from the change ``before``: no other mixture was set since.

    An adaptive mixture differs from the one that was set, because it moves by itself.
    """
    if before.adaptive != adaptive:
        return False
    return adaptive or now.is_like(Mixture(before.havoc, before.text, before.splice))


def mixture_set(
    state: State, command: SetMixture, by: str, name: str, touched: ChangesBuilder
) -> None:
    """Fold that instance ``name`` applied a mixture that the user ``by`` set.

    ``name`` is empty if the supervisor applied the mixture while there was no instance.
    """
    mixture = command.mixture
    settings = {**mixture._asdict(), "adaptive": command.adaptive}
    touched.campaign = True
    if name:
        change = MixtureChange(name, *mixture, command.adaptive, state.t, by)
        if figures := state.mutators.get(name):
            change = replace(change, trials=figures.trials, havocs=_havocs(figures))
            # The next figures will have the same mixture.
            state.mutators[name] = replace(figures, **settings)
        state.mixture_changes[name] = change
    elif state.finished_turns:
        state.finished_turns = replace(state.finished_turns, **settings)


def mutator_weighed(state: State, command: WeighMutator, name: str) -> None:
    """Fold that instance ``name`` applied the weight of a mutator that a user has set."""
    figures = state.mutators.get(name)
    if figures is None or command.mutator not in figures.names:
        return
    wishes = [*(figures.wishes or [1.0] * len(figures.names))]
    wishes[figures.names.index(command.mutator)] = command.weight
    state.mutators[name] = replace(figures, wishes=wishes)


def mutator_wishes(state: State, mutator: str, instance: str = "") -> dict[str, float]:
    """The weight that users have given to a mutator in each instance that mutates, or in one."""
    return {
        f.instance: f.wishes[f.names.index(mutator)] if f.wishes else 1.0
        for f in _living(state, instance)
        if mutator in f.names
    }


def finish_turn(state: State, mutant: str) -> None:
    """Add the figures of a mutant's finished turn to one sum: a campaign has thousands of turns."""
    over = [i.id for i in state.instances.values() if i.mutant == mutant and i.id in state.mutators]
    for name in over:
        now, before = state.mutators.pop(name), state.finished_turns
        state.mixture_changes.pop(name, None)
        both = [now, before] if before else [now]
        sums = _sums(both)
        columns = map(list, zip(*sums.values(), strict=True))  # no columns without arms
        counts: dict[str, Any] = dict(zip(_COUNTS, columns, strict=False))
        weights = dict(zip(now.names, now.weights, strict=True))
        state.finished_turns = replace(
            now,
            instance="",
            trials=sum(f.trials for f in both),
            names=list(sums),
            weights=[weights.get(arm, 0) for arm in sums],
            wishes=[],
            **counts,
        )


def mixture_for_all(state: State) -> MixtureChange | None:
    """Return the last mixture that a user set for all instances, with the time and the user.

    None if no user has.
    """
    status = state.lasting.get(f"{SetMixture.name} ")
    command = None if status is None else command_of(status)
    if status is None or not isinstance(command, SetMixture):
        return None
    return MixtureChange("", *command.mixture, command.adaptive, status.t, status.by)


# ------------------------------------------------------------------- looking


@dataclass(frozen=True, slots=True)
class MutatorRow:
    """One arm over all instances."""

    name: str
    tried: int = 0
    applied: int = 0
    found: int = 0
    crashes: int = 0
    share: float = 0.0
    """Probability of the arm within its class, 0 to 1; the mean over instances."""
    bar: float = 0.0
    """``share`` divided by the largest share in its class, 0 to 1."""
    wish: float = 1.0
    """The weight that users have set; of different ones that of the last instance."""

    @property
    def cls(self) -> str:
        """The arm's class: havoc, text or splice."""
        return class_of(self.name)

    @property
    def pays(self) -> float:
        """Finds per million applications; -1 if the arm was never applied."""
        return MILLION * self.found / self.applied if self.applied else -1.0

    @property
    def significant(self) -> bool:
        """Whether the arm has enough finds and applications for a rate that is not chance."""
        return self.found >= FEW and self.applied >= FEW_USES

    @property
    def order(self) -> tuple[bool, float, int]:
        """Sort key: arms with a significant rate by that rate; below them the others by finds.

        A rate of a few samples says nothing: 2 of 9 would be a larger rate than any.
        """
        first = self.pays if self.significant else float(self.found)
        return self.significant, first, self.applied


def _every(state: State) -> list[MutatorStats]:
    """The figures of all instances; those of finished turns are one sum."""
    return [*filter(None, (state.finished_turns,)), *list(state.mutators.values())]


def _living(state: State, instance: str = "") -> list[MutatorStats]:
    """Figures of the instances that still mutate; if none does, of all that have reported.

    Between two mutants' turns: the sum of the finished turns.
    """
    reported = [f for f in list(state.mutators.values()) if not instance or f.instance == instance]
    first = state.stage == "mutants"  # then the instances of the target wait
    idle = (*ENDED, "waiting") if first else ENDED
    living = [f for f in reported if state.instances[f.instance].state not in idle]
    if state.finished_turns and not instance and not living and (first or not reported):
        return [state.finished_turns]  # between two turns: the figures of the last one
    return living or reported


def _sums(every: Iterable[MutatorStats]) -> dict[str, tuple[int, int, int, int]]:
    """Sums of tried, applied, found and crashes, by arm."""
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


def arms(state: State) -> dict[str, MutatorRow]:
    """All arms by name, in the order in which they were first reported.

    Mutators that are never drawn (excluded, or templates without any template) are left out.
    """
    sums, living = _sums(_every(state)), _living(state)
    weights = shares(living)
    wished = {n: w for f in living for n, w in zip(f.names, f.wishes, strict=False) if w != 1}
    most = {cls: max((s for n, s in weights.items() if class_of(n) == cls), default=0.0)
            for cls in CLASSES}  # fmt: skip
    rows: dict[str, MutatorRow] = {}
    for name, four in sums.items():
        share, top = weights.get(name, 0.0), most[class_of(name)]
        wish = wished.get(name, 1.0)
        if any(four) or share or not top or class_of(name) != "text" or not wish:
            rows[name] = MutatorRow(name, *four, share, share / top if top else 0.0, wish)
    return rows


def _alike(
    every: Iterable[MutatorStats],
) -> Iterable[tuple[tuple[str, ...], list[MutatorStats]]]:
    """Instances grouped by their arms: nearly always one group, whose columns are summed fast."""
    groups: dict[tuple[str, ...], list[MutatorStats]] = {}
    for figures in every:
        groups.setdefault(tuple(figures.names), []).append(figures)
    return groups.items()


def shares(every: Iterable[MutatorStats]) -> dict[str, float]:
    """The probability of each arm within its class: the mean over the instances."""
    weights: dict[str, int] = {}
    for names, alike in _alike(every):
        for name, *column in zip(names, *(f.weights for f in alike), strict=True):
            weights[name] = weights.get(name, 0) + sum(column)
    # The weights of a class add up to about a million, to less if arms are excluded.
    whole = dict.fromkeys(CLASSES, 0)
    for name, weight in weights.items():
        whole[class_of(name)] += weight
    return {name: weight / (whole[class_of(name)] or 1) for name, weight in weights.items()}


@dataclass(frozen=True, slots=True)
class MixtureSetting:
    """One instance's mixture, and whether it adapts."""

    mixture: Mixture
    adaptive: bool

    def is_like(self, other: MixtureSetting) -> bool:
        """Whether both settings are the same, up to rounding."""
        return self.adaptive == other.adaptive and self.mixture.is_like(other.mixture)

    @property
    def brief(self) -> str:
        """A short label: ``adaptive``, ``fixed 25/75/0``."""
        if self.adaptive:
            return "adaptive"
        return f"fixed {'/'.join(f'{round(100 * part, 1):g}' for part in self.mixture)}"


def mean_of(each: Iterable[MixtureSetting]) -> Mixture:
    """Return the mean of the settings' mixtures."""
    mixtures = [setting.mixture for setting in each]
    return Mixture(*(fsum(column) / len(mixtures) for column in zip(*mixtures, strict=True)))


def settings(
    state: State, instance: str = "", wanted: Iterable[SetMixture] = ()
) -> dict[str, MixtureSetting]:
    """The setting of each instance that mutates, after it has executed the commands ``wanted``."""
    place = {name: n for n, name in enumerate(list(state.instances))}
    each = {
        f.instance: MixtureSetting(Mixture(f.havoc, f.text, f.splice), f.adaptive)
        for f in sorted(_living(state, instance), key=lambda f: place.get(f.instance, -1))
    }
    for command in wanted:
        for name in [command.instance] if command.instance else list(each):
            if name in each:
                each[name] = MixtureSetting(command.mixture, command.adaptive)
    return each


def changed(
    each: dict[str, MixtureSetting], to: Callable[[Mixture], Mixture], *, adaptive: bool
) -> list[SetMixture]:
    """The commands that apply ``to`` to each instance's mixture: one if all results are equal."""
    new = {name: to(setting.mixture) for name, setting in each.items()}
    first = next(iter(new.values()), None)
    if first is not None and all(mixture.is_like(first) for mixture in new.values()):
        return [SetMixture(*first, adaptive=adaptive)]
    return [SetMixture(*mixture, adaptive=adaptive, instance=n) for n, mixture in new.items()]


@dataclass(frozen=True, slots=True)
class MixtureSummary:
    """The mixture over all instances that have one."""

    mixture: Mixture
    """The mean over the running instances; if none runs, over all that have reported."""
    adaptive: bool
    """Whether any instance's mixture adapts."""
    differ: bool
    """Whether instances have different settings."""
    each: str
    """Each setting with its instances; an empty string if all are equal or all adapt."""
    instances: int
    trials: int
    t: float = -1.0
    """Campaign time of the last change by a user; -1: there was none."""
    by: str = ""
    havoc: float = -1.0
    """Share of havoc among all steps since the last change, 0 to 1; -1: too few steps. Includes
    steps of another class that could not apply and were replaced by havoc."""
    best: tuple[MutatorRow, ...] = ()
    """The arms with the highest rates of finds, the best first."""

    def did(self, name: str) -> str:
        """Return a label with the measured share of havoc if that differs from the set share.

        An empty string if it does not, if ``name`` is another class, or if instances differ.
        """
        if name != "havoc" or self.havoc < 0 or self.each:
            return ""
        if abs(self.havoc - self.mixture.havoc) < 0.02:
            return ""
        return f" (did {self.havoc:.0%})"


BEST = 5


def best(rows: Iterable[MutatorRow]) -> list[MutatorRow]:
    """The arms with a significant rate of finds, the highest rate first."""
    return sorted((a for a in rows if a.significant), key=lambda a: (-a.pays, a.name))


def has_mutators(state: State) -> bool:
    """Whether the campaign has text mutators."""
    return bool(_living(state))


def mixture_summary(state: State, instance: str = "") -> MixtureSummary | None:
    """The mixture of the campaign, or of one instance; None if it has no text mutators."""
    living = _living(state, instance)
    if not living:
        return None
    each = settings(state, instance)
    mean = mean_of(each.values())
    adaptive = any(f.adaptive for f in living)
    first = next(iter(each.values()))
    differ = not all(setting.is_like(first) for setting in each.values())
    wish = mixture_for_all(state)
    changes = [
        state.mixture_changes[f.instance] for f in living if f.instance in state.mixture_changes
    ]
    last = max(changes, key=lambda c: c.t, default=wish)
    if last is not None and wish is not None and last.by != wish.by:
        # An instance that begins later gets this mixture when it begins.
        mixture = Mixture(last.havoc, last.text, last.splice)
        last = wish if last.t >= wish.t and _goes_on(wish, mixture, last.adaptive) else last
    return MixtureSummary(
        mean,
        adaptive,
        differ,
        _by_setting(each) if differ and not all(s.adaptive for s in each.values()) else "",
        len(living),
        sum(f.trials for f in _every(state)),
        -1.0 if last is None else last.t,
        "" if last is None else last.by,
        _havoc_share(state, living),
        tuple(best(arms(state).values())[:BEST]),
    )


def _by_setting(each: dict[str, MixtureSetting]) -> str:
    """``main adaptive; s1, s2 fixed 100/0/0``."""
    groups: dict[str, list[str]] = {}
    for name, setting in each.items():
        groups.setdefault(setting.brief, []).append(name)
    return "; ".join(f"{', '.join(names)} {words}" for words, names in groups.items())


def _havoc_share(state: State, living: Iterable[MutatorStats]) -> float:
    """Share of havoc among the steps since the last change of the mixture; -1: too few steps."""
    trials = havocs = 0
    for f in living:
        before = state.mixture_changes.get(f.instance)
        trials += f.trials - (before.trials if before else 0)
        havocs += _havocs(f) - (before.havocs if before else 0)
    steps = trials * STACK
    return min(1.0, max(0.0, havocs / steps)) if steps >= MANY_STEPS else -1.0


def advice(state: State) -> Iterator[Advice]:
    """Yield what may help a campaign that finds nothing new."""
    now = mixture_summary(state)
    if now is not None and now.mixture.text == 0:
        yield Advice("text mutators are off: change the mixture")


# ---------------------------------------------------------------------- JSON


def _parts(mixture: Iterable[float]) -> dict[str, float]:
    return {name: round(part, 6) for name, part in zip(CLASSES, mixture, strict=True)}


def mutators_dict(state: State) -> list[dict[str, Any]]:
    """Return the figures of each mutator, in the order in which they were first reported.

    For ``fuzztui mutators --json``.
    """
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
            "wish": arm.wish,
        }
        for arm in arms(state).values()
    ]


def mixture_dict(state: State) -> dict[str, Any] | None:
    """Return ``mixture`` of ``status --json``; None if there are no text mutators."""
    whole = mixture_summary(state)
    if whole is None:
        return None
    return {
        **_parts(whole.mixture),
        "havoc_done": round(whole.havoc, 4) if whole.havoc >= 0 else None,
        "adaptive": whole.adaptive,
        "differ": whole.differ,
        "since_s": whole.t if whole.t >= 0 else None,
        "by": whole.by or None,
        "trials": whole.trials,
        "pending": [
            {**_parts(c.mixture), "adaptive": c.adaptive} for _, c in unanswered(state, SetMixture)
        ],
        "instances": {
            f.instance: {
                **_parts((f.havoc, f.text, f.splice)), "adaptive": f.adaptive, "trials": f.trials,
            }
            for f in state.mutators.values()
        },
        "best": [
            {"name": a.name, "found": a.found, "applied": a.applied} for a in whole.best
        ],
    }  # fmt: skip


def figures(state: State) -> dict[str, Any]:
    """Return what this feature adds to the object of ``fuzztui status --json``."""
    return {"mixture": mixture_dict(state)}


def _turn_over(state: State, e: MutantProgress, touched: ChangesBuilder) -> None:
    if e.stage in TURN_OVER:
        finish_turn(state, e.id)


def _mixture_applied(state: State, e: CommandApplied, touched: ChangesBuilder) -> None:
    if isinstance(command := applied(state, e), SetMixture):
        mixture_set(state, command, state.commands[e.id].by, e.instance, touched)
    elif isinstance(command, WeighMutator):
        mutator_weighed(state, command, e.instance)
        touched.campaign = True


def _drawn(state: State, instance: str, mutator: str) -> Iterator[tuple[int, int]]:
    for f in _every(state):
        if mutator in f.names and instance in ("", f.instance):
            at = f.names.index(mutator)
            yield f.tried[at], f.found[at]


def _finds(state: State, instance: str, _: str) -> Iterator[list[int]]:
    """The entries that arms of each class have found; one with several steps counts for each."""
    for f in _every(state):
        for name, found in zip(f.names, f.found, strict=True):
            if instance in ("", f.instance):
                yield [found * (class_of(name) == cls) for cls in CLASSES]


RECEIPTS: Mapping[type[Command], Meter] = {
    WeighMutator: summed("mutator", _drawn, "drawn", "finds"),
    SetMixture: summed("mixture", _finds, *(f"finds of {name}" for name in CLASSES)),
}

FOLDS = (
    EventFold(CommandApplied, _mixture_applied),
    EventFold(MutantProgress, _turn_over),
    EventFold(MutatorStats, operator_figures, rows=lambda e: e.names),
)
