"""Report imported libraries without types: the types of their results are unknown."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Final

from fuzztui.targeting.analysis.application import AnalysedApplication
from fuzztui.targeting.analysis.mypyapi import stub_distribution_name
from fuzztui.targeting.analysis.types import Types

_STUBS: Final = {"boto3": "boto3-stubs", "botocore": "botocore-stubs"}
"""Stub packages that mypy does not suggest."""
_MOST: Final = 5


def untyped(application: AnalysedApplication, types: Types) -> Iterator[str]:
    """Yield a message if the application imports libraries without types."""
    if not types.read:
        return  # mypy has failed, which another message reports
    found = sorted({name for m in application.sources for name in _imported(application, m)})
    # The application's own packages without source are not libraries.
    names = [n for n in found if n not in types.read and n not in sys.stdlib_module_names]
    names = [n for n in names if n not in {p.partition(".")[0] for p in application.packages}]
    if not names:
        return
    stubs = [_STUBS.get(name) or stub_distribution_name(name) for name in names]
    known = " ".join(sorted({stub for stub in stubs if stub}))
    install = f"; `pip install {known}` for target.python gives them types" if known else ""
    shown = ", ".join(names[:_MOST]) + (", ..." if len(names) > _MOST else "")
    yield (
        f"without types: {shown}. The results of such a library have no type, so the types of its"
        f" arguments are used instead{install}. If a type of a library's stubs or of the"
        " application corresponds to a type that a generator makes, set engine.aliases:"
        ' {"app.Stored" = "fuzztui.generators.S3Object"}'
    )


def _imported(application: AnalysedApplication, module: str) -> Iterator[str]:
    """Yield the top-level packages that a module of the application imports."""
    tree = application.trees.get(module)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
