"""An action of ``fuzztui ctl``: what makes its commands, and the help of its words."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fuzztui.kernel.wire.commands import Command


@dataclass(frozen=True, slots=True)
class CtlAction:
    """What the user can ask for. ``make`` raises :class:`CliError` for wrong words or options."""

    make: Callable[[argparse.Namespace], Command | Sequence[Command]]
    id: str = ""
    """Help: what ID is; an empty string: the action takes none."""
    more: str = ""
    """Help: what follows ID; an empty string: nothing does."""


def helped(texts: Mapping[str, str]) -> str:
    """The help of an argument, from that of each action: ``ban, unban: a type; undo: ...``."""
    actions: dict[str, list[str]] = {}
    for name, text in texts.items():
        actions.setdefault(text, []).append(name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in actions.items() if text)
