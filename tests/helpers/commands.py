"""What runs on this machine, by its command lines: without ``ps``, which is not everywhere."""

from __future__ import annotations

import psutil


def commands() -> str:
    """The command lines of all processes that are not zombies, one a line."""
    lines = []
    for process in psutil.process_iter(["cmdline"]):
        lines.append(" ".join(process.info["cmdline"] or ()))
    return "\n".join(lines)
