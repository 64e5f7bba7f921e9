"""Write the run's ``constants.json`` before its first start: what a generator may draw.

A choice selects a constant by its number among those that fit, so all commands that run inputs read
this file (inprocess/constants.py), and it stays when the program changes. spoton's constants are
those of its first analysis (run_analysis.py).
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from pathlib import Path

from fuzztui.features.targeting.analysis import (
    AnalysedConstant,
    Request,
    TargetingAnalysis,
    TargetsError,
)
from fuzztui.features.targeting.analysis.application import gather
from fuzztui.features.targeting.analysis.constants import constants
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.text import several
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.inprocess.constants import analysed, constants_json
from fuzztui.run.inprocess.spec import CONSTANTS_FILE


def keep_constants(campaign: Campaign, home: RunDir, progress: Callable[[str], None]) -> None:
    """Write the file if this run is new. Raises :class:`SupervisorError`.

    A run that began without the file continues without constants.
    """
    if home.constants.is_file():
        return
    specs = [*(home.path / "out").glob("*/spec.json")]
    if any(map(_names_the_file, specs)):
        raise SupervisorError(
            f"{home.constants}: the file is missing, and the choices of all queue entries refer"
            " to it; restore it from a copy, or start a new run with --new"
        )
    if kept := analysed(home):
        _write(home, kept.decode())
    elif not specs:
        progress("reading the application's constants")
        found = _found(campaign)
        document = TargetingAnalysis((), "", constants=found)
        _write(home, constants_json(document.to_json()["constants"]))
        progress(several(len(found), "constant"))


def _found(campaign: Campaign) -> tuple[AnalysedConstant, ...]:
    """The application's constants. Raises :class:`SupervisorError`."""
    try:
        application = gather(_request(campaign), lambda words: None)
    except (TargetsError, subprocess.SubprocessError) as e:
        raise SupervisorError(f"engine.constants: {e}") from None
    found: dict[tuple[type, object], AnalysedConstant] = {}
    for source in sorted(application.sources.values(), key=lambda s: s.shown):
        tree = application.trees.get(source.name)
        for constant in constants(tree, source.shown, {*ast.walk(tree)}) if tree else ():
            found.setdefault((type(constant.value), constant.value), constant)
    return tuple(found.values())


def _write(home: RunDir, text: str) -> None:
    try:
        replace_text(home.constants, text)
    except OSError as e:
        raise SupervisorError(f"{e.filename or home.constants}: {e.strerror or e}") from None


def _request(campaign: Campaign) -> Request:
    """The request for the application's modules. Raises :class:`TargetsError`."""
    target = campaign.target
    if target.get("suite"):  # the tests are no part of it: it has no function either
        target = {**target, "function": f"{target['include'][0]}:suite"}
    return Request.of_target(target)


def _names_the_file(spec: Path) -> bool:
    try:
        return CONSTANTS_FILE in loads(spec.read_bytes())["engine"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
