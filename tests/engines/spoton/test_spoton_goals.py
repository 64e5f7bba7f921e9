"""What is left to cover, the types that decide about it, and which of them is mutated next."""

from __future__ import annotations

import datetime
import fractions
import json
import os
import random
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from spoton_lab import Bench, File, document, gen_day, gen_file, write_document

import fuzztui.generators  # noqa: F401 - what is named in the tests must be there
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import EngineSpec
from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.execute.loading import form_of
from fuzztui.engines.generators import generator
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.inputs.typed import TypeStacks
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.instrument.target import Target
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.spoton.distances import MAX_FACTOR, Distances, unify
from fuzztui.engines.spoton.feedback import GoalFeedback
from fuzztui.engines.spoton.goals import Goals, read_document
from fuzztui.engines.spoton.mutator import TypedMutator
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.spoton.types_file import TypesFile
from fuzztui.kernel.wire.targeting import type_label

SOURCE = """\
def f(x):
    if x.modified.year == 2008:
        y = x.name
        if y == "a":
            return 1
    if x.image:
        return 2
    return 3
"""
TYPES = {2: {"datetime.date": 2, "File": 3}, 4: {"File": 1}, 6: {"Image": 0}}


def goals(tmp_path: Path, base: int = 10, sha: str | None = None) -> Goals:
    read = read_document(write_document(tmp_path / "targets.json", document("m", SOURCE, TYPES)))
    made = Goals(read, lambda name: (sha or read.modules[name], base))
    assert made.add_loaded() == made.changed == ([] if sha is None else ["m.py"])
    return made


def cells(*numbers: int) -> int:
    return sum(1 << 8 * n for n in numbers)


def cell_of(made: Goals, location: str) -> int:
    number = made.find(location)
    assert number is not None
    return made.all[number].cells[0]


def distances(*targets: dict[str, int]) -> Distances:
    made = Distances(random.Random(1))
    made.set_goals([target(t) for t in targets])
    return made


def target(distances: dict[str, int]) -> Any:
    return types.SimpleNamespace(types=distances)


# ------------------------------------------------------------------------- distances


def test_one_distance_a_type_from_the_target_with_the_most():
    assert unify([{"a": 1}, {"a": 5, "b": 2}]) == {"a": 5, "b": 2}
    assert unify([{"a": 5}, {"a": 1}]) == {"a": 1}


def test_nearer_types_are_more_probable():
    made = distances({"near": 0, "far": 3})
    assert made.probability("near") == pytest.approx(0.8)
    drawn = Counter(made.pick() for _ in range(2000))
    assert 1500 < drawn["near"] < 1700
    assert made.stats_by_type["near"].picks == drawn["near"]


def test_matches_and_misses_move_a_factor_within_its_bounds():
    made = distances({"a": 1, "b": 1})
    for _ in range(3):
        made.record_miss("a")
    assert made.stats_by_type["a"].factor == pytest.approx((4 / 3) ** 3)
    made.record_match("a")
    assert made.stats_by_type["a"].factor == pytest.approx((4 / 3) ** 2)
    for _ in range(30):
        made.record_miss("a")
    assert made.stats_by_type["a"].factor == MAX_FACTOR
    for _ in range(30):
        made.record_match("a")
    assert made.stats_by_type["a"].factor == 1  # never nearer than it is
    assert made.probability("a") == made.probability("b") == 0.5


def test_a_nearest_type_that_no_input_has_loses_its_chance():
    made = distances({"a": 0, "b": 3})
    for _ in range(30):
        made.record_miss("a")
    assert made.probability("a") == pytest.approx((1 / 8) / (1 / 8 + 1 / 4))


def test_a_persons_weight_is_apart_and_0_bans():
    made = distances({"a": 0, "b": 0})
    made.weigh("a", 3)
    made.record_miss("a")
    made.record_match("a")
    assert made.probability("a") == 0.75
    made.weigh("a", 0)
    assert {made.pick() for _ in range(100)} == {"b"}
    made.weigh("b", 0)
    assert made.pick() is None
    with pytest.raises(ValueError, match="a weight is from 0"):
        made.weigh("a", -1)
    made.weigh("c", 2)  # not of interest now, perhaps later
    made.set_goals([target({"c": 1, "b": 1})])
    assert made.probability("c") == 1
    assert made.probability("a") == 0
    made.set_goals([])
    assert made.pick() is None


