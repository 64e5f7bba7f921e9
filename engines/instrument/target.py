"""Load the target: from references in the campaign file to callables."""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import inspect
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.instrument.extensions import add_extensions, counter_library
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.references import (
    import_module,
    is_file,
    look_up,
    resolve,
    split_reference,
)
from fuzztui.engines.strategies import generator_of, test_of
from fuzztui.engines.suite.properties import (
    UNCOLLECTED,
    FunctionProperty,
    Property,
    PytestProperty,
    Suite,
    keys_of,
)
from fuzztui.harness import COMPARED_WITH, check_compare, takes_one
from fuzztui.kernel.base.text import several
from fuzztui.kernel.base.user_dirs import cache_dir

if TYPE_CHECKING:
    from fuzztui.engines.strategies.given import GivenTest

_STORAGE = "HYPOTHESIS_STORAGE_DIRECTORY"

_MAX_REASONS = 3
"""Properties that cannot be run of which a message names the reason."""

DEFAULT_FUNCTION = "target"
"""The function if the reference names only a file."""


@dataclass(frozen=True, slots=True)
class Target:
    """The callable under test, with its settings from the campaign file."""

    function: Callable[[Any], Any]
    generator: Callable[[Source], object] | None
    expected: tuple[type[BaseException], ...]
    text: bool
    """Whether the function takes ``str``, else ``bytes``."""
    compare: Callable[[Any, Any], object] | None = None
    """Whether two returned values are the same; None: structural comparison."""
    against: Callable[[Any], Any] | None = None
    """The second implementation of the differential oracle, or None."""
    import_s: float = 0.0
    """Seconds that the import took."""
    suite: Suite | None = None
    """The properties, of a suite."""


def application_packages(spec: TargetSpec) -> tuple[str, ...]:
    """The packages to instrument: ``include``, or the top-level package of the function.

    Raises :class:`CannotStart` for a harness file without ``include``.
    """
    if spec.include:
        return spec.include
    if spec.suite:
        raise CannotStart(
            "target.include is missing: target.function is a suite, so name the packages under"
            ' test, for example include = ["mypackage"]'
        )
    module, _ = split_reference(spec.function, DEFAULT_FUNCTION)
    if is_file(module):
        raise CannotStart(
            f'target.include is missing: target.function = "{spec.function}" is a harness file,'
            ' so name the packages under test, for example include = ["mypackage"]'
        )
    return (module.partition(".")[0],)


def search_path(spec: TargetSpec) -> list[str]:
    """Directories to put before ``sys.path``: ``path``, and those of harness files."""
    functions = [one for one in spec.suite if not is_for_pytest(one)] or [spec.function]
    references = (*functions, spec.generator, spec.compare, spec.oracle.against)
    files = [split_reference(r, "")[0] for r in references if r]
    return [*spec.path, *(str(Path(f).parent) for f in files if is_file(f))]


def load_target(
    spec: TargetSpec, application: Application | None, *, again: bool = False
) -> Target:
    """Import the target, instrumented by ``application`` unless this is None.

    ``again``: the target was loaded before: the properties of a suite are not tried out here, and
    it is an error if one cannot be set up later. Raises :class:`CannotStart` with a message that
    names the wrong key.
    """
    began = time.monotonic()
    sys.path[:0] = [p for p in search_path(spec) if p not in sys.path]
    # Else Hypothesis creates its caches in the user's project, when a test is imported.
    is_new = _STORAGE not in os.environ
    with contextlib.suppress(OSError):  # no home
        os.environ.setdefault(_STORAGE, str(cache_dir() / "hypothesis"))
    importlib.invalidate_caches()
    library = counter_library(spec)
    if application is not None:
        application.install()
    modules: dict[str, ModuleType] = {}
    generator: Callable[[Source], object] | None = None
    suite = _suite(spec, modules, again=again) if spec.suite else None
    function: Callable[..., Any]
    test: Any = None
    if suite is not None:
        function, generator = suite.run, suite.make
    else:
        function = resolve("target.function", spec.function, DEFAULT_FUNCTION, spec, modules)
        test = test_of(function)
        if test is not None:
            given = _given(test, spec, modules)
            function, generator = given.target(), given.make
        else:
            _check_callable("target.function", spec.function, function)
            if spec.generator:
                generator = _generator(spec, modules)
    text = spec.input == "text" or (spec.input == "auto" and _takes_text(function))
    compare, show = _comparison(function, spec, modules)
    against = None
    if spec.oracle.against:
        against = resolve("oracle.against", spec.oracle.against, "against", spec, modules)
        _check_callable("oracle.against", spec.oracle.against, against)
    if show is not None:
        if test is not None:
            raise CannotStart("target.compare: a Hypothesis test returns no value; remove the key")
        function = _shown(function, show)
        against = against and _shown(against, show)
    if application is not None:
        if library is not None:
            add_extensions(spec, application, library)
        _check_included(spec, application)
    if is_new and "hypothesis" not in sys.modules:
        os.environ.pop(_STORAGE, None)  # this target does not use Hypothesis
    return Target(
        function=function,
        generator=generator,
        expected=tuple(_exception(name) for name in spec.expected),
        text=text,
        compare=compare,
        against=against,
        import_s=time.monotonic() - began,
        suite=suite,
    )


