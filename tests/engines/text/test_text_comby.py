"""Templates in comby's syntax: what it is told, what is believed of what it says."""

import json
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.text import comby as module
from fuzztui.engines.text.comby import MATCHERS, Comby, CombyTemplate, is_comby
from fuzztui.engines.text.edits import MAX_EDITS, MAX_SPAN
from fuzztui.engines.text.syntax import Spans, Syntax, template_problem
from fuzztui.run.campaign import CampaignError, load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run

real = pytest.mark.skipif(not shutil.which("comby"), reason="needs comby on PATH")

SWAP = "f(:[a], :[b]) ==> f(:[b], :[a])"
DATA = b"x = f(1, 2);"


def edited(data: bytes, edit: tuple[int, int, bytes]) -> bytes:
    start, end, made = edit
    return data[:start] + made + data[end:]


def told(data: bytes, start: int, end: int, **holes: str) -> str:
    """One line of comby's for one match."""
    span = {"start": {"offset": start}, "end": {"offset": end}}
    environment = [{"variable": name, "value": value} for name, value in holes.items()]
    text = data[start:end].decode("latin-1")
    return json.dumps(
        {"uri": None, "matches": [{"range": span, "environment": environment, "matched": text}]}
    )


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Puts a shell script on PATH in comby's place, which notes each call."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def put(script: str) -> Path:
        calls = tmp_path / "calls"
        comby = folder / "comby"
        comby.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >>{calls}\necho >>{calls}\n{script}\n')
        comby.chmod(0o755)
        return calls

    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return put


@pytest.fixture
def nowhere(monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda _: None)


# ------------------------------------------------------------------------------- its form


def test_a_hole_tells_whose_template_it_is():
    assert is_comby(SWAP)
    assert is_comby(":[~[0-9]+] ==> 0")
    assert not is_comby("f($A) ==> f($A, $A)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f(:[a])", "PATTERN ==> REWRITE"),
        (" ==> :[a]", "PATTERN ==> REWRITE"),
        ("f(:[a]) ==> \0", "no NUL"),
        (f"f(:[a]) ==> {'x' * MAX_SPAN}", "at most 4096 characters"),
        ("-:[a] ==> :[a]", "must not begin with -"),
        ("f(:[a) ==> x", ":[a) is not a hole"),
        ("f(:[]) ==> x", ":[]) is not a hole"),
        ("f(:[a]) ==> :[b]", "the hole b, which the pattern does not define"),
        ("f(:[a]) ==> :[id()]", ":[id()] is not a hole"),
        ("f(:[a]) ==> :[a].UPPERCASE", "not supported: :[a].UPPERCASE"),
        ("f(:[[a]]) ==> :[[a]].lsif.hover", "not supported: :[[a]].lsif.hover"),
    ],
)
def test_what_is_no_template_is_told_why(nowhere, text, words):
    assert words in template_problem("c", text)
    assert words in Syntax("", [text]).problems[text]


@pytest.mark.parametrize(
    "hole", [":[a]", ":[[a]]", ":[a:e]", ":[a.]", r":[a\n]", ":[ a]", r":[a~[\w\]x]+\]]"]
)
def test_every_kind_of_hole_is_filled(hole):
    template = CombyTemplate.parse(f"f({hole}) ==> <{hole}.x|:[a]>")
    assert template.filled({b"a": b"\xff\\1"}) == b"<\xff\\1.x|\xff\\1>"


