"""Parts of inputs, their mutation, and mutators that are used by their yield."""

import ast
import random
from collections import Counter
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.drawn import InputPart, RecordingInput
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry
from fuzztui.engines.loop.mutate import YieldMutators
from fuzztui.engines.loop.structure import StructureMutator, parts_of_text


def corpus_of(*inputs: bytes) -> Corpus:
    corpus = Corpus()
    for number, data in enumerate(inputs):
        corpus.add(CorpusEntry(number, f"id:{number:06d}", data, 1))
    return corpus


class Unchanged:
    """A mutator for entries without parts."""

    def mutate(self, entry: CorpusEntry) -> Candidate:
        return Candidate(entry.data, "havoc", entry.id)


# --------------------------------------------------------------------------- parts of a text


def texts(data: bytes, *, items: bool) -> set[bytes]:
    parts = parts_of_text(corpus_of(data).entries[0])
    return {data[p.start : p.end] for p in parts if p.item == items}


def test_parts_of_a_text() -> None:
    data = b'f(a, [1, 2], {"k": (3)})\nx = <b>\n'
    assert texts(data, items=True) == {
        b'f(a, [1, 2], {"k": (3)})\n', b"x = <b>\n", b'(a, [1, 2], {"k": (3)})', b"[1, 2]",
        b'{"k": (3)}', b"(3)", b"<b>",
    }  # fmt: skip
    assert texts(data, items=False) == {
        b'"k"', b'a, [1, 2], {"k": (3)}', b"1, 2", b'"k": (3)', b"3", b"b",
    }  # fmt: skip
    assert texts(b"one line", items=True) == set()
    assert texts(b"unbalanced ) ( ] [", items=True) == set()


@given(st.binary(max_size=200))
def test_parts_lie_within_the_input(data: bytes) -> None:
    for part in parts_of_text(corpus_of(data).entries[0]):
        assert 0 <= part.start < part.end <= len(data)


def children(mutator: StructureMutator, entry: CorpusEntry, count: int = 300) -> set[bytes]:
    return {mutator.mutate(entry).data for _ in range(count)}


def test_brackets_stay_balanced() -> None:
    corpus = corpus_of(b"(a [b] {c})(d)", b"([x]{y})")
    mutator = StructureMutator(random.Random(1), corpus, parts_of_text, Unchanged(), 1000)
    made = children(mutator, corpus.entries[0])
    assert {b"(a  {c})(d)", b"(a [b] {c})", b"(a [x] {c})(d)", b"(d)(d)"} <= made
    for child in made:
        opened = []
        for byte in child.decode():
            if byte in "([{":
                opened.append(byte)
            elif byte in ")]}":
                assert opened.pop() + byte in ("()", "[]", "{}")
        assert not opened


def test_without_parts_the_other_mutator_works() -> None:
    corpus = corpus_of(b"plain")
    mutator = StructureMutator(random.Random(1), corpus, parts_of_text, Unchanged(), 1000)
    assert mutator.mutate(corpus.entries[0]) == Candidate(b"plain", "havoc", 0)


def test_a_child_is_not_longer_than_the_limit() -> None:
    corpus = corpus_of(b"(aaaaaaaa)(bbbbbbbb)")
    mutator = StructureMutator(random.Random(1), corpus, parts_of_text, Unchanged(), 24)
    assert max(map(len, children(mutator, corpus.entries[0]))) == 24


# -------------------------------------------------------------------------- parts of choices


def expression(source: Source) -> str:
    if source.below(3):
        return source.choose(["x", "y", "1", "2"])
    return f"({expression(source)} {source.choose(['+', '*'])} {expression(source)})"


def name(source: Source) -> str:
    return source.choose(["a", "b", "c"])


def program(source: Source) -> str:
    return "; ".join(f"{name(source)} = {expression(source)}" for _ in source.more())


def made_by(data: bytes) -> tuple[str, bytes, Sequence[InputPart]]:
    form = RecordingInput(program, 4096, bytes)
    text = str(form.build(data))
    return text, form.used(data), form.parts


def test_parts_of_choices() -> None:
    """Statements are items; calls of one function are of one kind, the whole is none."""
    # continue, name, expression ... : a = (x + 1); b = y
    text, data, spans = made_by(bytes([0, 0, 0, 1, 0, 0, 1, 2, 0, 1, 1, 1, 255]))
    assert text == "a = (x + 1); b = y"
    items = [made_by(data[s.start : s.end] + b"\xff")[0] for s in spans if s.item]
    assert items == ["a = (x + 1)", "b = y"]
    kinds = Counter(s.kind for s in spans if not s.item)
    assert sorted(kinds.values()) == [2, 4]  # two names, four expressions
    assert all((s.start, s.end) != (0, len(data)) for s in spans)


