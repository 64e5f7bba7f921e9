"""What stands where in an input: syntactic spans by kind, identifiers, matches of templates.

An entry is parsed once, by tree-sitter as the package ``ast_grep_py`` brings it (45 MB, no
network); mutations then need no parser. Groce et al. compare their operators with structural
ones of comby: templates are those, in the syntax of ast-grep or, without a grammar too, in
comby's (:mod:`~fuzztui.engines.text.comby`).
"""

from __future__ import annotations

import re
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.text.comby import Comby, is_comby
from fuzztui.engines.text.edits import MAX_EDITS, MAX_SPAN, Edit, spread, trimmed

__all__ = [
    "LANGUAGES",
    "MAX_INPUT",
    "MAX_NAME",
    "MAX_SPAN",
    "MISSING",
    "Edit",
    "Name",
    "Span",
    "Spans",
    "Syntax",
    "SyntaxUnavailable",
    "Template",
    "idle",
    "template_problem",
]  # fmt: skip

LANGUAGES: Final = (
    "bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "hcl", "html", "java",
    "javascript", "json", "kotlin", "lua", "markdown", "nix", "php", "python", "ruby", "rust",
    "scala", "solidity", "swift", "tsx", "typescript", "yaml", "zig",
)  # fmt: skip
"""Of ast_grep_py 0.51. It knows some by other names too; one that it does not know makes it
panic, so it is never asked for any."""

MISSING: Final = (
    f"the package ast-grep-py is not installed for {sys.executable} (-m pip install ast-grep-py): "
    "brackets, quotes and lines are spliced instead and templates are left out"
)
NO_GRAMMAR: Final = "needs text.language, as ast-grep finds it by a grammar; comby's holes are :[a]"

MAX_INPUT: Final = 256 << 10
"""Bytes: longer inputs are not parsed."""

MIN_SPAN: Final = 2
MAX_SPANS: Final = 512
MAX_NAME: Final = 64
MAX_NODES: Final = 200_000
MAX_SECONDS: Final = 5.0
"""Of the processor's time, for walking one tree, and as much for filling in its templates: they are
cut then. (Parsing cannot be cut.)"""

Span = tuple[int, int]
"""Begin and length in bytes."""
Name = tuple[int, int, str]
"""Begin, length and kind of an identifier."""


def idle(language: str, *uses: object) -> str:
    """What to tell of a language that none of these makes use of; "" if one does."""
    if not language or any(uses):
        return ""
    return "text.language has nothing to do: text.splice is 0 and there are no templates"


class SyntaxUnavailable(Exception):
    """Nothing can be parsed, and why."""


@dataclass(frozen=True, slots=True)
class Spans:
    """What is known of one input. Offsets are bytes.

    ``kinds``: spans by kind, kinds in alphabetical order, spans by their begin; ``names``:
    all identifiers by their begin; ``edits``: what the templates do here.
    """

    kinds: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    names: Sequence[Name] = ()
    edits: Sequence[Edit] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds or self.edits)


_HOLE: Final = re.compile(r"\$(\$\$)?([A-Z_][A-Z0-9_]*)")
_DOLLARS: Final = {"bash", "php"}
"""There ``$a`` is a variable."""
_MARKS: Final = "µ𐀀_z"
"""By language, what ast-grep puts in the place of ``$``."""
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_QUOTED: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")


@dataclass(frozen=True, slots=True)
class Template:
    """``PATTERN ==> REWRITE`` with ast-grep's holes: ``$A`` one node, ``$$$ARGS`` any number."""

    pattern: str
    rewrite: str

    @classmethod
    def parse(cls, text: str, language: str) -> Template:
        """Raises ValueError with what is wrong with it, for the user."""
        pattern, arrow, rewrite = (part.strip() for part in text.partition("==>"))
        if not arrow or not pattern:
            raise ValueError("a template is PATTERN ==> REWRITE")
        if "\0" in text or len(text) > MAX_SPAN:
            raise ValueError(f"a template has no NUL and at most {MAX_SPAN} characters")
        holes = {m[2] for m in _HOLE.finditer(pattern)}
        if more := [m[0] for m in _HOLE.finditer(rewrite) if m[2] not in holes]:
            raise ValueError(f"the rewrite has a hole that the pattern has not: {more[0]}")
        if language not in _DOLLARS and (small := re.findall(r"\$[a-z]\w*", pattern)):
            upper = small[0].upper()
            raise ValueError(f"a hole is called by capital letters: {upper}, not {small[0]}")
        if pattern == rewrite:
            raise ValueError("it changes nothing: both sides are the same")
        if wrong := _unbalanced(pattern):
            raise ValueError(f"the pattern is not whole: {wrong}")
        return cls(pattern, rewrite)


