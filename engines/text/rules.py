"""Edit rules in comby's syntax: the built-in ones, and the user's templates with ``:[``.

Groce et al. call comby for their "smart" mutators. Here a pattern becomes a regular expression, so
that a search needs no grammar and no program, and takes milliseconds. rules.txt has the built-in
rules, and says what the holes mean.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from fuzztui.engines.text.edits import MAX_SPAN, Edit, sampled, trimmed
from fuzztui.engines.text.limit import limited

TABLE: Final = Path(__file__).with_name("rules.txt")

UNPARSED: Final = ("awk", "lisp")
"""Languages that have rules and no grammar."""

MAX_INPUT: Final = 32 << 10
"""Bytes of an input; rules are not searched for in longer ones."""

RULE_SECONDS: Final = 2.0
"""CPU seconds for a rule in an input, and of all rules before the last one."""

_DEPTH: Final = 6
"""Brackets within brackets in a hole."""
_HOLE: Final = re.compile(
    r":\[(?:\[(?P<word>\w+)\]|(?P<name>\w+)(?P<expr>:e)?"
    r"|(?P<re>\w+)~(?P<of>(?:\[(?:\\.|[^\]\\])+\]|\\.|[^\]\\])+))\]",
    re.ASCII,
)
_ATTRIBUTE: Final = re.compile(
    r"\]\.(?:lowercase|UPPERCASE|(?:unc|C)apitalize|(?:Upp|low)erCamelCase|UPPER_SNAKE_CASE"
    r"|lower_snake_case)\b"
)
_STRINGS: Final = r'"(?:[^"\\\n]|\\.){0,200}+"', r"'(?:[^'\\\n]|\\.){0,200}+'"
"""Bounded, since a search tries each quote, also one that no other closes."""


def is_rule(template: str) -> bool:
    """Whether the template is in comby's syntax, not in ast-grep's."""
    return ":[" in template


def sides_of(template: str) -> tuple[str, str]:
    """Pattern and rewrite of a template. Raises ValueError with a message for the user."""
    pattern, arrow, rewrite = (part.strip() for part in template.partition("==>"))
    if not arrow or not pattern:
        raise ValueError("a template is PATTERN ==> REWRITE")
    if "\0" in template or len(template) > MAX_SPAN:
        raise ValueError(f"a template must have no NUL and at most {MAX_SPAN} characters")
    if pattern == rewrite:
        raise ValueError("the template changes nothing: both sides are the same")
    return pattern, rewrite


def _group(hole: re.Match[str]) -> str:
    """The name of a hole's group: a hole may be called 1, a group may not."""
    return f"_{hole['word'] or hole['name'] or hole['re']}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule or template; ``rewrite`` is text and names of groups in turns."""

    text: str
    pattern: re.Pattern[bytes]
    rewrite: Sequence[bytes]

    @classmethod
    def parse(cls, text: str, *, lisp: bool) -> Rule:
        """Parse a rule. ``lisp``: an apostrophe quotes no string.

        Raises ValueError with a message for the user.
        """
        left, right = sides_of(text)
        left, right = " ".join(left.split()).replace(r"\n", "\n"), right.replace(r"\n", "\n")
        for part in (left, right):
            if ":[" in (rest := _HOLE.sub("", part)):
                wrong = rest[rest.index(":[") :][:20]
                raise ValueError(f"{wrong} is no hole: write :[a], :[[a]], :[a:e] or :[a~REGEX]")
        if attribute := _ATTRIBUTE.search(right):
            raise ValueError(f"holes have no attributes: write :[a] without {attribute[0][1:]}")
        pattern, at, groups = "", 0, set[str]()
        for hole in _HOLE.finditer(left):
            pattern += _literal(left[at : hole.start()], after_hole=at > 0, before_hole=True)
            # What begins with an expression is searched for at the beginning of expressions only.
            pattern += r"(?<![^\s(\[{,;])" if hole["name"] and not pattern else ""
            group, at = _group(hole), hole.end()
            again = group in groups
            pattern += f"(?P={group})" if again else f"(?P<{group}>{_body(hole, lisp=lisp)})"
            groups.add(group)
        pattern += _literal(left[at:], after_hole=at > 0, before_hole=False)
        if unknown := [hole[0] for hole in _HOLE.finditer(right) if _group(hole) not in groups]:
            raise ValueError(f"the rewrite uses the hole {unknown[0]}, which the pattern lacks")
        rewrite = _HOLE.sub(lambda hole: f"\0{_group(hole)}\0", right).encode().split(b"\0")
        try:
            return cls(text, re.compile(pattern.encode(), re.DOTALL), rewrite)
        except (re.error, OverflowError, RecursionError) as e:
            why = getattr(e, "msg", e)
            raise ValueError(f"the regular expression of a hole is wrong: {why}") from None

    def edits(self, data: bytes) -> Iterator[Edit]:
        """Yield the edits of all matches in ``data``, also of matches within others."""
        match = self.pattern.search(data)
        while match:
            parts = (match[p.decode()] if n % 2 else p for n, p in enumerate(self.rewrite))
            if edit := trimmed(data, *match.span(), b"".join(parts)):
                yield edit
            match = self.pattern.search(data, match.start() + 1)


