"""Answering in JSON lines, whatever the target does to what it knows as its own descriptors."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.execute.descriptors import high_copy

__all__ = ["Say", "answering"]

Say = Callable[[Mapping[str, Any]], None]


@contextlib.contextmanager
def answering() -> Iterator[Say]:
    """Gives what prints a line to stdout; stderr is put back for the words of a Refusal."""
    out, err = high_copy(1), os.dup(2)

    def say(what: Mapping[str, Any]) -> None:
        line = memoryview(json.dumps(what, sort_keys=True).encode() + b"\n")
        while line:
            line = line[os.write(out, line) :]

    try:
        yield say
    except CannotStart:
        os.dup2(err, 2)
        raise
