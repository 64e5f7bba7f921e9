"""asteval: a program of Python's subset; its value, output, errors, and the names it leaves."""

import io
from itertools import islice
from types import SimpleNamespace

import asteval.asteval
from asteval import Interpreter

asteval.asteval.time = SimpleNamespace(time=lambda: 0.0)  # it notes when it starts
# Files, addresses of objects, and functions in C that take long and cannot be interrupted.
WITHOUT = ("open", "id", "hash", "dir", "factorial", "comb", "perm", "pow", "sum")


def evaluate(text: str) -> list[object]:
    out = io.StringIO()
    run = Interpreter(use_numpy=False, writer=out, err_writer=out)
    for name in WITHOUT:
        run.symtable.pop(name, None)
    run.symtable["range"] = lambda *ends: list(islice(range(*ends), 100))
    before = set(run.symtable)
    value = run(text, show_errors=False)
    names = {name: plain(run.symtable[name]) for name in run.symtable if name not in before}
    return [plain(value), out.getvalue(), [error.exc.__name__ for error in run.error], names]


def plain(value: object) -> object:
    known = (bool, int, float, complex, str, bytes, list, tuple, dict, set, type(None))
    return value if isinstance(value, known) else type(value).__name__
