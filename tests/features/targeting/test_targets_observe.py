"""Types that un-annotated parameters are seen to have, in real runs of the target."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import pythons
from targets_lab import types_at
from waiting import DEADLINE_S, wait_until

from fuzztui.features.targeting.analysis import Request, find_targets
from fuzztui.features.targeting.analysis.application import gather
from fuzztui.features.targeting.analysis.observe import observe, unannotated

PYTHONS = [sys.executable, *map(str, pythons(12, 13))]

SHOP = """
    import datetime
    from pathlib import Path

    class Order:
        def __init__(self, when, lines):
            self.when, self.lines = when, lines

        @staticmethod
        def parse(text):
            if not text:
                raise ValueError(text)
            return Order(datetime.date(2000 + len(text), 1, 1), [Path(text)] * len(text))

    def late(order, *rest, limit=None, **more):
        if order.when.year > 2008:
            return True
        return False

    def steps(order):
        for line in order.lines:
            yield line

    def entry(text):
        print("said")
        order = Order.parse(text)
        for path in steps(order):
            if path.suffix:
                late(order, path, day=order.when)
        return late(order)
"""
GENERATOR = """
    def generate(r):
        return "a.b"[: r.below(4)] * (1 + r.below(4))
"""
HOSTILE = """
    import os, time
    class Thing: pass
    class Other: pass
    def entry(text):
        look(Thing())
        if "b" in text:
            look(Other())
            ENDS
    def look(it): pass
