"""Check whether the engine could start: load the target as in a campaign, in a forked child.

Prints JSON lines: ``{"progress"}``, a message if loading is slow; ``{"refused"}``, why the engine
cannot start; or ``{"ready": true}``. After ``ready``: ``{"words", "key", "warns"}``, one for each
diagnostic; perhaps ``{"refused"}``, if the generator cannot work; ``{"made"}``, how many inputs
the generator has made; and ``{"aliases"}``, if the campaign has aliases of types: a message for
each alias without effect, by its name.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import time
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart, Diagnostic
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.elsewhere import unguided_text
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.execute.loading import LoadedTarget, load
from fuzztui.engines.findings.candidates import candidates, compare_advice
from fuzztui.engines.findings.compare import unseen_part
from fuzztui.engines.findings.unrepeatable import calls_of, differ, varying_text
from fuzztui.engines.generators.names import name_of
from fuzztui.engines.inputs.dictionary import read_dictionary
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.importer import Application, scope_lines
from fuzztui.engines.process.samples import MAKING_S, Samples
from fuzztui.engines.process.worker import die_with, limit_resources
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.suite.properties import Suite
from fuzztui.kernel.base.files import files_in, read_if_regular
from fuzztui.kernel.base.suggest import meant, near_last
from fuzztui.kernel.base.text import listed, several, visible

_PROGRESS_S: Final = 3.0
"""Seconds of loading after which a progress message is printed."""
_MAKING_LIMIT_S: Final = 2.0 + 2 * MAKING_S
"""Seconds after which making inputs is ended; C code may have delayed the usual limit."""
_MAX_RUN: Final = 16
"""Inputs that are run, most of them seeds if there are any."""
_MAX_VALUES: Final = 4
"""Values that cannot be compared as a whole, with which candidates for comparing them are tried."""
_INPUTS: Final = (b"1", b"a b", b"[1]", b'{"a": [1]}', b"key = 1\n", b"<a>b</a>")
_MAX_SHOWN: Final = 4
"""Types listed in a message."""

NEWEST: Final = (3, 14)
"""The newest Python version that the engines were tested with."""


def untested(version: tuple[int, int]) -> Diagnostic | None:
    """A warning if the target's Python ``version`` is newer than :data:`NEWEST`, else None."""
    if version <= NEWEST:
        return None
    (major, minor), (last, newest) = version, NEWEST
    return Diagnostic(
        f"target.python is Python {major}.{minor}: engines were tested with 3.11 to"
        f" {last}.{newest}, so coverage and mutants may be wrong; name an older interpreter if they"
        " are",
        "target.python",
        warns=True,
    )


def ready(spec: Spec, limit_s: float) -> int:
    """Load the target and print the result. Returns the exit status, which is always 0.

    ``limit_s``: seconds that loading may take.
    """
    die_with(os.getppid())
    since = time.monotonic()
    loaded = answered = progress_shown = False

    def meanwhile() -> None:
        nonlocal progress_shown
        now = time.monotonic()
        if loaded and not answered and now - since > _MAKING_LIMIT_S:
            raise _Late
        if not progress_shown and now - since > _PROGRESS_S:
            progress_shown = True
            _print(progress=f"importing the target; the limit is {limit_s:g} s")

    host = ChildHost("", limit_s, meanwhile=meanwhile)
    try:
        for message in host.child(lambda tell: _load(spec, tell)):
            if not isinstance(message, Death):
                if "ready" in message:
                    loaded, since = True, time.monotonic()
                answered |= bool(message.keys() & {"refused", "made"})
                progress_shown = True
                _print(**message)
            elif answered:
                pass
            elif loaded:
                _warn_of_making(spec, message.words)
            else:
                how = message.words
                if message.how == "hung" and not message.stopped:
                    how = f"did not end within {limit_s:g} s"
                where = f'target.function = "{spec.target.function}"'
                _print(refused=f"{where}: importing the target {how}")
    except _Late:
        _warn_of_making(spec, f"did not end within {_MAKING_LIMIT_S:g} s")
    return 0


class _Late(Exception):
    """Making inputs took longer than ``_MAKING_LIMIT_S``."""