def test_labels_are_fit_for_names_of_files():
    assert type_label("datetime.date") == "datetime.date"
    assert type_label("a.f.<locals>.B") == "a.f.<locals>.B"
    assert type_label("../a,b:" + "c" * 99) == "c" * 80
    assert type_label("../a,b:c") == ".._a_b_c"


# --------------------------------------------------------------------------- targets


def test_frontier_is_what_was_met_and_not_taken(tmp_path):
    made = goals(tmp_path)
    assert len(made.all) == len(made.uncovered) == 6
    assert not made.frontier
    assert made.cover(cells(cell_of(made, "m.py:2:else"), cell_of(made, "m.py:6:then")))
    left = {made.all[n].location for n in made.frontier}
    assert left == {"m.py:2:then", "m.py:6:else"}
    assert len(made.uncovered) == 4
    assert not made.cover(cells(cell_of(made, "m.py:2:else"), cell_of(made, "m.py:6:then")))
    met = made.met(cells(cell_of(made, "m.py:6:then")))
    assert [made.all[n].location for n in met] == ["m.py:6:else"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"cells": [-50]}, {"cells": ["3"]}, {"cells": 3}, {"within": [None]},
        {"decision": float("inf")}, {"types": [{"name": "File", "distance": float("nan")}]},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_document_of_targets_is_refused(tmp_path, wrong):
    file = write_document(tmp_path / "targets.json", document("m", SOURCE, TYPES))
    good = json.loads(file.read_bytes())
    file.write_text(json.dumps({**good, "targets": [{**good["targets"][0], **wrong}]}))
    with pytest.raises(CannotStart, match=r"is not a targets\.json"):
        read_document(file)


def test_covering_bit_by_bit_comes_to_the_same(tmp_path):
    rng = random.Random(3)
    for _ in range(20):
        whole, steps = goals(tmp_path), goals(tmp_path)
        seen = 0
        for _ in range(rng.randrange(1, 6)):
            seen |= cells(*rng.sample(range(30), rng.randrange(5))) << rng.randrange(8)
            before = steps.uncovered.copy(), steps.frontier.copy()
            assert steps.cover(seen) == (before != (steps.uncovered, steps.frontier))
        whole.cover(seen)
        assert (whole.uncovered, whole.frontier) == (steps.uncovered, steps.frontier)


def test_arms_that_stand_alone_are_met_with_their_block(tmp_path):
    data = document("m", SOURCE, {6: {"Image": 0}})
    data["targets"] = [{**data["targets"][0], "cells": [9], "within": [0], "arm": "except"}]
    made = Goals(
        read_document(write_document(tmp_path / "t.json", data)),
        lambda name: (data["modules"][0]["sha"], 0),
    )
    made.add_loaded()
    assert made.cover(cells(0))
    assert made.frontier == {0}


def test_modules_that_have_changed_or_come_late(tmp_path):
    assert not goals(tmp_path, sha="another").all
    read = read_document(tmp_path / "targets.json")
    there: dict[str, tuple[str, int]] = {}
    made = Goals(read, there.get)
    assert made.add_loaded() == []
    assert not made.all
    there["m"] = (read.modules["m"], 100)
    made.add_loaded()
    made.add_loaded()
    assert len(made.all) == 6
    assert made.all[0].cells[0] >= 100


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"modules": [], "targets": [{}]}', "[" * 9999])
def test_a_damaged_document(tmp_path, text):
    file = tmp_path / "targets.json"
    file.write_text(text)
    with pytest.raises(CannotStart, match=r"targets.json"):
        read_document(file)
    with pytest.raises(CannotStart, match=r"targets.json"):
        ConstantPool.read(tmp_path / "no targets.json")


def test_constants_of_a_document(tmp_path):
    file = tmp_path / "targets.json"
    constants = {"str": [{"value": "ab"}], "bytes": [{"hex": "00ff"}], "int": [{"value": 2008}]}
    write_document(file, document("m", SOURCE, {}, constants=constants))
    magic = ConstantPool.read(file)
    assert magic.texts("abc", 0, 3) == ["ab"]
    assert magic.blocks(2, 2) == [b"\0\xff"]
    assert magic.integers(2008, 2008) == [2008]
    file.write_text('{"constants": {"int": [{"value": "7"}]}}')
    with pytest.raises(CannotStart, match="constants"):
        ConstantPool.read(file)


