"""What is asked of the static analysis, as it goes to the child process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Request", "TargetsError"]


class TargetsError(Exception):
    """Why there are no targets: a sentence for users, with the key that is to blame."""


@dataclass(frozen=True, slots=True)
class Request:
    """A Python target as campaigns describe it; paths are absolute."""

    function: str
    python: str
    generator: str = ""
    path: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    observed: str = ""
    """A file of types that parameters were seen to have (docs/targets.md)."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """``engine`` and ``target`` of a ``spec.json`` to observe types by; {}: nothing is run."""
    control: bool = True
    """Does what is returned depend on the conditions around?"""

    @classmethod
    def of_target(
        cls,
        target: Mapping[str, Any],
        *,
        observed: str = "",
        engine: Mapping[str, Any] | None = None,
    ) -> Request:
        """From a campaign's ``[target]`` table. Raises :class:`TargetsError`.

        ``engine``: its ``[engine]`` table, if types may be observed in runs of the target.
        """
        if not target.get("function"):
            raise TargetsError(
                "target.function is missing: goals are found in Python applications only"
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
        """As JSON, the same for the same request."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> Request:
        """From JSON of :meth:`dumps`."""
        data = json.loads(text)
        for name in ("path", "include", "exclude"):
            data[name] = tuple(data[name])
        return cls(**data)


def _run(target: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """What decides which inputs are run, and how; nothing else, as what is found is kept by it."""
    keys = {key: engine[key] for key in ("seeds", "max_size") if key in engine}
    return {"engine": {"kind": "zest", **keys}, "target": {**target, "output": "discard"}}
