"""Spans, identifiers and templates of inputs in many languages."""

import subprocess
import sys

import pytest

from fuzztui.engines.text import syntax
from fuzztui.engines.text.syntax import (
    LANGUAGES,
    MAX_INPUT,
    MAX_SPANS,
    Spans,
    Syntax,
    SyntaxUnavailable,
    template_problem,
)

pytest.importorskip("ast_grep_py")

C = b"int main(int argc) {\n  if (argc > 1) { return f(argc, 42); }\n  return 0;\n}\n"


def texts(data: bytes, spans: Spans, kind: str) -> list[bytes]:
    return [data[start : start + n] for start, n in spans.kinds.get(kind, ())]


def test_spans_by_kind_and_identifiers():
    spans = Syntax("c").spans(C)
    assert texts(C, spans, "return_statement") == [b"return f(argc, 42);", b"return 0;"]
    assert texts(C, spans, "number_literal") == [b"42"], "one byte is too short"
    assert "translation_unit" not in spans.kinds
    assert list(spans.kinds) == sorted(spans.kinds)
    names = [C[start : start + n] for start, n, _ in spans.names]
    assert names == [b"main", b"argc", b"argc", b"f", b"argc"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_is_known(language):
    spans = Syntax(language).spans(b'{"a1": [true, "xyz"], "b": 17}\n')
    assert all(n > 1 for spans in spans.kinds.values() for _, n in spans)


@pytest.mark.parametrize(
    ("language", "program", "kind"),
    [
        ("python", b"def f(xs):\n    return [x + 10 for x in xs]\n", "binary_operator"),
        ("lua", b"local t = {10, 20}\nprint(#t + 10)\n", "function_call"),
        ("javascript", b"let f = (ab) => ab * 10;\n", "arrow_function"),
        ("rust", b"fn main() { let ab = vec![10]; }\n", "let_declaration"),
        ("go", b"package p\nfunc f() int { return 10 }\n", "return_statement"),
    ],
)
def test_languages_have_kinds_of_their_own(language, program, kind):
    assert kind in Syntax(language).spans(program).kinds


def test_offsets_are_bytes():
    data = 'int ab = f("äöü€𝄞", cd);'.encode()
    spans = Syntax("c").spans(data)
    assert texts(data, spans, "call_expression") == ['f("äöü€𝄞", cd)'.encode()]
    assert b"cd" in texts(data, spans, "identifier")


def test_bytes_that_are_no_text_are_parsed_all_the_same():
    data = b'int ab = f("\xff\xfe\0", cd);'
    spans = Syntax("c").spans(data)
    assert texts(data, spans, "call_expression") == [b'f("\xff\xfe\0", cd)']


def test_what_has_an_error_in_it_is_no_fragment():
    data = b"void f(void) { good(1); bad ) ) (; }\nvoid g(void) { good(2); }\n"
    spans = Syntax("c").spans(data)
    assert texts(data, spans, "function_definition") == [b"void g(void) { good(2); }"]
    assert b"good(1)" in texts(data, spans, "call_expression")


def test_comments_are_none():
    assert "comment" not in Syntax("c").spans(b"/* a comment */ int xy; // another\n").kinds


def test_there_are_so_many_spans_and_of_each_kind():
    data = b"int main(void) {\n" + b"  call(argument, 100);\n" * 1000 + b"  while (10) {}\n}\n"
    spans = Syntax("c").spans(data)
    assert sum(map(len, spans.kinds.values())) <= MAX_SPANS
    assert len(spans.kinds["while_statement"]) == 1, "a rare kind is whole"
    starts = [start for start, _ in spans.kinds["call_expression"]]
    assert len(starts) > 20
    assert starts[0] < len(data) / 10
    assert starts[-1] > len(data) * 0.9, "a sample across the input"


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 100, b"x" * (MAX_INPUT + 1), b"(" * 5000])
def test_what_cannot_be_parsed_has_none(data):
    assert not Syntax("c").spans(data).names


@pytest.mark.slow
def test_deep_nests_and_long_lines_come_to_an_end():
    for data in (b"int x=" + b"(" * 30000 + b"10" + b")" * 30000 + b";", b"f(xy);" * 20000):
        assert Syntax("c").spans(data)


def test_another_language_never_reaches_the_parser():
    with pytest.raises(
        SyntaxUnavailable, match="no grammar for 'klingon'; choose one of bash, c, "
    ):
        Syntax("klingon")


