"""Loading what is fuzzed: names in the campaign file to callables."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import inspect
import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from fuzztui.engines.core.errors import Refusal
from fuzztui.engines.core.importer import Application
from fuzztui.engines.core.source import Source
from fuzztui.engines.core.spec import TargetSpec
from fuzztui.harness import COMPARED_WITH, check_compare

__all__ = ["DEFAULT_FUNCTION", "Target", "application_packages", "load_target", "search_path"]

DEFAULT_FUNCTION = "target"
"""The function of ``function = "harness.py"``."""


@dataclass(frozen=True, slots=True)
class Target:
    """The callable under test and what the campaign file says about it."""

    function: Callable[[Any], Any]
    generator: Callable[[Source], object] | None
    expected: tuple[type[BaseException], ...]
    text: bool
    """Does the function take ``str`` (else ``bytes``)?"""
    compare: Callable[[Any, Any], object] | None = None
    """When are two values of the function the same? (For engines that compare any.)"""
    against: Callable[[Any], Any] | None = None
    """A second implementation, which must do the same."""
    import_s: float = 0.0
    """Seconds that importing it took."""


def _split(reference: str, default: str) -> tuple[str, str]:
    """``module:function`` or ``/path/file.py:function`` into its two parts."""
    module, colon, name = reference.rpartition(":")
    return (module, name) if colon else (name, default)


def _is_file(module: str) -> bool:
    return module.endswith(".py") or "/" in module


def application_packages(spec: TargetSpec) -> tuple[str, ...]:
    """The packages that are instrumented: ``include``, or the function's own top-level one.

    Raises :class:`Refusal` for a harness file that does not say.
    """
    if spec.include:
        return spec.include
    module, _ = _split(spec.function, DEFAULT_FUNCTION)
    if _is_file(module):
        raise Refusal(
            f'target.include is missing: target.function = "{spec.function}" is a harness file,'
            ' so name the packages under test, for example include = ["mypackage"]'
        )
    return (module.partition(".")[0],)


def search_path(spec: TargetSpec) -> list[str]:
    """What is put before ``sys.path``: ``path``, and the directories of harness files."""
    references = (spec.function, spec.generator, spec.compare, spec.oracle.against)
    files = [_split(r, "")[0] for r in references if r]
    return [*spec.path, *(str(Path(f).parent) for f in files if _is_file(f))]


def load_target(spec: TargetSpec, application: Application | None) -> Target:
    """Import the target, instrumented if there is an ``application`` to do it.

    Everything that is wrong raises :class:`Refusal` with a sentence that names the key.
    """
    began = time.monotonic()
    sys.path[:0] = [p for p in search_path(spec) if p not in sys.path]
    # Else Hypothesis keeps its caches in the user's project, from the import of a test on.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(_caches() / "hypothesis"))
    importlib.invalidate_caches()
    if application is not None:
        application.install()
    modules: dict[str, ModuleType] = {}
    function = _resolve("target.function", spec.function, DEFAULT_FUNCTION, spec, modules)
    generator = None
    if getattr(function, "is_hypothesis_test", False):
        function, generator = _of_test(function, spec, modules)
    else:
        _check_callable("target.function", spec.function, function)
        if spec.generator:
            generator = _generator(spec, modules)
    compare = _compare(function, spec, modules)
    against = None
    if spec.oracle.against:
        against = _resolve("oracle.against", spec.oracle.against, "against", spec, modules)
        _check_callable("oracle.against", spec.oracle.against, against)
    if application is not None:
        _check_included(spec, application)
    return Target(
        function=function,
        generator=generator,
        expected=tuple(_exception(name) for name in spec.expected),
        text=spec.input == "text" or (spec.input == "auto" and _takes_text(function)),
        compare=compare,
        against=against,
        import_s=time.monotonic() - began,
    )


def _caches() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "fuzztui"


def _resolve(
    key: str, reference: str, default: str, spec: TargetSpec, modules: dict[str, ModuleType]
) -> Callable[..., Any]:
    """The callable. ``modules``: what was imported for other keys; a file is loaded once."""
    found, module = _look_up(key, reference, default, spec, modules)
    if not callable(found):
        what = "no" if found is None else "an attribute, but no"
        raise Refusal(
            f'{key} = "{reference}": module {module.__name__} has {what} function'
            f" {_split(reference, default)[1]!r}; {_functions(module)}"
        )
    return found  # type: ignore[no-any-return]


def _look_up(
    key: str, reference: str, default: str, spec: TargetSpec, modules: dict[str, ModuleType]
) -> tuple[Any, ModuleType]:
    """What is there, or None, and its module."""
    where = f'{key} = "{reference}"'
    name, attribute = _split(reference, default)
    if not name or not attribute:
        raise Refusal(f'{where}: write it as "module:function" or "file.py:function"')
    if name not in modules:
        modules[name] = _import(where, name, spec)
    module = modules[name]
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    return found, module


def _generator(spec: TargetSpec, modules: dict[str, ModuleType]) -> Callable[[Source], object]:
    """A function, or what one can be made of: a strategy, a type."""
    from fuzztui.engines.strategies import generator_of

    found, _ = _look_up("target.generator", spec.generator, "generate", spec, modules)
    made = generator_of(f'target.generator = "{spec.generator}"', found)
    return made or _resolve("target.generator", spec.generator, "generate", spec, modules)


def _of_test(
    test: Any, spec: TargetSpec, modules: dict[str, ModuleType]
) -> tuple[Callable[..., Any], Callable[[Source], object]]:
    """The function and the generator of a Hypothesis test."""
    from fuzztui.engines.strategies.given import GivenTest

    where = f'target.function = "{spec.function}"'
    if spec.generator:
        raise Refusal(
            f'target.generator = "{spec.generator}": {where} is a Hypothesis test, whose strategies'
            " make its inputs: remove target.generator"
        )
    module, name = _split(spec.function, DEFAULT_FUNCTION)
    if not spec.include and re.match("tests?(_|$|[.])", module):
        raise Refusal(
            f"target.include is missing: {where} is a test, so name the packages under test,"
            ' for example include = ["mypackage"]'
        )
    owner = None
    if "." in name:
        of = f"{module}:{name.rpartition('.')[0]}"
        owner, _ = _look_up("target.function", of, DEFAULT_FUNCTION, spec, modules)
    given = GivenTest(where, test, owner)
    return given.target(), given.make


def _functions(module: ModuleType) -> str:
    own = [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and not isinstance(value, type)
    ]
    return f"it has: {', '.join(sorted(own)[:12])}" if own else "it has none"


def _import(where: str, name: str, spec: TargetSpec) -> ModuleType:
    try:
        return _import_file(where, Path(name)) if _is_file(name) else importlib.import_module(name)
    except Refusal:
        raise
    except ModuleNotFoundError as e:
        # What to do comes first: screens cut the end.
        searched = f" (now {list(spec.path)})" if spec.path else ""
        raise Refusal(
            f"{e}: install it for target.python ({sys.executable}), or set target.path to where it"
            f" lies{searched}; {where}"
        ) from None
    except BaseException as e:  # sys.exit() at import is a BaseException
        detail = traceback.format_exc()
        at = traceback.extract_tb(e.__traceback__)
        place = f" at {at[-1].filename}:{at[-1].lineno}" if at else ""
        words = " ".join(f"{type(e).__name__}: {e}".split())
        raise Refusal(f"{where}: importing it raised {words:.300}{place}", detail) from None


def _import_file(where: str, file: Path) -> ModuleType:
    if not file.is_file():
        raise Refusal(f"{where}: there is no file {file}")
    name = file.stem
    if name in sys.modules:
        name = f"_harness_{name}"  # never in the way of an imported module of that name
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Refusal(f"{where}: {file} is not a Python file")
    found = importlib.util.find_spec(name)
    if found is not None and found.origin == str(file):
        spec = found  # reachable by import: so also instrumented, if it is included
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


def _check_callable(key: str, reference: str, function: Callable[..., Any]) -> None:
    where = f'{key} = "{reference}"'
    if inspect.iscoroutinefunction(function):
        raise Refusal(
            f"{where} is a coroutine function: fuzz a plain function that calls asyncio.run() on it"
        )
    try:
        inspect.signature(function).bind(b"")
    except TypeError as e:
        raise Refusal(f"{where} must be callable with one argument, the input: {e}") from None
    except ValueError:
        pass  # a builtin without a signature


def _compare(
    function: Callable[..., Any], spec: TargetSpec, modules: dict[str, ModuleType]
) -> Callable[[Any, Any], object] | None:
    """``target.compare``, else what ``fuzztui.harness.compare`` left at the function."""
    if spec.compare:
        where = f'target.compare = "{spec.compare}"'
        found: Any = _resolve("target.compare", spec.compare, "compare", spec, modules)
    else:
        where = f'target.function = "{spec.function}": what it is decorated to be compared with'
        found = getattr(function, COMPARED_WITH, None)
        if found is None:
            return None
    try:
        check_compare(found)
    except TypeError as e:
        raise Refusal(f"{where} {e}") from None
    return found  # type: ignore[no-any-return]


def _takes_text(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    return bool(parameters) and parameters[0].annotation in (str, "str")


def _check_included(spec: TargetSpec, application: Application) -> None:
    """Every included package is loaded, and at least one module is instrumented."""
    for name in application.include:
        if name not in sys.modules:
            _import(f"target.include = {list(spec.include)}", name, spec)
    if not application.table.modules:
        why = "no Python source of it was loaded"
        if application.compiled_only:
            why = f"only compiled modules were found: {', '.join(application.compiled_only[:5])}"
        raise Refusal(
            f"target.include = {list(application.include)}: nothing to instrument, {why};"
            " name the packages that hold the code under test"
        )


def _exception(name: str) -> type[BaseException]:
    """An exception class by its builtin name or import path."""
    found: Any = getattr(builtins, name, None)
    parts = name.replace(":", ".").split(".")
    for split in range(len(parts) - 1, 0, -1):
        if found is not None:
            break
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise Refusal(
            f'target.expected: "{name}" is not an exception class; write builtins by their name'
            ' ("ValueError") and others with their module ("package.module.ParseError")'
        )
    return found
