"""Find what AFL++ could fuzz: instrumented programs, and builds that would make one."""

from __future__ import annotations

import mmap
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import read_if_regular, temporary_directory

_MARK: Final = b"__AFL_SHM_ID"
"""The variable whose name the runtime of AFL++ has; a stripped program has it, too."""

_SKIPPED: Final = ("node_modules", "runs", "__pycache__", "site-packages")
_MAX_FILES: Final = 20_000
_MAX_TEXT: Final = 1 << 20
_SHOWMAP_S: Final = 10.0
_SEED_FOLDERS: Final = (
    "seeds", "corpus", "in", "input", "inputs", "testcases", "test/corpus", "tests/corpus",
    "fuzz/corpus", "fuzz/seeds", "tests/data", "test/data", "testdata", "samples",
)  # fmt: skip
_MAX_SEED: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class NativeTarget:
    """A program, or a build that makes one."""

    what: str
    """For users: the program's path, or what was found."""
    program: str
    """The program as a command, relative to the campaign file or to the build; "": unknown."""
    build: str = ""


_COPY: Final = 'set -e\ntar -C "$SOURCE" --exclude=./runs --exclude=./.git -cf - . | tar -xf -\n'
"""The build runs in a copy, as many builds write next to their sources."""

_C: Final = (".c", ".cc", ".cpp", ".cxx")
_FOR_CC: Final = 'CC="$CC" CXX="$CXX"'
_BUILDS: Final = (
    (
        "CMakeLists.txt",
        'set -e\ncmake -S "$SOURCE" -B . -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \\\n'
        "  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_SHARED_LIBS=OFF\n"
        "cmake --build . --parallel 2\n",
        r"add_executable\s*\(\s*([\w.-]+)",
    ),
    (
        "meson.build",
        'set -e\nmeson setup --default-library=static . "$SOURCE"\nninja -j2\n',
        r"executable\s*\(\s*'([\w.-]+)'",
    ),
    (
        "configure",
        f"{_COPY}./configure --disable-shared {_FOR_CC}\nmake -j2\n",
        r"",
    ),
    (
        "configure.ac",
        f"{_COPY}autoreconf -fi\n./configure --disable-shared {_FOR_CC}\nmake -j2\n",
        r"",
    ),
    (
        "Makefile",
        f"{_COPY}make clean >/dev/null 2>&1 || true  # objects of another compiler\n"
        f"make -j2 {_FOR_CC}\n",
        r"(?m)(?:-o\s+|^all:[ \t]*)([\w./-]+)(?<!\.o)(?=\s|$)",
    ),
)
"""File, commands, and a pattern of the file that finds the program's name."""


def instrumented_programs(project: Path) -> Iterator[NativeTarget]:
    """Yield programs below a directory that AFL++ has instrumented."""
    seen = 0
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _SKIPPED
        )
        for name in sorted(files):
            seen += 1
            if seen > _MAX_FILES:
                return
            path = Path(folder) / name
            if not name.endswith((".cmplog", ".o", ".so", ".a")) and is_instrumented(path):
                program = f"./{path.relative_to(project)}"
                yield NativeTarget(program, shlex.quote(program))


def is_instrumented(path: Path) -> bool:
    """Whether a file is an executable with the runtime of AFL++."""
    try:
        if not path.is_file() or not os.access(path, os.X_OK) or path.stat().st_size < 64:
            return False
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(_MARK) >= 0
    except (OSError, ValueError):
        return False


def builds(project: Path) -> Iterator[NativeTarget]:
    """Yield the builds of a C or C++ project, one for each build system."""
    if not _has_sources(project):
        return
    for name, commands, pattern in _BUILDS:
        text = read_if_regular(project / name, _MAX_TEXT)
        if text is None or (name == "configure.ac" and (project / "configure").is_file()):
            continue
        yield NativeTarget(name, _program_of(project, text, pattern), commands)


def _has_sources(project: Path) -> bool:
    ends = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")
    places = [project, *(project / name for name in ("src", "source", "lib"))]
    return any(path.suffix in ends for place in places for path in _inside(place))


def _inside(folder: Path) -> list[Path]:
    """Return what is in a directory; nothing if it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _program_of(project: Path, text: bytes, pattern: str) -> str:
    """Return the program that a build file names, preferably one for fuzzing; "": none."""
    names: list[str] = []
    if pattern:
        names = re.findall(pattern, text.decode(errors="replace"))
    else:  # autotools: Makefile.am names the programs
        for path in (project / "Makefile.am", project / "src" / "Makefile.am"):
            made = (read_if_regular(path, _MAX_TEXT) or b"").decode(errors="replace")
            found = re.findall(r"^\w*_PROGRAMS\s*\+?=\s*([\w-]+)", made, re.MULTILINE)
            folder = path.parent.relative_to(project)
            names += [str(folder / name) for name in found]
    if not names and project.joinpath("Makefile").is_file():  # a goal named like a source
        goals = re.findall(r"^([\w.-]+)[ \t]*:(?!=)", text.decode(errors="replace"), re.MULTILINE)
        names = [goal for goal in goals if any((project / f"{goal}{e}").is_file() for e in _C)]
    if not names:
        return ""
    best = next((name for name in names if "fuzz" in name), names[0])
    sources = (read_if_regular(project / f"{best}{end}", _MAX_TEXT) for end in _C)
    opens = any(b"argv[1]" in source for source in sources if source)
    return f"./{best}{' @@' * opens}"


def seed_folder(project: Path) -> str:
    """Return a directory of the project that has seeds, as the campaign file names it; "": none."""
    for name in _SEED_FOLDERS:
        if any(map(_is_seed, _inside(project / name))):
            return name
    return ""


def _is_seed(path: Path) -> bool:
    try:
        return path.is_file() and 0 < path.stat().st_size <= _MAX_SEED and path.suffix != ".py"
    except OSError:
        return False


def takes_file(program: Path, samples: Iterable[bytes]) -> bool | None:
    """Whether a program reads a file named by its argument; None: not known.

    Runs the program with afl-showmap on samples, as file and on stdin: if they are read, different
    samples cover different edges.
    """
    showmap = shutil.which("afl-showmap")
    if showmap is None:
        return None
    by_file: set[bytes] = set()
    by_stdin: set[bytes] = set()
    with temporary_directory() as folder:
        for data in samples:
            by_file.add(_edges(showmap, program, data, Path(folder), in_file=True))
            by_stdin.add(_edges(showmap, program, data, Path(folder), in_file=False))
    if len(by_file - {b""}) == len(by_stdin - {b""}):
        return None
    return len(by_file - {b""}) > len(by_stdin - {b""})


def _edges(showmap: str, program: Path, data: bytes, folder: Path, *, in_file: bool) -> bytes:
    sample, edges = folder / "sample", folder / "edges"
    sample.write_bytes(data)
    edges.unlink(missing_ok=True)
    argv = [showmap, "-q", "-m", "none", "-t", "1000", "-o", str(edges), "--", str(program)]
    try:
        with sample.open("rb") as stdin:
            subprocess.run(
                [*argv, str(sample)] if in_file else argv,
                stdin=subprocess.DEVNULL if in_file else stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                timeout=_SHOWMAP_S,
                check=False,
            )
    except (OSError, subprocess.SubprocessError):
        return b""
    return read_if_regular(edges, _MAX_TEXT) or b""
