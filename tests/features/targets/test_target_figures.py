"""What the log has of targets: their rows, and what ``status --json`` has of them."""

from __future__ import annotations

from folding import fold

from fuzztui.features.targets.fold import target_rows
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS, WAITS_FOR_TURN, totals
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.status.status import status_dict

FIGURES = {"share": 0.25, "weight": 2, "runs": True, "core_s": 12.5, "edges": 7}


def state():
    return fold(
        ev.CampaignStarted("c", engine=SEVERAL_TARGETS),
        ev.InstanceState("a", "running"),
        ev.InstanceState("b", "paused", reason=WAITS_FOR_TURN),
        ev.Stats("a", execs=10, edges=7, edges_total=20),
        ev.Stats("b", execs=5, edges=70, edges_total=100),
        ev.TargetShares({"a": FIGURES, "b": {**FIGURES, "runs": False, "weight": "x" * 9}}),
        ev.TargetShares({"b": "no figures", "c": {"share": 1e400, "core_s": -1}}),
    )


def test_rows() -> None:
    a, b, c = target_rows(state()).values()
    assert (a.state, a.share, a.weight, a.runs, a.core_s) == ("running", 0.25, 2, True, 12.5)
    assert (b.state, b.weight, b.runs) == ("off", 0, False)
    assert (c.share, c.core_s) == (0, 0), "numbers of a damaged log are bounded"


def test_a_target_without_a_share_is_paused_in_its_own_run() -> None:
    figures = {"a": {**FIGURES, "share": 0, "runs": False}}
    (a,) = target_rows(
        fold(
            ev.CampaignStarted("c", engine=SEVERAL_TARGETS),
            ev.InstanceState("a", "paused", reason=WAITS_FOR_TURN),
            ev.TargetShares(figures),
        )
    ).values()
    assert a.state == "paused"


def test_sums_leave_out_what_cannot_be_added() -> None:
    sums = totals(state()).stats
    assert sums.execs == 15
    assert (sums.edges, sums.edges_total) == (-1, -1)


def test_status_as_json() -> None:
    found = status_dict(state())
    assert [row["name"] for row in found["target_shares"]] == ["a", "b", "c"]
    assert found["targets"] == [], "nothing is watched"
    assert found["discovery"] is None
