"""Scheduling and steering, feedback, findings, names, journal, spec."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, read_reported
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import Store, candidate_tail, entry_ids
from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.execute.failures import Failure, failure_of, hang_of, printable
from fuzztui.engines.findings.findings import Description, Findings
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate, from_label
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, Steerable, SteerError, ZestScheduler
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.loop.reruns import _source_of


def corpus_of(*edges: int, favored: bool = True) -> Corpus:
    corpus = Corpus()
    for i, n in enumerate(edges):
        corpus.add(CorpusEntry(i, f"id:{i:06d}", b"", n, favored=favored))
    return corpus


# ----------------------------------------------------------------------------- scheduling


def picked(scheduler: ZestScheduler | Steerable, children: int) -> list[int]:
    """The parents of so many children, each once for its visit."""
    ids = [e.id for e in (scheduler.pick() for _ in range(children)) if e]
    return [entry for entry, _ in itertools.groupby(ids)]


def test_visits_grow_as_long_as_nothing_is_found():
    corpus = corpus_of(100, 1)
    scheduler = ZestScheduler(corpus, baseline=4)
    lengths = []
    for _ in range(8):
        lengths.append([])
        for entry in corpus.entries:
            energy = scheduler.energy(entry)
            assert {e.id for e in (scheduler.pick() for _ in range(energy)) if e} == {entry.id}
            lengths[-1].append(energy)
    assert lengths == [[n, n] for n in (4, 8, 16, 32, 64, 128, 128, 128)]
    assert scheduler.cycles == 6, "the first visits of new entries are no cycle"


def test_new_entries_come_first_and_a_find_keeps_visits_short():
    corpus = corpus_of(1, 1, 1)
    scheduler = ZestScheduler(corpus, baseline=2)
    assert picked(scheduler, 7) == [0, 1, 2, 0]
    corpus.add(CorpusEntry(3, "", b"", 1))
    corpus.add(CorpusEntry(4, "", b"", 1))
    assert picked(scheduler, 3 + 2 + 2 + 4) == [0, 3, 4, 1]
    # During the second visit of entry 0 others were found: its third is no longer than that.
    assert [scheduler.energy(e) for e in corpus.entries] == [4, 4, 4, 4, 4]


def test_a_killer_gets_twice_as_many():
    corpus = corpus_of(1, 1)
    corpus.entries[1].kills = 3
    scheduler = ZestScheduler(corpus, baseline=2)
    assert [scheduler.energy(e) for e in corpus.entries] == [2, 4]


def test_a_visit_of_a_slow_entry_costs_no_more_than_one_of_an_ordinary_entry():
    corpus = Corpus()
    for number, calls in enumerate([40] * 8 + [340, 99_940]):
        corpus.add(CorpusEntry(number, "", b"", 1, calls=calls))
    usual = (100.0**8 * 400.0 * 100_000.0) ** 0.1
    assert corpus.usual_work == pytest.approx(usual)
    scheduler = ZestScheduler(corpus, baseline=1000)
    *quick, slower, slowest = (scheduler.energy(entry) for entry in corpus.entries)
    assert quick == [1000] * 8
    assert (slower, slowest) == (round(1000 * usual / 400), round(1000 * usual / 100_000))
    assert ZestScheduler(corpus, baseline=1).energy(corpus.entries[9]) == 1, "never none"


def test_an_entry_of_an_older_version_counts_as_an_ordinary_one():
    corpus = Corpus()
    for number, calls in enumerate([-1, 40, 40, -1]):
        corpus.add(CorpusEntry(number, "", b"", 1, calls=calls))
    scheduler = ZestScheduler(corpus, baseline=10)
    assert [scheduler.energy(entry) for entry in corpus.entries] == [10] * 4
    assert corpus.usual_work == pytest.approx(100)


def test_nothing_to_pick():
    corpus = corpus_of()
    assert Steerable(ZestScheduler(corpus), corpus).pick() is None


def test_entry_that_arrives_is_met_in_its_round():
    corpus = corpus_of(1)
    scheduler = ZestScheduler(corpus)
    scheduler.pick()
    corpus.add(CorpusEntry(1, "", b"", 1))
    scheduler.leave()
    picked = scheduler.pick()
    assert picked is not None
    assert picked.id == 1


WORDS_OF = ["skip", "promote", "demote", "reset", "pick", "add"]
COMMANDS = st.lists(st.tuples(st.sampled_from(WORDS_OF), st.integers(0, 7)), max_size=60)


@given(COMMANDS)
def test_steering_invariants(commands):
    """A skipped entry is never picked, there is always one to pick, promoted ones are next."""
    corpus = corpus_of(3, 1)
    scheduler = Steerable(ZestScheduler(corpus), corpus, promoted=3)
    changed: set[int] = set()
    scheduler.on_change = changed.add
    for what, number in commands:
        before = {i: scheduler.steer_of(i) for i in corpus.by_id}
        changed.clear()
        if what == "pick":
            first = scheduler.promoted[0] if scheduler.promoted else None
            previous = -1
            for _ in range(number + 1):
                picked = scheduler.pick()
                assert picked is not None
                assert picked.id not in scheduler.skipped
                others = len(corpus) - len(scheduler.skipped) > 1
                assert picked.id != previous or picked.id not in scheduler.demoted or not others
                previous = picked.id
                if first is not None:
                    assert picked.id == first
                    first = None
        elif what == "add":
            corpus.add(CorpusEntry(len(corpus), "", b"", 2))
            continue
        else:
            try:
                getattr(scheduler, what)(number)
            except SteerError:
                assert number not in corpus.by_id or what == "skip"
        after = {i: scheduler.steer_of(i) for i in corpus.by_id}
        assert {i for i in after if before[i] != after[i]} <= changed
        assert len(scheduler.skipped) < len(corpus)
        assert len(scheduler.skipped & scheduler.demoted) == 0
        assert not scheduler.demoted & set(scheduler.promoted)


def test_a_promoted_entry_gets_its_energy_once():
    corpus = corpus_of(1, 1, 1, favored=False)
    scheduler = Steerable(ZestScheduler(corpus), corpus, promoted=60)
    scheduler.skip(2)
    scheduler.promote(2)
    picks = [e.id for e in (scheduler.pick() for _ in range(61)) if e]
    assert picks == [2] * 60 + [0]


def test_a_demoted_entry_gets_one_child_a_round():
    corpus = corpus_of(100, 100, 100, favored=False)
    scheduler = Steerable(ZestScheduler(corpus), corpus, promoted=100)
    scheduler.skip(1)
    scheduler.demote(1)
    assert scheduler.steer_of(1) == "demoted"
    assert scheduler.energy(corpus.by_id[1]) == 1
    picks = [e.id for e in (scheduler.pick() for _ in range(16 + 1 + 16 + 32 + 1 + 32)) if e]
    assert picks == [0] * 16 + [1] + [2] * 16 + [0] * 32 + [1] + [2] * 32
    scheduler.promote(1)
    assert [e.id for e in (scheduler.pick() for _ in range(101)) if e] == [1] * 100 + [0]
    for undo in (scheduler.skip, scheduler.reset, scheduler.promote):
        scheduler.demote(1)
        undo(1)
        assert not scheduler.demoted


def test_a_corpus_of_demoted_entries_is_gone_round():
    corpus = corpus_of(5, 5)
    scheduler = Steerable(ZestScheduler(corpus), corpus)
    scheduler.demote(0)
    scheduler.demote(1)
    assert [e.id for e in (scheduler.pick() for _ in range(5)) if e] == [0, 1, 0, 1, 0]
    with pytest.raises(SteerError, match="there is no queue entry 7"):
        scheduler.demote(7)


# ------------------------------------------------------------------------------- feedback


def execution(outcome: Outcome, *cells: int) -> Execution:
    return Execution(outcome, b"", sum(1 << 8 * c for c in cells))


def test_valid_coverage_is_judged_apart():
    coverage = CoverageMap()
    coverage.grow(8)
    feedback = CoverageFeedback(coverage)

    def run(outcome: Outcome, *cells: int) -> tuple[str, ...]:
        seen = execution(outcome, *cells)
        reasons = feedback.judge(seen)
        if reasons:
            feedback.learn(seen, CorpusEntry(0, "id:000000", b"", 1))
        return reasons

    assert run(Outcome.INVALID, 0, 1, 2) == ("edge",)
    assert run(Outcome.INVALID, 1, 2) == ()
    assert run(Outcome.SUCCESS, 1) == ("valid-edge",)
    assert run(Outcome.SUCCESS, 1) == ()
    assert run(Outcome.SUCCESS, 3) == ("edge", "valid-edge")
    assert (feedback.edges, feedback.edges_valid) == (4, 2)


# --------------------------------------------------------------------------------- places


def crash(code: str, call: str, **names: object) -> Failure:
    exec(compile(code, "/app/parser.py", "exec"), names)
    try:
        eval(compile(call, "/harness.py", "eval"), names)
    except BaseException as e:
        return failure_of(e, {"/app/parser.py"})
    raise AssertionError


def test_place_is_the_innermost_frame_of_the_application():
    def foreign(x: int) -> None:
        raise KeyError(x)

    found = crash("def f(x):\n  g(x)\ndef g(x):\n  foreign(x)\n", "f(1)", foreign=foreign)
    assert found == Failure("crash", "KeyError @ parser.py:4 in g", "KeyError", "parser.py:4 in g")


def test_recursion_has_one_place_wherever_it_breaks():
    code = (
        "def start(n):\n  if n: return start2(n)\n  return a(0)\ndef start2(n): return start(n-1)\n"
    )
    code += "def a(n): return b(n)\ndef b(n): return a(n + 1)\n"
    places = {crash(code, f"start({n})").place for n in (0, 1, 2)}
    assert places == {"parser.py in a"}


def test_hang_is_placed_by_function():
    code, inner = (compile("x = 1", f"/app/{name}.py", "exec") for name in ("parser", "inner"))
    files = {"/app/parser.py", "/app/inner.py"}
    one = hang_of([(code, 3)], [(code, 3)], files)
    assert one == hang_of([(code, 9)], [(code, 9)], files)
    assert hang_of([], [], set()).place == ""
    # The function that happened to run is not the cause; older versions took it for that.
    other = hang_of([(code, 3)], [(code, 3), (inner, 1)], files)
    assert (other, one.before) == (one, "")
    assert other.before == "timeout @ inner.py in <module>"


@given(st.binary(max_size=3000))
def test_printable_is(data):
    shown = printable(data)
    assert shown.isprintable()
    assert len(shown) <= 203


# --------------------------------------------------------------------------- names, journal


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (Candidate(b"", "havoc,rep:2", 3), "src:000003,time:5,execs:9,op:havoc,rep:2,+cov"),
        (Candidate(b"", "splice", 3, 12), "src:000003+000012,time:5,execs:9,op:splice,+cov"),
        (Candidate(b"", "fresh"), "time:5,execs:9,op:fresh,+cov"),
        (Candidate(b"", "seed", origin="a,b/\n.x"), "time:5,execs:9,orig:a_b__.x,+cov"),
        (Candidate(b"", "sync", 4, peer="p"), "sync:p,src:000004,+cov"),
    ],
)
def test_names(candidate, name):
    assert candidate_tail(candidate, 5, 9, new=True) == name
    again = from_label(b"", candidate.label, candidate.src, candidate.src2)
    assert candidate_tail(again, 5, 9, new=True) == name
    assert again.recovered


@given(st.binary(max_size=600), st.text(max_size=40), st.integers(-1, 10**9))
def test_journal_gives_back_what_ran(data, op, src):
    file = Path("/tmp") / f"fuzztui-journal-{id(data)}"
    try:
        journal = TrialJournal(file, 500)
        journal.begin(1, Candidate(data, op.replace("\0", "") or "x", src))
        journal.close()
        again = TrialJournal(file, 500)  # as the parent sees it after a SIGKILL
        assert (again.counters[j.PHASE], again.counters[j.TRIAL]) == (j.RUNNING, 1)
        assert again.candidate().data == data[:500]
        assert again.counters[j.SRC] == src
        again.extend(b"more")
        assert again.input() == (data[:500] + b"more")[:500]
        again.close()
    finally:
        file.unlink()


def test_journal_of_another_kind_is_replaced(tmp_path):
    (tmp_path / "j").write_bytes(b"an input that afl-fuzz left" * 1000)
    journal = TrialJournal(tmp_path / "j", 100)
    assert list(journal.counters[2:]) == [0] * (j.COUNTERS - 2)


def test_a_held_input_survives_the_runs_of_others_and_the_process(tmp_path):
    journal = TrialJournal(tmp_path / "j", 100)
    assert journal.held() is None
    trimmed = Candidate(b"x" * 100, "havoc,rep:4", 3, 5)
    journal.begin(1, trimmed)
    journal.hold()
    journal.begin(2, Candidate(b"small", "seed", origin="s"), counts=False)
    again = TrialJournal(tmp_path / "j", 100)
    assert again.candidate().data == b"small"
    assert again.held() == replace(trimmed, recovered=True)
    again.release()
    assert again.held() is None
    journal.hold()
    assert TrialJournal(tmp_path / "j", 50).held() is None, "its place depends on the capacity"


def test_odd_names_in_folders(tmp_path):
    for name in ("id:000001,x", "id:12", "README.txt", "id:0000010,y", ".state"):
        (tmp_path / name).write_text("")
    assert entry_ids(tmp_path) == {1: "id:000001,x", 10: "id:0000010,y"}
    assert entry_ids(tmp_path / "none") == {}


# ------------------------------------------------------------------------------- findings


def bench(root: Path) -> tuple[Store, EventLog, TrialJournal, Findings]:
    log = EventLog(root / "events.jsonl", "main")
    store = Store(root, log, lambda s: None)
    store.create()
    journal = TrialJournal(root / ".cur_input", 100)
    return store, log, journal, Findings(store, log, journal, read_reported(root / "events.jsonl"))


FAILURE = Failure("crash", "KeyError @ x", "KeyError", "x")
WORDS = Description("KeyError: 1", "Traceback", "abc")


def test_one_file_a_cause_also_after_a_restart(tmp_path):
    *_, findings = bench(tmp_path)
    assert not findings.count_known(FAILURE)
    file = findings.save(FAILURE, b"abc", "op:x", lambda: WORDS)
    assert (tmp_path / file).read_bytes() == b"abc"
    for _ in range(9):
        assert findings.count_known(FAILURE)
    findings.recount(final=True)
    *_, journal, again = bench(tmp_path)
    assert again.count_known(FAILURE)
    again.recount(final=True)
    told = next(iter(read_reported(tmp_path / "events.jsonl").findings.values()))
    assert (told.count, told.title, told.file) == (11, "KeyError: 1", file)
    assert journal.counters[j.CRASHES] == 1


def test_counts_are_told_seldom(tmp_path):
    *_, findings = bench(tmp_path)
    findings.save(FAILURE, b"abc", "op:x", lambda: WORDS)
    for _ in range(10_000):
        findings.count_known(FAILURE)
        findings.recount()
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert 10 < len(lines) < 20


def test_what_recurs_for_weeks_is_told_ever_more_seldom(tmp_path, monkeypatch):
    """An hour is told at 1, 2, 4, ... minutes, not sixty times."""
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    *_, findings = bench(tmp_path)
    findings.save(FAILURE, b"abc", "op:x", lambda: WORDS)
    for _ in range(10_000):
        findings.count_known(FAILURE)
    findings.recount()
    before = len((tmp_path / "events.jsonl").read_text().splitlines())
    for _ in range(3600):
        now += 1
        findings.count_known(FAILURE)
        findings.recount()
    lines = (tmp_path / "events.jsonl").read_text().splitlines()[before:]
    assert 5 <= len(lines) <= 7
    findings.recount(final=True)
    assert next(iter(read_reported(tmp_path / "events.jsonl").findings.values())).count == 13_601


def test_description_without_file_is_saved_under_its_name(tmp_path):
    """Killed between the two writes."""
    *_, findings = bench(tmp_path)
    file = findings.save(FAILURE, b"abc", "time:1", lambda: WORDS)
    (tmp_path / file).unlink()
    *_, again = bench(tmp_path)
    assert not again.count_known(FAILURE)
    assert again.save(FAILURE, b"abc", "time:2", lambda: WORDS) == file


def test_event_lines_survive_a_torn_one(tmp_path):
    file = tmp_path / "events.jsonl"
    file.write_bytes(
        b'{"k":"command_applied","id":"c1"}\n{"k":"comm\n\xff\xfe\n[1]\n{"k":"new","id":2}\n'
    )
    EventLog(file, "main").message("info", "hello")
    assert read_reported(file).answered == {"c1"}
    assert json.loads(file.read_bytes().splitlines()[-1])["text"] == "hello"


def test_events_wait_for_a_place(tmp_path):
    log = EventLog(tmp_path / "later" / "events.jsonl", "main")
    log.message("info", "one")
    log.message("info", "two")
    (tmp_path / "later").mkdir()
    log.flush()
    texts = [
        json.loads(x)["text"] for x in (tmp_path / "later/events.jsonl").read_text().splitlines()
    ]
    assert texts == ["one", "two"]


# ----------------------------------------------------------------------------------- spec


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": {}}, "target.function is missing"),
        ({"target": {"function": 3}}, "target.function must be str"),
        ({"engine": {"kind": "zest", "coverage": "all"}}, "edges, counts"),
        ({"engine": {"kind": "zest", "max_size": 0}}, "max_size"),
        ({"proto": 2}, "proto 2"),
        ({"target": {"function": "a:b", "expected": [1]}}, "target.expected"),
        ({"target": {"function": "a:b", "input": "json"}}, "auto, text, bytes"),
    ],
)
def test_bad_spec(tmp_path, change, words):
    good: dict[str, object] = {
        "proto": 1, "instance": "main", "dir": "/d/main",
        "engine": {"kind": "zest"}, "target": {"function": "m:f"},
    }  # fmt: skip
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(good))
    assert read_spec(file).sync_dir == Path("/d")
    file.write_text(json.dumps(good | change))
    with pytest.raises(CannotStart) as caught:
        read_spec(file)
    assert words in str(caught.value)
    assert "spec.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_spec_that_is_no_json_object(tmp_path, text):
    file = tmp_path / "spec.json"
    file.write_text(text)
    with pytest.raises(CannotStart, match=r"spec\.json"):
        read_spec(file)


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("id:000012,src:000003,time:5", 3),
        ("id:000012,orig:seed", NO_ENTRY),
        ("id:000012,src:²²²²²²", NO_ENTRY),
    ],
)
def test_the_parent_in_a_file_name(name, parent):
    assert _source_of(name) == parent
