"""Run under any supported Python: is instrumented code the same program?

Compares results, exceptions and traceback positions of plain and instrumented copies; in the mode
"sparse", a copy has no probes for half of the cells, and must cover the others as the full copy.
Prints one line of JSON: what differs, and how much was compared.
"""

# ruff: noqa: E501

import importlib
import json
import random
import sys
import traceback
from types import ModuleType
from typing import Any

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.sparse import SparseProbes
from fuzztui.engines.instrument.units import Census

SNIPPETS = '''
from __future__ import annotations
import asyncio, contextlib, dataclasses, enum, functools, itertools, typing
counter = 0
class Meta(type):
    def __call__(cls, *a, **k):
        return super().__call__(*a, **k) if a else None
class Base:
    """doc"""
    x: int = 1 if counter == 0 else 2
    for y in range(3):
        pass
    def __private(self, v): return v and self.x or -1
    def call(self, v):
        "docstring"
        return self.__private(v)
    @property
    def p(self): return [i for i in range(self.x) if i >= 0]
    @staticmethod
    def s(a, /, b=1, *c, d=(lambda: 5)(), **e): return a, b, c, d, e
    @classmethod
    def c(cls): return cls.__name__, __class__.__name__
class Child(Base, metaclass=Meta):
    def call(self, v):
        return super().call(v) + 1
class Color(enum.Enum):
    RED = 1
    BLUE = 2
    def other(self): return Color.BLUE if self is Color.RED else Color.RED
@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = dataclasses.field(default_factory=lambda: 3)
    def __post_init__(self):
        if self.x < 0: raise ValueError(self.x)
@functools.lru_cache(None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@contextlib.contextmanager
def suppress(kind):
    try: yield kind
    except kind as e: assert e is not None
def closures(n):
    total = 0
    def add(k):
        nonlocal total
        global counter
        counter += 0
        while k > 0:
            total += k; k -= 1
            if total > 50: break
        else:
            total += 1000
        return total
    return [add(i) for i in range(n)], [f() for f in [lambda i=i: i * n for i in range(3)]]
def generator(n):
    sent = None
    while n:
        sent = yield (n if sent is None else sent)
        n -= 1
    return "end"
def delegating(n): return (yield from generator(n))
def drive(n):
    g = delegating(n); out = [next(g)] if n else []
    try:
        for i in range(n + 3): out.append(g.send(i if i % 2 else None))
    except StopIteration as e: out.append(e.value)
    return out
async def agen(n):
    for i in range(n): yield i
async def acoro(n):
    out = [i async for i in agen(n) if i % 2]
    async with contextlib.AsyncExitStack() as s: out.append(type(s).__name__)
    async for i in agen(2): out.append(await asyncio.sleep(0, i))
    else: out.append("done")
    return out
def matching(v):
    match v:
        case {"k": [1, *rest], **more} if rest: return "map", rest, more
        case [a, b] | (a, b, _): return "seq", a, b
        case Point(x=0) as p: return "origin", p
        case str() | bytes(): return "text"
        case Color.RED: return "red"
        case 1 | -1.5 | None: return "literal"
    return "nothing"
def loops(n):
    out = []
    for i in range(n):
        if i == 3: continue
        elif i == 5: break
        else: out.append(i)
    else: out.append("whole")
    for a, (b, c) in [(1, (2, 3))] * n: out += [a, b, c]
    while n > 0:
        n -= 1
        if n == 2: continue
        for _ in itertools.count():
            if _ > n: break
    return out, "yes" if out else "no", n and out or None, not n or out and 1
def trying(n):
    out = []
    for k in range(n):
        try:
            if k == 1: raise KeyError(k)
            if k == 2: 1 / 0
            if k == 4: return out
        except KeyError: out.append("key")
        except (ZeroDivisionError, OSError) as e: out.append(str(e))
        else: out.append("else")
        finally:
            out.append("finally")
            if k == 3: continue
    with suppress(KeyError): {}[n]
    return out
def grouping(n):
    out = []
    try: raise ExceptionGroup("g", [ValueError(n), KeyError(n)])
    except* ValueError as e: out.append(len(e.exceptions))
    except* KeyError: out.append("k") if n else out.append("none")
    return out
def comprehending(n):
    return ([x * y for x in range(n) if x % 2 for y in range(x) if y or n > 3],
            {k: v for k, v in zip("abc", range(n)) if v}, {x for x in range(n) if x > 1},
            list(x for x in range(n) if (q := x) and q), [[j for j in range(i) if j] for i in range(n)])
def sees_locals(n):
    total = 0
    for i in range(n): total += i
    while n: n -= 1
    return sorted(locals()), eval("total"), f"{total!r:>{5}}{n=}"
def annotated(a: int if counter else "x" or None, *, b: "q" = 3) -> list[int] | None:
    v: typing.Annotated[int, lambda: 1 if 1 else 2] = 3
    return sorted(annotated.__annotations__.items()), v
def starred(*a, **k):
    first, *rest = a or (1, 2, 3)
    return first, rest, [*rest, *(k or {})], {**k, "z": 1}
def deep(n): return (lambda f: f(f, n))(lambda f, k: 0 if k <= 0 else 1 + f(f, k - 1))
def chained(n): return 0 <= n < 5 != 3, (a := n) if n else (a := -1), a
def deleting(n):
    d = {i: i for i in range(n)}; del d[0]; assert n > 1, "need %d" % n
    return d
def raising(n):
    if n > 2:
        return {}[n
                  ] or 1
    return (n and
            [][n])
async def gather(n): return await asyncio.gather(*(acoro(i) for i in range(n)))
def run_async(n): return asyncio.run(gather(n))
def objects(n):
    b, c = Base(), Child(n)if n else Child()
    return b.call(n), b.p, Base.s(n), Base.s(1, 2, 3, d=4, e=5), Base.c(), Color.RED.other().name, sorted([Point(n), Point(0)]), Base.x, Base.y, Base.__doc__, Base.call.__doc__, b.call.__qualname__
CALLS = [closures, drive, loops, trying, grouping, comprehending, sees_locals, starred, deep, chained, deleting, raising, run_async, objects, fib]
'''

