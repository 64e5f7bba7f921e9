"""The arguments of a Hypothesis test as expressions for an ``@example`` in the test's own file.

Each is made from the structure of the value, never from a ``repr()`` of the target.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from fuzztui.engines.export.literals import NoLiteral, literal
from fuzztui.engines.inputs.shape import type_name
from fuzztui.engines.strategies.given import Pending


def example_of(made: object) -> dict[str, Any]:
    """Return ``test``, its name, and ``arguments``: rows of name, expression, and names in it.

    The names of the expression are mapped to those of the test's file. With ``why`` instead of
    ``arguments`` there is no example.
    """
    if not isinstance(made, Pending):
        return {"test": "", "why": "it is not a Hypothesis test"}
    found: dict[str, Any] = {"test": made.test.name}
    scope = getattr(inspect.unwrap(made.test.function), "__globals__", {})
    rows = []
    for name, value in made.arguments.items():
        try:
            written = literal(value, checked=False)
            names = {known: _local(known, one, scope) for known, one in written.known.items()}
        except NoLiteral as e:
            return {**found, "why": f"{name}: {e}"}
        rows.append([name, written.text, names])
    return {**found, "arguments": rows}


def _local(known: str, one: object, scope: Mapping[str, Any]) -> str:
    """The name in the test's file of a class, or of a member of one. Raises NoLiteral."""
    if not isinstance(one, type):
        return f"{_local('', type(one), scope)}.{known.rpartition('.')[2]}"
    name = one.__name__
    if one.__module__ == "builtins" and name not in scope:
        return name
    for local in (name, *scope):
        if scope.get(local) is one:
            return local
    for local, module in scope.items():
        if isinstance(module, ModuleType) and vars(module).get(name) is one:
            return f"{local}.{name}"
    raise NoLiteral(f"needs {type_name(one)}, which the file does not import")
