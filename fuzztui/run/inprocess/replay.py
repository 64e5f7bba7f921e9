"""Run inputs on the present target: which fail and how, and what each covers."""

from __future__ import annotations

import base64
import binascii
import json
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.files import read_json
from fuzztui.run.campaign import Campaign
from fuzztui.run.inprocess.ask import NoAnswer, ask

_FAILED: Final = {"failure": "crash", "died": "crash", "timeout": "hang", "hung": "hang"}
_MAX_CELLS: Final = 16 << 20
_MAX_STALLS: Final = 3
"""Inputs in a row that may end the engine; after one more, the replay fails."""
EDGES: Final = "edges.json"
VALID: Final = 7
"""The bucket that marks a valid input: zest counts the coverage of valid inputs separately."""


@dataclass(slots=True)
class Replayed:
    """The results of :func:`replay`; ``cells`` and ``failed`` by the index of the input."""

    cells: dict[int, frozenset[int]] = field(default_factory=dict)
    """What each input covers: 8 times the number of a cell, plus the bucket of its hit count, 0 to
    6; of a valid input also plus :data:`VALID`."""
    failed: dict[int, dict[str, str]] = field(default_factory=dict)
    """The description of each failure, with the fields of ``FindingDescribed``."""
    cut: int = 0
    """Inputs that were not run, because the time was over."""
    loaded: bool = False
    harness: str = ""
    """The file of the target function's module; empty if the campaign names the file."""


def replay(
    campaign: Campaign,
    inputs: Sequence[Path],
    work: Path,
    instance: Path,
    progress: Callable[[int], None] = lambda done: None,
    *,
    until: float = float("inf"),
) -> Replayed:
    """Run inputs, each as if it were the first.

    ``work``: a directory for the request and for the numbering of cells: calls with the same
    directory have the same numbers. ``instance``: an instance's directory, whose run has the
    constants that a generator draws.
    ``until``: the monotonic time after which no more inputs are run; they have no result.
    Raises :class:`~fuzztui.run.inprocess.ask.NoAnswer`, OSError.
    """
    found = Replayed()
    start = stalls = 0
    while start < len(inputs) or not found.loaded:
        try:
            request = _request(campaign, inputs[start:], work)
            with closing(ask(campaign, request, instance)) as answers:
                for answer in answers:
                    if (at := _take(found, answer, start)) >= 0:
                        progress(at + 1)
                    if found.loaded and time.monotonic() >= until:
                        found.cut = len(inputs) - 1 - max(found.cells, default=-1)
                        break
            break
        except NoAnswer as e:
            done = max(found.cells, default=-1) + 1
            stalls = 0 if done > start else stalls + 1
            if not found.loaded or stalls > _MAX_STALLS:
                raise
            if done == start:  # the first input of the request has ended the engine
                failure = {"category": "crash", "title": str(e), "signature": f"engine ended: {e}"}
                found.failed[done], found.cells[done] = failure, frozenset()
                done += 1
            start = done
    return found


def _request(campaign: Campaign, inputs: Sequence[Path], work: Path) -> list[str]:
    """Write the request; return the engine's arguments. Raises OSError."""
    module = str(campaign.target["function"]).rpartition(":")[0]
    wanted = {
        "inputs": [str(file.absolute()) for file in inputs],
        "edges": str(work / EDGES),
        "modules": [] if module.endswith(".py") or campaign.target.get("suite") else [module],
        "words": True,
        "answers": False,
        "lines": "",
    }
    request = work / "request.json"
    request.write_text(json.dumps(wanted))
    return ["--batch", str(request)]


def _take(found: Replayed, answer: dict[str, Any], start: int) -> int:
    """Add an answer to ``found``; return the index of the input that is done, or -1.

    ``start``: the index of the request's first input.
    """
    match answer:
        case {"loaded": dict(files)}:
            found.loaded = True
            found.harness = next((str(file) for file in files.values()), "")
        case {"words": [int(at), dict(description)]}:
            found.failed[start + at] = {str(k): str(v) for k, v in description.items()}
        case {"verdict": [int(at), str(outcome), str(cells), int()]}:
            if outcome in _FAILED:
                failure = {"category": _FAILED[outcome], "title": outcome}
                found.failed.setdefault(start + at, failure)
            found.cells[start + at] = covered_cells(cells, valid=outcome == "success")
            return start + at
    return -1


def covered_cells(text: str, *, valid: bool) -> frozenset[int]:
    """Return what an input covers, as in :class:`Replayed`, from an answer of the engine."""
    try:
        cells = zlib.decompressobj().decompress(base64.b64decode(text), _MAX_CELLS)
    except (ValueError, binascii.Error, zlib.error):
        return frozenset()
    hit = [(cell, bits) for cell, bits in enumerate(cells) if bits]
    found = [8 * cell + min(bits.bit_length() - 1, VALID - 1) for cell, bits in hit]
    return frozenset(found + [8 * cell + VALID for cell, _ in hit if valid])


def replayed_files(work: Path) -> set[Path]:
    """Return the files of the instrumented modules, which a replay in ``work`` has loaded."""
    modules = (read_json(work / EDGES) or {}).get("modules")
    rows = modules if isinstance(modules, list) else []
    files = (row.get("file") for row in rows if isinstance(row, dict))
    return {Path(file).resolve() for file in files if isinstance(file, str)}
