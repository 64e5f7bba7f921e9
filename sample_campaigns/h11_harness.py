"""Two ends of an HTTP/1.1 connection that talk in h11's events, made from choices.

What one end sends the other receives, in pieces. Most of the choices are bodies, which h11 copies;
what it does is decided by requests, responses, headers and by the order of events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import h11
from h11._headers import Headers

from fuzztui.generators import Source, generator

METHODS = [b"GET", b"GET", b"POST", b"HEAD", b"PUT", b"CONNECT", b"OPTIONS"]
TARGETS = [b"/", b"/a?b=c", b"*", b"http://a/", b"a:80"]
STATUS = [200, 200, 200, 204, 206, 301, 304, 404, 500]
NAMES = [b"Accept", b"X-A", b"x-b", b"Set-Cookie", b"Date", b"Trailer", b"TE"]
VALUES = [b"", b"a", b"a, b", b"text/plain; q=0.1", b"\xe9"]
CONNECTION = [b"close", b"keep-alive", b"Close, x", b"upgrade"]
ODD = [(b"Transfer-Encoding", b"gzip"), (b"Content-Length", b"-1"), (b"Host", b""), (b"a b", b""),
       (b"Content-Length", b"1, 1"), (b"", b"a"), (b"X", b"\0")]  # fmt: skip
WIRE = [b"\r\n", b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200\r\n\r\n", b" a: b\r\n\r\n", b"0\r\n\r\n",
        b"fffff;x=y\r\n", b"HTTP/1.0 200 OK\nContent-Length: 0\n\n", b"\x16\x03\x01"]  # fmt: skip


@dataclass
class Step:
    """What one end does: send an event, bytes that h11 did not make, or (None) begin anew."""

    client: bool
    event: h11.Event | bytes | None
    piece: int
    """So many bytes arrive first."""


def talk(steps: list[Step]) -> None:
    """Raises ProtocolError; AssertionError if something else arrives than was sent."""
    client, server = h11.Connection(h11.CLIENT), h11.Connection(h11.SERVER)
    sent: dict[bool, list[h11.Event]] = {True: [], False: []}
    arrived: dict[bool, list[h11.Event]] = {True: [], False: []}
    foreign = False
    for step in steps:
        here, there = (client, server) if step.client else (server, client)
        if step.event is None:
            here.start_next_cycle()
            there.start_next_cycle()
        elif isinstance(step.event, bytes):
            arrived[step.client] += received(there, step.event, step.piece)
            foreign = True
        else:
            wire = here.send(step.event)
            sent[step.client].append(step.event)
            arrived[step.client] += received(there, wire, step.piece)
        if isinstance(step.event, h11.EndOfMessage) and not foreign:
            assert told(arrived[step.client]) == told(sent[step.client])
            sent[step.client], arrived[step.client] = [], []


def told(events: list[h11.Event]) -> list[object]:
    """What must arrive: headers may be added, and a body may come in other pieces."""
    found: list[object] = [
        (event.method, event.target) if isinstance(event, h11.Request) else type(event)
        for event in events
        if not isinstance(event, h11.Data)
    ]
    return [*found, b"".join(bytes(event.data) for event in events if isinstance(event, h11.Data))]


def received(end: h11.Connection, wire: bytes | None, piece: int) -> Iterator[h11.Event]:
    for part in [b""] if wire is None else [wire[:piece], wire[piece:]]:
        if (part or wire is None) and not end.trailing_data[1]:  # nothing comes after the end
            end.receive_data(part)
        while isinstance(event := end.next_event(), h11.Event):
            yield event
            if isinstance(event, h11.ConnectionClosed):
                break


@generator
def gen_exchange(r: Source) -> list[Step]:
    """Some requests and responses, mostly one after the other as they should be."""
    steps = []
    for _ in r.more(1, 4, continues=0.5):
        steps += [Step(True, event, r.below(256)) for event in gen_message(r, gen_request(r))]
        while r.below(8) == 0:
            steps.append(Step(False, gen_information(r), r.below(256)))
        steps += [Step(False, event, r.below(256)) for event in gen_message(r, gen_response(r))]
        if r.below(16) == 0:
            steps.append(Step(r.boolean(), gen_closed(r), 0))
        steps.append(Step(True, None, 0))
    if r.below(8) == 0:
        at = r.below(len(steps))
        steps[at:at] = [Step(r.boolean(), gen_foreign(r), r.below(256))]
    if r.below(8) == 0:
        del steps[r.below(len(steps))]
    return steps


def gen_message(
    r: Source, head: h11.Request | h11.Response
) -> Iterator[h11.Request | h11.Response | h11.Data | h11.EndOfMessage]:
    yield head
    length = dict(head.headers).get(b"content-length", b"")
    if length.isdigit():
        if length != b"0":
            yield gen_data(r, int(length))
    elif b"transfer-encoding" in dict(head.headers) or (
        isinstance(head, h11.Response) and r.boolean()
    ):
        for _ in r.more(0, 3):
            yield gen_data(r, r.below(100))
    yield gen_end(r)


@generator
def gen_request(r: Source) -> h11.Request:
    version = gen_version(r)
    host = [] if r.below(16) == 0 else [(b"Host", b"a.b")]
    method, target = r.choose(METHODS), r.choose(TARGETS)
    return h11.Request(
        method=method,
        target=target,
        headers=host + gen_headers(r, body=4 if method in (b"POST", b"PUT") else 1),
        http_version=version,
    )


@generator
def gen_response(r: Source) -> h11.Response:
    status, version = r.choose(STATUS), gen_version(r)
    return h11.Response(status_code=status, headers=gen_headers(r, body=4), http_version=version)


@generator
def gen_information(r: Source) -> h11.InformationalResponse:
    return h11.InformationalResponse(
        status_code=r.choose([100, 100, 101, 103]), headers=gen_headers(r, body=0)
    )


@generator
def gen_end(r: Source) -> h11.EndOfMessage:
    trailers = gen_headers(r, body=0) if r.below(8) == 0 else []
    return h11.EndOfMessage(headers=trailers)


@generator
def gen_closed(r: Source) -> h11.ConnectionClosed:
    return h11.ConnectionClosed()


@generator
def gen_data(r: Source, length: int) -> h11.Data:
    return h11.Data(data=r.bytes(length, each=True))


@generator(Headers)
def gen_headers(r: Source, *, body: int) -> list[tuple[bytes, bytes]]:
    """``body``: of 5 messages so many have one, in either of its two forms."""
    headers = [(r.choose(NAMES), r.choose(VALUES)) for _ in r.more(0, 4, continues=0.4)]
    if r.below(5) < body:
        if r.boolean():
            headers.append((b"Content-Length", str(r.below(200)).encode()))
        else:
            headers.append((b"Transfer-Encoding", r.choose([b"chunked", b"Chunked"])))
    if r.below(4) == 0:
        headers.append((b"Connection", r.choose(CONNECTION)))
    if r.below(16) == 0:
        headers.append((b"Expect", b"100-continue"))
    if r.below(16) == 0:
        headers.append((b"Upgrade", b"a"))
    if r.below(48) == 0:
        headers.append(r.choose(ODD))
    return headers


def gen_version(r: Source) -> bytes:
    return b"1.0" if r.below(32) == 0 else b"1.1"


def gen_foreign(r: Source) -> bytes:
    return r.choose(WIRE) if r.below(4) else r.bytes(r.below(40))
