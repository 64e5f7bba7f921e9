"""Three packages of Debian's, two harnesses each, on which a fleet of several binaries is judged.

A text format with patches, a binary format, and regular expressions. Eight bugs are planted in
each, one of each kind in ``fleet/bug.h``, at the places in ``fleet/places.json`` that
``lab/planting.py`` has chosen (``python -m lab.fleet_programs`` shows how). Packages, harnesses,
seeds and places were fixed before any campaign ran on them for a result.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.first_programs import LAB, CProgram, Place, plant

FLEET = LAB / "fleet"
PLACES = FLEET / "places.json"
HARNESSES = ("first", "second")
_SHARED = ("bug.h", "bugs.c")


@dataclass(frozen=True)
class Kind:
    """What a planted bug is, by what others publish: the words of the report, casr's class."""

    title: str
    """A regular expression; ``{function}`` is where it is planted."""
    level: str
    name: str


KINDS = {
    1: Kind(r"heap-buffer-overflow in {function} \(WRITE\)", "EXPLOITABLE",
            "heap-buffer-overflow(write)"),
    2: Kind(r"heap-buffer-overflow in {function} \(READ\)", "NOT_EXPLOITABLE",
            "heap-buffer-overflow(read)"),
    3: Kind(r"heap-use-after-free in {function} \(READ\)", "NOT_EXPLOITABLE",
            "heap-use-after-free(read)"),
    4: Kind(r"(SIG)?SEGV in {function}( \(WRITE\))?", "PROBABLY_EXPLOITABLE", "DestAvNearNull"),
    5: Kind(r"(SIG)?FPE in {function}", "NOT_EXPLOITABLE", "FPE"),
    6: Kind(r"(SIG)?ABRT in {function}", "NOT_EXPLOITABLE", "AbortSignal"),
    7: Kind(r"stack-overflow in bug_p[io]ng", "NOT_EXPLOITABLE", "StackOverflow"),
    8: Kind(r"signed integer overflow in {function}", "NOT_EXPLOITABLE", "undefined-behavior"),
}  # fmt: skip
"""The kinds of planted bugs, by number."""
RECURSION = 7
"""The kind that fails in two functions of its own, which call each other."""


@dataclass(frozen=True)
class FleetProgram(CProgram):
    """A package; its harnesses are ``subject.c`` with FIRST and with SECOND defined."""

    @property
    def sources(self) -> tuple[str, ...]:
        return (*super().sources, "bugs.c")

    @property
    def home(self) -> Path:
        return FLEET / self.name

    def fill(self, source: Path) -> None:
        super().fill(source)
        for name in _SHARED:
            shutil.copy(FLEET / name, source)
        for file in source.glob("cmake/*.h.in"):  # CMake only fills in what the flags define
            shutil.copy(file, source / "include" / self.name / file.stem)

    def bugs(self) -> dict[int, tuple[str, Place]]:
        """The function, and the place in it, of each planted bug, by its number."""
        rows = json.loads(PLACES.read_text())[self.name]
        return {n: (function, Place(*at)) for n, (function, *at) in enumerate(rows, 1)}

    def make(self, into: Path) -> None:
        """Write the source with the planted bugs."""
        self.fill(into)
        for number, (_, place) in self.bugs().items():
            plant(into, place, f"BUG({number});")

    def harness(self, name: str, **words: str) -> str:
        """The shell command that builds a harness, as in ``target.build``."""
        words["FLAGS"] = f"-D{name.upper()} {words.get('FLAGS', '')}"
        return self.command("$SOURCE", **words)


FLEET_PROGRAMS = (
    FleetProgram(
        "cjson",
        0,
        ("cJSON.c", "cJSON_Utils.c"),
        (),
        "",
        "pool/main/c/cjson/cjson_1.7.15.orig.tar.gz",
        "5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2",
    ),
    FleetProgram(
        "msgpack",
        0,
        ("src/objectc.c", "src/unpack.c", "src/vrefbuffer.c", "src/zone.c"),
        (),
        "-DMSGPACK_ENDIAN_LITTLE_BYTE=1 -DMSGPACK_ENDIAN_BIG_BYTE=0 -I $SOURCE/include",
        "pool/main/m/msgpack-c/msgpack-c_4.0.0.orig.tar.gz",
        "420fe35e7572f2a168d17e660ef981a589c9cbe77faa25eb34a520e1fcc032c8",
    ),
    FleetProgram(
        "tre",
        0,
        tuple(
            f"lib/{name}.c"
            for name in (
                *("regcomp", "regexec", "tre-ast", "tre-compile", "tre-match-approx"),
                *("tre-match-backtrack", "tre-match-parallel", "tre-parse", "tre-stack"),
            )
        ),
        ("lib/regerror.c", "lib/tre-mem.c", "lib/xmalloc.c"),
        "-DHAVE_CONFIG_H -I $SOURCE/lib",
        "pool/main/t/tre/tre_0.8.0.orig.tar.gz",
        "be8670a55198bc57485a6a8ae4b497d7db98ea25f90968585b7eb07d94c6a7dd",
    ),
)


def main(names: Sequence[str]) -> None:
    from lab.planting import choose

    chosen = json.loads(PLACES.read_text()) if PLACES.exists() else {}
    for program in FLEET_PROGRAMS:
        if not names or program.name in names:
            with tempfile.TemporaryDirectory() as work:
                found = choose(program, Path(work).resolve(), len(KINDS))
            chosen[program.name] = [[f, p.file, p.line, p.text] for f, p in found.items()]
    PLACES.write_text(json.dumps(chosen, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
