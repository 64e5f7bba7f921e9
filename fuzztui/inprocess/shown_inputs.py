"""What a generator makes of saved choices, as texts for users: asked from an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from fuzztui.base.files import temporary_directory
from fuzztui.campaign import Campaign
from fuzztui.engines.base.spec import LOAD_LIMIT_S
from fuzztui.inprocess.ask import ask

_EACH_S: Final = 10.0
"""Seconds for one input."""


def shown_inputs(
    campaign: Campaign,
    files: Sequence[Path],
    instance: Path,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[Path, str]:
    """Return the texts of inputs, as far as the generator can make them and they are complete.

    ``instance``: an instance's directory in a run with the constants of a generator. ``progress``:
    called with the number of inputs that are done. The inputs are run, too. Raises
    :class:`~fuzztui.inprocess.ask.NoAnswer`, OSError.
    """
    found: dict[Path, str] = {}
    with temporary_directory() as folder:
        request = Path(folder) / "request.json"
        request.write_text(
            json.dumps({"inputs": [str(file.absolute()) for file in files], "shown": True})
        )
        limit_s = LOAD_LIMIT_S + _EACH_S * len(files)
        answers = ask(campaign, ["--record", str(request)], instance, limit_s=limit_s)
        with closing(answers):
            for answer in answers:
                at, text = _shown(answer)
                if text and 0 <= at < len(files):
                    found[files[at]] = text
                if at >= 0:
                    progress(at + 1)
    return found


def _shown(answer: dict[str, Any]) -> tuple[int, str]:
    """The number of an input, and its text: empty if it is unknown or cut; -1: another answer."""
    match answer.get("recorded"):
        case [int(at), {"shown": {"text": str(text), "length": int(length)}}]:
            return at, text if length <= len(text) else ""
        case [int(at), dict()]:
            return at, ""
    return -1, ""
