"""Events about findings: saved, described, and what users have decided about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class FindingSaved(Event, kind="finding_saved"):
    """A file appeared in ``crashes/`` or ``hangs/``. ``category``: the folder's default.

    ``file`` (relative to the instance directory) identifies the finding. A file whose name does
    not have AFL's form is a finding too, with ``id`` -1. ``sync``: the instance in whose queue
    ``src`` is, if it is another one (a mutant's corpus was run on the original).
    """

    instance: str
    category: str
    file: str
    id: int = -1
    src: list[int] = field(default_factory=list)
    op: str = ""
    sig: int = 0
    time_ms: Count = 0
    execs: Count = 0
    size: Count = -1
    sync: str = ""


@dataclass(frozen=True, slots=True)
class FindingDescribed(Event, kind="finding_described", by_engines=True):
    """The description of a finding, by the engine or after running the input again.

    ``category``: see :mod:`fuzztui.kernel.wire.finding_kinds`. ``signature``: equal for findings
    with the same presumed cause (in a watched campaign, until a user runs them, with the same
    signal: :mod:`fuzztui.kernel.base.signals`).
    ``title``: one line for users ("ZeroDivisionError: division by zero"). ``place``: "file.py:12
    in func". ``detail``: a traceback or sanitizer report. ``input``: a short printable form.
    ``count``: how often this signature was seen until now. ``frames``: of its stack, innermost
    first; each is ``{"function", "file", "line", "kind"}``, at most
    :data:`fuzztui.kernel.wire.frames.MAX_FRAMES`. ``basis``: what else the signature is made of
    (:class:`fuzztui.kernel.wire.frames.Basis`). Empty: the signature is not made of frames.
    ``property``: the property of a suite that failed; else empty. ``severity``: a level of
    :mod:`fuzztui.kernel.wire.severity`, with casr's name of the class and the reason in one
    sentence; empty in logs of earlier versions.
    """

    instance: str
    category: str
    file: str
    signature: str = ""
    title: str = ""
    place: str = ""
    detail: str = ""
    input: str = ""
    count: Count = 1
    frames: list[dict[str, Any]] = field(default_factory=list)
    basis: dict[str, Any] = field(default_factory=dict)
    property: str = ""
    severity: str = ""
    severity_class: str = ""
    severity_reason: str = ""


@dataclass(frozen=True, slots=True)
class ExampleSaved(Event, kind="example_saved", by_engines=True):
    """The input of a finding was saved as a failing example of Hypothesis: pytest runs it first."""

    instance: str
    file: str


@dataclass(frozen=True, slots=True)
class SkippedFrames(Event, kind="skipped_frames"):
    """All rules of the verdicts file about frames that do not count for signatures.

    Each of ``rules`` is ``FUNCTION`` or ``FILE in FUNCTION``, with ``*`` and ``?``
    (:func:`fuzztui.kernel.wire.frames.skipping_rule`). They hold for all findings, also earlier
    ones.
    """

    rules: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class VerdictsChanged(Event, kind="verdicts_changed"):
    """Verdicts that a user has given, changed or taken back, from the campaign's verdicts file.

    Each of ``findings`` is ``{"signature", "verdict", "note", "author", "date"}``, where
    ``verdict`` is one of :data:`fuzztui.kernel.wire.verdicts.CHOICES`, and ``date`` an ISO 8601
    text.
    A group that was marked as fixed before a start of the campaign and is found after that start
    is a regression.

    Each of ``mutants`` is ``{"id", "verdict", "because", "change", "author", "date"}``, where
    ``verdict`` is "accepted", or anything else: the mutant is not accepted any more.
    """

    findings: list[dict[str, Any]] = field(default_factory=list)
    mutants: list[dict[str, Any]] = field(default_factory=list)
