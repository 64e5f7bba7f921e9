"""The index of children, which grows with the log, is the one that is built of the whole log."""

from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.lineage import children, descendants
from fuzztui.kernel.model.saved import identity
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Record

INSTANCES = st.sampled_from(["main", "w1"])
IDS = st.integers(0, 3)
SRC = st.lists(IDS, max_size=1)
SYNC = st.sampled_from(["", "", "main", "w1"])
FORMS = st.sampled_from(["queue/id:{},a", "queue/id:{},b", "queue/id:{0},orig:seed{0}", ""])
"""Of the names of an entry's file: no two ids of a queue have one name (see test_ancestry.py)."""
ORIGINS = st.dictionaries(IDS.map(str), st.sampled_from(["main/0", "main/3", "w1/1"]), max_size=2)
FILES = st.sampled_from(["crashes/a", "crashes/b"])


def saved(queue, number, form, src, **more):
    return ev.EntrySaved(queue, number, form.format(number), src, **more)


ENTRIES = st.builds(saved, INSTANCES, IDS, FORMS, SRC, sync=SYNC, first=st.integers(-1, 2))
EVENTS = st.one_of(
    ENTRIES,
    ENTRIES,
    st.builds(ev.EntriesSeeded, INSTANCES, ORIGINS, anew=st.booleans()),
    st.builds(ev.EntryDescribed, INSTANCES, IDS),
    st.builds(ev.InputShown, INSTANCES, IDS.map(str), st.just("x")),
    st.builds(ev.FindingSaved, INSTANCES, st.just("crash"), FILES, src=SRC, sync=SYNC),
    st.builds(ev.FindingDescribed, INSTANCES, st.just("crash"), FILES),
)


def index_of(state):
    children(state, "")
    return {name: {*keys} for name, keys in state.children.keys.items() if keys}


@settings(max_examples=examples(600))
@given(st.lists(EVENTS, max_size=12))
@example([ev.EntriesSeeded("main", {"0": "w1/0"}), ev.FindingSaved("main", "crash", "a", src=[0]),
          ev.EntryDescribed("main", 0)])  # fmt: skip
def test_an_index_that_grows_is_the_one_of_the_whole_log(events):
    state = State()
    for seq, event in enumerate(events, 1):
        index_of(state)
        apply(state, [Record(seq, float(seq), event)])
        grown, index = index_of(state), state.children
        state.children = None
        assert grown == index_of(state)
        state.children = index


@settings(max_examples=examples(600))
@given(st.lists(EVENTS, max_size=12))
@example([saved("main", 0, "{},a", [1]), saved("main", 1, "{},a", [0])])
def test_no_entry_descends_from_itself(events):
    state = State()
    apply(state, [Record(seq, float(seq), event) for seq, event in enumerate(events, 1)])
    for entry in state.entries.values():
        assert identity(entry) not in [identity(row) for row in descendants(state, identity(entry))]
