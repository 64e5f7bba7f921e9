"""Names of keys for users."""

from __future__ import annotations

_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "comma": ",",
    "full_stop": ".",
    "space": "space",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "backspace": "⌫",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "enter": "⏎",
}


def key_name(key: str) -> str:
    """Return a key's name for users."""
    if key.startswith("ctrl+"):
        return "^" + _NAMES.get(key[5:], key[5:])
    if key.startswith("shift+"):
        return "⇧" + _NAMES.get(key[6:], key[6:])
    return _NAMES.get(key, key)
