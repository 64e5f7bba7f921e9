"""States of campaigns, instances and hosts, and what they find, as text, colour and glyph."""

from __future__ import annotations

from fuzztui.kernel.wire.finding_kinds import CRASH, DIFFERS, HANG, FindingKind, kind_of
from fuzztui.tui.base import format
from fuzztui.tui.base.columns import Cell
from fuzztui.tui.base.themes import SEMANTIC
from fuzztui.tui.labels.status import Status


def with_reason(state: str, reason: str) -> str:
    """Return a state and, if there is one, its reason."""
    return f"{state}: {reason}" if reason else state


_STATE_STYLES = {
    "starting": "pending",
    "restarting": "stalled",
    "stopping": "pending",
    "stopped": "finished",
    "waiting": "muted",
    "passive": "imported",
    "empty": "muted",
    "connecting": "pending",
    "preparing": "pending",
    "connected": "running",
    "lost": "failed",
    "ended": "finished",
}

_STATE_SIGNS = {
    "running": "●",
    "passive": "⇄",
    "paused": "‖",
    "stalled": "▲",
    "starting": "◌",
    "restarting": "↻",
    "stopping": "◍",
    "stopped": "■",
    "finished": "✓",
    "failed": "✗",
    "connecting": "◌",
    "preparing": "◌",
    "connected": "●",
    "lost": "▲",
    "ended": "✓",
}


def state_style(state: str) -> str:
    """Return the colour of the state of a campaign, an instance, or the connection to a host."""
    return _STATE_STYLES.get(state) or (state if state in SEMANTIC else "muted")


def state_sign(state: str) -> str:
    """Return a glyph for a state that is distinguishable without colour."""
    return _STATE_SIGNS.get(state, "○")


def last_new_cell(t: float, status: Status) -> Cell:
    """Return the age of the last new entry; its time once the campaign has ended."""
    if t < 0:
        return "", ""
    if status.still:
        return f"at {format.clock(t)}", "muted"
    return format.age(status.now - t), "muted"


_SIGNS: dict[FindingKind, str] = {CRASH: "✗", HANG: "▲", DIFFERS: "≠"}

STEERED = "◇"
"""A command, on time axes. Not ◆, which is a goal on the frontier."""


def finding_sign(category: str) -> str:
    """Return the glyph of a category, which is also the name of its style."""
    return _SIGNS.get(kind_of(category), "●")
