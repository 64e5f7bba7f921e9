"""Do exported tests notice that a library returns something else? Ten libraries, 30 edits of each.

Each library is fuzzed for some seconds and its tests are exported. Then a script edits the lines
that the exported inputs execute (a constant off by one, another field, a swapped comparison, a
dropped item, ...), one edit at a time. An edit counts if anything that the library prints of the
values of those inputs changes; the exported file must fail then. Goal: for 95% of them.

    python experiments/exported_tests.py --python venv/bin/python --repeat 30 tomlkit parso

The libraries must be installed for ``--python``; each is copied before it is edited.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
from lab.options import parse
from lab.returning import LIBRARIES, Library
from lab.rows import Rows

_LIMIT_S = 60
_SWAPPED: dict[type, str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.And: "or", ast.Or: "and",
}  # fmt: skip

PRINTED = r"""
import json, re, sys
folder, inputs, lines = sys.argv[1:4]
sys.path[:0] = [folder, folder + "/lib"]
import harness
seen, out = set(), []
def local(frame, event, arg):
    seen.add((frame.f_code.co_filename, frame.f_lineno))
    return local
def trace(frame, event, arg):
    return local if frame.f_code.co_filename.startswith(folder) else None
for text in json.load(open(inputs)):
    sys.settrace(trace if lines == "lines" else None)
    try:
        value = harness.target(text)
    except BaseException as e:
        value = None
        out.append(f"raised {type(e).__name__}: {e}")
    sys.settrace(None)
    if value is not None:
        try:
            out.append(repr(harness.printed(value)))
        except BaseException as e:
            out.append(f"printing raised {type(e).__name__}: {e}")
