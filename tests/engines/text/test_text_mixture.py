"""The mixture of steps: what is drawn, what is counted, how a child is called."""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate, from_label
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry
from fuzztui.engines.loop.mutate import Havoc
from fuzztui.engines.text import reference
from fuzztui.engines.text.arms import AT, ENOUGH, PERIOD, MixtureState, earned
from fuzztui.engines.text.block import StatsBlock, Writer, read_block
from fuzztui.engines.text.fragments import Fragments, Pool
from fuzztui.engines.text.mixture import TextMixture, arms_of
from fuzztui.engines.text.syntax import Spans
from fuzztui.engines.text.table import ARMS, NAMES
from fuzztui.kernel.wire.commands import MAX_MUTATOR_WEIGHT, WeighMutator
from fuzztui.kernel.wire.mixture import BEST, Mixture, class_of

PROGRAMS = (b"if (a) { f(1, x); }", b"while (b + 2) { g(y); }", b"(c); [d] {e};")


class Bench:
    """A corpus and a mutator on it."""

    def __init__(
        self,
        block: StatsBlock,
        texts: Sequence[bytes] = PROGRAMS,
        *,
        without: Collection[str] = ("template", "fragment"),
        pool: Pool | None = None,
        limit: int = 200,
        seed: int = 1,
        each_step: bool = False,
    ) -> None:
        self.corpus = Corpus()
        for number, text in enumerate(texts):
            self.corpus.add(CorpusEntry(number, str(number), text, 1))
        self.arms = MixtureState(block, reference.weights, without)
        rng = random.Random(seed)
        havoc = Havoc(rng, limit, [b"token"], text=True)
        self.mutator = TextMixture(
            self.arms, reference.apply, self.corpus, havoc, rng=rng, pool=pool,
            each_step=each_step,
        )  # fmt: skip

    def children(self, n: int) -> list[Candidate]:
        entries = self.corpus.entries
        return [self.mutator.mutate(entries[i % len(entries)]) for i in range(n)]

    def tried(self) -> set[str]:
        return {n for n, a in zip(ARMS, self.arms.block.arms, strict=True) if a.tried}


def test_stacks_and_labels() -> None:
    bench = Bench(StatsBlock(0.25, 0.5, 0.25))
    children = bench.children(2000)
    steps = Counter(c.op.rpartition("rep:")[2] for c in children)
    assert set(steps) == {"1", "2", "4", "8"}
    assert all(400 < n < 600 for n in steps.values())
    used = {name for c in children for name in c.op.rpartition(",")[0].split("+")}
    assert used <= {*ARMS, "none"}
    assert len(used) > 15
    assert all(len(c.op) <= 110 and len(c.data) <= 200 for c in children)
    assert {c.src for c in children} == {0, 1, 2}
    assert all(c.src2 not in (NO_ENTRY, c.src) for c in children if "balanced" in c.op)
    assert all(c.src2 == NO_ENTRY for c in children if "balanced" not in c.op and "+" not in c.op)
    assert bench.arms.block.trials == 2000


@pytest.mark.parametrize(
    ("block", "classes"),
    [
        (StatsBlock(1, 0, 0), {"havoc"}),
        (StatsBlock(0, 1, 0), {"text", "havoc"}),  # where no mutator applies
        (StatsBlock(0, 0, 1), {"balanced", "havoc"}),
    ],
)
def test_classes(block: StatsBlock, classes: set[str]) -> None:
    bench = Bench(block)
    bench.children(500)
    found = {name if name in ("havoc", "balanced") else "text" for name in bench.tried()}
    assert found <= classes
    assert classes - {"havoc"} <= found


def classes_of(op: str) -> set[str]:
    return {class_of(name) for name in op.rpartition(",")[0].split("+")}


