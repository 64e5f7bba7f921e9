"""What text mutators do, as text with an example, derived from their names. Pure.

The screens import no engine, and the log has only a mutator's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fuzztui.kernel.wire.mixture import CLASSES, class_of, percentage
from fuzztui.tui.base.bars import Part, parted_bar
from fuzztui.tui.base.canvas import TextSpan

SIGNS = {"havoc": ("▓", "rate"), "text": ("█", "edge"), "splice": ("▒", "corpus")}
"""Fill character and style of each mutator class."""


def mixture_bar(mixture: Sequence[float], width: int) -> list[TextSpan]:
    """Return one bar with the probabilities; each part has name and percentage if it has room."""
    parts = zip(CLASSES, mixture, strict=True)
    return parted_bar(
        [Part(part, *SIGNS[name], f"{name} {percentage(part)}") for name, part in parts], width
    )


class Effect(NamedTuple):
    """What a mutator does, with an example; empty strings if there is none."""

    does: str
    before: str = ""
    after: str = ""


_TOKENS = {
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "assign": "=", "inc": "++", "dec": "--",
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "and": "&&", "or": "||",
    "zero": "0", "one": "1", "if": "if", "while": "while",
}  # fmt: skip
"""Tokens by their names in names of mutators such as ``eq-to-ne``."""

_EXAMPLES = {"inc": "i{};", "dec": "i{};", "zero": "x = {};", "one": "x = {};",
             "if": "{} (a) b();", "while": "{} (a) b();", "add": "x = a {} b;"}  # fmt: skip
_EXAMPLE = "a {} b"

_INSERTED = {
    "if-false": "if (0==1)",
    "break": "break;",
    "continue": "continue;",
    "while-true": "while(1==1)",
}

_OTHERS = {
    "insert-not": Effect("negates what follows a parenthesis", "if (a)", "if (!a)"),
    "drop-not": Effect("drops a negation", "if (!a)", "if (a)"),
    "delete-statement": Effect("deletes a statement", "a; b; c;", "a; c;"),
    "delete-statement-after-block": Effect(
        "deletes the statement after a block", "{ a; } b; c;", "{ a; } c;"
    ),
    "delete-block": Effect("deletes a block", "if (a) { b; } c;", "if (a)  c;"),
    "empty-block": Effect("empties a block", "if (a) { b; } c;", "if (a) {} c;"),
    "swap-statements": Effect("swaps two statements", "a; b; c;", "a; c; b;"),
    "swap-statements-after-block": Effect(
        "swaps the two statements after a block", "{ a; } b; c;", "{ a; } c; b;"
    ),
    "swap-args": Effect("swaps the two arguments of a call", "f(a,b)", "f(b,a)"),
    "swap-args-first": Effect("swaps the first two of several arguments", "f(a,b,c)", "f(b,a,c)"),
    "swap-args-inner": Effect("swaps two arguments in the middle", "f(a,b,c,d)", "f(a,c,b,d)"),
    "swap-args-last": Effect("swaps the last two of several arguments", "f(a,b,c)", "f(a,c,b)"),
    "delete-line": Effect("deletes a line", "a;⏎b;⏎c;", "a;⏎c;"),
    "delete-word": Effect("deletes a word", "static int x;", "static x;"),
    "delete-first-word-of-line": Effect("deletes the first word of a line", "a;⏎int x;", "a;⏎x;"),
    "delete-first-word-in-parens": Effect(
        "deletes the first word in parentheses", "f(int x)", "f(x)"
    ),
    "swap-words": Effect("swaps two words", "a bb cc d", "a cc bb d"),
    "swap-words-last": Effect(
        "swaps the last two words before a parenthesis", "(a b c)", "(a c b)"
    ),
    "swap-words-first": Effect("swaps the first two words in parentheses", "(a b c)", "(b a c)"),
    "swap-words-in-parens": Effect("swaps two words in parentheses", "(int x)", "(x int)"),
    "duplicate-line": Effect("writes a line twice", "a;⏎b;⏎c;", "a;⏎b;⏎b;⏎c;"),
    "duplicate-to-brace": Effect(
        "writes all from a line's end to a closing brace twice", "{⏎ a; }", "{⏎ a; }⏎ a; }"
    ),
    "template": Effect("rewrites code that matches a built-in rule, or one of your templates"),
    "fragment": Effect("replaces syntax by a fragment of the same kind of another input"),
    "balanced": Effect("replaces a bracketed group by a group of another input"),
    "havoc": Effect("edits bytes without parsing: flips, inserts, deletes, copies"),
}  # fmt: skip


def effect_of(name: str) -> Effect:
    """Return the effect of the mutator ``name``; for an unknown one: its class."""
    if known := _OTHERS.get(name):
        return known
    head, _, what = name.partition("-")
    if head == "insert" and what in _INSERTED:
        line = _INSERTED[what]
        return Effect(f"inserts a line: {line}", "a;⏎b;", f"a;⏎{line}⏎b;")
    old, to, new = name.partition("-to-")
    if to and old in _TOKENS and new in _TOKENS:
        example = _EXAMPLES.get(old, _EXAMPLE)
        before, after = example.format(_TOKENS[old]), example.format(_TOKENS[new])
        return Effect(f"turns {_TOKENS[old]} into {_TOKENS[new]}", before, after)
    kind = {"text": "a text mutator", "splice": "a splicing mutator", "havoc": "havoc"}
    return Effect(f"{kind[class_of(name)]} unknown to this version of fuzztui")