def _literal(text: str, *, after_hole: bool, before_hole: bool) -> str:
    """A regular expression for text between holes. A hole may have taken the blanks before it, or
    be the rest of a word.
    """
    made, tokens = "", re.findall(r"\w+|\W", text)
    for n, token in enumerate(tokens):
        if token == " ":
            beside = "".join(tokens[max(n - 1, 0) : n + 2])
            any_ = re.search(r"[^\w ]", beside) or (after_hole and not n and len(tokens) > 1)
            made += r"\s*+" if any_ else r"\s++"
        else:
            word = token.isascii() and token.isalnum()
            begin = r"\b" if word and (n or not after_hole) else ""
            end = r"\b" if word and (n + 1 < len(tokens) or not before_hole) else ""
            made += begin + re.escape(token) + end
    return made


def _body(hole: re.Match[str], *, lisp: bool) -> str:
    """A regular expression for a hole; without backtracking, and strings are bounded, so that a
    search takes linear time.
    """
    if hole["of"]:
        return hole["of"]
    following = hole.string[hole.end() :]
    if hole["word"]:  # which text or a hole before it may begin
        if after := re.match(r"\w+|:\[\[\w+\]\]", following, re.ASCII):
            raise ValueError(
                f"{hole[0]}{after[0]} never matches: {hole[0]} takes the rest of a word, all "
                f"letters and digits; write :[{hole['word']}~\\w+?]{after[0]}"
            )
        return r"\w++" if re.search(r"[\w\]]\Z", hole.string[: hole.start()]) else r"\b\w++"
    if following.startswith(":["):
        raise ValueError(f"put text or a blank after {hole[0]}: nothing shows where that hole ends")
    first = re.search(r"\w+|[^\w ]", following)
    ends, word = re.escape(first[0][:1]) if first else "", ""
    if hole["expr"] or following.startswith(" :["):
        ends = r"\s,;" if hole["expr"] else r"\s"
    elif first:  # the hole may contain its first letter
        beside = following.startswith(":[", first.end())
        token = _literal(first[0], after_hole=not first.start(), before_hole=beside)
        word = rf"|(?!{token})[{ends}]"
    plain = r"()\[\]{}\"" + ("" if lisp else "'")
    whole = strings = "|".join(_STRINGS[: 1 if lisp else 2])
    for _ in range(_DEPTH):
        whole = rf"{strings}|[(\[{{](?:[^{plain}]++|{whole})*+[)\]}}]"
    return f"(?:[^{plain}{ends}]++{word}|{whole})++"


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


def rule_edits(
    rules: Iterable[Rule], data: bytes, most: int, problems: dict[str, str]
) -> Mapping[str, Sequence[Edit]]:
    """At most ``most`` edits, by the text of their rules: all of rare rules, the others evenly
    spread. After :data:`RULE_SECONDS` the other rules are skipped.

    ``problems``: rules that are left out, and the reasons; a rule that takes so long is added.
    """
    found, over = dict[str, list[Edit]](), time.thread_time() + RULE_SECONDS
    for rule in rules if len(data) <= MAX_INPUT else ():
        if time.thread_time() > over:
            break
        if rule.text in problems:
            continue
        try:
            with limited(RULE_SECONDS, signal.ITIMER_VIRTUAL, signal.SIGVTALRM, _interrupt):
                found[rule.text] = [*rule.edits(data)]
        except TimeoutError:
            problems[rule.text] = f"{RULE_SECONDS:g} s of CPU time were too few for one entry"
    return sampled({text: edits for text, edits in found.items() if edits}, most)


def _interrupt(*_: object) -> None:
    """Handle a signal, which searches look for."""
    raise TimeoutError
