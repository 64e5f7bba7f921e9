"""Targets that do to the engine what targets do."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_lab import Lab, alive, events, execs, kill, names, reason, stats, timeless, worker_of
from waiting import wait_until

from fuzztui.engines.base.spec import TRACE

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    yield lab
    lab.close()


PARSER = """
def parse(data: bytes) -> int:
    n = 0
    for c in data:
        if c == 65:
            n += 1
        elif c > 200:
            n -= 1
    if n > 2:
        return 1
    return 0
"""


def wrapped(before: str, condition: str = "data[:1] == b'a'") -> str:
    """A target that misbehaves on a condition, and is a parser otherwise."""
    body = "\n".join("        " + line for line in before.splitlines())
    return (
        f"import os, sys\n{PARSER}\ndef target(data: bytes):\n"
        f"    if {condition}:\n{body}\n    return parse(data)\n"
    )


# ------------------------------------------------------------------ it cannot start


def refuse(lab: Lab, function: str, *words: str, **keys: object) -> None:
    spec = lab.spec(function, **keys)  # type: ignore[arg-type]
    assert lab.run(spec) == 3
    said = reason(spec.parent)
    for word in words:
        assert word in said, said


def test_no_such_module(lab: Lab) -> None:
    refuse(lab, "nowhere.at.all:f", "target.function", "nowhere", "target.path")


def test_no_such_function(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    refuse(lab, "app:prase", "module app has no function 'prase'", "it has: parse")


def test_raises_at_import(lab: Lab) -> None:
    lab.write("app.py", "x = {}['y']\ndef target(d): pass")
    refuse(lab, "app:target", "KeyError: 'y'", "app.py:1")
    assert "Traceback" in (lab.out / "main/worker.log").read_text()


def test_exits_at_import(lab: Lab) -> None:
    lab.write("app.py", "import sys; sys.exit('bye')")
    refuse(lab, "app:target", "SystemExit: bye")


def test_an_incomplete_pytest(lab: Lab) -> None:
    lab.write("pytest/__init__.py", "import a_module_that_is_missing")
    target = {"suite": [str(lab.src)], "include": ["shop"]}
    refuse(lab, str(lab.src), "pytest", lab.python, "a_module_that_is_missing", target=target)


def test_ends_the_process_at_import(lab: Lab) -> None:
    lab.write("app.py", "import os; os._exit(5)")
    refuse(lab, "app:target", "importing the target exited with status 5")


def test_unknown_exception(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    refuse(lab, "app:parse", 'target.expected: "app.Oops"', target={"expected": ["app.Oops"]})


def test_nothing_to_instrument(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    refuse(lab, "app:parse", "target.include", "math", target={"include": ["math"]})


def test_harness_file_must_name_the_application(lab: Lab) -> None:
    file = lab.write("harness.py", "def target(d): pass")
    refuse(lab, f"{file}:target", "target.include is missing")


def test_wrong_number_of_arguments(lab: Lab) -> None:
    lab.write("app.py", "def target(): pass")
    refuse(lab, "app:target", "one argument")


def test_missing_seeds(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    refuse(lab, "app:parse", "engine.seeds", "/no/such", engine={"seeds": ["/no/such"]})


def test_two_engines_on_one_directory(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    spec = lab.spec("app:parse")
    lab.start(spec)
    wait_until(lambda: execs(spec.parent))
    assert lab.run(spec, log=lab.root / "second.log") == 3
    assert "in use" in (lab.root / "second.log").read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_directory_not_writable(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    spec = lab.spec("app:parse")
    log = lab.root / "log"
    spec.parent.chmod(0o500)
    assert lab.run(spec, log=log) == 3
    assert "fuzztui: " in log.read_text()


def test_directory_is_a_file(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    spec = lab.spec("app:parse")
    (spec.parent / "queue").write_text("in the way")
    refuse(lab, "app:parse", "queue")


# ----------------------------------------------------------------- it ends the trial


def campaign(lab: Lab, code: str, trials: int = 400, **keys: object) -> Path:
    """Run a target called ``app:target`` for some trials; returns the instance directory."""
    lab.write("app.py", code)
    target = {"include": ["app"], "timeout_s": 0.3} | keys.pop("target", {})  # type: ignore[operator]
    seeds = lab.root / "seeds"
    if not seeds.exists():
        seeds.mkdir()
        (seeds / "one").write_bytes(b"seed")
        (seeds / "two").write_bytes(b"abc")
    engine = {"seeds": [str(seeds)]} | keys.pop("engine", {})  # type: ignore[operator]
    spec = lab.spec("app:target", budget_trials=trials, target=target, engine=engine, **keys)
    assert lab.run(spec) == 0, (spec.parent / "worker.log").read_text()
    figures = stats(spec.parent)
    assert int(figures["execs_done"]) == trials
    outcomes = ("valid_inputs", "invalid_inputs", "failed_inputs", "total_tmout")
    assert sum(int(figures[key]) for key in outcomes) == trials
    assert int(figures["saved_crashes"]) == len(names(spec.parent, "crashes"))
    assert int(figures["saved_hangs"]) == len(names(spec.parent, "hangs"))
    return spec.parent


def only_finding(directory: Path) -> dict[str, object]:
    found = {e["signature"]: e for e in events(directory, "finding_described")}
    assert len(found) == 1, found
    (event,) = found.values()
    data = (directory / str(event["file"])).read_bytes()
    assert data.startswith(b"a")
    return dict(event)


def test_sys_exit(lab: Lab) -> None:
    event = only_finding(campaign(lab, wrapped("sys.exit(2)")))
    assert event["title"] == "SystemExit: 2"
    assert str(event["place"]).startswith("app.py:16 in target")


FLOOD = """
def target(data: bytes):
    parse(data)
    if len(data) > 20:
        raise KeyError(data)
    raise type(f"E{data.hex()}", (Exception,), {})(data)
