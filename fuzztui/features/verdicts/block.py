"""The text of a verdict about a finding, for a user to paste into the verdicts file."""

from __future__ import annotations

import tomli

from fuzztui.kernel.base.signals import is_by_signal
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.wire.verdicts import KNOWN, MAX_NAME, VERDICTS


def verdict_block(signature: str, title: str, place: str) -> str:
    """Return a ``[[finding]]`` table with the verdict ``known``, in printable characters.

    An empty string if no verdict can be given: there is no signature or only a signal, or the
    signature is too long for the file or is no Unicode text.
    """
    if not signature or is_by_signal(signature) or len(signature) > MAX_NAME:
        return ""
    others = ", ".join(f'"{verdict}"' for verdict in VERDICTS if verdict != KNOWN)
    rows = [
        f"signature = {_quoted(signature)}",
        f'verdict = "{KNOWN}"  # or {others}',
        f"title = {_quoted(brief(title, MAX_NAME))}",
        f"place = {_quoted(brief(place, MAX_NAME))}",
        'note = ""',
    ]
    text = "\n".join(["[[finding]]", *rows])
    try:
        return text if tomli.loads(text)["finding"][0]["signature"] == signature else ""
    except tomli.TOMLDecodeError:  # half a surrogate pair
        return ""


def _quoted(text: str) -> str:
    """A basic string of TOML, with all but printable characters escaped."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(ch: str) -> str:
    if ch in '\\"':
        return f"\\{ch}"
    return ch if ch.isprintable() else f"\\U{ord(ch):08X}"
