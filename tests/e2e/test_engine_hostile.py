"""Targets that do to the engine what targets do."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from engine_lab import Lab, alive, events, execs, kill, names, reason, stats, timeless, worker_of
from waiting import wait_until

from fuzztui.engines.base.spec import TRACE

pytestmark = pytest.mark.slow


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


HARNESS = "{src}/app.py:target"
"""A target that is named by its file."""


@pytest.mark.parametrize(
    ("code", "function", "target", "words"),
    [
        (PARSER, "nowhere.at.all:f", {}, ("target.function", "nowhere", "target.path")),
        (PARSER, "app:prase", {}, ("module app has no function 'prase'", "it has: parse")),
        ("import sys; sys.exit('bye')", "app:target", {}, ("SystemExit: bye",)),
        ("import os; os._exit(5)", "app:target", {},
         ("importing the target exited with status 5",)),
        (PARSER, "app:parse", {"expected": ["app.Oops"]}, ('target.expected: "app.Oops"',)),
        (PARSER, "app:parse", {"include": ["math"]}, ("target.include", "math")),
        ("def target(d): pass", HARNESS, {}, ("target.include is missing",)),
        ("def target(): pass", "app:target", {}, ("one argument",)),
    ],
    ids=["no module", "no function", "exits at import", "ends at import",
         "unknown exception", "nothing to instrument", "harness alone", "no argument"],
)  # fmt: skip
def test_a_target_that_cannot_start(
    lab: Lab, code: str, function: str, target: dict[str, object], words: tuple[str, ...]
) -> None:
    lab.write("app.py", code)
    spec = lab.spec(function.format(src=lab.src), target=target)
    assert lab.run(spec) == 3
    said = reason(spec.parent)
    assert [word for word in words if word not in said] == [], said


def test_raises_at_import(lab: Lab) -> None:
    lab.write("app.py", "x = {}['y']\ndef target(d): pass")
    spec = lab.spec("app:target")
    assert lab.run(spec) == 3
    for word in ("KeyError: 'y'", "app.py:1"):
        assert word in reason(spec.parent)
    assert "Traceback" in (spec.parent / "worker.log").read_text()


def test_an_incomplete_pytest(lab: Lab) -> None:
    lab.write("pytest/__init__.py", "import a_module_that_is_missing")
    target = {"suite": [str(lab.src)], "include": ["shop"]}
    spec = lab.spec(str(lab.src), target=target)
    assert lab.run(spec) == 3
    for word in ("pytest", lab.python, "a_module_that_is_missing"):
        assert word in reason(spec.parent)


def test_missing_seeds(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    spec = lab.spec("app:parse", engine={"seeds": ["/no/such"]})
    assert lab.run(spec) == 3
    assert "engine.seeds" in reason(spec.parent)
    assert "/no/such" in reason(spec.parent)


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
    assert lab.run(spec) == 3
    assert "queue" in reason(spec.parent)


# ----------------------------------------------------------------- it ends the trial


def campaign(lab: Lab, code: str, trials: int = 400, **keys: object) -> Path:
    """Run a target called ``app:target`` for some trials; returns the instance directory."""
    lab.write("app.py", code)
    target = {"include": ["app"], "timeout_s": 0.3} | keys.pop("target", {})  # type: ignore[operator]
    seeds = {} if (lab.root / "seeds").exists() else {"one": b"seed", "two": b"abc"}
    engine = {"seeds": lab.seeds(**seeds)} | keys.pop("engine", {})  # type: ignore[operator]
    directory = lab.campaign(
        "app:target", budget_trials=trials, target=target, engine=engine, **keys
    )
    assert lab.counted(directory) == trials
    return directory


def only_finding(directory: Path) -> dict[str, object]:
    (event,) = Lab.findings(directory).values()
    assert (directory / event["file"]).read_bytes().startswith(b"a")
    return event


IN_TARGET = "app.py in target"
FOREVER = "while True: pass"
LATER = "if len(calls) % 2: raise KeyError(1)"
HOSTILE_TEXT = """
class Odd(Exception):
    def __str__(self):
        {}
