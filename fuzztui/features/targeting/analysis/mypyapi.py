"""All names that fuzztui uses of mypy, whose modules are not a public interface.

Other modules import mypy's names from here. Importing this module raises :class:`TargetsError` if
the installed mypy does not have them.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from fuzztui.features.targeting.analysis.document import TargetsError
from fuzztui.run.campaign.extras import missing_extra

__all__ = [
    "EXHAUSTIVE_MATCH", "BuildSource", "CompileError", "Options", "build", "mypy_types", "nodes",
    "stub_distribution_name", "untested",
]  # fmt: skip

OLDEST: Final = (2, 0)
NEWEST: Final = (2, 4)
"""The versions of mypy that fuzztui was tested with, as ``pyproject.toml`` has them."""

_NODES: Final = (
    "AssertStmt", "CallExpr", "ClassDef", "ComparisonExpr", "Decorator", "Expression",
    "ExpressionStmt", "FakeInfo", "FuncDef", "IfStmt", "MatchStmt", "MemberExpr", "MypyFile",
    "NameExpr", "Node", "OpExpr", "RaiseStmt", "RefExpr", "ReturnStmt", "Statement", "SuperExpr",
    "TryStmt", "TypeInfo", "Var",
)  # fmt: skip
_TYPES: Final = (
    "FunctionLike", "Instance", "LiteralType", "NoneType", "TupleType", "Type", "TypeType",
    "TypeVarType", "TypedDictType", "UnionType", "get_proper_type",
)  # fmt: skip


def untested() -> str:
    """A message if fuzztui was not tested with the installed mypy; "" if it was."""
    try:
        there = version("mypy")
        number = tuple(int(part) for part in there.split(".")[:2])
    except (PackageNotFoundError, ValueError):
        there, number = "", (0, 0)
    if OLDEST <= number <= NEWEST:
        return ""
    (major, minor), (last, newest) = OLDEST, NEWEST
    if missing := missing_extra("spoton"):
        return missing
    what = f"mypy {there}" if there else "no version of mypy"
    return (
        f"{what} is installed; fuzztui was tested with {major}.{minor} to {last}.{newest}: "
        f"pip install 'mypy>={major}.{minor},<{last}.{newest + 1}'"
    )


def _refusal(why: str) -> TargetsError:
    words = untested() or "install mypy again: pip install --force-reinstall mypy"
    return TargetsError(f"mypy cannot be used: {why}; {words}")


try:
    from mypy import nodes
    from mypy import types as mypy_types
    from mypy.build import build
    from mypy.errorcodes import EXHAUSTIVE_MATCH
    from mypy.errors import CompileError
    from mypy.modulefinder import BuildSource
    from mypy.options import Options
    from mypy.stubinfo import stub_distribution_name
except ImportError as e:
    raise _refusal(str(e)) from None

for _module, _names in ((nodes, _NODES), (mypy_types, _TYPES)):
    if _missing := [name for name in _names if not hasattr(_module, name)]:
        raise _refusal(f"{_module.__name__} has no {', '.join(_missing)}")
