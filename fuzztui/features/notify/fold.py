"""Which findings and stalls were reported: the fold. Pure.

The part of the state is in the kernel (`new_groups.py`), because regrouping findings reads it.
"""

from __future__ import annotations

from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.new_groups import MAX_NOTIFIED, Notifications
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import STALL, Notified


def notified(state: State, e: Notified, touched: ChangesBuilder) -> None:
    """Note what ``notify.command`` has reported."""
    known = state.part(Notifications)
    if e.news == STALL and not e.problem:
        known.stall_t = state.t
    for key in e.findings:
        if len(known.findings) < MAX_NOTIFIED:
            known.findings[str(key)] = state.t


FOLDS = (EventFold(Notified, notified),)