IF_312 = """
type Pair[T] = tuple[T, T] if True else None
def typed[T: (int, str)](x: T) -> T:
    def inner[U](y: U) -> U: return y if y else x
    return inner(x)
class Box[T]:
    def get[S](self, s: S) -> S | T: return s or self
def run312(n): return typed(n), Box[int]().get(n or 1), Pair.__name__, f"{'a' if n else f'{n or 1}'}"
CALLS.append(run312)
"""


def outcome(call: Any, *args: Any) -> tuple[str, Any]:
    """The result, or the exception with where it passed: line, columns, function."""
    try:
        return "value", repr(call(*args))
    except Exception as e:
        frames = traceback.extract_tb(e.__traceback__)
        where = [
            (f.filename.rpartition("/")[2], f.lineno, f.end_lineno, f.colno, f.end_colno, f.name)
            for f in frames[1:]
        ]
        return type(e).__name__, (str(e), where)


def both(module: str, mode: str) -> tuple[ModuleType, ModuleType, CoverageMap, Guard]:
    """The module plain and instrumented."""
    import_plain(module)
    plain = importlib.import_module(module)
    return plain, *load(module, mode)[:3]


def load(module: str, mode: str) -> tuple[ModuleType, CoverageMap, Guard, Application]:
    """The module instrumented."""
    import_plain(module)
    coverage, guard = CoverageMap(mode), Guard(30.0)  # type: ignore[arg-type]
    application = Application([module.partition(".")[0]], [], EdgeTable(), coverage, guard)
    application.install()
    instrumented = importlib.import_module(module)
    sys.meta_path.remove(application)
    assert coverage.size > 0, module
    return instrumented, coverage, guard, application


