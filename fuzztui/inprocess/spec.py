"""``spec.json``: what an engine of ours is told (docs/house.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fuzztui.afl.library import text_library
from fuzztui.base.bounds import loads
from fuzztui.base.files import replace_text
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError

__all__ = ["python_of", "spec_near", "write_spec"]


def write_spec(path: Path, campaign: Campaign, directory: Path, budget_trials: int = 0) -> None:
    """Write the ``spec.json`` of the instance whose directory that is. Raises OSError."""
    spec = {
        "proto": 1,
        "instance": directory.name,
        "dir": str(directory),
        "sync_dir": str(directory.parent),
        "seed": campaign.seed,
        "budget_trials": budget_trials,
        "budget_s": 0,
        "engine": campaign.engine,
        "target": campaign.target,
    }
    tables = {"text": _text(campaign), "oracle": campaign.oracle}
    spec |= {name: table for name, table in tables.items() if table}
    replace_text(path, json.dumps(spec, indent=1))


def _text(campaign: Campaign) -> dict[str, Any]:
    """The table for an engine that mutates text, and the library that does it, or why not."""
    if not campaign.text:
        return {}
    library, why = text_library()
    return {**campaign.text, "library": str(library or ""), "why": why}


def spec_near(run_dir: RunDir, file: Path) -> Path | None:
    """The ``spec.json`` of the instance that a file is of, else of another one of the run."""
    specs = sorted(run_dir.out.glob("*/spec.json"))
    return next((s for s in specs if s.parent in file.absolute().parents), next(iter(specs), None))


def python_of(spec: Path) -> tuple[str, dict[str, str]]:
    """The target's interpreter, and its variables. Raises :class:`SupervisorError`."""
    try:
        target = loads(spec.read_bytes())["target"]
        env = {str(name): str(value) for name, value in target.get("env", {}).items()}
        return str(target["python"]), env
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise SupervisorError(
            f"{spec}: is damaged: run the campaign again to have it made again"
        ) from None