"""


@pytest.mark.parametrize(
    ("head", "act", "trials", "said"),
    [
        ("", "sys.exit(2)", 400, {"title": "SystemExit: 2", "place": "app.py:16 in target*"}),
        ("", "os._exit(0)", 60, {"title": "the process exited with status 0"}),
        ("import ctypes\n", "ctypes.string_at(0)", 40,
         {"title": "the process was killed by SIGSEGV", "place": IN_TARGET,
          "file": "crashes/id:000000,sig:11,*"}),
        # A SIGKILL may come from anybody: the input is tried again before it is blamed.
        ("import signal\n", "os.kill(os.getpid(), signal.SIGKILL)", 30,
         {"title": "the process was killed by SIGKILL"}),
        ("def f(n):\n    return g(n)\ndef g(n):\n    return f(n + 1)\n", "f(0)", 400,
         {"title": "RecursionError: maximum recursion depth exceeded*", "place": "app.py in f"}),
        ("import other\n", "other.spin()", 40, {"category": "hang", "place": IN_TARGET}),
        ("import itertools\n", "sum(itertools.count())", 12,
         {"category": "hang", "place": IN_TARGET}),
        ("", f"while True:\n    try:\n        {FOREVER}\n    except BaseException: pass", 12,
         {"category": "hang"}),
        ("", f"try:\n    {FOREVER}\nexcept BaseException: return 0", 40, {"category": "hang"}),
        (HOSTILE_TEXT.format(FOREVER), "raise Odd('[/x]\\x1b')", 40, {"title": "Odd"}),
        (HOSTILE_TEXT.format("os._exit(9)"), "raise Odd", 20,
         {"title": "the process exited with status 9"}),
        ("calls = []\n", f"calls.append(1)\n{LATER}", 400, {"detail": "Flaky: *"}),
    ],
    ids=["sys.exit", "os._exit", "segfault", "kills itself", "recursion", "loop elsewhere",
         "loop in C", "catches everything", "swallows the timeout", "text without end",
         "text that exits", "flaky"],
)  # fmt: skip
def test_what_an_input_does_is_one_finding(
    lab: Lab, head: str, act: str, trials: int, said: dict[str, str]
) -> None:
    lab.write("other.py", "def spin():\n    while True: pass\n")
    directory = campaign(lab, head + wrapped(act), trials)
    event = only_finding(directory)
    for key, pattern in said.items():
        assert fnmatchcase(str(event[key]), pattern), event
    assert len(names(directory, "crashes")) + len(names(directory, "hangs")) == 1


def test_hangs_in_its_own_code(lab: Lab) -> None:
    event = only_finding(campaign(lab, wrapped(FOREVER), trials=60))
    assert (event["category"], event["place"]) == ("hang", IN_TARGET)
    assert FOREVER in event["detail"]


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
        said = lab.messages(directory)
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
    assert len(lab.findings(directory)) == len(names(directory, "crashes")) == 2
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


@pytest.mark.parametrize(
    ("act", "condition", "trials"),
    [
        ("os.closerange(0, 4096)", "True", 400),
        ("os.fork()", "True", 100),
        ("if os.fork() == 0: raise RuntimeError('in the child')", "data[:1] == b'a'", 100),
        ("sys.setrecursionlimit(100)", "True", 400),
        ("assert os.getcwd() != '/'\nos.chdir('/')", "True", 400),
        ("os.rmdir(os.getcwd())", "True", 400),
    ],
    ids=["closes all", "forks", "child raises", "recursion limit", "chdir", "rmdir"],
)
def test_what_is_undone_after_each_trial(lab: Lab, act: str, condition: str, trials: int) -> None:
    directory = campaign(lab, wrapped(act, condition), trials)
    assert not names(directory, "crashes")
    assert len(names(directory, "queue")) == len(timeless(directory)) > 1


def test_garbage_and_closed_streams(lab: Lab) -> None:
    code = wrapped(
        "os.write(1, b'\\xff' * 10000); os.write(2, b'[/x]\\x1b[2J')\nprint('garbage')\n"
        "sys.stdout.close(); sys.stderr = None; os.close(1)",
        "True",
    )
    directory = campaign(lab, code)
    assert not names(directory, "crashes")
    assert (directory / "worker.log").read_text() == ""


def test_output_can_be_logged(lab: Lab) -> None:
    directory = campaign(lab, wrapped("os.write(1, b'hello')", "True"), target={"output": "log"})
    assert (directory / "target.log").read_bytes().startswith(b"hellohello")


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
    said = lab.messages(directory)
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
    directory = lab.campaign("app:target", budget_trials=600, target={"include": ["app"]})
    texts = lab.messages(directory, "warning")
    assert any("crashes" in text and "was deleted" in text for text in texts)
    assert len(names(directory, "crashes")) == 1


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


def test_own_package_called_engines(lab: Lab) -> None:
    lab.write("engines/__init__.py", "from engines.core import parse")
    lab.write("engines/core.py", PARSER)
    lab.write("fuzz.py", PARSER)
    directory = lab.campaign("engines:parse", budget_trials=300)
    assert int(stats(directory)["edges_found"]) > 3


def test_standard_library_that_the_engine_uses(lab: Lab) -> None:
    target = {"expected": ["ValueError"], "input": "text"}
    directory = lab.campaign("json:loads", budget_trials=2000, target=target)
    assert not names(directory, "crashes")
    assert int(stats(directory)["edges_found"]) > 10


def test_threads_do_not_keep_it(lab: Lab) -> None:
    code = "import threading, time\n" + wrapped(
        "threading.Thread(target=time.sleep, args=(600,)).start()", "data == b'abc'"
    )
    campaign(lab, code)


# ------------------------------------------------------------------------- seeds


def test_odd_seeds(lab: Lab) -> None:
    seeds = lab.root / "seeds"
    lab.seeds(empty=b"")
    (seeds / "deeper").mkdir()
    (seeds / "deeper" / "huge").write_bytes(b"A" * 1_000_000)
    os.mkfifo(seeds / "fifo")
    (seeds / "dangling").symlink_to("/no/such/file")
    directory = campaign(lab, wrapped("pass"))
    said = " ".join(lab.messages(directory))
    assert "skipped 2 seeds" in said
    assert "to 10,240 bytes" in said
    sizes = [p.stat().st_size for p in (directory / "queue").iterdir()]
    assert max(sizes) <= 10240
    assert any("orig:huge" in n for n in names(directory, "queue"))


def test_no_seeds_in_the_folder(lab: Lab) -> None:
    (lab.root / "seeds").mkdir()
    directory = campaign(lab, wrapped("pass"))
    assert any("contains no file" in text for text in lab.messages(directory))
    assert names(directory, "queue")


# --------------------------------------------------------------------- a full disk


UNTRIMMED = "len(data) == 5000"
"""The condition that the seed of :func:`start_on_full_disk` fulfils, and nothing smaller."""


def start_on_full_disk(lab: Lab) -> tuple[Path, subprocess.Popen[bytes]]:
    """RLIMIT_FSIZE makes writes fail as a full disk does; lifting it makes room.

    Returns once the engine has reported that, of a seed of 5,000 bytes.
    """
    seeds = lab.seeds(long=b"A" * 5000)
    spec = lab.spec("app:target", target={"include": ["app"]}, engine={"seeds": seeds})
    (spec.parent / ".cur_input").write_bytes(bytes(1 << 16))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))

    lab.env["PYTHONDONTWRITEBYTECODE"] = "1"  # Python up to 3.12 would save half a module
    nanny = lab.start(spec, preexec_fn=limit)
    wait_until(lambda: any("cannot write" in text for text in lab.messages(spec.parent)))
    return spec, nanny


def test_full_disk(lab: Lab) -> None:
    app = wrapped("pass", UNTRIMMED).replace("n > 2", "n > 2 and len(data) > 300")
    lab.write("app.py", app)
    spec, nanny = start_on_full_disk(lab)
    assert not names(spec.parent, "queue")
    for pid in (nanny.pid, worker_of(nanny)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    wait_until(lambda: names(spec.parent, "queue"))
    assert (spec.parent / "queue" / names(spec.parent, "queue")[0]).stat().st_size == 5000
    wait_until(lambda: execs(spec.parent) > 100)
    lab.end(nanny)


def test_stop_while_the_disk_is_full_loses_nothing(lab: Lab) -> None:
    lab.write("app.py", wrapped("pass", UNTRIMMED))
    spec, nanny = start_on_full_disk(lab)
    lab.end(nanny)
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
    wait_until(lambda: any("cannot write" in text for text in lab.messages(spec.parent)))
    (spec.parent / TRACE).rmdir()
    wait_until(lambda: execs(spec.parent) > 100)
    lab.end(nanny)


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
    queue = timeless(spec.parent)
    nanny = lab.start(spec)
    lab.goes_on(spec.parent)
    lab.end(nanny)
    assert queue.items() <= timeless(spec.parent).items()
    assert stats(spec.parent)["corpus_count"] == str(len(names(spec.parent, "queue")))


def test_worker_killed_is_no_crash(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    spec = lab.spec("app:parse")
    nanny = lab.start(spec)
    for _ in range(2):
        lab.goes_on(spec.parent)
        worker = worker_of(nanny)
        kill(worker)
        wait_until(lambda worker=worker: worker_of(nanny) not in (0, worker))
    lab.goes_on(spec.parent)
    lab.end(nanny)
    assert not names(spec.parent, "crashes")
    assert any("SIGKILL" in text for text in lab.messages(spec.parent))
    lab.counted(spec.parent)
    assert stats(spec.parent)["total_tmout"] == "0"


def test_stop_signal_and_capabilities(lab: Lab) -> None:
    lab.write("app.py", PARSER)
    spec = lab.spec("app:parse")
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent))
    lab.end(nanny, signal.SIGINT)
    (hello,) = events(spec.parent, "instance_hello")
    assert set(hello["capabilities"]) == {
        "pause", "resume", "stop", "skip", "promote", "demote", "reset", "add-seed",
        "weigh-property",
    }  # fmt: skip
    assert hello["python"] == ".".join(map(str, sys.version_info[:3]))
    json.loads((spec.parent / "edges.json").read_text())
