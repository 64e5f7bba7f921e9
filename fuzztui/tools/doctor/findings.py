"""Findings about a machine: a state, and a remedy. For ``doctor``, and for ``hosts check``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


def judged(what: str, text: str, advice: str = "", *, bad: bool = True) -> MachineFinding:
    """A finding: if ``bad`` and there is an ``advice``, a warning with it; otherwise OK."""
    advice = advice if bad else ""
    return MachineFinding(what, WARNING if advice else OK, visible(text), visible(advice))


_STATE: Final = 9
_WHAT: Final = 14
"""Columns of a line's state, and of what it is about."""


def finding_lines(findings: Iterable[MachineFinding]) -> Iterator[str]:
    """Yield a line for each finding, and one for what to do about it."""
    for finding in findings:
        yield f"  {finding.state:<{_STATE}}{finding.what:<{_WHAT}}{finding.text}"
        if finding.advice:
            yield f"  {'':<{_STATE + _WHAT}}-> {finding.advice}"


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
    return judged("disk", text, where, bad=free < _LEAST_DISK)


def kernel_findings(pattern: str, governor: str) -> Iterator[MachineFinding]:
    """What the kernel's settings mean for afl-fuzz; ``governor``: "" if there is none."""
    mend = "crashes may be taken for hangs: echo core | sudo tee /proc/sys/kernel/core_pattern"
    yield judged("core_pattern", pattern or "unknown", mend, bad=pattern.startswith("|"))
    if governor:
        mend = "slower than need be: sudo cpupower frequency-set -g performance"
        yield judged("governor", governor, mend, bad=governor != "performance")


def size_text(size: int) -> str:
    """``1.5 GB``, ``200 MB``; a negative size is unknown."""
    if size < 0:
        return "unknown"
    return f"{size / (1 << 30):.1f} GB" if size >= 1 << 30 else f"{size >> 20} MB"
