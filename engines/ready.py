"""Could a campaign's engine start? The target is loaded as for a campaign, in a child that may die.

Prints JSON lines: ``{"progress"}``, if it takes its time; ``{"refused"}``: why not, in words; or
``{"ready": true}``, and then, where the campaign has aliases of types, ``{"aliases"}``: words by
name about those that come to nothing.
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
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from fuzztui.engines.core.dictionary import read_dictionary
from fuzztui.engines.core.edges import EdgeTable
from fuzztui.engines.core.errors import Refusal
from fuzztui.engines.core.forks import Death, Tell, in_child
from fuzztui.engines.core.inputs import GeneratedInput
from fuzztui.engines.core.loading import Loaded, load
from fuzztui.engines.core.spec import KINDS, Spec
from fuzztui.engines.generators.names import name_of
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.spoton.kin import Kin
from fuzztui.engines.worker import die_with, limit_resources
from fuzztui.wire.near import meant, near_last

__all__ = ["ready"]

_TOLD_S: Final = 3.0
"""After so long it is told that it takes its time."""
_INPUTS: Final = 64
"""So many are made to see of what types their parts are."""
_CHOICES: Final = 2048
"""Bytes that each is made of; what more it draws is zeros."""
_MAKING_S: Final = 2.0
_SHOWN: Final = 4


def ready(spec: Spec, limit_s: float) -> int:
    """Print the answer; returns the exit status. ``limit_s``: what loading may take."""
    die_with(os.getppid())
    began = time.monotonic()
    answered = told = False

    def meanwhile() -> None:
        nonlocal told
        if not told and time.monotonic() - began > _TOLD_S:
            told = True
            _say(progress=f"importing the target; it is given {limit_s:g} s")

    work = in_child(lambda tell: _load(spec, tell), silence_s=limit_s, meanwhile=meanwhile)
    for message in work:
        if not isinstance(message, Death):
            answered = told = True
            _say(**message)
        elif not answered:
            how = message.words
            if message.how == "hung":
                how = f"did not end within {limit_s:g} s"
            _say(refused=f'target.function = "{spec.target.function}": importing it {how}')
    return 0


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _load(spec: Spec, tell: Tell) -> None:
    limit_resources(spec)
    engine = importlib.import_module(KINDS[spec.engine.kind])
    rng = random.Random(0)
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
    except Refusal as e:
        tell({"refused": str(e)})
        return
    tell({"ready": True})
    aliases = spec.engine.options.get("aliases")
    form = loaded.executor.form
    if aliases and isinstance(aliases, dict) and isinstance(form, TypedInput):
        tell({"aliases": _Aliases(loaded, form, rng).judged(aliases)})


class _Aliases:
    """What is known of the types that ``[engine] aliases`` names."""

    def __init__(self, loaded: Loaded, form: TypedInput, rng: random.Random) -> None:
        self._application = loaded.application
        executor = loaded.executor
        executor.guard.arm()
        self._inputs = 0
        until = time.monotonic() + _MAKING_S
        while self._inputs < _INPUTS and time.monotonic() < until:
            executor.fixture.restore()
            data = rng.randbytes(_CHOICES)
            executor.guarded(lambda: form.annotate(data), None)  # noqa: B023 - called at once
            self._inputs += 1
        executor.guard.disarm()
        self._kin = Kin(form.stacks, {})
        stacks = map(form.stacks.types, range(len(form.stacks)))
        self._made = sorted({name for stack in stacks for name in stack})

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
            elif not self._kin.holding(name):
                shown = ", ".join(self._made[:_SHOWN])
                more = f" and {len(self._made) - _SHOWN} more" if len(self._made) > _SHOWN else ""
                has = f"they have: {shown}{more}" if shown else "they have none of any type"
                found[name] = (
                    f"none of {self._inputs} inputs that the generator made has a part of that"
                    f" type ({has})"
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
