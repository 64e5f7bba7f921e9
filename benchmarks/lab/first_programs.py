"""The programs on which fuzz-first is evaluated: ten in C, two in Python, all of them held out.

Four of the C programs are our own (``first/held_out/own``), one for each kind of guard: magic
numbers in nested formats, checksums, a table of lengths, an order of messages. Each has four bugs
behind its guards, at different depths. The other programs are libraries of Debian and of PyPI at
exact versions, with five planted bugs each, at the places in ``first/held_out/places.json`` that
``lab/planting.py`` has chosen. Programs, seeds, places and executions were fixed before fuzz-first
ran on any of them for a result, and nothing here is ever changed because of a figure.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.runs import Instance, RunFailed, call
from lab.subjects import Subject

LAB = Path(__file__).resolve().parent
HELD_OUT = LAB / "first" / "held_out"
PLACES = HELD_OUT / "places.json"
_DEBIAN = LAB.parent.parent / "sample_campaigns" / "debian"
_SHARED = [HELD_OUT / name for name in ("bug.h", "driver.c", "Makefile")] + [_DEBIAN / "parser.h"]
_CODE = {".c", ".h", ".in", ".inc"}
WITHOUT_AFL = (
    "-D'__AFL_FUZZ_INIT()=' -D'__AFL_INIT()=' -D'__AFL_LOOP(n)=0' -D__AFL_FUZZ_TESTCASE_BUF=0"
    " -D__AFL_FUZZ_TESTCASE_LEN=0"
)
"""Flags by which any compiler compiles driver.c, which needs nothing of AFL++ for named files."""
_BUG = re.compile(r"planted bug (\d+)")
_AFL = {"AFL_QUIET": "1", "AFL_NO_UI": "1", "AFL_SKIP_CPUFREQ": "1"}
_REPLAY = "import sys; import harness; harness.read(open(sys.argv[1], 'rb').read())"

Entries = Sequence[tuple[int, Path]]
"""Queue entries of the target in the order in which they were saved: the executions of the whole
campaign until then, and the file."""


@dataclass(frozen=True)
class Place:
    """Where a bug is planted: in front of the statement ``text`` in that line."""

    file: str
    line: int
    text: str


def places(name: str) -> list[Place]:
    """The places of a library's planted bugs, in the order of their numbers from 1."""
    return [Place(*place) for place in json.loads(PLACES.read_text()).get(name, [])]


def plant(source: Path, place: Place, bug: str) -> None:
    """Put ``bug`` in front of a statement. Raises :class:`RunFailed` if it is not there."""
    file = source / place.file
    lines = file.read_text(errors="surrogateescape").split("\n")
    line = lines[place.line - 1]
    if line.strip() != place.text:
        raise RunFailed(f"{file}:{place.line}: {line.strip()!r} is not {place.text!r}")
    lines[place.line - 1] = line.replace(place.text, f"{bug} {place.text}", 1)
    file.write_text("\n".join(lines), errors="surrogateescape")