"""


def request(lab, python=sys.executable, **engine) -> Request:
    target = {
        "function": "app:entry", "generator": "gen:generate", "python": python,
        "path": [str(lab.directory)], "expected": ["ValueError"], "timeout_s": 0.1,
    }  # fmt: skip
    return Request.of_target(target, engine={"kind": "spoton", **engine})


def seen(lab, python=sys.executable, **engine):
    asked = request(lab, python, **engine)
    application = gather(asked, lambda words: None)
    return observe(asked, unannotated(application), lambda words: None)


@pytest.mark.parametrize("python", PYTHONS)
def test_what_is_seen(lab, python):
    lab.write(app=SHOP, gen=GENERATOR)
    found, why = seen(lab, python)
    assert why == ""
    assert found == {
        "app.Order.__init__": {"when": ["datetime.date"], "lines": ["builtins.list[pathlib.Path]"]},
        "app.Order.parse": {"return": ["app.Order"]},
        "app.late": {"more": ["datetime.date"], "order": ["app.Order"], "rest": ["pathlib.Path"]},
        "app.steps": {"order": ["app.Order"], "return": ["typing.Iterator[pathlib.Path]"]},
    }


@pytest.mark.slow
def test_it_is_done_by_itself_and_kept(lab):
    lab.write(app=SHOP, gen=GENERATOR)
    said: list[str] = []
    document = find_targets(request(lab), said.append, cache=lab.cache)
    assert any(words.startswith("observing types") for words in said)
    assert document.observed["app.late"]["order"] == ["app.Order"]
    late = next(t for t in document.targets if t.function == "late" and t.branch == "then")
    assert types_at(document, late.location) == {"datetime.date": 1, "app.Order": 2} | {
        name: distance
        for name, distance in types_at(document, late.location).items()
        if distance > 2
    }
    said.clear()
    assert find_targets(request(lab), said.append, cache=lab.cache) == document
    assert not any(words.startswith("observing types") for words in said)


@pytest.mark.parametrize(
    ("ends", "types"),
    [
        *((end, ["app.Thing"]) for end in ("os._exit(0)", "os.abort()", "os.kill(os.getpid(), 9)")),
        ("time.sleep(60)", ["app.Other", "app.Thing"]),
    ],
)
def test_a_target_that_ends_its_process_or_hangs(lab, ends, types):
    lab.write(app=HOSTILE.replace("ENDS", ends), gen=GENERATOR)
    found, why = seen(lab)
    assert found == {"app.look": {"it": types}}
    assert why.startswith("8 inputs killed the process or took too long, only ")


@pytest.mark.slow
def test_typed_code_is_not_run(lab):
    lab.write(
        app="""
            import os
            os._exit(3)
            class A:
                def __init__(self): pass
                def f(self, x: int, *rest): return x
            def entry(order: A) -> None: pass
        """,
        gen="def generate(r): return 1",
    )
    application = gather(request(lab), lambda words: None)
    assert unannotated(application) == {}
    assert not find_targets(request(lab), cache=lab.cache).observed


@pytest.mark.slow
def test_what_the_generator_imports_counts(lab):
    """It is no part of the application, but what is made is of it."""

    def looked_at():
        return find_targets(request(lab), cache=lab.cache).observed["app.look"]

    things = "class Thing: pass\nclass Other: pass\n"
    lab.write(
        app="def entry(x): look(x)\ndef look(it): pass\n",
        gen="import things\ndef generate(r): return things.MADE()\n",
        things=f"{things}MADE = Thing\n",
    )
    assert looked_at() == {"it": ["things.Thing"]}
    # Longer: Python takes its bytecode for a file of the same second and the same size.
    lab.write(things=f"{things}\n\nMADE = Other\n")
    assert looked_at() == {"it": ["things.Other"]}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_an_analysis_that_is_ended(lab, tmp_path, number):
    lab.write(app="import time\ntime.sleep(4242)\ndef entry(x): pass\n", gen=GENERATOR)
    folder = tmp_path / "temporary"
    folder.mkdir()
    argv = [sys.executable, "-P", "-m", "fuzztui.features.targeting.analysis", str(tmp_path)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    env = {**os.environ, "TMPDIR": str(folder)}
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, env=env, **quiet)
    assert child.stdin is not None
    child.stdin.write(request(lab).dumps().encode())
    child.stdin.close()

    def runs() -> bool:
        return any(bytes(folder) in command for command in _commands())

    try:
        wait_until(runs)
        child.send_signal(number)
        child.wait(DEADLINE_S)
    finally:
        child.kill()
        child.wait()
    wait_until(lambda: not runs())
    assert number == signal.SIGKILL or not list(folder.iterdir())


@pytest.mark.slow
def test_a_failure_is_a_note_and_is_tried_again(lab):
    gate = lab.directory / "gate"
    lab.write(
        app=f"import pathlib\ntext = pathlib.Path({str(gate)!r}).read_text()\n"
        "class A: pass\ndef entry(x): inner(A())\ndef inner(a): return 1 if a else 2\n",
        gen=GENERATOR,
    )
    document = find_targets(request(lab), cache=lab.cache)
    assert any(
        n.startswith("observing the types of parameters: ") and "FileNotFoundError" in n
        for n in document.notes
    )
    gate.write_text("open")
    assert find_targets(request(lab), cache=lab.cache).observed["app.inner"] == {"a": ["app.A"]}


def test_seeds_are_run_where_there_is_no_generator(lab):
    lab.write(
        {"seeds/one": "late", "seeds/two": "x"},
        app="""
            import datetime
            def entry(data):
                if data == b"late":
                    when(datetime.date(2008, 1, 1))
            def when(day): pass
        """,
    )
    target = {"function": "app:entry", "python": sys.executable, "path": [str(lab.directory)]}
    asked = Request.of_target(target, engine={"seeds": [str(lab.directory / "seeds")]})
    application = gather(asked, lambda words: None)
    found, _ = observe(asked, unannotated(application), lambda words: None)
    assert found == {"app.when": {"day": ["datetime.date"]}}


def test_nothing_is_left_running(lab):
    lab.write(
        app="import subprocess\ndef entry(x):\n    subprocess.Popen(['sleep', '4242'])\n",
        gen=GENERATOR,
    )
    seen(lab)
    # They are killed by then, and gone when the system comes to it.
    wait_until(lambda: b"sleep\x004242\x00" not in _commands())


def _commands() -> list[bytes]:
    """The command lines of all processes."""
    commands = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            commands.append(file.read_bytes())
    return commands
