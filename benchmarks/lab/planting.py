"""Choose the places of the planted bugs, at random with a fixed seed: ``places.json``.

    cd benchmarks; python -m lab.planting

Five statements of each library, in different functions, that no shallow input executes: by gcov in
C, by a trace in Python. Shallow are the seeds, their beginnings, and the seeds without one byte:
else most malformed inputs would crash, which no fuzzer gets past. The statements are in the files
that are mutated, those of the parser. Of what no input can reach, as much is left out as can be
seen without any run: in C functions that the linker drops, asserts, and statements behind an
allocation that has failed; in Python functions that no seed enters. The places are kept in
``first/held_out/places.json``, because another gcc may count other lines: this program shows how
they came to be.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lab.first_programs import (
    DEBIAN,
    PLACES,
    PYTHON,
    WITHOUT_AFL,
    CProgram,
    Place,
    PythonProgram,
    plant,
)
from lab.runs import RunFailed

BUGS = 5
SEED = 36

_NO_STATEMENT = re.compile(r"(else|while|case|default|static)\b|[^\w(*+-]|\w+:$")
"""The beginning of a line in front of which no statement can stand."""

_UNREACHABLE = re.compile(r"(?i)alloc|mem(ory|_|\b)|\bassert")

Candidate = tuple[str, Place]
"""A function, and a statement in it."""


def _shallow(program: CProgram | PythonProgram) -> Iterator[bytes]:
    """The seeds, their beginnings, and the seeds without one byte."""
    for seed in sorted(program.seeds.iterdir()):
        data = seed.read_bytes()
        yield data
        for at in range(len(data)):
            yield data[:at]
            yield data[:at] + data[at + 1 :]


def _in_c(program: CProgram, work: Path) -> list[Candidate]:
    source, build = work / "source", work / "build"
    program.fill(source)
    build.mkdir()
    made = program.build(
        source, build, {"CC": "gcc"}, FLAGS=f"{WITHOUT_AFL} -O0 --coverage", LIBS="--coverage"
    )
    inputs = work / "inputs"
    inputs.mkdir()
    for number, data in enumerate(_shallow(program)):
        (inputs / str(number)).write_bytes(data)
    subprocess.run([made, *inputs.iterdir()], capture_output=True, check=False)
    kept = _linked(program, source, work / "linked")
    found: dict[tuple[str, int], tuple[str, int]] = {}
    for function, file, line, count in gcov_lines(build):
        at = os.path.relpath(file, source), line
        if at[0] in program.mutated and function in kept:
            found[at] = function, count + found.get(at, (function, 0))[1]
    return [
        (function, place)
        for (file, line), (function, count) in sorted(found.items())
        if not count and (place := _statement(source, file, line))
    ]


def _linked(program: CProgram, source: Path, build: Path) -> set[str]:
    """The functions that the linker keeps."""
    build.mkdir()
    flags = f"{WITHOUT_AFL} -O0 -ffunction-sections -fno-jump-tables"
    made = program.build(source, build, {"CC": "gcc"}, FLAGS=flags, LIBS="-Wl,--gc-sections")
    names = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in names.splitlines()}


def gcov_lines(build: Path) -> Iterator[tuple[str, str, int, int]]:
    """Function, file, line and count of all lines below the source, by gcov."""
    notes = [path.name for path in sorted(build.glob("*.gcno"))]
    said = subprocess.run(
        ["gcov", "--json-format", "--stdout", *notes], cwd=build, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    for text in said.stdout.splitlines():
        report: dict[str, Any] = json.loads(text)
        for file in report["files"]:
            for line in file["lines"]:
                yield (line.get("function_name", ""), str((build / file["file"]).resolve()),
                       line["line_number"], line["count"])  # fmt: skip


def _statement(source: Path, file: str, number: int) -> Place | None:
    """The statement that begins in a line; None if none does, or it is about missing memory."""
    lines = (source / file).read_text(errors="surrogateescape").split("\n")
    text = lines[number - 1].strip()
    before = next(line.strip() for line in reversed(lines[: number - 1]) if line.strip())
    if before[-1] not in "{;}:" or text.endswith("\\") or _NO_STATEMENT.match(text):
        return None
    if _UNREACHABLE.search(" ".join(lines[max(0, number - 3) : number])):
        return None
    return Place(file, number, text)


def _builds(program: CProgram, work: Path, place: Place, number: int) -> bool:
    """Plant a bug. Returns whether the program can be built with it, and the optimiser keeps all
    bugs until now: none always comes first. If not, the bug is taken out again.
    """
    source, build = work / "source", work / "planted"
    file = source / place.file
    before = file.read_bytes()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir()
    try:
        plant(source, place, f"BUG({number});")
        made = program.build(source, build, {"CC": "gcc"}, FLAGS=f"{WITHOUT_AFL} -O2").read_bytes()
    except RunFailed:
        made = b""
    if all(b"planted bug %d\n" % n in made for n in range(1, number + 1)):
        return True
    file.write_bytes(before)
    return False


def _in_python(program: PythonProgram, work: Path) -> list[Candidate]:
    source = work / "source"
    program.fill(source)
    executed = _executed(program, source)
    found: list[Candidate] = []
    for module in program.mutated:
        file = f"{module.replace('.', '/')}.py"
        tree = ast.parse((source / file).read_bytes())
        lines = (source / file).read_text().split("\n")
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef) or function.end_lineno is None:
                continue
            inside = range(function.body[0].lineno, function.end_lineno + 1)
            if not any((file, line) in executed for line in inside):
                continue  # nobody knows whether anything calls it
            for node in ast.walk(function):
                if not isinstance(node, ast.stmt) or not _is_simple(node):
                    continue
                if (file, node.lineno) not in executed:
                    text = lines[node.lineno - 1].strip()
                    found.append((f"{file}:{function.name}", Place(file, node.lineno, text)))
    return found


def _is_simple(node: ast.stmt) -> bool:
    """Whether another statement may stand in front of this one, in its line."""
    simple = (ast.Assign, ast.AugAssign, ast.Raise, ast.Return, ast.Delete, ast.Pass, ast.Continue)
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return isinstance(node, simple) or call


def _executed(program: PythonProgram, source: Path) -> set[tuple[str, int]]:
    """The lines that are executed on import and by the seeds."""
    done: set[tuple[str, int]] = set()
    root = f"{source}/"

    def trace(frame: Any, event: str, argument: object) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(root):
            return None
        done.add((name.removeprefix(root), frame.f_lineno))
        return trace

    sys.path.insert(0, str(source))
    sys.settrace(trace)
    try:
        harness = __import__("harness")
        for data in _shallow(program):
            with contextlib.suppress(Exception):
                harness.read(data)
    finally:
        sys.settrace(None)
        sys.path.remove(str(source))
        del sys.modules["harness"]
    return done


def choose(program: CProgram | PythonProgram, work: Path, bugs: int = BUGS) -> dict[str, Place]:
    """Places by their functions, which differ, in random order: the bugs from 1 on."""
    if isinstance(program, CProgram):
        found = _in_c(program, work)
    else:
        found = _in_python(program, work)
    print(f"{program.name}: {len(found)} statements in {len({f for f, _ in found})} functions")
    random.Random(f"{SEED} {program.name}").shuffle(found)
    chosen: dict[str, Place] = {}
    for function, place in found:
        if function in chosen or place in chosen.values():
            continue
        if not isinstance(program, CProgram) or _builds(program, work, place, len(chosen) + 1):
            chosen[function] = place
            print(f"  {len(chosen)} {place.file}:{place.line} {function}: {place.text}")
        if len(chosen) == bugs:
            break
    return chosen


def main(names: Sequence[str]) -> None:
    chosen = json.loads(PLACES.read_text()) if PLACES.exists() else {}
    for program in (*DEBIAN, *PYTHON):
        if not names or program.name in names:
            with tempfile.TemporaryDirectory() as work:
                found = choose(program, Path(work).resolve())
            chosen[program.name] = [[p.file, p.line, p.text] for p in found.values()]
    PLACES.write_text(json.dumps(chosen, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
