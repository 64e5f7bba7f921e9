"""Receipts of steering: what the subjects of a command had when it was applied, and have now.

A subject is what a command is about: a mutant, an entry, a type. The fold keeps the figures of a
command's subjects at the moment when the first instance applied it. The effect on a subject ends
when the command is undone, or when a later command about that subject is applied; what came until
then is kept in sums. A receipt names no cause: it says what came since.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, Final

from fuzztui.kernel.base.text import clock, several
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.feature import own_features
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.lineage import descendants
from fuzztui.kernel.model.passive import is_passive
from fuzztui.kernel.model.saved import identity
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import CommandEffect, CommandStatus, Entry, State
from fuzztui.kernel.wire.commands import AddSeed, Command, EntryCommand, ExactPass, Pause, Resume
from fuzztui.kernel.wire.events import CommandApplied, CommandIssued, CommandRejected

MAX_SUBJECTS: Final = 500
"""Subjects of one command whose figures are kept, the first ones."""

MAX_LISTED: Final = 50
"""Receipts in ``status --json``."""

ABOUT: Final = "about"
AT_LEAST: Final = "at least"

_Floats = Sequence[float]


@dataclass(frozen=True, slots=True)
class ReceiptFigure:
    """One figure of a receipt."""

    name: str
    now: float
    then: float | None = None
    """The figure when the command was applied; None: ``now`` counts only what came since."""
    how: str = ""
    """:data:`ABOUT`: an estimate; :data:`AT_LEAST`: a lower bound; an empty string: exact."""
    unit: str = ""
    """``s``: seconds; an empty string: a number of things."""

    @property
    def text(self) -> str:
        """``runs 90 -> 3,033``, ``kills 0``, ``about 6.1 s spent``."""
        if self.unit:
            seconds = f"{self.now:.1f} s" if self.now < 100 else clock(self.now)
            return f"{self.how} {seconds} {self.name}".strip()
        then = f"{self.then:,.0f} -> " if self.then is not None else ""
        return f"{self.name} {then}{self.how}{' ' * bool(self.how)}{self.now:,.0f}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came since a command was applied, until the effect on its last subject ended."""

    command: CommandStatus
    what: str
    """The command in words: its summary, or ``undo of`` that of another."""
    effect: CommandEffect
    figures: Sequence[ReceiptFigure]

    @property
    def text(self) -> str:
        """The figures in words: ``3 mutants: runs 90 -> 90, until 0:05:12 (undone)``."""
        of = self.effect
        whole = several(of.count, of.noun)
        some = whole if of.measured >= of.count else f"{of.measured:,} of {whole}"
        head = f"{some}: " if of.count != 1 else ""
        tail = f", until {clock(of.until)} ({of.ended})" if of.ended else ""
        return head + ", ".join(figure.text for figure in self.figures) + tail


def _setting(command: Any, state: State) -> list[str]:
    """The key of what a command sets, in each instance or in the one that is named."""
    return [f"{command.instance}/{command.subject}"]


@dataclass(frozen=True, slots=True)
class Meter:
    """How the effect of the commands of a class is measured."""

    noun: str
    """What one subject is called. A command ends the effects of earlier ones with the same noun."""
    figures: Callable[[State, str, CommandEffect], _Floats]
    """Called with the state, a subject's key, and the effect; returns its figures, or nothing."""
    show: Callable[[State, _Floats], Iterable[ReceiptFigure]]
    """Called with the state and the sums, over the subjects, of what ``compare`` returns."""
    subjects: Callable[[Any, State], Iterable[str]] = _setting
    """Called with a command and the state when it was given; returns the keys of its subjects."""
    compare: Callable[..., _Floats] = lambda then, now, before, after: [*then, *now]
    """Called with the figures of a subject then and now, and ``around`` then and now."""
    around: Callable[[State], _Floats] = lambda state: ()
    """Returns figures of the whole campaign, with which those of subjects are compared."""
    ends: Callable[[Any, Any], bool] = lambda command, earlier: False
    """Whether a command ends the effect of an earlier one with this meter on all its subjects."""


def gauges(*names: str) -> Callable[[State, _Floats], list[ReceiptFigure]]:
    """Return a ``show`` for figures that are shown as they were then and are now."""
    return lambda state, sums: [
        ReceiptFigure(name, now, then)
        for name, then, now in zip(names, sums, sums[len(names) :], strict=False)
    ]


def summed(noun: str, rows: Callable[[State, str, str], Iterable[_Floats]], *names: str) -> Meter:
    """Return the meter of commands that set something for each instance or for one.

    ``rows``: called with the state, the instance (empty: all) and the command's subject; yields
    rows of figures, which are added up and have these ``names``.
    """

    def figures(state: State, key: str, effect: CommandEffect) -> _Floats:
        instance, _, subject = key.partition("/")
        return [sum(column) for column in zip(*rows(state, instance, subject), strict=True)]

    return Meter(noun, figures, gauges(*names))