@dataclass(frozen=True)
class CProgram:
    """A program in C; of a library ``pool`` names Debian's tarball (debian/fetch.py)."""

    name: str
    execs: int
    """Of a campaign, in all: about a minute of a core, by afl-fuzz's speed with CmpLog."""
    mutated: tuple[str, ...]
    """``mutants.sources``: what somebody wrote for parsing, without generated tables."""
    others: tuple[str, ...] = ()
    """Files that are compiled besides."""
    flags: str = ""
    pool: str = ""
    sha256: str = ""
    folder: str = "."
    """The directory in the tarball whose code is used."""

    @property
    def sources(self) -> tuple[str, ...]:
        """What is compiled, besides driver.c."""
        return (*self.mutated, *self.others, *(["subject.c"] if self.pool else []))

    @property
    def home(self) -> Path:
        """The directory of its harness and its seeds."""
        return HELD_OUT / ("libraries" if self.pool else "own") / self.name

    @property
    def seeds(self) -> Path:
        return self.home / "seeds"

    def make(self, into: Path) -> None:
        """Write ``source`` with the planted bugs, and build the program, and that for CmpLog."""
        source = into / "source"
        self.fill(source)
        for number, place in enumerate(places(self.name), 1):
            plant(source, place, f"BUG({number});")
        for kind, env in (("build", {}), ("cmplog", {"AFL_LLVM_CMPLOG": "1"})):
            (into / kind).mkdir()
            self.build(source, into / kind, {**_AFL, **env, "CC": "afl-cc"})
        # In the source, as no build of a mutant should make it again.
        shutil.move(into / "cmplog" / "program", source / "program.cmplog")

    def fill(self, source: Path) -> None:
        """Write the source without planted bugs."""
        if self.pool:
            with tempfile.TemporaryDirectory() as whole:
                fetch = [sys.executable, str(_DEBIAN / "fetch.py"), self.pool, self.sha256, whole]
                _run(fetch, Path(whole))
                shutil.copytree(Path(whole, self.folder), source, ignore=_no_code)
        else:
            source.mkdir()
        for file in (*self.home.glob("*.[ch]"), *_SHARED):
            shutil.copy(file, source)

    def build(self, source: Path, into: Path, env: dict[str, str], **words: str) -> Path:
        """Build the program in ``into``. ``words`` are variables of the Makefile."""
        _run(["sh", "-euc", self.command("$SOURCE", **words)], into, {**env, "SOURCE": str(source)})
        return into / "program"

    def command(self, source: str, **words: str) -> str:
        """The shell command that builds it."""
        words["FLAGS"] = f"{self.flags} {words.get('FLAGS', '')}".strip()
        given = {"SOURCE": source, "SOURCES": " ".join(self.sources), **words}
        variables = " ".join(f'{key}="{value}"' for key, value in given.items())
        return f'make -s -f "{source}/Makefile" CC="$CC" {variables}'

    def tables(self, place: Path) -> dict[str, Any]:
        """``[target]`` and ``[engine]`` of its campaigns."""
        return {
            "target": {
                "command": ["./program"],
                "cmplog": str(place / "source" / "program.cmplog"),
                "source": str(place / "source"),
                "build": self.command("$SOURCE"),
            },
            "engine": {"kind": "afl", "instances": 1, "seeds": [str(self.seeds)]},
        }

    def bug(self, place: Path, file: Path) -> int:
        """The number of the planted bug that an input reaches; 0: none, or another crash."""
        return _number([place / "build" / "program", file], {})

    def edges(
        self, place: Path, entries: Entries, marks: Sequence[int], scratch: Path
    ) -> list[int]:
        """The edges of the target that the entries until each of ``marks`` cover together."""
        found: list[int] = []
        covered, left = set[str](), list(entries)
        for mark in marks:
            folder = scratch / f"entries-{len(found)}"
            folder.mkdir()
            while left and left[0][0] <= mark:
                shutil.copy(left.pop(0)[1], folder / str(len(left)))
            if any(folder.iterdir()):
                covered |= self._covered(place, folder, scratch / "map")
            found.append(len(covered))
        return found

    def _covered(self, place: Path, folder: Path, out: Path) -> set[str]:
        out.unlink(missing_ok=True)
        # As afl-fuzz runs it, from stdin. The exit status is that of the last input.
        words = ["afl-showmap", "-q", "-C", "-i", str(folder), "-o", str(out), "-t", "1000"]
        subprocess.run(
            [*words, "-m", "none", "--", place / "build" / "program"], env={**os.environ, **_AFL},
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        if not out.exists():
            raise RunFailed(f"{self.name}: afl-showmap gave nothing over {folder}")
        return {line.partition(":")[0] for line in out.read_text().splitlines()}


@dataclass(frozen=True)
class PythonProgram:
    """A library of PyPI, as it is installed; edges are zest's."""

    name: str
    execs: int
    """Trials of a campaign, in all: about a minute of a core."""
    mutated: tuple[str, ...]
    """``mutants.sources``: the modules that parse."""
    expected: tuple[str, ...]

    @property
    def home(self) -> Path:
        """The directory of its harness and its seeds."""
        return HELD_OUT / "python" / self.name

    @property
    def seeds(self) -> Path:
        return self.home / "seeds"

    def make(self, into: Path) -> None:
        """Write ``source`` with the planted bugs."""
        self.fill(into / "source")
        for number, place in enumerate(places(self.name), 1):
            plant(into / "source", place, f'raise AssertionError("planted bug {number}");')

    def fill(self, source: Path) -> None:
        """Write the source without planted bugs."""
        found = importlib.util.find_spec(self.name)
        if found is None or found.origin is None:
            raise RunFailed(f"{self.name} is not installed: pip install -e '.[bench]'")
        origin = Path(found.origin)
        source.mkdir()
        shutil.copy(self.home / "harness.py", source)
        if found.submodule_search_locations:
            shutil.copytree(
                origin.parent, source / self.name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(origin, source)

    def tables(self, place: Path) -> dict[str, Any]:
        """``[target]`` and ``[engine]`` of its campaigns."""
        of = self._subject(place)
        return {
            "target": {
                "function": of.function,
                "include": list(of.include),
                "expected": list(of.expected),
                "path": list(of.path),
                "input": of.input,
            },
            "engine": {"kind": "zest", "instances": 1, "seeds": [of.seeds]},
        }

    def bug(self, place: Path, file: Path) -> int:
        """As for C."""
        env = {"PYTHONPATH": str(place / "source"), "PYTHONDONTWRITEBYTECODE": "1"}
        return _number([sys.executable, "-P", "-c", _REPLAY, file], env)

    def edges(
        self, place: Path, entries: Entries, marks: Sequence[int], scratch: Path
    ) -> list[int]:
        """As for C: the cells of the coverage map, by this checkout's probes."""
        judge = Instance(self._subject(place), "zest", scratch)
        spec, record, listed = judge.spec(), scratch / "record.json", scratch / "entries.json"
        listed.write_text(json.dumps([(at, str(file)) for at, file in entries]))
        argv = [judge.python, "-P", str(LAB / "replayed.py"), str(spec), str(record), str(listed),
                json.dumps(marks)]  # fmt: skip
        call(argv, scratch, scratch / "replay.log", limit_s=1200)
        found: list[int] = json.loads(record.read_text())["over"]
        return found

    def _subject(self, place: Path) -> Subject:
        source = str(place / "source")
        return Subject(self.name, "", "harness:read", (self.name,), self.expected,
                       seeds=str(self.seeds), path=(source,), input="bytes")  # fmt: skip


FirstProgram = CProgram | PythonProgram


def place_of(program: FirstProgram, work: Path) -> Path:
    """The directory of a program below ``work``, named after all that the program is made of."""
    made_of = [*sorted(p for p in program.home.rglob("*") if p.is_file()), *_SHARED]
    parts = [repr(program), repr(places(program.name)), *(p.read_bytes().hex() for p in made_of)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return work / f"{program.name}-{digest}"


def prepared(program: FirstProgram, work: Path) -> Path:
    """:func:`place_of`, with the program built there. Raises :class:`RunFailed`."""
    place = place_of(program, work)
    if not place.exists():
        work.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{program.name}-", dir=work))
        try:
            program.make(part)
            part.rename(place)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return place


def _no_code(folder: str, names: list[str]) -> Iterable[str]:
    return [n for n in names if Path(n).suffix not in _CODE and not Path(folder, n).is_dir()]


def _number(words: Sequence[str | Path], env: dict[str, str]) -> int:
    try:
        done = subprocess.run(
            words, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True,
            check=False, timeout=60,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 0
    found = _BUG.search(done.stderr.decode(errors="replace"))
    return int(found[1]) if found and done.returncode else 0


def _run(words: Sequence[str | Path], cwd: Path, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        raise RunFailed(f"{' '.join(map(str, words))}\n{(done.stdout + done.stderr)[-2000:]}")


OWN = (
    CProgram("parcel", 1_500_000, ("parcel.c",)),
    CProgram("voucher", 1_500_000, ("voucher.c",)),
    CProgram("binder", 1_500_000, ("binder.c",)),
    CProgram("ferry", 1_500_000, ("ferry.c",)),
)
DEBIAN = (
    CProgram(
        "libyaml",
        1_000_000,
        ("src/reader.c", "src/scanner.c", "src/parser.c", "src/loader.c"),
        ("src/api.c",),
        "-DHAVE_CONFIG_H -I $SOURCE/include",
        "pool/main/liby/libyaml/libyaml_0.2.5.orig.tar.gz",
        "fa240dbf262be053f3898006d502d514936c818e422afdcf33921c63bed9bf2e",
    ),
    CProgram(
        "expat",
        1_200_000,
        ("lib/xmlparse.c", "lib/xmlrole.c", "lib/xmltok.c"),
        (),
        "",
        "pool/main/e/expat/expat_2.5.0.orig.tar.gz",
        "ab00ee05c7067fd10a35c5d2a4922ebba746ddd50ff83b79c828da17bbdf1757",
        "expat",
    ),
    CProgram(
        "jansson",
        1_000_000,
        ("src/load.c", "src/value.c", "src/utf.c", "src/strconv.c", "src/hashtable.c"),
        ("src/dump.c", "src/error.c", "src/hashtable_seed.c", "src/memory.c", "src/strbuffer.c"),
        "-DHAVE_CONFIG_H -I $SOURCE/src",
        "pool/main/j/jansson/jansson_2.14.orig.tar.gz",
        "c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b",
    ),
    CProgram(
        "giflib",
        1_200_000,
        ("dgif_lib.c", "gifalloc.c"),
        ("gif_err.c", "gif_hash.c", "openbsd-reallocarray.c"),
        "",
        "pool/main/g/giflib/giflib_5.2.1.orig.tar.gz",
        "31da5562f44c5f15d63340a09a4fd62b48c45620cd302f77a6d9acf0077879bd",
    ),
    CProgram(
        "cmark",
        500_000,
        ("src/blocks.c", "src/inlines.c", "src/references.c", "src/html.c"),
        tuple(
            f"src/{name}.c"
            for name in (
                *("buffer", "cmark", "cmark_ctype", "houdini_href_e", "houdini_html_e"),
                *("houdini_html_u", "iterator", "node", "scanners", "utf8"),
            )
        ),
        "",
        "pool/main/c/cmark/cmark_0.30.2.orig.tar.gz",
        "6c7d2bcaea1433d977d8fed0b55b71c9d045a7cdf616e3cd2dce9007da753db3",
    ),
    CProgram(
        "libplist",
        1_500_000,
        ("src/bplist.c", "src/xplist.c", "src/time64.c", "src/base64.c"),
        (
            *("src/bytearray.c", "src/hashtable.c", "src/plist.c", "src/ptrarray.c"),
            *("libcnary/node.c", "libcnary/node_list.c"),
        ),
        "-DHAVE_CONFIG_H -I $SOURCE/include -I $SOURCE/src -I $SOURCE/libcnary/include",
        "pool/main/libp/libplist/libplist_2.2.0.orig.tar.bz2",
        "bd700c1a7862fe732e9292ef65e21bd25e05d09f542ff0b1c49aace0d1bd495e",
    ),
)
PYTHON = (
    PythonProgram("polib", 300_000, ("polib",), ("OSError", "UnicodeError")),
    PythonProgram(
        "mido",
        500_000,
        ("mido.midifiles.midifiles", "mido.midifiles.meta", "mido.messages.decode"),
        (
            "EOFError",
            "LookupError",
            "OSError",
            "ValueError",
            "mido.midifiles.meta.KeySignatureError",
        ),
    ),
)
C_PROGRAMS = OWN + DEBIAN
FIRST_PROGRAMS: tuple[FirstProgram, ...] = C_PROGRAMS + PYTHON
