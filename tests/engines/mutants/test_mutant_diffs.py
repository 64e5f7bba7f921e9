"""A mutant's diff is applied by ``patch``, and the patched file does just what ran."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mutant_lab import Subject

from fuzztui.engines.mutants.operators import OPERATORS

EVERY = [operator.name for operator in OPERATORS]

SOURCE = '''
"""Every operator, and what makes its edit hard."""
import asyncio

LIMIT = 2 * 5
seen = []


def note(value):
    seen.append(value)
    return value


class Own:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return type(other) is Own and self.n == other.n
    def __repr__(self): return f"Own({self.n - 1})"


def boundary(n): return 1 < n <= LIMIT
def increments(n):
    n += 1; n -= note(2)
    return n
def negatives(n): return (n if n else-n), -(-n), [-1, n][-n % 2]
def math(n): return -n ** 2, n & 3 | 8 ^ n, n % 3 << 1, n / 2, n // 2
def negate(n):
    if(n): pass
    return [x for x in range(n) if x and not x is None], (lambda: n)() if n in(1, 2) else n
def labels(n): return f"{n + 1=} {n - 1!r:>{n + 3}}"
def call(n): return note(n)
def twice(n): return note(n), \\
    note(-n)
def many(n):
    return (  # a comment
        note(
            n  # another
        )
    )
def unbound(n):
    if n > 2: late = n
    return late
def own(n): return Own(n)
def listed(n): return [note(n)]
def sets(n): return {note(n)}
def text(n): return f"{note(n)}"
def constant(n): return 1.5
def is_it(n) -> bool: return note(n) and n > 1
def generator(n): return (yield note(n))
async def coroutine(n): return await asyncio.sleep(0, note(n))
def walk(n):
    note(n); note(*[n], **{"value": n} if n < 0 else {})
    note(n) if n else note
    return seen.pop() if (last := n) else last
'''
RUN = """
import asyncio, inspect, json, sys
sys.path.insert(0, sys.argv[1])
import subject
def outcome(name, n):
    subject.seen.clear()
    try:
        found = getattr(subject, name)(n)
        if inspect.iscoroutine(found):
            found = asyncio.run(found)
        elif inspect.isgenerator(found):
            found = list(found)
        return [repr(found), repr(subject.seen)]
    except Exception as e:
        return [type(e).__name__, repr(subject.seen)]
names = json.loads(sys.argv[2])
print(json.dumps([[outcome(name, n) for n in range(-2, 5)] for name in names]))
"""


def apply(diff: str, folder: Path, source: bytes) -> bytes:
    """The file after ``patch -p1``, which must take the diff without fuzz or offset."""
    if shutil.which("patch") is None:
        pytest.skip("patch is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "subject.py").write_bytes(source)
    argv = ["patch", "-p1", "--fuzz=0", "--binary"]
    done = subprocess.run(
        argv,
        cwd=folder,
        input=diff.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, diff)
    assert b"offset" not in done.stdout
    return (folder / "subject.py").read_bytes()


def outcomes(subject: Subject, names: list[str]) -> list[Any]:
    """What the functions do in this process."""
    found: dict[str, Any] = {"subject": subject.module}
    code = RUN.replace("import subject\n", "").replace("sys.path.insert(0, sys.argv[1])", "")
    lines = [line for line in code.splitlines() if not line.startswith(("names =", "print("))]
    exec("\n".join(lines), found)
    return [[found["outcome"](name, n) for n in range(-2, 5)] for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("operator", EVERY)
def test_the_patched_file_does_what_the_mutant_did(operator, tmp_path):
    subject = Subject(SOURCE, [operator])
    mutants = [m for m in subject.program.mutants if not m.static and m.function != "note"]
    assert mutants
    differs = 0
    for n, mutant in enumerate(mutants):
        name = mutant.function.partition(".")[0]
        names = [name if name != "Own" else "own"]
        folder = tmp_path / str(n)
        apply(subject.program.diff(mutant), folder, SOURCE.encode())
        argv = [sys.executable, "-c", RUN, str(folder), json.dumps(names)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        original = outcomes(subject, names)
        with subject.mutated(mutant):
            expected = outcomes(subject, names)
        assert json.loads(done.stdout) == expected, subject.program.diff(mutant)
        differs += expected != original
    assert differs


BODY = 'def f(a):\n    note = "\xe4" * 2\n    return (a <\n            3)\n\x0c\ndef g(): return 1'


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "euc-jp"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_a_file_keeps_its_encoding_and_line_ends(end, encoding, last, tmp_path):
    text = f"# coding: {encoding.removesuffix('-sig')}\n{BODY}{last}".replace("\n", end)
    if end == "\r" and encoding in ("latin-1", "euc-jp"):
        pytest.skip("Python's own decode_source refuses it")
    if encoding == "euc-jp":
        text = text.replace("\xe4", "\u6f22")
    source = text.encode(encoding)
    subject = Subject(source, ["boundary"])
    (mutant,) = subject.program.mutants
    patched = apply(subject.program.diff(mutant), tmp_path, source)
    assert patched == source.replace(b"a <", b"a <=")


@pytest.mark.parametrize("bound", ["def f(a, type):", "from os.path import *\ndef f(a):"])
def test_builtins_that_the_module_names_otherwise(bound, tmp_path):
    source = f"{bound}\n    return a\n"
    subject = Subject(source, ["returns"])
    mutant = subject.program.by_id["subject:f:returns:0:empty"]
    names: dict[str, Any] = {}
    exec(apply(subject.program.diff(mutant), tmp_path, source.encode()), names)
    more = () if "type" not in bound else ("not the builtin",)
    found = [names["f"](value, *more) for value in (7, "x", [1], {1}, object(), True)]
    assert found == [0, "", [], set(), None, False]
