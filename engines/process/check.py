"""Could a campaign's engine start? The target is loaded as for a campaign, in a child that may die.

Prints JSON lines: ``{"progress"}``, if it takes its time; ``{"refused"}``: why not, in words; or
``{"ready": true}``, and then ``{"words", "key", "warns"}``, remarks, one by one;
of a generator that cannot work perhaps ``{"refused"}`` still; ``{"made"}``: how many inputs were
made to try it; and, where the campaign has aliases of types, ``{"aliases"}``: words by name about
those that come to nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import time
import typing
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from fuzztui.base.suggest import meant, near_last
from fuzztui.base.text import listed
from fuzztui.engines.base.diagnostic import Diagnostic
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.forks import Death, Tell, in_child
from fuzztui.engines.execute.loading import load
from fuzztui.engines.generators.names import name_of
from fuzztui.engines.inputs.dictionary import read_dictionary
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.scope_summary import extent
from fuzztui.engines.process.samples import MAKING_S, Samples
from fuzztui.engines.process.worker import die_with, limit_resources
from fuzztui.engines.spoton.relations import TypeRelations

__all__ = ["ready"]

_TOLD_S: Final = 3.0
"""After so long it is told that it takes its time."""
_LATE_S: Final = 2.0 + 2 * MAKING_S
"""Making inputs, which code in C may hold up, is ended after so long."""
_SHOWN: Final = 4


NEWEST: Final = (3, 14)
"""The newest Python that the engines were tried with."""


def untested(version: tuple[int, int]) -> Diagnostic | None:
    """A warning if the target's interpreter is newer than the engines were tested with."""
    if version <= NEWEST:
        return None
    (major, minor), (last, newest) = version, NEWEST
    return Diagnostic(
        f"target.python is Python {major}.{minor}: engines were tried with 3.11 to {last}.{newest},"
        " so coverage and mutants may be wrong; name an older interpreter if they are",
        "target.python",
        warns=True,
    )


def ready(spec: Spec, limit_s: float) -> int:
    """Print the answer; returns the exit status. ``limit_s``: what loading may take."""
    die_with(os.getppid())
    since = time.monotonic()
    loaded = answered = told = False

    def meanwhile() -> None:
        nonlocal told
        now = time.monotonic()
        if loaded and not answered and now - since > _LATE_S:
            raise _Late
        if not told and now - since > _TOLD_S:
            told = True
            _say(progress=f"importing the target; it is given {limit_s:g} s")

    work = in_child(lambda tell: _load(spec, tell), silence_s=limit_s, meanwhile=meanwhile)
    try:
        for message in work:
            if not isinstance(message, Death):
                if "ready" in message:
                    loaded, since = True, time.monotonic()
                answered |= bool(message.keys() & {"refused", "made"})
                told = True
                _say(**message)
            elif answered:
                pass
            elif loaded:
                _spoilt(spec, message.words)
            else:
                how = message.words
                if message.how == "hung" and not message.stopped:
                    how = f"did not end within {limit_s:g} s"
                _say(refused=f'target.function = "{spec.target.function}": importing it {how}')
    except _Late:
        _spoilt(spec, f"did not end within {_LATE_S:g} s")
    return 0


class _Late(Exception):
    """Nothing is waited for any more."""


def _spoilt(spec: Spec, how: str) -> None:
    """One input in many may do so: it is for the trials to find."""
    key = "target.generator" if spec.target.generator else "target.function"
    _say(**asdict(Diagnostic(f"{key}: trying to make inputs {how}", key, warns=True)))


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _load(spec: Spec, tell: Tell) -> None:
    limit_resources(spec)
    engine = importlib.import_module(spec.engine.module)
    rng = random.Random(f"{spec.seed}/ready")
    try:
        for file in spec.engine.dictionary:
            read_dictionary(Path(file))
        loaded = load(
            spec,
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
    if remark := untested(sys.version_info[:2]):
        tell(asdict(remark))
    for words in extent(loaded.application):
        tell(asdict(Diagnostic(f"instruments {words}")))
    if loaded.target.generator is None:
        tell({"made": 0})
        return
    samples = Samples(loaded, spec.target)
    # Other engines start, and of seeds nothing is known here: they are warned, by a remark.
    if spec.engine.kind == "spoton" and not spec.engine.seeds and (words := samples.refused()):
        tell({"refused": words})
        return
    for remark in samples.remarks():
        tell(asdict(remark))
    tell({"made": samples.made})
    aliases = spec.engine.options.get("aliases")
    if aliases and isinstance(aliases, dict) and samples.kin is not None:
        tell({"aliases": _Aliases(loaded.application, samples, samples.kin).judged(aliases)})


class _Aliases:
    """What is known of the types that ``[engine] aliases`` names."""

    def __init__(self, application: Application, samples: Samples, kin: TypeRelations) -> None:
        self._application, self._samples, self._kin = application, samples, kin
        self._made = kin.made()

    def judged(self, aliases: dict[str, Any]) -> dict[str, str]:
        """Words by name, of those that come to nothing."""
        found: dict[str, str] = {}
        for name in aliases:
            if not _is_type(_named(name)):
                found[name] = _nowhere(name, _classes(self._near_to(name)))
        makes = [n for v in aliases.values() for n in (v if isinstance(v, list) else [v])]
        for name in dict.fromkeys(makes):
            if name in self._made:
                continue
            if not _is_type(_named(name)):
                found[name] = _nowhere(name, [*self._made, *_classes([_module(name)])])
            elif not self._kin.met(name) and not self._samples.draws_later:
                has = f"they have: {listed(self._made, _SHOWN)}"
                found[name] = (
                    f"none of {self._samples.made} inputs that the generator made has a part of"
                    f" that type ({has if self._made else 'they have none of any type'})"
                )
        return found

    def _near_to(self, name: str) -> Iterator[ModuleType | None]:
        """Modules in which a type of the application's may lie."""
        yield _module(name)
        for known in sorted(sys.modules):
            if self._application.has(known):
                yield sys.modules[known]


def _nowhere(name: str, known: Iterable[str]) -> str:
    return f"there is no such type{meant(near_last(name, known))}"


def _module(name: str) -> ModuleType | None:
    """The module that a name begins with, the innermost: imported, as it may be later."""
    parts = name.split(".")
    found = None
    for end in range(1, len(parts)):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except BaseException:  # it is the user's, and there may be none
            break
    return found


def _named(name: str) -> object:
    """What has that name; None if nothing has."""
    found: object = _module(name)
    if not isinstance(found, ModuleType):
        return None
    for part in name.removeprefix(f"{found.__name__}.").split("."):
        found = getattr(found, part, None)
    return found


def _is_type(found: object) -> bool:
    # Not isinstance, which runs what lazy proxies do to be something else.
    return issubclass(type(found), (type, typing.NewType))


def _classes(modules: Iterable[ModuleType | None]) -> list[str]:
    """Names of all classes that modules have, by where those are defined."""
    values = [v for m in modules if m is not None for v in list(vars(m).values())]
    return sorted({name_of(v) for v in values if issubclass(type(v), type)})
