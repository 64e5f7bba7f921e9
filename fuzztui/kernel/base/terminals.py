"""What a terminal can show."""

from __future__ import annotations

from collections.abc import Mapping

VARIABLE = "FUZZTUI_ASCII"
"""Environment variable: 1 draws in ASCII, 0 never does; otherwise the locale decides."""


def wants_ascii(environment: Mapping[str, str]) -> bool:
    """Whether the terminal can probably not show more than ASCII.

    True for a locale that is set to another encoding than UTF-8, and for the Linux console, whose
    font has no braille. False if no locale is set, because most terminals show UTF-8.
    """
    choice = environment.get(VARIABLE, "")
    if choice in ("0", "1"):
        return choice == "1"
    if environment.get("TERM") == "linux":
        return True
    everything, characters, language = (
        environment.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG")
    )
    if characters == "C.UTF-8" and language in ("C", "POSIX"):
        characters = ""  # Python itself sets LC_CTYPE to this if the locale is C (PEP 538)
    locale = (everything or characters or language).lower()
    return bool(locale) and "utf-8" not in locale and "utf8" not in locale