"""


def test_a_new_exception_for_each_input_does_not_fill_the_disk(lab: Lab) -> None:
    """And which of them are saved depends on the seed alone."""
    found = []
    for _ in range(2):
        directory = campaign(lab, PARSER + FLOOD, trials=600, engine={"max_findings": 12})
        found.append(timeless(directory, "crashes"))
        assert 12 <= len(found[-1]) <= 13
        said = [e["text"] for e in events(directory, "message")]
        assert any("engine.max_findings" in text for text in said)
        assert any("at least" in text for text in said)
        shutil.rmtree(directory)
    assert found[0] == found[1]


WORDS = """
import itertools
numbers = itertools.count()
class Odd(Exception):
    def __str__(self):
        n = next(numbers)
        if n % 3 == 0:
            raise KeyError(n)
        return f"{self!r} at {id(object()):#x}, {n}: {data}" if n % 3 == 1 else "x" * 10_000_000
data = b""
def target(new: bytes):
    global data
    data = new
    parse(new)
    if len(new) % 2:
        raise Odd(new)
    raise Odd(new)
"""


def test_what_an_exception_says_makes_no_new_finding(lab: Lab) -> None:
    directory = campaign(lab, PARSER + WORDS)
    found = {e["signature"] for e in events(directory, "finding_described")}
    assert len(found) == len(names(directory, "crashes")) == 2
    assert (directory / "events.jsonl").stat().st_size < 1 << 20


CLASSES = """
import itertools
class Meta(type):
    numbers = itertools.count()
    def __getattribute__(cls, name):
        if name == "__qualname__":
            return f"Odd{next(type(cls).numbers)}"
        if name == "__module__":
            raise KeyError("no module")
        return super().__getattribute__(name)
class Odd(Exception, metaclass=Meta):
    pass
def target(data: bytes):
    parse(data)
    raise Odd(data)
