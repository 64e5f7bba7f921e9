"""The built-in edit rules: what each kind of hole matches, what each family makes of a program."""

import re
import signal
import sys

import pytest
from compiled_pool import pool_library
from hypothesis import given
from hypothesis import strategies as st
from native_pool import NativePool

from fuzztui.engines.text.edits import MAX_EDITS, MAX_SPAN
from fuzztui.engines.text.fragments import Fragments
from fuzztui.engines.text.poolfile import write
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.rules import MAX_INPUT, TABLE, UNPARSED, Rule, rule_edits, rules_of
from fuzztui.engines.text.syntax import LANGUAGES, Spans, Syntax, template_problem
from fuzztui.run.campaign import CampaignError, load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run

JS = b"""
if (f(a, [1, 2])) { g("}", b); } else { h(); }
for (i = 0; i < n; i++) { x[i] = y ? 1 : 2; }
return k;
"""
LUA = b"\nlocal a = t.n\nif a > 1 then f(a, b) end\nwhile x do y() end\nlocal z = {1, 2}\n"
PYTHON = b"\ndef f(a):\n    if a > g(b, c):\n        return a\n    for x in y:\n        z = 1\n"
SHELL = b"\necho one\nif a; then b | c; fi\nx=$(ls)\n"
LISP = b"(define (f x)\n  (if (null? x) '() (cons (car x) (f (cdr x)))))\n"


def edits_of(language: str, data: bytes) -> list[tuple[int, int, bytes]]:
    """The edits of the built-in rules."""
    found = rule_edits(rules_of(language), data, MAX_EDITS, {})
    return sorted({edit for edits in found.values() for edit in edits})


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
        (":[n~[0-9]++] ==> -:[n]", b"a+12", [b"a+-12", b"a+1-2"]),
        ("for :[v] in :[s]: ==> while :[s]:", b"for i, (n) in x(in_):", [b"while x(in_):"]),
        ("if :[c] then ==> while :[c] do", b"if t or then_ then", [b"while t or then_  do"]),
        ("f(:[1], :[2]) ==> f(:[2], :[1])", b"f(a, b, c)", [b"f(b, c, a)"]),
        ("f(:[a])  \n ; ==> g(:[a])\n\n", b"f(x);", [b"g(x)"]),
        ("é(:[a]ü) ==> :[a]ü", "é(xûü)".encode(), ["xûü".encode()]),
        (r"x:[n~\d+] ==> y:[n]", b"x5 ax6", [b"y5 ax6"]),
        (r":[n~\d+]px ==> 0px", b"5px 6pxx", [b"0px 6pxx"]),
        ("get:[[n]](:[a]) ==> set:[[n]](:[a])", b"getFoo(1) forgetFoo(1)", [
            b"setFoo(1) forgetFoo(1)"]),
        ("get_:[[n]] ==> :[[n]]", b"get_a", [b"a"]),
        ("[:[[n]]] ==> (:[[n]])", b"[a][1]", [b"(a)[1]", b"[a](1)"]),
        (":[a~get|set]:[[n]] ==> :[[n]]", b"setFoo", [b"Foo"]),
        ("(:[a]px) ==> :[a]", b"(5 6px)", [b"5 6"]),
        ("(:[a]px:[b~\\d]) ==> :[a]:[b]", b"(5px1)", [b"51"]),
        ("(:[a] px) ==> :[a]", b"(5px px)", [b"5px "]),
        ("if :[c] then:[n~\\d] ==> :[c]:[n]", b"if t or then1", [b"t or 1"]),
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
    edits = edits_of("c", data)
    assert len(edits) <= MAX_EDITS
    assert any(begin < 20 for begin, _, _ in edits), "what is rare is among them"
    assert all(0 <= a <= b <= len(data) and len(text) <= MAX_SPAN for a, b, text in edits)
    assert edits_of("c", b"f(a, b)" + b" " * MAX_INPUT) == []


