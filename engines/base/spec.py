"""``spec.json``: the settings of one engine instance, written by the supervisor."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.kinds import KINDS, EngineKind, UnknownKind, kind_named
from fuzztui.kernel.base.bounds import loads

PROTO = 1
"""The supported version of ``spec.json``."""

LOAD_LIMIT_S: Final = 120.0
"""Seconds that importing the target may take."""

TRACE: Final = ".trace"
"""The file for the Python stack of a worker that is killed by a signal."""

TRACE_SIGNAL: Final = signal.SIGRTMAX - 1
"""The signal with which the monitor ends a hanging worker; targets do not use it."""


@dataclass(frozen=True, slots=True)
class OracleSpec:
    """The table ``oracle``: what is a bug in addition to crashes and hangs."""

    message: str = ""
    """A regular expression: an exception that matches is a failure, expected or not."""
    against: str = ""
    """Reference to a second implementation, which must do the same; empty: none."""
    always: bool = False
    """Whether the second implementation runs in every trial, else on kept inputs only."""


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """The table ``target``. Paths are absolute. ``memory_bytes``: 0 is no limit."""

    function: str
    suite: tuple[str, ...] = ()
    """The functions, files and directories of a suite; empty: ``function`` is the target."""
    examples: str = ""
    """Hypothesis' directory of examples to which findings are added; empty: none."""
    path: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    input: str = "auto"
    generator: str = ""
    compare: str = ""
    expected: tuple[str, ...] = ()
    timeout_s: float = 1.0
    timeout_wall: float = 4.0
    """Time limits after which a trial ends that uses little CPU time."""
    timeout_confirm: float = 2.0
    """Time limits that an input has when a hang is confirmed."""
    memory_bytes: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    output: str = "discard"
    oracle: OracleSpec = OracleSpec()


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """The table ``engine``: the keys of all engines; ``options`` is the whole table.

    ``module``, ``capabilities``: from the engine's row in :mod:`fuzztui.engines.kinds`.
    """

    kind: str = "zest"
    module: str = "fuzztui.engines.zest.engine"
    capabilities: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    max_size: int = 10240
    dictionary: tuple[str, ...] = ()
    constants: bool = True
    comparisons: bool = True
    coverage: str = "edges"
    third_party: bool = False
    """Whether third-party coverage is counted."""
    max_findings: int = 100
    """Distinct findings saved within a million executions; 0: no limit."""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spec:
    """One engine instance. ``seed`` and ``instance`` together determine its random decisions.

    ``budget_trials``, ``budget_s``: over all starts of the instance; 0: no budget.
    """

    instance: str
    dir: Path
    sync_dir: Path
    target: TargetSpec
    engine: EngineSpec
    seed: int = 0
    budget_trials: int = 0
    budget_s: float = 0.0
    budget_cpu_s: float = 0.0
    """CPU seconds of one worker, for benchmarks on a noisy machine; 0: no budget."""
    text: Mapping[str, Any] = field(default_factory=dict)
    """The table ``text``: settings of the mutators of engine "text"."""
    equivalent: Mapping[str, Any] = field(default_factory=dict)
    """Mutants that the verdicts file marks as equivalent: reason and change (or "") by id."""


_ABSENT: Any = object()


