"""Findings about a machine: a state, and a remedy. For ``doctor``, and for ``hosts check``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.kernel.base.bounds import whole
from fuzztui.kernel.base.text import visible

OK, WARNING, FAILED, ABSENT = "ok", "warning", "failed", "absent"
"""States. ABSENT: not installed, which only some campaigns need."""

_LEAST_DISK: Final = 1 << 30
_NO_DISK: Final = 64 << 20
"""Free bytes below which no run can begin: fuzztui itself, unpacked, needs some 12 MB."""


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """One line about a machine: what was looked at, its state, and what to do (``advice``)."""

    what: str
    state: str
    text: str
    advice: str = ""


def judged(what: str, text: str, advice: str) -> MachineFinding:
    """A line that is a warning if there is something to do."""
    return MachineFinding(what, WARNING if advice else OK, visible(text), visible(advice))


def disk_finding(facts: Mapping[str, Any], where: str, elsewhere: str) -> MachineFinding:
    """Whether runs have room. ``where``, ``elsewhere``: what to do, without room or permission."""
    path, free = str(facts.get("path", "")), whole(facts.get("disk_free"))
    if facts.get("writable") is not True:
        existing = facts.get("existing", path)
        text = visible(f"{path}: nothing can be made in {existing}")
        return MachineFinding("disk", FAILED, text, elsewhere)
    text = f"{size_text(free)} free of {size_text(whole(facts.get('disk')))} at {path}"
    if 0 <= free < _NO_DISK:
        return MachineFinding("disk", FAILED, visible(text), where)
    return judged("disk", text, "" if free >= _LEAST_DISK else where)


def kernel_findings(pattern: str, governor: str) -> Iterator[MachineFinding]:
    """What the kernel's settings mean for afl-fuzz; ``governor``: "" if there is none."""
    yield judged(
        "core_pattern",
        pattern or "unknown",
        "crashes may be taken for hangs: echo core | sudo tee /proc/sys/kernel/core_pattern"
        if pattern.startswith("|")
        else "",
    )
    if governor:
        yield judged(
            "governor",
            governor,
            ""
            if governor == "performance"
            else "slower than need be: sudo cpupower frequency-set -g performance",
        )


def size_text(size: int) -> str:
    """``1.5 GB``, ``200 MB``; a negative size is unknown."""
    if size < 0:
        return "unknown"
    return f"{size / (1 << 30):.1f} GB" if size >= 1 << 30 else f"{size >> 20} MB"
