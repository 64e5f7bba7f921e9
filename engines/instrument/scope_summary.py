"""The instrumentation scope as text: one line for each included package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fuzztui.base.text import listed, several
from fuzztui.engines.instrument.importer import Application

_SHOWN = 3
"""Compiled modules listed in a line."""


def scope_lines(application: Application) -> list[str]:
    """``priority in /.../site-packages/priority (12 modules)`` for each included package.

    Only loaded modules count: more may be imported while the target runs.
    """
    return [_of(application, package) for package in application.include]


def _of(application: Application, package: str) -> str:
    def within(name: str) -> bool:
        return name == package or name.startswith(f"{package}.")

    files = [m.file for m in application.table.modules.values() if within(m.name)]
    compiled = sorted(filter(within, application.compiled_only))
    if not compiled and len(files) == 1 and Path(files[0]).name != "__init__.py":
        return f"{package} in {files[0]}"
    where = f" in {os.path.commonpath([Path(f).parent for f in files])}" if files else ""
    return f"{package}{where} ({several(len(files), 'module')}{_but(compiled)})"


def _but(compiled: Sequence[str]) -> str:
    if not compiled:
        return ""
    return f"; not {listed(compiled, _SHOWN)}: compiled"
