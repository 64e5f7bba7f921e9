"""The compilers and interpreters on which text mutators are evaluated, in two sets.

Seen: figures on lua, mujs, tcc (campaigns for users: sample_campaigns) and mawk were known when the
text mutators and their defaults were changed.

New: bc, jq, mruby and SQLite were in no set before; their harnesses and seeds were written before
any engine ran on them. Nothing is changed because of a figure on this set.

The figures of the two are also reported apart. Sources are Debian's, at exact versions. A harness
compiles its input and throws it away (SQLite runs the statements on an empty database in memory,
for a bounded number of steps), so no input reaches a file, a process or an endless loop. The
harness counts the inputs that its parser accepts.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_SAMPLES = _HERE.parents[2] / "sample_campaigns"

AFL = {
    "AFL_NO_UI": "1",
    "AFL_SKIP_CPUFREQ": "1",
    "AFL_NO_AFFINITY": "1",
    "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
    "AFL_QUIET": "1",
}


@dataclass(frozen=True)
class Compiler:
    """One subject: where its build script and its seeds are."""

    name: str
    folder: Path
    """Contains build.sh, which makes the program ``name`` in the current directory."""
    seeds: Path | None
    """None: build.sh writes the seeds to ``seeds`` in the current directory."""
    new: bool
    language: str = ""
    """The value of ``text.language``: what the suffixes of the seeds say; "" if it has none."""
    memory: str = "none"
    """MiB that afl-fuzz and afl-showmap allow the program."""
    timeout_ms: int = 500


def _sample(name: str, language: str, seeds: str, memory: str = "none") -> Compiler:
    folder = _SAMPLES / "seeds" / seeds if seeds else None
    return Compiler(name, _SAMPLES / name, folder, False, language, memory)


def _own(name: str, *, new: bool = True, language: str = "") -> Compiler:
    return Compiler(name, _HERE / name, _HERE / name / "seeds", new, language)


COMPILERS = {
    compiler.name: compiler
    for compiler in (
        _sample("lua", "lua", "lua"),
        _sample("mujs", "javascript", "mujs"),
        _sample("tcc", "c", "", memory="512"),
        _own("mawk", new=False, language="awk"),
        _own("bc"),
        _own("jq"),
        _own("mruby", language="ruby"),
        _own("sqlite"),
    )
}


@dataclass(frozen=True)
class Built:
    """A compiler whose program is there."""

    compiler: Compiler
    program: Path
    seeds: Path
    digest: str
    """Of program and seeds: runs with another one cannot be compared."""


def build(compiler: Compiler, work: Path) -> Built:
    """Build the program below ``work``, unless it was built there from the same files.

    Raises SystemExit if it cannot be built, or if its parser rejects a seed.
    """
    directory = work / "build" / compiler.name
    sources = [*compiler.folder.glob("*.*"), *(_SAMPLES / "debian").glob("*.*")]
    recipe, built = _digest(sources), directory / ".built"
    program, seeds = directory / compiler.name, compiler.seeds or directory / "seeds"
    if not built.exists() or built.read_text() != recipe:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        print(f"building {compiler.name} in {directory}", flush=True)
        env = {**os.environ, **AFL, "CC": "afl-cc", "SOURCE": str(_SAMPLES)}
        script = ["sh", "-eu", str(compiler.folder / "build.sh")]
        if subprocess.run(script, cwd=directory, env=env, check=False).returncode:
            raise SystemExit(f"{compiler.name} cannot be built by {script[-1]}")
        done = subprocess.run(
            [program, *sorted(seeds.iterdir())], capture_output=True, text=True, check=False
        )
        if done.returncode:
            rejected = [line for line in done.stdout.splitlines() if line.startswith("- ")]
            raise SystemExit(f"{compiler.name} rejects a seed: {rejected}\n{done.stderr}")
        built.write_text(recipe)
    return Built(compiler, program, seeds, _digest([program, *seeds.iterdir()])[:16])


def _digest(files: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def edges_after(built: Built, queue: Path, key: str, points: list[int], scratch: Path) -> list[int]:
    """Count the edges that the seeds cover, then seeds and queue entries up to each point.

    ``key``: ``time`` (milliseconds) or ``execs``, the part of an entry's name that is compared with
    the points, which ascend. ``scratch``: an existing directory on the queue's file system. Raises
    :class:`RuntimeError` if afl-showmap fails.
    """
    entries = {file: _when(file.name, key) for file in queue.glob("id:*")}
    edges: set[str] = set()
    counts, before = [], -2
    for point in (-1, *points):
        part = scratch / "part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        for file, when in entries.items():
            if before < when <= point:
                os.link(file, part / file.name)
        edges |= _edges(built, part, scratch / "edges")
        counts.append(len(edges))
        before = point
    return counts


def _when(name: str, key: str) -> int:
    """The number after ``key:`` in an entry's name; -1 for a seed."""
    fields = dict(field.partition(":")[::2] for field in name.split(","))
    return -1 if "orig" in fields else int(fields[key])


def _edges(built: Built, folder: Path, out: Path) -> set[str]:
    if not any(folder.iterdir()):
        return set()
    out.unlink(missing_ok=True)
    subprocess.run(
        ["afl-showmap", "-q", "-C", "-i", folder, "-o", out, "-t", "2000",
         "-m", built.compiler.memory, "--", built.program],
        env={**os.environ, **AFL}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if not out.exists():
        raise RuntimeError(f"afl-showmap gave nothing over {folder}")
    return {line.partition(":")[0] for line in out.read_text().splitlines()}
