"""Ten libraries that return objects of their own classes, for ``experiments/exported_tests.py``.

Each has a harness with ``target``, and ``printed``: everything that the library prints of a value.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """A library. ``include``: what is fuzzed, mutated and edited."""

    package: str
    include: tuple[str, ...]
    harness: str
    seeds: tuple[str, ...]
    expected: tuple[str, ...] = ()


_TOML = '# c\ntitle = "x"\n[a.b]\nn = 12_000\nf = 1.5e3\nd = 1979-05-27T07:32:00Z\n'
_CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:s\\, t\r\n"
    "DTSTART;TZID=Europe/Berlin:20200101T100000\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;COUNT=3\r\n"
    "END:VEVENT\r\nEND:VCALENDAR\r\n"
)
_GML = (
    'graph [\n directed 1\n node [\n id 0\n label "a"\n w 1.5\n ]\n node [\n id 1\n label "b"\n ]\n'
)

LIBRARIES = {
    "tomlkit": Library(
        "tomlkit",
        ("tomlkit",),
        """
import tomlkit
def target(text: str):
    return tomlkit.parse(text)
def printed(value):
    return tomlkit.dumps(value), value.unwrap(), value
""",
        (_TOML + "t = [1, 2, {x = 1}]\n[[p]]\nq = 'lit'\n", 'a.b = """x\ny"""\nc = 0x1F\n'),
        ("tomlkit.exceptions.TOMLKitError",),
    ),
    "parso": Library(
        "parso",
        ("parso",),
        """
import parso
def target(text: str):
    return parso.parse(text, version="3.11", cache=False)
def printed(value):
    return value.get_code(), value.dump()
""",
        ("def f(a, *b, c=1):\n    return [x for x in a if x] + b\n", "class A(B):\n  x = f'{y}'\n"),
    ),
    "icalendar": Library(
        "icalendar",
        ("icalendar",),
        """
import icalendar
def target(text: str):
    return icalendar.Calendar.from_ical(text)
def printed(value):
    return value.to_ical(), value
""",
        (_CALENDAR,),
        ("ValueError",),
    ),
    "dateutil": Library(
        "dateutil",
        ("dateutil",),
        """
import datetime
import dateutil.parser
DEFAULT = datetime.datetime(2020, 1, 1)
def target(text: str):
    return dateutil.parser.parse(text, default=DEFAULT)
def printed(value):
    return value.isoformat(), value, value.tzname(), value.utcoffset()
""",
        ("2020-01-02T03:04:05.678+02:00", "Thu Sep 25 10:36:28 PM 2003 EST-3", "10/09/03"),
        ("ValueError", "OverflowError"),
    ),
    "lark": Library(
        "lark",
        ("lark",),
        """
import lark
PARSER = lark.Lark('''
start: (pair ";")*
pair: NAME "=" value
?value: NUMBER | STRING | "[" [value ("," value)*] "]" -> items | "-" value -> minus
%import common.CNAME -> NAME
%import common.NUMBER
%import common.ESCAPED_STRING -> STRING
%ignore " "
''', parser="lalr", propagate_positions=True)
def target(text: str):
    return PARSER.parse(text)
def printed(value):
    return value.pretty(), value, [(t.meta.line, t.meta.column) for t in value.iter_subtrees()
                                   if not t.meta.empty]
""",
        ('a = 1; b = [1, -2.5, "x"];', "c=[];"),
        ("lark.exceptions.UnexpectedInput",),
    ),
    "cssselect2": Library(
        "cssselect2",
        ("cssselect2",),
        """
from cssselect2 import parser
def target(text: str):
    return list(parser.parse(text))
def printed(value):
    return value, [(s.specificity, s.pseudo_element) for s in value]
""",
        ("a > b.c, d:not(e)[f=g]", "*|p:nth-child(2n+1)::before ~ #i + j", "a:is(b, c) d:has(> e)"),
        ("cssselect2.parser.SelectorError",),
    ),
    "sqlparse": Library(
        "sqlparse",
        ("sqlparse",),
        """
import io
import sqlparse
def target(text: str):
    return sqlparse.parse(text)
def printed(value):
    out = io.StringIO()
    for statement in value:
        statement._pprint_tree(f=out)
    return out.getvalue(), [str(s) for s in value], [s.get_type() for s in value]
""",
        ("select a, b.c as d from t where e = 1 order by f; -- x", "insert into t values (1, 'x')"),
        ("sqlparse.exceptions.SQLParseError",),
    ),
    "pycparser": Library(
        "pycparser",
        ("pycparser",),
        """
import io
from pycparser import c_parser
def target(text: str):
    return c_parser.CParser().parse(text, "f.c")
def printed(value):
    out = io.StringIO()
    value.show(out, attrnames=True, nodenames=True, showcoord=True)
    return out.getvalue()
""",
        ("typedef int T;\nstruct s { T a : 3; };\nint f(int x) { return x + 1; }\n",
         "void g(void) { for (int i = 0; i < 3; i++) if (i) break; }\n"),
        ("pycparser.c_parser.ParseError",),
    ),
    "markdown-it-py": Library(
        "markdown_it",
        ("markdown_it",),
        """
from markdown_it import MarkdownIt
MD = MarkdownIt().enable("table")
def target(text: str):
    return MD.parse(text)
def printed(value):
    return value
""",
        ("# x\n\n* a\n* b `c`\n\n> q [l](u \"t\")\n", "| a | b |\n|---|:-:|\n| 1 | *2* |\n"),
    ),
    "networkx": Library(
        "networkx",
        ("networkx.readwrite", "networkx.classes"),
        """
import networkx
def target(text: str):
    return networkx.parse_gml(text)
def printed(value):
    return list(networkx.generate_gml(value)), value.nodes(data=True), value.edges(data=True), value
""",
        (_GML + " edge [\n source 0\n target 1\n w 2\n ]\n]\n",),
        ("networkx.NetworkXError",),
    ),
}  # fmt: skip
