"""Random functions of three values, with most constructs that mutants and probes meet."""

from __future__ import annotations

import math
import random
from typing import Final

PRELUDE: Final = """
class Odd:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return self
    def __le__(self, other): raise KeyError("le")
    def __eq__(self, other): return NotImplemented if other == 1 else self.n
    __hash__ = None
    def __bool__(self): return bool(self.n % 2)
    def __add__(self, other): return "added"
    def __sub__(self, other): return [self]
    def __neg__(self): return 3
    def __repr__(self): return f"Odd({self.n})"
LOG = []
def log(x):
    LOG.append(repr(x))
    return x
"""
"""A class whose operators do as they like, and a function that leaves a trace."""

VALUES: Final = (
    *(0, 1, -3, True, False, None, 0.0, -0.0, math.nan, math.inf, 2.5),
    *("", "x", "xy", b"", b"x", (), (1,), [], [1], {}, 10**25),
)

_CONSTANTS: Final = (
    *("0", "1", "-1", "2", "0.0", "-0.0", "1.5", "True", "False", "None", "()", "10**25"),
    *("[]", "(1, 2)", "NAN", "Odd(1)", "Odd(2)", "[1, 2]", "''", "'x'", "b'x'"),
)
_ARITHMETIC: Final = ("+", "-", "*", "/", "//", "%", "&", "|", "^", ">>")
_COMPARISON: Final = ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")


def is_legal(source: str) -> bool:
    try:
        compile(source, "m.py", "exec")
    except SyntaxError:
        return False
    return True


class Writer:
    """Writes source text by chance."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._quoted = False  # inside quotes: none of our own
        self._names = 0

    def function(self, name: str) -> str:
        """One that compiles (a walrus is not allowed everywhere)."""
        while not is_legal(source := self._function(name)):
            pass
        return source

    def _function(self, name: str) -> str:
        body = [line for _ in range(self._rng.randint(1, 4)) for line in self._statement(2)]
        inside = "\n".join("    " + line for line in body)
        bool_ = " -> bool" if self._rng.random() < 0.2 else ""
        return f"def {name}(a, b, c){bool_}:\n    w = 1\n{inside}\n    return a, b, c\n"

    def expression(self, depth: int = 3) -> str:
        rng = self._rng
        if depth == 0 or rng.random() < 0.25:
            if rng.random() < 0.6:
                return rng.choice("abc")
            return rng.choice(_CONSTANTS[: -3 if self._quoted else None])

        def e() -> str:
            return self.expression(depth - 1)

        kinds = [
            lambda: f"({e()} {rng.choice(_ARITHMETIC)} {e()})",
            lambda: f"({e()} {rng.choice(_ARITHMETIC)} {e()})",
            lambda: f"({e()} {rng.choice(_COMPARISON)} {e()})",
            lambda: f"({e()} {rng.choice(_COMPARISON)} {e()})",
            lambda: f"({e()} {rng.choice(_COMPARISON)} {e()} {rng.choice(_COMPARISON)} {e()})",
            lambda: f"({e()} {rng.choice(('** 2', '** -1', '<< 2', '<< 1'))})",
            lambda: f"({e()} if {e()} else {e()})",
            lambda: f"({e()} {rng.choice(('and', 'or'))} {e()})",
            lambda: f"({rng.choice(('-', 'not ', '~'))}{e()})",
            lambda: f"[b for b in (a, b) if {e()}]",
            lambda: f"[{e()} for a in (1, 0, b)]",
            lambda: f"all({e()} for a in (1, 0, b))",
            lambda: f"log({e()})",
        ]
        if not self._quoted:
            kinds += [
                lambda: f"(lambda a: {e()})(c)",
                lambda: f"(lambda: (yield {e()}))().send(None)",
                lambda: f"(w := {e()})",
                self._format,
            ]
        return rng.choice(kinds)()

    def _format(self) -> str:
        self._quoted = True
        text = f"f'{{{self.expression(2)}}}'"
        self._quoted = False
        return text

    def _statement(self, depth: int) -> list[str]:
        rng, e = self._rng, self.expression
        simple = [
            lambda: [f"{rng.choice('abc')} = {e()}"],
            lambda: [f"{rng.choice('abc')} {rng.choice(_ARITHMETIC)}= {e()}"],
            lambda: [f"if {e()}: return {e()}"],
            lambda: [f"log({e()})"],
            lambda: [f"assert {e()} != 3"],
        ]
        if depth == 0:
            return rng.choice(simple)()

        def block() -> list[str]:
            return ["    " + line for line in self._statement(depth - 1)]

        self._names += 1
        n = self._names
        nested = [
            lambda: [f"if {e()}:", *block(), "else:", *block()],
            lambda: [f"for a in (1, {e()}):", *block(), f"    if {e()}: break", "else:", *block()],
            lambda: ["try:", *block(), "except (TypeError, ValueError):", *block()],
            lambda: ["try:", *block(), "finally:", *block()],
            lambda: [f"n{n} = 0", f"while n{n} < 3 and ({e()}):", f"    n{n} += 1", *block()],
            lambda: [f"def g{n}(a, b=b):", *block(), f"    return {e()}", f"c = g{n}(c)"],
            lambda: [
                f"class K{n}:",
                # No comprehension: with a closure in it, it crashes Python 3.13.0 itself.
                f"    x = log(-b + c if a < {rng.choice(_CONSTANTS)} else a)",
                f"    def m(self, a=a, b=b, c=c): return {e()}",
                f"b = K{n}().m()",
            ],
            lambda: (
                [f"match {e()}:", f"    case int() if {e()}:"] + ["    " + line for line in block()]
            ),
        ]
        return rng.choice([*simple, *nested, *nested])()
