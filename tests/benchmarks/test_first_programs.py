"""The held-out programs of fuzz-first: their bugs are there, and inputs reach those of our own."""

import shutil
import struct
import subprocess
import zlib
from dataclasses import replace

import pytest
from lab.first_programs import (
    C_PROGRAMS,
    DEBIAN,
    FIRST_PROGRAMS,
    OWN,
    PYTHON,
    WITHOUT_AFL,
    Place,
    place_of,
    places,
    plant,
)
from lab.planting import BUGS
from lab.runs import RunFailed
from shared import shared

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def section(tag: bytes, payload: bytes) -> bytes:
    return tag + struct.pack(">H", len(payload)) + payload


def parcel(*sections: bytes, version: int = 2) -> bytes:
    return b"PRCL" + bytes([version]) + b"".join(sections)


def picture(width: int, depth: int, *chunks: bytes) -> bytes:
    head = section(b"HEAD", struct.pack(">HHB", width, 1, depth))
    return section(b"PICT", b"\x89PX\r\n\x1a" + head + b"".join(chunks))


def voucher(*records: tuple[bytes, bytes]) -> bytes:
    body = b"".join(kind + bytes([len(payload)]) + payload for kind, payload in records)
    return b"VC" + bytes([len(records)]) + struct.pack(">I", zlib.crc32(body)) + body


def amount(value: int) -> tuple[bytes, bytes]:
    return b"a", struct.pack(">I", value)


def transfer(value: int) -> tuple[bytes, bytes]:
    return b"t", struct.pack(">BBI", 0, 1, value)


def sealed(command: bytes) -> tuple[bytes, bytes]:
    a = b = 0
    for byte in command:
        a = (a + byte) % 255
        b = (b + a) % 255
    return b"s", bytes([b, a]) + command


def binder(*leaves: tuple[int, int, bytes]) -> bytes:
    """``leaves``: kind, name and content."""
    at, rows, body = 8 + 6 * len(leaves), b"", b""
    for kind, name, data in leaves:
        rows += struct.pack(">HHBB", at, len(data), kind, name)
        at, body = at + len(data), body + data
    return b"BIND" + struct.pack(">HH", at, len(leaves)) + rows + body


NAMES, TEXT, GRID, INDEX = 1, 2, 3, 4
TWO_LEAVES = 8 + 6 * 2
"""The offset of the first of two leaves."""


def messages(*of: tuple[str, bytes]) -> bytes:
    return b"".join(kind.encode() + bytes([len(data)]) + data for kind, data in of)


LOGIN = [("h", b"\2"), ("l", b"\7\x09")]
ABORTED = [("o", b""), ("c", b"\x10"), ("x", b"")]
TRIP = [("o", b""), ("c", b"\x10"), ("s", b"\1"), ("d", b"A"), ("a", b"B")]

REACH = {
    "parcel": [
        parcel(picture(5000, 16)),
        parcel(picture(1, 8, section(b"PALT", b"rgb"), section(b"ROWS", b"zst1\5"))),
        parcel(
            section(b"TUNE", b"RyFF\0\0WvFm" + section(b"fmt:", b"\2\0\0\0")
                    + section(b"cue!", b"\0\2\0\1"))
        ),
        parcel(section(b"PACK", parcel(section(b"PACK", parcel(picture(1, 8)))))),
    ],
    "voucher": [
        voucher((b"d", bytes([30, 2, 0]))),
        voucher(amount(500), transfer(501)),
        voucher(sealed(b"r\0" + struct.pack(">I", 1_000_001))),
        voucher(amount(500), transfer(500), sealed(b"c\0")),
    ],
    "binder": [
        binder((NAMES, 1, b"a\0b\0")),
        binder((NAMES, 0, b"ab\0"), (GRID, 1, b"\3abcd")),
        binder((INDEX, 0, struct.pack(">BHH", 0, 14, 1))),
        binder((INDEX, 0, struct.pack(">BHH", 1, TWO_LEAVES + 5, 6)), (TEXT, 0, b"abcdef")),
    ],
    "ferry": [
        messages(*LOGIN, *ABORTED, ("o", b""), ("c", b"\xf0" * 5)),
        messages(*LOGIN, ("o", b""), ("c", b"\xf0" * 7), ("s", b"\x69"), ("d", b"A")),
        messages(*LOGIN, *TRIP, *TRIP),
        messages(*LOGIN, *ABORTED, *TRIP, ("b", b"")),
    ],
}  # fmt: skip


