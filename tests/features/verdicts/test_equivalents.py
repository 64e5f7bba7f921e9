"""Mutants that users mark as equivalent reach the verdicts file, and leave it again."""

from pathlib import Path

import pytest

from fuzztui.features.verdicts.equivalents import equivalents, file_equivalents
from fuzztui.features.verdicts.file import VerdictsError, read_mutant_verdicts
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import MarkEquivalent
from fuzztui.kernel.wire.events import CommandIssued, Event, MutantsFound, MutantState, Record

BY_HAND = """\
# ours
[[mutant]]
id = "m0"
verdict = "accepted"  # too rare

[[mutant]]
id = "m9"
verdict = "equivalent"
"""


class Log:
    """A state with three mutants."""

    def __init__(self) -> None:
        self.state, self._seq = State(), 0
        rows = [{"id": f"m{n}", "line": n, "before": "a", "after": f"b{n}"} for n in range(3)]
        self.record(MutantsFound("main", "m", "m.py", "/m.py", rows))

    def record(self, *events: Event) -> None:
        for event in events:
            self._seq += 1
            apply(self.state, [Record(self._seq, float(self._seq), event)])

    def mark(self, id: str, state: str = "equivalent", because: str = "") -> None:
        self.record(MutantState("main", id, state, reason=because))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.verdicts.toml"


def look(log: Log, file: Path, before: dict[str, str]) -> dict[str, str]:
    now = dict(equivalents(log.state))
    file_equivalents(file, log.state, before, now)
    return now


def test_marked_and_taken_back(file: Path) -> None:
    log = Log()
    file.write_text(BY_HAND)
    log.record(CommandIssued("c1", encode_command(MarkEquivalent("m1", "why")), "ada@box"))
    log.mark("m1", because="why")
    known = look(log, file, {})
    row = read_mutant_verdicts(file)["m1"]
    assert (row.verdict, row.because, row.change, row.author) == (
        "equivalent", "why", "a -> b1", "ada@box",
    )  # fmt: skip
    log.mark("m1", because="another reason")
    known = look(log, file, known)
    assert read_mutant_verdicts(file)["m1"].because == "another reason"
    log.mark("m1", "alive")
    assert look(log, file, known) == {}
    assert set(read_mutant_verdicts(file)) == {"m0", "m9"}
    assert "# ours" in file.read_text() and "# too rare" in file.read_text()


def test_what_the_file_has_is_not_written_again(file: Path) -> None:
    log = Log()
    file.write_text(BY_HAND.replace("m9", "m2"))
    before = file.stat()
    log.mark("m2")  # by the engine, at the start
    look(log, file, {})
    assert file.stat() == before


def test_an_accepted_survivor_keeps_its_row(file: Path) -> None:
    log = Log()
    file.write_text(BY_HAND)
    log.mark("m0", "alive")
    file_equivalents(file, log.state, {"m0": ""}, {})
    assert read_mutant_verdicts(file)["m0"].verdict == "accepted"


def test_nothing_marked_makes_no_file(file: Path) -> None:
    look(Log(), file, {})
    assert not file.exists()


def test_a_broken_file_is_an_error_and_stays(file: Path) -> None:
    log = Log()
    file.write_text("[[mutant]\n")
    log.mark("m1")
    with pytest.raises(VerdictsError):
        look(log, file, {})
    assert file.read_text() == "[[mutant]\n"


def test_an_array_of_inline_tables_is_an_error(file: Path) -> None:
    log = Log()
    text = 'mutant = [{id = "m0", verdict = "accepted"}]\n'
    file.write_text(text)
    log.mark("m1")
    with pytest.raises(VerdictsError):
        look(log, file, {})
    assert file.read_text() == text
