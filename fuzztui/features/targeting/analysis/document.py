"""The request to the static analysis, and the result: ``targets.json``, for engine and users."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

VERSION = 1


class TargetsError(Exception):
    """The analysis is impossible; the message is for users and names the campaign key."""


class DocumentError(Exception):
    """A document is invalid; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """A Python target as described by a campaign, with absolute paths."""

    function: str
    python: str
    generator: str = ""
    path: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    observed: str = ""
    """A file of observed types of parameters (docs/targets.md); "": none."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """``engine`` and ``target`` of a ``spec.json`` for observing types; {}: run nothing."""

    @classmethod
    def of_target(
        cls,
        target: Mapping[str, Any],
        *,
        observed: str = "",
        engine: Mapping[str, Any] | None = None,
    ) -> Request:
        """Make a request from a campaign's ``[target]`` table. Raises :class:`TargetsError`.

        ``engine``: the ``[engine]`` table, if types may be observed in runs of the target.
        """
        if not target.get("function"):
            raise TargetsError(
                "target.function: missing; goals can only be found in Python applications"
            )
        return cls(
            function=str(target["function"]),
            python=str(target["python"]),
            generator=str(target.get("generator", "")),
            path=tuple(target.get("path", ())),
            include=tuple(target.get("include", ())),
            exclude=tuple(target.get("exclude", ())),
            env=dict(target.get("env", {})),
            observed=observed,
            run=_run(target, engine) if engine and not observed else {},
        )

    def dumps(self) -> str:
        """Return JSON, the same for equal requests."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> Request:
        """Read JSON of :meth:`dumps`."""
        data = json.loads(text)
        for name in ("path", "include", "exclude"):
            data[name] = tuple(data[name])
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Influence:
    """A type that influences a goal, and its distance in steps of data flow."""

    name: str
    distance: int


@dataclass(frozen=True, slots=True)
class AnalysedModule:
    """A module as it was analysed. ``sha``: 16 hexadecimal digits of its source's SHA-256."""

    name: str
    file: str
    sha: str


@dataclass(frozen=True, slots=True)
class AnalysedGoal:
    """One branch of a decision. Cells are counted from the first one of the module."""

    location: str
    """``package/module.py:LINE:BRANCH``, or ``LINE:COLUMN:BRANCH`` if that is not unique."""
    module: str
    function: str
    line: int
    column: int
    """Column of the deciding expression, from 0."""
    branch: str
    decision: int
    """Number of the decision, which all its branches share."""
    cells: tuple[int, ...]
    """The goal is covered if any of these cells is."""
    within: tuple[int, ...]
    """The block that contains the decision was entered if any of these cells is covered."""
    reachable: bool
    """Whether the entry point may reach the goal."""
    types: tuple[Influence, ...]
    """Influencing types, nearest first."""
    never: bool = False
    """Whether mypy infers that the branch is never taken; then the goal is not reachable."""


@dataclass(frozen=True, slots=True)
class AnalysedConstant:
    """A constant, its use, and its first location (``package/module.py:LINE``)."""

    value: str | bytes | int
    context: str
    at: str


