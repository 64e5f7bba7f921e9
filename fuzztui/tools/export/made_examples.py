"""Have an engine find the arguments that a Hypothesis test gets for saved choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.spec import LOAD_LIMIT_S
from fuzztui.run.campaign import Campaign
from fuzztui.run.inprocess.ask import asked

_EACH_S: Final = 10.0
"""Seconds for one input."""


@dataclass(frozen=True, slots=True)
class MadeExample:
    """The arguments of a test, or why there are none."""

    test: str = ""
    """The node id of the test without folders; an empty string: unknown."""
    arguments: Sequence[tuple[str, str, Mapping[str, str]]] = ()
    """Name, expression, and the file's names for the classes in the expression."""
    why: str = "its input cannot be made again"

    @property
    def size(self) -> int:
        """The characters of the arguments."""
        return sum(len(name) + len(text) for name, text, _ in self.arguments)


def made_examples(
    campaign: Campaign,
    files: Sequence[Path],
    instance: Path,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[Path, MadeExample]:
    """Run inputs; return the arguments with which tests are called, by file.

    Inputs without an answer of the engine are missing. ``instance``: the directory of an instance
    whose run has the constants of a generator. ``progress``: called with the number of inputs that
    are done. Raises
    :class:`~fuzztui.run.inprocess.ask.NoAnswer`, OSError.
    """
    found: dict[Path, MadeExample] = {}
    request = {"inputs": [str(file.absolute()) for file in files], "examples": True}
    limit_s = LOAD_LIMIT_S + _EACH_S * len(files)
    with asked(campaign, "--record", request, instance, limit_s=limit_s) as answers:
        for answer in answers:
            match answer.get("recorded"):
                case [int(at), dict(recorded)] if 0 <= at < len(files):
                    found[files[at]] = _example(recorded.get("example"))
                    progress(at + 1)
    return found


def _example(data: Any) -> MadeExample:
    match data:
        case {"test": str(test), "arguments": [*rows]}:
            return MadeExample(test, [_argument(row) for row in rows], "")
        case {"test": str(test), "why": str(why)}:
            return MadeExample(test, why=why)
    return MadeExample()


def _argument(row: Any) -> tuple[str, str, dict[str, str]]:
    match row:
        case [str(name), str(text), dict(names)]:
            return name, text, {str(known): str(local) for known, local in names.items()}
    return "", "", {}
