"""Answering in JSON lines, whatever the target does to what it knows as its own descriptors."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from fuzztui.engines.core.errors import Refusal

__all__ = ["Say", "answering"]

_OUT_FD: Final = 200

Say = Callable[[Mapping[str, Any]], None]


@contextlib.contextmanager
def answering() -> Iterator[Say]:
    """Gives what prints a line to stdout; stderr is put back for the words of a Refusal."""
    out, err = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _OUT_FD), os.dup(2)

    def say(what: Mapping[str, Any]) -> None:
        line = memoryview(json.dumps(what, sort_keys=True).encode() + b"\n")
        while line:
            line = line[os.write(out, line) :]

    try:
        yield say
    except Refusal:
        os.dup2(err, 2)
        raise
