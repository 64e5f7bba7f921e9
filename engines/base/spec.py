"""``spec.json``: the settings of one engine instance, written by the supervisor."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from fuzztui.engines.base.clock import moment_of
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
    extensions: tuple[str, ...] = ()
    """Extension modules whose counters join the coverage map."""
    counters: Mapping[str, str] = field(default_factory=dict, repr=False)
    """``library``: the path of the compiled ``sancov.c``, or ``why`` there is none."""
    input: str = "auto"
    generator: str = ""
    compare: str = ""
    expected: tuple[str, ...] = ()
    timeout_s: float = 1.0
    timeout_wall: float = 4.0
    """Multiple of ``timeout_s`` by the clock after which a trial that uses little CPU time ends."""
    timeout_confirm: float = 2.0
    """Multiple of ``timeout_s`` that an input gets when its hang is confirmed."""
    memory_bytes: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    output: str = "discard"
    clock: str = ""
    """The moment at which each trial begins, in ISO 8601; empty: the real clock."""
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
    stuck_trials: int = 0
    """Trials without a new edge after which the engine ends; 0: no limit."""
    stuck_from: int = 0
    """The trial from which these count, if it is later than that of the last new edge."""
    budget_cpu_s: float = 0.0
    """CPU seconds of one worker, for benchmarks on a noisy machine; 0: no budget."""
    text: Mapping[str, Any] = field(default_factory=dict)
    """The table ``text``: settings of the mutators of engine "text"."""
    equivalent: Mapping[str, Any] = field(default_factory=dict)
    """Mutants that the verdicts file marks as equivalent: reason and change (or "") by id."""


_LISTS: Final = "tuple[str, ...]"
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    _LISTS: (list,),
    "Mapping[str, str]": (dict,),
    "Mapping[str, Any]": (dict,),
}
"""The types of JSON values, by the annotation of the field that gets the value."""
_CHOICES: Final = {
    "target.input": ("auto", "text", "bytes"),
    "target.output": ("discard", "log"),
    "engine.coverage": ("edges", "counts"),
}
_NOT_ZERO: Final = ("timeout_s", "timeout_wall", "timeout_confirm")
"""Keys of ``target`` whose value 0 stands for the default."""

_T = TypeVar("_T")


def read_spec(file: Path) -> Spec:
    """Read ``spec.json``. Raises :class:`CannotStart` if a value is missing or invalid."""
    try:
        data = loads(file.read_bytes())
    except OSError as e:
        raise CannotStart(f"{file}: {e.strerror or e}") from None
    except (ValueError, RecursionError) as e:
        raise CannotStart(f"{file} is not a JSON file: {e}") from None
    if not isinstance(data, dict):
        raise CannotStart(f"{file} must contain an object, not {data!r:.60}")
    try:
        return _spec(file, data)
    except ValueError as e:
        raise CannotStart(f"{file}: {e}") from None


def _spec(file: Path, data: dict[str, Any]) -> Spec:
    """Raises ValueError, CannotStart."""
    if (proto := data.get("proto", PROTO)) != PROTO:
        raise ValueError(f"proto {proto!r:.60} is not supported; this engine supports {PROTO}")
    directory = Path(_value("dir", data.get("dir"), "str"))
    oracle = _filled("oracle", OracleSpec, data.get("oracle", {}))
    try:
        re.compile(oracle.message)
    except re.error as e:
        raise ValueError(
            f"oracle.message = {oracle.message!r:.60} is not a regular expression: {e}"
        ) from None
    target = _value("target", data.get("target"), "Mapping[str, Any]")
    target = {key: value for key, value in target.items() if value or key not in _NOT_ZERO}
    if clock := _value("target.clock", target.get("clock", ""), "str"):
        try:
            moment_of(clock)
        except ValueError as e:
            raise ValueError(f"target.clock: {e}") from None
    return _filled(
        "",
        Spec,
        data,
        dir=directory,
        sync_dir=Path(_value("sync_dir", data.get("sync_dir", str(directory.parent)), "str")),
        target=_filled("target", TargetSpec, target, oracle=oracle),
        engine=_engine(file, data.get("engine"), data.get("plugin") or {}),
    )


def _filled(name: str, cls: type[_T], data: Any, **more: Any) -> _T:
    """A dataclass with the values of the object ``name``, and ``more``. Raises ValueError."""
    values = dict(more)
    known: Any = cls
    _value(name, data, "Mapping[str, Any]")
    for field_ in fields(known):
        key = f"{name}.{field_.name}" if name else field_.name
        if field_.name in more:
            continue
        if field_.name in data:
            values[field_.name] = _value(key, data[field_.name], str(field_.type))
        elif field_.default is MISSING and field_.default_factory is MISSING:
            raise ValueError(f"{key} is missing")
    return cls(**values)


def _value(key: str, value: Any, annotation: str) -> Any:
    """The value of a key for a field with this annotation. Raises ValueError."""
    accepted = _KINDS[annotation]
    if type(value) not in accepted:
        names = " or ".join(kind.__name__ for kind in accepted)
        raise ValueError(f"{key} must be {names}, not {value!r:.60}")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise ValueError(f"{key} = {value!r:.60}: choose one of {', '.join(_CHOICES[key])}")
    inner = value.values() if annotation == "Mapping[str, str]" else value
    if annotation in (_LISTS, "Mapping[str, str]") and not all(isinstance(i, str) for i in inner):
        raise ValueError(f"{key} must contain strings only")
    if annotation == _LISTS:
        return tuple(value)
    return float(value) if annotation == "float" else value


def _engine(file: Path, table: Any, plugin: dict[str, Any]) -> EngineSpec:
    """Raises ValueError, CannotStart."""
    options = dict(_value("engine", table, "Mapping[str, Any]"))
    name = _value("engine.kind", options.get("kind"), "str")
    if plugin and name not in KINDS:  # of another package, which may not be installed here
        commands = _value("plugin.commands", plugin.get("commands", []), _LISTS)
        row = EngineKind(name, _value("plugin.module", plugin.get("module"), "str"), commands)
    else:
        try:
            row = kind_named(name)
        except UnknownKind as e:
            raise CannotStart(str(e)) from None
    for key in ("targets", "constants_file"):
        if path := _value(f"engine.{key}", options.get(key, ""), "str"):
            # Relative to the spec, because a run may be moved; not resolved, because of symlinks.
            options[key] = os.path.normpath(file.parent / path)
    spec = _filled(
        "engine",
        EngineSpec,
        options,
        kind=name,
        module=row.module,
        capabilities=row.capabilities,
        options=options,
    )
    if spec.max_size < 1:
        raise ValueError(f"engine.max_size = {spec.max_size} must be at least 1 byte")
    return spec