def _unbalanced(pattern: str) -> str:
    open_ = []
    for c in _QUOTED.sub("", pattern):
        if c in "([{":
            open_.append(c)
        elif c in _PAIRS and (not open_ or open_.pop() != _PAIRS[c]):
            return f"{c} closes nothing"
    return f"{open_[-1]} is not closed" if open_ else ""


def template_problem(language: str, text: str) -> str:
    """Why this is no template for that language, in words for the user; "" if it is one.

    Whether it matches anything is seen only where it is used. Without ast-grep-py its form
    alone is looked at.
    """
    if is_comby(text):
        return Comby(language, [text]).problems.get(text, "")
    if not language:
        return NO_GRAMMAR
    try:
        template = Template.parse(text, language)
        if language in LANGUAGES:
            Syntax(language, [])._matches(_parsed("", language), template)
    except (ValueError, SyntaxUnavailable) as e:
        return "" if isinstance(e, SyntaxUnavailable) else str(e)
    return ""


class Syntax:
    """A parser of one language, and the templates that its trees are searched for.

    Those of comby's need no parser: ``language`` may be "" where there are templates.
    """

    def __init__(
        self, language: str, templates: Sequence[str] = (), kept: Path | None = None
    ) -> None:
        """Raises :class:`SyntaxUnavailable` without the package, or for another language.

        Templates that are none are left out, see :attr:`problems`. ``kept``: a file for comby.
        """
        if language not in LANGUAGES and (language or not templates):
            raise SyntaxUnavailable(f"no grammar for {language!r}: {', '.join(LANGUAGES)}")
        self.language = language
        empty = _parsed("", language) if language else None
        self._comby = Comby(language, [text for text in templates if is_comby(text)], kept)
        self.problems = self._comby.problems
        """Templates that are left out, and why; comby's may come to it at any time."""
        self.matches = dict.fromkeys(self._comby.templates, 0)
        """How often each of the others has matched."""
        self._templates: dict[str, Template] = {}
        for text in templates:
            if is_comby(text):
                continue
            try:
                if not language:
                    raise ValueError(NO_GRAMMAR)
                template = Template.parse(text, language)
                self._matches(empty, template)
            except ValueError as e:
                self.problems[text] = str(e)
            else:
                self._templates[text] = template
                self.matches[text] = 0

    def spans(self, data: bytes) -> Spans:
        """What is known of ``data``; nothing of what is too long, or defeats the parser."""
        if not data or len(data) > MAX_INPUT:
            return Spans()
        spans = self._parse(data) if self.language else Spans()
        found = self._comby.found(data)
        for text, made in found.items():
            self.matches[text] += len(made)
        edits = {*spans.edits}.union(*found.values())
        return replace(spans, edits=spread(sorted(edits), MAX_EDITS))

    def _parse(self, data: bytes) -> Spans:
        try:
            text, offsets = _decoded(data)
            root = _parsed(text, self.language)
            kinds, names = _walk(root, data, offsets)
            edits = sorted(set(self._edits(root, text, data, offsets)))
            return Spans(kinds, names, spread(edits, MAX_EDITS))
        except BaseException as e:
            if isinstance(e, (Exception, KeyboardInterrupt, SystemExit)):
                raise
            return Spans()  # pyo3's PanicException is no Exception

    def _edits(self, root: Any, text: str, data: bytes, offsets: _Offsets) -> Iterator[Edit]:
        over = time.thread_time() + MAX_SECONDS
        for source, template in self._templates.items():
            matches = self._matches(root, template)
            self.matches[source] += len(matches)
            # Chosen before they are filled in: nested ones can each be as long as the input.
            for match in spread(matches, MAX_EDITS):
                if time.thread_time() > over:
                    return
                start, end = _place(match)
                made = _filled(template.rewrite, match, text)
                edit = trimmed(data, offsets[start], offsets[end], _encoded(made, offsets))
                if edit is not None:
                    yield edit

    def _matches(self, root: Any, template: Template) -> list[Any]:
        """Raises ValueError where ast-grep cannot understand the pattern."""
        try:
            return list(root.find_all(pattern=template.pattern))
        except Exception as e:
            raise ValueError(_reason(e, template.pattern)) from None


def _reason(error: Exception, pattern: str) -> str:
    """The innermost cause of what ast-grep says, which is followed by a stack."""
    lines = re.findall(r"^\s+\d+: (.*)$", str(error).partition("Stack backtrace")[0], re.MULTILINE)
    words = lines[-1] if lines else str(error).partition("\n")[0]
    for hole in _HOLE.finditer(pattern):
        for mark in _MARKS:
            words = words.replace(hole[0].replace("$", mark), hole[0])
    return f"ast-grep says: {words[:200]}"


# ------------------------------------------------------------------------------ parsing


