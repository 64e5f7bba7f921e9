"""Commands of a hub: where they go, which ids they have, and what counts as their answer."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.protocol import APPLIED, REJECTED, TIMEOUT, CommandRequest
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Pause, Resume, SetMixture, SkipEntry, SkipMutants, Stop
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CommandApplied,
    CommandIssued,
    CommandRejected,
    Event,
    HostState,
    InstanceState,
    Message,
    Record,
)
from fuzztui.machines.hosts.routing import HostRouter


class Context:
    """A hub of two hosts; ``down``: those that are not connected."""

    def __init__(self) -> None:
        self.state = State()
        self.handlers: dict[str, Any] = {}
        self.hosts = ["a", "b"]
        self.down: set[str] = set()
        self.sent: list[tuple[str, Mapping[str, Any]]] = []
        self.stopped_by = ""
        self.retried: list[str] = []
        self.refusal = ""
        for name in ("a_main", "a_s1", "b_main"):
            self._add(Record(1, 0.0, InstanceState(name, "running"), name[0], 1, 0.0))

    def _add(self, record: Record) -> None:
        apply(self.state, [replace(record, seq=self.state.seq + 1)])

    def record(self, *events: Event) -> None:
        for event in events:
            self._add(Record(1, 1.0, event))

    def relay(self, host: str, event: Event) -> None:
        self._add(Record(1, 1.0, event, host, 9, 0.0))

    def flush(self) -> bool:
        return True

    def request(self, host: str, request: Mapping[str, Any]) -> bool:
        if host in self.down:
            return False
        self.sent.append((host, request))
        return True

    def stopping(self, by: str) -> None:
        self.stopped_by = by

    def retry(self, host: str) -> str:
        self.retried.append(host)
        return self.refusal


def reply(request: Mapping[str, Any], result: str = APPLIED, detail: str = "") -> dict[str, Any]:
    return {"n": request["n"], "result": result, "detail": detail}


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
async def router(context: Context) -> HostRouter:
    return HostRouter(context, "log")


async def test_a_command_about_an_instance_goes_to_its_host_alone(context, router):
    ticket = router.submit(CommandRequest(SkipEntry(4, "a_s1"), "ann@here"))
    ((host, request),) = context.sent
    assert (host, request["by"], request["id"]) == ("a", "ann@here", f"log.{ticket.id}")
    router.replied("a", reply(request, detail="skipped"))
    assert (await ticket.answer).detail == "skipped"


async def test_a_command_for_all_needs_the_answer_of_each_host(context, router):
    ticket = router.submit(CommandRequest(Pause(), "ann"))
    assert [host for host, _ in context.sent] == ["a", "b"]
    router.replied("a", reply(context.sent[0][1]))
    await asyncio.sleep(0)
    assert not ticket.answer.done()
    router.replied("b", reply(context.sent[1][1], REJECTED, "no"))
    answer = await ticket.answer
    assert (answer.result, answer.detail) == (REJECTED, "no")


async def test_answers_that_differ_name_their_hosts(context, router):
    for details, expected in ((("x", "x"), "x"), (("x", "y"), "a: x; b: y")):
        ticket = router.submit(CommandRequest(Pause(), "ann"))
        for (host, request), detail in zip(context.sent[-2:], details, strict=True):
            router.replied(host, reply(request, detail=detail))
        assert (await ticket.answer).detail == expected


@pytest.mark.parametrize("refusal", ["", "not now"])
async def test_a_host_that_was_given_up_is_tried_again_on_request(context, router, refusal):
    context.refusal = refusal
    context.record(HostState("b", "failed", "the disk is full"))
    answer = await router.submit(CommandRequest(Pause("b"), "ann")).answer
    assert answer.result == REJECTED
    assert "resume --instance b" in answer.detail
    answer = await router.submit(CommandRequest(Resume("b"), "ann")).answer
    assert answer.result == (REJECTED if refusal else APPLIED)
    assert context.retried == ["b"]
    assert not context.sent


async def test_mutants_of_one_host_are_enough(context, router):
    ticket = router.submit(CommandRequest(SkipMutants("m:1"), "ann"))
    for host, request in context.sent:
        router.replied(host, reply(request, APPLIED if host == "a" else REJECTED, host))
    assert (await ticket.answer).result == APPLIED


async def test_a_host_that_is_not_connected_gets_the_command_later_with_the_same_id(
    context, router
):
    context.down = {"b"}
    ticket = router.submit(CommandRequest(Pause(), "ann"))
    assert "b" in context.state.commands[ticket.id].text
    router.replied("a", reply(context.sent[0][1]))
    context.down = set()
    router.connected("b")
    assert {request["id"] for _, request in context.sent} == {f"log.{ticket.id}"}
    router.replied("b", reply(context.sent[1][1]))
    assert (await ticket.answer).result == APPLIED


async def test_a_new_hub_sends_again_what_has_no_answer(context, router):
    ticket = router.submit(CommandRequest(Pause(), "ann"))
    router.close()
    assert (await ticket.answer).result == TIMEOUT
    before = [dict(request) for _, request in context.sent]
    again = HostRouter(context, "log")
    again.resume()
    assert [dict(request) for _, request in context.sent[2:]] == before


async def test_a_stop_that_a_lost_host_has_not_answered_does_not_stop_the_resumed_campaign(
    context, router
):
    context.down = {"b"}
    ids = [router.submit(CommandRequest(c, "ann")).id for c in (Pause(), Stop("b"), Stop())]
    router.replied("a", reply(context.sent[-1][1]))
    router.campaign_ended()
    router.close()
    states = [context.state.commands[id_].state for id_ in ids]
    assert states == ["pending", "pending", "applied"]
    context.stopped_by = ""
    HostRouter(context, "log").resume()
    assert context.stopped_by == ""


async def test_events_of_a_host_get_the_ids_of_this_log(router):
    assert router.translate("a", CommandIssued("log.c7", {}, "ann")) is None
    assert router.translate("a", CommandApplied("log.c7", "a_main")) == CommandApplied(
        "c7", "a_main"
    )
    assert router.translate("a", CommandRejected("c7")) == CommandRejected("a:c7")
    assert router.translate("a", CommandApplied("other.c7")) == CommandApplied("a:other.c7")
    assert router.translate("a", Message("info", "x")) == Message("info", "x")


async def test_a_new_hub_sends_to_lost_hosts_what_others_have_applied(context, router):
    old, new = f"c{context.state.seq + 1}", "c900"
    context.record(CommandIssued(old, encode_command(SetMixture(0.1, 0.8, 0.1)), "ann"))
    context.record(CommandApplied(old, "a_main"))
    context._add(Record(1, 100.0, HostState("a", "connected")))
    context._add(Record(1, 100.0, HostState("b", "lost")))
    for id_, command in ((new, Pause()), ("c901", Stop()), ("c902", Pause("a_main"))):
        context._add(Record(1, 200.0, CommandIssued(id_, encode_command(command), "ann")))
        context.relay("a", CommandApplied(id_, "a_main"))
    context._add(Record(1, 900.0, Message("info", "much later")))
    router.resume()
    for host in ("a", "b"):
        router.connected(host)
    assert [(host, r["id"]) for host, r in context.sent] == [("b", f"log.{new}")]


async def test_an_undo_names_the_commands_as_each_log_has_them(context, router):
    router.submit(CommandRequest(Pause(), "ann", undoes=["c3", "a:c5", "a:other.c6"], step="p"))
    assert [(host, r["undoes"], r["step"]) for host, r in context.sent] == [
        ("a", ["log.c3", "c5", "other.c6"], "p"),
        ("b", ["log.c3"], "p"),
    ]
    # given on the host: its c3 is not the hub's
    given = CommandIssued("c7", {}, "ann", ["c3", "log.c4"])
    assert router.translate("a", given) == CommandIssued("a:c7", {}, "ann", ["a:c3", "c4"])


async def test_a_host_cannot_name_commands_of_other_hosts(router):
    applied = CommandApplied("log.b:c7", "a_main")
    assert router.translate("a", applied) == CommandApplied("a:log.b:c7", "a_main")


async def test_hosts_that_were_given_up_or_have_ended_get_no_commands(context, router):
    context.record(HostState("a", "failed", "no Python"))
    ticket = router.submit(CommandRequest(SkipEntry(1, "a_main"), "ann"))
    answer = await ticket.answer
    assert answer.result == REJECTED and "no Python" in answer.detail
    router.submit(CommandRequest(Pause(), "ann"))
    assert [host for host, _ in context.sent] == ["b"]
    context.relay("b", CampaignEnded("stopped"))
    assert (
        await router.submit(CommandRequest(SkipEntry(1, "b_main"), "ann")).answer
    ).result == REJECTED


@pytest.mark.parametrize("instance", ["c_main", "main"])
async def test_an_unknown_instance_is_refused_with_the_known_ones(context, router, instance):
    ticket = router.submit(CommandRequest(SkipEntry(1, instance), "ann"))
    answer = await ticket.answer
    assert answer.result == REJECTED and "a_main, a_s1, b_main" in answer.detail
    assert context.sent == []


async def test_stop_ends_the_campaign_and_counts_hosts_that_have_ended(context, router):
    context.relay("b", CampaignEnded("stopped"))
    ticket = router.submit(CommandRequest(Stop(), "ann"))
    assert context.stopped_by == "ann"
    assert [host for host, _ in context.sent] == ["a"]
    router.host_ended("a")
    assert (await ticket.answer).result == APPLIED


async def test_a_host_can_be_named_in_the_place_of_an_instance(context, router):
    ticket = router.submit(CommandRequest(Stop("b"), "ann"))
    ((host, request),) = context.sent
    assert (host, request["command"]) == ("b", {"c": "stop"})
    assert context.stopped_by == ""  # the campaign continues on the others
    router.replied("b", reply(request))
    assert (await ticket.answer).result == APPLIED
    refused = router.submit(CommandRequest(SkipEntry(1, "b"), "ann"))
    assert (await refused.answer).result == REJECTED