"""


def test_a_class_that_renames_itself_makes_no_new_finding(lab: Lab) -> None:
    directory = campaign(lab, PARSER + CLASSES)
    assert len(names(directory, "crashes")) == 1


def test_expected_exit_is_invalid(lab: Lab) -> None:
    directory = campaign(lab, wrapped("sys.exit(2)"), target={"expected": ["SystemExit"]})
    assert not names(directory, "crashes")
    assert int(stats(directory)["invalid_inputs"]) > 0


def test_os_exit(lab: Lab) -> None:
    directory = campaign(lab, wrapped("os._exit(0)"), trials=60)
    event = only_finding(directory)
    assert event["title"] == "the process exited with status 0"
    assert len(names(directory, "crashes")) == 1


def test_segfault(lab: Lab) -> None:
    directory = campaign(lab, wrapped("import ctypes; ctypes.string_at(0)"), trials=40)
    event = only_finding(directory)
    assert event["title"] == "the process was killed by SIGSEGV"
    assert event["place"] == "app.py in target"
    assert ",sig:11," in names(directory, "crashes")[0]


def test_kills_itself(lab: Lab) -> None:
    """A SIGKILL may come from anybody: the input is tried again before it is blamed."""
    directory = campaign(lab, wrapped("import signal; os.kill(os.getpid(), signal.SIGKILL)"), 30)
    assert only_finding(directory)["title"] == "the process was killed by SIGKILL"


def test_garbage_and_closed_streams(lab: Lab) -> None:
    code = wrapped(
        "os.write(1, b'\\xff' * 10000); os.write(2, b'[/x]\\x1b[2J')\nprint('garbage')\n"
        "sys.stdout.close(); sys.stderr = None; os.close(1)",
        "True",
    )
    directory = campaign(lab, code)
    assert not names(directory, "crashes")
    assert (directory / "worker.log").read_text() == ""


def test_closes_every_descriptor(lab: Lab) -> None:
    directory = campaign(lab, wrapped("os.closerange(0, 4096)", "True") + "\n")
    assert len(names(directory, "queue")) > 1
    assert not names(directory, "crashes")


def test_output_can_be_logged(lab: Lab) -> None:
    directory = campaign(lab, wrapped("os.write(1, b'hello')", "True"), target={"output": "log"})
    assert (directory / "target.log").read_bytes().startswith(b"hellohello")


def test_forks_and_comes_back(lab: Lab) -> None:
    directory = campaign(lab, wrapped("os.fork()", "True"), trials=100)
    assert not names(directory, "crashes")
    assert len(names(directory, "queue")) == len(timeless(directory))


def test_forked_child_raises(lab: Lab) -> None:
    code = wrapped("if os.fork() == 0: raise RuntimeError('in the child')")
    assert not names(campaign(lab, code, trials=100), "crashes")


def test_eats_memory(lab: Lab) -> None:
    code = wrapped("x = [b'x' * (1 << 24) for _ in range(1000)]")
    event = only_finding(
        campaign(lab, code, 60, target={"memory_bytes": 1 << 28, "timeout_s": 9.0})
    )
    assert event["title"] == "MemoryError"


def test_leaks_memory(lab: Lab) -> None:
    """A clean worker continues when the old one is full; no input is blamed."""
    code = "KEEP = []\n" + wrapped("KEEP.append(bytearray(1 << 16))", "True")
    directory = campaign(lab, code, 8000, target={"memory_bytes": 200 << 20, "timeout_s": 9.0})
    assert not names(directory, "crashes")
    assert int(stats(directory)["valid_inputs"]) > 7900
    said = [e["text"] for e in events(directory, "message")]
    assert len(said) == 1
    assert "does it leak?" in said[0]


def test_eats_memory_late(lab: Lab) -> None:
    """What asks for too much in a clean worker as well is found, once, and costs one worker."""
    code = wrapped("x = [b'x' * (1 << 24) for _ in range(1000)]", "data.count(b'e') > 3")
    directory = campaign(lab, code, 3000, target={"memory_bytes": 1 << 28, "timeout_s": 9.0})
    (event,) = {e["title"] for e in events(directory, "finding_described")}
    assert event == "MemoryError"
    assert len(names(directory, "crashes")) == 1
    assert len(events(directory, "message")) <= 1


DELETES = """
import os, pathlib, shutil
n = 0
def target(data: bytes):
    global n
    n += 1
    if n == 100:
        here = pathlib.Path(os.environ["FUZZTUI_RUN"], "out", "main")
        for folder in ("queue", "crashes"):
            shutil.rmtree(here / folder)
    if n > 100 and len(data) > 6:
        raise KeyError
    return parse(data)
