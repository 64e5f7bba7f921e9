"""Weights, pins and shares on their way: to all that can, and to those that begin later."""

import asyncio
import json

import pytest
from test_mixture_command import FakeContext, lines

from fuzztui.kernel.remote.protocol import APPLIED, REJECTED, CommandRequest
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import (
    DemoteEntry,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    SkipEntry,
    TypeCommand,
    WeighType,
    names_of,
)
from fuzztui.kernel.wire.events import CommandApplied, CommandRejected
from fuzztui.run.supervise.command_router import CommandRouter, append, sent_commands

ABLE = [*names_of(TypeCommand)]


def sent(context, command, **answers):
    """What becomes of ``command`` when instances answer: words, or a refusal after a "!"."""

    async def go():
        steering = CommandRouter(context)
        context.answered = steering.answered
        ticket = steering.submit(CommandRequest(command, "me"))
        for name, words in answers.items():
            no = words.startswith("!")
            event = CommandRejected(ticket.id, name, words[1:])
            context.record(event if no else CommandApplied(ticket.id, name, 7, words))
        return ticket.answer.result() if ticket.answer.done() else None

    return asyncio.run(go())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (WeighType("a.B", -1), "a weight is from 0 to 1,000,000, not -1"),
        (WeighType("a.B", 1e7), "a weight is from 0 to 1,000,000, not 10000000.0"),
        (SetTargetedShare(1.5), "targeted is 1.5, not a part from 0 to 1"),
    ],
)
def test_what_can_mean_nothing_goes_nowhere(tmp_path, command, words):
    context = FakeContext(tmp_path, main=ABLE)
    assert sent(context, command) == sent(context, command)
    assert {(c.state, c.text) for c in context.state.commands.values()} == {("rejected", words)}
    assert lines(tmp_path, "main") == []


@pytest.mark.parametrize(
    "command",
    [
        WeighType("a.B", 4),
        PinGoal("m.py:2:then"),
        PinGoal(""),
        IgnoreGoal("m.py:2:then"),
        SetTargetedShare(0.3),
    ],
)
def test_they_are_for_all_instances(tmp_path, command):
    context = FakeContext(tmp_path, main=ABLE, s1=ABLE)
    assert sent(context, command, main="done") is None
    answer = sent(context, command, main="done", s1="done")
    assert (answer.result, answer.detail) == (APPLIED, "done (2 instances)")
    assert len(lines(tmp_path, "main")) == len(lines(tmp_path, "s1")) == 2


def test_what_one_refuses_another_may_have_done(tmp_path):
    context = FakeContext(tmp_path, main=ABLE, s1=ABLE)
    pin = PinGoal("m.py:2:then")
    answer = sent(context, pin, main="!m.py:2:then is covered already", s1="pinned")
    assert answer.result == APPLIED
    assert answer.detail == "main: m.py:2:then is covered already; s1: pinned"
    answer = sent(context, pin, s1="pinned", main="!covered")
    assert answer.result == APPLIED
    answer = sent(context, pin, main="!covered", s1="!covered")
    assert (answer.result, answer.detail) == (REJECTED, "covered (2 instances)")


def test_who_cannot_says_so(tmp_path):
    context = FakeContext(tmp_path, main=["pause"], s1=["pause"])
    answer = sent(context, WeighType("a.B", 4))
    assert (answer.result, answer.detail) == (REJECTED, "text cannot weigh-type (2 instances)")


def test_a_demotion_is_of_one_instances_entry(tmp_path):
    context = FakeContext(tmp_path, main=["demote", "skip"], s1=["demote", "skip"])
    for command in (DemoteEntry(3), SkipEntry(3)):
        assert sent(context, command).detail == "name an instance, one of: main, s1"
    sent(context, DemoteEntry(3, "s1"))
    (line,) = lines(tmp_path, "s1")
    assert line["command"] == {"c": "demote", "entry": 3, "instance": "s1"}
    assert lines(tmp_path, "main") == []


