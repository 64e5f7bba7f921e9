"""An action of ``fuzztui ctl``: what makes its commands of words, and the help of these."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fuzztui.cli.output import UsageError, weight_or_factor
from fuzztui.kernel.base.suggest import meant, near_last
from fuzztui.kernel.wire.commands import Command

_NEAR = 3
"""Maximum number of similar names that an error suggests."""


@dataclass(frozen=True, slots=True)
class CtlAction:
    """What the user can ask for. ``make`` raises :class:`CliError` for wrong words or options."""

    make: Callable[[argparse.Namespace], Command | Sequence[Command]]
    id: str = ""
    """Help: what ID is; an empty string: the action takes none."""
    more: str = ""
    """Help: what follows ID; an empty string: nothing does."""


def helped(texts: Mapping[str, str]) -> str:
    """Join the help of an argument, given for each action: ``ban, unban: a type; undo: ...``."""
    actions: dict[str, list[str]] = {}
    for name, text in texts.items():
        actions.setdefault(text, []).append(name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in actions.items() if text)


def one_of(given: str, known: Iterable[str], nothing: str, *before: str) -> str:
    """Return the name in ``known`` that ``given`` means: the whole name, or its last part.

    The last part counts if it follows one of the separators ``before`` and no other name ends so.
    Raises :class:`CliError`, with a message that begins with ``nothing``.
    """
    names = list(known)
    if given in names:
        return given
    ends = [name for name in names if name.endswith(tuple(f"{b}{given}" for b in before))]
    if len(ends) == 1:
        return ends[0]
    hint = meant(ends[:_NEAR] or near_last(given, names, before[0], _NEAR))
    raise UsageError(f"{nothing} {given!r}{hint}")


def weighed(
    options: argparse.Namespace, make: type[Any], name: str, present: Mapping[str, float]
) -> list[Any]:
    """Return the commands ``make`` that give ``name`` the weight in the words of ``options``.

    ``present``: its weights by instance. Raises :class:`CliError`.
    """
    each = weights_of(options.more[0], options.instance, present)
    commands = [make(name, weight, instance) for instance, weight in each.items()]
    if problem := next((c.problem for c in commands if c.problem), ""):
        raise UsageError(problem)
    return commands


def weights_of(text: str, instance: str, present: Mapping[str, float]) -> dict[str, float]:
    """Return the weights by instance that ``3``, ``x2`` or ``x0.5`` asks for ("": all instances).

    ``present``: the weights by instance, which a factor multiplies. Raises :class:`CliError`.
    """
    number, is_factor = weight_or_factor(text)
    if not is_factor:
        return {instance: number}
    each = present or {instance: 1.0}
    if len(set(each.values())) == 1:
        return {instance: next(iter(each.values())) * number}
    return {name: weight * number for name, weight in each.items()}
