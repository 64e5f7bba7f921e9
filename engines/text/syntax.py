"""Find the syntactic spans by kind, the identifiers and the template matches of an input.

An entry is parsed once, by tree-sitter from the package ``ast_grep_py`` (45 MB, no network);
mutations then need no parser. Templates are the structural mutators of comby with which Groce et
al. compare their operators. They are in the syntax of ast-grep or, which needs no grammar, of comby
(:mod:`~fuzztui.engines.text.rules`).
"""

from __future__ import annotations

import re
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import Any, Final

from fuzztui.engines.text.edits import MAX_EDITS, MAX_SPAN, Edit, sampled, spread, trimmed
from fuzztui.engines.text.rules import UNPARSED, Rule, is_rule, rule_edits, rules_of, sides_of

LANGUAGES: Final = (
    "bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "hcl", "html", "java",
    "javascript", "json", "kotlin", "lua", "markdown", "nix", "php", "python", "ruby", "rust",
    "scala", "solidity", "swift", "tsx", "typescript", "yaml", "zig",
)  # fmt: skip
"""The languages of ast_grep_py 0.51. The package panics on unknown names, so only these are
used."""

MISSING: Final = (
    f"the package ast-grep-py is not installed for {sys.executable} (-m pip install ast-grep-py): "
    "brackets, quotes and lines are spliced instead and templates are left out"
)
NO_GRAMMAR: Final = (
    "needs text.language, because ast-grep uses a grammar; write holes as :[a] to do without"
)

MAX_INPUT: Final = 256 << 10
"""Bytes of an input; longer inputs are not parsed."""

MIN_SPAN: Final = 2
MAX_SPANS: Final = 512
"""Spans of an input: all of rare kinds, others evenly spread over it."""
MAX_NAME: Final = 64
MAX_NODES: Final = 200_000
MAX_SECONDS: Final = 5.0
"""CPU seconds for visiting one tree, and again for its templates; the rest is skipped. (Parsing
cannot be interrupted.)"""

Span = tuple[int, int]
"""Begin and length in bytes."""
Name = tuple[int, int, str]
"""Begin, length and kind of an identifier."""


class SyntaxUnavailable(Exception):
    """Raised if nothing can be parsed; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Spans:
    """The parser's result for one input. Offsets are in bytes.

    ``kinds``: spans by kind, kinds in alphabetical order, spans sorted by begin; ``names``: all
    identifiers sorted by begin; ``edits``: the edits of templates.
    """

    kinds: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    names: Sequence[Name] = ()
    edits: Sequence[Edit] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds or self.edits)


_HOLE: Final = re.compile(r"\$(\$\$)?([A-Z_][A-Z0-9_]*)")
_DOLLARS: Final = {"bash", "php"}
"""Languages in which ``$a`` is a variable."""
_MARKS: Final = "µ𐀀_z"
"""The characters that ast-grep uses in place of ``$``, depending on the language."""
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_QUOTED: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")


@dataclass(frozen=True, slots=True)
class Template:
    """``PATTERN ==> REWRITE`` with ast-grep's holes: ``$A`` one node, ``$$$ARGS`` any number."""

    pattern: str
    rewrite: str

    @classmethod
    def parse(cls, text: str, language: str) -> Template:
        """Parse a template. Raises ValueError with a message for the user."""
        pattern, rewrite = sides_of(text)
        holes = {m[2] for m in _HOLE.finditer(pattern)}
        if unknown := [m[0] for m in _HOLE.finditer(rewrite) if m[2] not in holes]:
            hole = unknown[0]
            raise ValueError(f"the rewrite uses the hole {hole}, which the pattern does not define")
        if language not in _DOLLARS and (small := re.findall(r"\$[a-z]\w*", pattern)):
            upper = small[0].upper()
            raise ValueError(f"the name of a hole is in capital letters: {upper}, not {small[0]}")
        if wrong := _unbalanced(pattern):
            raise ValueError(f"the pattern is incomplete: {wrong}")
        return cls(pattern, rewrite)


def _unbalanced(pattern: str) -> str:
    open_ = []
    for c in _QUOTED.sub("", pattern):
        if c in "([{":
            open_.append(c)
        elif c in _PAIRS and (not open_ or open_.pop() != _PAIRS[c]):
            return f"{c} has no opening bracket"
    return f"{open_[-1]} is not closed" if open_ else ""


def template_problem(language: str, text: str) -> str:
    """Why this is not a template for the language; an empty string if it is one.

    Matches are not checked. Without ast-grep-py only the form is checked.
    """
    try:
        if is_rule(text):
            Rule.parse(text, lisp=language == "lisp")
            return ""
        if language in ("", *UNPARSED):
            return NO_GRAMMAR
        template = Template.parse(text, language)
        if language in LANGUAGES:
            Syntax(language, [])._matches(_parsed("", language), template)
    except (ValueError, SyntaxUnavailable) as e:
        return "" if isinstance(e, SyntaxUnavailable) else str(e)
    return ""