def without_half(module: str) -> tuple[ModuleType, CoverageMap, int]:
    """The module without probes for half of the cells, and these cells."""
    instrumented, coverage, _, application = load(module, "edges")
    census = Census(application)
    census.scan()
    sparse = SparseProbes(application, census, 0)
    chance = random.Random(2)
    removed = int.from_bytes(bytes(chance.randrange(2) for _ in range(coverage.size)), "little")
    for _ in application.loaded:
        sparse.advance(removed)
    sparse.use_sparse()
    return instrumented, coverage, removed


def import_plain(module: str) -> None:
    top = module.partition(".")[0]
    for name in [n for n in sys.modules if n == top or n.startswith(top + ".")]:
        del sys.modules[name]


def compare(mode: str) -> dict[str, Any]:
    different: list[Any] = []
    compared = covered = 0

    def check(module: str, calls: Any, inputs: list[Any]) -> None:
        nonlocal compared, covered
        sparse = mode == "sparse"
        plain, instrumented, coverage, guard = both(module, "edges" if sparse else mode)
        seen = 0
        others: list[Any] = []
        if sparse:
            full, full_coverage = instrumented, coverage
            instrumented, coverage, removed = without_half(module)
            others = list(calls(full))
        for index, (a, b) in enumerate(zip(calls(plain), calls(instrumented), strict=True)):
            for value in inputs:
                expected = outcome(a, value)
                coverage.clear()
                guard.start()
                got = outcome(b, value)
                guard.stop()
                seen |= (now := coverage.collect())
                if others:
                    full_coverage.clear()
                    outcome(others[index], value)
                    expected, got = (expected, full_coverage.collect() & ~removed), (got, now)
                compared += 1
                if expected != got:
                    different.append([module, index, repr(value)[:80], expected, got])
        covered += coverage.count(seen)

    check("snippets", lambda m: m.CALLS, [0, 1, 2, 3, 5, 8])
    check(
        "snippets",
        lambda m: [m.matching],
        [{"k": [1, 2], "z": 3}, [1, 2], (1, 2, 3), "s", b"b", 1, -1.5, None, {}, 7],
    )
    rng = random.Random(1)
    seeds = {
        "tomllib": ('a = [1, 2.5, "x"]\n[t.u]\nk = {b = true}\nd = 1979-05-27T07:32:00Z\n', "loads"),
        "json": ('{"a": [1, 2.5, "x", null], "b": {"c": true}}', "loads"),
        "yaml": ("a: [1, {b: c}]\nd: !!int '3'\ne: |\n  text\n- x: &q 1\n", "safe_load"),
        "tinycss2": ("a > b{color:red;x:url(y)}@media print{p{w:calc(1px + 2%)}}", "parse_stylesheet"),
    }  # fmt: skip
    if mode == "sparse":
        del seeds["json"]  # its part in C uses the exceptions of the copy that was loaded last
    for module, (seed, function) in seeds.items():
        inputs = [seed]
        for _ in range(150):
            chars = list(seed)
            for _ in range(rng.randrange(1, 6)):
                chars[rng.randrange(len(chars))] = rng.choice(seed + "\0{}[]\"'\n ")
            inputs.append("".join(chars))
        check(module, lambda m, f=function, n=module: [stringify(n, getattr(m, f))], inputs)
    check(
        "pycparser.c_parser",
        lambda m: [parse_c(m)],
        ["int f(int a) { return a ? 1 : 2; }", "int;", "}"],
    )
    return {"different": different[:5], "compared": compared, "covered": covered}


def stringify(module: str, function: Any) -> Any:
    """tinycss2's nodes have no repr of their own worth comparing."""
    if module != "tinycss2":
        return function
    return lambda text: [n.serialize() for n in function(text)]


def parse_c(module: Any) -> Any:
    def parse(text: str) -> str:
        tree = module.CParser().parse(text)
        return str([(type(n).__name__, c) for c, n in tree.children()])

    return parse


if __name__ == "__main__":
    source = SNIPPETS + (IF_312 if sys.version_info >= (3, 12) else "")
    with open(sys.argv[1] + "/snippets.py", "w") as file:
        file.write(source)
    sys.path[:0] = [sys.argv[1]]
    sys.path += sys.argv[2:]
    print(json.dumps({mode: compare(mode) for mode in ("edges", "counts", "sparse")}))
