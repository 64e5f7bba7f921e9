"""The fold: never raises, and the cut into batches and checkpoints never shows."""

import itertools
import json
from collections import Counter
from dataclasses import replace

import pytest
from event_strategies import HOSTILE_FLOATS, INSTANCES, INTS, RULES, logs, of_kind
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from restored import restored

from fuzztui.features.fuzzfirst import fold as fuzzfirst
from fuzztui.features.mutators import fold as mutators
from fuzztui.features.targeting import fold as targeting
from fuzztui.kernel.model import selectors
from fuzztui.kernel.model.chain import Chain, Link
from fuzztui.kernel.model.checkpoint import CheckpointError, CheckpointMark, tables, to_json
from fuzztui.kernel.model.commands import missed_commands, unanswered
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.lineage import lineage
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.progress import verdict
from fuzztui.kernel.model.series import LIMIT
from fuzztui.kernel.model.state import (
    MUTANT_STATES,
    RECENT_COMMANDS,
    RECENT_RECORDS,
    Changes,
    State,
)
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import decode_record
from fuzztui.kernel.wire.commands import SetMixture, TypeCommand
from fuzztui.kernel.wire.mixture import MAX_ARMS, MAX_NAME
from fuzztui.tools.status.status import status_dict

thorough = settings(max_examples=examples(80))


def folded(records):
    state = State()
    apply(state, records)
    return state


def through_json(data):
    return json.loads(json.dumps(data, allow_nan=False))


def as_told(records):
    """Without what no supervisor says.

    Of an instance that fuzzes a mutant it says so before all else, and of no findings.
    """
    known, fuzzing, kept = set(), set(), []
    for record in records:
        event = record.event
        name = getattr(event, "instance", None)
        if isinstance(event, ev.InstanceHello) and event.mutant:
            if name in known and name not in fuzzing:
                continue
            fuzzing.add(name)
        if not (isinstance(event, ev.FindingSaved | ev.FindingDescribed) and name in fuzzing):
            kept.append(record)
            known.add(name)
            known.update(getattr(event, "instances", ()))
    return kept


def same(a, b):
    """Equal, and with tables in the same order."""
    assert a == b
    assert list(a.entries) == list(b.entries)
    assert list(a.findings) == list(b.findings)
    assert list(a.mutants) == list(b.mutants)
    assert list(a.instances) == list(b.instances)


@thorough
@given(logs(), st.lists(st.integers(0, 40)))
def test_any_cut_into_batches_gives_the_same_state(records, cuts):
    state = State()
    edges = sorted({0, len(records), *(c for c in cuts if c < len(records))})
    changes = Changes()
    for a, b in itertools.pairwise(edges):
        changes |= apply(state, records[a:b])
    whole = State()
    at_once = apply(whole, records)
    same(state, whole)
    assert changes == at_once


@thorough
@given(logs(), st.integers(0, 40))
def test_going_on_from_a_checkpoint_gives_the_same_state(records, cut):
    early = folded(records[:cut])
    again = restored(through_json(to_json(early)))
    same(again, early)
    apply(again, records[cut:])
    same(again, folded(records))
    same(early, folded(records[:cut]))


@thorough
@given(logs(max_size=60), st.sets(st.integers(1, 60)))
@example(
    [ev.Record(1, 0.0, ev.VerdictsChanged([{"verdict": "known"}, {}]))], {1}
)  # given, withdrawn
def test_any_link_of_a_chain_is_the_state_of_its_record(records, cuts):
    chain, state, mark = Chain(), State(), CheckpointMark()
    for cut in sorted(c for c in cuts if c <= len(records)):
        apply(state, records[state.seq : cut])
        data = through_json(to_json(state, mark))
        rows = tables(data, mark.tables.mutants)
        mark = CheckpointMark.of(state)
        head = data["head"]
        chain.links.append(
            Link(
                state.seq,
                state.cost,
                state.t,
                rows,
                data["recent"],
                lambda head=head: through_json(head),
            )
        )
    for n, link in enumerate(chain.links, 1):
        again = chain.restore(n)
        same(again, folded(records[: link.seq]))
        apply(again, records[link.seq :])
        same(again, folded(records))