class Syntax:
    """A parser of one language, the templates, and the built-in rules of the language.

    Templates in comby's syntax and rules need no parser: ``language`` may be "" if there are any.
    """

    def __init__(
        self, language: str, templates: Sequence[str] = (), *, rules: bool = False
    ) -> None:
        """Malformed templates are put into :attr:`problems`.

        Raises :class:`SyntaxUnavailable` if the language is unknown, or the package is missing;
        with ``rules``, which do not need the package, :attr:`missing` is the reason then.
        """
        if language not in (*LANGUAGES, *UNPARSED) and (language or not (templates or rules)):
            known = ", ".join(LANGUAGES)
            raise SyntaxUnavailable(f"no grammar for {language!r}; choose one of {known}")
        self._rules = rules_of(language) if rules else ()
        lisp = language == "lisp"
        self.language = language = "" if language in UNPARSED else language
        """The language that is parsed; "": none."""
        self.missing, empty = "", None
        try:
            empty = _parsed("", language) if language else None
        except SyntaxUnavailable as e:
            if not rules:
                raise
            self.missing, self.language = str(e), ""
        self.problems = dict[str, str]()
        """Templates that are left out, and the reasons; slow ones are added later."""
        self._told = 0
        self.matches = dict[str, int]()
        """Number of matches of each of the other templates."""
        self._templates = dict[str, Template]()
        self._own_rules = list[Rule]()
        for text in templates:
            try:
                if is_rule(text):
                    self._own_rules.append(Rule.parse(text, lisp=lisp))
                elif not self.language:
                    raise ValueError(self.missing or NO_GRAMMAR)
                else:
                    template = Template.parse(text, language)
                    self._matches(empty, template)
                    self._templates[text] = template
            except ValueError as e:
                self.problems[text] = str(e)
            else:
                self.matches[text] = 0

    def spans(self, data: bytes) -> Spans:
        """Parse ``data``. The result is empty if it is too long or the parser fails."""
        if not data or len(data) > MAX_INPUT:
            return Spans()
        spans = self._parse(data) if self.language else Spans()
        found = rule_edits(self._own_rules, data, MAX_EDITS, self.problems)
        for text, made in found.items():
            self.matches[text] += len(made)
        edits = spread(sorted({*spans.edits}.union(*found.values())), MAX_EDITS)
        # The built-in rules leave templates their room.
        ruled = rule_edits(self._rules, data, MAX_EDITS - len(edits), {})
        return replace(spans, edits=(*edits, *sorted({*chain(*ruled.values())})))

    def news(self) -> Iterator[str]:
        """Yield a message for users about each template that was left out since the last call."""
        new = [*self.problems.items()][self._told :]
        self._told += len(new)
        for text, why in new:
            self.matches.pop(text, None)
            yield f"text.templates: {text!r} is left out: {why}"

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
            return Spans()  # pyo3's PanicException is not a subclass of Exception

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
    """The innermost cause in an error of ast-grep, which ends with a stack."""
    lines = re.findall(r"^\s+\d+: (.*)$", str(error).partition("Stack backtrace")[0], re.MULTILINE)
    message = lines[-1] if lines else str(error).partition("\n")[0]
    for hole in _HOLE.finditer(pattern):
        for mark in _MARKS:
            message = message.replace(hole[0].replace("$", mark), hole[0])
    return f"ast-grep says: {message[:200]}"


# ------------------------------------------------------------------------------ parsing


def _parsed(text: str, language: str) -> Any:
    """The root of the syntax tree. Raises :class:`SyntaxUnavailable`."""
    try:
        from ast_grep_py import SgRoot
    except ImportError:
        raise SyntaxUnavailable(MISSING) from None
    return SgRoot(text, language).root()


class _Offsets:
    """Byte offsets of characters."""

    __slots__ = ("_starts", "utf8")

    def __init__(self, starts: Sequence[int] | None, *, utf8: bool) -> None:
        self._starts = starts
        self.utf8 = utf8

    def __getitem__(self, character: int) -> int:
        return character if self._starts is None else self._starts[character]


def _decoded(data: bytes) -> tuple[str, _Offsets]:
    """Decode for the parser: as Latin-1 if it is not UTF-8; each NUL becomes a blank."""
    data = data.replace(b"\0", b" ")  # scanners of some grammars read NUL as the end
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
    """Begin and end in characters. ``node.range()`` counts columns, which is slow in long lines."""
    edit = node.replace("")
    return edit.start_pos, edit.end_pos


# ------------------------------------------------------------------------------- spans

_NAMES: Final = {
    "name", "variable_name", "variable", "constant", "instance_variable", "global_variable",
}  # fmt: skip
_NAME: Final = re.compile(rb"[$@]{0,2}[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*\Z")


def _walk(root: Any, data: bytes, offsets: _Offsets) -> tuple[dict[str, tuple[Span, ...]],
                                                             tuple[Name, ...]]:  # fmt: skip
    """Spans for splicing, and identifiers. Breadth first, to cover all of the input when cut short.

    The spans are the named nodes without the root, comments, and nodes that contain an error.
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
    kept = sampled({k: whole[k] for k in sorted(whole) if whole[k]}, MAX_SPANS)
    return kept, tuple(sorted(names))


def _is_name(kind: str, text: bytes) -> bool:
    return ("identifier" in kind or kind in _NAMES) and bool(_NAME.match(text))


def _spoilt(span: Span, errors: Sequence[int]) -> bool:
    at = bisect_left(errors, span[0])
    return at < len(errors) and errors[at] < span[0] + span[1]


# --------------------------------------------------------------------------- templates


def _filled(rewrite: str, match: Any, text: str) -> str:
    """The rewrite with the original text of the match's holes."""

    def original_text(hole: re.Match[str]) -> str:
        if hole[1]:
            nodes = match.get_multiple_matches(hole[2])
        else:
            nodes = [n for n in (match.get_match(hole[2]),) if n]
        if not nodes:
            return ""
        return text[_place(nodes[0])[0] : _place(nodes[-1])[1]]

    return _HOLE.sub(original_text, rewrite)
