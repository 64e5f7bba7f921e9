"""Outcomes as an engine recorded them: expressions from a process that ran the target's code.

Every expression is checked (:func:`is_expression`) before it may become a part of a file: it
consists of literals, and calls of dotted names, and nothing else.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any


class RecordError(Exception):
    """The engine's answer is damaged; the message says why."""


@dataclass(frozen=True, slots=True)
class Written:
    """A value as an expression."""

    text: str
    modules: tuple[str, ...]
    """The modules that it needs."""
    plain: bool
    """Whether ``ast.literal_eval`` can read it."""
    raw: str
    """``bytes`` or ``text``: the value is one; else an empty string."""

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n") + 1


@dataclass(frozen=True, slots=True)
class RaisedError:
    """An exception. ``module`` and ``name``: where its class is imported from; empty: nowhere."""

    module: str
    name: str
    qualified: str
    message: str
    """The exception's text as an expression; empty: the text may differ the next time."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one input did."""

    outcome: str
    """success, invalid, failure or timeout; died or hung (the whole process); unfit (not run)."""
    argument: Written | None = None
    """None: the argument has no expression."""
    choices: str = ""
    """The expression of a generator's choices."""
    value: Written | None = None
    described: bool = False
    """Whether ``value`` is a description of the value: its classes and attributes."""
    properties: bool = True
    """Whether the description contains the values of properties."""
    without: tuple[str, ...] = ()
    """Names of parts of the value that vary, which the description leaves out."""
    type: str = ""
    """The class of a value that has no expression."""
    unseen: tuple[str, ...] = ()
    """The parts of the value that cannot be compared."""
    instead: tuple[str, ...] = ()
    """References for ``target.compare`` that show the whole value."""
    error: RaisedError | None = None

    @classmethod
    def of(cls, data: Any) -> Recorded:
        """Read what an engine has printed. Raises :class:`RecordError`."""
        try:
            value = data.get("value") or {}
            choices = str(data.get("choices", ""))
            if choices and not is_expression(choices):
                raise RecordError("choices are no expression")
            return cls(
                outcome="unfit" if data.get("unmade") else str(data["outcome"]),
                argument=_written(data.get("argument") or {}),
                choices=choices,
                value=_written(value),
                described=value.get("described") is True,
                properties=value.get("properties") is not False,
                without=tuple(map(str, value.get("without", ()))),
                type=str(value.get("type", "")),
                unseen=tuple(map(str, value.get("unseen", ()))),
                instead=tuple(filter(_is_reference, map(str, value.get("instead", ())))),
                error=_error(data["error"]) if "error" in data else None,
            )
        except (LookupError, TypeError, AttributeError) as e:
            raise RecordError(f"{type(e).__name__}: {e}") from None


def _written(data: dict[str, Any]) -> Written | None:
    if "text" not in data:
        return None
    text, modules = str(data["text"]), tuple(map(str, data["modules"]))
    if not is_expression(text) or not all(map(is_name, modules)):
        raise RecordError("a value is no expression")
    return Written(text, modules, data["plain"] is True, str(data.get("raw") or ""))


def _error(data: dict[str, Any]) -> RaisedError:
    module, name = str(data["module"]), str(data["name"])
    if (module and not is_name(module)) or (name and not is_name(name)):
        raise RecordError("an exception's class has no name")
    message = data.get("message") or ""
    if message and not is_expression(message):
        raise RecordError("a message is no expression")
    return RaisedError(module, name, str(data["class"]), message)


def _is_reference(text: str) -> bool:
    return all(map(is_name, text.split(":", 1))) and ":" in text


def is_name(text: str) -> bool:
    """Whether the text is a dotted name."""
    return all(part.isidentifier() for part in text.split("."))


_PARTS = (
    ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Call, ast.keyword, ast.Name,
    ast.Attribute, ast.UnaryOp, ast.USub, ast.Load, ast.Expression,
)  # fmt: skip


def is_expression(text: str) -> bool:
    """Whether the text is one expression of literals and calls of dotted names."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        if not isinstance(node, _PARTS):
            return False
        if isinstance(node, ast.Call) and not is_name(ast.unparse(node.func)):
            return False
    return True
