"""A mixture on its way: refused at once, or handed to every instance that can."""

import asyncio
import json
from types import SimpleNamespace

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.protocol import APPLIED, REJECTED, CommandRequest
from fuzztui.kernel.wire.commands import SetMixture
from fuzztui.kernel.wire.events import CommandApplied, CommandRejected, InstanceHello, Record
from fuzztui.run.supervise.command_router import CommandRouter


class FakeContext:
    """Instances without processes, and a log."""

    def __init__(self, root, **able):
        self.state, self.handlers, self.lives = State(), {}, {}
        for name, capabilities in able.items():
            (root / name).mkdir()
            launcher = SimpleNamespace(signals={}, says_hello=True)
            self.lives[name] = SimpleNamespace(
                name=name, over=False, state="running", greeted=True, paused=False,
                launcher=launcher, directory=root / name,
            )  # fmt: skip
            self.record(InstanceHello(name, "text", capabilities=capabilities))

    def record(self, *events):
        for event in events:
            apply(self.state, [Record(self.state.seq + 1, self.state.t, event)])
            if isinstance(event, (CommandApplied, CommandRejected)):
                self.answered(event)

    def flush(self):
        return True

    def refusal(self, command, by):
        return ""

    def apply_without_instances(self, command, by):
        return ""


def lines(root, name):
    path = root / name / "control.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def sent(context, command, *answers):
    """What becomes of ``command`` when instances give these answers."""

    async def go():
        steering = CommandRouter(context)
        context.answered = steering.answered
        ticket = steering.submit(CommandRequest(command, "me"))
        for name in answers:
            event = CommandApplied(ticket.id, name, 7, str(command.mixture))
            context.record(event)
        return ticket.answer.result() if ticket.answer.done() else None

    return asyncio.run(go())


def test_what_is_no_mixture_goes_nowhere(tmp_path):
    context = FakeContext(tmp_path, main=["mixture"])
    sent(context, SetMixture(0.5, 0.6, 0.0))
    (status,) = context.state.commands.values()
    assert (status.state, status.text) == (
        "rejected", "havoc, text and splice add up to 1.1, not to 1",
    )  # fmt: skip
    assert lines(tmp_path, "main") == []


def test_it_is_for_all_instances_unless_one_is_named(tmp_path):
    context = FakeContext(tmp_path, main=["mixture"], s1=["mixture"])
    sent(context, SetMixture(0.1, 0.8, 0.1))
    sent(context, SetMixture(0.0, 1.0, 0.0, adaptive=True, instance="s1"))
    wire = {"c": "mixture", "havoc": 0.1, "text": 0.8, "splice": 0.1}
    assert [line["command"] for line in lines(tmp_path, "main")] == [wire]
    one = {"c": "mixture", "havoc": 0.0, "text": 1.0, "splice": 0.0, "adaptive": True}
    assert [line["command"] for line in lines(tmp_path, "s1")] == [wire, one | {"instance": "s1"}]


def test_it_is_applied_when_all_have_done_it(tmp_path):
    context = FakeContext(tmp_path, main=["mixture"], s1=["mixture"])
    assert sent(context, SetMixture(0.1, 0.8, 0.1), "main") is None
    answer = sent(context, SetMixture(0.1, 0.8, 0.1), "main", "s1")
    assert answer.result == APPLIED
    assert answer.detail == "havoc 10%, text 80%, splice 10% (2 instances)"


def test_who_cannot_says_so(tmp_path):
    context = FakeContext(tmp_path, main=["pause"])
    answer = sent(context, SetMixture(0.1, 0.8, 0.1))
    assert answer.result == REJECTED
    assert answer.detail == "text cannot mixture"


def begun(context, *names):
    """What is asked for when these instances begin."""

    async def go():
        steering = CommandRouter(context)
        context.answered = steering.answered
        for name in names:
            steering.instance_started(context.lives[name])
        steering.instance_started(context.lives[names[0]])  # it began again before it had answered

    asyncio.run(go())
    asked = [c for c in context.state.commands.values() if c.state == "pending"]
    return [(c.by, c.command.get("instance"), c.command["splice"]) for c in asked]


def test_what_was_set_for_all_is_for_those_that_begin_later_too(tmp_path):
    context = FakeContext(tmp_path, m1=["mixture"], m2=["mixture"], m3=["pause"])
    assert begun(context, "m1", "m2", "m3") == []
    others = {name: context.lives.pop(name) for name in ("m2", "m3")}
    sent(context, SetMixture(0.1, 0.8, 0.1), "m1")
    sent(context, SetMixture(0.0, 1.0, 0.0, instance="m1"), "m1")
    context.lives |= others
    # Who has done it, or had another one since, is not asked; nor who cannot.
    assert begun(context, "m2", "m1", "m3") == [("fuzztui", "m2", 0.1)]
    assert [line["command"]["text"] for line in lines(tmp_path, "m2")] == [0.8]
    assert lines(tmp_path, "m3") == []
