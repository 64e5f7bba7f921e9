"""What mutation analysis has come to: the mutation score, and where the time went."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fuzztui.model.progress import tally
from fuzztui.model.state import MUTANT_STATES, State


@dataclass(frozen=True, slots=True)
class Summary:
    """How many mutants are in each state, and what follows from that.

    A score is a part of 1, None where there is nothing to divide by.
    """

    total: int
    killed: int
    alive: int
    pending: int
    skipped: int
    equivalent: int
    invalid: int
    static: int
    """Of all: how many cannot be swapped in, and run in a child of their own."""
    score: float | None
    """Killed of all that can be made. Skipped and equivalent mutants count as not killed."""
    adjusted: float | None
    """The same without skipped and equivalent ones."""


def score_of(killed: int, of: int) -> float | None:
    """The mutation score; None when there are no mutants."""
    return killed / of if of > 0 else None


def mutants_summary(state: State) -> Summary:
    """The sums over all mutants."""
    counts = {word: state.mutant_counts.get(word, 0) for word in MUTANT_STATES}
    total, killed = len(state.mutants), counts["killed"]
    made = total - counts["invalid"]
    return Summary(
        total=total,
        static=state.static_mutants,
        score=score_of(killed, made),
        adjusted=score_of(killed, made - counts["skipped"] - counts["equivalent"]),
        **counts,
    )


_TIMES = ("original_s", "mutants_s", "compile_s", "rest_s")
_PAIRS = (
    "runs", "dead", "skipped", "unexecuted", "uninfected", "put_off", "audits", "audit_kills",
)  # fmt: skip


def mutants_dict(state: State) -> dict[str, Any] | None:
    """``mutants`` of ``fuzztui status --json``; None when the campaign has none.

    ``share`` is the mean over the instances. Where mutants are fuzzed one by one the score is
    the one of ``first``: most of them have had no turn yet.
    """
    if not state.mutants:
        return None
    summary = mutants_summary(state)
    if state.stage:
        score = score_of(*tally(state.mutants.values()))
        summary = replace(summary, score=score, adjusted=score)
    figures = list(state.mutation.values())
    shares = [f.share for f in figures if f.share >= 0]
    return {
        **{word: getattr(summary, word) for word in ("total", *MUTANT_STATES, "static")},
        "score": summary.score,
        "adjusted_score": summary.adjusted,
        "time": {name: round(sum(getattr(f, name) for f in figures), 3) for name in _TIMES},
        "pairs": {name: sum(getattr(f, name) for f in figures) for name in _PAIRS},
        "flaky": sum(f.flaky for f in figures),
        "backlog": sum(f.backlog for f in figures),
        "share": sum(shares) / len(shares) if shares else None,
        "phase": next((f.phase for f in figures if f.phase), ""),
    }
