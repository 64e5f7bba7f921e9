"""Check, by the target's own interpreter, that an engine can start, before anything does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from fuzztui.base.suggest import meant, near_last
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import Unfit
from fuzztui.engines.base.diagnostic import Diagnostic
from fuzztui.engines.base.spec import LOAD_LIMIT_S
from fuzztui.inprocess.ask import NoAnswer, ask

__all__ = ["Ready", "ready", "unknown_aliases"]

_LEEWAY_S = 30.0
"""For what is not importing the target: starting its interpreter, answering."""

_KEY = r"(?:target|engine|oracle|text)\.\w+"


@dataclass(slots=True)
class Ready:
    """An engine could start; ``made``: so many inputs were made to try the generator."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    """Words by each alias that comes to nothing."""
    made: int = 0


def ready(campaign: Campaign, progress: Callable[[str], None] = lambda words: None) -> Ready:
    """Import the target, as an engine would, and make some inputs, if it has a generator.

    The target is in Python. Takes as long as importing takes, :data:`LOAD_LIMIT_S` at most, and
    a second or so; ``progress`` is told of a long one. Raises :class:`Unfit` if no engine could
    start, or the generator cannot work.
    """
    found = Ready()
    began = False
    try:
        question = ["--ready", f"{LOAD_LIMIT_S:g}"]
        with closing(ask(campaign, question, limit_s=LOAD_LIMIT_S + _LEEWAY_S)) as answers:
            for answer in answers:
                if isinstance(words := answer.get("refused"), str):
                    raise Unfit(words, _key_in(words))
                if isinstance(words := answer.get("progress"), str):
                    progress(words)
                began |= answer.get("ready") is True
                found.aliases |= _texts(answer.get("aliases"))
                if isinstance(made := answer.get("made"), int):
                    found.made = made
                if isinstance(words := answer.get("words"), str):
                    key = str(answer.get("key"))
                    found.diagnostics.append(Diagnostic(words, key, answer.get("warns") is True))
    except NoAnswer as e:
        if began:  # what was left to be told are diagnostics
            return found
        raise _no_answer(campaign, str(e)) from None
    if not began:
        raise _no_answer(campaign, "it ended without a word")
    return found


def unknown_aliases(aliases: Mapping[str, Any], known: Iterable[str]) -> dict[str, str]:
    """Words by each alias for a type that no branch depends on; ``known``: those that some do."""
    types = sorted(known)
    return {
        name: f"no branch depends on such a type{meant(near_last(name, types))}"
        for name in aliases
        if types and name not in types
    }


def _no_answer(campaign: Campaign, words: str) -> Unfit:
    python = campaign.target["python"]
    answer = "does not answer as a Python 3.11 or newer would"
    return Unfit(f'target.python = "{python}" {answer}: {words}', "target.python")


def _key_in(words: str) -> str:
    """The key that a refusal is about: it begins with it, or says its value, or names no other."""
    found = re.match(_KEY, words) or re.search(rf"{_KEY}(?= = )", words) or re.search(_KEY, words)
    return found[0] if found else "target.function"


def _texts(value: object) -> dict[str, str]:
    """What a process that has run the target's code may call words by name."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {name: words for name, words in pairs if isinstance(words, str)}
