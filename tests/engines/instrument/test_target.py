"""Loading targets, running inputs, putting the process back as it was."""

import importlib
import os
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

import pytest

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.executor import Executor, Outcome
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.findings.triage import FailureTriage
from fuzztui.engines.inputs.inputs import GeneratedInput, InputForm
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application, scope_lines
from fuzztui.engines.instrument.target import Target, application_packages, load_target
from fuzztui.engines.loop.stages import list_seeds


@pytest.fixture(autouse=True)
def imports() -> Iterator[None]:
    """Give back what a test has changed in the import system, and its directory."""
    path, finders, modules = list(sys.path), list(sys.meta_path), set(sys.modules)
    here = Path.cwd()
    yield
    os.chdir(here)
    sys.path[:], sys.meta_path[:] = path, finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def load(tmp_path: Path, function: str, **keys: object) -> tuple[Target, Application]:
    spec = TargetSpec(function, path=(str(tmp_path),), **keys)  # type: ignore[arg-type]
    include = application_packages(spec)
    application = Application(include, spec.exclude, EdgeTable(), CoverageMap(), Guard(1.0))
    return load_target(spec, application), application


@pytest.mark.parametrize(
    ("signature", "text"),
    [("x: str", True), ("x: 'str'", True), ("x: bytes", False), ("x", False), ("x, y=1", False)],
)
def test_annotation_decides_text_or_bytes(tmp_path: Path, signature: str, text: bool) -> None:
    (tmp_path / "lt_app.py").write_text(f"def f({signature}): pass")
    target, _ = load(tmp_path, "lt_app:f")
    assert target.text is text
    spec = TargetSpec("lt_app:f", path=(str(tmp_path),), input="bytes" if text else "text")
    assert load_target(spec, None).text is not text


def test_default_function_and_package(tmp_path: Path) -> None:
    package = tmp_path / "lt_pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("def parse(d):\n    return d and 1\n")
    (package / "fuzzing.py").write_text("from .inner import parse as target")
    (package / "tests.py").write_text("def unused(): pass")
    _, application = load(tmp_path, "lt_pkg.fuzzing:target", exclude=("lt_pkg.fuzzing",))
    assert set(application.table.modules) == {"lt_pkg", "lt_pkg.inner"}


def test_harness_file_beside_its_helpers(tmp_path: Path) -> None:
    (tmp_path / "lt_helper.py").write_text("def parse(d):\n    return d and 1\n")
    harness = tmp_path / "somewhere" / "harness.py"
    harness.parent.mkdir()
    harness.write_text("import sibling, lt_helper\ndef target(d): return lt_helper.parse(d)")
    (harness.parent / "sibling.py").write_text("")
    target, application = load(tmp_path, str(harness) + ":target", include=("lt_helper",))
    assert target.function(b"x") == 1
    assert set(application.table.modules) == {"lt_helper"}


def test_harness_may_be_the_application(tmp_path: Path) -> None:
    (tmp_path / "lt_whole.py").write_text("def target(d):\n    return d and 1\n")
    _, application = load(tmp_path, f"{tmp_path}/lt_whole.py:target", include=("lt_whole",))
    assert set(application.table.modules) == {"lt_whole"}


def test_source_is_preferred_to_a_compiled_module(tmp_path: Path) -> None:
    import importlib.machinery

    (tmp_path / "lt_fast.py").write_text("def f(d):\n    return d and 'source'\n")
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    (tmp_path / f"lt_fast{suffix}").write_bytes(b"\x7fELF, which would not load")
    target, _ = load(tmp_path, "lt_fast:f")
    assert target.function(b"x") == "source"


def test_compiled_only_is_said(tmp_path: Path) -> None:
    # Which modules of the standard library are files, not parts of the interpreter, differs.
    names = ("_json", "_ctypes", "_decimal", "_asyncio", "_sqlite3")
    compiled = next(n for n in names if (spec := find_spec(n)) and spec.has_location)
    importlib.import_module(compiled)
    with pytest.raises(CannotStart, match=f"only compiled modules were found: {compiled}"):
        load(tmp_path, "json:loads", include=(compiled,))