def _parsed(text: str, language: str) -> Any:
    """The root of its tree. Raises :class:`SyntaxUnavailable`."""
    try:
        from ast_grep_py import SgRoot
    except ImportError:
        raise SyntaxUnavailable(MISSING) from None
    return SgRoot(text, language).root()


class _Offsets:
    """Bytes by characters."""

    __slots__ = ("_starts", "utf8")

    def __init__(self, starts: Sequence[int] | None, *, utf8: bool) -> None:
        self._starts = starts
        self.utf8 = utf8

    def __getitem__(self, character: int) -> int:
        return character if self._starts is None else self._starts[character]


def _decoded(data: bytes) -> tuple[str, _Offsets]:
    """Text for the parser. What is no UTF-8 is a character a byte; a NUL is a blank to it."""
    data = data.replace(b"\0", b" ")  # scanners of some grammars take it for the end
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1"), _Offsets(None, utf8=False)
    if len(text) == len(data):
        return text, _Offsets(None, utf8=True)
    sizes = (1 if c < "\x80" else 2 if c < "\u0800" else 3 if c < "\U00010000" else 4 for c in text)
    return text, _Offsets(tuple(accumulate(sizes, initial=0)), utf8=True)


def _encoded(text: str, offsets: _Offsets) -> bytes:
    return text.encode("utf-8" if offsets.utf8 else "latin-1", "replace")


def _place(node: Any) -> tuple[int, int]:
    """Begin and end in characters. Its range would count columns, which long lines make slow."""
    edit = node.replace("")
    return edit.start_pos, edit.end_pos


# ------------------------------------------------------------------------------- spans

_NAMES: Final = {
    "name", "variable_name", "variable", "constant", "instance_variable", "global_variable",
}  # fmt: skip
_NAME: Final = re.compile(rb"[$@]{0,2}[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*\Z")


def _walk(root: Any, data: bytes, offsets: _Offsets) -> tuple[dict[str, tuple[Span, ...]],
                                                             tuple[Name, ...]]:  # fmt: skip
    """Spans worth splicing and identifiers. Breadth first: if it is cut, all of the input has some.

    Named nodes of any grammar but the root, comments, and what has an error in it.
    """
    found: dict[str, list[Span]] = {}
    names: list[Name] = []
    errors: list[int] = []
    nodes, over = list(root.children()), time.thread_time() + MAX_SECONDS
    for visited, node in enumerate(nodes):  # which grows
        if visited % 256 == 0 and (visited > MAX_NODES or time.thread_time() > over):
            break
        children = node.children()
        nodes += children
        if not node.is_named():
            continue
        kind = node.kind()
        start, end = (offsets[at] for at in _place(node))
        size = end - start
        if kind == "ERROR":
            errors.append(start)
        elif not children and size <= MAX_NAME and _is_name(kind, data[start:end]):
            names.append((start, size, kind))
        if MIN_SPAN <= size <= MAX_SPAN and kind != "ERROR" and "comment" not in kind:
            found.setdefault(kind, []).append((start, size))
    errors.sort()
    whole = {
        kind: sorted(span for span in dict.fromkeys(spans) if not _spoilt(span, errors))
        for kind, spans in found.items()
        if kind.isascii() and len(kind) <= MAX_NAME
    }
    return _sampled({k: whole[k] for k in sorted(whole) if whole[k]}), tuple(sorted(names))


def _is_name(kind: str, text: bytes) -> bool:
    return ("identifier" in kind or kind in _NAMES) and bool(_NAME.match(text))


def _spoilt(span: Span, errors: Sequence[int]) -> bool:
    at = bisect_left(errors, span[0])
    return at < len(errors) and errors[at] < span[0] + span[1]


def _sampled(kinds: Mapping[str, Sequence[Span]]) -> dict[str, tuple[Span, ...]]:
    """No more than MAX_SPANS in all: rare kinds whole, others evenly spread over the input."""
    room, left = MAX_SPANS, len(kinds)
    most: dict[str, int] = {}
    for kind in sorted(kinds, key=lambda k: len(kinds[k])):
        most[kind] = min(len(kinds[kind]), room // left)
        room, left = room - most[kind], left - 1
    return {kind: spread(spans, most[kind]) for kind, spans in kinds.items() if most[kind]}


# --------------------------------------------------------------------------- templates


def _filled(rewrite: str, match: Any, text: str) -> str:
    """The rewrite with what stands in the holes of the match, as it is written there."""

    def stands(hole: re.Match[str]) -> str:
        if hole[1]:
            nodes = match.get_multiple_matches(hole[2])
        else:
            nodes = [n for n in (match.get_match(hole[2]),) if n]
        if not nodes:
            return ""
        return text[_place(nodes[0])[0] : _place(nodes[-1])[1]]

    return _HOLE.sub(stands, rewrite)
