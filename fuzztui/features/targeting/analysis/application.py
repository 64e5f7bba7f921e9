"""Read the sources to analyse: of the application, its harness and its generator."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.instrument.target import DEFAULT_FUNCTION, application_packages, search_path
from fuzztui.features.targeting.analysis.document import Request, TargetsError
from fuzztui.features.targeting.analysis.modules import (
    Interpreter,
    ModuleSource,
    ask_interpreter,
    find_module,
    find_package,
    read,
)
from fuzztui.kernel.base.text import several


@dataclass(frozen=True, slots=True)
class Reference:
    """A function by module and name; both are empty if there is none."""

    module: str = ""
    function: str = ""

    @property
    def full(self) -> str:
        """``module.function``."""
        return f"{self.module}.{self.function}"


@dataclass
class AnalysedApplication:
    """The sources to analyse, and what is known about them."""

    interpreter: Interpreter
    packages: tuple[str, ...]
    sources: dict[str, ModuleSource] = field(default_factory=dict)
    """The modules of the application by name; only these have goals."""
    around: dict[str, ModuleSource] = field(default_factory=dict)
    """Modules of the target's function and the generator, if outside the application."""
    entry: Reference = Reference()
    generator: Reference = Reference()
    observed: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """Names of observed types by parameter, by full name of the function."""
    notes: list[str] = field(default_factory=list)
    unsure: tuple[str, ...] = ()
    """Campaign keys whose functions the sources do not define, but may exist at run time."""
    read: frozenset[Path] = frozenset()
    """Files that mypy has read, including imported ones."""

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Syntax trees by module, the application's first; adds a note for each invalid module."""
        found: dict[str, ast.Module] = {}
        for source in [*self.sources.values(), *self.around.values()]:
            try:
                found[source.name] = source.parse()
            except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
                words = e.msg if isinstance(e, SyntaxError) else str(e) or type(e).__name__
                line = f":{e.lineno}" if isinstance(e, SyntaxError) and e.lineno else ""
                self.notes.append(f"{source.shown}{line}: left out, cannot be parsed: {words}")
        return found

    def source(self, name: str) -> ModuleSource:
        """Return the source of a module by name."""
        return self.sources.get(name) or self.around[name]


def spec_of(request: Request) -> TargetSpec:
    """Return the target as in an engine's ``spec.json``."""
    return TargetSpec(
        function=request.function,
        generator=request.generator,
        path=request.path,
        include=request.include,
        exclude=request.exclude,
    )


def gather(request: Request, progress: Callable[[str], None]) -> AnalysedApplication:
    """Find and read all modules. Raises :class:`TargetsError`."""
    spec = spec_of(request)
    try:
        packages = application_packages(spec)
    except CannotStart as e:
        raise TargetsError(str(e)) from None
    names = [p.partition(".")[0] for p in packages]
    names += [
        reference.partition(":")[0].partition(".")[0]
        for reference in (request.function, request.generator)
        if reference and not _is_file(reference)
    ]
    try:
        interpreter = ask_interpreter(request.python, request.env, search_path(spec), names)
    except (OSError, ValueError) as e:
        raise TargetsError(
            f'target.python = "{request.python}": cannot determine its module path: {e}'
        ) from None
    application = AnalysedApplication(interpreter, packages)
    try:
        _read_packages(application, request)
        application.entry = _around(application, "target.function", request.function)
        if request.generator:
            application.generator = _around(application, "target.generator", request.generator)
    except OSError as e:
        raise TargetsError(f"{e.filename}: {e.strerror or e}") from None
    if request.observed:
        application.observed = _observed(Path(request.observed))
    progress(f"{several(len(application.sources), 'module')} of {', '.join(packages)}")
    return application


def _read_packages(application: AnalysedApplication, request: Request) -> None:
    excluded = tuple(request.exclude)
    for package in application.packages:
        found = list(find_package(package, application.interpreter.path))
        if not found:
            raise TargetsError(
                f"target.include = {list(application.packages)}: no Python source of {package} for"
                f" {request.python}; set target.path to its directory, or target.python to the"
                " interpreter that it is installed for"
            )
        for source in read(found):
            left_out = any(source.name == x or source.name.startswith(f"{x}.") for x in excluded)
            if not left_out:
                application.sources.setdefault(source.name, source)


def _is_file(reference: str) -> bool:
    module = reference.rpartition(":")[0] or reference
    return module.endswith(".py") or "/" in module


def _around(application: AnalysedApplication, key: str, reference: str) -> Reference:
    """Read the module of a reference, if it is outside the application."""
    module, colon, function = reference.rpartition(":")
    if not colon:
        module, function = reference, DEFAULT_FUNCTION if "generator" not in key else "generate"
    if _is_file(reference):
        file: Path | None = Path(module)
        module = Path(module).stem
    else:
        file, _ = find_module(module, application.interpreter.path)
    if module not in application.sources:
        if file is None or not file.is_file():
            application.notes.append(
                f'{key} = "{reference}": {module} has no source, so its use of the input is unknown'
            )
            return Reference(module, function)
        application.around.setdefault(module, next(iter(read([(module, file)]))))
    return Reference(module, function)


def _observed(file: Path) -> dict[str, dict[str, list[str]]]:
    """Read ``{"module.function": {"parameter": ["module.Type", ...]}}``."""
    try:
        data = json.loads(file.read_bytes())
    except OSError as e:
        raise TargetsError(f"{file}: {e.strerror or e}") from None
    except ValueError as e:
        raise TargetsError(f"{file}: not a JSON file: {e}") from None
    if not isinstance(data, dict):
        raise TargetsError(f"{file}: must contain an object, not {data!r:.60}")
    for function, parameters in data.items():
        named = isinstance(parameters, dict) and all(
            isinstance(types, list) and all(map(_is_type, types)) for types in parameters.values()
        )
        if not named:
            raise TargetsError(
                f"{file}: {function} must be an object with a list of type names for each"
                f" parameter, not {parameters!r:.60}"
            )
    return data


_TYPE = (ast.Attribute, ast.Name, ast.Load, ast.Subscript, ast.Tuple, ast.BinOp, ast.BitOr)


def _is_type(value: object) -> bool:
    """Whether a value is like ``module.Type`` or ``builtins.list[datetime.date | None]``."""
    if not isinstance(value, str):
        return False
    try:
        tree = ast.parse(value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(
        isinstance(node, _TYPE)
        or (isinstance(node, ast.Constant) and node.value in (None, Ellipsis))
        for node in ast.walk(tree)
    )
