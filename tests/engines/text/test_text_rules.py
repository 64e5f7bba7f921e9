"""The built-in edit rules: what each kind of hole matches, what each family makes of a program."""

import re
import sys

import pytest
from compiled_pool import pool_library
from native_pool import NativePool

from fuzztui.engines.text.edits import MAX_EDITS, MAX_SPAN
from fuzztui.engines.text.fragments import Fragments
from fuzztui.engines.text.poolfile import write
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.rules import MAX_INPUT, TABLE, UNPARSED, Rule, rule_edits, rules_of
from fuzztui.engines.text.syntax import LANGUAGES, Spans, Syntax

JS = b"""
if (f(a, [1, 2])) { g("}", b); } else { h(); }
for (i = 0; i < n; i++) { x[i] = y ? 1 : 2; }
return k;
"""
LUA = b"\nlocal a = t.n\nif a > 1 then f(a, b) end\nwhile x do y() end\nlocal z = {1, 2}\n"
PYTHON = b"\ndef f(a):\n    if a > g(b, c):\n        return a\n    for x in y:\n        z = 1\n"
SHELL = b"\necho one\nif a; then b | c; fi\nx=$(ls)\n"
LISP = b"(define (f x)\n  (if (null? x) '() (cons (car x) (f (cdr x)))))\n"


def made(rule: str, data: bytes, *, lisp: bool = False) -> list[bytes]:
    """What the rule makes of an input, at each place."""
    edits = Rule.parse(rule, lisp=lisp).edits(data)
    return [data[:begin] + text + data[end:] for begin, end, text in edits]


@pytest.mark.parametrize(
    ("rule", "data", "results"),
    [
        ("f(:[a]) ==> :[a]", b"f(g(1), ')') f(x)", [b"g(1), ')' f(x)", b"f(g(1), ')') x"]),
        ("f(:[a]) ==> g(:[a])", b"f((a) f(b", []),
        ("(:[a], :[b]) ==> (:[b], :[a])", b"((1, 2), 3)", [b"(3, (1, 2))", b"((2, 1), 3)"]),
        (":[a:e] + :[b:e] ==> :[b:e] - :[a:e]", b"x = y(1, 2) + z;", [b"x = z - y(1, 2);"]),
        (":[[f]](:[a]) ==> :[[f]]()", b"a.b(c)", [b"a.b()"]),
        (":[a:e] == :[a:e] ==> 1", b"x == y z == z", [b"x == y 1"]),
        ("if (:[c]) ==> while (:[c])", b"if(a) elif (b) if  (c)", [
            b"while (a) elif (b) if  (c)", b"if(a) elif (b) while (c)"]),
        (r"\n:[a~\d+]\n ==> \n:[a]0\n", b"\n12\nx\n3\n", [b"\n120\nx\n3\n", b"\n12\nx\n30\n"]),
    ],
)  # fmt: skip
def test_holes(rule, data, results):
    assert made(rule, data) == results


def test_an_apostrophe_quotes_no_string_in_lisp():
    rule = "(f :[a:e]) ==> :[a:e]"
    assert made(rule, b"(f 'a) (f 'b)", lisp=True) == [b"'a (f 'b)", b"(f 'a) 'b"]


@pytest.mark.parametrize(
    ("language", "data", "results"),
    [
        ("javascript", JS, [b"else { g(", b"f([1, 2], a)", b"while (i < n) {",
                            b"y ? 2 : 1", b"g(g(", b"return;", b"if (!(f(a, [1, 2])))",
                            b"f(a, [2])"]),
        ("lua", LUA, [b"while a > 1 do f(a, b) end", b"f(b, a)", b"{2, 1}",
                      b"\nif x then y() end"]),
        ("python", PYTHON, [b"while a > g(b, c):", b"g(c, b)", b"yield a", b"async def f",
                            b"if not (a > g(b, c)):", b"while y:"]),
        ("bash", SHELL, [b"if ! a; then", b"$(echo $(ls))", b" c | b ; fi"]),
        ("lisp", LISP, [b"(if (null? x) (cons (car x) (f (cdr x))) '())", b"(car (car x))",
                        b"(cond ((null? x) '())", b"(define f (lambda (x)"]),
        ("", b"a b c\nd e\nf\n", [b"a b c\nf\nd e\n", b"a b c\nd e f\n", b"d b c\na e"]),
    ],
)  # fmt: skip
def test_what_the_rules_of_a_language_make(language, data, results):
    data = b"\n" + data
    children = {
        data[:begin] + text + data[end:]
        for rule in rules_of(language)
        for begin, end, text in rule.edits(data)
    }
    for part in results:
        assert any(part in child and part not in data for child in children), part


