"""Generators of words, texts, numbers as text, and paths."""

from __future__ import annotations

import string
from pathlib import PurePosixPath

from fuzztui.engines.generators.odds import ERRONEOUS, mistake
from fuzztui.engines.generators.scope import generator
from fuzztui.engines.inputs.source import Source

_ODD = " \t\n\r\0\x7f\"'\\/<>&%$;,:|äßÉñжλ中あ\u00a0\u200b\u202e\ufeff\U0001f600"


@generator
def gen_word(r: Source, *, low: int = 1, high: int = 10) -> str:
    """A word of ``low`` to ``high`` letters and digits, mostly in lower case."""
    letters = string.ascii_lowercase if r.below(4) else string.ascii_letters + string.digits + "_"
    return r.text(letters, low, high)


@generator
def gen_text(r: Source, *, most: int = 8, erroneous: float = ERRONEOUS) -> str:
    """Up to ``most`` words; a mistake adds characters that programs often handle badly."""
    words = [gen_word(r) for _ in r.more(0, most)]
    if mistake(r, erroneous):
        words.append(r.text(_ODD, 1, 8))
    return " ".join(words)


@generator
def gen_number(r: Source, *, erroneous: float = ERRONEOUS) -> str:
    """A number as text: 7, -12, 3.50, 1e9."""
    if mistake(r, erroneous):
        return r.choose(["", "-", "nan", "inf", "1e999", "0x1f", "1,5", "٣", "--1", "1_000"])
    number = str(r.integer(-1000, 1000) if r.below(4) else r.integer(-(2**63), 2**63 - 1))
    if r.below(4) == 0:
        number += f".{r.text(string.digits, 1, 4)}"
    return number + (f"e{r.integer(-9, 9)}" if r.below(16) == 0 else "")


@generator
def gen_path(
    r: Source,
    *,
    depth: int = 4,
    ends: str = ".txt .csv .json .png .zip",
    erroneous: float = ERRONEOUS,
) -> PurePosixPath:
    """A path of up to ``depth`` parts; its name ends with one of ``ends`` or has no suffix."""
    parts = [gen_word(r) for _ in r.more(0, depth - 1)]
    if mistake(r, erroneous):
        parts.append(r.choose(["..", ".", "", "~", "a" * 300, "con", " "]))
    parts.append(gen_word(r) + r.choose([*ends.split(), ""]))
    return PurePosixPath("/" if r.below(4) == 0 else "", *parts)
