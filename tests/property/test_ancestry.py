"""Lineage over resumes, against a model of afl-fuzz that knows who was made of whom."""

import json

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from restored import restored

from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.lineage import children, descendants, lineage
from fuzztui.kernel.model.saved import identity
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import FindingSaved, Record
from fuzztui.run.observe.afl_names import parse_name
from fuzztui.run.observe.saved_inputs import entry_event


class Fleet:
    """Two fuzzers whose queues are lists of inputs; an input is a number of its own."""

    def __init__(self) -> None:
        self.queues = {"main": [], "s1": []}  # by id: (input, name)
        self.parent = {}
        self.crashes = {}  # by file: the input that it was made of
        self.state = State()

    def tell(self, event) -> None:
        apply(self.state, [Record(self.state.seq + 1, float(self.state.seq), event)])

    def add(self, instance, name, parent) -> None:
        new = len(self.parent)
        self.parent[new] = parent
        queue = self.queues[instance]
        queue.append((new, f"id:{len(queue):06d},{name}"))
        self.tell(entry_event(instance, queue[-1][1], 1, -1))

    def find(self, instance, at) -> None:
        """A find made of entry ``at``; the first ones are seeds."""
        queue, n = self.queues[instance], len(self.parent)
        if not queue:
            return self.add(instance, f"time:0,execs:0,orig:seed{n}", None)
        at %= len(queue)
        self.add(instance, f"src:{at:06d},time:{n},execs:{n},op:havoc,rep:{n}", queue[at][0])

    def crash(self, instance, at) -> None:
        queue, n = self.queues[instance], len(self.crashes)
        if queue:
            at %= len(queue)
            file = f"crashes/id:{n:06d},sig:11,src:{at:06d},time:{n},execs:{n},op:havoc,rep:2"
            self.crashes[f"{instance}/{file}"] = queue[at][0]
            src = list(parse_name(file.partition("/")[2]).src)
            self.tell(FindingSaved(instance, "crash", file, n, src))

    def adopt(self, instance, at) -> None:
        """Import from the other one, exactly one of an input."""
        peer = "s1" if instance == "main" else "main"
        if queue := self.queues[peer]:
            at %= len(queue)
            n = len(self.parent)
            self.add(instance, f"sync:{peer},src:{at:06d},time:{n},execs:{n}", queue[at][0])

    def resume(self, instance, at) -> None:
        """``at`` turns the queue, and turns it round when it is odd; as pivot_inputs() names."""
        queue = self.queues[instance]
        turned = queue[at % max(1, len(queue)) :] + queue[: at % max(1, len(queue))]
        self.queues[instance] = []
        for n, (who, old) in enumerate(reversed(turned) if at % 2 else turned):
            name = old
            if not old.startswith(f"id:{n:06d}"):
                name = f"id:{n:06d},time:0,execs:0,orig:{old.partition(',orig:')[2] or old}"
            self.queues[instance].append((who, name))
            self.tell(entry_event(instance, name, 1, -1))

    def ancestors(self, who) -> list[int]:
        line = []
        while who is not None:
            line.append(who)
            who = self.parent[who]
        return line


moves = st.tuples(
    st.sampled_from(["find", "find", "find", "crash", "adopt", "resume"]),
    st.sampled_from(["main", "s1"]),
    st.integers(0, 40),
)


@settings(max_examples=examples(80))
@given(st.lists(moves, max_size=60))
def test_every_ancestor_is_known_after_any_number_of_resumes(steps):
    fleet = Fleet()
    for name, instance, at in steps:
        getattr(fleet, name)(instance, at)
        children(fleet.state, "main/0")  # there is an index from now on
    who = {f"{i}/{n}": x[0] for i, queue in fleet.queues.items() for n, x in enumerate(queue)}
    for state in (fleet.state, restored(json.loads(json.dumps(to_json(fleet.state))))):
        for key, input in who.items():
            line = [input] + [who[step.key] for step in lineage(state, state.entries[key])]
            assert line == fleet.ancestors(input)
        for key, input in who.items():
            name = identity(state.entries[key])
            below = {k for k, one in who.items() if input in fleet.ancestors(one)[1:]}
            below |= {k for k, one in fleet.crashes.items() if input in fleet.ancestors(one)}
            assert {row.key for row in descendants(state, name)} == below
        for key, input in fleet.crashes.items():
            line = [who[step.key] for step in lineage(state, state.findings[key])]
            assert line == fleet.ancestors(input)
