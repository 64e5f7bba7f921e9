"""Numbers that cannot be are refused where they enter: of all fields, in all lines."""

import json
import math
from dataclasses import MISSING, fields

import pytest

from fuzztui.kernel.base import bounds
from fuzztui.kernel.base.bounds import all_fit
from fuzztui.kernel.log.lines import Problems, decode_lines
from fuzztui.kernel.wire.codec import (
    CodecError,
    decode_command,
    decode_event,
    decode_record,
    encode_event,
    encode_record,
)
from fuzztui.kernel.wire.commands import COMMAND_NAMES
from fuzztui.kernel.wire.events import EVENT_KINDS, Message, Record, Stats, Unknown

BIG = "1" + "0" * 400
NEVER = [BIG, f"-{BIG}", "1e999", "-1e999", "NaN", "Infinity", "1" * 5000, str(2**64)]
"""As JSON text: what no field of any kind may hold."""
WRONG = {
    "Count": ["-2", "true", "1.0", "1e3", '"7"', "null", "[]"],
    "int": [str(-(2**63) - 1), "false", "0.5", '"7"', "null", "{}"],
    "float": ["-1.5", "true", '"1"', "null", "1e19"],
    "str": ["7", "null", "[]"],
    "bool": ["1", "0", "null", '""'],
}
SOUND = {"str": '"x"', "int": "1", "Count": "1", "float": "1.0", "bool": "true",
         "dict[str, Any]": "{}", "list[str]": '["x"]'}  # fmt: skip


def line(cls, name, text):
    """A line of that kind in which field ``name`` is ``text``, and the others are sound."""
    parts = [f'"k":"{cls.kind}"', f'"{name}":{text}']
    parts += [
        f'"{f.name}":{SOUND[str(f.type)]}'
        for f in fields(cls)
        if f.name != name and f.default is MISSING and f.default_factory is MISSING
    ]
    return "{" + ",".join(parts) + "}"


def cases():
    for cls in EVENT_KINDS.values():
        for f in fields(cls):
            annotation = str(f.type)
            element = annotation.removeprefix("list[").removesuffix("]")
            if annotation in WRONG:
                wrong = [*WRONG[annotation], *NEVER]
            elif annotation == "dict[str, Any]":
                wrong = ["7", "[]", "null", *(f'{{"a":{n}}}' for n in NEVER[:-1]),
                         *(f'{{"a":[{{"b":{n}}}]}}' for n in NEVER[:-1])]  # fmt: skip
            elif element == "dict[str, Any]":
                wrong = ["{}", "[7]", *(f'[{{"a":{n}}}]' for n in NEVER[:-1])]
            else:
                wrong = ["{}", "null", *(f"[{SOUND[element]},{v}]" for v in WRONG[element])]
                wrong += [f"[{n}]" for n in NEVER]
            for text in wrong:
                yield cls, f.name, text


def test_no_field_holds_what_cannot_be():
    tried = 0
    for cls, name, text in cases():
        with pytest.raises(CodecError) as e:
            decode_event(line(cls, name, text))
        assert len(str(e.value)) < 300
        tried += 1
    assert tried > 1500


def test_what_is_within_bounds_is_taken():
    for text, value in (("-1", -1), ("0", 0), (str(bounds.LARGEST), bounds.LARGEST)):
        assert decode_event(f'{{"k":"stats","instance":"m","execs":{text}}}').execs == value
    assert decode_event('{"k":"entry_saved","instance":"m","id":-7}').id == -7


def test_a_negative_zero_is_none():
    stats = decode_event('{"k":"stats","instance":"m","execs_per_sec":-0.0,"age":0}')
    assert str(stats.execs_per_sec) == "0.0"
    assert str(bounds.real(-0.0)) == "0.0"


@pytest.mark.parametrize(
    "stamp",
    [
        '"s":0,"t":1', '"s":-1,"t":1', f'"s":{2**62},"t":1', '"s":true,"t":1', '"s":1.0,"t":1',
        '"s":1,"t":-0.5', '"s":1,"t":1e12', '"s":1,"t":1e999', '"s":1,"t":true', '"s":1',
        f'"s":1,"t":{BIG}', f'"s":{BIG},"t":1', '"t":1', '"s":1,"t":NaN',
    ],
)  # fmt: skip
def test_stamps_that_cannot_be(stamp):
    with pytest.raises(CodecError):
        decode_record(f'{{{stamp},"k":"message","level":"info","text":"x"}}')