def test_all_steps_of_an_input_are_of_one_class() -> None:
    seen = [classes_of(c.op) for c in Bench(StatsBlock(0.2, 0.4, 0.4)).children(500)]
    assert {"text"} in seen and {"splice"} in seen and {"havoc"} in seen
    assert not any(classes >= {"text", "splice"} for classes in seen)
    bench = Bench(StatsBlock(0.2, 0.4, 0.4), each_step=True)
    assert {"text", "splice", "havoc"} in [classes_of(c.op) for c in bench.children(500)]


@pytest.mark.slow
def test_shares_are_those_of_the_mixture() -> None:
    bench = Bench(StatsBlock(0.5, 0.2, 0.3), [b"(" * 20 + b"0" + b")" * 20] * 2)
    bench.children(4000)
    spliced = bench.arms.block.arms[AT["balanced"]].tried / (4000 * 3.75)
    assert 0.27 < spliced < 0.33


def test_one_entry_has_no_other_to_splice_from() -> None:
    bench = Bench(StatsBlock(0, 0, 1), [b"(a)"])
    assert {c.op.partition(",")[0] for c in bench.children(50)} <= {"havoc", "none"}
    assert bench.tried() == {"havoc"}


def test_nothing_applies_to_nothing() -> None:
    bench = Bench(StatsBlock(0, 0.5, 0.5), [b"", b""])
    assert all(len(c.data) <= 200 for c in bench.children(100))


def test_fragments_of_their_kind_go_on_from_what_became_of_it() -> None:
    fragments = Fragments()
    texts = (b"aa bb cc", b"dd ee ff")
    for text in texts:
        fragments.add(text, Spans({"word": ((0, 2), (3, 2), (6, 2))}))
    bench = Bench(StatsBlock(0, 0, 1), texts, without=("template",), pool=fragments.pool)
    words = {w for text in texts for w in text.split()}
    children = bench.children(300)
    assert bench.tried() <= {"fragment", "balanced", "havoc"}
    assert {w for c in children if c.op.startswith("fragment,") for w in c.data.split()} == words
    assert any(len({*c.data.split()} & {*texts[1].split()}) > 1 for c in children if c.src == 0)


def test_without_all_mutators_text_is_havoc() -> None:
    bench = Bench(StatsBlock(0, 1, 0), without=ARMS[:-1])
    bench.children(100)
    assert bench.tried() == {"havoc"}


def test_drawing_is_by_weight() -> None:
    arms = MixtureState(StatsBlock(), reference.weights, ("swap-args", "template"))
    rng = reference.Rng(5)
    arms.block.arms[AT["drop-not"]].weight *= 20
    arms.set_mixture(arms.mixture, adaptive=True)  # keeps the weights that are there
    drawn = Counter(ARMS[arms.draw_text(rng)] for _ in range(8000))
    assert not drawn.keys() & {"swap-args", "template"}
    assert 1600 < drawn["drop-not"] < 2200, "20 of 82"
    assert 50 < drawn["add-to-mul"] < 150


@pytest.mark.parametrize("adaptive", [False, True])
def test_users_weigh_single_mutators(tmp_path, adaptive: bool) -> None:
    arms = MixtureState(StatsBlock(adaptive=adaptive), reference.weights, ("template",))

    def drawn() -> Counter[str]:
        rng = reference.Rng(5)
        return Counter(ARMS[arms.draw_text(rng)] for _ in range(8000))

    even = drawn()["drop-not"]
    arms.weigh("drop-not", 20)
    arms.weigh("swap-args", 0)
    seen = drawn()
    assert seen["drop-not"] > 10 * even
    assert not seen["swap-args"]
    for _ in range(PERIOD):  # an adaptation keeps them
        arms.count_trial()
    assert drawn() == seen
    block = read_block_of(tmp_path, arms.block)
    arms = MixtureState(block, reference.weights, ("template",))
    assert drawn() == seen, "so does a restart"
    arms.set_mixture(arms.mixture, adaptive=False)
    assert drawn()["drop-not"] > 10 * even, "and a mixture"
    arms.weigh("drop-not", 1)
    arms.weigh("swap-args", 1)
    assert abs(drawn()["drop-not"] - even) < even