def test_constants_in_no_regular_file_and_in_one_that_is_too_large(tmp_path, monkeypatch):
    pipe = tmp_path / "constants.json"
    os.mkfifo(pipe)
    with pytest.raises(CannotStart, match=r"constants.json"):
        ConstantPool.read(pipe)
    file = tmp_path / "large.json"
    file.write_text('{"targets": [], "constants": {"int": [{"value": 7}]}}')
    assert ConstantPool.read(file).integers(7, 7) == [7]
    monkeypatch.setattr("fuzztui.engines.inputs.constants._MAX_BYTES", 10)
    with pytest.raises(CannotStart, match=r"large.json"):
        ConstantPool.read(file)


def test_constants_for_zest_and_for_running_an_input_again(tmp_path):
    file = write_document(
        tmp_path / "t.json", document("m", SOURCE, {}, constants={"int": [{"value": 2008}]})
    )
    goal = Target(print, lambda r: r.integer(2000, 2050), (), text=False)
    for constants, expected in ((True, 2008), (False, 2001)):
        engine = EngineSpec("zest", constants=constants, options={"targets": str(file)})
        assert form_of(goal, engine, bytes).build(b"\1\0") == expected


# -------------------------------------------------------------------------- feedback


def feedback(tmp_path: Path, mode: Any = "frontier") -> GoalFeedback:
    coverage = CoverageMap()
    coverage.grow(64)
    made = GoalFeedback(goals(tmp_path), distances(), CoverageFeedback(coverage), mode)
    made.renew()
    return made


def mutator(targeted: float = 0.5) -> TypedMutator:
    return TypedMutator(
        random.Random(3), lambda entry: None, lambda child, parent: None,
        distances(), TypeRelations(TypeStacks(), {}), targeted=targeted,
    )  # fmt: skip


def covers(observed: int) -> tuple[Execution, CorpusEntry]:
    return Execution(Outcome.SUCCESS, b"", observed), CorpusEntry(0, "id:000000", b"", 0)


def test_types_of_the_frontier_are_aimed_at(tmp_path):
    made = feedback(tmp_path)
    assert made.distances.now == {"datetime.date": 2, "File": 3, "Image": 0}  # nothing is covered
    seen = cells(*(cell_of(made.goals, f"m.py:{where}") for where in ("2:else", "6:then")))
    made.learn(*covers(seen))
    assert made.distances.now == {"datetime.date": 2, "File": 3, "Image": 0}
    more = seen | cells(cell_of(made.goals, "m.py:6:else"))
    made.recall(*covers(more))
    assert made.distances.now == {"datetime.date": 2, "File": 3}
    made._coverage.seen = more
    made.pin("m.py:4:then")
    assert made.distances.now == {"File": 1}


@pytest.mark.parametrize("mode", ["frontier", "global"])
def test_what_is_never_taken_is_not_aimed_at(tmp_path, mode):
    """Nothing breaks where it is taken, nevertheless."""
    data = document("m", SOURCE, TYPES)
    for one in data["targets"]:
        if one["location"] == "m.py:2:then":
            one |= {"never": True, "reachable": False}
    read = read_document(write_document(tmp_path / "targets.json", data))
    made = Goals(read, lambda name: (read.modules[name], 10))
    coverage = CoverageMap()
    coverage.grow(64)
    told = GoalFeedback(made, distances(), CoverageFeedback(coverage), mode)
    told.renew()
    other = cell_of(made, "m.py:2:else")
    (never,) = next(t.at_base(10).cells for t in read.goals if t.never)
    told.learn(*covers(cells(other)))
    assert "m.py:2:then" not in {t.location for t in told.targeted_goals()}
    assert made.find("m.py:2:then") is None  # so nothing is left of it, nor counted
    told.learn(*covers(cells(other, never)))
    assert told.distances.now


def test_types_of_all_that_is_left_are_in_the_papers_mode(tmp_path):
    made = feedback(tmp_path, "global")
    seen = cells(*(cell_of(made.goals, f"m.py:{w}") for w in ("2:else", "6:then", "6:else")))
    made.learn(*covers(seen))
    # File is met in two targets: its distance is that of the one with more types.
    assert made.distances.now == {"datetime.date": 2, "File": 3}


