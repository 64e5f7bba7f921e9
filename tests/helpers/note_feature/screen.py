"""What screens show of notes."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.events import Event
from fuzztui.tui.base.columns import Column
from fuzztui.tui.labels.events import Described
from fuzztui.tui.labels.facts import Fact, fact
from note_feature import InstanceNoted, Notes


def texts() -> dict[type[Event], Callable[[InstanceNoted], Described]]:
    """The text of the event in the log."""
    return {
        InstanceNoted: lambda e: Described("note", e.text or "(removed)", "pending", e.instance)
    }


def columns(state: Callable[[], State]) -> list[Column[Instance]]:
    """A column that is hidden while there are no notes."""

    def note(instance: Instance) -> str:
        return state().part(Notes).texts.get(instance.id, "")

    return [
        Column(
            "note", "note", lambda i: (note(i), "pending"), note, max=30, spare=True,
            meaning="what a user has noted on the instance",
        )
    ]  # fmt: skip


def facts(instance: Instance, state: State) -> list[Fact]:
    """The whole note, in the strip below the table and in the details."""
    text = state.part(Notes).texts.get(instance.id, "")
    return [fact("note", text, "pending")] if text else []