# ------------------------------------------------------- entries and instances


def _entry(command: EntryCommand, state: State) -> list[str]:
    name = command.instance or next(iter(state.instances), "")
    entry = state.entries.get(f"{name}/{command.entry}")
    return [] if entry is None else [identity(entry)]


def _made_of(state: State, key: str, effect: CommandEffect) -> list[int]:
    """The descendants of an entry since then; of them new edges, kills, and findings."""
    rows = descendants(state, key, effect.t, effect.seq)
    entries = [row for row in rows if isinstance(row, Entry)]
    covering = sum(row.is_new for row in entries)
    kills = sum(row.kills for row in entries)
    return [len(entries), covering, kills, len(rows) - len(entries)]


def _descendants(state: State, sums: _Floats) -> list[ReceiptFigure]:
    names = ("entries made from it", "with new edges", "kills", "findings")
    figures = [ReceiptFigure(name, now) for name, now in zip(names, sums[4:], strict=True)]
    return [figure for figure in figures if state.mutants or figure.name != "kills"]


def _executed(state: State, instance: str, _: str) -> Iterator[tuple[int, int]]:
    for i in list(state.instances.values()):
        if instance in ("", i.id) and not i.passive and not i.mutant:
            yield max(0, i.stats.execs), i.corpus


def _pass_rows(state: State, instance: str, _: str) -> Iterator[tuple[int, int]]:
    runs = sum(f.runs for name, f in list(state.mutation.items()) if instance in ("", name))
    yield runs, state.mutant_counts.get("killed", 0)


_ENTRY = Meter("entry", _made_of, _descendants, _entry)
_SEED = replace(_ENTRY, noun="seed", subjects=lambda command, state: ())
"""The seeds are known when the command was applied: ``made``."""
_FOR_ALL: Final = {
    **dict.fromkeys((Pause, Resume), summed("pause", _executed, "executions", "entries")),
    ExactPass: summed("exact pass", _pass_rows, "runs of mutants", "killed"),
}


@cache
def _meters() -> dict[type[Command], Meter]:
    found: dict[type[Command], Meter] = {**_FOR_ALL, AddSeed: _SEED}
    for feature in own_features():
        found |= feature.receipts
    return found


def _measured(state: State, command_id: str) -> tuple[Command | None, Meter | None]:
    """Return a command, and how its effect is measured; None if no figure is its effect."""
    status = state.commands.get(command_id)
    command = None if status is None else command_of(status)
    if isinstance(command, EntryCommand):
        return command, _ENTRY
    return command, None if command is None else _meters().get(type(command))


# --------------------------------------------------------------------- the fold


def _issued(state: State, e: CommandIssued, touched: ChangesBuilder) -> None:
    """Keep the subjects: the command may change what its selection selects."""
    for gone in [key for key in state.effects if key not in state.commands or key == e.id]:
        del state.effects[gone]
    command, meter = _measured(state, e.id)
    if meter is not None and (keys := list(meter.subjects(command, state))):
        then: dict[str, list[float]] = {key: [] for key in islice(keys, MAX_SUBJECTS)}
        own = getattr(command, "instance", "")
        every = [i for i in state.instances.values() if i.state not in ENDED and not is_passive(i)]
        awaited = [i.id for i in every if not own]
        state.effects[e.id] = CommandEffect(e.id, meter.noun, len(keys), then, awaited)


def _applied(state: State, e: CommandApplied, touched: ChangesBuilder) -> None:
    status, others = state.commands.get(e.id), list(state.effects.values())
    undone = () if status is None else status.undoes
    for other in others:
        if other.id in undone:
            _end(state, other, other.then.keys(), "undone")
    effect, (command, meter) = _answered(state, e), _measured(state, e.id)
    if e.made and meter is _SEED:
        effect = _of_seeds(e)
    if effect is None or meter is None or effect.seq:  # another instance has applied it before
        return
    for other in others:
        if other.noun == effect.noun and other.id not in (e.id, *undone):
            earlier, by = _measured(state, other.id)
            whole = by is meter and meter.ends(command, earlier)
            keys = [key for key in other.then if whole or _is_set_by(effect, key)]
            _end(state, other, keys, "replaced")
    effect = replace(effect, t=state.t, seq=state.seq, around=[*meter.around(state)])
    measured = ((key, [*meter.figures(state, key, effect)]) for key in effect.then)
    then = {key: figures for key, figures in measured if figures}
    state.effects[e.id] = replace(effect, then=then, measured=len(then))
    if not then:
        del state.effects[e.id]


