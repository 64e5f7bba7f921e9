"""What a generator made of each entry and finding is in the log."""

from pathlib import Path

import pytest
from homes import GENERATED, Home

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import InputShown

pytestmark = pytest.mark.slow

APP = """
def check(rows):
    for row in rows:
        if row["name"] == "bb" and row["n"] > 3:
            raise KeyError(row["name"])
        if row["n"] > 200:
            return 1
    return len(rows)
"""
GENERATOR = """
class Odd(list):
    def __repr__(self):
        if len(self) == 3:
            raise ValueError("no repr")
        return super().__repr__()

def make(source):
    n = source.integer(0, 4)
    return Odd({"name": source.text("ab", 0, 3), "n": source.integer(0, 255)} for _ in range(n))
"""


@pytest.mark.parametrize("kind", ["zest", "mu2"])
def test_generated_inputs_are_in_the_log(tmp_path: Path, kind: str) -> None:
    home = Home(tmp_path)
    home.file.write_text(GENERATED.format(kind=kind))
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "gen.py").write_text(GENERATOR)
    home(str(home.file), "--headless", code=10)
    records = list(LogReader(home.run).records())
    state = State()
    apply(state, records)
    by_seq = {r.seq: r.event for r in records}
    shown = [e for e in state.entries.values() if e.shown_seq]
    assert len(shown) > len(state.entries) / 3  # some have no repr, and the campaign goes on
    for entry in shown:
        event = by_seq[entry.shown_seq]
        assert isinstance(event, InputShown) and event.text.startswith(entry.preview)
        assert event.text == "[]" or event.text.startswith("[{'name': ")
    assert any(f.shown_seq for f in state.findings.values())
    assert not any(isinstance(r.event, InputShown) for r in state.recent)