def test_without_comby_the_template_and_what_to_do_are_named(nowhere, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(
        f'[target]\ncommand = ["true"]\n[engine]\nkind = "afl"\n[text]\ntemplates = ["{SWAP}"]\n'
    )
    with pytest.raises(CampaignError) as caught:
        load(file)
    problem = caught.value.problems[-1]
    assert f"text.templates: {SWAP!r}: comby is not on PATH: install it" in str(problem)


def test_a_run_goes_on_where_comby_is_gone(fake, tmp_path, monkeypatch):
    fake("")
    file = tmp_path / "c.toml"
    file.write_text(
        '[target]\ncommand = ["true"]\n[engine]\nkind = "afl"\n[text]\n'
        f'templates = ["{SWAP}", "g(:[a]) ==> :[a]"]\n'
    )
    run = tmp_path / "run"
    prepare_run(run)
    write_frozen(load(file), run)
    monkeypatch.setattr(module.shutil, "which", lambda _: None)
    assert load(run / "campaign.toml").campaign.table("text")["templates"][0] == SWAP
    assert "not on PATH" in Syntax("", [SWAP]).problems[SWAP]


# --------------------------------------------------------------------------- what it says


def test_matches_become_edits(fake):
    calls = fake(f"cat <<'E'\n{told(DATA, 4, 11, a='1', b='2')}\nE")
    parser = Syntax("", [SWAP])
    spans = parser.spans(DATA)
    assert spans == Spans(edits=((6, 10, b"2, 1"),)), "what stays the same is left alone"
    assert spans
    assert parser.matches == {SWAP: 1}
    assert not parser.problems
    words = calls.read_text().splitlines()[-1]
    assert words.startswith("f(:[a], :[b])||-stdin|-matcher|.generic|-match-only|-json-lines|")


def test_it_gets_the_entry_and_the_language(fake, tmp_path):
    calls = fake(f"cat >{tmp_path}/got")
    Comby("c", [SWAP]).found(b"\xff\0\n")
    assert (tmp_path / "got").read_bytes() == b"\xff\0\n"
    assert "-matcher|.c|" in calls.read_text()


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[" * 100_000,
        "{}",
        '{"matches": 1}',
        '{"matches": [1, null, {"range": {}}]}',
        told(DATA, 4, 11).replace('"offset": 4', '"offset": -8'),
        told(DATA, 4, 11).replace('"offset": 4', '"offset": 5'),
        told(DATA, 4, 11).replace('"offset": 11', f'"offset": {10**30}'),
        told(DATA, 4, 11).replace('"offset": 4', '"offset": "4"'),
        told(DATA, 4, 11, a="\u20ac", b=""),
        told(DATA, 4, 11).replace('"f(1, 2)"', "null"),
        told(DATA, 4, 11, b="1", a="2" * 2 * MAX_SPAN),
    ],
    ids=lambda line: line[:20],
)
def test_what_is_no_match_is_passed_over(fake, tmp_path, line):
    (tmp_path / "line").write_text(f"{line}\n{told(DATA, 4, 11, a='1', b='2')}\n")
    fake(f"cat {tmp_path}/line")
    assert Comby("", [SWAP]).found(DATA) == {SWAP: [(6, 10, b"2, 1")]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 20) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["matches", "range", "start", "end", "offset", "environment", "matched"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON, st.binary(max_size=20))
def test_whatever_it_says_edits_lie_in_the_input(said, data):
    output = json.dumps({"matches": said}).encode() + b"\n" + json.dumps(said).encode()
    for start, end, made in module._edits(output, CombyTemplate.parse(SWAP), data):
        assert 0 <= start <= end <= len(data)
        assert len(made) <= MAX_SPAN


@given(st.binary(max_size=40), st.data())
def test_bytes_are_what_they_were(data, draw):
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    hole = data[start:end]
    template = CombyTemplate.parse("f(:[a]) ==> <:[a]>")
    output = told(data, start, end, a=hole.decode("latin-1"))
    raw = output.encode("ascii").decode("unicode_escape") if b"\\" not in data else output
    for text in (output, raw):  # escaped, and as comby does it
        edits = [*module._edits(text.encode("latin-1"), template, data)]
        if text is output:
            assert [edited(data, e) for e in edits] == [
                data[:start] + b"<" + hole + b">" + data[end:]
            ]


def test_there_are_not_too_many(fake, tmp_path):
    data = b"f(1, 2)" * 1000
    lines = [told(data, 7 * n, 7 * n + 7, a="1", b="2") for n in range(1000)]
    (tmp_path / "lines").write_text("\n".join(lines))
    fake(f"cat {tmp_path}/lines")
    edits = Comby("", [SWAP]).found(data)[SWAP]
    assert len(edits) == MAX_EDITS
    assert edits[-1][0] > 6 * 900, "from all over the input"


# ---------------------------------------------------------------------------- misbehaving


def test_one_that_takes_too_long_is_left_out_at_last(fake, monkeypatch):
    monkeypatch.setattr(module, "MAX_SLOW", 2)
    fake('read -r line || exit 0\ncase "$1" in f*) kill -XCPU $$;; esac')  # as its limit does
    other = "g(:[a]) ==> :[a]"
    parser = Comby("", [other, SWAP])
    assert parser.found(b"line\n") == {other: []}
    assert not parser.problems
    assert parser.found(b"line\n") == {other: []}
    assert parser.problems == {SWAP: "comby exceeded its limits in 2 entries"}
    assert parser.found(b"line\n") == {other: []}


def test_one_that_waits_is_ended(fake, monkeypatch):
    fake("read -r line || exit 0\nexec sleep 1234.5")
    parser = Comby("", [SWAP])
    monkeypatch.setattr(module, "MAX_SECONDS", 0.3)
    assert not any(parser.found(b"line\n").values())
    assert not parser.problems, "the machine may be slow"
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if "1234.5" in (p.info["cmdline"] or ())
    ]


def test_one_that_prints_without_end_is_ended(fake):
    fake("read -r line || exit 0\nexec yes")
    assert Comby("", [SWAP]).found(b"line\n") == {}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo first >&2; echo why >&2; exit 1", "comby fails: why"),
        ("exit 3", "comby fails: exit status 3"),
        ("kill -9 $$", "comby exceeds its time limit"),
    ],
)
def test_one_that_fails_is_told_before_anything_is_fuzzed(fake, script, words):
    fake(script)
    assert template_problem("", SWAP) == words


def test_one_that_fails_later_is_told_then(fake):
    fake("read -r line || exit 0\necho why >&2; exit 1")
    parser = Syntax("", [SWAP])
    assert not parser.problems
    assert not parser.spans(b"line\n")
    assert parser.problems == {SWAP: "comby fails: why"}


