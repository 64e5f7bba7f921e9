"""Each kind of event has a function that makes its text."""

from fuzztui.kernel.wire.events import EVENT_KINDS, Event, MutantsShard
from fuzztui.tui.labels.events import describe
from fuzztui.tui.labels.events.base import _texts_of_features


def test_each_kind_of_event_has_a_text():
    other = describe.dispatch(Event)
    registered = {cls for cls in EVENT_KINDS.values() if describe.dispatch(cls) is not other}
    of_features = _texts_of_features().keys()
    assert not registered & of_features
    assert {*EVENT_KINDS.values()} - registered - of_features == {MutantsShard}
