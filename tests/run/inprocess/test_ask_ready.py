"""Would a campaign start? Asked of the target's interpreter, which may do whatever it likes."""

import re
import sys
import tempfile
from pathlib import Path

import pytest

from fuzztui.cli import main
from fuzztui.engines.process.check import untested
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import SupervisorError, Unfit
from fuzztui.run.inprocess import ask as ready_module
from fuzztui.run.inprocess.ask import ready, unknown_aliases

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
from app.core import parse, text

@given(day=st.dates())
def test_it(day):
    parse(day)

@given(day=st.dates())
def test_with_fixture(tmp_path, day):
    pass

class TestDays:
    @given(day=st.dates())
    def test_method(self, day):
        parse(day)

    def helper(self):
        pass

names = globals()
days = st.dates()

@given(st.data())
def test_drawing(data):
    raise SystemExit(parse(data.draw(days)))

@given(day=days.filter(lambda day: day.day == 1))
def test_choosy(day):
    parse(day)

@given(words=st.text())
def test_words(words):
    text(words)
"""

ODD = """\
import datetime, os, random, signal, time
from fuzztui.generators import Source, gen_date, generator
from hypothesis import strategies as st

class Box:
    pass

class Oops(Exception):
    pass

days = st.dates().map(lambda day: {"day": day})
fails = st.builds(lambda day: [][day.year], st.dates())

def raises(r: Source) -> Box:
    raise KeyError(r.below(2))

@generator
def nothing() -> Box:
    return Box()

@generator
def none(r: Source) -> Box:
    r.below(9)

@generator
def chance(r: Source) -> list[Box]:
    return [r.below(random.randint(2, 2000)) for _ in range(random.randint(0, 9))]

@generator
def clock(r: Source) -> Box:
    return r.below(9), time.monotonic_ns()

@generator
def bare(r: Source):
    return gen_date(r)

def undecorated(r: Source) -> Box:
    return r.below(9), gen_date(r)

def untyped(r: Source) -> str:
    return r.text("abc", 1, 9)

@generator
def rarely(r: Source) -> Box:
    r.assume(r.below(4) == 0)
    return Box()

@generator
def fragile(r: Source) -> Box:
    return 1 / r.below(3) and Box()

@generator
def slow(r: Source) -> Box:
    while r.below(99):
        time.sleep(100)

@generator
def dies(r: Source) -> Box:
    os._exit(r.below(1) + 7)

@generator
def stuck(r: Source) -> Box:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(1000)

async def late(r: Source) -> Box:
    return Box()