def test_what_came_of_aiming(tmp_path):
    made = feedback(tmp_path)
    made.begin(Candidate(b"", "typed:datetime.date,rep:3"))
    made.learn(*covers(cells(11, 12)))
    made.begin(Candidate(b"", "havoc,rep:3"))
    made.learn(*covers(cells(13)))
    assert made.distances.stats_by_type["datetime.date"].new_arms == 2
    # In the mode "counts" a cell that is taken more often is news, but nothing new is covered.
    made._coverage.seen = cells(11, 12, 13)
    made.begin(Candidate(b"", "typed:datetime.date,rep:3"))
    made.learn(*covers(cells(11) << 3 | cells(14)))
    assert made.distances.stats_by_type["datetime.date"].new_arms == 3


def test_figures_go_on_after_a_restart(tmp_path):
    file = tmp_path / ".types"
    first = feedback(tmp_path)
    first._coverage.seen = cells(cell_of(first.goals, "m.py:2:else"))
    first.renew()
    for _ in range(64):
        first.begin(Candidate(b"", "havoc"))
        first.judge(Execution(Outcome.SUCCESS, b"", first._coverage.seen))
    first.distances.weigh("File", 2)
    first.distances.record_miss("File")
    first.pin("m.py:2:then")
    types_file = TypesFile(file, first, mutator(), lambda path, data: path.write_bytes(data))
    types_file.tick()
    written = json.loads(file.read_text())
    assert written["left"][0]["location"] == "m.py:2:then"
    assert written["left"][0]["frontier"]
    assert (written["left"][0]["reached"], written["asked"]) == (2, 2)
    assert written["types"]["File"]["weight"] == 2
    assert (written["targets"], written["uncovered"]) == (6, 5)

    second = feedback(tmp_path)
    TypesFile(file, second, mutator(), lambda path, data: None)
    # But what misses did: how much of that was written is the clock's doing, and draws follow it.
    assert first.distances.stats_by_type["File"].factor > 1
    first.distances.stats_by_type["File"].factor = 1.0
    assert second.distances.stats_by_type == first.distances.stats_by_type
    assert second.pinned == first.pinned
    assert (second.sampled_trials, second.reached) == (2, {"m.py:2:then": 2})

    for torn in (b"", b"{", b'{"types": {"File": {"weight": -1}}}', b'{"types": 7}', b"\xff",
                 file.read_bytes().replace(b'"asked": 2', b'"asked": 1e999')):  # fmt: skip
        file.write_bytes(torn)
        third = feedback(tmp_path)
        TypesFile(file, third, mutator(), lambda path, data: None)
        assert third.distances.stats_by_type["File"].misses == 0
        assert third.pinned == ""


def test_what_was_reached_of_more_targets_than_are_told_of_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzztui.engines.spoton.types_file._MAX_ROWS", 1)
    first = feedback(tmp_path)
    first._coverage.seen = cells(*(cell_of(first.goals, f"m.py:{n}:else") for n in (2, 6)))
    first.renew()
    for _ in range(32):
        first.begin(Candidate(b"", "havoc"))
        first.judge(Execution(Outcome.SUCCESS, b"", first._coverage.seen))
    TypesFile(
        tmp_path / ".types", first, mutator(), lambda path, data: path.write_bytes(data)
    ).tick()
    assert len(json.loads((tmp_path / ".types").read_bytes())["left"]) == 1
    second = feedback(tmp_path)
    TypesFile(tmp_path / ".types", second, mutator(), lambda path, data: None)
    assert second.reached == first.reached == {"m.py:2:then": 1, "m.py:6:then": 1}


def test_figures_that_take_long_are_written_seldom(tmp_path, monkeypatch):
    now, writes = [100.0], []

    def slow(path: Path, data: bytes) -> None:
        now[0] += 0.5
        writes.append(now[0])

    monkeypatch.setattr("fuzztui.engines.spoton.types_file.time.monotonic", lambda: now[0])
    made = feedback(tmp_path)
    types_file = TypesFile(tmp_path / ".types", made, mutator(), slow)
    for _ in range(1000):
        types_file.tick()
        made.sampled_trials += 1
        now[0] += 0.1
    assert sum(0.5 for _ in writes) <= 0.03 * (now[0] - 100)
    assert len(writes) >= 4


