"""Receipts of steering: what the subjects of a command had when it was applied, and have now.

A subject is what a command is about: a mutant, an entry, a type. The fold keeps the figures of a
command's subjects at the moment when the first instance applied it. The effect on a subject ends
when the command is undone, or when a later command about that subject is applied; its figures until
then are kept as sums. A receipt names no cause: it says what came since.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, Final, NamedTuple

from fuzztui.kernel.base.text import clock, several
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.feature import own_features
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.lineage import descendants
from fuzztui.kernel.model.saved import identity
from fuzztui.kernel.model.state import CommandEffect, CommandStatus, Entry, State
from fuzztui.kernel.wire.commands import Command, EntryCommand, Pause, Resume, Stop
from fuzztui.kernel.wire.events import CommandApplied, CommandIssued

MAX_SUBJECTS: Final = 500
"""Subjects of one command whose figures are kept, the first ones."""

ABOUT: Final = "about"
AT_LEAST: Final = "at least"


class Moment(NamedTuple):
    """When a command was applied: campaign time, and number of the record."""

    t: float
    seq: int


@dataclass(frozen=True, slots=True)
class ReceiptFigure:
    """One figure of a receipt."""

    name: str
    now: float
    then: float = -1.0
    """The figure when the command was applied; -1: ``now`` counts only what came since."""
    how: str = ""
    """``about``: an estimate; ``at least``: a lower bound; an empty string: exact."""
    unit: str = ""
    """``s``: seconds; an empty string: a number of things."""

    @property
    def text(self) -> str:
        """``runs 90 -> 3,033``, ``kills 0``, ``about 6.1 s spent``."""
        if self.unit:
            seconds = f"{self.now:.1f} s" if self.now < 100 else clock(self.now)
            return f"{self.how} {seconds} {self.name}".strip()
        now = f"{self.how} {self.now:,.0f}".strip()
        return f"{self.name} {self.then:,.0f} -> {now}" if self.then >= 0 else f"{self.name} {now}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the subjects of one command had when it was applied, and what they have now."""

    command: CommandStatus
    what: str
    """The command in words: its summary, or ``undo of`` that of another."""
    noun: str
    count: int
    """The number of the command's subjects."""
    measured: int
    """The number of subjects that the figures are about; above :data:`MAX_SUBJECTS` not all."""
    t: float
    """Campaign time when the first instance applied the command."""
    figures: tuple[ReceiptFigure, ...]
    until: float = -1.0
    """Campaign time when the effect on the last subject ended; -1: it goes on."""
    ended: str = ""
    """``undone`` or ``replaced``; an empty string: the effect goes on."""

    @property
    def text(self) -> str:
        """The figures in words: ``3 mutants: runs 90 -> 90, until 0:05:12 (undone)``."""
        whole = several(self.count, self.noun)
        some = whole if self.measured >= self.count else f"{self.measured:,} of {whole}"
        head = f"{some}: " if self.count != 1 else ""
        tail = f", until {clock(self.until)} ({self.ended})" if self.ended else ""
        return head + ", ".join(figure.text for figure in self.figures) + tail


def _joined(
    then: Sequence[float], now: Sequence[float], before: Sequence[float], after: Sequence[float]
) -> list[float]:
    return [*then, *now]


@dataclass(frozen=True, slots=True)
class Meter:
    """How the effect of the commands of a class is measured."""

    noun: str
    """What one subject is called. A command ends the effects of earlier ones with the same noun."""
    subjects: Callable[[Any, State], Iterable[str]]
    """Called with a command and the state when it was given; returns the keys of its subjects."""
    figures: Callable[[State, Collection[str], Moment], Mapping[str, Sequence[float]]]
    """Called with the state, keys, and when the command was applied; returns figures by key."""
    show: Callable[[State, Sequence[float]], Iterable[ReceiptFigure]]
    """Called with the state and the sums, over the subjects, of what ``compare`` returns."""
    compare: Callable[
        [Sequence[float], Sequence[float], Sequence[float], Sequence[float]], Sequence[float]
    ] = _joined
    """Called with the figures of a subject then and now, and ``around`` then and now."""
    around: Callable[[State], Sequence[float]] = lambda state: ()
    """Returns figures of the whole campaign, with which those of subjects are compared."""