def begun(context, *names):
    """What is asked for when these instances begin, and again."""

    async def go():
        steering = CommandRouter(context)
        context.answered = steering.answered
        for name in (*names, *names):
            steering.instance_started(context.lives[name])

    before = set(context.state.commands)
    asyncio.run(go())
    asked = [c for id_, c in context.state.commands.items() if id_ not in before]
    assert {c.by for c in asked} <= {"fuzztui"}
    return [c.command for c in asked]


def test_what_was_set_for_all_is_for_those_that_begin_later_too(tmp_path):
    context = FakeContext(tmp_path, main=ABLE, s1=ABLE, s2=["pause"])
    later = {name: context.lives.pop(name) for name in ("s1", "s2")}
    assert begun(context, "main") == []
    for command in (
        WeighType("a.B", 4),
        WeighType("a.B", 0.5),
        WeighType("c.D", 0),
        PinGoal("m.py:2:then"),
        SetTargetedShare(0.3),
        PinGoal("m.py:9:else"),
        WeighType("e.F", 9, "main"),  # that was for one
        IgnoreGoal("m.py:3:then"),
        IgnoreGoal("m.py:4:then"),
        IgnoreGoal("m.py:3:then", False),
    ):
        sent(context, command, main="done")
    sent(context, PinGoal("m.py:7:then"), main="!no type is known to decide about it")
    sent(context, SetTargetedShare(0.9), main="!the disk is full")
    context.state.commands.clear()  # weeks have passed
    context.lives |= later
    assert begun(context, "s2") == []
    asked = begun(context, "s1", "main")
    assert [(c["c"], *list(c.values())[1:-1]) for c in asked] == [
        ("weigh-type", "a.B", 0.5), ("weigh-type", "c.D", 0),
        ("targeted", 0.3), ("pin-target", "m.py:9:else"),
        ("ignore-target", "m.py:4:then"), ("ignore-target", "m.py:3:then", False),
    ]  # fmt: skip
    assert {c["instance"] for c in asked} == {"s1"}
    assert begun(context, "s1", "main") == []


def test_what_nobody_could_do_is_not_asked_for_again(tmp_path):
    context = FakeContext(tmp_path, main=ABLE, s1=ABLE)
    later = context.lives.pop("s1")
    sent(context, PinGoal("zzz"), main="!there is no goal 'zzz'")
    context.lives["s1"] = later
    assert begun(context, "s1") == []


def test_what_was_refused_does_not_undo_what_was_before_it(tmp_path):
    context = FakeContext(tmp_path, main=ABLE, s1=ABLE)
    later = context.lives.pop("s1")
    sent(context, PinGoal("a"), main="a is pinned")
    sent(context, PinGoal("zzz"), main="!there is no goal 'zzz'")
    context.lives["s1"] = later
    assert begun(context, "s1") == [encode_command(PinGoal("a", "s1"))]


@pytest.mark.parametrize(
    "line",
    [b"\xff", b"[" * 99_999, b"{}", b"[]", b'{"command": {"c": "targeted", "share": 1}}',
     b'{"id": "c1", "command": "x"}', b'{"id": "c1", "command": {"c": "none"}}',
     b'{"id": "c1", "command": {"c": "targeted", "share": "1"}}'],
)  # fmt: skip
def test_lines_that_are_no_commands(tmp_path, line):
    (tmp_path / "main").write_bytes(line + b"\n")
    append(tmp_path / "main", "c3", PinGoal("x"))
    assert sent_commands(tmp_path / "main") == {"c3": PinGoal("x")}
    assert sent_commands(tmp_path / "s1") == {}
    assert json.loads((tmp_path / "main").read_bytes().splitlines()[-1])["id"] == "c3"


def test_a_supervisor_that_starts_again_sends_nothing_twice(tmp_path):
    context = FakeContext(tmp_path, main=ABLE, s1=ABLE)
    sent(context, PinGoal("a"), main="pinned", s1="!covered")
    sent(context, SetTargetedShare(0.5), main="done")  # s1 has not answered yet
    sent(context, WeighType("x.Y", 2, "s1"), s1="done")
    assert begun(context, "main", "s1") == []
    (tmp_path / "s1" / "control.jsonl").unlink()  # the directory was made again
    asked = begun(context, "s1")
    assert [c["c"] for c in asked] == ["pin-target", "targeted"]
