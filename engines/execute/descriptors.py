"""Descriptor numbers that targets do not use, within the limit of open files."""

from __future__ import annotations

import fcntl
import resource
from typing import Final

from fuzztui.engines.base.errors import CannotStart

_HIGH_FD: Final = 200
"""Targets often close or replace low descriptors."""
_MIN_FILES: Final = 48
"""Open files that an engine and its children need (40 are enough for engine "mu2")."""
_ENOUGH: Final = 256
"""Soft limit of open files that is not raised any further."""
_RAISED: Final = 1024
_ROOM: Final = 16
"""Descriptors above the chosen number that stay free for more copies."""


def allow_descriptors() -> None:
    """Raise a low soft limit of open files to the hard limit. Raises :class:`CannotStart`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _ENOUGH and soft != hard:
        soft = _RAISED if hard == resource.RLIM_INFINITY else min(hard, _RAISED)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if 0 <= soft < _MIN_FILES:
        raise CannotStart(
            f"ulimit -n: {soft} open files are too few, an engine needs {_MIN_FILES}:"
            " raise the limit in the shell that starts fuzztui (ulimit -n 1024)"
        )


def high_copy(fd: int) -> int:
    """Duplicate a descriptor, close-on-exec, under a high number; ``fd`` stays open.

    The number is below 200 if the limit of open files is lower. Raises OSError.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = _HIGH_FD
    if soft != resource.RLIM_INFINITY:
        number = max(3, min(number, soft - _ROOM))
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, number)
