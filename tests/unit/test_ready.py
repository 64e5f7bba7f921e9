"""Would a campaign start? Asked of the target's interpreter, which may do whatever it likes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from fuzztui.campaign import load
from fuzztui.cli import main
from fuzztui.supervise import ask as ask_module
from fuzztui.supervise import ready as ready_module
from fuzztui.supervise.ready import ready, unknown_aliases
from fuzztui.supervise.rundir import SupervisorError, Unfit

APP = """\
import datetime

class Order:
    pass

def parse(day: datetime.date) -> bool:
    return day.year == 2008

def text(words: str) -> None:
    pass
"""

GENS = """\
import datetime
from dataclasses import dataclass
from fuzztui.generators import Source, gen_date, generator

@dataclass
class Part:
    day: datetime.date

class Never:
    pass

@generator
def gen_part(r: Source) -> Part:
    return Part(gen_date(r))

@generator
def gen(r: Source) -> datetime.date:
    return gen_part(r).day
"""

TESTS = """\
from hypothesis import given, strategies as st

@given(day=st.dates())
def test_it(day):
    pass

@given(day=st.dates())
def test_with_fixture(tmp_path, day):
    pass

class TestDays:
    @given(day=st.dates())
    def test_method(self, day):
        pass

names = globals()
"""


@pytest.fixture
def room(tmp_path, monkeypatch):
    (tmp_path / "app").mkdir()
    (tmp_path / "app/__init__.py").write_text("")
    (tmp_path / "app/core.py").write_text(APP)
    (tmp_path / "gens.py").write_text(GENS)
    (tmp_path / "test_days.py").write_text(TESTS)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(ask_module.tempfile, "tempdir", str(tmp_path / "tmp"))
    yield tmp_path
    assert not list((tmp_path / "tmp").iterdir())


def write(room: Path, target: str, engine: str = 'kind = "spoton"') -> Path:
    file = room / "c.toml"
    file.write_text(f'[target]\npath = "."\n{target}\n[engine]\n{engine}\n')
    return file


GOOD = 'function = "app.core:parse"\ngenerator = "gens:gen"'
TEST = 'include = ["app"]\nfunction = "test_days.py:%s"'
BARE = 'python = "./bare"\n'


def bare(room: Path) -> None:
    """An interpreter without any library."""
    python = room / "bare"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        (GOOD, "spoton"),
        (TEST % "test_it", "spoton"),
        (TEST % "TestDays.test_method", "zest"),
        ('function = "app.core:text"', "zest"),
        ('function = "app.core:text"', "mu2"),
        ('function = "app.core:text"', "text"),
    ],
)
def test_what_would_start(room, target, kind, capsys):
    file = write(room, target, f'kind = "{kind}"')
    assert main(["check", str(file)]) == 0
    said = capsys.readouterr()
    assert said.err == f"fuzztui: {file} is a good campaign file, its target can be loaded\n"
    assert "[target]" in said.out


@pytest.mark.parametrize(
    ("target", "line", "words"),
    [
        ('function = "app.core:parse"', 1, "target.generator is missing: engine.kind"),
        (GOOD.replace("app.", "ap."), 3, "No module named 'ap': install it for target.python"),
        (
            GOOD.replace("core", "cores"), 3,
            "No module named 'app.cores'; did you mean app.core? (package app has: core)",
        ),
        (
            GOOD.replace("parse", "prase"), 3,
            "module app.core has no function 'prase'; did you mean parse? (it has: parse, text)",
        ),
        (GOOD.replace("gens:", "genz:"), 4, "No module named 'genz': install it"),
        (GOOD.replace(":gen", ":ge"), 4, "no function 'ge'; did you mean gen? (it has: "),
        (f'{GOOD}\ninclude = ["ap"]', 5, "No module named 'ap': install it"),
        (f'{GOOD}\nexpected = ["OddError"]', 5, 'target.expected: "OddError" is not an exception'),
        (TEST % "test_with_fixture", 4, "takes tmp_path, which @given does not make"),
        (TEST % "test_itt", 4, "no function 'test_itt'; did you mean test_it? (it has: "),
        (TEST % "TestDays.test_methd", 4, "did you mean TestDays.test_method? (it has: "),
        (BARE + TEST % "test_it", 5, "No module named 'hypothesis': install it"),
        (
            BARE + GOOD.replace(":gen", ":Part"), 3,
            "Hypothesis is missing for target.python (",
        ),
    ],
)  # fmt: skip
def test_what_would_not(room, target, line, words, capsys):
    bare(room)
    file = write(room, target)
    assert main(["check", str(file)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"fuzztui: {file}:{line}: ")
    assert words in said.err
    assert said.err.count("\n") == 1
    assert not said.out
    assert main(["check", str(file), "--no-run"]) == 0
    assert "its target" not in capsys.readouterr().err


def test_a_hypothesis_that_is_not_known(room):
    bare(room)
    (room / "hypothesis").mkdir()
    (room / "hypothesis/__init__.py").write_text('__version__ = "5.49"')
    file = write(room, BARE + GOOD.replace(":gen", ":Part"))
    with pytest.raises(Unfit, match=r"Hypothesis 5\.49 has no backends .* install 6\.") as caught:
        ready(load(file).campaign)
    assert caught.value.key == "target.python"


def test_other_engines_have_their_own_ideas(room, capsys):
    file = write(room, TEST % "test_it", 'kind = "text"')
    assert main(["check", str(file)]) == 2
    assert f"{file}:4: target.function: a Hypothesis test makes" in capsys.readouterr().err


def test_an_override_is_where_it_comes_from(room, capsys):
    file = write(room, GOOD)
    assert main(["check", str(file), "--set", "target.function=app.core:prase"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("fuzztui: --set target.function=app.core:prase: target.function = ")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os._exit(4)", "importing it exited with status 4"),
        ("import os; os._exit(0)", "importing it exited with status 0"),
        ("import os; os.kill(os.getpid(), 11)", "importing it was killed by SIGSEGV"),
        (
            "raise SystemExit('\\x1b[31m')",
            r"importing it raised SystemExit: \\e\[31m at .*bad.py:1",
        ),
        ("def", r"SyntaxError: invalid syntax .*bad\.py, line 1\) at .*/bad\.py:1$"),
        ("import os; [os.close(n) for n in (0, 1, 2)]\ndef f(x): pass", "is a good campaign file"),
        ('print(\'{"refused": "a lie"}\')\ndef f(x): pass', "is a good campaign file"),
    ],
)
def test_a_target_that_spoils_its_process(room, code, words, capsys):
    (room / "bad.py").write_text(code)
    main(["check", str(write(room, 'function = "bad:f"', 'kind = "zest"'))])
    said = capsys.readouterr().err.strip()
    assert re.search(words, said), said


def test_a_target_that_hangs(room, monkeypatch):
    monkeypatch.setattr(ready_module, "LOAD_LIMIT_S", 4.0)
    (room / "bad.py").write_text("import time\ntime.sleep(1000)\n")
    told: list[str] = []
    with pytest.raises(Unfit, match='function = "bad:f": importing it did not end within 4 s'):
        ready(load(write(room, 'function = "bad:f"', 'kind = "zest"')).campaign, told.append)
    assert told == ["importing the target; it is given 4 s"]


def test_who_stops_waiting_blames_nobody(room, monkeypatch):
    def left(words: str) -> None:
        raise SupervisorError("whoever started the campaign left")

    monkeypatch.setattr(ready_module, "LOAD_LIMIT_S", 100.0)
    (room / "bad.py").write_text("import time\ntime.sleep(1000)\n")
    with pytest.raises(SupervisorError, match=r"left$") as caught:
        ready(load(write(room, 'function = "bad:f"', 'kind = "zest"')).campaign, left)
    assert not isinstance(caught.value, Unfit)


def test_an_interpreter_that_is_none(room, monkeypatch):
    file = write(room, f'{GOOD}\npython = "./odd"')
    (room / "odd").write_text("#!/bin/sh\necho what? >&2\nexit 7\n")
    (room / "odd").chmod(0o755)
    with pytest.raises(Unfit, match=r'python = ".*/odd" does not answer .* status 7: what\?'):
        ready(load(file).campaign)
    (room / "odd").write_text("#!/bin/sh\n")
    with pytest.raises(Unfit, match=r"does not answer .*: it ended without a word"):
        ready(load(file).campaign)
    (room / "odd").write_text("#!/bin/sh\nexec sleep 1000\n")
    monkeypatch.setattr(ready_module, "LOAD_LIMIT_S", 0.5)
    monkeypatch.setattr(ready_module, "_LEEWAY_S", 0.5)
    with pytest.raises(Unfit, match=r"does not answer .*: it gave no answer within 1 s"):
        ready(load(file).campaign)


def test_aliases_that_come_to_nothing(room, capsys):
    engine = """kind = "spoton"
