"""Commands of a campaign on hosts: each goes to the hosts that it is about.

The hub logs a command before it sends the command, with its own id. Hosts log it with an id that
begins with the hub's log, answer, and their events come back by the relayed log. A host that is not
connected gets the command when it is again; it executes a command with the same id once.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.remote.protocol import APPLIED, REJECTED, TIMEOUT, CommandAnswer, CommandRequest
from fuzztui.kernel.remote.server import Ticket
from fuzztui.kernel.wire.codec import CodecError, decode_command
from fuzztui.kernel.wire.commands import Command, Stop
from fuzztui.kernel.wire.events import (
    CommandApplied,
    CommandIssued,
    CommandProgress,
    CommandRejected,
    Event,
)
from fuzztui.run.supervise.handling import HandlerTasks, LogContext, OpenCommand, combined

PATIENCE_S = 600.0
"""Seconds for which a host's supervisor keeps a request open; its log answers later, too."""


UNSURE_S = 30.0
"""A command that was given less than these seconds before the loss of a connection was noticed
may not have arrived."""

_OWN = re.compile(r"c[0-9]{1,18}")
"""What ids in the hub's own log look like."""


class RoutingContext(LogContext, Protocol):
    """The part of the hub that the router uses."""

    @property
    def hosts(self) -> Iterable[str]:
        """The names of the hosts."""

    def request(self, host: str, request: Mapping[str, Any]) -> bool:
        """Send a request to the supervisor on a host. False if the host is not connected."""

    def stopping(self, by: str) -> None:
        """Called when a user stops the whole campaign."""

    def retry(self, host: str) -> str:
        """Connect again to a host that was given up. Returns why not; "" if it is done."""