def is_for_pytest(name: str) -> bool:
    """Whether a part of a suite is a file, directory or node id that pytest collects."""
    return "::" in name or ":" not in name


def _suite(spec: TargetSpec, modules: dict[str, ModuleType], *, again: bool) -> Suite:
    """The properties of a suite. Raises :class:`CannotStart` if none of them can be run."""
    for key, value in (
        ("target.generator", spec.generator),
        ("oracle.against", spec.oracle.against),
    ):
        if value:
            raise CannotStart(f'{key} = "{value}": not with a suite; remove {key}')
    made: dict[str, Callable[[str, bytes], Property]] = {}
    refused: list[tuple[str, str]] = []
    collect = [one for one in spec.suite if is_for_pytest(one)]
    others, root = 0, os.getcwd()  # noqa: PTH109 - as pytest
    if collect:
        from fuzztui.engines.suite.collect import PytestSession

        session = PytestSession(collect)
        others, root = session.found.others, session.root
        for item in session.found.items:
            made.setdefault(item.nodeid, partial(PytestProperty, session=session, item=item))
        refused = [*session.found.broken.items()]
    for one in spec.suite:
        if one not in collect:
            name = os.path.relpath(one, root) if is_file(split_reference(one, "")[0]) else one
            made.setdefault(
                name, partial(_function_property, reference=one, spec=spec, modules=modules)
            )
    keys = keys_of([*made, *(name for name, _ in refused)])
    found: list[Property] = [
        make(name, key) for (name, make), key in zip(made.items(), keys, strict=False)
    ]
    for (file, why), spare in zip(refused, keys[len(found) :], strict=True):
        found.append(Property(file, spare))
        found[-1].reason = f"{UNCOLLECTED}{why}"
    suite = Suite(found, others, root)
    suite.strict = again
    for each in suite.running if not again else ():
        suite.enter(each)
    suite.leave()
    if not suite.running:
        why = "; ".join(f"{one.name}: {one.reason}" for one in found[:_MAX_REASONS])
        if more := found[_MAX_REASONS:]:
            why += f"; and {len(more)} more"
        raise CannotStart(
            f"target.function: no test with @given can be run in {', '.join(spec.suite)}"
            + (f" ({why})" if why else f"; pytest found {several(others, 'other test')}")
        )
    return suite


def _function_property(
    name: str, key: bytes, *, reference: str, spec: TargetSpec, modules: dict[str, ModuleType]
) -> Property:
    """A part of a suite that is a function. Raises :class:`CannotStart`."""
    function = resolve("target.function", reference, DEFAULT_FUNCTION, spec, modules)
    test = test_of(function)
    if test is None:
        _check_callable("target.function", reference, function)
        return FunctionProperty(name, key, None, function, text=_takes_text(function))
    given = _given(test, replace(spec, function=reference), modules)
    return FunctionProperty(name, key, given.make, given.target(), test=given)


def _generator(spec: TargetSpec, modules: dict[str, ModuleType]) -> Callable[[Source], object]:
    """The generator: a function, or made from a strategy or a type."""
    found, _ = look_up("target.generator", spec.generator, "generate", spec, modules)
    made = generator_of(f'target.generator = "{spec.generator}"', found)
    if made is not None:
        return made
    function = resolve("target.generator", spec.generator, "generate", spec, modules)
    _check_callable("target.generator", spec.generator, function, "the source of choices")
    return function


