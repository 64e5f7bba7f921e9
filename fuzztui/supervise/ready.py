"""Could an engine start at all? Asked before anything is begun, of the target's own interpreter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any

from fuzztui.campaign import Campaign
from fuzztui.engines.core.spec import LOAD_LIMIT_S
from fuzztui.supervise.ask import NoAnswer, ask
from fuzztui.supervise.rundir import Unfit
from fuzztui.wire.near import meant, near_last

__all__ = ["ready", "unknown_aliases"]

_LEEWAY_S = 30.0
"""For what is not importing the target: starting its interpreter, answering."""

_KEY = r"(?:target|engine|oracle|text)\.\w+"


def ready(
    campaign: Campaign, progress: Callable[[str], None] = lambda words: None
) -> dict[str, str]:
    """Import the target, as an engine would; returns words by each alias that comes to nothing.

    The target is in Python. Takes as long as importing takes, :data:`LOAD_LIMIT_S` at most;
    ``progress`` is told of a long one. Raises :class:`Unfit` if no engine could start.
    """
    aliases: dict[str, str] = {}
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
                aliases |= _texts(answer.get("aliases"))
    except NoAnswer as e:
        if began:  # what was left to be told are warnings
            return aliases
        raise _no_answer(campaign, str(e)) from None
    if not began:
        raise _no_answer(campaign, "it ended without a word")
    return aliases


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