# ------------------------------------------------------------------------------- the file


def test_what_was_found_is_kept(fake, tmp_path):
    calls = fake(f"cat <<'E'\n{told(DATA, 4, 11, a='1', b='2')}\nE")
    kept = tmp_path / "kept"
    first = Comby("", [SWAP], kept).found(DATA)
    n = len(calls.read_text().splitlines())
    again = Comby("", [SWAP], kept)
    assert again.found(DATA) == first == {SWAP: [(6, 10, b"2, 1")]}
    assert len(calls.read_text().splitlines()) == n + 1, "only the one that tries the template"
    other = Comby("c", [SWAP], kept)
    other.found(DATA)
    assert len(calls.read_text().splitlines()) == n + 3, "another language: again"


@pytest.mark.parametrize(
    "found",
    [1, None, {}, {"x": [[0, 1, "a"]]}, {SWAP: 1}, {SWAP: [1]}, {SWAP: [[0, 99, "a"]]},
     {SWAP: [[2, 1, "a"]]}, {SWAP: [[0, 1, "\u20ac"]]}, {SWAP: [[0, 1, "a" * 9999]]},
     {SWAP: [[0, 1, None]]}, {SWAP: [[0, 1, "a", 4]]}, {SWAP: [["0", 1, "a"]]}],
)  # fmt: skip
def test_a_file_that_somebody_wrote_to(fake, tmp_path, found):
    fake("")
    kept = tmp_path / "kept"
    Comby("", [SWAP], kept)
    with kept.open("a") as file:
        file.write(json.dumps([module._key(DATA), found]) + "\n\xff\n[1\n")
    spans = Syntax("", [SWAP], kept).spans(DATA)
    assert all(0 <= a <= b <= len(DATA) and len(m) <= MAX_SPAN for a, b, m in spans.edits)


def test_a_file_that_cannot_be_written(fake, tmp_path):
    fake(f"cat <<'E'\n{told(DATA, 4, 11, a='1', b='2')}\nE")
    (tmp_path / "kept").mkdir()
    assert Comby("", [SWAP], tmp_path / "kept").found(DATA)


# ------------------------------------------------------------------------- the real comby


LISP = b'(define (f x)\n  (if (> x 10)\n    (f (- x 1) "a)b")\n    0))\n(if a b c)\n'


@real
def test_a_language_without_a_grammar():
    template = "(if :[test] :[rest]) ==> (while :[test] :[rest])"
    edits = Syntax("", [template]).spans(LISP).edits
    assert [edited(LISP, e) for e in edits] == [
        LISP.replace(b"(if (> x 10)\n    ", b"(while (> x 10) "),
        LISP.replace(b"(if a", b"(while a"),
    ]


@real
@pytest.mark.parametrize(
    "data",
    [
        DATA,
        "f('é', \"ü,)\") + f(1, f(2, 3))".encode(),
        b"f(\xff\xfe, \0) f(\x85, \r\n2)\tf(a\\, {b, c})",
        b"\xef\xbb\xbff([1, 2], 3)",
    ],
)
@pytest.mark.parametrize(
    "template", [SWAP, "f(:[[a]], :[b]) ==> :[b]", "f(:[a.], ==> g(:[a.]", r":[a~\d+] ==> <:[a]>"]
)
@pytest.mark.parametrize("language", ["", "c", "python"])
def test_it_is_what_comby_makes_of_it(data, template, language):
    parsed = CombyTemplate.parse(template)
    edits = Comby(language, [template]).found(data)[template]
    whole = data
    for edit in reversed(edits):
        whole = edited(whole, edit)
    words = [parsed.pattern, parsed.rewrite.decode(), "-stdin", "-json-lines", "-matcher",
             MATCHERS.get(language, ".generic")]  # fmt: skip
    said = subprocess.run(["comby", *words], input=data, capture_output=True, check=True).stdout
    theirs = json.loads(said.decode("latin-1"))["rewritten_source"] if said else ""
    assert whole == (theirs.encode("latin-1") or data)


@real
@pytest.mark.parametrize("language", sorted(MATCHERS))
def test_comby_knows_the_languages(language):
    assert template_problem(language, SWAP) == ""


@real
def test_a_pattern_that_takes_too_long_comes_to_an_end():
    template = ":[a] = :[b]; ==> :[b]"
    parser = Comby("c", [template])
    assert not any(parser.found(b"(" * 5000).values())
    assert not parser.problems, "that may be this one entry's fault"


@real
def test_beside_a_grammar():
    pytest.importorskip("ast_grep_py")
    parser = Syntax("c", ["return $A; ==> ;", SWAP])
    data = b"int main() { return f(1, 2); }"
    spans = parser.spans(data)
    assert "return_statement" in spans.kinds
    assert [edited(data, e) for e in spans.edits] == [
        b"int main() { ; }",
        b"int main() { return f(2, 1); }",
    ]
    assert set(parser.matches.values()) == {1}