@given(logs())
def test_records_again_change_nothing(records):
    state = folded(records)
    assert apply(state, records) == Changes()
    same(state, folded(records))


@thorough
@given(logs(floats=HOSTILE_FLOATS), st.floats(), st.integers(0, 2**80))
def test_the_fold_never_raises_and_stays_json(records, t, seq):
    records = [*records, ev.Record(seq, t, ev.Stats("main", execs=5))]
    state = folded(records)
    again = restored(through_json(to_json(state)))
    same(again, state)
    json.dumps(status_dict(state), allow_nan=False)


NUMBERS = st.one_of(INTS, st.floats(-(2**62), 2**62))


KEYS = st.text(max_size=3).filter(lambda key: key != "h")  # that would be a host's


@given(st.lists(st.dictionaries(KEYS, st.text() | NUMBERS)))
def test_kinds_of_the_future_are_counted(dicts):
    lines = [json.dumps({**d, "s": n, "t": 1, "k": f"k{n % 3}"}) for n, d in enumerate(dicts, 1)]
    state = folded([decode_record(line) for line in lines])
    assert sum(state.unknown.values()) == len(lines)
    assert len(state.recent) == len(lines)
    to_json(state)


@thorough
@given(logs())
def test_totals_are_what_the_instances_add_up_to(records):
    state = folded(as_told(records))
    t = selectors.totals(state).stats

    def last(name):
        return state.series[name].last if name in state.series else 0

    assert last("execs") == t.execs
    assert last("corpus") == t.corpus
    assert last("crashes") == t.crashes
    assert last("hangs") == t.hangs
    if all(abs(i.execs_per_sec) < 1e9 for i in state.instances.values()):
        big = any(
            isinstance(r.event, ev.Stats) and abs(r.event.execs_per_sec) > 1e9 for r in records
        )
        known = max(0.0, t.execs_per_sec)
        assert big or last("rate") == pytest.approx(known, abs=1e-6)
    if "edges" in state.series and all(i.stats.edges >= 0 for i in state.instances.values()):
        assert last("edges") == t.edges


@thorough
@given(logs(max_size=60))
def test_tables_agree_with_each_other(records):
    state = folded(records)
    for key, entry in state.entries.items():
        assert entry.key == key == f"{entry.instance}/{entry.id}"
    for i in state.instances.values():
        files = [f for f in state.findings.values() if f.instance == i.id and f.saved]
        assert i.crashes >= i.crash_files
        assert i.entry_files == sum(e.saved for e in state.entries.values() if e.instance == i.id)
        assert i.crash_files + i.hang_files == len(files)
    grouped = [key for keys in state.groups.values() for key in keys]
    assert sorted(grouped) == sorted(k for k, f in state.findings.items() if f.signature)
    for signature, keys in state.groups.items():
        group = [state.findings[k] for k in keys]
        assert [f.seq for f in group] == sorted(f.seq for f in group)
        assert {f.signature for f in group} == {signature}
        assert [f.first for f in group] == [True] + [False] * (len(group) - 1)
    for row in [*state.entries.values(), *state.findings.values()]:
        keys = [s.key for s in lineage(state, row)]
        assert len(keys) == len(set(keys))


@thorough
@given(logs(max_size=60), st.lists(st.sampled_from(RULES), max_size=3))
def test_rules_about_frames_group_all_findings_whenever_they_come(records, rules):
    early, late = (ev.Record(n, 1e6, ev.SkippedFrames(rules)) for n in (1, len(records) + 2))
    records = [r for r in records if not isinstance(r.event, ev.SkippedFrames)]
    shifted = [replace(r, seq=r.seq + 1) for r in records]
    first, last = folded([early, *shifted]), folded([*shifted, late])

    def grouped(state):
        return {key: (f.signature, f.place, f.first) for key, f in state.findings.items()}

    assert grouped(first) == grouped(last)
    assert first.groups == last.groups
    assert (first.regrouped, first.plain_signatures) == (last.regrouped, last.plain_signatures)
    bare = folded(records)
    apply(last, [ev.Record(len(records) + 3, 1e6, ev.SkippedFrames([]))])
    assert grouped(last) == grouped(bare)
    assert last.regrouped == {name: {name: len(keys)} for name, keys in bare.groups.items()}