def gauges(*names: str) -> Callable[[State, Sequence[float]], list[ReceiptFigure]]:
    """Return a ``show`` for figures that are shown as they were then and are now."""

    def show(state: State, sums: Sequence[float]) -> list[ReceiptFigure]:
        pairs = zip(names, sums, sums[len(names) :], strict=False)
        return [ReceiptFigure(name, now, then) for name, then, now in pairs]

    return show


def at(instance: str, name: str) -> str:
    """The key of a subject that each instance has; an empty ``instance``: of all of them."""
    return f"{instance}/{name}"


# ------------------------------------------------------- entries and instances


def _entry(command: EntryCommand, state: State) -> list[str]:
    name = command.instance or next(iter(state.instances), "")
    entry = state.entries.get(f"{name}/{command.entry}")
    return [] if entry is None else [identity(entry)]


def _made_of(state: State, keys: Collection[str], since: Moment) -> dict[str, list[float]]:
    """By entry: its descendants since then; of them new edges, kills, and findings."""
    found: dict[str, list[float]] = {}
    for key in keys:
        rows = descendants(state, key, since.t, since.seq)
        entries = [row for row in rows if isinstance(row, Entry)]
        covering = sum(row.cov or "edge" in row.reasons for row in entries)
        kills = sum(row.kills for row in entries)
        found[key] = [len(entries), covering, kills, len(rows) - len(entries)]
    return found


def _descendants(state: State, sums: Sequence[float]) -> list[ReceiptFigure]:
    entries, covering, kills, findings = sums[4:]
    return [
        ReceiptFigure("entries made from it", entries),
        ReceiptFigure("with new edges", covering),
        *([ReceiptFigure("kills", kills)] if state.mutants else []),
        ReceiptFigure("findings", findings),
    ]


def _instance(command: Pause | Resume | Stop, state: State) -> list[str]:
    if command.instance or isinstance(command, Stop):
        return [command.instance] if command.instance in state.instances else []
    return [name for name, i in state.instances.items() if not i.passive and not i.mutant]


def _executed(state: State, keys: Collection[str], since: Moment) -> dict[str, list[float]]:
    known = {key: state.instances[key].stats for key in keys if key in state.instances}
    return {key: [max(s.execs, 0), max(s.edges, 0)] for key, s in known.items()}


def _executions(state: State, sums: Sequence[float]) -> list[ReceiptFigure]:
    execs, edges, execs_now, edges_now = sums
    new = ReceiptFigure("new edges", max(0, edges_now - edges))
    return [ReceiptFigure("executions", execs_now, execs), new]


_ENTRY = Meter("entry", _entry, _made_of, _descendants)
_INSTANCE = Meter("instance", _instance, _executed, _executions)


@cache
def _meters() -> dict[type[Command], Meter]:
    found: dict[type[Command], Meter] = dict.fromkeys((Pause, Resume, Stop), _INSTANCE)
    for feature in own_features():
        found |= feature.receipts
    return found


def meter_of(command: Command | None) -> Meter | None:
    """Return how a command's effect is measured; None if no figure is its effect."""
    if isinstance(command, EntryCommand):
        return _ENTRY
    return None if command is None else _meters().get(type(command))


# --------------------------------------------------------------------- the fold


def _issued(state: State, e: CommandIssued, touched: ChangesBuilder) -> None:
    """Keep the subjects: a command may change what its selection selects."""
    for gone in [key for key in state.effects if key not in state.commands or key == e.id]:
        del state.effects[gone]
    command = _command(state, e.id)
    meter = meter_of(command)
    keys = [] if meter is None else list(meter.subjects(command, state))
    if meter is not None and keys:
        first: dict[str, list[float]] = {key: [] for key in islice(keys, MAX_SUBJECTS)}
        state.effects[e.id] = CommandEffect(e.id, meter.noun, len(keys), first)


def _command(state: State, command_id: str) -> Command | None:
    status = state.commands.get(command_id)
    return None if status is None else command_of(status)


