"""Tests wait for states: they neither sleep nor read a clock.

A test that sleeps until something must have happened, or compares how long something took, fails
on a busy machine. What to use instead: ``wait_until`` and ``until`` of ``waiting``, ``LabClock``,
``aged`` and ``virtual_time`` of ``lab_clock``. A target that hangs on purpose calls
``signal.pause()``, or stands in a string of its own.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CLOCKS = {
    "clock_gettime", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
    "process_time", "process_time_ns", "sleep", "thread_time", "time", "time_ns",
}  # fmt: skip
"""What tests do not use of the module ``time``."""

WAITS = {"communicate", "join", "result", "settimeout", "timeout", "wait", "wait_for"}
"""Calls whose last argument is a deadline: ``DEADLINE_S``, or a minute and more."""

ALLOWED = {
    "helpers/waiting.py": "the one place that waits",
    "helpers/lab_clock.py": "the one place that reads the clock",
    "helpers/fake_engine.py": "an engine: a program that tests run",
    "helpers/host_lab/keeper.py": "a program of its own, outside of pytest",
    "helpers/hosted.py:write_run": "a log of this moment",
    "helpers/watch_lab.py:Fuzzer.__init__": "files of this moment",
    "features/watch/test_watch_unseen.py:Remote.__init__": "files of this moment",
    "features/jobs/test_cluster_ports.py:test_without_tls": "a connection that nobody answers",
    "engines/mu2/test_mu2_backlog.py:test_a_budget_in_time_is_spent_by_the_clock": "its own clock",
    "engines/execute/test_fixed_clock.py": "it tests what programs see of clocks",
    "features/watch/test_watch_times.py:Clock": "a clock that goes on, and jumps",
    "machines/hosts/test_link.py": "the time of its loop is virtual",
    "machines/hosts/test_host_lab.py:test_clocks_are_shifted_and_waits_are_not": "it tests clocks",
    "machines/hosts/test_host_lab.py:test_a_slow_link": "a lower bound, which holds on any machine",
    "tui/conftest.py": "how a pilot waits for widgets, threads and timers of one loop",
    "engines/instrument/test_instrument.py:test_clock_interrupts_foreign_code": "the foreign code",
    "engines/text/test_text_careful.py:test_only_the_processors_time_counts": "a slow parser",
    "cli/test_cli_init.py:Dialogue.interrupt": "a signal that may be lost is sent again",
    # Any moment is right: what it meets is drawn by lot.
    "e2e/test_first_builds.py:test_a_build_may_be_cancelled_at_any_moment": "a cancellation",
    "e2e/test_supervise_life.py:test_kills_at_any_moment": "kills",
    "e2e/test_terminal.py:test_a_signal_at_any_moment_of_the_start_restores_the_terminal": "one",
    "machines/hosts/test_ship_to_hosts.py:test_a_link_that_is_cut_while_fuzztui_is_sent": "a cut",
    "kernel/log/test_log_kill.py:kill_rounds": "kills",
}
"""Files, or functions and classes in them, that may, and why."""


class Moments(ast.NodeVisitor):
    """Collects where the code sleeps, reads a clock, or waits for less than a minute."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int]] = []
        self._inside: list[str] = []

    def visit(self, node: ast.AST) -> None:
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if named:
            self._inside.append(node.name)
        if self._is_moment(node):
            self.found.append((".".join(self._inside), node.lineno))  # type: ignore[attr-defined]
        self.generic_visit(node)
        if named:
            self._inside.pop()

    def _is_moment(self, node: ast.AST) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr=name):
                return name in CLOCKS
            case ast.ImportFrom(module="time", names=names):
                return any(name.name in CLOCKS for name in names)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep")):
                return ast.unparse(node.args[0]) != "0"  # a turn of the loop is no moment
            case ast.Call(func=ast.Attribute(attr=name), args=args, keywords=keywords):
                named = [k.value for k in keywords if k.arg == "timeout" and name != "send"]
                return (name in WAITS and any(map(is_short, args[-1:]))) or any(
                    map(is_short, named)
                )
        return False


def is_short(value: ast.expr) -> bool:
    """Whether a deadline is below a minute. Below a second it is none, but a look now and then."""
    return (
        isinstance(value, ast.Constant)
        and type(value.value) in (int, float)
        and 1 <= value.value < 60
    )


def moments(source: str) -> list[tuple[str, int]]:
    """Functions and lines of a source file."""
    visitor = Moments()
    visitor.visit(ast.parse(source))
    return visitor.found


def reason(file: str, function: str) -> str:
    """The key in ``ALLOWED`` that allows a place; an empty string if it is not allowed."""
    parts = function.split(".")
    keys = [file, *(f"{file}:{'.'.join(parts[: n + 1])}" for n in range(len(parts)))]
    return next((key for key in keys if key in ALLOWED), "")


def test_no_test_sleeps_or_reads_a_clock():
    wrong, used = [], set()
    for path in sorted(TESTS.rglob("*.py")):
        file = path.relative_to(TESTS).as_posix()
        for function, line in moments(path.read_text()):
            if key := reason(file, function):
                used.add(key)
            else:
                wrong.append(f"tests/{file}:{line} {function}")
    assert wrong == [], "wait for a state: tests/helpers/waiting.py, tests/helpers/lab_clock.py"
    assert used == set(ALLOWED), "this is not needed any more"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time\ndef test(): time.sleep(1)\n", [("test", 2)]),
        ("class A:\n  async def b(self): await asyncio.sleep(0.1)\n", [("A.b", 2)]),
        ("def f():\n  return min(time.monotonic() - began, time.time())\n", [("f", 2), ("f", 2)]),
        ("clock = time.perf_counter\n", [("", 1)]),
        ("from time import sleep as nap\n", [("", 1)]),
        ("await_ = lambda: asyncio.sleep(0)\nstrange = datetime.time(1)\n", []),
        ("def f():\n  process.wait(5)\n  task.result(60)\n", [("f", 2)]),
        (
            "run(argv, timeout=9)\nlab.run(argv, timeout=9)\nclient.send(Stop(), timeout=0.1)\n",
            [("", 2)],
        ),
        ("program = 'import time; time.sleep(1000)'\n", []),
    ],
)
def test_what_is_a_moment(source, found):
    assert moments(source) == found