def built(program):
    """The program with its bugs, by a plain compiler."""

    def make(into):
        work = into.with_suffix(".d")
        (work / "build").mkdir(parents=True)
        program.fill(work / "source")
        for number, place in enumerate(places(program.name), 1):
            plant(work / "source", place, f"BUG({number});")
        flags = f"{WITHOUT_AFL} -O2"
        shutil.copy(program.build(work / "source", work / "build", {"CC": "cc"}, FLAGS=flags), into)

    return shared(f"held-out-{program.name}", make)


def said(program, *files) -> str:
    return subprocess.run([program, *files], capture_output=True, text=True, check=False).stderr


@needs_cc
@pytest.mark.parametrize("program", OWN, ids=lambda p: p.name)
def test_a_hand_made_input_reaches_each_bug_of_our_own_programs(program, tmp_path):
    made = built(program)
    for number, data in enumerate(REACH[program.name], 1):
        file = tmp_path / str(number)
        file.write_bytes(data)
        assert said(made, file) == f"planted bug {number}\n"
    assert number == 4
    assert f"planted bug {number + 1}".encode() not in made.read_bytes()
    assert not said(made, *program.seeds.iterdir()), "seeds reach no bug"


@pytest.mark.slow
@needs_cc
@pytest.mark.parametrize("program", DEBIAN, ids=lambda p: p.name)
def test_a_library_has_its_planted_bugs_and_seeds_do_not_reach_them(program):
    try:
        made = built(program)
    except RunFailed as e:
        if "cannot be downloaded" in str(e):
            pytest.skip("a source package cannot be downloaded here")
        raise
    data = made.read_bytes()
    assert all(b"planted bug %d\n" % n in data for n in range(1, BUGS + 1))
    assert not said(made, *program.seeds.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("program", PYTHON, ids=lambda p: p.name)
def test_a_python_library_has_its_planted_bugs_and_seeds_do_not_reach_them(program, tmp_path):
    pytest.importorskip(program.name)
    program.make(tmp_path)
    text = "".join(file.read_text() for file in (tmp_path / "source").rglob("*.py"))
    assert text.count('raise AssertionError("planted bug ') == BUGS
    assert [program.bug(tmp_path, seed) for seed in program.seeds.iterdir()] == [0, 0]


def test_each_library_has_five_places_in_what_is_mutated():
    for program in (*DEBIAN, *PYTHON):
        found = places(program.name)
        assert len(set(found)) == BUGS
        files = {f"{m.replace('.', '/')}.py" if program in PYTHON else m for m in program.mutated}
        assert {place.file for place in found} <= files
    assert not any(places(program.name) for program in OWN)
    assert len({p.name for p in FIRST_PROGRAMS}) == len(C_PROGRAMS) + len(PYTHON) == 12


def test_a_place_whose_statement_is_another_is_refused(tmp_path):
    (tmp_path / "a.c").write_text("int x;\n\tx = 1;\n")
    with pytest.raises(RunFailed, match=r"a\.c:2: 'x = 1;' is not 'x = 2;'"):
        plant(tmp_path, Place("a.c", 2, "x = 2;"), "BUG(1);")
    plant(tmp_path, Place("a.c", 2, "x = 1;"), "BUG(1);")
    assert (tmp_path / "a.c").read_text() == "int x;\n\tBUG(1); x = 1;\n"


def test_a_place_is_named_after_what_the_program_is_made_of(tmp_path):
    name, digest = place_of(OWN[0], tmp_path).name.split("-")
    assert name == OWN[0].name
    _, other = place_of(replace(OWN[0], execs=1), tmp_path).name.split("-")
    assert digest != other