"""


def test_deletes_the_queue(lab: Lab) -> None:
    """It is made again, and fuzzing continues."""
    lab.write("app.py", PARSER + DELETES)
    spec = lab.spec("app:target", budget_trials=600, target={"include": ["app"]})
    assert lab.run(spec) == 0
    texts = [e["text"] for e in events(spec.parent, "message") if e["level"] == "warning"]
    assert any("crashes" in text and "was deleted" in text for text in texts)
    assert len(names(spec.parent, "crashes")) == 1


def test_infinite_recursion(lab: Lab) -> None:
    code = "def f(n):\n    return g(n)\ndef g(n):\n    return f(n + 1)\n" + wrapped("f(0)")
    event = only_finding(campaign(lab, code))
    assert str(event["title"]).startswith("RecursionError: maximum recursion depth exceeded")
    assert event["place"] == "app.py in f"


def test_recursion_limit_lifted(lab: Lab) -> None:
    code = wrapped("sys.setrecursionlimit(100)", "True")
    assert not names(campaign(lab, code), "crashes")


def test_hangs_in_its_own_code(lab: Lab) -> None:
    directory = campaign(lab, wrapped("while True: pass"), trials=60)
    event = only_finding(directory)
    assert event["category"] == "hang"
    assert event["place"] == "app.py in target"
    assert "while True" in str(event["detail"])


def test_hangs_in_other_code(lab: Lab) -> None:
    lab.write("other.py", "def spin():\n    while True: pass\n")
    directory = campaign(lab, "import other\n" + wrapped("other.spin()"), trials=40)
    assert only_finding(directory)["place"] == "app.py in target"


def test_hangs_in_c(lab: Lab) -> None:
    code = "import itertools\n" + wrapped("sum(itertools.count())")
    directory = campaign(lab, code, trials=12)
    event = only_finding(directory)
    assert (event["category"], event["place"]) == ("hang", "app.py in target")
    assert len(names(directory, "hangs")) == 1


def test_catches_everything(lab: Lab) -> None:
    code = wrapped(
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    )
    directory = campaign(lab, code, trials=12)
    assert only_finding(directory)["category"] == "hang"


def test_swallows_the_timeout(lab: Lab) -> None:
    code = wrapped("try:\n    while True: pass\nexcept BaseException: return 0")
    assert only_finding(campaign(lab, code, trials=40))["category"] == "hang"


def test_changes_directory(lab: Lab) -> None:
    directory = campaign(lab, wrapped("assert os.getcwd() != '/'\nos.chdir('/')", "True"))
    assert not names(directory, "crashes")


def test_deletes_its_directory(lab: Lab) -> None:
    directory = campaign(lab, wrapped("os.rmdir(os.getcwd())", "True"))
    assert not names(directory, "crashes")


def test_changes_signals_and_locale(lab: Lab) -> None:
    code = wrapped(
        "import signal, locale\nlocale.setlocale(locale.LC_ALL, 'C')\n"
        "for n in (14, 10, 15, 2): signal.signal(n, signal.SIG_IGN)\nsignal.setitimer(0, 0)",
        "True",
    )
    head = "def target(data: bytes):\n"
    code = code.replace(head, head + "    if data[:1] == b'a':\n        while True: pass\n")
    event = only_finding(campaign(lab, code, trials=40))
    assert event["category"] == "hang"


def test_raises_hostile_exceptions(lab: Lab) -> None:
    code = """
class Odd(Exception):
    def __str__(self):
        while True: pass
""" + wrapped("raise Odd('[/x]\\x1b')")
    event = only_finding(campaign(lab, code, trials=40))
    assert event["title"] == "Odd"


def test_exception_that_kills_while_being_described(lab: Lab) -> None:
    code = """