def test_a_full_disk_costs_a_state_of_the_figures_only(tmp_path):
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    TypesFile(tmp_path / ".types", feedback(tmp_path), mutator(), full).write()


# ------------------------------------------------------------------- kin and mutator


def test_who_counts_as_a_type():
    stacks = TypeStacks()
    date, late_date = stacks.push(0, "datetime.date"), stacks.push(0, "datetime.datetime")
    thing = stacks.push(0, "app.Thing")
    buffer, base = stacks.push(0, "io.BytesIO"), stacks.push(0, "io.IOBase")
    item = stacks.push(0, "fuzztui.engines.generators.aws.Item")
    aliases = {"lib.Body": ["app.Thing", "datetime.date"], "lib.Row": ["fuzztui.generators.Item"]}
    relations = TypeRelations(stacks, aliases)
    assert relations.holding("datetime.date") == {date, late_date}
    assert relations.holding("lib.Body") == {thing, date, late_date}
    # A NewType is no class; it has two names, one of them public.
    assert relations.holding("lib.Row") == {item}
    # The same class, and one that it is derived from.
    assert relations.holding("_io.BytesIO") == {buffer, base}
    assert relations.holding("no.Such") == set()
    late = stacks.push(thing, "datetime.datetime")
    assert late in relations.holding("datetime.datetime")
    assert TypeRelations(stacks, {}).holding("datetime.time") == set()


def test_what_is_told_by_the_clock_changes_nothing_that_is_drawn():
    """A class is found, or not, when an input is mutated; never because figures were written."""
    name = "spoton_late_module"

    def drawn(*, told: bool) -> list[str | None]:
        stacks = TypeStacks()
        relations = TypeRelations(stacks, {})
        made = Distances(random.Random(7), relations)
        made.set_goals([target({f"{name}.Late": 1, "datetime.date": 1})])
        relations.meet({stacks.push(0, "datetime.date"), stacks.push(0, "fractions.Fraction")})
        if told:
            made.probability(f"{name}.Late")
        module = types.ModuleType(name)
        module.Late = type("Late", (fractions.Fraction,), {})  # type: ignore[attr-defined]
        sys.modules[name] = module
        try:
            return [made.pick() for _ in range(20)]
        finally:
            del sys.modules[name]

    assert drawn(told=True) == drawn(told=False)
    assert f"{name}.Late" in drawn(told=True)


def test_a_child_differs_in_the_type_that_was_aimed_at():
    bench = Bench(gen_file, seed=5)
    data, value = bench.fresh()
    made = Distances(random.Random(2))
    made.set_goals([target({"datetime.date": 1, "no.Such": 0})])
    expected: list[Any] = []
    mutator = TypedMutator(
        random.Random(3),
        lambda entry: bench.form.annotate(entry.data),
        lambda child, parent: expected.append((child, parent)),
        made,
        TypeRelations(bench.form.stacks, {}),
        targeted=1.0,
    )
    one = CorpusEntry(0, "x", data, 0)
    for _ in range(50):
        child = mutator.mutate(one)
        assert child.op.startswith("typed:datetime.date,rep:")
        assert expected[-1][0] is child.data
        _, other = bench.child(*expected[-1])
        assert (other.name, other.image, other.tags) == (value.name, value.image, value.tags)
    assert made.stats_by_type["no.Such"].misses > 0
    assert made.stats_by_type["datetime.date"].matches == 50
    mutator.set_share = 0.0
    assert mutator.mutate(one).op.startswith("havoc,rep:")
    assert isinstance(bench.child(*expected[-1])[1], File)