@dataclass(frozen=True, slots=True)
class TargetingAnalysis:
    """The result of the static analysis of an application."""

    application: tuple[str, ...]
    python: str
    modules: tuple[AnalysedModule, ...] = ()
    targets: tuple[AnalysedGoal, ...] = ()
    types: tuple[Influence, ...] = ()
    """One distance per type: the paper's D."""
    constants: tuple[AnalysedConstant, ...] = ()
    observed: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Observed types of parameters without annotation, by function."""
    notes: tuple[str, ...] = field(default=())
    """Messages for the user."""
    unsure: tuple[str, ...] = ()
    """Campaign keys whose functions no source defines; an import must check that they exist."""

    def to_json(self) -> dict[str, Any]:
        """Return the document as a JSON object."""
        by_kind: dict[str, list[dict[str, Any]]] = {"str": [], "bytes": [], "int": []}
        for c in self.constants:
            value = {"hex": c.value.hex()} if isinstance(c.value, bytes) else {"value": c.value}
            by_kind[type(c.value).__name__].append({**value, "context": c.context, "at": c.at})
        return {
            "version": VERSION,
            "application": list(self.application),
            "python": self.python,
            "modules": [{"name": m.name, "file": m.file, "sha": m.sha} for m in self.modules],
            "targets": [_target_to_json(t) for t in self.targets],
            "types": _influences_to_json(self.types),
            "constants": by_kind,
            "observed": self.observed,
            "notes": list(self.notes),
            **({"unsure": list(self.unsure)} if self.unsure else {}),
        }

    def dumps(self) -> str:
        """Return the file's content: one line per goal, type and constant, deterministic."""
        return _lines(self.to_json(), "") + "\n"

    @classmethod
    def loads(cls, text: str | bytes) -> TargetingAnalysis:
        """Read a file's content. Raises :class:`DocumentError`, which names the key."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise DocumentError(f"not a JSON file: {e}") from None
        version = data.get("version") if isinstance(data, dict) else None
        if version != VERSION:
            raise DocumentError(
                f"version is {version!r:.40}, but this fuzztui reads {VERSION}; make the file again"
            )
        return cls(
            application=_list(data, "application", str),
            python=str(data.get("python", "")),
            modules=_list(
                data, "modules", lambda m: AnalysedModule(m["name"], m["file"], m["sha"])
            ),
            targets=_list(data, "targets", _target_from_json),
            types=_list(data, "types", _influence),
            constants=tuple(
                constant
                for kind in ("str", "bytes", "int")
                for constant in _list(data.get("constants"), kind, _constant)
            ),
            observed=data.get("observed", {}),
            notes=_list(data, "notes", str),
            unsure=_list(data, "unsure", str) if "unsure" in data else (),
        )


def _lines(value: Any, indent: str) -> str:
    """Return indented JSON, with short values on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    deep = indent + " "
    if isinstance(value, dict) and len(flat) > 96:
        parts = [f"{json.dumps(name)}: {_lines(item, deep)}" for name, item in value.items()]
        return "{\n" + ",\n".join(deep + part for part in parts) + f"\n{indent}}}"
    if isinstance(value, list) and len(flat) > 96:
        return "[\n" + ",\n".join(deep + _lines(item, deep) for item in value) + f"\n{indent}]"
    return flat


def _influences_to_json(types: Sequence[Influence]) -> list[dict[str, Any]]:
    return [{"name": t.name, "distance": t.distance} for t in types]


def _target_to_json(t: AnalysedGoal) -> dict[str, Any]:
    return {
        "location": t.location,
        "module": t.module,
        "function": t.function,
        "line": t.line,
        "column": t.column,
        "arm": t.branch,
        "decision": t.decision,
        "cells": list(t.cells),
        "within": list(t.within),
        "reachable": t.reachable,
        "types": _influences_to_json(t.types),
        **({"never": True} if t.never else {}),
    }


def _list(data: Any, name: str, make: Callable[[Any], Any]) -> tuple[Any, ...]:
    items = data.get(name) if isinstance(data, dict) else None
    if not isinstance(items, list):
        raise DocumentError(f"{name} must be a list, not {items!r:.40}")
    found = []
    for n, item in enumerate(items):
        try:
            found.append(make(item))
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            words = f"{type(e).__name__}: {e}"
            raise DocumentError(f"{name}[{n}] is invalid ({words})") from None
    return tuple(found)


def _influence(data: Any) -> Influence:
    return Influence(str(data["name"]), int(data["distance"]))


def _constant(data: Any) -> AnalysedConstant:
    value = bytes.fromhex(data["hex"]) if "hex" in data else data["value"]
    if type(value) not in (str, bytes, int):
        raise ValueError(f"{value!r:.40} is neither a string nor an integer")
    return AnalysedConstant(value, str(data["context"]), str(data["at"]))


def _target_from_json(data: Any) -> AnalysedGoal:
    return AnalysedGoal(
        location=str(data["location"]),
        module=str(data["module"]),
        function=str(data["function"]),
        line=int(data["line"]),
        column=int(data["column"]),
        branch=str(data["arm"]),
        decision=int(data["decision"]),
        cells=tuple(map(int, data["cells"])),
        within=tuple(map(int, data.get("within", ()))),
        reachable=bool(data.get("reachable", True)),
        types=tuple(map(_influence, data["types"])),
        never=bool(data.get("never", False)),
    )


def _run(target: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that decide which inputs are run: they are part of the cache's key."""
    keys = {key: engine[key] for key in ("seeds", "max_size") if key in engine}
    return {"engine": {"kind": "zest", **keys}, "target": {**target, "output": "discard"}}