class Odd(Exception):
    def __str__(self):
        os._exit(9)
""" + wrapped("raise Odd")
    directory = campaign(lab, code, trials=20)
    assert only_finding(directory)["title"] == "the process exited with status 9"


def test_flaky_failure_says_so(lab: Lab) -> None:
    code = "calls = []\n" + wrapped("calls.append(1)\nif len(calls) % 2: raise KeyError(1)")
    event = only_finding(campaign(lab, code))
    assert str(event["detail"]).startswith("Flaky: ")


def test_own_package_called_engines(lab: Lab) -> None:
    lab.write("engines/__init__.py", "from engines.core import parse")
    lab.write("engines/core.py", PARSER)
    lab.write("fuzz.py", PARSER)
    spec = lab.spec("engines:parse", budget_trials=300)
    assert lab.run(spec) == 0
    assert int(stats(spec.parent)["edges_found"]) > 3


def test_standard_library_that_the_engine_uses(lab: Lab) -> None:
    spec = lab.spec(
        "json:loads", budget_trials=2000, target={"expected": ["ValueError"], "input": "text"}
    )
    assert lab.run(spec) == 0
    assert not names(spec.parent, "crashes")
    assert int(stats(spec.parent)["edges_found"]) > 10


def test_threads_do_not_keep_it(lab: Lab) -> None:
    code = "import threading, time\n" + wrapped(
        "threading.Thread(target=time.sleep, args=(600,)).start()", "data == b'abc'"
    )
    campaign(lab, code)


# ------------------------------------------------------------------------- seeds


def test_odd_seeds(lab: Lab) -> None:
    seeds = lab.root / "seeds"
    (seeds / "deeper").mkdir(parents=True)
    (seeds / "empty").write_bytes(b"")
    (seeds / "deeper" / "huge").write_bytes(b"A" * 1_000_000)
    os.mkfifo(seeds / "fifo")
    (seeds / "dangling").symlink_to("/no/such/file")
    directory = campaign(lab, wrapped("pass"))
    said = " ".join(e["text"] for e in events(directory, "message"))
    assert "skipped 2 seeds" in said
    assert "to 10,240 bytes" in said
    sizes = [p.stat().st_size for p in (directory / "queue").iterdir()]
    assert max(sizes) <= 10240
    assert any("orig:huge" in n for n in names(directory, "queue"))


def test_no_seeds_in_the_folder(lab: Lab) -> None:
    (lab.root / "seeds").mkdir()
    directory = campaign(lab, wrapped("pass"))
    assert any("contains no file" in e["text"] for e in events(directory, "message"))
    assert names(directory, "queue")


# --------------------------------------------------------------------- a full disk


def start_on_full_disk(lab: Lab, spec: Path) -> subprocess.Popen[bytes]:
    """RLIMIT_FSIZE makes writes fail as a full disk does; lifting it makes room."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))

    lab.env["PYTHONDONTWRITEBYTECODE"] = "1"  # Python up to 3.12 would save half a module
    return lab.start(spec, preexec_fn=limit)