def test_without_the_package_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "ast_grep_py", None)
    with pytest.raises(SyntaxUnavailable, match="ast-grep-py is not installed") as error:
        Syntax("c")
    assert f"for {sys.executable} " in str(error.value)
    assert "brackets, quotes and lines are spliced instead" in str(error.value)
    assert template_problem("c", "f($A) ==> g($A)") == "", "its form is right"
    assert "PATTERN ==> REWRITE" in template_problem("c", "f($A)")


def test_a_panic_of_the_parser_is_one_entry_less(monkeypatch):
    class PanicException(BaseException):
        pass

    def panics(root, data, offsets):
        raise PanicException

    monkeypatch.setattr(syntax, "_walk", panics)
    assert Syntax("c").spans(C) == Spans()


# ----------------------------------------------------------------------------- templates


def edited(data: bytes, template: str, language: str = "c") -> list[bytes]:
    parser = Syntax(language, [template])
    assert not parser.problems
    edits = parser.spans(data).edits
    return [data[:start] + made + data[end:] for start, end, made in edits]


def test_a_template_gives_an_edit_where_it_matches():
    assert edited(C, "if ($A) $B ==> while ($A) $B") == [C.replace(b"if", b"while")]
    assert edited(C, "return $A; ==> ;") == [
        C.replace(b"return f(argc, 42)", b""),
        C.replace(b"return 0", b""),
    ]


def test_an_edit_is_no_larger_than_what_changes():
    edits = Syntax("c", ["if ($A) $B ==> while ($A) $B"]).spans(C).edits
    assert edits == ((C.index(b"if"), C.index(b"if") + 2, b"while"),)


def test_holes_take_what_stands_there_whatever_bytes():
    data = 'f("ä", [1,  2]); g()'.encode()
    assert edited(data, "$F($$$ARGS) ==> $F(0, $$$ARGS)", "javascript") == [
        'f(0, "ä", [1,  2]); g()'.encode(),
        'f("ä", [1,  2]); g(0, )'.encode(),
    ]
    data = b'f("\xff\xc3")'
    assert edited(data, "f($A) ==> g($A, $A)", "javascript") == [b'g("\xff\xc3", "\xff\xc3")']


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("if ($A) $B", "PATTERN ==> REWRITE"),
        ("==> x", "PATTERN ==> REWRITE"),
        ("f($A) ==> g($B)", "the rewrite uses the hole $B, which the pattern does not define"),
        ("f($a) ==> g($a)", "the name of a hole is in capital letters: $A, not $a"),
        ("f($A ==> g($A)", "the pattern is incomplete: ( is not closed"),
        ("f($A]) ==> g($A)", "the pattern is incomplete: ] has no opening bracket"),
        ("$$$A ==> x", "ast-grep says: "),
        ("a; b ==> x", "ast-grep says: Multiple AST nodes are detected"),
        ("f(\0) ==> x", "NUL"),
        ("$$$A ==> x", "multi meta variable `$$$A` is invalid"),
        ("$A; f($B) ==> x", "`$A; f($B)`"),
        ("f($A) ==> f($A)", "the template changes nothing"),
    ],
)
def test_bad_templates_are_told_and_left_out(template, words):
    parser = Syntax("c", [template, "return $A; ==> ;"])
    assert words in parser.problems[template]
    assert words in template_problem("c", template)
    assert list(parser.matches) == ["return $A; ==> ;"]


def test_no_more_are_filled_in_than_are_kept(monkeypatch):
    """Nested ones can each be as long as the input."""
    filled, fill = [], syntax._filled
    monkeypatch.setattr(syntax, "_filled", lambda *args: filled.append(1) or fill(*args))
    parser = Syntax("c", ["if ($A) $B ==> while ($A) $B"])
    spans = parser.spans(b"void f(void) {" + b"if (a) { x();" * 500 + b"}" * 501)
    assert len(filled) == len(spans.edits) == syntax.MAX_EDITS
    assert {end - start for start, end, _ in spans.edits} == {2}
    assert list(parser.matches.values()) == [500]
    monkeypatch.setattr(syntax, "MAX_SECONDS", 0.0)
    assert not parser.spans(C).edits, "they have a time limit, too"


def test_matches_are_counted():
    parser = Syntax("c", ["return $A; ==> ;", "goto $A; ==> ;"])
    parser.spans(C)
    assert parser.matches == {"return $A; ==> ;": 2, "goto $A; ==> ;": 0}


def test_dollars_are_variables_where_the_language_says_so():
    assert template_problem("bash", "echo $a ==> printf $a") == ""


def test_the_package_is_not_loaded_until_it_is_needed():
    code = "import sys, fuzztui.engines.text.syntax; sys.exit('ast_grep_py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
