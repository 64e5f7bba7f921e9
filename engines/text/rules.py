"""The built-in edit rules: the "smart" mutators of Groce et al., which call comby for them.

rules.txt has the rules, and says what the holes mean. A pattern becomes a regular expression, so
that a search needs no grammar and no program, and takes milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from fuzztui.engines.text.edits import Edit, sampled, trimmed

TABLE: Final = Path(__file__).with_name("rules.txt")

UNPARSED: Final = ("awk", "lisp")
"""Languages that have rules and no grammar."""

MAX_INPUT: Final = 32 << 10
"""Bytes of an input; rules are not searched for in longer ones."""

_DEPTH: Final = 6
"""Brackets within brackets in a hole."""
_HOLE: Final = re.compile(
    r":\[(?:\[(?P<word>\w+)\]|(?P<name>\w+)(?P<expr>:e)?"
    r"|(?P<re>\w+)~(?P<of>(?:\[(?:\\.|[^\]\\])+\]|\\.|[^\]\\])+))\]"
)
_STRINGS: Final = r'"(?:[^"\\\n]|\\.){0,200}+"', r"'(?:[^'\\\n]|\\.){0,200}+'"
"""Bounded, since a search tries each quote, also one that no other closes."""


def _name(hole: re.Match[str]) -> str:
    return hole["word"] or hole["name"] or hole["re"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of rules.txt; ``rewrite`` is text and names of holes in turns."""

    text: str
    pattern: re.Pattern[bytes]
    rewrite: Sequence[bytes]

    @classmethod
    def parse(cls, text: str, *, lisp: bool) -> Rule:
        """Parse a line. ``lisp``: an apostrophe quotes no string."""
        left, right = text.replace(r"\n", "\n").split(" ==> ")
        pattern, at, names = "", 0, set[str]()
        for hole in _HOLE.finditer(left):
            pattern += _literal(left[at : hole.start()])
            # What begins with an expression is searched for at the beginning of expressions only.
            pattern += "" if pattern or hole["word"] else r"(?<![^\s(\[{,;])"
            name, at = _name(hole), hole.end()
            body = f"(?P<{name}>{_body(hole, lisp=lisp)})"
            pattern += f"(?P={name})" if name in names else body
            names.add(name)
        pattern += _literal(left[at:])
        rewrite = _HOLE.sub(lambda hole: f"\0{_name(hole)}\0", right).encode().split(b"\0")
        return cls(text, re.compile(pattern.encode(), re.DOTALL), rewrite)

    def edits(self, data: bytes) -> Iterator[Edit]:
        """Yield the edits of all matches in ``data``, also of matches within others."""
        match = self.pattern.search(data)
        while match:
            parts = (match[p.decode()] if n % 2 else p for n, p in enumerate(self.rewrite))
            if edit := trimmed(data, *match.span(), b"".join(parts)):
                yield edit
            match = self.pattern.search(data, match.start() + 1)


def _literal(text: str) -> str:
    """A regular expression for text between holes."""
    made, tokens = "", re.findall(r"\w+|\W", text)
    for n, token in enumerate(tokens):
        if token == " ":
            beside = "".join(tokens[max(n - 1, 0) : n + 2])
            made += r"\s*+" if re.search(r"[^\w ]", beside) else r"\s++"
        else:
            made += rf"\b{token}\b" if token.isalnum() else re.escape(token)
    return made


def _body(hole: re.Match[str], *, lisp: bool) -> str:
    """A regular expression for a hole; without backtracking, and strings are bounded, so that a
    search takes linear time.
    """
    if hole["word"] or hole["of"]:
        return hole["of"] or r"\b\w++"
    after = hole.string[hole.end() :].lstrip(" ")[:1]
    ends = r"\s,;" if hole["expr"] else re.escape(after)
    plain = r"()\[\]{}\"" + ("" if lisp else "'")
    whole = strings = "|".join(_STRINGS[: 1 if lisp else 2])
    for _ in range(_DEPTH):
        whole = rf"{strings}|[(\[{{](?:[^{plain}]++|{whole})*+[)\]}}]"
    return f"(?:[^{plain}{ends}]++|{whole})++"


@cache
def rules_of(language: str) -> tuple[Rule, ...]:
    """The rules of a language; "": it is not known."""
    rules, languages = [], list[str]()
    for line in TABLE.read_text(encoding="ascii").splitlines():
        if " ==> " not in line:
            languages = line.strip("[]").split()
        elif (language or "none") in languages:
            rules.append(Rule.parse(line, lisp=language == "lisp"))
    return tuple(rules)


def rule_edits(language: str, data: bytes, most: int) -> list[Edit]:
    """At most ``most`` edits of a language's rules: all of rare rules, the others evenly spread."""
    rules = rules_of(language) if len(data) <= MAX_INPUT else ()
    found = {rule.text: edits for rule in rules if (edits := [*rule.edits(data)])}
    return sorted({edit for edits in sampled(found, most).values() for edit in edits})