@thorough
@given(logs(max_size=60))
def test_mutants_are_counted_as_their_rows_say(records):
    state = folded(records)
    rows = list(state.mutants.values())
    counts = {word: n for word, n in state.mutant_counts.items() if n}
    assert counts == Counter(m.state for m in rows)
    verdicts = {word: n for word, n in state.mutant_verdicts.items() if n}
    assert verdicts == Counter(filter(None, map(verdict, rows)))
    assert state.static_mutants == sum(m.static for m in rows)
    assert state.accepted_survivors == sum(m.accepted and m.survives for m in rows)
    assert all(m.id in state.accepted_mutants for m in rows if m.accepted)
    assert all(key == m.id for key, m in state.mutants.items())
    assert all(m.state in MUTANT_STATES for m in rows)
    assert all((m.killed_t >= 0) == (m.state == "killed") for m in rows)
    if rows:
        assert state.series["killed"].last == counts.get("killed", 0)
    summary = mutants_summary(state)
    if summary.score is not None and summary.adjusted is not None:
        assert 0 <= summary.score <= summary.adjusted <= 1


@thorough
@given(logs(max_size=60, floats=HOSTILE_FLOATS), st.floats(0, 1e9))
def test_a_queue_of_mutants_can_always_be_told_of(records, now):
    state = folded(records)
    rows = fuzzfirst.queue(state)
    assert all(m.stage in fuzzfirst.WAITING and m.state == "pending" for m in rows)
    assert [m.place for m in rows] == sorted(m.place for m in rows)
    view = fuzzfirst.outlook(state, now)
    assert view.waiting == len(rows)
    assert 0 <= view.left <= len(rows)
    assert fuzzfirst.outlook(state, now, rows) == view
    sorted(state.mutants.values(), key=fuzzfirst.order)
    for m in state.mutants.values():
        assert fuzzfirst.fuzzed_for(state, m, now) >= 0
        assert all(type(n) is int for n in m.turn_results.values())
        fuzzfirst.same_program(m, state.mutants)
    for row in [*state.entries.values(), *state.findings.values()]:
        behind = fuzzfirst.mutant_behind(state, row)
        assert not behind or any(i.mutant == behind for i in state.instances.values())


@thorough
@given(logs(max_size=60))
def test_nobody_elses_word_brings_a_killed_mutant_back(records):
    """Except a user's, and then anybody's."""
    state = State()
    for record in records:
        event = record.event
        killed_by = {m.id: m.instance for m in state.mutants.values() if m.state == "killed"}
        apply(state, [record])
        for key, name in killed_by.items():
            now = state.mutants[key]
            if now.state != "killed" or now.instance != name:
                assert isinstance(event, ev.MutantState)
                assert event.id == key
                assert event.instance == name or event.state in ("skipped", "equivalent")


@settings(max_examples=examples(10))
@given(st.integers(1, 3), st.floats(0.01, 700))
def test_a_state_is_bounded(instances, step):
    state = State()
    n = 3000
    apply(
        state,
        (
            ev.Record(i, round(i * step, 4), ev.Stats(INSTANCES[i % instances], execs=i, edges=i))
            for i in range(1, n)
        ),
    )
    for series in state.series.values():
        assert len(series.times) <= LIMIT
        assert series.times == sorted(series.times)
    assert state.series["execs"].at(state.t) == state.series["execs"].last
    assert len(state.recent) <= RECENT_RECORDS
    assert len(state.commands) <= RECENT_COMMANDS


def test_data_that_is_no_checkpoint_is_refused():
    data = to_json(State())
    for broken in (
        None,
        [],
        {},
        {**data, "schema": 0},
        {**data, "head": {}},
        {**data, "entries": 3},
        {**data, "mutants": [["a", {"state": "killed"}]]},
        {**data, "mutants": [[]]},
    ):
        with pytest.raises(CheckpointError):
            restored(broken)
    assert restored(data) == State()


def test_rows_are_shared_and_never_changed():
    state = folded([ev.Record(1, 0.0, ev.Stats("main"))])
    with pytest.raises(AttributeError):
        state.instances["main"].nothing = 1
    assert replace(Changes(), campaign=True) | Changes() == Changes(campaign=True)