def read_block_of(home: Path, block: StatsBlock) -> StatsBlock:
    """The block as a later process reads it."""
    Writer(home / "block", block)
    found = read_block(home / "block")
    assert found is not None
    return found


def test_the_weight_of_a_mutator_that_finds_nothing_has_an_effect() -> None:
    block = StatsBlock(0.25, 0.5, 0.25, adaptive=True)
    for arm in block.arms[: len(NAMES)]:
        arm.tried = arm.applied = arm.window_applied = 100_000
    block.arms[0].window_found = 5000
    arms = MixtureState(block, reference.weights)
    barren = "swap-args"
    answers = [arms.weigh(barren, weight) for weight in (1, 2, 100, 0.5, 0)]
    assert [answer.partition(": ")[2] for answer in answers] == [
        "1.54% -> 0.26% of text mutations", "0.26% -> 0.512% of text mutations",
        "0.512% -> 10.4% of text mutations", "10.4% -> 0.131% of text mutations",
        "0.131% -> 0% of text mutations",
    ]  # fmt: skip


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_least_weight_is_drawn_and_only_0_is_never(adaptive: bool) -> None:
    arms = MixtureState(StatsBlock(adaptive=adaptive), reference.weights, ("template",))
    for name in NAMES[1:3]:
        assert "-> 0.03% of" in arms.weigh(name, 0.001)
    arms.weigh(NAMES[1], 0)
    arms.set_mixture(arms.mixture, adaptive=adaptive)
    assert [arm.weight for arm in arms.block.arms[1:3]] == [0, 300]


def test_a_weight_beyond_the_bound_is_brought_to_it_where_a_run_has_it(tmp_path) -> None:
    writer = Writer(tmp_path / "block", StatsBlock())
    writer.block.arms[0].wish = 1 + 1000 * 1_000_000
    writer.publish(settings=True)
    block = read_block(tmp_path / "block")
    assert block is not None
    assert block.arms[0].wished == 1000 * MAX_MUTATOR_WEIGHT
    assert WeighMutator(NAMES[0], MAX_MUTATOR_WEIGHT).problem == ""
    assert "from 0 to 100, not 100.5" in WeighMutator(NAMES[0], MAX_MUTATOR_WEIGHT + 0.5).problem


def test_weights_that_are_none() -> None:
    arms = MixtureState(StatsBlock(), reference.weights, ("template", *NAMES[2:]))
    for name, why in (
        ("swap-arks", "no text mutator of this name"),
        ("fragment", "no text mutator of this name"),
        ("template", "no text mutator of this name"),
    ):
        with pytest.raises(ValueError, match=why):
            arms.weigh(name, 2)
    arms.weigh(NAMES[0], 0)
    with pytest.raises(ValueError, match=f"{NAMES[1]} is the last"):
        arms.weigh(NAMES[1], 0)
    assert {ARMS[arms.draw_text(reference.Rng(n))] for n in range(50)} == {NAMES[1]}


def test_a_mixture_that_is_none() -> None:
    arms = MixtureState(StatsBlock(), reference.weights)
    with pytest.raises(ValueError, match=r"add up to 1\.5"):
        arms.set_mixture(Mixture(0.5, 0.5, 0.5), adaptive=False)
    assert arms.mixture == Mixture(0.25, 0.75, 0.0)


# ------------------------------------------------------------------------ what pays