def test_each_line_of_the_table_is_a_rule_of_known_languages():
    known = {*LANGUAGES, *UNPARSED, "none"}
    lines = [line for line in TABLE.read_text().splitlines() if line and line[0] != "#"]
    named = {
        name
        for line in lines
        if "==>" not in line and re.fullmatch(r"\[[a-z ]+\]", line)
        for name in line[1:-1].split()
    }
    assert named == known, "each language has rules"
    texts = {rule.text for name in known - {"none"} for rule in rules_of(name)}
    texts |= {rule.text for rule in rules_of("")}
    assert texts == {line for line in lines if "==>" in line}


def test_an_input_has_edits_of_all_its_rules_within_bounds():
    data = b"if (a) { f(x, y); }\n" + b"g(b, c);\n" * 500
    edits = rule_edits("c", data, MAX_EDITS)
    assert len(edits) <= MAX_EDITS
    assert any(begin < 20 for begin, _, _ in edits), "what is rare is among them"
    assert all(0 <= a <= b <= len(data) and len(text) <= MAX_SPAN for a, b, text in edits)
    assert rule_edits("c", b"f(a, b)" + b" " * MAX_INPUT, MAX_EDITS) == []


@pytest.mark.parametrize(
    "piece", [b"(", b"((a, ", b"{", b'"', b"'", b"if ", b"if (", b"a ", b"\n", b"[a, ", b"a, a"]
)
@pytest.mark.parametrize("language", ["c", "lisp", "python", "lua", "bash", ""])
def test_rows_of_brackets_and_words_are_searched_too(language, piece):
    edits = rule_edits(language, piece * (MAX_INPUT // len(piece)), MAX_EDITS)
    assert len(edits) <= MAX_EDITS


def test_templates_keep_their_room():
    pytest.importorskip("ast_grep_py")
    data = b"f(a, b);\n" * 200
    own = Syntax("c", ["$F($A, $B) ==> $F($B, $A)"]).spans(data).edits
    both = Syntax("c", ["$F($A, $B) ==> $F($B, $A)"], rules=True).spans(data).edits
    assert set(own) <= set(both)
    assert len(both) <= MAX_EDITS
    few = Syntax("c", ["if ($A) $B ==> while ($A) $B"], rules=True).spans(data).edits
    assert set(few) == set(rule_edits("c", data, MAX_EDITS)), "they use what templates leave"


def test_rules_need_no_grammar(monkeypatch):
    monkeypatch.setitem(sys.modules, "ast_grep_py", None)
    parser = Syntax("c", ["if ($A) $B ==> $B"], rules=True)
    assert "is not installed" in parser.missing
    assert "is not installed" in parser.problems["if ($A) $B ==> $B"]
    assert parser.language == ""
    assert parser.spans(b"f(a, b);").edits == tuple(rule_edits("c", b"f(a, b);", MAX_EDITS))
    assert Syntax("lisp", rules=True).spans(LISP).edits
    assert not Syntax("lisp", rules=True).missing


@pytest.mark.parametrize(("language", "data"), [("c", JS), ("lisp", LISP), ("", SHELL)])
def test_c_applies_the_same_edits_as_python(tmp_path, language, data):
    pool = Fragments()
    pool.add(data, Spans(edits=tuple(rule_edits(language, data, MAX_EDITS))))
    write(tmp_path / "pool", pool.pool)
    native = NativePool(pool_library(), str(tmp_path / "pool"))
    native.refresh()
    seen = set()
    for seed in range(200):
        mine, other = Rng(seed), Rng(seed)
        host, recipient = native.find(data), pool.pool.find(data)
        assert host is not None and recipient is not None
        now = data
        for _ in range(3):  # later steps follow the earlier ones
            child = pool.pool.template(recipient, now, 1 << 16, mine)
            assert native.template(host, now, 1 << 16, other) == child
            assert mine.state == other.state
            now = child or now
            seen.add(now)
    native.close()
    assert len(seen) > 20