"""


@pytest.fixture
def room(tmp_path, monkeypatch):
    (tmp_path / "app").mkdir()
    (tmp_path / "app/__init__.py").write_text("")
    (tmp_path / "app/core.py").write_text(APP)
    (tmp_path / "gens.py").write_text(GENS)
    (tmp_path / "test_days.py").write_text(TESTS)
    (tmp_path / "odd.py").write_text(ODD)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "kind", "types"),
    [
        (GOOD, "spoton", "datetime.date and gens.Part"),
        (TEST % "test_it", "spoton", "datetime.date"),
        (TEST % "TestDays.test_method", "zest", ""),
        ('function = "app.core:text"', "zest", ""),
        ('function = "app.core:text"', "mu2", ""),
        ('function = "app.core:text"', "text", ""),
    ],
)
def test_what_would_start(room, target, kind, types, capsys):
    text = '\n[text]\nlanguage = "none"' * (kind == "text")  # else a note says that none is known
    file = write(room, target, f'kind = "{kind}"{text}')
    assert main(["check", str(file)]) == 0
    said = capsys.readouterr()
    of_types = [f"types of its choices: {types}"] * bool(types)
    last = f"{file} is valid, its target can be loaded"
    makes = "test" in target or "generator" in target
    assert lines(said.err, room) == [
        f"instruments app in {room}/app (2 modules)",
        *of_types,
        last + ", N inputs were made" * makes,
    ]
    assert "[target]" in said.out


def without_progress(said: str) -> str:
    """What stderr has besides the line that announces a slow import: machines may be slow."""
    return re.sub(r"^fuzztui: importing the target; the limit is .*\n", "", said, flags=re.M)


def lines(said: str, room: Path) -> list[str]:
    """How many are made is a matter of time."""
    plain = re.sub(r"\b\d+ (inputs? w)", r"N \1", without_progress(said)).replace(
        f"{room}/c.toml", "FILE"
    )
    found = [line.removeprefix("fuzztui: ") for line in plain.splitlines()]
    return [line.replace("FILE", f"{room}/c.toml") for line in found]


MADE_BY = 'function = "app.core:parse"\ngenerator = "odd:%s"'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "must be callable with one argument, the source of choices: "),
        ("late", "is a coroutine function"),
    ],
)
@pytest.mark.parametrize("kind", ["spoton", "zest"])
def test_generators_that_cannot_work(room, kind, name, words, capsys):
    file = write(room, MADE_BY % name, f'kind = "{kind}"')
    assert main(["check", str(file)]) == 2
    said = without_progress(capsys.readouterr().err)
    assert said.startswith(f'fuzztui: {file}:4: target.generator = "odd:{name}"')
    assert re.search(words, said.strip()), said
    assert main(["check", str(file), "--no-run"]) == 0


ALWAYS = {
    "raises": r"raises KeyError: \d at odd\.py:\d+ in raises, for ",
    "fails": r"raises IndexError: .* at odd\.py:\d+ in <lambda>, for ",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALWAYS)
def test_generators_that_always_fail(room, name, capsys):
    """Only spoton asks before it starts, and seeds may hold choices with which they do not."""
    file = write(room, MADE_BY % name)
    assert main(["check", str(file)]) == 2
    said = without_progress(capsys.readouterr().err).strip()
    assert said.startswith(f'fuzztui: {file}:4: target.generator = "odd:{name}" ')
    assert re.search(ALWAYS[name] + r"each of \d+ inputs$", said)
    (room / "seeds").mkdir()
    for engine in ('kind = "spoton"\nseeds = "seeds"', 'kind = "zest"'):
        file = write(room, MADE_BY % name, engine)
        assert main(["check", str(file)]) == 0
        said = without_progress(capsys.readouterr().err)
        where = re.escape(f"{file}:4: warning: target.generator: ")
        assert re.search(where + ALWAYS[name] + r"(\d+) of \1 inputs$", said, re.MULTILINE), said


OTHER = r"warning: target\.generator: the same choices made another input \(\d+ of \d+\): draw all"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words", "typed"),
    [
        ("none", "target.generator: makes only None, not the annotated odd.Box", True),
        ("chance", OTHER, True),
        ("clock", OTHER, True),
        ("bare", "target.generator: has no return annotation: its choices have only the", False),
        ("undecorated", "target.generator: is not a @generator: choices that", False),
        ("untyped", "target.generator: no choice has a type, so every mutation", False),
        ("rarely", r"rejects \d+ of 200 inputs: an assumption of the generator does not", True),
        ("fragile", r"warning: target\.generator: raises ZeroDiv.* in fragile, for \d+ of", True),
        ("slow", r"warning: target\.generator: takes longer than 1 s for 1 of \d inputs", True),
        ("dies", "warning: target.generator: making inputs exited with status 7", True),
        ("stuck", "warning: target.generator: making inputs did not end within 4", True),
    ],
)
def test_generators_that_work_somehow(room, name, words, typed, capsys):
    """``typed``: it is as true of engines that look at no types."""
    for kind in ("spoton", "zest"):
        file = write(room, MADE_BY % name, f'kind = "{kind}"')
        assert main(["check", str(file)]) == 0
        said = without_progress(capsys.readouterr().err)
        found = [line for line in lines(said, room) if re.search(words, line)]
        assert len(found) == (kind == "spoton" or typed), said
        assert all(line.startswith(f"{file}:4: ") for line in found)
        known = {"types of its choices", "instruments app", "is valid", *found}
        assert not [line for line in lines(said, room) if not any(k in line for k in known)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("test_drawing", []),
        (
            "test_choosy",
            ["{at}:4: warning: target.function: rejects", "types of its"],
        ),
        ("test_words", ["{at}:4: target.function: no choice has a type, so every mutation"]),
    ],
)
def test_what_is_said_of_tests(room, name, there, capsys):
    """The first would end the process that runs it."""
    file = write(room, TEST % name)
    assert main(["check", str(file)]) == 0
    said = lines(capsys.readouterr().err, room)[1:-1]
    assert len(said) == len(there), said
    for line, begins in zip(said, there, strict=True):
        assert line.startswith(begins.format(at=file))


@pytest.mark.slow
def test_a_start_is_warned_and_refused_alike(room):
    asked = ready(load(write(room, MADE_BY % "chance")).campaign)
    assert [(r.key, r.warns) for r in asked.diagnostics] == [
        ("", False), ("target.generator", True), ("", False),
    ]  # fmt: skip
    assert asked.made > 0
    with pytest.raises(Unfit, match="raises KeyError") as caught:
        ready(load(write(room, MADE_BY % "raises")).campaign)
    assert caught.value.key == "target.generator"


@pytest.mark.slow
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
            "module app.core has no function 'prase'; did you mean parse? (it has: parse and text)",
        ),
        (GOOD.replace("gens:", "genz:"), 4, "No module named 'genz': install it"),
        (
            GOOD.replace(":gen", ":ge"), 4,
            "no function, strategy or type 'ge'; did you mean gen? (it has: gen, Never, Part and",
        ),
        (
            MADE_BY % "day", 4,
            "no function, strategy or type 'day'; did you mean days? (it has: days, Box, bare, ch",
        ),
        (f'{GOOD}\ninclude = ["ap"]', 5, "No module named 'ap': install it"),
        (f'{GOOD}\nexpected = ["OddError"]', 5, 'target.expected: "OddError" is not an exception'),
        (TEST % "test_with_fixture", 4, "takes tmp_path, which @given does not make"),
        (
            TEST % "test_itt", 4,
            "no function 'test_itt'; did you mean test_it? (it has: test_it, test_with_fixture,"
            " test_drawing, TestDays.test_method, test_choosy and test_words)\n",
        ),
        (
            TEST % "TestDays.test_methd", 4,
            "did you mean TestDays.test_method? (it has: TestDays.test_method, test_choosy,",
        ),
        (BARE + TEST % "test_it", 5, "No module named 'hypothesis': install it"),
        (
            BARE + GOOD.replace(":gen", ":Part"), 3,
            "Hypothesis is not installed for target.python (",
        ),
    ],
)  # fmt: skip
def test_what_would_not(room, target, line, words, capsys):
    bare(room)
    file = write(room, target)
    assert main(["check", str(file)]) == 2
    said = capsys.readouterr()
    error = without_progress(said.err)
    assert error.startswith(f"fuzztui: {file}:{line}: ")
    assert words in error
    assert error.count("\n") == 1
    assert not said.out
    assert main(["check", str(file), "--no-run"]) == 0
    assert "its target" not in capsys.readouterr().err


def test_a_hypothesis_that_is_not_known(room):
    bare(room)
    (room / "hypothesis").mkdir()
    (room / "hypothesis/__init__.py").write_text('__version__ = "5.49"')
    file = write(room, BARE + GOOD.replace(":gen", ":Part"))
    with pytest.raises(
        Unfit, match=r"Hypothesis 5\.49 has an unsupported backend interface; install 6\."
    ) as caught:
        ready(load(file).campaign)
    assert caught.value.key == "target.python"


@pytest.mark.slow
def test_other_engines_have_their_own_ideas(room, capsys):
    file = write(room, TEST % "test_it", 'kind = "text"')
    assert main(["check", str(file)]) == 2
    assert f"{file}:4: target.function: a Hypothesis test makes" in without_progress(
        capsys.readouterr().err
    )


def test_an_override_is_where_it_comes_from(room, capsys):
    file = write(room, GOOD)
    assert main(["check", str(file), "--set", "target.function=app.core:prase"]) == 2
    said = without_progress(capsys.readouterr().err)
    assert said.startswith("fuzztui: --set target.function=app.core:prase: target.function = ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os._exit(4)", "importing the target exited with status 4"),
        ("import os; os._exit(0)", "importing the target exited with status 0"),
        ("import os; os.kill(os.getpid(), 11)", "importing the target was killed by SIGSEGV"),
        (
            "raise SystemExit('\\x1b[31m')",
            r"importing it raised SystemExit: \\e\[31m at .*bad.py:1",
        ),
        ("def", r"SyntaxError: invalid syntax .*bad\.py, line 1\) at .*/bad\.py:1$"),
        ("import os; [os.close(n) for n in (0, 1, 2)]\ndef f(x): pass", "is valid"),
        ('print(\'{"refused": "a lie"}\')\ndef f(x): pass', "is valid"),
    ],
)
def test_a_target_that_spoils_its_process(room, code, words, capsys):
    (room / "bad.py").write_text(code)
    main(["check", str(write(room, 'function = "bad:f"', 'kind = "zest"'))])
    said = capsys.readouterr().err.strip()
    assert re.search(words, said), said


@pytest.mark.slow
def test_a_target_that_hangs(room, monkeypatch):
    monkeypatch.setattr(ready_module, "LOAD_LIMIT_S", 4.0)
    (room / "bad.py").write_text("import time\ntime.sleep(1000)\n")
    told: list[str] = []
    with pytest.raises(Unfit, match='function = "bad:f": importing the target did not end'):
        ready(load(write(room, 'function = "bad:f"', 'kind = "zest"')).campaign, told.append)
    assert told == ["importing the target; the limit is 4 s"]


@pytest.mark.slow
def test_who_stops_waiting_blames_nobody(room, monkeypatch):
    def left(words: str) -> None:
        raise SupervisorError("whoever started the campaign left")

    monkeypatch.setattr(ready_module, "LOAD_LIMIT_S", 100.0)
    (room / "bad.py").write_text("import time\ntime.sleep(1000)\n")
    with pytest.raises(SupervisorError, match=r"left$") as caught:
        ready(load(write(room, 'function = "bad:f"', 'kind = "zest"')).campaign, left)
    assert not isinstance(caught.value, Unfit)


@pytest.mark.slow
def test_an_interpreter_that_is_none(room, monkeypatch):
    file = write(room, f'{GOOD}\npython = "./odd"')
    (room / "odd").write_text("#!/bin/sh\necho what? >&2\nexit 7\n")
    (room / "odd").chmod(0o755)
    with pytest.raises(Unfit, match=r'python = ".*/odd" does not answer .* status 7: what\?'):
        ready(load(file).campaign)
    (room / "odd").write_text("#!/bin/sh\n")
    with pytest.raises(Unfit, match=r"does not answer .*: it exited without an answer"):
        ready(load(file).campaign)
    (room / "odd").write_text("#!/bin/sh\nexec sleep 1000\n")
    monkeypatch.setattr(ready_module, "LOAD_LIMIT_S", 0.5)
    monkeypatch.setattr(ready_module, "_LEEWAY_S", 0.5)
    with pytest.raises(Unfit, match=r"does not answer .*: no answer within 1 s"):
        ready(load(file).campaign)


@pytest.mark.slow
def test_aliases_that_come_to_nothing(room, capsys):
    engine = """kind = "spoton"