def test_what_is_instrumented_in_words(tmp_path: Path) -> None:
    suffix = EXTENSION_SUFFIXES[0]
    for file in ("whole/__init__.py", "whole/deep/__init__.py", "whole/deep/more.py", "alone.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / file).write_text("")
    (tmp_path / "whole/__init__.py").write_text(
        "import whole.deep.more\ntry:\n    import whole.fast\nexcept ImportError:\n    pass\n"
        "def f(data): pass\n"
    )
    (tmp_path / f"whole/fast{suffix}").write_bytes(b"\x7fELF, which would not load")
    _, application = load(tmp_path, "whole:f", include=("whole", "alone", "whole.deep"))
    assert scope_lines(application) == [
        f"whole in {tmp_path}/whole (3 modules; not whole.fast: compiled)",
        f"alone in {tmp_path}/alone.py",
        f"whole.deep in {tmp_path}/whole/deep (2 modules)",
    ]


def test_expected_by_name_and_path(tmp_path: Path) -> None:
    (tmp_path / "lt_err.py").write_text(
        "class Outer:\n    class Bad(ValueError): pass\ndef f(d): pass"
    )
    target, _ = load(
        tmp_path, "lt_err:f", expected=("KeyError", "lt_err.Outer.Bad", "json:JSONDecodeError")
    )
    names = [e.__name__ for e in target.expected]
    assert names == ["KeyError", "Bad", "JSONDecodeError"]
    for bad in ("lt_err.Outer", "lt_err.None", "nowhere.X", "print", ""):
        with pytest.raises(CannotStart, match=r"target\.expected"):
            load(tmp_path, "lt_err:f", expected=(bad,))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("async def f(d): pass", "coroutine"),
        ("def f(): pass", "one argument"),
        ("f = 3", "no function 'f'"),
        ("def f(d) pass", "SyntaxError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import lt_missing", "lt_missing"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, code: str, words: str) -> None:
    (tmp_path / "lt_bad.py").write_text(code)
    with pytest.raises(CannotStart) as caught:
        load(tmp_path, "lt_bad:f")
    assert words in str(caught.value)
    assert 'target.function = "lt_bad:f"' in str(caught.value)


DECORATED = """
import functools
from unittest import mock
from fuzztui.generators import generator

def with_config(function):
    @functools.wraps(function)
    def wrapper(source):
        return function({}, source)
    return wrapper

@with_config
def plain(config, source): return source

@with_config
@generator
def inside(config, source): return source

@generator
@with_config
def outside(config, source): return source

@mock.patch("os.getcwd")
def patched(data, getcwd): return data

@generator
def none(): pass

@generator
def two(source, more): pass
"""


def test_what_counts_is_what_the_outermost_decorator_takes(tmp_path: Path) -> None:
    (tmp_path / "lt_decorated.py").write_text(DECORATED)
    for name in ("plain", "inside", "outside", "patched"):
        generator = f"lt_decorated:{name}"
        target, _ = load(tmp_path, f"lt_decorated:{name}", generator=generator)
        assert target.generator is not None
        assert target.generator(b"7") == b"7"  # type: ignore[arg-type]
    for name in ("none", "two"):
        with pytest.raises(CannotStart, match="one argument, the source of choices"):
            load(tmp_path, "lt_decorated:plain", generator=f"lt_decorated:{name}")


@pytest.mark.parametrize("offered", ["3", "None", "object()", "['parse', 4]", "{'parse'}"])
def test_whatever_a_module_says_that_it_offers(tmp_path: Path, offered: str) -> None:
    (tmp_path / "lt_offers.py").write_text(f"__all__ = {offered}\ndef parse(d): pass")
    with pytest.raises(CannotStart, match=r"no function 'prase'; did you mean parse\?"):
        load(tmp_path, "lt_offers:prase")


# ------------------------------------------------------------------------------ executor


def executor(function: object, folder: Path, **keys: object) -> Executor:
    made = Executor(
        function,  # type: ignore[arg-type]
        InputForm(),
        (ValueError,),
        coverage=CoverageMap(),
        guard=Guard(0.5),
        fixture=Fixture(folder),
    )
    for name, value in keys.items():
        setattr(made, name, value)
    return made


def test_outcomes(tmp_path: Path) -> None:
    def target(data: bytes) -> int:
        if data == b"v":
            raise UnicodeError("a ValueError")
        if data == b"k":
            raise KeyError
        if data == b"x":
            sys.exit(1)
        return 7

    run = executor(target, tmp_path).run
    assert (run(b"").outcome, run(b"").value) == (Outcome.SUCCESS, 7)
    invalid = run(b"v")
    assert invalid.outcome is Outcome.INVALID
    assert type(invalid.error) is UnicodeError
    assert invalid.error.__traceback__ is None  # it would keep the trial's frames alive
    assert run(b"k").outcome is Outcome.FAILURE
    assert isinstance(run(b"x").error, SystemExit)


def test_generator_that_gives_up_is_invalid(tmp_path: Path) -> None:
    def generate(r: Source) -> int:
        n = r.below(256)
        r.assume(n < 100)
        return n

    form = GeneratedInput(generate, 10, bytes)
    run = executor(lambda n: n, tmp_path, form=form).run
    assert run(b"\x05").value == 5
    assert run(b"\xff").outcome is Outcome.INVALID


@pytest.mark.slow
def test_what_fails_while_the_input_is_made_is_told_apart(tmp_path: Path) -> None:
    def generate(r: Source) -> int:
        return check(r.below(3))

    def check(n: int) -> int:
        while n > 1:
            pass
        return 1 // n

    made = executor(lambda n: check(n - 1), tmp_path)
    made.form = GeneratedInput(generate, 10, bytes)
    made.guard.arm()
    triage = FailureTriage(made, ())
    inner, outer, hang = made.run(b"\0"), made.run(b"\1"), made.run(b"\2")
    assert (inner.unmade, outer.unmade, hang.unmade) == (True, False, True)
    place = triage.classify(inner).place
    assert triage.classify(outer).place == place, "the same line"
    assert triage.classify(outer) != triage.classify(inner)
    titles = [triage.describe(run, (), (), flaky=False).title for run in (inner, outer, hang)]
    assert titles == [
        "ZeroDivisionError while the input was made: integer division or modulo by zero",
        "ZeroDivisionError: integer division or modulo by zero",
        "timeout while the input was made: longer than 0.5 s",
    ]
    made.guard.disarm()


def test_observers_see_each_run(tmp_path: Path) -> None:
    seen: list[object] = []

    class Spy:
        def clear(self) -> None:
            seen.append("clear")

        def finish(self, execution: object) -> None:
            seen.append(execution)

    result = executor(lambda d: d, tmp_path, observers=[Spy()]).run(b"x")
    assert seen == ["clear", result]


# --------------------------------------------------------------------------------- seeds


def test_seeds_are_listed_in_order(tmp_path: Path) -> None:
    for name in ("b/2", "b/10", "a", "c/d/e", "b/id:000003,gone"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    said: list[tuple[str, str]] = []
    files = list_seeds([str(tmp_path)], 100, lambda level, text: said.append((level, text)))
    assert [f.name for f in files] == ["a", "10", "2", "e"]
    assert files[0].read(100) == b"a"
    assert not said


def test_compiled_modules_are_loaded_from_their_source(tmp_path: Path) -> None:
    """As wheels that mypyc made have them: the package's own module is compiled too."""
    suffix = EXTENSION_SUFFIXES[0]
    package = tmp_path / "lt_mypyc"
    package.mkdir()
    (package / "__init__.py").write_text("from lt_mypyc.inner import parse\n")
    (package / "inner.py").write_text("def parse(d):\n    return d and 1\n")
    for name in ("__init__", "inner", "lonely"):
        (package / f"{name}{suffix}").write_bytes(b"not even an ELF file")
    target, application = load(tmp_path, "lt_mypyc:parse")
    assert target.function(b"x") == 1
    assert set(application.table.modules) == {"lt_mypyc", "lt_mypyc.inner"}
    with pytest.raises(ImportError):
        importlib.import_module("lt_mypyc.lonely")
    assert application.compiled_only == ["lt_mypyc.lonely"]


def test_what_was_compiled_is_executed_again(tmp_path: Path) -> None:
    (tmp_path / "lt_twice.py").write_text(
        "seen = []\ndef f(x): return seen.append(x) or len(seen)\n"
    )
    target, application = load(tmp_path, "lt_twice:f")
    sources: list[str] = []
    application.on_source = lambda name, tree: sources.append(name)
    application.fresh = lambda name: False
    again = load_target(TargetSpec("lt_twice:f", path=(str(tmp_path),)), application)
    assert (target.function(b""), target.function(b""), again.function(b"")) == (1, 2, 1)
    assert sources == []
    assert again.function.__code__ is target.function.__code__
