"""Markers: constants in a module's tree that are replaced by objects of the engine.

Inserted code uses objects of the engine (the coverage map, the guard's fuel) without a name. The
tree contains a marker for each object; after compiling, the object replaces the marker among the
constants of the code. So the names of the module do not change.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from types import CodeType
from typing import Any, Final, TypeVar

# Markers are complex denormals: programs do not contain them, and the compiler does not
# evaluate a subscript of a complex number, as it does for a string.
_TINY: Final = 5e-324
_OBJECTS: Final = (
    "cells", "next", "arm", "fuel", "tick", "guard", "hit", "watches", "nobody", "empty",
    "left", "right", "middle", "subject",
)  # fmt: skip
MARKERS: Final[Mapping[str, complex]] = {
    name: complex(0.0, _TINY * (i + 3)) for i, name in enumerate(_OBJECTS)
}

_NAMES: Final = {mark: name for name, mark in MARKERS.items()}

_N = TypeVar("_N", bound=ast.AST)


def marker(name: str) -> ast.Constant:
    """The node of the marker for the object ``name``."""
    return ast.Constant(MARKERS[name])


def compile_with(
    tree: ast.Module, file: str, constants: Mapping[str, Any], flags: int = 0
) -> CodeType:
    """Compile ``tree``, with each marker replaced by the object of this name.

    ``flags``: those of ``from __future__`` imports that are missing in the tree. Raises as
    :func:`compile`, and KeyError for a marker without an object: left in the code, it would
    change what the program does.
    """
    return with_objects(compile_marked(tree, file, flags), constants)


def compile_marked(tree: ast.Module, file: str, flags: int = 0) -> CodeType:
    """Compile ``tree``, whose markers stay."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "'complex' object is not callable; perhaps ..."
        code: CodeType = compile(tree, file, "exec", flags=flags, dont_inherit=True)
    return code


def with_objects(code: CodeType, constants: Mapping[str, Any]) -> CodeType:
    """Replace each marker in the code. Raises KeyError for a marker without an object."""
    consts = tuple(
        with_objects(c, constants)
        if isinstance(c, CodeType)
        else constants[_NAMES[c]]
        if type(c) is complex and c in _NAMES
        else c
        for c in code.co_consts
    )
    if all(a is b for a, b in zip(consts, code.co_consts, strict=True)):
        return code
    return code.replace(co_consts=consts)


def placed(node: _N, at: ast.AST) -> _N:
    """Give ``node`` and the new nodes below it the source position of ``at``."""
    if "lineno" in node._attributes:
        if hasattr(node, "lineno"):
            return node  # a node of the program
        new: Any = node
        new.lineno, new.col_offset = getattr(at, "lineno", 1), getattr(at, "col_offset", 0)
        new.end_lineno = getattr(at, "end_lineno", new.lineno)
        new.end_col_offset = getattr(at, "end_col_offset", new.col_offset)
    for child in ast.iter_child_nodes(node):
        placed(child, at)
    return node
