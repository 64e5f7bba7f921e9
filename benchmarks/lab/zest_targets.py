"""The targets that the zest benchmarks share: pure-Python libraries and their seeds."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.mutate import Havoc

MUTANTS = 100


@dataclass(frozen=True)
class Target:
    """A library with a harness: ``code`` is the text of a module that defines ``target(text)``.

    ``expected``: the exceptions that ``target`` may raise.
    """

    name: str
    include: tuple[str, ...]
    code: str
    expected: tuple[str, ...]
    seeds: tuple[str, ...]


TOML = (
    'title = "TOML"\n[owner]\nname = "Tom"\ndob = 1979-05-27T07:32:00-08:00\n',
    '[[a]]\nx = [1, 2.5e3, 0xff, true]\ny = {a = "b", c.d = \'e\'}\nz = """m\nl"""\n',
)
YAML = (
    "---\nname: &a x\nlist: [1, 0x1f, 1.5, true]\n? key\n: |\n  text\nmore: *a\n",
    "- !!set {a, b}\n- 'q'\n- <<: {x: 1}\n  y: >-\n    folded\n",
)
CSS = (
    "a > b:hover { color: red; background: url(x.png) no-repeat !important }\n",
    "@media print { p::after { content: 'x\\41'; width: calc(1px + 2%) } } /* c */\n",
)
C = (
    "int f(int a, char *b) { return a ? b[1] : sizeof(long); }\n",
    "struct s { int x : 3; double y[4]; } v = { .x = 1 };\nenum e { A, B = 2 };\n",
)
JSON = ('{"a": [1, -2.5e3, "x\\u00e9", null], "b": {"c": true, "d": []}}\n',)

TARGETS = (
    Target(
        "tomllib",
        ("tomllib",),
        "import tomllib\ndef target(text: str):\n    return tomllib.loads(text)\n",
        ("tomllib.TOMLDecodeError",),
        TOML,
    ),
    Target(
        "json (pure)",
        ("json",),
        # The scanner in C would hide the code under test.
        "import json, json.decoder, json.scanner\n"
        "json.decoder.scanstring = json.decoder.py_scanstring\n"
        "decoder = json.JSONDecoder()\n"
        "decoder.parse_string = json.decoder.py_scanstring\n"
        "decoder.scan_once = json.scanner.py_make_scanner(decoder)\n"
        "def target(text: str):\n    return decoder.decode(text)\n",
        ("ValueError",),
        JSON,
    ),
    Target(
        "PyYAML",
        ("yaml",),
        "import yaml\ndef target(text: str):\n    return list(yaml.safe_load_all(text))\n",
        ("yaml.YAMLError",),
        YAML,
    ),
    Target(
        "tinycss2",
        ("tinycss2",),
        "import tinycss2, tinycss2.color3\n"
        "def target(text: str):\n"
        "    for rule in tinycss2.parse_stylesheet(text):\n"
        "        if getattr(rule, 'content', None) is not None:\n"
        "            tinycss2.parse_blocks_contents(rule.content)\n"
        "        if rule.type == 'qualified-rule':\n"
        "            tinycss2.color3.parse_color(rule.prelude)\n",
        (),
        CSS,
    ),
    Target(
        "pycparser",
        ("pycparser",),
        "from pycparser import c_parser\n"
        "def target(text: str):\n    return c_parser.CParser().parse(text)\n",
        ("pycparser.c_parser.ParseError",),
        C,
    ),
)


def inputs_of(target: Target) -> list[bytes]:
    """The seeds, each ten times, and mutations of them by one or two edits, partly invalid."""
    havoc = Havoc(random.Random(1), 10240, text=True, stack=(1, 2))
    entries = [CorpusEntry(i, "", seed.encode(), 1) for i, seed in enumerate(target.seeds)]
    mutants = [havoc.mutate(entries[i % len(entries)]).data for i in range(MUTANTS)]
    return [e.data for e in entries] * 10 + mutants


def load(target: Target, application: Application | None) -> Callable[[Any], Any]:
    """Import ``bench_target`` and its library again, and return the function ``target``.

    ``application`` instruments the library; None: nothing is instrumented.
    """
    for name in list(sys.modules):
        if name.partition(".")[0] in target.include or name == "bench_target":
            del sys.modules[name]
    if application is not None:
        application.install()
    function: Callable[[Any], Any] = importlib.import_module("bench_target").target
    if application is not None:
        sys.meta_path.remove(application)
    return function
