"""``spec.json``: the parameters of an in-process engine (engines/README.md)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.kinds import KINDS, kind_named
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.model.feature import Feature, own_features, package_features
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.inprocess.constants import constants_file
from fuzztui.run.process.library import counter_library

CONSTANTS_FILE: Final = "constants_file"
"""The key of ``engine`` for the constants that choices select."""


def write_spec(path: Path, campaign: Campaign, directory: Path, budget_trials: int = 0) -> None:
    """Write the ``spec.json`` of the instance in ``directory`` to ``path``.

    Raises OSError, and :class:`SupervisorError` if a package's feature fails.
    """
    engine = campaign.engine
    if campaign.exact_s:
        engine = {**engine, "exact_budget": (campaign.exact_s, 0)}
    if (constants := constants_file(directory)) is not None:
        # Relative, because runs can be moved.
        engine = {**engine, CONSTANTS_FILE: os.path.relpath(constants, path.parent)}
    target = campaign.target
    if target.get("extensions"):
        library, why = counter_library()
        target = {**target, "counters": {"library": str(library or ""), "why": why}}
    spec: dict[str, Any] = {
        "proto": 1,
        "instance": directory.name,
        "dir": str(directory),
        "sync_dir": str(directory.parent),
        "seed": campaign.seed,
        "budget_trials": budget_trials,
        "budget_s": 0,
        "stuck_trials": campaign.stuck_trials,
        "stuck_from": campaign.stuck_from,
        "engine": engine,
        "target": target,
    }
    of = (campaign, directory, path)
    for feature in own_features():
        for name, table in feature.load(feature.spec)(*of).items() if feature.spec else ():
            spec[name] = {**spec.get(name, {}), **table}
    for feature in package_features():
        _add_tables(spec, feature, of)
    if campaign.kind not in KINDS:
        row = kind_named(campaign.kind)
        spec["plugin"] = {"module": row.module, "commands": list(row.commands)}
    replace_text(path, json.dumps(spec, indent=1))


def _add_tables(spec: dict[str, Any], feature: Feature, of: tuple[Any, ...]) -> None:
    """Add the tables of a package's feature; nothing of fuzztui's own is replaced.

    Raises :class:`SupervisorError`.
    """
    try:
        for name, table in feature.data(feature.spec, *of).items() if feature.spec else ():
            spec[name] = {**dict(table), **spec.get(name, {})}
    except (PluginError, TypeError, ValueError) as e:
        text = str(e) if isinstance(e, PluginError) else feature.fault(feature.spec, e)
        raise SupervisorError(text) from None


def spec_near(run_dir: RunDir, file: Path) -> Path | None:
    """Return the ``spec.json`` of a file's instance, else of another instance; None if none.

    A hub, whose instances run on its hosts, has its own.
    """
    specs = [*sorted(run_dir.out.glob("*/spec.json")), *run_dir.supervisor.glob("spec.json")]
    return next((s for s in specs if s.parent in file.absolute().parents), next(iter(specs), None))


def saves_examples(spec: Path) -> bool:
    """Whether findings are saved as failing examples of Hypothesis: those of a suite, if wanted."""
    try:
        target = loads(spec.read_bytes())["target"]
        return bool(target.get("examples") and target.get("suite"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def python_of(spec: Path) -> tuple[str, dict[str, str]]:
    """Return the target's interpreter and environment. Raises :class:`SupervisorError`."""
    try:
        target = loads(spec.read_bytes())["target"]
        env = {str(name): str(value) for name, value in target.get("env", {}).items()}
        return str(target["python"]), env
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise SupervisorError(
            f"{spec}: the file is damaged; start the campaign again to write it again"
        ) from None