def test_a_type_that_no_input_has_had_is_not_drawn():
    """Nor does it cost an attempt; from the first input on that has it, it is."""

    @generator
    def gen_hour(r: Source) -> datetime.time:
        return datetime.time(r.below(24))

    def gen_rare(r: Source) -> object:
        return gen_hour(r) if r.boolean() else gen_day(r)

    bench = Bench(gen_rare)
    bench.form.stacks.push(0, "app.Mark")  # made of no choice at all
    relations = TypeRelations(bench.form.stacks, {"lib.Hour": ["datetime.time"]})
    made = Distances(random.Random(2), relations)
    made.set_goals([target({"lib.Never": 0, "app.Mark": 0, "lib.Hour": 0, "datetime.date": 3})])
    mutator = TypedMutator(
        random.Random(3), lambda entry: bench.form.annotate(entry.data),
        lambda child, parent: None, made, relations, targeted=1.0,
    )  # fmt: skip
    bench.form.build(b"\0")
    day = CorpusEntry(0, "", bench.form.used(b"\0"), 0)
    bench.form.build(b"\1")
    hour = CorpusEntry(1, "", bench.form.used(b"\1"), 0)
    assert not any(map(made.probability, made.now))
    for _ in range(40):
        assert mutator.mutate(day).op.startswith("typed:datetime.date,")
    assert made.stats_by_type["datetime.date"].picks == 40
    assert made.probability("datetime.date") == 1
    aimed = Counter(mutator.mutate(hour).op.partition(",")[0] for _ in range(40))
    assert set(aimed) == {"typed:lib.Hour"}
    assert made.stats_by_type["lib.Hour"].matches == 40
    assert 0 < made.probability("datetime.date") < made.probability("lib.Hour")
    assert made.stats_by_type["lib.Never"].picks == made.stats_by_type["app.Mark"].picks == 0
    assert made.probability("lib.Never") == 0


def test_types_that_the_same_choices_make_share_one_probability():
    stacks = TypeStacks()
    relations = TypeRelations(stacks, {})
    moment = stacks.push(0, "datetime.datetime")
    path = stacks.push(0, "pathlib.Path")
    relations.meet({moment, path})
    made = Distances(random.Random(1), relations)
    made.set_goals([target({"datetime.date": 0, "datetime.datetime": 0, "pathlib.Path": 0})])
    day, again = made.probability("datetime.date"), made.probability("datetime.datetime")
    assert day == again == pytest.approx(1 / 4), "a datetime is a date"
    assert made.probability("pathlib.Path") == pytest.approx(1 / 2)
    for _ in range(200):
        made.record_match("datetime.date")
        made.record_match("pathlib.Path")
    for _ in range(9):
        made.record_new("pathlib.Path", 3)
    assert made.stats_by_type["pathlib.Path"].new_arms == 27
    assert made.probability("pathlib.Path") > 0.8, "it brought more"
    made.weigh("datetime.date", 0)
    assert made.probability("datetime.date") == 0 < made.probability("datetime.datetime")


def test_types_that_bring_nothing_keep_their_distances():
    stacks = TypeStacks()
    relations = TypeRelations(stacks, {})
    relations.meet({stacks.push(0, "datetime.date"), stacks.push(0, "pathlib.Path")})
    made = Distances(random.Random(1), relations)
    made.set_goals([target({"datetime.date": 0, "pathlib.Path": 7})])
    assert made.probability("datetime.date") == pytest.approx(8 / 9)
    for _ in range(20_000):
        made.record_match(made.pick() or "")
    assert made.probability("datetime.date") > 0.8


def test_without_goals_no_mutation_is_targeted_whatever_share_is_set():
    made = Distances(random.Random(1))
    mutator = TypedMutator(
        random.Random(3), lambda entry: None, lambda child, parent: None, made,
        TypeRelations(TypeStacks(), {}), targeted=1.0,
    )  # fmt: skip
    others = [("structure", 0.1, lambda entry: Candidate(b"", "structure", entry.id))]
    mutator.mixed_with(others)
    entry = CorpusEntry(0, "x", b"abcdef", 0)
    made.set_goals([target({"a": 1})])
    assert mutator.mixture.shares["typed"] == mutator.targeted == 1.0
    made.set_goals([])
    assert mutator.mixture.shares["typed"] == 0.0
    assert mutator.targeted == 1.0, "it holds again when a goal comes back"
    drawn = {mutator.mutate(entry).op.partition(",")[0] for _ in range(200)}
    assert "structure" in drawn


def test_an_entry_whose_choices_are_not_known_is_mutated_as_zest_does():
    mutator = TypedMutator(
        random.Random(3), lambda entry: None, lambda child, parent: pytest.fail("known"),
        distances({"a": 1}), TypeRelations(TypeStacks(), {}), targeted=1.0,
    )  # fmt: skip
    child = mutator.mutate(CorpusEntry(0, "x", b"abcdef", 0))
    assert child.op.startswith("plain,rep:")
    assert len(child.data) == 6
