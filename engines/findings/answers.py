"""Print JSON lines to stdout even if the target redirects or closes its descriptors."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.execute.limits import high_copy

Say = Callable[[Mapping[str, Any]], None]


def read_request(file: Path) -> dict[str, Any]:
    """The JSON object in ``file``: the request of a command. Raises :class:`CannotStart`."""
    try:
        request: dict[str, Any] = json.loads(file.read_bytes())
    except (OSError, ValueError) as e:
        raise CannotStart(f"{file}: {e}") from None
    return request


@contextlib.contextmanager
def answering(*, sort_keys: bool = True) -> Iterator[Say]:
    """Context manager: yields a function that prints a line to the original stdout.

    Restores stderr if the body raises ``CannotStart``, so that its message is visible.
    """
    out, err = high_copy(1), os.dup(2)

    def say(answer: Mapping[str, Any]) -> None:
        line = memoryview(json.dumps(answer, sort_keys=sort_keys).encode() + b"\n")
        while line:
            line = line[os.write(out, line) :]

    try:
        yield say
    except CannotStart:
        os.dup2(err, 2)
        raise