def _applied(state: State, e: CommandApplied, touched: ChangesBuilder) -> None:
    status = state.commands.get(e.id)
    for undone in [] if status is None else status.undoes:
        if (before := state.effects.get(undone)) is not None and before.seq:
            _end(state, before, before.then.keys(), "undone", touched)
    effect, meter = state.effects.get(e.id), meter_of(_command(state, e.id))
    if effect is None or meter is None or effect.seq:  # another instance has applied it before
        return
    for other in list(state.effects.values()):
        both = other.then.keys() & effect.then.keys()
        if both and other.noun == effect.noun and other.seq:
            _end(state, other, both, "replaced", touched)
    figures = meter.figures(state, effect.then.keys(), Moment(state.t, state.seq))
    then = {key: [*figures[key]] for key in effect.then if key in figures}
    if not then:
        del state.effects[e.id]
        return
    around = [*meter.around(state)]
    state.effects[e.id] = replace(
        effect, then=then, measured=len(then), around=around, t=state.t, seq=state.seq
    )


def _end(
    state: State, effect: CommandEffect, keys: Collection[str], how: str, touched: ChangesBuilder
) -> None:
    """Keep the sums of these subjects as they are now."""
    meter = meter_of(_command(state, effect.id))
    if meter is None or not keys:
        return
    sums = _sums(state, effect, meter, keys)
    rest = {key: figures for key, figures in effect.then.items() if key not in keys}
    state.effects[effect.id] = replace(
        effect,
        then=rest,
        sums=_added(effect.sums, sums),
        until=-1.0 if rest else state.t,
        ended="" if rest else how,
    )
    touched.commands.add(effect.id)


def _sums(
    state: State, effect: CommandEffect, meter: Meter, keys: Collection[str]
) -> Sequence[float]:
    """The sums of what has become of these subjects since the command was applied."""
    now = meter.figures(state, keys, Moment(effect.t, effect.seq))
    after = meter.around(state)
    sums: Sequence[float] = []
    for key in keys:
        figures = meter.compare(
            effect.then[key], now.get(key, effect.then[key]), effect.around, after
        )
        sums = _added(sums, figures)
    return sums


def _added(sums: Sequence[float], more: Sequence[float]) -> list[float]:
    return [a + b for a, b in zip(sums, more, strict=True)] if sums and more else [*sums, *more]


FOLDS = (EventFold(CommandIssued, _issued), EventFold(CommandApplied, _applied))


# ----------------------------------------------------------------- selectors


def receipt_of(state: State, command_id: str, subject: str = "") -> Receipt | None:
    """Return the receipt of a command; None if it has none.

    ``subject``: the key of a subject; if the effect on it goes on, the receipt is about it alone.
    """
    effect, status = state.effects.get(command_id), state.commands.get(command_id)
    meter = meter_of(_command(state, command_id))
    if effect is None or status is None or meter is None or not effect.seq:
        return None
    if subject in effect.then:
        sums = _sums(state, effect, meter, [subject])
        figures = tuple(meter.show(state, sums))
        return Receipt(status, _what(state, status), effect.noun, 1, 1, effect.t, figures)
    sums = _added(effect.sums, _sums(state, effect, meter, effect.then.keys()))
    figures = tuple(meter.show(state, sums))
    return Receipt(
        status, _what(state, status), effect.noun, effect.count, effect.measured, effect.t,
        figures, effect.until, effect.ended,
    )  # fmt: skip


def _what(state: State, status: CommandStatus) -> str:
    """A command in words, as :attr:`Receipt.what`."""
    undone = _command(state, status.undoes[0]) if status.undoes else None
    command = undone or command_of(status)
    return ("undo of " if undone else "") + (command.summary if command else status.id)


def receipts(state: State) -> list[Receipt]:
    """Return the receipts of the latest commands, in the order in which they were given."""
    every = (receipt_of(state, key) for key in list(state.effects))
    return [receipt for receipt in every if receipt is not None]


# ---------------------------------------------------------------------- JSON


def receipts_list(state: State) -> list[dict[str, Any]]:
    """Return ``receipts`` of ``fuzztui status --json``."""
    return [_receipt_dict(receipt) for receipt in receipts(state)]


def _receipt_dict(of: Receipt) -> dict[str, Any]:
    figures = [
        {
            "name": figure.name,
            "then": figure.then if figure.then >= 0 else None,
            "now": round(figure.now, 3),
            "unit": figure.unit or None,
            "how": figure.how or "exact",
        }
        for figure in of.figures
    ]
    return {
        "id": of.command.id,
        "what": of.what,
        "by": of.command.by,
        "applied_s": of.t,
        "until_s": of.until if of.until >= 0 else None,
        "ended": of.ended or None,
        "kind": of.noun,
        "subjects": of.count,
        "measured": of.measured,
        "figures": figures,
        "text": of.text,
    }