def test_what_pays_is_done_more_often() -> None:
    arms = MixtureState(
        StatsBlock(0.25, 0.5, 0.25, adaptive=True), reference.weights, ("template", "fragment")
    )
    good, bad = AT["one-to-zero"], AT["swap-args"]
    for _ in range(2000):
        for arm in (good, bad, AT["havoc"], AT["balanced"]):
            arms.count_applied(arm)
            arms.count_made([arm])
    for _ in range(300):
        arms.count_found([good])
    for _ in range(PERIOD - 1):
        arms.count_trial()
    assert arms.mixture == Mixture(0.25, 0.5, 0.25)
    changes = arms.changes
    arms.count_trial()
    block = arms.block
    assert arms.changes == changes + 1
    assert block.text > 0.5 > block.havoc >= 0.1
    assert (block.made, block.kept) == ([2000, 1000, 1000], [150, 0, 0])
    assert abs(sum(arms.mixture) - 1) < 1e-9
    assert block.arms[good].weight > 4 * block.arms[bad].weight > 0
    assert block.arms[AT["template"]].weight == block.arms[AT["fragment"]].weight == 0
    assert (block.arms[good].window_applied, block.arms[good].window_found) == (1000, 150)
    assert (block.arms[good].applied, block.arms[good].found) == (2000, 300)
    arms.set_mixture(Mixture(0, 1, 0), adaptive=False)
    assert block.arms[good].weight == block.arms[bad].weight > 0


@pytest.mark.slow
@pytest.mark.parametrize("every", [0, 20])
def test_what_finds_alike_keeps_what_was_wished(every: int) -> None:
    """Whatever makes the finds, as often as they are made: an arm that is used again and again in
    one input, as havoc is, is paid like the others, and one that can do nothing wins nothing."""
    bench = Bench(StatsBlock(0.3, 0.4, 0.3, adaptive=True), PROGRAMS[:1])  # nothing to splice with
    entry = bench.corpus.entries[0]
    for trial in range(2 * PERIOD):
        made = bench.mutator.mutate(entry)
        if every and trial % every == 0:
            bench.mutator.saved(made, "queue")
    assert bench.arms.changes >= 2
    assert bench.arms.mixture == pytest.approx((0.3, 0.4, 0.3), abs=0.05)
    weights = [a.weight for a in bench.arms.block.arms[: AT["template"]] if a.applied]
    if every:
        assert max(weights) < 3 * min(weights)
    vain = [a.weight for a in bench.arms.block.arms[: AT["template"]] if not a.applied]
    assert max(vain) <= min(weights), "what never applies is drawn no more than what does"


def test_the_wish_outlives_what_pays_and_a_restart(tmp_path) -> None:
    writer = Writer(tmp_path / ".text", StatsBlock(0.2, 0.5, 0.3, adaptive=True))
    arms = MixtureState(writer.block, reference.weights)
    for _ in range(2000):
        arms.count_made([AT["swap-args"], AT["havoc"]])
    for _ in range(300):
        arms.count_found([AT["swap-args"]])
    for _ in range(PERIOD):
        arms.count_trial()
    writer.publish(settings=True)
    again = MixtureState(Writer(tmp_path / ".text", StatsBlock()).block, reference.weights)
    assert again.mixture == arms.mixture != Mixture(0.2, 0.5, 0.3)
    assert again.block.wish == (0.2, 0.5, 0.3)
    again.set_mixture(Mixture(0, 1, 0), adaptive=True)
    assert again.block.wish == (0, 1, 0)


def shares(text: float, splice: float, havoc: float, windows: int = 60) -> Mixture:
    """The mixture after windows in which each class finds so many entries per input."""
    arms = MixtureState(StatsBlock(*BEST, adaptive=True), reference.weights)
    block, rests = arms.block, [0.0, 0.0, 0.0]
    for _ in range(windows):
        parts = (block.text, block.splice, block.havoc)
        for i, (part, found) in enumerate(zip(parts, (text, splice, havoc), strict=True)):
            block.made[i] += round(PERIOD * part)
            rests[i] += PERIOD * part * found
            block.kept[i] += int(rests[i])
            rests[i] %= 1
        block.trials += PERIOD - 1
        arms.count_trial()
    return arms.mixture


@pytest.mark.parametrize("often", [1.0, 0.01])
@pytest.mark.parametrize(
    ("text", "splice"), [(0, 0), (0.2, 0.2), (0.5, 0.5), (0.65, 0.65), (0.2, 0.6), (0.9, 0.9)]
)
def test_havoc_keeps_what_it_earns(text: float, splice: float, often: float) -> None:
    """Where havoc finds 1% of the inputs, or one in 10,000, and the others less: the mixture
    finds nearly as much as havoc alone."""
    havoc = 0.01 * often
    mixture = shares(text * havoc, splice * havoc, havoc)
    found = mixture.havoc + text * mixture.text + splice * mixture.splice
    assert found > 0.8
    assert min(mixture) >= 0.0499
    if text + splice < 0.5:
        assert mixture.havoc > 0.8


