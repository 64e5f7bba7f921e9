"""Each kind of event has a function that makes its text."""

from fuzztui.kernel.wire.events import EVENT_KINDS, Event, MutantsShard
from fuzztui.tui.labels.events import describe


def test_each_kind_of_event_has_a_text():
    other = describe.dispatch(Event)
    without = {cls for cls in EVENT_KINDS.values() if describe.dispatch(cls) is other}
    assert without == {MutantsShard}
