"""What the log has of siblings: their rows, what they count for, and what is shown."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from folding import fold

from fuzztui.kernel.wire import events as ev
from fuzztui.machines.siblings.fold import SiblingState, rows, sibling_rows
from fuzztui.machines.siblings.service import REMOVED, services
from fuzztui.tools.status.status import status_dict

FIRST = SiblingState("lf")
LATER = SiblingState("lf", 7, 5, 3, 2, 12.5, behind=True, problem="x: Permission denied")


def state():
    return fold(
        ev.CampaignStarted("c", engine="afl", instances=["main", "s1"]),
        FIRST,
        ev.PassiveInstance("lf", "/lf/corpus", 5),
        ev.EntrySaved("main", 0, "queue/a"),
        ev.EntrySaved("main", 1, "queue/b", sync="lf"),
        ev.EntrySaved("s1", 1, "queue/b", sync="lf"),
        ev.EntrySaved("main", 2, "queue/c", sync="s1"),
        ev.EntrySaved("main", 9, "queue/again", sync="lf", first=1),
        LATER,
    )


def test_the_latest_event_counts_and_an_entry_once() -> None:
    assert list(sibling_rows(state())) == [(LATER, 1)]


def test_status_as_json_and_text() -> None:
    (row,) = status_dict(state())["siblings"]
    assert (row["imported"], row["kept"], row["new_t"], row["behind"]) == (5, 1, 12.5, True)
    assert status_dict(fold(FIRST))["siblings"][0]["new_t"] is None
    assert "siblings" not in status_dict(fold(ev.CampaignStarted("c", "zest")))
    assert [name for name, _ in rows(state(), Path("run"))] == ["sibling", ""]


def test_a_sibling_that_was_removed_from_the_file_says_so_once() -> None:
    campaign = SimpleNamespace(table=lambda name: {})
    before = fold(ev.CampaignStarted("c", engine="afl"), LATER)
    context = SimpleNamespace(campaign=campaign, state=before, is_hub=False)
    (service,) = services(context)
    (gone,) = service.at_start()
    assert (gone.imported, gone.behind, gone.problem) == (5, True, REMOVED)
    context.state = fold(ev.CampaignStarted("c", engine="afl"), gone)
    assert not service.at_start()
