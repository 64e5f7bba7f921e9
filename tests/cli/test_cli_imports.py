"""Which packages a command loads: the screens' are slow, and a target's interpreter has none."""

import subprocess
import sys
from pathlib import Path

import pytest
from random_logs import random_log, write_log

COMMAND = """
import sys
from fuzztui.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""
HEAVY = {"textual", "rich", "psutil", "watchdog", "Levenshtein", "hypothesis", "mypy"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["status"], ["status", "--json"], ["mutants", "list"], ["mutators"], ["types"]],
    ids=" ".join,
)  # fmt: skip
def test_commands_that_print_load_no_screen(words, tmp_path):
    (tmp_path / "run" / "supervisor").mkdir(parents=True)
    (tmp_path / "run" / "log").mkdir()
    write_log(tmp_path / "run" / "log" / "tail-000000000001.jsonl", random_log(5))
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words, tmp_path / "run"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "fuzztui" in loaded
    assert loaded & HEAVY == set()


INTERRUPTED = """
import builtins, os, signal, sys
real = builtins.__import__
def load(name, *more):
    if name == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *more)
builtins.__import__ = load
from fuzztui.cli import main
raise SystemExit(main(["check", "none.toml"]))
"""


@pytest.mark.parametrize(
    "module",
    ["fuzztui.cli.output", "fuzztui.cli.parser", "fuzztui.run.campaign", "fuzztui.cli.help"],
)
def test_ctrl_c_while_modules_are_imported_prints_no_traceback(module, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


ENGINES = """
import importlib, pkgutil, sys
import fuzztui.engines as engines
for module in pkgutil.walk_packages(engines.__path__, "fuzztui.engines."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            print(module.name, type(error).__name__)
others = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(*sorted(others - {"__main__", "fuzztui"}))
"""


@pytest.mark.slow
def test_engines_need_the_standard_library_only():
    """Only the modules whose subject is another package need that package."""
    top = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", ENGINES],
        env={"PYTHONPATH": top}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    *failed, others = done.stdout.split("\n")[:-1]
    assert {line.split()[0] for line in failed} == {
        "fuzztui.engines.fixtures.aws",
        "fuzztui.engines.strategies.making",
    }
    assert others == ""
