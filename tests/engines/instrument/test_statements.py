"""The lines that count as statements: those of coverage.py."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from coverage.config import DEFAULT_EXCLUDE
from coverage.parser import PythonParser

from fuzztui.engines.instrument.statements import statements_of

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
ODD = '''\
"""Docstring."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import os
else:
    import sys

@decorated(
    1,
)
def f(a,
      b):  # pragma: no cover
    return (a +
            b)

def g(a): ...

def h(x):
    """Doc."""
    if x:  # pragma: no cover
        y = 1
    elif not x:
        y = [
            2,
            3,
        ]
    else:  # pragma: no cover
        y = 3
    try:
        z = f"""
        {y}
        """
    except OSError:  # pragma: no cover
        pass
    finally:
        z = 1; w = 2
    match z:
        case 1:
            return "a" \\
                "b"
        case _:
            ...
    while False: pass
    return lambda: (
        z
    )

class C:
    x: int
    @property
    def p(self):
        # a comment
        return 1
'''


def theirs(text: str) -> set[int]:
    parser = PythonParser(text=text, exclude="|".join(f"(?:{e})" for e in DEFAULT_EXCLUDE))
    parser.parse_source()
    return parser.statements


def test_each_kind_of_statement() -> None:
    assert statements_of(ODD.encode())[0] == theirs(ODD)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_end_as_in_python(ending: str) -> None:
    text = "\f\nx = '\u2028\x1c'\n\f\nif x:  # pragma: no cover\n    y = 1\nz = 2\n"
    assert statements_of(text.replace("\n", ending).encode())[0] == theirs(text) == {2, 6}


@pytest.mark.parametrize("name", ["argparse", "ast", "json/decoder", "tomllib/_parser", "enum"])
def test_modules_of_the_standard_library(name: str) -> None:
    source = (LIBRARY / f"{name}.py").read_bytes()
    assert statements_of(source)[0] == theirs(source.decode())


def test_a_file_that_is_no_python_has_none() -> None:
    for source in (b"def", b"\xff", b"x = (\n", b"  x\n y"):
        with pytest.raises((SyntaxError, ValueError)):
            statements_of(source)
