"""The constants that the choices in inputs select: those of the run that drew the choices.

All commands that run inputs make them with this file, whatever their engine and options are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import tomli

from fuzztui.engines.inputs.constants import digest_of
from fuzztui.kernel.base.files import read_if_regular, read_regular
from fuzztui.run.campaign.rundir import RunDir

_MAX_BYTES: Final = 1 << 28
_LEVELS: Final = 6
"""Number of parents that are searched: from an instance of a mutant's turn up to the run, and one
more."""
_INSTANCES: Final = ("out", "supervisor", "mutants")
"""Directories of a run, or of a kept corpus, that have instances. A ``constants.json`` next to any
other directory is not of fuzztui: it may be a project's own, or another user's file in /tmp."""


def constants_file(directory: Path) -> Path | None:
    """Return the file with the constants of an instance's run; None if inputs select none.

    ``directory``: the instance's, which need not exist, or another directory of a run or of a kept
    corpus.
    """
    for path in directory.parents[:_LEVELS]:
        home = RunDir(path)
        if directory.relative_to(path).parts[0] not in _INSTANCES:
            continue
        if home.constants.is_file():
            return home.constants
        if home.campaign.is_file():
            return home.targets if _drew_from_analysis(home) else None
    return None


def _drew_from_analysis(home: RunDir) -> bool:
    """Whether spoton began this run before it wrote ``constants.json``."""
    try:
        engine = tomli.loads(home.campaign.read_text(encoding="utf-8"))["engine"]
        return home.targets.is_file() and engine.get("constants", True) is not False
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def constants_of(home: RunDir) -> bytes | None:
    """Return the run's constants as ``constants.json`` has them; None if inputs select none."""
    file = constants_file(home.out)
    if file == home.targets:
        return analysed(home)
    return read_if_regular(file, _MAX_BYTES) if file is not None else None


def analysed(home: RunDir) -> bytes | None:
    """Return ``constants.json`` as made of a run's ``targets.json``; None if that has none."""
    try:
        data = json.loads(read_regular(home.targets, _MAX_BYTES))
        return constants_json(data["constants"]).encode()
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def constants_json(constants: object) -> str:
    """Return the text of ``constants.json``. ``constants``: the value in a ``targets.json``."""
    return json.dumps({"constants": constants, "digest": digest_of(constants)})
