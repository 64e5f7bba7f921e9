"""Detect that the target has used up the address space."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Final

_LEFT: Final = 1 / 8
"""Share of the limit below which the free address space counts as used up."""


def used_up() -> bool:
    """Whether less than 1/8 of the limited address space is left; False without a limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return False
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return limit - pages * resource.getpagesize() < limit * _LEFT