@thorough
@given(logs(max_size=60, floats=HOSTILE_FLOATS))
def test_operators_can_always_be_told_of(records):
    state = folded(records)
    for name, f in state.mutators.items():
        assert name in state.instances
        assert len(f.names) == len(set(f.names)) <= MAX_ARMS
        assert all(isinstance(n, str) and 0 < len(n) <= MAX_NAME for n in f.names)
        for figures in (f.tried, f.applied, f.found, f.crashes, f.weights):
            assert len(figures) == len(f.names)
            assert all(type(n) is int and n >= 0 for n in figures)
        assert name in state.mixture_changes
    told = [
        *state.mutators.values(),
        *filter(None, [state.finished_turns]),
    ]  # also of turns that are over
    rows = mutators.arms(state)
    for arm in rows.values():
        assert arm.applied == sum(
            f.applied[f.names.index(arm.name)] for f in told if arm.name in f.names
        )
        assert 0 <= arm.share <= 1
        assert 0 <= arm.bar <= 1
    whole = mutators.mixture_summary(state)
    assert (whole is None) == (not told)
    assert whole is None or all(arm.found for arm in whole.best)
    for _, command in unanswered(state, SetMixture):
        assert not command.mixture.problem


@thorough
@given(logs(max_size=60, floats=HOSTILE_FLOATS))
def test_types_and_targets_can_always_be_told_of(records):
    state = folded(records)
    for name, f in state.types.items():
        assert name in state.instances
        assert len(f.names) == len(set(f.names)) <= targeting.MAX_TYPES
        assert all(isinstance(n, str) and 0 < len(n) <= targeting.MAX_NAME for n in f.names)
        for figures in (f.picks, f.matches, f.misses, f.new_arms, f.probabilities):
            assert len(figures) == len(f.names)
            assert all(type(n) is int and n >= 0 for n in figures)
        assert all(type(n) is int and n >= -1 for n in f.distances)
        assert all(0 <= n <= 10**6 for n in f.weights)
        assert all(n >= 1 for n in f.factors)
        assert 0 <= f.targeted <= 1
        assert min(f.targets, f.uncovered, f.frontier) >= 0
    for name, left in state.uncovered_goals.items():
        assert name in state.instances
        assert len(left) <= targeting.MAX_GOALS
        for location, row in left.items():
            assert 0 < len(location) <= targeting.MAX_LOCATION
            assert 0 <= row.reached <= row.checked_trials
            assert [d for _, d in row.types] == sorted(d for _, d in row.types)
    rows = list(targeting.type_rows(state).values())
    assert [r.probability for r in rows] == sorted((r.probability for r in rows), reverse=True)
    assert sum(r.picks for r in rows) == sum(sum(f.picks) for f in state.types.values())
    left_rows = targeting.goal_rows(state)
    assert [r.frontier for r in left_rows.values()] == sorted(
        (r.frontier for r in left_rows.values()), reverse=True
    )
    assert all(any(at in left for left in state.uncovered_goals.values()) for at in left_rows)
    assert all(-1 <= targeting.reached_share(row) <= 1 for row in left_rows.values())
    assert (targeting.targeting_summary(state) is None) == (not state.types)
    for _, command in unanswered(state, TypeCommand):
        assert not getattr(command, "problem", "")
    for command in missed_commands(state, {}):
        assert command.lasting
        assert not command.instance
        assert not command.problem
    json.dumps(targeting.types_dict(state), allow_nan=False)


@thorough
@given(st.lists(of_kind(ev.GoalsUncovered), max_size=12))
def test_what_is_left_is_what_was_told_and_is_not_gone(events):
    state = folded([ev.Record(n, float(n), event) for n, event in enumerate(events, 1)])
    expected: dict[str, set[str]] = {}
    for e in events:
        before = set() if e.anew else expected.get(e.instance, set())
        told = {at for at, row in e.left.items() if isinstance(row, dict) and 0 < len(at) <= 500}
        expected[e.instance] = (before | told) - {at for at in e.gone if isinstance(at, str)}
    assert {name: set(left) for name, left in state.uncovered_goals.items()} == expected