def test_what_finds_more_than_havoc_gets_more() -> None:
    mixture = shares(0.01, 0.05, 0.005)
    assert mixture.splice > 0.5
    assert 0.1 <= mixture.havoc < 0.15
    assert shares(0, 0, 0) == pytest.approx(BEST)


@given(st.lists(st.integers(0, 1 << 30), min_size=3, max_size=3), st.data())
def test_havocs_share_is_one(made: list[int], data: st.DataObject) -> None:
    kept = [data.draw(st.integers(0, n)) for n in made]
    assert 0.1 <= earned(made, kept, data.draw(st.integers(1, 1 << 30))) <= 0.9


def test_counts_of_classes_grow_until_they_are_enough() -> None:
    arms = MixtureState(StatsBlock(), reference.weights)
    for windows in (1, 2):
        for _ in range(ENOUGH // 2):
            arms.count_made([AT["havoc"], AT["swap-args"]])
            arms.count_found([AT["havoc"]])
        for _ in range(PERIOD):
            arms.count_trial()
        assert (arms.block.made, arms.block.kept) == ([50, 0, 50], [0, 0, 50]), windows


def test_fixed_stays_fixed() -> None:
    arms = MixtureState(StatsBlock(0.25, 0.5, 0.25), reference.weights)
    arms.count_applied(3)
    arms.count_found([3] * 100)
    for _ in range(2 * PERIOD):
        arms.count_trial()
    assert arms.mixture == Mixture(0.25, 0.5, 0.25)
    assert len({arm.weight for arm in arms.block.arms[: AT["template"] + 1]}) == 1


# ------------------------------------------------------------- what came of a child


def test_finds_and_crashes_go_to_the_arms_of_their_stack() -> None:
    bench = Bench(StatsBlock(0, 1, 0))
    child = next(c for c in bench.children(40) if "+" in c.op)
    made = bench.mutator.mutate(bench.corpus.entries[0])
    arms = bench.arms.block.arms
    bench.mutator.saved(made, "queue")
    bench.mutator.saved(child, "hangs")  # not the last one: by its name
    assert [i for i, a in enumerate(arms) if a.found] == sorted(arms_of(made.op))
    assert [i for i, a in enumerate(arms) if a.crashes] == sorted(arms_of(child.op))
    before = [a.crashes for a in arms]
    recovered = from_label(child.data, child.label[:128], 0, NO_ENTRY)
    bench.mutator.saved(recovered, "crashes")
    assert [a.crashes for a in arms] == [2 * n for n in before]
    for other in (
        Candidate(b"", "seed", origin="havoc,rep:1"),
        Candidate(b"", "havoc,rep:1", peer="s1"),
        Candidate(b"", "fresh"),
    ):
        bench.mutator.saved(other, "queue")
    assert sum(a.found for a in arms) == len(arms_of(made.op))


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("swap-args+havoc,rep:3", ["swap-args", "havoc"]),
        ("none,rep:1", []),
        ("havoc,rep:16", ["havoc"]),
        ("splice", []),
        ("swap-args+hav", []),
        ("fresh", []),
        ("", []),
    ],
)
def test_arms_of_a_label(label: str, names: list[str]) -> None:
    assert [ARMS[arm] for arm in arms_of(label)] == names


def test_a_single_edit_of_havoc() -> None:
    havoc = Havoc(random.Random(1), 10, [b"token"], text=True)
    for data in (b"", b"x", b"0123456789"):
        made = {havoc.once(data) for _ in range(200)}
        assert len(made) > 20
        assert all(len(m) <= 10 for m in made)
    assert havoc.once(b"") != b""
