"""The programs under test of the evaluations of zest and mu2, in three sets.

``TUNING``: those on which the engines were and are tuned. The first six mirror the programs of
the Mu2 paper (section V) in kind: parsers of data formats, a checker of programs, a compiler that
prints what it has parsed. Inputs come from a generator, as Zest's do, except where mutated text
is valid often enough.

``HELD_OUT``: programs on which no engine was ever tuned, at exact versions (the extra ``bench`` of
pyproject.toml). Harnesses, generators and seeds were written and frozen before any engine ran on
them for a result. Nothing is ever changed because of a figure on this set.

``THIRD``: ten more such programs, chosen when figures on ``HELD_OUT`` had been known for long, and
before the work on the engines that they judge: one each that is a parser, a matcher of patterns, a
reader of dates, of binary files and of markup, an evaluator, and one for graphs, templates, a
protocol and a codec. The seeds are from the libraries' documentation and from the formats'
specifications; those of docutils are from its functional tests (public domain).

The figures of the sets are reported apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
_SAMPLES = _HERE.parent.parent / "sample_campaigns"


@dataclass(frozen=True)
class Subject:
    """One program: the ``[target]`` table of its campaigns, and what to start from."""

    name: str
    mirrors: str
    """What the paper used in its place; an empty string: it was not chosen after the paper."""
    function: str
    include: tuple[str, ...]
    expected: tuple[str, ...] = ()
    generator: str = ""
    seeds: str = ""
    path: tuple[str, ...] = ()
    """Directories where its modules are looked for first."""
    mutate: tuple[str, ...] = ()
    """Modules that have mutants (empty: all of ``include``): those that the function can reach."""
    input: str = "text"
    """``text`` or ``bytes``: what the function takes, unless there is a generator."""

    def target(self, **keys: Any) -> dict[str, Any]:
        """The ``target`` table of ``spec.json``."""
        table = {"function": self.function, "path": list(self.path), "include": list(self.include),
                 "expected": list(self.expected), "generator": self.generator,
                 "input": self.input, "timeout_s": 1.0, "memory_bytes": 2 << 30}  # fmt: skip
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


_NETWORKX = ("bridges", "chains", "coloring", "components", "cycles", "dag", "flow", "isomorphism",
             "matching", "planarity", "shortest_paths", "tree")  # fmt: skip
_DNS = ("edns", "flags", "ipv4", "ipv6", "message", "name", "opcode", "rcode", "rdata",
        "rdataclass", "rdataset", "rdatatype", "rdtypes", "renderer", "rrset", "tokenizer", "ttl",
        "update", "wire", "wirebase")  # fmt: skip
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


def _text(
    subset: str,
    name: str,
    function: str,
    *expected: str,
    include: tuple[str, ...] = (),
    mutate: tuple[str, ...] = (),
    takes: str = "text",
) -> Subject:
    """A subject without a generator, with its harness in the folder ``subset`` and seeds."""
    return Subject(
        name=name,
        mirrors="",
        function=_own(f"{subset}/{name}_harness.py:{function}"),
        include=include or (name,),
        expected=expected,
        seeds=_own(f"seeds/{name}"),
        mutate=mutate,
        input=takes,
    )


MEASURED = (
    _text("tuning", "jmespath", "search", "jmespath.exceptions.JMESPathError"),
    _text("tuning", "rfc3986", "check", "rfc3986.exceptions.RFC3986Exception", "ValueError"),
    _text("tuning", "dateutil", "read", include=("dateutil.parser",)),
    _text("tuning", "mistune", "render"),
    _text(
        "tuning",
        "lark",
        "parse",
        "lark.exceptions.LarkError",
        include=("lark.lexer", "lark.parsers", "lark.parse_tree_builder", "lark.tree"),
    ),
    _text("tuning", "html5lib", "parse"),
)
"""Subjects not chosen for tuning, whose figures have nevertheless led to changes of the engines."""

HELD_OUT = (
    _text("held_out", "cssselect", "translate", "cssselect.SelectorError"),
    _text("held_out", "icalendar", "read", "ValueError"),
    _text(
        "held_out",
        "packaging",
        "check",
        "packaging.requirements.InvalidRequirement",
        "packaging.markers.UndefinedComparison",
    ),
    _text("held_out", "sqlparse", "read", "sqlparse.exceptions.SQLParseError"),
    Subject(
        "jsonschema",
        "",
        _own("held_out/jsonschema_harness.py:validate"),
        ("jsonschema",),
        ("jsonschema.SchemaError", "referencing.exceptions.Unresolvable", "RecursionError"),
        _own("held_out/jsonschema_harness.py:case"),
    ),
    Subject(
        "networkx",
        "",
        _own("held_out/networkx_harness.py:solve"),
        tuple(f"networkx.algorithms.{part}" for part in _NETWORKX),
        ("networkx.NetworkXException", "ValueError"),
        _own("held_out/networkx_harness.py:case"),
    ),
)

THIRD = (
    _text("third", "gherkin", "read", "gherkin.errors.ParserError"),
    _text(
        "third",
        "wcmatch",
        "match",
        "wcmatch._wcparse.PatternLimitException",
        include=("wcmatch", "bracex"),
        mutate=("wcmatch._wcparse", "bracex"),
    ),
    _text(
        "third",
        "arrow",
        "read",
        "arrow.parser.ParserError",
        "ValueError",
        mutate=("arrow.arrow", "arrow.factory", "arrow.formatter", "arrow.parser", "arrow.util"),
    ),
    _text(
        "third",
        "elftools",
        "read",
        "elftools.common.exceptions.ELFError",
        "elftools.common.exceptions.DWARFError",
        takes="bytes",
    ),
    _text(
        "third",
        "docutils",
        "read",
        include=(
            "docutils.nodes",
            "docutils.parsers.rst",
            "docutils.statemachine",
            "docutils.transforms",
        ),
        mutate=(
            "docutils.parsers.rst.states",
            "docutils.parsers.rst.tableparser",
            "docutils.statemachine",
        ),
    ),
    _text("third", "asteval", "evaluate"),
    _text(
        "third",
        "pydot",
        "read",
        "ValueError",
        include=("pydot", "pyparsing.core", "pyparsing.results"),
        mutate=("pydot.core",),
    ),
    _text(
        "third",
        "jinja2",
        "render",
        "jinja2.TemplateError",
        "ArithmeticError",
        "LookupError",
        "TypeError",
        "ValueError",
        mutate=("jinja2.compiler", "jinja2.idtracking", "jinja2.lexer", "jinja2.parser"),
    ),
    _text(
        "third",
        "dns",
        "read",
        "dns.exception.DNSException",
        include=tuple(f"dns.{part}" for part in _DNS),
        mutate=("dns.edns", "dns.message", "dns.name", "dns.rdata", "dns.tokenizer", "dns.wire"),
        takes="bytes",
    ),
    _text(
        "third",
        "pyasn1",
        "read",
        "pyasn1.error.PyAsn1Error",
        mutate=("pyasn1.codec",),
        takes="bytes",
    ),
)

TUNING = SIX + SPARES + MEASURED
SUBJECTS = TUNING + HELD_OUT + THIRD
SETS = {"six": SIX, "tuning": TUNING, "held-out": HELD_OUT, "third": THIRD, "all": SUBJECTS}
SUBJECTS_HELP = f"subjects by comma, or a set: {', '.join(SETS)}"


def choose(names: str) -> list[Subject]:
    """Return the subjects of a ``--subjects`` argument: a key of ``SETS``, or names by comma.

    Raises SystemExit if a name is unknown.
    """
    if names in SETS:
        return list(SETS[names])
    known = {s.name.casefold(): s for s in SUBJECTS}
    wanted = [n.strip().casefold() for n in names.split(",")]
    missing = [n for n in wanted if n not in known]
    if missing:
        raise SystemExit(
            f"--subjects: no subject or set {', '.join(missing)}; sets are {', '.join(SETS)},"
            f" subjects {', '.join(known)}"
        )
    return [known[n] for n in wanted]
