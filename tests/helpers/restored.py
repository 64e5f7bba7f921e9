"""The state of a checkpoint, as a session restores it."""

from __future__ import annotations

from typing import Any

from fuzztui.kernel.model import checkpoint
from fuzztui.kernel.model.chain import Chain, Link
from fuzztui.kernel.model.state import State


def restored(data: dict[str, Any]) -> State:
    """Return the state of a whole checkpoint. Raises CheckpointError."""
    tables = checkpoint.tables(data, {})
    parts = (data["seq"], data["cost"], data["t"], tables, data["recent"])
    return Chain([Link(*parts, lambda: data["head"])]).restore(1)
