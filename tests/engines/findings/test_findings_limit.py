"""Which of many new findings are saved."""

from pathlib import Path

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, read_reported
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import CRASHES, Store, entry_ids
from fuzztui.engines.execute.failures import Failure
from fuzztui.engines.findings.findings import WINDOW_TRIALS, Description, FindingLimit, Findings


def crash(kind: str, place: str) -> Failure:
    return Failure("crash", f"{kind} @ {place}", kind, place)


def signatures(root: Path) -> list[str]:
    reported = read_reported(root / "events.jsonl").findings
    return [event.signature for event in reported.values()]


class Bench:
    """One instance's findings; ``meet`` is what the loop does with a failure."""

    def __init__(self, root: Path, most: int) -> None:
        self.root = root
        log = EventLog(root / "events.jsonl", "main")
        store = Store(root, log, lambda s: None)
        store.create()
        self.journal = TrialJournal(root / ".cur_input", 100)
        told = read_reported(root / "events.jsonl")
        self.findings = Findings(store, log, self.journal, told, most=most)

    def meet(self, failure: Failure, trial: int) -> bool:
        self.journal.counters[j.TRIAL] = trial
        assert (failure in self.findings) in (True, False)
        if self.findings.count_known(failure):
            return False
        words = Description(failure.title, "", "")
        self.findings.save(failure, b"x", f"time:1,execs:{trial},op:x", lambda: words)
        return True

    def messages(self) -> list[str]:
        text = (self.root / "events.jsonl").read_text()
        return [line for line in text.splitlines() if '"message"' in line]


def test_a_flood_is_cut_off_and_another_bug_is_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 20)
    saved = [bench.meet(crash(f"E{n}", "app.py:1 in f"), n) for n in range(1, 900)]
    assert saved == [True] * 20 + [False] * 879
    for n, (kind, place) in enumerate([("KeyError", "app.py:9 in g"), ("KeyError", "b.py:2 in h")]):
        assert bench.meet(crash(kind, place), 900 + n)
        assert crash(kind, place) in bench.findings
    assert len(entry_ids(tmp_path / CRASHES)) == 22
    bench.findings.recount(final=True)
    first, last = bench.messages()
    assert "engine.max_findings" in first
    assert "879" in last and "engine.max_findings = 20" in last


def test_the_next_worker_does_not_report_the_flood_again(tmp_path: Path) -> None:
    worker = Bench(tmp_path, 20)
    for n in range(1, 100):
        worker.meet(crash(f"E{n}", "app.py:1 in f"), n)
    worker.findings.recount(final=True)
    assert worker.journal.counters[j.NOT_SAVED] == 79
    told = worker.messages()
    again = Bench(tmp_path, 20)
    for n in range(50, 120):
        again.meet(crash(f"E{n}", "app.py:1 in f"), n)
    again.findings.recount(final=True)
    assert again.messages() == told
    assert again.journal.counters[j.NOT_SAVED] == 79, "they may be the same ones"
    for n in range(120, 150):
        again.meet(crash(f"E{n}", "app.py:1 in f"), n)
    again.findings.recount(final=True)
    assert again.journal.counters[j.NOT_SAVED] == 100
    assert len(again.messages()) == len(told) + 1


def test_one_class_at_ever_new_places_is_a_flood_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 20)
    saved = [bench.meet(crash("KeyError", f"<string>:{n} in f"), n) for n in range(1, 200)]
    assert sum(saved) == 20
    assert bench.meet(crash("ValueError", "<string>:7 in g"), 201)


def test_a_flood_of_rare_ones_ends_as_well(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 20)
    saved = [bench.meet(crash(f"E{n}", f"a.py:{n} in f"), n) for n in range(1, 200)]
    assert saved == [True] * 40 + [False] * 159


def test_what_was_not_saved_gets_another_chance(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 4)
    for n in range(10):
        bench.meet(crash(f"E{n}", "a.py:1 in f"), n)
    late = crash("E9", "a.py:1 in f")
    assert late in bench.findings
    assert not bench.meet(late, WINDOW_TRIALS - 1)
    assert bench.meet(late, WINDOW_TRIALS)


def test_a_restart_does_not_begin_to_count_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 4)
    for n in range(4):
        assert bench.meet(crash(f"E{n}", "a.py:1 in f"), 1000 + n)
    again = Bench(tmp_path, 4)
    assert not again.meet(crash("E5", "a.py:1 in f"), 1005)
    assert not again.meet(crash("E0", "a.py:1 in f"), 1006)
    assert again.meet(crash("E5", "a.py:1 in f"), 1000 + WINDOW_TRIALS)


def test_there_is_an_end_to_it_as_in_afl() -> None:
    limit, saved, trial = FindingLimit(2), 0, 0
    for n in range(1000):
        trial += WINDOW_TRIALS
        if limit.allows(f"E{n} @ p", "p", trial):
            limit.note(f"E{n} @ p", "p", trial)
            saved += 1
    assert saved == 100


def test_no_limit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 0)
    assert all(bench.meet(crash(f"E{n}", "p"), n) for n in range(300))
    bench.findings.recount(final=True)
    assert not bench.messages()


def test_a_signature_of_an_older_version_is_known(tmp_path: Path) -> None:
    """A run that is resumed has no second file, nor a second group, for the same cause."""
    old = Failure("differs", "differs @ bad 'abcd' / accepted", "differs", "")
    new = Failure("differs", "differs @ bad '' / accepted", "differs", "", old.signature)
    assert Bench(tmp_path, 0).meet(old, 1)
    again = Bench(tmp_path, 0)
    assert new in again.findings and not again.meet(new, 2)
    again.findings.recount(final=True)
    assert signatures(tmp_path) == [old.signature]
    (tmp_path / CRASHES / next(iter(entry_ids(tmp_path / CRASHES).values()))).unlink()
    third = Bench(tmp_path, 0)  # described, but its file was lost: saved again under that name
    assert third.meet(new, 3)
    assert signatures(tmp_path) == [old.signature]
