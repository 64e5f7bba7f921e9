"""The trial journal: counters, the operation between them, and the last message."""

from pathlib import Path

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.kernel.wire.afl import NOT_SHOWN
from fuzztui.kernel.wire.events import Stats
from fuzztui.run.observe.fuzzer_stats import parse_stats, to_stats

BEHIND_THE_OPERATION = range(80, j.COUNTERS)


def test_counters_behind_the_operation_are_counters(tmp_path: Path) -> None:
    """The next counters: neither the operation nor the last message changes them."""
    journal = TrialJournal(tmp_path / "j", 100)
    for word in BEHIND_THE_OPERATION:
        journal.counters[word] = word
    journal.begin(1, Candidate(b"x" * 100, "o" * 500, 1, 2))
    journal.leave_message("m" * 10_000)
    assert [journal.counters[word] for word in BEHIND_THE_OPERATION] == [*BEHIND_THE_OPERATION]
    journal.close()
    again = TrialJournal(tmp_path / "j", 100)
    assert [again.counters[word] for word in BEHIND_THE_OPERATION] == [*BEHIND_THE_OPERATION]
    assert again.label() == "o" * 128
    assert again.input() == b"x" * 100
    assert set(again.last_message()) == {"m"}


def test_each_reported_counter_has_a_key_of_its_own() -> None:
    keys = list(j.REPORTED.values())
    assert len(keys) == len(set(keys))
    assert not {*range(64, 80)} & j.REPORTED.keys()


def test_each_reported_counter_is_shown_or_known_as_not_shown() -> None:
    text = "".join(f"{key}: {n}\n" for n, key in enumerate(j.REPORTED.values(), 1))
    values = parse_stats(text.encode())
    assert values is not None
    stats = to_stats("main", values, 0.0)
    known = {getattr(stats, name) for name in Stats.__dataclass_fields__ if name != "other"}
    known |= {*stats.other.values()}
    for number, key in enumerate(j.REPORTED.values(), 1):
        assert number in known or key in NOT_SHOWN, key