[engine.aliases]
"app.core.Oder" = "gens.Part"
"app.core.Order" = "gens.Prat"
"datetime.datetime" = ["gens.Part", "gens.Never", "nowhere.X", "datetime.date"]
"""
    file = write(room, GOOD, engine)
    assert main(["check", str(file)]) == 0
    said = [
        re.sub(r"\b\d+ inputs", "N inputs", line) for line in lines(capsys.readouterr().err, room)
    ]
    at = str(file)
    assert said == [
        f'{at}:8: engine.aliases: "app.core.Oder": there is no such type; did you mean '
        "app.core.Order?",
        f'{at}:9: engine.aliases: "gens.Prat": there is no such type; did you mean gens.Part?',
        f'{at}:10: engine.aliases: "gens.Never": none of N inputs that the generator made has a'
        " part of this type (they have: datetime.date and gens.Part)",
        f'{at}:10: engine.aliases: "nowhere.X": there is no such type',
        f"instruments app in {room}/app (2 modules)",
        "types of its choices: datetime.date and gens.Part",
        f"{at} is valid, its target can be loaded, N inputs were made",
    ]


def test_aliases_of_what_no_branch_depends_on():
    aliases = {"lib.Body": "gens.A", "other.Order": "gens.B", "odd.Thing": "gens.C"}
    assert unknown_aliases(aliases, ["lib.Body", "app.Order"]) == {
        "other.Order": "no branch depends on such a type; did you mean app.Order?",
        "odd.Thing": "no branch depends on such a type",
    }
    assert unknown_aliases(aliases, []) == {}, "then nothing is known"


@pytest.mark.parametrize(
    ("version", "warned"), [((3, 11), False), ((3, 14), False), ((3, 15), True)]
)
def test_a_python_that_no_engine_was_tried_with_is_warned_about(version, warned):
    remark = untested(version)
    assert (remark is not None) == warned
    assert remark is None or (remark.key, remark.warns) == ("target.python", True)
