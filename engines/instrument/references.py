"""Resolve references in the campaign file: ``module:function``, ``/path/file.py:function``."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.strategies import test_of
from fuzztui.kernel.base.suggest import meant, near
from fuzztui.kernel.base.text import listed

_MAX_SHOWN = 12
"""Functions of a module that a message lists if the named one does not exist."""


def split_reference(reference: str, default: str) -> tuple[str, str]:
    """Split a reference into module or file, and function; ``default`` if it has no function."""
    module, colon, name = reference.rpartition(":")
    return (module, name) if colon else (name, default)


def is_file(module: str) -> bool:
    """Whether the first part of a reference is a file, else the name of a module."""
    return module.endswith(".py") or "/" in module


def resolve(
    key: str, reference: str, default: str, spec: TargetSpec, modules: dict[str, ModuleType]
) -> Callable[..., Any]:
    """The callable of a reference. Raises :class:`CannotStart`.

    ``modules``: modules imported for other keys, so that each file is loaded once.
    """
    found, module = look_up(key, reference, default, spec, modules)
    if not callable(found):
        has = "no" if found is None else "an attribute, but no"
        name = split_reference(reference, default)[1]
        makes = key == "target.generator"
        what = "function, strategy or type" if makes else "function"
        there = [*(generators_in if makes else targets_in)(module)]
        raise CannotStart(
            f'{key} = "{reference}": module {module.__name__} has {has} {what}'
            f" {name!r}{_instead(name, there)}"
        )
    return found  # type: ignore[no-any-return]


def look_up(
    key: str, reference: str, default: str, spec: TargetSpec, modules: dict[str, ModuleType]
) -> tuple[Any, ModuleType]:
    """The object of a reference, or None, and its module. Raises :class:`CannotStart`."""
    where = f'{key} = "{reference}"'
    name, attribute = split_reference(reference, default)
    if not name or not attribute:
        raise CannotStart(f'{where}: write it as "module:function" or "file.py:function"')
    if name not in modules:
        modules[name] = import_module(where, name, spec)
    module = modules[name]
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    return found, module


def _instead(name: str, there: Sequence[str]) -> str:
    """The end of a message: a similar name, and the names in ``there``, similar ones first."""
    alike = near(name, there, _MAX_SHOWN)
    names = [*alike, *sorted(set(there) - set(alike))]
    has = f"it has: {listed(names, _MAX_SHOWN)}" if names else "it has none"
    guess = meant(alike[:1])
    return f"{guess} ({has})" if guess else f"; {has}"


def import_module(where: str, name: str, spec: TargetSpec) -> ModuleType:
    """Import a module by name or file. Raises :class:`CannotStart` with ``where``, the key."""
    try:
        return _import_file(where, Path(name)) if is_file(name) else importlib.import_module(name)
    except CannotStart:
        raise
    except ModuleNotFoundError as e:
        if (inner := _missing_submodule(e.name or "")) is not None:
            raise CannotStart(f"{where}: {e}; {inner}") from None
        # The advice comes first, because screens cut the end.
        searched = f" (now {list(spec.path)})" if spec.path else ""
        raise CannotStart(
            f"{e}: install it for target.python ({sys.executable}), or set target.path to its"
            f" directory{searched}; {where}"
        ) from None
    except BaseException as e:  # sys.exit() at import is a BaseException
        detail = traceback.format_exc()
        at = traceback.extract_tb(e.__traceback__)
        place = f" at {at[-1].filename}:{at[-1].lineno}" if at else ""
        if isinstance(e, SyntaxError):
            place = f" at {e.filename}:{e.lineno}"
        message = " ".join(f"{type(e).__name__}: {e}".split())
        if "undefined symbol: __sanitizer_cov" in message:
            place = "; this extension module counts its coverage: name it in target.extensions"
        raise CannotStart(f"{where}: importing it raised {message:.300}{place}", detail) from None


def _missing_submodule(name: str) -> str | None:
    """For a missing module of an existing package: text with the package's modules; else None."""
    package, _, last = name.rpartition(".")
    where = getattr(sys.modules.get(package), "__path__", None)
    if not package or where is None:
        return None
    there = sorted(module.name for module in pkgutil.iter_modules(where))
    has = f"package {package} has: {', '.join(there[:_MAX_SHOWN]) or 'no modules'}"
    guess = meant(f"{package}.{one}" for one in near(last, there))
    return f"{guess.removeprefix('; ')} ({has})" if guess else has


def _import_file(where: str, file: Path) -> ModuleType:
    if not file.is_file():
        raise CannotStart(f"{where}: there is no file {file}")
    name = file.stem
    if name in sys.modules:
        name = f"_harness_{name}"  # do not replace an imported module
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CannotStart(f"{where}: {file} is not a Python file")
    found = importlib.util.find_spec(name)
    if found is not None and found.origin == str(file):
        spec = found  # importable by name: instrumented if included
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


def targets_in(module: ModuleType) -> Iterator[str]:
    """Names of functions of the module, and of Hypothesis tests in it, also in classes."""
    for name, value in _public(module):
        if not _is_class(value):
            if callable(value) and _is_own(module, name, value):
                yield name
        elif _is_own(module, name, value):
            if test_of(value):
                yield name
            for method, function in _public(value):
                if type(function) is staticmethod or _is_test(function):
                    yield f"{name}.{method}"


def generators_in(module: ModuleType) -> Iterator[str]:
    """Names of functions, strategies, and types from which strategies can be made."""
    for name, value in _public(module):
        if _is_class(value):
            if _is_own(module, name, value) and not _is_other(value):
                yield name
        elif _is_strategy(value) or (
            callable(value) and _is_own(module, name, value) and not _is_test(value)
        ):
            yield name


def _public(owner: object) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(owner).items() if not name.startswith("_")]


def _is_own(module: ModuleType, name: str, value: object) -> bool:
    """Whether the value is defined in the module or below it, or named in its ``__all__``."""
    offered = getattr(module, "__all__", ())
    if isinstance(offered, (list, tuple)) and name in offered:
        return True
    defined: object = ""
    with contextlib.suppress(AttributeError):
        defined = object.__getattribute__(value, "__module__")  # runs no code of a proxy
    below = f"{module.__name__}." if hasattr(module, "__path__") else None
    return defined == module.__name__ or (
        below is not None and isinstance(defined, str) and defined.startswith(below)
    )


def _is_test(value: object) -> bool:
    """Whether this is a test function; a proxy or a mock could pretend to be anything."""
    return type(value) is FunctionType and test_of(value) is not None


def _is_other(cls: type) -> bool:
    """Whether the class is not for inputs: tests, a state machine, an exception."""
    if issubclass(cls, BaseException) or test_of(cls):
        return True
    return any(map(_is_test, vars(cls).values()))


def _is_strategy(value: object) -> bool:
    hypothesis: Any = sys.modules.get("hypothesis.strategies")
    return hypothesis is not None and issubclass(type(value), hypothesis.SearchStrategy)


def _is_class(value: object) -> bool:
    """Whether this is a class; isinstance would run the ``__class__`` property of lazy proxies."""
    return issubclass(type(value), type)
