"""The programs under test of the mu2 benchmarks, after section V of the Mu2 paper.

Each mirrors one of the paper's in kind: parsers of data formats, a checker of programs,
a compiler that prints what it has parsed. Inputs come from a generator, as Zest's do,
except where mutated text is valid often enough: half of what PyYAML gets is, and nearly
all of the spares'.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["SIX", "SPARES", "SUBJECTS", "Subject", "choose"]

_HERE = Path(__file__).resolve().parent
_SAMPLES = _HERE.parent.parent / "sample_campaigns"


@dataclass(frozen=True)
class Subject:
    """One program: the ``[target]`` table of its campaigns, and what to start from."""

    name: str
    mirrors: str
    """What the paper used in its place."""
    function: str
    include: tuple[str, ...]
    expected: tuple[str, ...] = ()
    generator: str = ""
    seeds: str = ""
    path: tuple[str, ...] = ()
    """Directories where its modules are looked for first."""
    mutate: tuple[str, ...] = ()
    """Modules that have mutants (empty: all of ``include``): those that the function can reach."""

    def target(self, **keys: Any) -> dict[str, Any]:
        """The ``target`` table of ``spec.json``."""
        table = {"function": self.function, "path": list(self.path), "include": list(self.include),
                 "expected": list(self.expected), "generator": self.generator,
                 "input": "text", "timeout_s": 1.0, "memory_bytes": 2 << 30}  # fmt: skip
        return table | keys

    def engine(self, kind: str, **keys: Any) -> dict[str, Any]:
        """The ``engine`` table of ``spec.json``."""
        seeds = [self.seeds] if self.seeds else []
        mutate = {"mutate": list(self.mutate)} if kind == "mu2" else {}
        return {"kind": kind, "seeds": seeds} | mutate | keys


def _sample(reference: str) -> str:
    return str(_SAMPLES / reference)


def _own(reference: str) -> str:
    return str(_HERE / reference)


_LOADING = ("reader", "scanner", "parser", "composer", "resolver", "constructor")

SIX = (
    Subject(
        "tomllib",
        "Gson",
        "tomllib:loads",
        ("tomllib",),
        ("tomllib.TOMLDecodeError",),
        _own("tomllib_harness.py:document"),
    ),
    Subject(
        "PyYAML",
        "Jackson",
        _sample("pyyaml_harness.py:load"),
        ("yaml",),
        ("yaml.YAMLError",),
        seeds=_sample("seeds/yaml"),
        mutate=tuple(f"yaml.{part}" for part in _LOADING),
    ),
    Subject(
        "configobj",
        "Tomcat WebXML",
        _own("configobj_harness.py:read"),
        ("configobj",),
        ("configobj.ConfigObjError",),
        _own("configobj_harness.py:document"),
    ),
    Subject(
        "pyflakes",
        "ChocoPy",
        _sample("pyflakes_harness.py:check"),
        ("pyflakes.checker", "pyflakes.messages"),
        ("SyntaxError",),
        _sample("pyflakes_harness.py:program"),
    ),
    Subject(
        "pycparser",
        "a compiler's front end",
        _sample("pycparser_harness.py:parse"),
        ("pycparser",),
        ("pycparser.c_parser.ParseError",),
        _sample("pycparser_harness.py:program"),
        mutate=tuple(f"pycparser.{part}" for part in ("c_lexer", "c_parser", "c_generator")),
    ),
    Subject(
        "sqlglot",
        "Closure",
        _sample("sqlglot_harness.py:parse_and_print"),
        ("sqlglot.tokens", "sqlglot.tokenizer_core", "sqlglot.parser", "sqlglot.generator"),
        ("sqlglot.errors.SqlglotError",),
        _sample("sqlglot_harness.py:statements"),
        mutate=("sqlglot.tokens", "sqlglot.tokenizer_core", "sqlglot.parser"),
    ),
)

SPARES = (
    Subject(
        "PyYAML-generated",
        "Jackson",
        _sample("pyyaml_harness.py:load"),
        ("yaml",),
        ("yaml.YAMLError",),
        _own("yaml_generator.py:stream"),
        mutate=tuple(f"yaml.{part}" for part in _LOADING),
    ),
    Subject(
        "tinycss2",
        "Tomcat WebXML",
        _own("tinycss2_harness.py:read"),
        ("tinycss2",),
        seeds=_own("seeds/css"),
    ),
    Subject(
        "markdown-it",
        "Closure",
        _own("markdown_harness.py:render"),
        ("markdown_it",),
        seeds=_own("seeds/markdown"),
    ),
)

SUBJECTS = SIX + SPARES


def choose(names: str) -> list[Subject]:
    """The subjects of a ``--subjects`` argument: names by comma, "six", or "all"."""
    if names in ("six", "all"):
        return list(SIX if names == "six" else SUBJECTS)
    known = {s.name.casefold(): s for s in SUBJECTS}
    wanted = [n.strip().casefold() for n in names.split(",")]
    missing = [n for n in wanted if n not in known]
    if missing:
        raise SystemExit(f"no subject {', '.join(missing)}; there are {', '.join(known)}")
    return [known[n] for n in wanted]
