"""Rows about saved files: entries and findings, and users' verdicts about findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. ``key``: ``"instance/id"``. ``seq``, ``t``: of the first record that names it."""

    key: str
    instance: str
    id: int
    t: float
    seq: int = 0
    saved: bool = False
    """Whether the entry's file was reported; False: the entry was only described until now."""
    file: str = ""
    src: list[int] = field(default_factory=list)
    op: str = ""
    sync: str = ""
    time_ms: int = 0
    execs: int = 0
    size: int = -1
    cov: bool = False
    reported_seq: int = 0
    """``seq`` at which its file was last reported."""
    first: int = -1
    """The id under which the entry was found, before afl-fuzz renumbered its queue; -1: ``id``.
    ``src`` are ids of that numbering."""
    reasons: list[str] = field(default_factory=list)
    edges: int = -1
    favored: bool = False
    outcome: str = ""
    steer: str = ""
    kills: int = 0
    compared_at: str = ""
    """The place of the comparison that the entry was made for, ``module:line``; usually empty."""
    operand: str = ""
    """The operand that was put into the input for that comparison."""
    preview: str = ""
    """The start of what a generator made of the entry; an empty string: not reported."""
    shown_seq: int = 0
    """``seq`` of the record that contains the whole generated input; 0: none."""

    @property
    def is_seed(self) -> bool:
        """Whether the entry is an input that the user supplied."""
        return self.op.startswith("orig") or "seed" in self.reasons

    @property
    def is_new(self) -> bool:
        """Whether the entry covered something new to its instance."""
        return self.cov or "edge" in self.reasons


@dataclass(slots=True)
class Children:
    """Which entries and findings were made of each entry; built when it is first needed.

    See :mod:`fuzztui.kernel.model.lineage`.
    """

    keys: dict[str, dict[str, None]] = field(default_factory=dict)
    """The rows' keys, by the identity of their first parent; by its key until it is saved."""
    whole: bool = False
    """Whether all rows are in it; False: it is being built."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``key``: ``"instance/file"``. ``seq``, ``t``: of the first record about it."""

    key: str
    instance: str
    category: str
    file: str
    t: float
    seq: int = 0
    saved: bool = False
    id: int = -1
    src: list[int] = field(default_factory=list)
    op: str = ""
    sig: int = 0
    time_ms: int = 0
    execs: int = 0
    size: int = -1
    signature: str = ""
    title: str = ""
    place: str = ""
    detail: str = ""
    input: str = ""
    count: int = 1
    sync: str = ""
    """The instance in whose queue ``src`` is; an empty string: ``instance``."""
    shown_seq: int = 0
    """``seq`` of the record with what a generator made of the input; 0: none."""
    first: bool = True
    """Whether the finding is the first with its signature (updated by later descriptions)."""
    frames: list[dict[str, Any]] = field(default_factory=list)
    basis: dict[str, Any] = field(default_factory=dict)
    """What the signature is made of, as described (:mod:`fuzztui.kernel.wire.frames`); may be
    empty."""
    plain_signature: str = ""
    """The signature without rules about skipped frames, as earlier versions made it."""
    plain_place: str = ""
    """The place without such rules: of the innermost frame of the application."""
    property: str = ""
    """The property that failed, in a campaign on a test suite; else empty."""
    example: bool = False
    """Whether the input is a failing example of Hypothesis now."""
    plain_title: str = ""
    """The title as described, without what distinguishes it from other groups with this title."""
    severity: str = ""
    """A level of :mod:`fuzztui.kernel.wire.severity`; an empty string: not decided."""
    severity_class: str = ""
    severity_reason: str = ""


@dataclass(frozen=True, slots=True)
class FindingVerdict:
    """A user's verdict about a group of findings."""

    signature: str
    verdict: str
    """One of :data:`fuzztui.kernel.wire.verdicts.VERDICTS`."""
    note: str = ""
    author: str = ""
    date: str = ""
    """ISO 8601; may be empty."""
    start_seq: int = 0
    """``seq`` of the first start of engines after the verdict; 0: none."""

    def row(self) -> dict[str, str]:
        """Return the verdict as events and the verdicts file contain it."""
        return {
            "signature": self.signature,
            "verdict": self.verdict,
            "note": self.note,
            "author": self.author,
            "date": self.date,
        }
