import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.wire.afl import AflFileName, entry_name, id_of
from fuzztui.run.observe.afl_names import parse_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("id:000000,time:0,execs:0,orig:seed.json", AflFileName(0, op="orig:seed.json")),
        ("id:000000,orig:a,b,+cov,c", AflFileName(0, op="orig:a,b,+cov,c")),
        (
            "id:000012,src:000003+000007,time:1234,execs:56789,op:splice,rep:8,+cov",
            AflFileName(12, (3, 7), "splice,rep:8", time_ms=1234, execs=56789, cov=True),
        ),
        (
            "id:000001,src:000000,time:5,execs:9,op:arith8,pos:3,val:be:-17",
            AflFileName(1, (0,), "arith8,pos:3,val:be:-17", time_ms=5, execs=9),
        ),
        ("id:000004,src:000001,op:havoc,rep:2,+tout", AflFileName(4, (1,), "havoc,rep:2")),
        (
            "id:000004,src:000001,op:havoc,rep:2,+tout,+cov",
            AflFileName(4, (1,), "havoc,rep:2", cov=True),
        ),
        ("id:000002,sync:s-1,src:000044,+cov", AflFileName(2, (44,), sync="s-1", cov=True)),
        ("id:000002,sync:main,src:000044", AflFileName(2, (44,), sync="main")),
        (
            "id:000000,sig:11,src:000003,time:7,execs:8,op:havoc,rep:2",
            AflFileName(0, (3,), "havoc,rep:2", sig=11, time_ms=7, execs=8),
        ),
        (
            "id:000003,src:000001+000002,time:1,execs:2,op:swap-args+havoc,rep:3,+cov",
            AflFileName(3, (1,), "swap-args+havoc,rep:3", time_ms=1, execs=2, cov=True),
        ),
        (
            "id:000003,src:000001+000002,op:swap-args+balanced,rep:2",
            AflFileName(3, (1, 2), "swap-args+balanced,rep:2"),
        ),
        ("id:000003,src:000000,op:(null),pos:0", AflFileName(3, (0,), "(null),pos:0")),
        ("id:000003,src:000000,op:my, own: text,id:9", AflFileName(3, (0,), "my, own: text,id:9")),
        ("id:000003,src:000000,op:lib.so,pos:0", AflFileName(3, (0,), "lib.so,pos:0")),
        (
            "id:000003,src:000000,op:havoc,rep:1,+cov.json",
            AflFileName(3, (0,), "havoc,rep:1", cov=True),
        ),
        (
            "id:000005,time:0,execs:0,orig:id:000123,src:000100,time:7,execs:8,op:havoc,rep:2,+cov",
            AflFileName(5, (100,), "havoc,rep:2", time_ms=7, execs=8, cov=True, first=123),
        ),
        (
            "id:000005,orig:id:000006,time:0,orig:id:000002,sync:s1,src:000044",
            AflFileName(5, (44,), sync="s1", first=2),
        ),
        ("id:000005,orig:id:000000,orig:seed", AflFileName(5, op="orig:seed", first=0)),
        ("id:000005,time:0,execs:0,orig:id:000007", AflFileName(5, op="orig:id:000007")),
        ("id:000003", AflFileName(3)),
        ("id_000003_06", AflFileName(3, sig=6)),
        ("id_000003", AflFileName(3)),
        ("id:4294967295,src:1", AflFileName(4294967295, (1,))),
        ("id:1,future:thing,src:2,op:x", AflFileName(1, (2,), "x")),
        ("id:1,src:x,time:,execs:-4,op:x", AflFileName(1, op="x")),
        ("0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", AflFileName()),
        ("id:", AflFileName()),
        ("id:12x,src:1", AflFileName()),
        ("id:٣", AflFileName()),
        ("README.txt", AflFileName()),
        ("", AflFileName()),
        ("[/x]\x1b[2J", AflFileName()),
    ],
)
def test_documented_shapes(name, expected):
    assert parse_name(name) == expected


numbers = st.integers(0, 2**32 - 1)
# What a mutator's description may be: anything that a file name can hold.
words = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), max_size=40)


@given(st.text(max_size=255))
def test_any_string_is_a_name(name):
    parsed = parse_name(name)
    assert parsed.id >= 0 or parsed == AflFileName()


names = st.builds(
    AflFileName,
    id=numbers,
    src=st.lists(numbers, max_size=2).map(tuple),
    op=words.map(lambda text: text + "x"),
    sig=st.integers(0, 64),
    time_ms=numbers,
    execs=numbers,
    cov=st.booleans(),
)


@given(names)
def test_what_afl_writes_is_read_back(name):
    text = f"id:{name.id:06d}" + (f",sig:{name.sig:02d}" if name.sig else "")
    if name.src:
        text += ",src:" + "+".join(f"{s:06d}" for s in name.src)
    text += f",time:{name.time_ms},execs:{name.execs},op:{name.op}" + (",+cov" * name.cov)
    # Words that look like AFL's own flags at the very end are taken for flags.
    assert parse_name(text) == name or ",+" in name.op


@pytest.mark.parametrize("number", [0, 7, 123456, 1234567])
def test_a_name_that_is_made_is_read_again(number):
    name = entry_name(number, "src:000001,time:5,execs:9,op:havoc,rep:2")
    found = parse_name(name)
    assert (id_of(name), found.id, found.src, found.op) == (number, number, (1,), "havoc,rep:2")


def test_a_name_of_nobody_has_no_id():
    assert [id_of(name) for name in ("README.txt", "id:", "id:x", "id:12345678901", "xid:1")] == [
        -1
    ] * 5
