"""Names of keys: for users on the screens, and from users in the configuration file."""

from __future__ import annotations

import re
import unicodedata

from textual.keys import KEY_NAME_REPLACEMENTS, REPLACED_KEYS

_NAMES = {
    "question_mark": "?", "slash": "/", "plus": "+", "minus": "-", "equals_sign": "=", "comma": ",",
    "full_stop": ".", "less_than_sign": "<", "greater_than_sign": ">", "left_square_bracket": "[",
    "right_square_bracket": "]", "space": "space", "left": "←", "right": "→", "up": "↑",
    "down": "↓", "backspace": "⌫", "pageup": "PgUp", "pagedown": "PgDn", "enter": "⏎",
}  # fmt: skip

_SIGNS = {"ctrl+": "^", "shift+": "⇧", "alt+": "M-"}

_ALIASES = {
    "return": "enter", "esc": "escape", "pgup": "pageup", "pgdn": "pagedown", "del": "delete",
    "ins": "insert",
}  # fmt: skip

_NAMED = frozenset({
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete",
    "backspace", "enter", "escape", "tab", "space", *(f"f{n}" for n in range(1, 25)),
})  # fmt: skip

_MODIFIED = re.compile(r"((?:(?:ctrl|alt|shift)\+)*)(.+)", re.DOTALL)

UNBOUND = "no_key"
"""Name of a key that no keyboard has: the key of an action that the user has left without one."""


def key_name(key: str) -> str:
    """Return a key's name for users."""
    for modifier, sign in _SIGNS.items():
        if key.startswith(modifier):
            name = key.removeprefix(modifier)
            return sign + _NAMES.get(name, name)
    return _NAMES.get(key) or _character(key)


def key_for_user(key: str) -> str:
    """Return Textual's ``key`` in the form that :func:`key_from_user` accepts."""
    modifiers, _, name = key.rpartition("+")
    shown = name if name in _NAMED else _character(name)
    return f"{modifiers}+{shown}" if modifiers else shown


def key_from_user(text: str) -> str:
    """Return Textual's name of a user's key ``text``: ``q``, ``?``, ``ctrl+k``, ``f5``.

    Raises :class:`ValueError` with a message if no terminal sends such a key.
    """
    match = _MODIFIED.fullmatch(text.strip() or text)
    modifiers, key = match.groups() if match else ("", "")
    if len(key) == 1 and key.isprintable():
        return modifiers + _textual_name(key)
    name = _ALIASES.get(key.lower(), key.lower())
    if name in _NAMED:
        return modifiers + name
    if key and key.islower() and len(_character(key)) == 1:
        return modifiers + key
    raise ValueError(
        f'{text!r} is not a key; write a character like "q", or a name like "f5", "space", "enter",'
        ' "pageup", also with "ctrl+", "alt+" or "shift+" in front'
    )


def _textual_name(character: str) -> str:
    if character == " ":
        return "space"
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name) or character


def _character(name: str) -> str:
    """The character for a key's name in Textual; the name itself if the key has no character."""
    long = REPLACED_KEYS.get(name, name)
    for spelled in (long.replace("_", " "), long.replace("_", "-", 1).replace("_", " ")):
        try:
            found = unicodedata.lookup(spelled)
        except KeyError:
            continue
        if found.isprintable():  # not the control characters "tab" and "escape"
            return found
    return name