print(json.dumps([re.sub("0x[0-9a-fA-F]{6,}", "", text) for text in out]))
print(json.dumps(sorted(seen)))
"""


@dataclass(frozen=True)
class Edit:
    """One change of a source file: characters ``start`` to ``end`` become ``text``."""

    file: Path
    line: int
    start: int
    end: int
    text: str
    kind: str


class Edits(ast.NodeVisitor):
    """All edits of a file, in lines that were executed."""

    def __init__(self, file: Path, lines: set[int]) -> None:
        self._file, self._lines = file, lines
        self._source = file.read_text()
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._bytes = self._source.encode()
        self._fields: list[str] = []
        self.found: list[Edit] = []
        self.visit(ast.parse(self._source))

    def _span(self, node: Any) -> tuple[int, int]:
        return (self._starts[node.lineno - 1] + node.col_offset,
                self._starts[node.end_lineno - 1] + node.end_col_offset)  # fmt: skip

    def _add(self, node: Any, text: str, kind: str) -> None:
        if node.lineno in self._lines:
            self.found.append(Edit(self._file, node.lineno, *self._span(node), text, kind))

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._bytes[start:end].decode()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer = self._fields
        self._fields = sorted({n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
                               and isinstance(n.ctx, ast.Store)
                               and ast.unparse(n.value) == "self"})  # fmt: skip
        self.generic_visit(node)
        self._fields = outer

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int:
            self._add(node, f"({node.value} + 1)", "constant")
        elif type(node.value) is str and node.value:
            self._add(node, f"({self._text(node)} + 'x')", "constant")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._add(node, f"({self._text(node)} + 'x')", "constant")

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            operator = _SWAPPED[type(node.ops[0])]
            sides = [f"({self._text(side)})" for side in (node.left, node.comparators[0])]
            self._add(node, f"({sides[0]} {operator} {sides[1]})", "comparison")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if operator := _SWAPPED.get(type(node.op)):
            text = f"(({self._text(node.left)}) {operator} ({self._text(node.right)}))"
            self._add(node, text, "arithmetic")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        parts = [f"({self._text(value)})" for value in node.values]
        self._add(node, f"({f' {_SWAPPED[type(node.op)]} '.join(parts)})", "logic")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        others = [name for name in self._fields if name != node.attr]
        is_own = isinstance(node.ctx, ast.Load) and ast.unparse(node.value) == "self"
        if is_own and others and node.attr in self._fields:
            self._add(node, f"self.{others[len(node.attr) % len(others)]}", "field")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add(node, "None", "dropped call")
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._add(node.test, f"(not ({self._text(node.test)}))", "condition")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if isinstance(node.value, (ast.List, ast.Tuple)) and len(node.value.elts) > 1:
            items = ", ".join(self._text(item) for item in node.value.elts[:-1])
            whole = f"[{items}]" if isinstance(node.value, ast.List) else f"({items},)"
            self._add(node.value, whole, "dropped item")
        self.generic_visit(node)


class Bench:
    """One library in a directory of its own."""

    def __init__(self, name: str, library: Library, args: argparse.Namespace, work: Path) -> None:
        self._name, self._library, self._args, self._work = name, library, args, work
        self._python = str(args.python)
        where = f"import {library.package} as p; print(p.__file__)"
        origin = subprocess.run([self._python, "-c", where], capture_output=True, text=True,
                                check=True).stdout.strip()  # fmt: skip
        ignored = shutil.ignore_patterns("__pycache__", "tests")
        shutil.copytree(Path(origin).parent, work / "lib" / library.package, ignore=ignored)
        (work / "harness.py").write_text(library.harness)
        (work / "printed.py").write_text(PRINTED)
        seeds = work / "seeds"
        seeds.mkdir()
        for n, seed in enumerate(library.seeds):
            (seeds / str(n)).write_bytes(seed.encode())
        target = {"function": "harness.py:target", "python": self._python, "path": ["lib"],
                  "include": list(library.include), "expected": list(library.expected)}  # fmt: skip
        # Inputs are chosen by edges, too: few mutants do.
        engine = {"kind": "mu2", "seeds": ["seeds"], "exact": False,
                  "operators": ["math"]}  # fmt: skip
        campaign = {"name": name, "budget": f"{args.seconds}s", "output": "run"}
        text = tomli_w.dumps({"campaign": campaign, "target": target, "engine": engine})
        (work / "campaign.toml").write_text(text)

    def measure(self) -> dict[str, Any]:
        """Fuzz, export, edit. Returns the figures."""
        self._fuzztui("campaign.toml", "--headless")
        export = ["run", "--pytest", "tests/test_it.py"]
        said = self._fuzztui("export", *export, "--no-findings")
        test_file = self._work / "tests/test_it.py"
        if not test_file.is_file():
            raise SystemExit(f"{self._name}: nothing was exported: {said[-2000:]}")
        text = test_file.read_text()
        queue = self._work / "run/out/main/queue"
        ids = set(re.findall(r'^    """.*(id:\d+)"""$', text, re.MULTILINE))
        chosen = [f.read_bytes().decode("utf-8", "replace") for f in sorted(queue.iterdir())
                  if f.name.partition(",")[0] in ids]  # fmt: skip
        (self._work / "inputs.json").write_text(json.dumps(chosen))
        before, lines = self._printed(self._work, "lines")
        assert before is not None, said
        assert self._passes(self._work), "the exported tests fail without an edit"
        edits = self._edits(lines)
        random.Random(self._args.seed).shuffle(edits)
        kept, missed, tried = 0, [], 0
        with ThreadPoolExecutor(self._args.jobs) as pool:
            batch = 2 * self._args.jobs
            while kept < self._args.repeat and edits:
                some, edits = edits[:batch], edits[batch:]
                for edit, noticed in zip(some, pool.map(lambda e: self._try(e, before), some),
                                         strict=True):  # fmt: skip
                    tried += 1
                    if noticed is None or kept == self._args.repeat:
                        continue
                    kept += 1
                    if not noticed:
                        missed.append(f"{edit.file.name}:{edit.line} {edit.kind}: {edit.text:.60}")
        confirmed = re.search(r"([\d,]+) of ([\d,]+) confirmed", said)
        return {"library": self._name, "tests": len(ids), "tried": tried, "changed": kept,
                "noticed": kept - len(missed), "missed": missed,
                "not_compared": text.count("# not compared"),
                "confirmed": confirmed[0] if confirmed else ""}  # fmt: skip

    def _fuzztui(self, *words: str) -> str:
        done = subprocess.run([sys.executable, "-m", "fuzztui", *words], cwd=self._work,
                              text=True, capture_output=True, stdin=subprocess.DEVNULL,
                              check=False)  # fmt: skip
        if done.returncode not in (0, 1, 10):
            raise SystemExit(f"{self._name}: fuzztui {words[0]}: {done.stderr[-2000:]}")
        return done.stdout + done.stderr

    def _edits(self, lines: list[list[Any]]) -> list[Edit]:
        by_file: dict[str, set[int]] = {}
        for file, line in lines:
            by_file.setdefault(file, set()).add(line)
        packages = [str(self._work / "lib" / name.replace(".", "/"))
                    for name in self._library.include]  # fmt: skip
        return [edit for file in sorted(by_file) if file.startswith(tuple(packages))
                for edit in Edits(Path(file), by_file[file]).found]  # fmt: skip

    def _try(self, edit: Edit, before: list[str]) -> bool | None:
        """Whether the tests fail with an edit; None if nothing that is printed changes."""
        for copy in self._copies():
            file = copy / edit.file.relative_to(self._work)
            source = file.read_bytes()
            file.write_bytes(source[: edit.start] + edit.text.encode() + source[edit.end :])
            printed, _ = self._printed(copy, "")
            if printed is None or printed == before:
                return None
            return not self._passes(copy)
        return None

    def _copies(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._work.parent) as folder:
            copy = Path(folder) / "copy"
            ignored = shutil.ignore_patterns("run", "seeds", "__pycache__")
            shutil.copytree(self._work, copy, ignore=ignored)
            yield copy

    def _printed(self, folder: Path, mode: str) -> tuple[list[str] | None, list[list[Any]]]:
        argv = [self._python, "-B", str(folder / "printed.py"), str(folder),
                str(folder / "inputs.json"), mode]  # fmt: skip
        try:
            env = {**os.environ, "PYTHONHASHSEED": "0"}  # what is printed of a set
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_LIMIT_S,
                                  env=env, stdin=subprocess.DEVNULL, check=False)  # fmt: skip
            printed, lines = map(json.loads, done.stdout.splitlines()[-2:])
        except (subprocess.TimeoutExpired, ValueError):
            return None, []
        return printed, lines

    def _passes(self, folder: Path) -> bool:
        argv = [self._python, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                "-c", "/dev/null", "--rootdir", str(folder), str(folder / "tests")]  # fmt: skip
        try:
            done = subprocess.run(argv, capture_output=True, timeout=5 * _LIMIT_S, cwd=folder,
                                  env={**os.environ, "PYTHONPATH": str(folder / "lib")},
                                  stdin=subprocess.DEVNULL, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=list(LIBRARIES), help="default: all ten")
    parser.add_argument("--python", default=sys.executable, help="has the libraries and pytest")
    parser.add_argument("--repeat", type=int, default=30, help="edits of each that count")
    parser.add_argument("--seconds", type=int, default=20, help="budget of a campaign")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    args = parse(parser, "exported_tests", libraries=["lark"], repeat=2, seconds=4)
    if not (python := shutil.which(args.python)):
        parser.error(f"--python {args.python}: there is no such program")
    if unknown := set(args.libraries) - LIBRARIES.keys():
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(LIBRARIES)}")
    args.python = Path(python).absolute()  # not resolved: a venv's python is a symlink
    rows = Rows("exported_tests", args.results)
    noticed = changed = 0
    for name in args.libraries:
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder).resolve() / "library"
            work.mkdir()
            figures = Bench(name, LIBRARIES[name], args, work).measure()
        rows.add(**figures)
        noticed, changed = noticed + figures["noticed"], changed + figures["changed"]
        print(f"{name}: {figures['noticed']}/{figures['changed']} edits noticed by "
              f"{figures['tests']} tests ({figures['tried']} tried); "
              f"{figures['confirmed']}", flush=True)  # fmt: skip
        for missed in figures["missed"]:
            print(f"  missed: {missed}", flush=True)
    print(f"together: {noticed}/{changed}")
    return 0 if noticed >= 0.95 * changed else 1


if __name__ == "__main__":
    raise SystemExit(main())
