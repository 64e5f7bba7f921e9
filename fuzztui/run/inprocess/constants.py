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
"""Directories between a run and an instance of a mutant's turn, and one more."""
_INSTANCES: Final = ("out", "supervisor", "mutants")
"""Directories of a run, or of a kept corpus, that have instances: what is next to another directory
is not ours, such as a project's own ``constants.json``, or another user's file in /tmp."""


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
    """Return the ``constants.json`` of a run's ``targets.json``; None if the file has none."""
    try:
        data = json.loads(read_regular(home.targets, _MAX_BYTES))
        return constants_json(data["constants"]).encode()
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def constants_json(constants: object) -> str:
    """The text of ``constants.json``. ``constants``: that part of a ``targets.json``."""
    return json.dumps({"constants": constants, "digest": digest_of(constants)})
