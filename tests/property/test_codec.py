"""The wire: every event survives the line, and no line does worse than CodecError."""

import contextlib
import json

import pytest
from event_strategies import COMMANDS, UNKNOWN, events, logs, of_kind
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.wire.codec import (
    CodecError,
    decode_command,
    decode_event,
    decode_record,
    encode_command,
    encode_event,
    encode_record,
)
from fuzztui.kernel.wire.events import EVENT_KINDS, Record


@pytest.mark.parametrize("cls", EVENT_KINDS.values(), ids=EVENT_KINDS.keys())
@given(data=st.data())
def test_every_kind_survives_its_line(cls, data):
    event = data.draw(of_kind(cls))
    line = encode_event(event)
    assert "\n" not in line
    assert line.isascii()
    assert decode_event(line) == event


@given(UNKNOWN)
def test_unknown_kinds_are_kept_whole(event):
    assert decode_event(encode_event(event)) == event


@given(logs(max_size=5))
def test_records_survive(records):
    for record in records:
        assert decode_record(encode_record(record)) == record
        assert decode_record(encode_record(record).encode()) == record


@given(COMMANDS)
def test_commands_survive(command):
    assert decode_command(json.loads(json.dumps(encode_command(command)))) == command


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda v: st.one_of(
        st.lists(v, max_size=4), st.dictionaries(st.sampled_from(["s", "t", "k", "c", "x"]), v)
    ),
    max_leaves=10,
)


@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60),
        _JSON.map(json.dumps),
        st.tuples(st.sampled_from(sorted(EVENT_KINDS)), _JSON).map(
            lambda p: json.dumps({"s": 1, "t": 1, "k": p[0], "instance": p[1], "id": p[1]})
        ),
        st.integers(0, 3000).map(lambda n: "[" * n),
        st.integers(0, 3000).map(lambda n: "[" * n + "]" * n),
        st.integers(4000, 5000).map(lambda n: "9" * n),
    )
)
def test_hostile_lines_are_codec_errors(line):
    for decode in (decode_record, decode_event, decode_command):
        try:
            decode(line)
        except CodecError as e:
            assert str(e)


@given(events(), st.data())
def test_damaged_lines_are_codec_errors_or_other_records(event, data):
    line = bytearray(encode_record(Record(3, 1.5, event)).encode())
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CodecError):
        decode_record(bytes(line[: data.draw(st.integers(at, len(line)))]))


def test_a_time_beyond_floats_is_a_codec_error():
    with pytest.raises(CodecError):
        decode_record('{"s":1,"t":1%s,"k":"x"}' % ("0" * 400))