class HostRouter:
    """Carries out all commands of a campaign on hosts. Runs in the event loop.

    ``log``: a name for the log of this hub, the same after a restart.
    """

    def __init__(self, context: RoutingContext, log: str) -> None:
        self._context = context
        self._log = log
        self._sent: dict[str, OpenCommand] = {}
        self._handling = HandlerTasks(context.record, self._handled)

    def submit(self, request: CommandRequest) -> Ticket:
        """Log a command and send it. Every ticket gets an answer."""
        command_id = f"c{self._context.state.seq + 1}"
        self._context.record(request.issued(command_id))
        return Ticket(command_id, self._take(command_id, request))

    def resume(self) -> None:
        """Send the commands again that an earlier hub left without a result.

        Also those that one host has applied while another one was lost: the first result of a
        command is its result. A host executes a command that comes again once.
        """
        for command_id, status in list(self._context.state.commands.items()):
            if not _OWN.fullmatch(command_id):
                continue
            try:
                command = decode_command(status.command)
            except CodecError as e:
                if status.state == "pending":
                    self._context.record(CommandRejected(command_id, "", str(e)))
                continue
            request = CommandRequest(command, status.by, status.undoes, status.step)
            if status.state == "pending":
                self._take(command_id, request)
            elif missed := self._missed(command, status.t):
                self._sent[command_id] = OpenCommand(request, waiting=missed)

    def _missed(self, command: Command, t: float) -> set[str]:
        """The hosts that may not have got a command for all, which was given at time ``t``."""
        state = self._context.state
        if command.name in self._context.handlers or command.problem or not command.for_all:
            return set()
        instance: str = getattr(command, "instance", "")
        if instance or command.name == "stop":  # it is over: the campaign was started again
            return set()
        hosts = (state.hosts[name] for name in self._context.hosts if name in state.hosts)
        last = {h.name: h.changed_t if h.state == "lost" else state.t for h in hosts}
        return {name for name, since in last.items() if t >= since - UNSURE_S}

    def connected(self, host: str) -> None:
        """Send what a host has not answered, because it was not connected."""
        for command_id, sent in self._sent.items():
            if host in sent.waiting:
                self._send(host, command_id, sent)

    def host_ended(self, host: str) -> None:
        """Answer what waits for a host that will not come back."""
        for command_id, sent in list(self._sent.items()):
            if host in sent.waiting:
                self._answered(command_id, host, CommandAnswer(APPLIED, f"{host} has ended"))

    def campaign_ended(self) -> None:
        """Log that a stop of all hosts is done, also if a host could not answer.

        Without a result it would be sent again when the campaign is resumed, and end it at once.
        """
        for command_id, status in list(self._context.state.commands.items()):
            if status.state != "pending" or not _OWN.fullmatch(command_id):
                continue
            with contextlib.suppress(CodecError):
                command = decode_command(status.command)
                if isinstance(command, Stop) and not command.instance:
                    done = CommandApplied(command_id, detail="the campaign has ended")
                    self._context.record(done)

    def replied(self, host: str, reply: Mapping[str, Any]) -> None:
        """Take a host supervisor's reply to a request; the event about it comes by its log."""
        command_id = f"c{reply.get('n')}"
        if command_id not in self._sent or reply.get("result") not in (APPLIED, REJECTED):
            return  # "issued", or TIMEOUT: the log answers later
        answer = CommandAnswer.of(reply)
        if reply.get("unlogged") is True and not answer.ok:  # no supervisor over there
            self._context.record(CommandRejected(command_id, "", f"{host}: {answer.detail}"))
        self._answered(command_id, host, answer)

    def translate(self, host: str, event: Event) -> Event | None:
        """Return an event of a host as the hub's log has it; None: the hub's log has it already.

        Answers to the hub's commands get the hub's ids; commands that were given on the host get
        ids that begin with the host's name.
        """
        if not isinstance(
            event, CommandIssued | CommandApplied | CommandRejected | CommandProgress
        ):
            return event
        known = self._here(host, event.id)
        if isinstance(event, CommandIssued):
            if known != f"{host}:{event.id}":
                return None
            event = replace(event, undoes=[self._here(host, id_) for id_ in event.undoes])
        return _renamed(event, known)

    def _here(self, host: str, command_id: str) -> str:
        """Return the hub's id of a command that has ``command_id`` in the host's log."""
        log, _, own = command_id.rpartition(".")
        return own if log == self._log and _OWN.fullmatch(own) else f"{host}:{command_id}"

    def close(self) -> None:
        """Answer all commands that wait: the hub ends, hosts answer in their logs."""
        self._handling.close()
        for sent in self._sent.values():
            if not sent.done.done():
                detail = "the hub ends; hosts that are connected again later execute the command"
                sent.done.set_result(CommandAnswer(TIMEOUT, detail))

    # ---------------------------------------------------------------- sending

    def _take(self, command_id: str, request: CommandRequest) -> asyncio.Future[CommandAnswer]:
        context, command = self._context, request.command
        sent = self._sent[command_id] = OpenCommand(request)
        done = sent.done
        if not context.flush():
            self._reject(command_id, "the campaign log cannot be written (disk full?)")
            return done
        if self._handling.start(context.handlers, command_id, command):
            sent.waiting = {""}
            return done
        host: str = getattr(command, "instance", "")
        if command.name == "resume" and self._is_given_up(host):
            sent.waiting = {""}
            if problem := context.retry(host):
                self._reject(command_id, problem)
            else:
                self._handled(CommandApplied(command_id, detail=f"{host} is tried again"))
            return done
        hosts = self._hosts_of(command)
        if problem := command.problem or (hosts if isinstance(hosts, str) else ""):
            self._reject(command_id, problem)
            return done
        assert not isinstance(hosts, str)
        sent.waiting = set(hosts)
        if command.name == "stop" and not getattr(command, "instance", ""):
            context.stopping(request.by)
        for host in hosts:
            self._send(host, command_id, sent)
        return done

    def _hosts_of(self, command: Command) -> list[str] | str:
        """Return the hosts that a command is about, or why there are none."""
        state = self._context.state
        name: str = getattr(command, "instance", "")
        if name in self._context.hosts and command.for_all:
            return self._over(name) or [name]
        if name:
            found = state.instances.get(name)
            if found is None or not found.host:
                there = ", ".join(i.id for i in state.instances.values() if i.host)
                named = f"; hosts are {', '.join(self._context.hosts)}" if command.for_all else ""
                return (
                    f"there is no instance {name!r}; the instances are {there or 'not known yet'}"
                    f"{named}"
                )
            return self._over(found.host) or [found.host]
        if not command.for_all and len([i for i in state.instances.values() if i.host]) > 1:
            return f"name an instance, one of: {', '.join(state.instances)}"
        hosts = [name for name in self._context.hosts if not self._over(name)]
        return hosts or "the campaign has ended on all hosts"

    def _over(self, name: str) -> str:
        """Why nothing can be sent to a host any more; an empty string if it can."""
        there = self._context.state.hosts.get(name)
        if there is not None and there.campaign in ENDED:
            return f"the campaign has ended on {name}"
        if there is not None and self._is_given_up(name):
            again = f"resume --instance {name} tries it again"
            return f"{name} was given up: {there.reason}; {again}"
        return ""

    def _is_given_up(self, host: str) -> bool:
        there = self._context.state.hosts.get(host)
        return there is not None and there.state == "failed"

    def _send(self, host: str, command_id: str, sent: OpenCommand) -> None:
        there = replace(
            sent.request,
            command=_over_there(sent.command, host),
            undoes=[id_ for ours in sent.request.undoes if (id_ := self._there(host, ours))],
            id=f"{self._log}.{command_id}",
        )
        request = {"n": int(command_id[1:]), **there.message(), "patience": PATIENCE_S}
        if not self._context.request(host, request):
            text = f"waits until {host} is connected again"
            self._context.record(CommandProgress(command_id, text))

    def _there(self, host: str, command_id: str) -> str:
        """Return the id in the host's log of a command of the hub's log.

        Empty if the command was given on another host.
        """
        whose, colon, own = command_id.partition(":")
        if not colon:
            return f"{self._log}.{command_id}"
        return own if whose == host else ""

    # --------------------------------------------------------------- answering

    def _handled(self, event: CommandApplied | CommandRejected) -> None:
        self._context.record(event)
        if isinstance(event, CommandApplied):
            answer = CommandAnswer(APPLIED, event.detail)
        else:
            answer = CommandAnswer(REJECTED, event.reason)
        self._answered(event.id, "", answer)

    def _reject(self, command_id: str, reason: str) -> None:
        self._context.record(CommandRejected(command_id, "", reason))
        sent = self._sent.get(command_id)
        if sent is not None:
            sent.waiting = {""}
            self._answered(command_id, "", CommandAnswer(REJECTED, reason))

    def _answered(self, command_id: str, host: str, answer: CommandAnswer) -> None:
        sent = self._sent.get(command_id)
        if sent is None or host not in sent.waiting:
            return
        sent.waiting.discard(host)
        sent.answers[host] = answer
        if sent.waiting:
            return
        del self._sent[command_id]
        if not sent.done.done():
            sent.done.set_result(combined(_with_hosts(sent.answers), sent.command, _details))


def _over_there(command: Any, host: str) -> Command:
    """Return a command as it is sent to a host: without ``instance`` if that names the host.

    On the host such a command is about all instances.
    """
    named: Command = command
    if getattr(command, "instance", "") == host:
        named = replace(command, instance="")
    return named


def _with_hosts(answers: Mapping[str, CommandAnswer]) -> list[CommandAnswer]:
    """The answers, with the host in front of each detail if there are several."""
    if len({a.detail for a in answers.values() if a.detail}) < 2:
        return list(answers.values())
    return [
        replace(a, detail=f"{host}: {a.detail}") if a.detail else a for host, a in answers.items()
    ]


def _details(answers: Sequence[CommandAnswer]) -> str:
    """The details of the hosts that have applied the command, else of all; equal ones once."""
    applied = [a for a in answers if a.result == APPLIED]
    return "; ".join(dict.fromkeys(a.detail for a in applied or answers if a.detail))


def _renamed(event: Any, command_id: str) -> Event:
    renamed: Event = replace(event, id=command_id)
    return renamed