[engine.aliases]
"app.core.Oder" = "gens.Part"
"app.core.Order" = "gens.Prat"
"datetime.datetime" = ["gens.Part", "gens.Never", "nowhere.X", "datetime.date"]
"""
    file = write(room, GOOD, engine)
    assert main(["check", str(file)]) == 0
    said = capsys.readouterr().err.splitlines()
    at = f"fuzztui: {file}"
    assert said == [
        f'{at}:8: engine.aliases: "app.core.Oder": there is no such type; did you mean '
        "app.core.Order?",
        f'{at}:9: engine.aliases: "gens.Prat": there is no such type; did you mean gens.Part?',
        f'{at}:10: engine.aliases: "gens.Never": none of 64 inputs that the generator made has a'
        " part of that type (they have: datetime.date, gens.Part)",
        f'{at}:10: engine.aliases: "nowhere.X": there is no such type',
        f"{at} is a good campaign file, its target can be loaded",
    ]


def test_aliases_of_what_no_branch_depends_on():
    aliases = {"lib.Body": "gens.A", "other.Order": "gens.B", "odd.Thing": "gens.C"}
    assert unknown_aliases(aliases, ["lib.Body", "app.Order"]) == {
        "other.Order": "no branch depends on such a type; did you mean app.Order?",
        "odd.Thing": "no branch depends on such a type",
    }
    assert unknown_aliases(aliases, []) == {}, "then nothing is known"