def test_children_of_choices_keep_their_structure() -> None:
    """A deleted, repeated or exchanged part leaves all others as they were."""
    first, data, _ = made_by(bytes([0, 0, 0, 1, 0, 0, 1, 2, 0, 1, 1, 1, 0, 2, 2, 3, 255]))
    other, more, _ = made_by(bytes([0, 2, 0, 1, 3, 1, 1, 2, 255]))
    assert (first, other) == ("a = (x + 1); b = y; c = 2", "c = (2 * 1)")
    corpus = corpus_of(data, more)
    mutator = StructureMutator(
        random.Random(1), corpus, lambda e: made_by(e.data)[2], Unchanged(), 4096
    )
    made = {made_by(child)[0] for child in children(mutator, corpus.entries[0])}
    assert "b = y; c = 2" in made
    assert "a = (x + 1); c = 2" in made
    assert "a = (x + 1); a = (x + 1); b = y; c = 2" in made
    assert "a = (x + 1); b = (2 * 1); c = 2" in made
    assert "a = (x + y); b = y; c = 2" in made
    assert "c = (x + 1); b = y; c = 2" in made
    known = {part for text in (first, other) for part in text.split("; ")}
    for text in made:
        statements = text.split("; ") if text else []
        assert len([s for s in statements if s not in known]) <= 7
        ast.parse("\n".join(statements))


# ---------------------------------------------------------------------------------- by yield


def named(name: str) -> Callable[[CorpusEntry], Candidate]:
    return lambda entry: Candidate(b"", f"{name},rep:4", entry.id)


def test_mutators_are_used_by_their_yield() -> None:
    parts = [("a", 0.75, named("a")), ("b", 0.2, named("b")), ("c", 0.05, named("c"))]
    mutators = YieldMutators(parts, random.Random(1))
    entry = corpus_of(b"").entries[0]
    assert {n: round(s, 2) for n, s in mutators.shares.items()} == {"a": 0.69, "b": 0.22, "c": 0.09}
    drawn: Counter[str] = Counter()
    for _ in range(20_000):
        child = mutators.mutate(entry)
        drawn[child.op[0]] += 1
        if child.op[0] == "b" and drawn["b"] % 50 == 0:
            mutators.saved(child, "queue")
    assert mutators.children == drawn
    assert drawn["b"] > drawn["a"] > drawn["c"] > 20_000 * 0.04
    assert min(mutators.shares.values()) >= YieldMutators.LEAST


def test_a_mutator_that_leaves_the_child_to_another_has_used_its_turn() -> None:
    parts = [("a", 0.5, named("a")), ("b", 0.5, named("a"))]
    mutators = YieldMutators(parts, random.Random(1))
    entry = corpus_of(b"").entries[0]
    for trial in range(5000):
        child = mutators.mutate(entry)
        if trial % 50 == 0:
            mutators.saved(child, "queue")
    assert mutators.children == {"a": 5000, "b": 0}
    assert mutators.shares["b"] < 0.2


def test_what_others_made_counts_for_nobody() -> None:
    mutators = YieldMutators([("a", 1, named("a")), ("b", 1, named("b"))], random.Random(1))
    for _ in range(100):
        mutators.mutate(corpus_of(b"").entries[0])
    before = mutators.shares
    for child in (
        Candidate(b"", "seed", origin="one"),
        Candidate(b"", "sync", 3, peer="other"),
        Candidate(b"", "fresh"),
        Candidate(b"", "compare", 0),
    ):
        mutators.saved(child, "queue")
    assert mutators.shares == before
    mutators.saved(Candidate(b"", "b,rep:2", 0), "queue")
    assert mutators.shares["b"] > before["b"]


def test_a_mutator_with_a_fixed_share_leaves_the_rest_to_the_yields() -> None:
    parts = [("a", 0.5, named("a")), ("b:x", 0.5, named("b:x")), ("c", 0.5, named("c"))]
    mutators = YieldMutators(
        [("b" if n == "b:x" else n, w, m) for n, w, m in parts], random.Random(1)
    )
    entry = corpus_of(b"").entries[0]
    mutators.fix("b", 0.4)
    drawn = Counter(mutators.mutate(entry).op[0] for _ in range(2000))
    assert mutators.children == drawn, "an operation may have more behind a colon"
    for _ in range(20):
        mutators.saved(Candidate(b"", "b:x,rep:1", 0), "queue")
        mutators.saved(Candidate(b"", "c,rep:1", 0), "queue")
    shares = mutators.shares
    assert shares["b"] == 0.4
    assert shares["c"] > 2 * shares["a"] > 0
    mutators.fix("b", None)
    assert mutators.shares["b"] > mutators.shares["a"]
    mutators.fix("b", 1.0)
    assert {mutators.mutate(entry).op[0] for _ in range(50)} == {"b"}
