"""Write the run's ``constants.json`` before its first start: what a generator may draw.

A choice selects a constant by its number among those that fit, so all instances, ``repro``,
``minimise`` and ``score`` read this file, and it stays when the program changes. spoton's constants
are part of its analysis (run_analysis.py).
"""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from fuzztui.base.atomic import replace_text
from fuzztui.base.bounds import loads
from fuzztui.base.text import several
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.engines.inputs.constants import digest_of
from fuzztui.inprocess.spec import CONSTANTS_FILE
from fuzztui.targeting.analysis import AnalysedConstant, Request, TargetingAnalysis, TargetsError
from fuzztui.targeting.analysis.application import gather
from fuzztui.targeting.analysis.constants import constants


def keep_constants(campaign: Campaign, home: RunDir, progress: Callable[[str], None]) -> None:
    """Write the file if this run is new. Raises :class:`SupervisorError`.

    A run that began without the file continues without constants.
    """
    if home.constants.is_file():
        return
    for spec in (home.path / "out").glob("*/spec.json"):
        if _names_the_file(spec):
            raise SupervisorError(
                f"{home.constants}: the file is missing, and the choices of all queue entries refer"
                " to it; restore it from a copy, or start a new run with --new"
            )
        return
    progress("reading the application's constants")
    try:
        application = gather(_request(campaign), lambda words: None)
    except (TargetsError, subprocess.SubprocessError) as e:
        raise SupervisorError(f"engine.constants: {e}") from None
    found: dict[tuple[type, object], AnalysedConstant] = {}
    for source in sorted(application.sources.values(), key=lambda s: s.shown):
        tree = application.trees.get(source.name)
        for constant in constants(tree, source.shown, {*ast.walk(tree)}) if tree else ():
            found.setdefault((type(constant.value), constant.value), constant)
    document = TargetingAnalysis((), "", constants=tuple(found.values()))
    try:
        kept = document.to_json()["constants"]
        text = json.dumps({"constants": kept, "digest": digest_of(kept)})
        replace_text(home.constants, text)
    except OSError as e:
        raise SupervisorError(f"{e.filename or home.constants}: {e.strerror or e}") from None
    progress(several(len(found), "constant"))


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