def test_full_disk(lab: Lab) -> None:
    lab.write("app.py", wrapped("pass").replace("n > 2", "n > 2 and len(data) > 300"))
    seeds = lab.root / "seeds"
    seeds.mkdir()
    (seeds / "long").write_bytes(b"A" * 5000)
    spec = lab.spec("app:target", target={"include": ["app"]}, engine={"seeds": [str(seeds)]})
    (spec.parent / ".cur_input").write_bytes(bytes(1 << 16))

    nanny = start_on_full_disk(lab, spec)
    wait_until(lambda: any("cannot write" in e.get("text", "") for e in events(spec.parent)))
    assert not names(spec.parent, "queue")
    for pid in (nanny.pid, worker_of(nanny)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    wait_until(lambda: names(spec.parent, "queue"))
    assert (spec.parent / "queue" / names(spec.parent, "queue")[0]).stat().st_size == 5000
    wait_until(lambda: execs(spec.parent) > 100)
    nanny.send_signal(signal.SIGTERM)
    assert nanny.wait(60) == 0


def test_stop_while_the_disk_is_full_loses_nothing(lab: Lab) -> None:
    lab.write("app.py", wrapped("pass"))
    seeds = lab.root / "seeds"
    seeds.mkdir()
    (seeds / "long").write_bytes(b"A" * 5000)
    spec = lab.spec("app:target", target={"include": ["app"]}, engine={"seeds": [str(seeds)]})
    (spec.parent / ".cur_input").write_bytes(bytes(1 << 16))

    nanny = start_on_full_disk(lab, spec)
    wait_until(lambda: any("cannot write" in e.get("text", "") for e in events(spec.parent)))
    nanny.send_signal(signal.SIGTERM)
    assert nanny.wait(60) == 0
    nanny = lab.start(spec)
    wait_until(lambda: names(spec.parent, "queue"))
    assert "orig:long" in names(spec.parent, "queue")[0]
    assert "execs:1," in names(spec.parent, "queue")[0]


def test_no_worker_starts_while_its_directory_cannot_be_written(lab: Lab) -> None:
    """As on a file system that turned read-only: the engine waits until it can be."""
    lab.write("app.py", wrapped("pass"))
    spec = lab.spec("app:target", target={"include": ["app"]})
    (spec.parent / TRACE).mkdir()
    nanny = lab.start(spec)
    wait_until(lambda: any("cannot write" in e.get("text", "") for e in events(spec.parent)))
    (spec.parent / TRACE).rmdir()
    wait_until(lambda: execs(spec.parent) > 100)
    nanny.send_signal(signal.SIGTERM)
    assert nanny.wait(60) == 0


# ---------------------------------------------------------------------- it is killed


def crashing(lab: Lab) -> Path:
    lab.write("app.py", wrapped("raise ValueError('found')", "b'A' in data and data[1:2] == b'B'"))
    return lab.spec("app:target", target={"include": ["app"]})


def test_parent_killed(lab: Lab) -> None:
    spec = crashing(lab)
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > 1000)
    worker = worker_of(nanny)
    kill(nanny.pid)
    wait_until(lambda: not alive(worker))
    before, queue = execs(spec.parent), timeless(spec.parent)
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > before)
    nanny.send_signal(signal.SIGTERM)
    assert nanny.wait(60) == 0
    assert queue.items() <= timeless(spec.parent).items()
    assert stats(spec.parent)["corpus_count"] == str(len(names(spec.parent, "queue")))


def test_worker_killed_is_no_crash(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    spec = lab.spec("app:parse")
    nanny = lab.start(spec)
    for _ in range(2):
        before = execs(spec.parent)
        wait_until(lambda before=before: execs(spec.parent) > before)
        worker = worker_of(nanny)
        kill(worker)
        wait_until(lambda worker=worker: worker_of(nanny) not in (0, worker))
    before = execs(spec.parent)
    wait_until(lambda: execs(spec.parent) > before)
    nanny.send_signal(signal.SIGTERM)
    assert nanny.wait(60) == 0
    assert not names(spec.parent, "crashes")
    assert any("SIGKILL" in e["text"] for e in events(spec.parent, "message"))
    figures = stats(spec.parent)
    told = sum(int(figures[k]) for k in ("valid_inputs", "invalid_inputs", "failed_inputs"))
    assert told == int(figures["execs_done"])


def test_stop_signal_and_capabilities(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    spec = lab.spec("app:parse")
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent))
    nanny.send_signal(signal.SIGINT)
    assert nanny.wait(60) == 0
    (hello,) = events(spec.parent, "instance_hello")
    assert set(hello["capabilities"]) == {
        "pause", "resume", "stop", "skip", "promote", "demote", "reset", "add-seed",
        "weigh-property",
    }  # fmt: skip
    assert hello["python"] == ".".join(map(str, sys.version_info[:3]))
    json.loads((spec.parent / "edges.json").read_text())
