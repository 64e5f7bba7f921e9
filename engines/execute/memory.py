"""Has the target leaked the address space away?"""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Final

__all__ = ["used_up"]

_LEFT: Final = 1 / 8


def used_up() -> bool:
    """Is less than an eighth of the limited address space left? Without a limit: no."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return False
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return limit - pages * resource.getpagesize() < limit * _LEFT