def _warn_of_making(spec: Spec, how: str) -> None:
    """Print a warning, not a refusal: perhaps only few inputs fail, and trials find these."""
    key = "target.generator" if spec.target.generator else "target.function"
    _print(**asdict(Diagnostic(f"{key}: making inputs {how}", key, warns=True)))


def _print(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _load(spec: Spec, tell: Tell) -> None:
    limit_resources(spec)
    engine = importlib.import_module(spec.engine.module)
    rng = random.Random(f"{spec.seed}/ready")
    try:
        for file in spec.engine.dictionary:
            read_dictionary(Path(file))
        loaded = load(
            replace(spec, target=replace(spec.target, timeout_wall=1.0)),  # users wait no longer
            folder=spec.dir / ".scratch",
            table=EdgeTable(None),
            draw=rng.randbytes,
            generated=getattr(engine, "FORM", GeneratedInput),
            prepare=lambda application: (
                engine.prepare(spec, application) if hasattr(engine, "prepare") else None
            ),
        )
        if hasattr(engine, "fit"):
            engine.fit(loaded.executor.form)
    except CannotStart as e:
        tell({"refused": str(e)})
        return
    tell({"ready": True})
    if diagnostic := untested(sys.version_info[:2]):
        tell(asdict(diagnostic))
    for line in scope_lines(loaded.application):
        tell(asdict(Diagnostic(f"instruments {line}")))
    if loaded.target.suite is not None:
        for diagnostic in _suite(loaded.target.suite):
            tell(asdict(diagnostic))
    if loaded.target.generator is None or loaded.target.suite is not None:
        tell({"made": 0})
        if loaded.target.suite is None:
            _tell_run(loaded, spec, tell)
        return
    samples = Samples(loaded, spec.target)
    # Only a warning for other engines, which start anyway, and with seeds, which may work.
    if spec.engine.kind == "spoton" and not spec.engine.seeds and (why := samples.refused()):
        tell({"refused": why})
        return
    for diagnostic in samples.remarks():
        tell(asdict(diagnostic))
    tell({"made": samples.made})
    aliases = spec.engine.options.get("aliases")
    if aliases and isinstance(aliases, dict) and samples.kin is not None:
        checker = _Aliases(loaded.application, samples, samples.kin)
        tell({"aliases": checker.without_effect(aliases)})
    _tell_run(loaded, spec, tell)


def _tell_run(loaded: LoadedTarget, spec: Spec, tell: Tell) -> None:
    """Run some inputs, seeds first. Warn if they execute no instrumented code, or if they return
    values that cannot be compared.
    """
    seeds = files_in(map(Path, spec.engine.seeds))
    read = (read_if_regular(str(file), spec.engine.max_size) for file in seeds)
    rng = random.Random(spec.seed)
    inputs = [*islice(filter(None, read), _MAX_RUN), *_INPUTS, rng.randbytes(64), rng.randbytes(64)]
    loaded.executor.guard.arm()
    until = time.monotonic() + MAKING_S
    _tell_unguided(loaded, spec, inputs, until, tell)
    _tell_varying(loaded, inputs, until, tell)
    if not spec.target.compare and loaded.target.compare is None:
        _tell_uncompared(loaded, inputs, until, tell)


def _tell_unguided(
    loaded: LoadedTarget, spec: Spec, inputs: Sequence[bytes], until: float, tell: Tell
) -> None:
    """Warn if the inputs execute no instrumented code."""
    executor = loaded.executor
    for data in inputs:
        if executor.run(data).observed or time.monotonic() > until:
            return
    text = unguided_text(lambda: executor.call(inputs[0]), spec.target, loaded.application)
    words = f"{len(inputs)} inputs have executed no instrumented code: coverage guides nothing"
    tell(asdict(Diagnostic(f"{words}. {text}", "target.include", warns=True)))


def _tell_varying(loaded: LoadedTarget, inputs: Sequence[bytes], until: float, tell: Tell) -> None:
    """Warn if two runs of an input differ, and a fixed clock would help."""
    executor, varying, of = loaded.executor, list[bytes](), 0
    while of < len(inputs) and time.monotonic() < until:
        if differ(executor, executor.run(inputs[of]), executor.run(inputs[of])):
            varying.append(inputs[of])
        of += 1
    if calls := calls_of(executor, varying):
        words = varying_text(len(varying), several(of, "input"), calls)
        tell(asdict(Diagnostic(words, "target.clock", warns=True)))


def _tell_uncompared(
    loaded: LoadedTarget, inputs: Sequence[bytes], until: float, tell: Tell
) -> None:
    """Warn if returned values cannot be compared as a whole, and name what would show them."""
    executor, values, part = loaded.executor, list[object](), ""
    for data in inputs:
        value = executor.call(data).value
        if found := executor.guarded(partial(unseen_part, value), ""):
            part = found
            values.append(value)
        if len(values) == _MAX_VALUES or time.monotonic() > until:
            break
    if not values:
        return
    instead: list[str] = executor.guarded(lambda: candidates(loaded.target.function, values), [])
    words = (
        f"values hold parts that cannot be compared, such as {visible(part)}: mutants, differences"
        f" and exported tests do not see a change of them; {compare_advice([instead])}"
    )
    tell(asdict(Diagnostic(words, "target.function", warns=True)))


def _suite(suite: Suite) -> Iterator[Diagnostic]:
    """Which properties are run, and why others are not."""
    others = several(suite.others, "test without @given", "tests without @given")
    run = several(len(suite.running), "property", "properties")
    yield Diagnostic(f"runs {run}; pytest found {others}")
    for one in suite.all:
        if one.reason:
            yield Diagnostic(f"{one.name} is not run: {one.reason}", "target.function", warns=True)


class _Aliases:
    """Checks the types that ``[engine] aliases`` names."""

    def __init__(self, application: Application, samples: Samples, kin: TypeRelations) -> None:
        self._application, self._samples, self._kin = application, samples, kin
        self._made = kin.made()

    def without_effect(self, aliases: dict[str, Any]) -> dict[str, str]:
        """Why an alias has no effect, by the name of the type that is wrong."""
        found: dict[str, str] = {}
        for name in aliases:
            if not _is_type(_named(name)):
                found[name] = _no_such_type(name, _classes(self._modules_near(name)))
        makes = [n for v in aliases.values() for n in (v if isinstance(v, list) else [v])]
        for name in dict.fromkeys(makes):
            if name in self._made:
                continue
            if not _is_type(_named(name)):
                found[name] = _no_such_type(name, [*self._made, *_classes([_module(name)])])
            elif not self._kin.met(name) and not self._samples.draws_later:
                has = f"they have: {listed(self._made, _MAX_SHOWN)}"
                found[name] = (
                    f"none of {self._samples.made} inputs that the generator made has a part of"
                    f" this type ({has if self._made else 'they have none of any type'})"
                )
        return found

    def _modules_near(self, name: str) -> Iterator[ModuleType | None]:
        """Modules that may define the type: the one in its name, then the application's."""
        yield _module(name)
        for known in sorted(sys.modules):
            if self._application.has(known):
                yield sys.modules[known]


def _no_such_type(name: str, known: Iterable[str]) -> str:
    return f"there is no such type{meant(near_last(name, known))}"


def _module(name: str) -> ModuleType | None:
    """Import the innermost module that ``name`` begins with; None if there is none."""
    parts = name.split(".")
    found = None
    for end in range(1, len(parts)):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except BaseException:  # no such module, or an error in the user's code
            break
    return found


def _named(name: str) -> object:
    """The object with this dotted name, or None."""
    found: object = _module(name)
    if not isinstance(found, ModuleType):
        return None
    for part in name.removeprefix(f"{found.__name__}.").split("."):
        found = getattr(found, part, None)
    return found


def _is_type(found: object) -> bool:
    # Not isinstance, which runs the __class__ property of lazy proxies.
    return issubclass(type(found), (type, typing.NewType))


def _classes(modules: Iterable[ModuleType | None]) -> list[str]:
    """Sorted dotted names of all classes in these modules; names use the defining module."""
    values = [v for m in modules if m is not None for v in list(vars(m).values())]
    return sorted({name_of(v) for v in values if issubclass(type(v), type)})
