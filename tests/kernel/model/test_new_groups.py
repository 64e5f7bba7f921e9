"""Which groups of findings are new."""

from __future__ import annotations

from folding import fold
from restored import restored

from fuzztui.cli.mutant_lines import grouped
from fuzztui.kernel.base.signals import signal_signature
from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.finding_tallies import group_heads, tallies
from fuzztui.kernel.model.new_groups import Notifications, groups_after, new_groups, target_groups
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import FindingDescribed, FindingSaved, Notified
from fuzztui.kernel.wire.finding_kinds import CRASH, HANG
from fuzztui.tools.status.metrics import exposition
from fuzztui.tools.status.status import status_dict


def described(name: str, signature: str) -> FindingDescribed:
    return FindingDescribed("main", "crash", name, signature, "title")


def test_findings_of_which_only_the_signal_is_known_are_news_of_their_own() -> None:
    by_signal = signal_signature(11)
    state = fold(
        described("1", by_signal), described("2", by_signal), described("3", "A"),
        described("4", "A"),
    )  # fmt: skip
    assert len(list(target_groups(state))) == 3
    tally = tallies(state)["crash"]
    assert (tally.groups, tally.unexamined, tally.files) == (1, 2, 4)
    assert [f.file for f in new_groups(state, {"main/4"}, 100.0)] == ["1", "2"]


def test_findings_that_were_not_examined_are_counted_apart_and_one_piece_of_news() -> None:
    saved = [FindingSaved("main", "crash", str(n)) for n in range(40)]
    hang = FindingSaved("main", "hang", "h")
    state = fold(*saved, hang, described("0", "A"), described("1", "B"), described("2", "A"))
    tally = tallies(state)["crash"]
    assert (tally.groups, tally.unexamined, tally.files, tally.open) == (2, 37, 40, 2)
    assert len(list(target_groups(state))) == 4  # A, B, other crashes, hangs
    assert [f.file for f in new_groups(state, {"main/0"}, 100.0)] == ["1", "3", "h"]
    assert grouped(tally) == "2 groups (3 files), 37 not examined yet"
    assert (grouped(tallies(state)["hang"]), grouped(tallies(State())["crash"])) == (
        "1 not examined yet", "0",
    )  # fmt: skip
    status = status_dict(state)
    keys = "groups", "open_groups", "unexamined"
    assert [(status[key]["crash"], status[key]["hang"]) for key in keys] == [
        (2, 0), (2, 0), (37, 1),
    ]  # fmt: skip
    (row,) = status["instances"]
    assert (row["crashes"], len(group_heads(state, CRASH)), len(group_heads(state, HANG))) == (
        40, 2, 1,
    )  # fmt: skip
    lines = exposition([status | {"run": "r"}]).splitlines()
    assert [x.split()[-1] for x in lines if x.startswith("fuzztui_unexamined_findings{")] [:2] == [
        "37", "1",
    ]  # fmt: skip


def test_groups_since_a_record_are_those_of_which_the_first_finding_is_later() -> None:
    state = fold(described("1", "A"), described("2", "B"), described("3", "A"))
    assert [groups_after(state, seq) for seq in range(4)] == [2, 1, 0, 0]


def test_what_was_reported_survives_a_checkpoint() -> None:
    state = fold(
        FindingSaved("main", "crash", "1"), Notified("findings", "x", ["main/1"]),
        Notified("stall", "x"), Notified("stall", "x", problem="exit status 1"),
    )  # fmt: skip
    assert state.part(Notifications) == Notifications({"main/1": 2.0}, 3.0)
    assert restored(to_json(state)).part(Notifications) == state.part(Notifications)