def test_commands():
    for cls in COMMAND_NAMES.values():
        for f in fields(cls):
            other = ["7", "[7]", "null"] if str(f.type) == "list[str]" else ["7", "[]", "null"]
            for text in [*WRONG.get(str(f.type), other), *NEVER[:3]]:
                data = {g.name: json.loads(SOUND[str(g.type)]) for g in fields(cls)}
                command = {**data, "c": cls.name, f.name: json.loads(text)}
                with pytest.raises(CodecError):
                    decode_command(command)


def test_what_could_not_be_read_is_not_written():
    nested = {}
    for _ in range(bounds.MAX_LEVELS + 1):
        nested = {"a": nested}
    for event in (
        Stats("m", execs=2**63),
        Stats("m", execs=-2),
        Stats("m", execs_per_sec=float("nan")),
        Unknown("later", {"n": 10**400}),
        Unknown("later", nested),
    ):
        with pytest.raises(CodecError):
            encode_event(event)
    for seq, t in ((0, 1.0), (1, -1.0), (1, float("inf")), (2**62, 1.0)):
        with pytest.raises(CodecError):
            encode_record(Record(seq, t, Message("info", "x")))


def test_a_record_that_is_refused_is_reported_and_costs_only_itself():
    good = [encode_record(Record(n, float(n), Stats("m", execs=n))) for n in range(1, 6)]
    for bad in (
        f'{{"s":3,"t":3,"k":"stats","instance":"m","execs":{BIG}}}',
        '{"s":3,"t":3,"k":"stats","instance":"m","execs":"3"}',  # a field of another type
        f'{{"s":3,"t":3,"k":"stats","instance":"m","execs":{"7" * 5000}}}',
        '{"s":3,"t":3,"k":"stats","instance":"m","stability":1e999}',
        f'{{"s":3,"t":3,"k":"later","a":{"[" * 5000}1{"]" * 5000}}}',
    ):
        problems = Problems()
        lines = "\n".join([*good[:2], bad, *good[3:]]) + "\n"
        records = decode_lines(lines.encode(), 0, "tail", problems)
        assert [r.seq for r in records] == [1, 2, 4, 5]
        refused, missing = problems
        assert refused.startswith("tail: 1 line after record 2 ")
        assert "record 3 is missing" in missing


@pytest.mark.parametrize("text", [*NEVER, "[" * 100_000, "[" * 40 + "]" * 40, "{", '{"a":[1e999]}'])
def test_json_of_files(text):
    with pytest.raises(ValueError):
        bounds.loads(text)


def test_figures_of_files():
    for value in (10**400, -1, True, "7", None, float("nan"), 2**63):
        assert bounds.whole(value, 5) == 5
    for value in (10**400, -0.5, float("inf"), float("nan"), True, "1", None):
        assert bounds.real(value, 5.0) == 5.0
    assert bounds.whole(2**63 - 1) == 2**63 - 1
    assert type(bounds.real(3)) is float


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        ("int", 7, [7.0, True, "7", None, 10**400, -(10**400), [7]]),
        ("float", 7.5, [True, "7", None, 10**400, math.nan, math.inf, -math.inf]),
        ("str", "a", [7, None, ["a"]]),
        ("bool", True, [1, None, "True"]),
        ("list[int]", [1, 2], [7, [math.nan], ["a"], {"a": 1}, None]),
        ("dict[str, int]", {"a": 1}, [7, {"a": 10**400}, [1], None]),
        ("dict[str, list[int]]", {"a": [1]}, [{"a": 1}, {"a": [1.5]}]),
        ("dict[str, Any]", {"a": [{}]}, [{"a": [math.nan]}, 7]),
    ],
)
def test_columns(annotation, good, bad):
    assert all_fit(annotation, [])
    assert all_fit(annotation, [good] * 3)
    for value in bad:
        assert not all_fit(annotation, [value])
        for column in ([good, value, good], [value, good], [good, value]):
            assert not all_fit(annotation, column), value
