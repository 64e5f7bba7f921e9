"""Check with the target's interpreter that an engine can start, before the campaign starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from fuzztui.base.suggest import meant, near_last
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import Unfit
from fuzztui.engines.base.errors import Diagnostic
from fuzztui.engines.base.spec import LOAD_LIMIT_S
from fuzztui.inprocess.ask import NoAnswer, ask

_LEEWAY_S = 30.0
"""Seconds for everything except importing the target: start the interpreter, answer."""

_KEY = r"(?:target|engine|oracle|text)\.\w+"


@dataclass(slots=True)
class Ready:
    """The result of a passed check; ``made``: number of inputs made to try the generator."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    """Messages by alias, for aliases without effect."""
    made: int = 0


def ready(campaign: Campaign, progress: Callable[[str], None] = lambda text: None) -> Ready:
    """Import a Python target, as an engine does, and make some inputs if it has a generator.

    Takes about a second and the time of the import, at most :data:`LOAD_LIMIT_S`; ``progress`` is
    called with a message if the import is slow. Raises :class:`Unfit` if no engine can start, or
    the generator fails.
    """
    found = Ready()
    loaded = False
    try:
        request = ["--ready", f"{LOAD_LIMIT_S:g}"]
        with closing(ask(campaign, request, limit_s=LOAD_LIMIT_S + _LEEWAY_S)) as answers:
            for answer in answers:
                if isinstance(text := answer.get("refused"), str):
                    raise Unfit(text, _key_in(text))
                if isinstance(text := answer.get("progress"), str):
                    progress(text)
                loaded |= answer.get("ready") is True
                found.aliases |= _texts(answer.get("aliases"))
                if isinstance(made := answer.get("made"), int):
                    found.made = made
                if isinstance(text := answer.get("words"), str):
                    key = str(answer.get("key"))
                    found.diagnostics.append(Diagnostic(text, key, answer.get("warns") is True))
    except NoAnswer as e:
        if loaded:  # only diagnostics were still to come
            return found
        raise _no_answer(campaign, str(e)) from None
    if not loaded:
        raise _no_answer(campaign, "it exited without an answer")
    return found


def unknown_aliases(aliases: Mapping[str, Any], known: Iterable[str]) -> dict[str, str]:
    """Return messages by alias, for types that no branch depends on.

    ``known``: the types that branches depend on.
    """
    types = sorted(known)
    return {
        name: f"no branch depends on such a type{meant(near_last(name, types))}"
        for name in aliases
        if types and name not in types
    }


def _no_answer(campaign: Campaign, reason: str) -> Unfit:
    python = campaign.target["python"]
    answer = "does not answer as a Python 3.11 or newer would"
    return Unfit(f'target.python = "{python}" {answer}: {reason}', "target.python")


def _key_in(text: str) -> str:
    """The key that an error is about: the text begins with it, or has its value, or names it."""
    found = re.match(_KEY, text) or re.search(rf"{_KEY}(?= = )", text) or re.search(_KEY, text)
    return found[0] if found else "target.function"


def _texts(value: object) -> dict[str, str]:
    """Texts by name, checked, because they come from a process that ran the target's code."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {name: text for name, text in pairs if isinstance(text, str)}