def _of_seeds(e: CommandApplied) -> CommandEffect | None:
    """Return the effect of an added seed, or of all files of a directory."""
    keys = [re.fullmatch(r"(.+)/(\d{1,9})", key, re.ASCII) for key in (e.made[0], e.made[-1])]
    if keys[0] is None or keys[1] is None:
        return None
    first, count = int(keys[0][2]), int(keys[1][2]) - int(keys[0][2]) + 1
    then = {f"{keys[0][1]}/{first + n}": list[float]() for n in range(min(count, MAX_SUBJECTS))}
    return CommandEffect(e.id, _SEED.noun, max(0, count), then)


def _is_set_by(effect: CommandEffect, key: str) -> bool:
    """Whether a command is about this subject; one for all instances is about that of each."""
    return key in effect.then or f"/{key.partition('/')[2]}" in effect.then


def _answered(state: State, e: CommandApplied | CommandRejected) -> CommandEffect | None:
    """Return the effect of a command after an instance's answer.

    What the instance reported before its answer came before its command.
    """
    effect, (_, meter) = state.effects.get(e.id), _measured(state, e.id)
    if effect is None or meter is None or e.instance not in effect.awaited:
        return effect
    after = replace(effect, awaited=[name for name in effect.awaited if name != e.instance])
    then = dict(effect.then)
    for key in then if effect.seq else ():
        before, now = (meter.figures(state, key, each) for each in (effect, after))
        changes = [n + b - a for n, a, b in zip(then[key], before, now, strict=False)]
        then[key] = changes or then[key]
    state.effects[e.id] = after = replace(after, then=then)
    return after


def _rejected(state: State, e: CommandRejected, touched: ChangesBuilder) -> None:
    _answered(state, e)


def _end(state: State, effect: CommandEffect, keys: Collection[str], how: str) -> None:
    """End the effect on these subjects: keep sums of what came until now."""
    _, meter = _measured(state, effect.id)
    if meter is None or not effect.seq or not keys:
        return
    sums = _added(effect.sums, _sums(state, effect, meter, keys))
    effect = replace(
        effect, sums=sums, then={k: v for k, v in effect.then.items() if k not in keys}
    )
    over = not effect.then
    state.effects[effect.id] = replace(effect, until=state.t, ended=how) if over else effect


def _sums(state: State, effect: CommandEffect, meter: Meter, keys: Collection[str]) -> _Floats:
    """What came since the command was applied, in sum over these subjects."""
    after, sums = meter.around(state), list[float]()
    for key in keys:
        then = effect.then[key]
        now = meter.figures(state, key, effect) or then
        sums = _added(sums, meter.compare(then, now, effect.around, after))
    return sums


def _added(sums: _Floats, more: _Floats) -> list[float]:
    return [a + b for a, b in zip(sums, more, strict=True)] if sums and more else [*sums, *more]


FOLDS = (
    EventFold(CommandIssued, _issued),
    EventFold(CommandApplied, _applied),
    EventFold(CommandRejected, _rejected),
)


# ----------------------------------------------------------------- selectors


def receipt_of(state: State, command_id: str, subject: str = "") -> Receipt | None:
    """Return the receipt of a command; None if it has none.

    ``subject``: the key of a subject; if the effect on it goes on, the receipt is about it alone.
    """
    effect, status = state.effects.get(command_id), state.commands.get(command_id)
    command, meter = _measured(state, command_id)
    if effect is None or status is None or command is None or meter is None or not effect.seq:
        return None
    if subject in effect.then:
        then = {subject: effect.then[subject]}
        effect = replace(effect, count=1, measured=1, sums=[], then=then)
    sums = _added(effect.sums, _sums(state, effect, meter, effect.then.keys()))
    undone, _ = _measured(state, status.undoes[0]) if status.undoes else (None, None)
    what = f"undo of {undone.summary}" if undone else command.summary
    return Receipt(status, what, effect, tuple(meter.show(state, sums)))


def in_force(state: State, subject: str) -> Receipt | None:
    """Return the receipt, about a subject alone, of the latest command with an effect on it now."""
    every = reversed(list(state.effects.values()))
    latest = next((effect.id for effect in every if effect.seq and subject in effect.then), "")
    return receipt_of(state, latest, subject)


def receipts(state: State) -> Iterator[Receipt]:
    """Yield the receipts of the latest commands, the latest first."""
    every = (receipt_of(state, key) for key in reversed(list(state.effects)))
    return (receipt for receipt in every if receipt is not None)


def receipts_list(state: State) -> list[dict[str, Any]]:
    """Return ``receipts`` of ``fuzztui status --json``: of the latest commands, these first."""
    return [
        {
            "id": of.command.id,
            "what": of.what,
            "by": of.command.by,
            "applied_s": of.effect.t,
            "until_s": of.effect.until if of.effect.ended else None,
            "ended": of.effect.ended or None,
            "kind": of.effect.noun,
            "subjects": of.effect.count,
            "measured": of.effect.measured,
            "figures": [asdict(figure) for figure in of.figures],
            "text": of.text,
        }
        for of in islice(receipts(state), MAX_LISTED)
    ]
