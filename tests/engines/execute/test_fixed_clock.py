"""The fixed clock: what a program sees, and who keeps the real functions."""

from __future__ import annotations

import copy
import datetime
import importlib.util
import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from clocked import CLOCKED
from interpreters import pythons

import fuzztui
from fuzztui.engines.base.clock import FIXED, FixedClock, moment_of, start_over
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import read_spec

PACKAGE = Path(fuzztui.__file__).resolve().parents[1]
AT = moment_of(FIXED)


def program(folder: Path) -> Any:
    file = folder / "clocked_app.py"
    file.write_text(CLOCKED)
    spec = importlib.util.spec_from_file_location("clocked_app", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_trial_sees_the_same(tmp_path: Path) -> None:
    with FixedClock(FIXED) as clock:
        app = program(tmp_path)
        clock.reset()
        first = app.readings()
        clock.reset()
        assert app.readings() == first
    assert first["slept"] == pytest.approx(3600)
    assert first["now"][3].replace(microsecond=0) == AT
    assert abs(first["time"][0] - AT.timestamp()) < 1e-3
    with FixedClock(FIXED):
        assert program(tmp_path).readings()["import"] == first["import"]
    with FixedClock("2031-01-01T10:00+02:00") as clock:
        app = program(tmp_path)
        clock.reset()
        other = app.readings()
    assert other["now"][3].replace(microsecond=0).isoformat() == "2031-01-01T08:00:00+00:00"
    assert other["uuid"][1] == first["uuid"][1]
    assert other["uuid"][0] != first["uuid"][0]


def test_waiting_ends(tmp_path: Path) -> None:
    with FixedClock(FIXED):
        program(tmp_path).spin()


def test_everything_is_real_again_afterwards(tmp_path: Path) -> None:
    before = (time.time, os.urandom, random.seed, vars(uuid)["_generate_time_safe"])
    methods = [vars(datetime.datetime)["now"], vars(datetime.date)["today"]]
    with FixedClock(FIXED):
        app = program(tmp_path)
        fixed = app.now()
    assert (time.time, os.urandom, random.seed, vars(uuid)["_generate_time_safe"]) == before
    assert [vars(datetime.datetime)["now"], vars(datetime.date)["today"]] == methods
    assert app.now() > fixed, "a module that was imported meanwhile"
    assert app.Timer().read()[0] <= time.perf_counter()
    assert random.Random().random() != random.Random().random()


def held_before() -> ModuleType:
    module = ModuleType("held_before")
    exec("from time import time as t\nfrom os import urandom\ndef read(): return t(), urandom(4)",
         vars(module))  # fmt: skip
    return module


def test_a_module_that_was_imported_before(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = held_before()
    monkeypatch.setitem(sys.modules, "held_before", module)
    with FixedClock(FIXED) as clock:
        first = module.read()
        clock.reset()
        assert module.read() == first
    assert module.t is time.time


@pytest.mark.parametrize("name", ["fuzztui.engines.x", "hypothesis.core", "_pytest.y", "asyncio"])
def test_some_callers_keep_the_real_functions(name: str) -> None:
    source = (
        "import datetime, os, random, secrets, time\n"
        "def read(): return (time.time(), secrets.token_hex(), random.Random().random(),\n"
        "    os.urandom(9), datetime.datetime.now(), datetime.date.today())\n"
    )
    real: dict[str, Any] = {"__name__": name}
    exec(source, real)
    with FixedClock(FIXED) as clock:
        first = real["read"]()
        clock.reset()
        again = real["read"]()
    assert first[0] > AT.timestamp() + 86_400
    assert [a == b for a, b in zip(first[1:4], again[1:4], strict=True)] == [False] * 3
    assert first[5] > AT.date()


def test_clocks_within_each_other() -> None:
    """As in ``export``, which runs exported tests in the engine."""
    seen: dict[str, Any] = {"__name__": "app", "time": time}
    with FixedClock(FIXED):
        with FixedClock("2030-01-01"):
            assert eval("time.gmtime().tm_year", seen) == 2030
        assert eval("time.gmtime().tm_year", seen) == 2024
        eval("time.sleep(5e9)", seen)
        start_over()
        assert eval("time.gmtime().tm_year", seen) == 2024


def test_no_trial_begins_before_the_import_of_its_program() -> None:
    app: dict[str, Any] = {"__name__": "app", "time": time}
    with FixedClock(FIXED):
        start_over(setting_up=True)
        imported = eval("time.monotonic()", app)
        start_over()
        assert imported < eval("time.monotonic()", app)


@pytest.mark.parametrize("name", ["time.time", "time.sleep", "os.urandom", "datetime.datetime.now"])
def test_a_function_is_pickled_by_its_name(name: str) -> None:
    with FixedClock(FIXED):
        function = eval(name)
        assert pickle.loads(pickle.dumps(function)) == function


def test_a_forked_child_draws_the_same_numbers() -> None:
    app: dict[str, Any] = {"__name__": "app"}
    exec("import os, random\ndef draw(): return random.random()", app)
    drawn = []
    with FixedClock(FIXED):
        for _ in range(2):
            reader, writer = os.pipe()
            if not (pid := os.fork()):
                os.write(writer, repr(app["draw"]()).encode())
                os._exit(0)
            os.waitpid(pid, 0)
            os.close(writer)
            with open(reader, "rb") as pipe:
                drawn.append(pipe.read())
    assert drawn[0] == drawn[1]


def test_sleep_waits_for_another_thread() -> None:
    app: dict[str, Any] = {"__name__": "app"}
    exec(
        "import time\n"
        "def wait(done):\n"
        "    until = time.monotonic() + 1e6\n"
        "    while not done():\n"
        "        assert time.monotonic() < until\n"
        "        time.sleep(0.01)\n",
        app,
    )
    worked = threading.Event()
    turns = itertools.count()

    def work() -> None:
        while next(turns) < 200_000:
            pass
        worked.set()

    with FixedClock(FIXED):
        threading.Thread(target=work).start()
        app["wait"](worked.is_set)


def test_a_function_is_copied_as_functions_are() -> None:
    with FixedClock(FIXED):
        held = {"at": time.time}
        assert copy.deepcopy(held)["at"] == time.time
        assert (time.time.__name__, datetime.datetime.now(datetime.UTC).year) == ("time", 2024)
        assert pickle.loads(pickle.dumps(datetime.datetime.now(datetime.UTC))).year == 2024


@pytest.mark.parametrize("call", ["time.sleep(-1)", "time.sleep('x')", "time.localtime('x')",
                                  "os.urandom(-1)"])  # fmt: skip
def test_wrong_arguments_are_refused_as_before(call: str) -> None:
    names: dict[str, Any] = {"__name__": "app", "time": time, "os": os}
    with pytest.raises(Exception) as real:
        eval(call, dict(names))
    with FixedClock(FIXED), pytest.raises(real.type):
        eval(call, names)


@pytest.mark.parametrize("text", ["1066-01-01", "noon", "3000-01-01"])
def test_a_spec_with_a_wrong_moment(tmp_path: Path, text: str) -> None:
    file = tmp_path / "spec.json"
    target = {"function": "a:b", "clock": text}
    file.write_text(json.dumps({"instance": "main", "dir": str(tmp_path), "target": target,
                                "engine": {"kind": "zest"}}))  # fmt: skip
    with pytest.raises(CannotStart, match="target.clock: .*" + text):
        read_spec(file)


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons(12, 13, 14), ids=lambda path: path.parts[-3])
def test_other_pythons(tmp_path: Path, python: Path) -> None:
    (tmp_path / "clocked_app.py").write_text(CLOCKED)
    script = (
        "from fuzztui.engines.base.clock import FIXED, FixedClock\n"
        "clock = FixedClock(FIXED)\nclock.install()\nimport clocked_app\n"
        "clock.reset()\na = clocked_app.readings()\nclock.reset()\n"
        "assert a == clocked_app.readings()\nclocked_app.spin()\nclock.reset()\n"
        "u = clocked_app.uuid\n"
        "new = [getattr(u, n) for n in ('uuid6', 'uuid7') if hasattr(u, n)]\n"
        "b = [f() for f in new]\nclock.reset()\nassert b == [f() for f in new]\nprint('same')\n"
    )
    env = {"PYTHONPATH": f"{PACKAGE}:{tmp_path}"}
    argv = [python, "-c", script]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "same\n", done.stderr
