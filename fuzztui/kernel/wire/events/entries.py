"""Events about queue entries: saved, described, shown; tokens and entries from comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class EntrySaved(Event, kind="entry_saved"):
    """A file appeared in ``queue/``. ``id``: its number in the queue of this instance.

    ``src``: ids of the parents. ``time_ms`` and ``execs``: when the entry was found, from its file
    name. ``sync``: the peer from which the entry was imported. ``size`` in bytes. ``first``: the
    id under which the entry was found, before afl-fuzz renumbered its queue (-1: ``id``); ``src``
    are ids of that numbering.
    """

    instance: str
    id: int
    file: str = ""
    src: list[int] = field(default_factory=list)
    op: str = ""
    sync: str = ""
    time_ms: Count = 0
    execs: Count = 0
    size: Count = -1
    cov: bool = False
    first: Count = -1


@dataclass(frozen=True, slots=True)
class EntriesSeeded(Event, kind="entries_seeded"):
    """The seeds of an instance that fuzzes a mutant: ``{id: "m7/45"}``, its ids to their origins.

    Replaces one :class:`EntrySaved` per seed: each mutant's turn starts with the whole corpus of
    earlier turns. ``anew``: the queue was renumbered; earlier events of this kind are void.
    """

    instance: str
    origins: dict[str, Any] = field(default_factory=dict)
    anew: bool = False


@dataclass(frozen=True, slots=True)
class EntryDescribed(Event, kind="entry_described", by_engines=True):
    """Facts about an entry that its file name lacks; a later event replaces an earlier one.

    ``reasons``: why the entry was kept (seed, edge, valid-edge, kill, ...). ``edges``: the number
    of edges that it covers. ``outcome``: success, invalid, failure, timeout.
    ``steer``: empty, "skipped", "promoted" or "demoted".
    """

    instance: str
    id: int
    reasons: list[str] = field(default_factory=list)
    edges: Count = -1
    favored: bool = False
    outcome: str = ""
    steer: str = ""
    kills: Count = 0
    """The number of mutants that this entry was the first to kill (mu2)."""
    calls: Count = -1
    """Calls in an execution of the entry, of functions in C too, by which its energy is decided;
    -1: not counted."""


@dataclass(frozen=True, slots=True)
class InputShown(Event, kind="input_shown", by_engines=True):
    """What a generator made of the choices of an entry or finding, as a text for users.

    ``row``: the entry's id, or the finding's file. ``form``: text (a string itself), value (a
    ``repr()``) or image. ``text``: the first 20,000 characters; ``length``: how many there are.
    ``picture``: the thumbnail of an image, ``"32x20:"`` (width and height in pixels) and the pixels
    from the top, six hexadecimal digits (RGB) each.
    """

    instance: str
    row: str
    form: str = "value"
    text: str = ""
    length: Count = 0
    picture: str = ""


@dataclass(frozen=True, slots=True)
class ComparisonsReported(Event, kind="comparisons_reported", by_engines=True):
    """Tokens and entries that comparisons in the target gave since the last event of this kind.

    ``tokens``: texts that were added to the dictionary, each with the place (``module:line``) of
    the comparison that had it as an operand. ``entries``: by id of a queue entry that was made for
    a comparison, ``[place, operand]``, the operand that was put into the input. After a restart, an
    engine may report the same again. ``trials``: by operation ("compare", a mutator, "other"), the
    trials whose inputs it has made, cumulative; reported when their sum has grown by a tenth.
    """

    instance: str
    tokens: dict[str, Any] = field(default_factory=dict)
    entries: dict[str, Any] = field(default_factory=dict)
    trials: dict[str, Any] = field(default_factory=dict)
