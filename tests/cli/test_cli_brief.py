"""A page about a run stays a page, whatever its log has in it."""

from __future__ import annotations

from pathlib import Path

from folding import fold

from fuzztui.cli.headless import progress_line
from fuzztui.cli.runs import RunStatus
from fuzztui.cli.status import MAX_GROUPS, status_text
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.status.status import status_dict

LONG = "\x1b" + "x" * 1_000_000


def test_brief_is_one_harmless_line_with_an_ellipsis():
    assert brief("a\nb\x1b") == "a\\nb\\e"
    assert brief("x" * 500) == "x" * 500
    assert brief("x" * 501) == "x" * 499 + "…"
    assert len(brief("\u202e" * 400)) == 500  # escapes are longer than what they stand for


def test_long_texts_are_cut():
    state = fold(
        ev.CampaignStarted(LONG, LONG, LONG),
        ev.CampaignState("failed", LONG),
        ev.InstanceState(LONG, "failed", 0, "main: " + LONG),
        ev.FindingSaved("main", "crash", "crashes/" + LONG),
        ev.FindingDescribed("main", "crash", "crashes/" + LONG, LONG, LONG, LONG, LONG, LONG),
    )
    text = status_text(Path("/run"), RunStatus(state, 1))
    assert len(text) < 10_000
    assert "…" in text and "\x1b" not in text
    assert len(progress_line(fold(ev.CampaignState(LONG)))) < 1000


def test_many_findings_are_counted():
    described = [
        ev.FindingDescribed("main", "crash", f"crashes/{n}", f"s{n}", f"title {n}")
        for n in range(900)
    ]
    saved = [ev.FindingSaved("main", "crash", f"crashes/{n}") for n in range(900)]
    text = status_text(Path("/run"), RunStatus(fold(*saved, *described), 1))
    assert sum(line.startswith("  crash: title") for line in text.splitlines()) == MAX_GROUPS
    assert f"{900 - MAX_GROUPS} more" in text


def test_elapsed_is_the_time_on_the_screens_and_a_budget_is_of_running_time():
    def elapsed(**fields):
        text = status_text(Path("/run"), RunStatus(State(t=57.0, **fields), 1))
        return next(line.split(maxsplit=1)[1] for line in text.splitlines() if "elapsed" in line)

    assert elapsed() == "57s"
    assert elapsed(budget_s=60.0) == "57s of 1m00s"
    assert elapsed(paused_s=40.0) == "57s; 17s without pauses"
    assert elapsed(paused_s=40.0, budget_s=60.0) == "57s; 17s of 1m00s without pauses"


def test_an_exact_pass_is_not_part_of_the_budget():
    state = State(
        t=57.0, budget_s=20.0, mutation={"main": ev.MutationStats("main", pass_share=0.4)}
    )
    text = status_text(Path("/run"), RunStatus(state, 1))
    elapsed = next(line for line in text.splitlines() if line.startswith("elapsed"))
    assert "20s of 20s" in elapsed and "37s" in elapsed and "57s of" not in elapsed
    assert progress_line(state).startswith("20s/20s ")
    assert status_dict(state)["running_s"] == 57.0
