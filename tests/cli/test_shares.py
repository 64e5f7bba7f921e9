"""More edges found than there are in all: a number without a share, wherever it is shown."""

from __future__ import annotations

import pytest
from watch_lab import Fuzzer, stats

from fuzztui.cli.headless import progress_line
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Record, Stats
from fuzztui.tui.labels.instances import whole
from fuzztui.tui.labels.status import status_of
from fuzztui.tui.screens.overview.tiles import tiles_of


def shown(edges: int, total: int) -> tuple[str, float, str, str]:
    """The tile's note and share, the instance's row, the progress line."""
    state = State()
    apply(state, [Record(1, 1.0, Stats("main", 9, edges=edges, edges_total=total))])
    status = status_of(state, 1.0)
    tile = next(t for t in tiles_of(status) if t.label == "edges")
    row = next(f for f in whole(state.instances["main"], state, status) if f.name == "edges")
    return (
        " ".join(tile.below),
        tile.share,
        "".join(s.text for s in row.spans),
        progress_line(state),
    )


def test_a_share_where_there_is_one() -> None:
    note, share, row, line = shown(50, 200)
    assert ("25" in note, share, "of 200" in row, "50/200" in line) == (True, 0.25, True, True)


@pytest.mark.parametrize(("edges", "total"), [(305, 100), (305, 0), (305, -1)])
def test_no_share_of_less_than_there_is(edges: int, total: int) -> None:
    note, share, row, line = shown(edges, total)
    assert "%" not in note + row + line
    assert share < 0 or share == 0
    assert "305" in row and " of " not in row
    assert "edges 305  " in line


def test_a_foreign_status(tmp_path, cli) -> None:
    fuzzer = Fuzzer(tmp_path / "main")
    (fuzzer.path / "fuzzer_stats").write_text(
        stats(fuzzer.start, 60, edges_found=305, total_edges=100)
    )
    (line,) = [w for w in cli("status", fuzzer.path).out.splitlines() if w.startswith("coverage")]
    assert "305 edges" in line
    assert "%" not in line and " of " not in line