@pytest.mark.parametrize(
    "piece", [b"(", b"((a, ", b"{", b'"', b"'", b"if ", b"if (", b"a ", b"\n", b"[a, ", b"a, a"]
)
@pytest.mark.parametrize("language", ["c", "lisp", "python", "lua", "bash", ""])
def test_rows_of_brackets_and_words_are_searched_too(language, piece):
    edits = edits_of(language, piece * (MAX_INPUT // len(piece)))
    assert len(edits) <= MAX_EDITS


def test_templates_keep_their_room():
    pytest.importorskip("ast_grep_py")
    data = b"f(a, b);\n" * 200
    own = Syntax("c", ["$F($A, $B) ==> $F($B, $A)"]).spans(data).edits
    both = Syntax("c", ["$F($A, $B) ==> $F($B, $A)"], rules=True).spans(data).edits
    assert set(own) <= set(both)
    assert len(both) <= MAX_EDITS
    few = Syntax("c", ["if ($A) $B ==> while ($A) $B"], rules=True).spans(data).edits
    assert set(few) == set(edits_of("c", data)), "they use what templates leave"


def test_rules_need_no_grammar(monkeypatch):
    monkeypatch.setitem(sys.modules, "ast_grep_py", None)
    parser = Syntax("c", ["if ($A) $B ==> $B"], rules=True)
    assert "is not installed" in parser.missing
    assert "is not installed" in parser.problems["if ($A) $B ==> $B"]
    assert parser.language == ""
    assert parser.spans(b"f(a, b);").edits == tuple(edits_of("c", b"f(a, b);"))
    assert Syntax("lisp", rules=True).spans(LISP).edits
    assert not Syntax("lisp", rules=True).missing


@pytest.mark.parametrize(("language", "data"), [("c", JS), ("lisp", LISP), ("", SHELL)])
def test_c_applies_the_same_edits_as_python(tmp_path, language, data):
    pool = Fragments()
    pool.add(data, Spans(edits=tuple(edits_of(language, data))))
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


# ------------------------------------------------------------------- templates of the user

SWAP = "f(:[a], :[b]) ==> f(:[b], :[a])"
WHILE = "(if :[test] :[rest]) ==> (while :[test] :[rest])"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f(:[a])", "PATTERN ==> REWRITE"),
        (" ==> :[a]", "PATTERN ==> REWRITE"),
        ("f(:[a]) ==> \0", "no NUL"),
        (f"f(:[a]) ==> {'x' * MAX_SPAN}", "at most 4096 characters"),
        ("f(:[a]) ==> f(:[a])", "both sides are the same"),
        ("f(:[a) ==> x", ":[a) is no hole: write :[a]"),
        ("f(:[]) ==> x", ":[]) is no hole"),
        ("f(:[a.]) ==> x", ":[a.]) is no hole: write :[a], :[[a]], :[a:e] or :[a~REGEX]"),
        ("f(:[~x]) ==> x", ":[~x]) is no hole"),
        ("f(:[a]) ==> :[b]", "the rewrite uses the hole :[b], which the pattern lacks"),
        ("f(:[a]) ==> :[id()]", ":[id()] is no hole"),
        ("f(:[a]) ==> :[a].UPPERCASE", "write :[a] without .UPPERCASE"),
        (":[[a]]px ==> x", ":[[a]]px never matches: :[[a]] takes the rest of a word"),
        ("f(:[[a]]:[[b]]) ==> x", r"write :[a~\w+?]:[[b]]"),
        ("f(:[a]:[b]) ==> x", "put text or a blank after :[a]"),
        ("f(:[a~(]) ==> x", "the regular expression of a hole is wrong: missing )"),
        ("f(:[a~x{9999999999}]) ==> x", "the regular expression of a hole is wrong: "),
        (f"f(:[a~{'(' * 2000 + ')' * 2000}]) ==> x", "the regular expression of a hole is wrong"),
    ],
)
def test_a_template_that_the_matcher_lacks_is_refused_with_the_reason(text, words):
    assert words in template_problem("c", text)
    assert words in template_problem("", text)
    parser = Syntax("", [text, SWAP])
    assert words in parser.problems[text]
    assert parser.matches == {SWAP: 0}, "the others are used"


def campaign_file(folder, template):
    file = folder / "c.toml"
    file.write_text(
        '[target]\ncommand = ["true"]\n[engine]\nkind = "afl"\n[text]\n'
        f"templates = ['{template}']\n"
    )
    return file


