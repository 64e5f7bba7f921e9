"""A part of a score: which mutants one job runs, when many jobs share the work.

The result of a part has rows of its own mutants only; ``features/mutants/score_parts.py`` merges
the results of all parts into what one process would have answered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzztui.engines.base.errors import CannotStart
from fuzztui.kernel.base.bounds import loads


@dataclass(frozen=True, slots=True)
class ScorePart:
    """The mutants whose index modulo ``of`` is in ``shards``; if not None, those in ``only``."""

    shards: frozenset[int]
    of: int
    only: frozenset[int] | None
    flaky: frozenset[str]
    """Names of inputs that another part has found to be flaky: they are not run."""
    inputs: tuple[Path, ...]
    """The files to score, in place of directories, which may change between two parts."""

    def has(self, index: int) -> bool:
        """Whether a mutant belongs to the part."""
        if self.only is not None:
            return index in self.only
        return index % self.of in self.shards


def read_part(file: Path) -> ScorePart:
    """Read the JSON object of a part. Raises :class:`CannotStart`."""
    try:
        data: dict[str, Any] = loads(file.read_bytes())
        only = data.get("only")
        part = ScorePart(
            frozenset(map(int, data.get("shards", ()))),
            int(data.get("of", 1)),
            None if only is None else frozenset(map(int, only)),
            frozenset(map(str, data.get("flaky", ()))),
            tuple(map(Path, data.get("inputs", ()))),
        )
    except (OSError, ValueError, TypeError, AttributeError) as e:
        raise CannotStart(f"{file}: is not a part of a score: {e}") from None
    if part.of < 1:
        raise CannotStart(f"{file}: of = {part.of} is not a number of shards")
    return part


def digest_of_part(digest: str, inputs: Sequence[tuple[str, bytes]]) -> str:
    """A digest of the program, the inputs and their names: equal for all parts of one score."""
    names = [(name, hashlib.sha256(data).hexdigest()) for name, data in inputs]
    return hashlib.sha256(json.dumps([digest, names]).encode()).hexdigest()
