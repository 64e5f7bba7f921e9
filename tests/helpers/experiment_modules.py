"""Experiments as modules: they are programs, and no package has them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

_EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
sys.path.append(str(_EXPERIMENTS))  # paper.py imports plots.py


def experiment(name: str) -> Any:
    """Load ``experiments/NAME.py``."""
    unique = f"experiment_{name}"  # a helper of the tests may have the plain name
    spec = importlib.util.spec_from_file_location(unique, _EXPERIMENTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module