def test_the_error_names_file_key_and_template(tmp_path):
    with pytest.raises(CampaignError) as caught:
        load(campaign_file(tmp_path, "f(:[a.]) ==> x"))
    assert "c.toml" in str(caught.value)
    assert "text.templates: 'f(:[a.]) ==> x': :[a.]) is no hole" in str(caught.value)


def test_a_run_that_began_with_such_a_template_goes_on(tmp_path):
    prepare_run(run := tmp_path / "run")
    write_frozen(load(campaign_file(tmp_path, SWAP)), run)
    file = run / "campaign.toml"
    file.write_text(file.read_text().replace("f(:[a], :[b])", "f(:[a.], :[b])"))
    (old,) = load(file).campaign.table("text")["templates"]
    assert ":[a.]" in old


def test_templates_need_no_grammar():
    parser = Syntax("lisp", [WHILE, SWAP])
    edits = parser.spans(b"(if (> x 1) '(f) 0) (if a b)").edits
    assert edits == ((1, 3, b"while"), (21, 23, b"while"))
    assert parser.matches == {WHILE: 2, SWAP: 0}
    assert Syntax("", [SWAP]).spans(b"x = f(1, 2);") == Spans(edits=((6, 10, b"2, 1"),))


def test_there_are_not_too_many_edits_of_a_template():
    edits = Syntax("", [SWAP, "g(:[a]) ==> :[a]"]).spans(b"f(1, 2);" * 1000 + b"g(1);").edits
    assert len(edits) == MAX_EDITS
    assert edits[-3][0] > 8 * 900, "from all over the input"
    assert edits[-1][2] == b"1", "what is rare is among them"


def test_templates_beside_a_grammar():
    pytest.importorskip("ast_grep_py")
    parser = Syntax("c", ["return $A; ==> ;", SWAP])
    data = b"int main() { return f(1, 2); }"
    spans = parser.spans(data)
    assert "return_statement" in spans.kinds
    assert [data[:begin] + text + data[end:] for begin, end, text in spans.edits] == [
        b"int main() { ; }",
        b"int main() { return f(2, 1); }",
    ]
    assert set(parser.matches.values()) == {1}


@given(st.binary(max_size=40), st.sampled_from([SWAP, WHILE, ":[a] b ==> b :[a]"]))
def test_edits_lie_in_the_input(data, template):
    for begin, end, text in Syntax("", [template]).spans(data).edits:
        assert 0 <= begin <= end <= len(data)
        assert len(text) <= MAX_SPAN


# ------------------------------------------------------------------------------------- limits

CATASTROPHE = r"f(:[a~(\w+\s?)+]) ==> g(:[a])"


def test_a_template_that_backtracks_without_end_is_left_out_and_not_the_entry(monkeypatch):
    monkeypatch.setattr("fuzztui.engines.text.rules.RULE_SECONDS", 0.2)
    before = signal.getsignal(signal.SIGVTALRM), signal.getitimer(signal.ITIMER_VIRTUAL)
    parser = Syntax("", [CATASTROPHE, SWAP])
    assert [*parser.news()] == []
    assert parser.spans(b"f(" + b"a" * 45 + b"!") == Spans()
    (news,) = parser.news()
    assert repr(CATASTROPHE) in news
    assert "is left out: 0.2 s of CPU time were too few" in news
    assert (signal.getsignal(signal.SIGVTALRM), signal.getitimer(signal.ITIMER_VIRTUAL)) == before
    edits = parser.spans(b"f(" + b"a" * 45 + b"! f(1, 2)").edits
    assert [text for _, _, text in edits] == [b"2, 1"], "the others go on"
    assert [*parser.news()] == []
    assert parser.matches == {SWAP: 1}


def test_many_templates_share_the_time_and_none_is_blamed(monkeypatch):
    seconds = iter(range(100))
    monkeypatch.setattr("time.thread_time", lambda: next(seconds))
    parser = Syntax("", [f"f{n}(:[a]) ==> :[a]" for n in range(9)])
    parser.spans(b" ".join(b"f%d(x)" % n for n in range(9)))
    assert [*parser.matches.values()] == [1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert not parser.problems