def _given(test: Any, spec: TargetSpec, modules: dict[str, ModuleType]) -> GivenTest:
    """A Hypothesis test with its strategies."""
    from fuzztui.engines.strategies.given import GivenTest

    where = f'target.function = "{spec.function}"'
    if spec.generator:
        raise CannotStart(
            f'target.generator = "{spec.generator}": {where} is a Hypothesis test, whose strategies'
            " make its inputs: remove target.generator"
        )
    if spec.oracle.against:
        raise CannotStart(
            f'oracle.against = "{spec.oracle.against}": {where} is a Hypothesis test, which returns'
            " nothing to compare: remove oracle.against"
        )
    module, name = split_reference(spec.function, DEFAULT_FUNCTION)
    if not spec.include and re.match("tests?(_|$|[.])", module):
        raise CannotStart(
            f"target.include is missing: {where} is a test, so name the packages under test,"
            ' for example include = ["mypackage"]'
        )
    owner = None
    if "." in name:
        of = f"{module}:{name.rpartition('.')[0]}"
        owner, _ = look_up("target.function", of, DEFAULT_FUNCTION, spec, modules)
    return GivenTest(where, test, owner)


def _check_callable(
    key: str, reference: str, function: Callable[..., Any], argument: str = "the input"
) -> None:
    where = f'{key} = "{reference}"'
    if inspect.iscoroutinefunction(function):
        raise CannotStart(
            f"{where} is a coroutine function: name a plain function that calls asyncio.run()"
        )
    # Importing all generators takes a tenth of the start; a target that has one has imported them.
    if scope := sys.modules.get("fuzztui.engines.generators.scope"):
        function = scope.undecorated(function)
    try:
        # Decorators may add arguments: the signature of the outermost one counts.
        inspect.signature(function, follow_wrapped=False).bind(b"")
    except TypeError as e:
        raise CannotStart(f"{where} must be callable with one argument, {argument}: {e}") from None
    except ValueError:
        pass  # a builtin without a signature


def _comparison(
    function: Callable[..., Any], spec: TargetSpec, modules: dict[str, ModuleType]
) -> tuple[Callable[[Any, Any], object] | None, Callable[[Any], object] | None]:
    """The function that compares two values, and the one that shows a value; None if not set.

    At most one of them is set. ``target.compare`` names either, which its number of parameters
    decides; the decorator ``fuzztui.harness.compare`` sets the first.
    """
    if spec.compare:
        where = f'target.compare = "{spec.compare}"'
        found: Any = resolve("target.compare", spec.compare, "compare", spec, modules)
        if takes_one(found):
            return None, found
    else:
        where = f'target.function = "{spec.function}": its decorator for comparison'
        found = getattr(function, COMPARED_WITH, None)
        if found is None:
            return None, None
    try:
        check_compare(found)
    except TypeError as e:
        raise CannotStart(f"{where} {e}") from None
    return found, None


def _shown(function: Callable[..., Any], show: Callable[[Any], object]) -> Callable[..., Any]:
    """A function that calls ``function`` and returns its value as ``show`` shows it."""

    @functools.wraps(function)
    def shown(data: Any) -> object:
        return show(function(data))

    return shown


def _takes_text(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    return bool(parameters) and parameters[0].annotation in (str, "str")


def _check_included(spec: TargetSpec, application: Application) -> None:
    """Import each included package. Raises :class:`CannotStart` if no module is instrumented."""
    for name in application.include:
        if name not in sys.modules:
            import_module(f"target.include = {list(spec.include)}", name, spec)
    if not application.table.modules:
        why = "no Python source was loaded"
        if application.compiled_only:
            why = f"only compiled modules were found: {', '.join(application.compiled_only[:5])}"
        raise CannotStart(
            f"target.include = {list(application.include)}: nothing to instrument, {why};"
            " name the packages that contain the code under test"
        )


def _exception(name: str) -> type[BaseException]:
    """The exception class of a builtin name or import path. Raises :class:`CannotStart`."""
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
        raise CannotStart(
            f'target.expected: "{name}" is not an exception class; write builtins by their name'
            ' ("ValueError") and others with their module ("package.module.ParseError")'
        )
    return found
