"""Mutants as patched copies of the source, run in fresh processes: what a verdict must agree with.

Nothing of the engine runs there: no instrumentation, no swapped code, no cache that an earlier
input has filled. The first line patches a sample of the target's mutants, the second one runs a
copy and prints the results.

    python patched_programs.py SPEC.json OUT SEED COUNT
    python patched_programs.py run DIRECTORY HARNESS INPUTS TEXT PATH...
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_LIMIT_S = 4
_ADDRESS = re.compile("0x[0-9a-f]+")


class _Readable(ast.NodeTransformer):
    """Replaces the engine's object that makes the empty value of any type."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        from fuzztui.engines.instrument.markers import MARKERS
        from fuzztui.engines.mutants.infection import HAVE_EMPTY

        if type(node.value) is not complex or node.value != MARKERS["empty"]:
            return node
        names = {kind.__name__ for kind in HAVE_EMPTY}
        known = f"type(v).__module__ == 'builtins' and type(v).__name__ in {names!r}"
        return ast.parse(f"lambda v: type(v)() if {known} else None", mode="eval").body


def patch(spec_file: Path, out: Path, seed: int, count: int) -> None:
    """Write a copy of the package into ``OUT/N`` for each mutant of a sample, and their ids."""
    from fuzztui.engines.base.spec import read_spec
    from fuzztui.engines.mutants.late_modules import import_late_modules
    from fuzztui.engines.mutants.listing import load_with_mutants
    from fuzztui.engines.mutants.mutant import mutated_node
    from fuzztui.engines.mutants.recompile import Slots

    spec = read_spec(spec_file)
    loaded = load_with_mutants(spec)
    import_late_modules(spec, loaded.executor, loaded.application)
    program = loaded.prepared
    mutants = program.scan()
    sample = random.Random(seed).sample(mutants, min(count, len(mutants)))
    for number, mutant in enumerate(sample):
        tree = ast.parse(Path(mutant.path).read_bytes())
        node, change, _ = program.locate(tree, mutant)
        Slots(tree).put(node, mutated_node(change, node))
        top = sys.modules[mutant.module.partition(".")[0]]
        source = Path(str(top.__file__))
        copy = out / str(number)
        if source.name == "__init__.py":
            package = copy / source.parent.name
            shutil.copytree(source.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
            changed = package / Path(mutant.path).relative_to(source.parent)
        else:
            copy.mkdir(parents=True)
            changed = copy / source.name
        changed.write_text(ast.unparse(_Readable().visit(tree)))
    (out / "ids.json").write_text(json.dumps([mutant.id for mutant in sample]))


def results(
    directory: Path, harness: str, inputs: Path, *, text: bool, path: Sequence[str]
) -> list[str] | None:
    """What the program in ``directory`` does on each input, in a process that runs nothing else;
    None: it cannot be imported.
    """
    given = [str(directory), harness, str(inputs), str(text), *path]
    argv = [sys.executable, "-P", __file__, "run", *given]
    env = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, env=env, capture_output=True, check=False)
    return None if done.returncode else json.loads(done.stdout)


def _run(directory: str, harness: str, inputs: str, text: str, *path: str) -> None:
    sys.path[:0] = [directory, *path]
    file, _, name = harness.rpartition(":")
    if file.endswith(".py"):
        spec = importlib.util.spec_from_file_location("harness", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        signal.alarm(_LIMIT_S)
        spec.loader.exec_module(module)
    else:
        signal.alarm(_LIMIT_S)
        module = importlib.import_module(file)
    signal.alarm(0)
    function = getattr(module, name)
    answers = [bytes.fromhex(data) for data in json.loads(Path(inputs).read_text())]
    print(json.dumps([_forked(function, d, text=text == "True") for d in answers]))


def _forked(function: Callable[[Any], object], data: bytes, *, text: bool) -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        signal.alarm(_LIMIT_S)
        try:
            found = f"returned {function(data.decode('utf-8', 'replace') if text else data)!r}"
        except BaseException as e:
            found = f"raised {type(e).__module__}.{type(e).__qualname__}"
        with open(writing, "w") as out:
            out.write(_ADDRESS.sub("0x", found))
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        found = file.read()
    os.waitpid(pid, 0)
    return found or "did not end"


def main(arguments: Sequence[str]) -> None:
    if arguments[0] == "run":
        _run(*arguments[1:])
    else:
        spec, out, seed, count = arguments
        patch(Path(spec), Path(out), int(seed), int(count))


if __name__ == "__main__":
    main(sys.argv[1:])