class _Table:
    """A JSON object with typed access; errors name file and key."""

    def __init__(self, file: Path, name: str, data: Any) -> None:
        self.file, self._name = file, name
        if not isinstance(data, dict):
            raise CannotStart(f"{file}: {name or 'the file'} must be an object, not {data!r:.60}")
        self.data: dict[str, Any] = data

    def get(self, key: str, kinds: type | tuple[type, ...], default: Any = _ABSENT) -> Any:
        value = self.data.get(key, default)
        where = f"{self.file}: {self._name}{'.' if self._name else ''}{key}"
        if value is _ABSENT:
            raise CannotStart(f"{where} is missing")
        accepted = kinds if isinstance(kinds, tuple) else (kinds,)
        if type(value) not in accepted:
            names = " or ".join(k.__name__ for k in accepted)
            raise CannotStart(f"{where} must be {names}, not {value!r:.60}")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        items = self.get(key, list, [])
        if not all(isinstance(i, str) for i in items):
            raise CannotStart(f"{self.file}: {self._name}.{key} must be a list of strings")
        return tuple(items)

    def choice(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        value: str = self.get(key, str, default)
        if value not in allowed:
            raise CannotStart(
                f"{self.file}: {self._name}.{key} = {value!r:.60}: choose one of"
                f" {', '.join(allowed)}"
            )
        return value


def read_spec(file: Path) -> Spec:
    """Read ``spec.json``. Raises :class:`CannotStart` if a value is missing or invalid."""
    try:
        data = loads(file.read_bytes())
    except OSError as e:
        raise CannotStart(f"{file}: {e.strerror or e}") from None
    except (ValueError, RecursionError) as e:
        raise CannotStart(f"{file} is not a JSON file: {e}") from None
    top = _Table(file, "", data)
    proto = top.get("proto", int, PROTO)
    if proto != PROTO:
        raise CannotStart(f"{file}: proto {proto} is not supported; this engine supports {PROTO}")
    directory = Path(top.get("dir", str))
    return Spec(
        instance=top.get("instance", str),
        dir=directory,
        sync_dir=Path(top.get("sync_dir", str, str(directory.parent))),
        seed=top.get("seed", int, 0),
        budget_trials=top.get("budget_trials", int, 0),
        budget_s=float(top.get("budget_s", (int, float), 0)),
        budget_cpu_s=float(top.get("budget_cpu_s", (int, float), 0)),
        target=_target(
            _Table(file, "target", top.get("target", dict)),
            _oracle(_Table(file, "oracle", top.get("oracle", dict, {}))),
        ),
        text=top.get("text", dict, {}),
        equivalent=top.get("equivalent", dict, {}),
        engine=_engine(
            _Table(file, "engine", top.get("engine", dict)),
            _Table(file, "plugin", top.get("plugin", dict, {})),
        ),
    )


def _oracle(table: _Table) -> OracleSpec:
    message = table.get("message", str, "")
    try:
        re.compile(message)
    except re.error as e:
        raise CannotStart(
            f"{table.file}: oracle.message = {message!r:.60} is not a regular expression: {e}"
        ) from None
    return OracleSpec(message, table.get("against", str, ""), table.get("always", bool, False))


def _target(table: _Table, oracle: OracleSpec) -> TargetSpec:
    env = table.get("env", dict, {})
    if not all(isinstance(v, str) for v in env.values()):
        raise CannotStart(f"{table.file}: target.env must contain strings only")
    return TargetSpec(
        function=table.get("function", str),
        suite=table.strings("suite"),
        examples=table.get("examples", str, ""),
        path=table.strings("path"),
        include=table.strings("include"),
        exclude=table.strings("exclude"),
        input=table.choice("input", ("auto", "text", "bytes"), "auto"),
        generator=table.get("generator", str, ""),
        compare=table.get("compare", str, ""),
        expected=table.strings("expected"),
        timeout_s=float(table.get("timeout_s", (int, float), 1.0)) or 1.0,
        timeout_wall=float(table.get("timeout_wall", (int, float), 4)) or 4.0,
        timeout_confirm=float(table.get("timeout_confirm", (int, float), 2)) or 2.0,
        memory_bytes=table.get("memory_bytes", int, 0),
        env=env,
        cwd=table.get("cwd", str, ""),
        output=table.choice("output", ("discard", "log"), "discard"),
        oracle=oracle,
    )


def _kind(name: str, plugin: _Table) -> EngineKind:
    """The engine's row. The spec has that of an engine in another package."""
    if plugin.data and name not in KINDS:
        return EngineKind(name, plugin.get("module", str), plugin.strings("commands"))
    try:
        return kind_named(name)
    except UnknownKind as e:
        raise CannotStart(str(e)) from None


def _engine(table: _Table, plugin: _Table) -> EngineSpec:
    kind = _kind(table.get("kind", str), plugin)
    max_size = table.get("max_size", int, 10240)
    if max_size < 1:
        raise CannotStart(f"{table.file}: engine.max_size = {max_size} must be at least 1 byte")
    options = dict(table.data)
    for key in ("targets", "constants_file"):
        if file := table.get(key, str, ""):
            # Relative to the spec, because a run may be moved; not resolved, because of symlinks.
            options[key] = os.path.normpath(table.file.parent / file)
    return EngineSpec(
        kind=kind.name,
        module=kind.module,
        capabilities=kind.capabilities,
        seeds=table.strings("seeds"),
        max_size=max_size,
        dictionary=table.strings("dictionary"),
        constants=table.get("constants", bool, True),
        comparisons=table.get("comparisons", bool, True),
        coverage=table.choice("coverage", ("edges", "counts"), "edges"),
        third_party=table.get("third_party", bool, False),
        max_findings=table.get("max_findings", int, 100),
        options=options,
    )
