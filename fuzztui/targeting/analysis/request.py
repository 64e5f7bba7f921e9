"""The request to the static analysis, as it is sent to the child process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


class TargetsError(Exception):
    """The analysis is impossible; the message is for users and names the campaign key."""


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
    control: bool = True
    """Whether a returned value depends on the conditions around."""

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


def _run(target: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that decide which inputs are run: they are part of the cache's key."""
    keys = {key: engine[key] for key in ("seeds", "max_size") if key in engine}
    return {"engine": {"kind": "zest", **keys}, "target": {**target, "output": "discard"}}
