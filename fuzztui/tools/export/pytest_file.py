"""Write a pytest file: one test for each case, with the recorded outcome as oracle."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzztui.engines.export.literals import has_own_classes
from fuzztui.engines.findings import frozen
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.text import listed, several, visible
from fuzztui.tools.export.cases import TestCase
from fuzztui.tools.export.recorded import Recorded, Written, is_name

MARK: Final = "# Made by 'fuzztui export': exported again, this file is replaced."
"""The first line of each exported file."""
LIMIT_S: Final = 10
"""Seconds after which a test fails whose mutants may hang."""
_WIDTH: Final = 100
_IN_FILE_LINES: Final = 12
"""Lines of an argument up to which it is in the test; a longer one is in a data file."""
_EXPECTED_LINES: Final = 40
_DESCRIBED: Final[tuple[Callable[..., object], ...]] = (
    frozen.described, frozen.outline, frozen.held, frozen.items_of, frozen.computed, frozen.members,
    frozen.text_of, frozen.written, frozen.short, frozen.unseen, frozen.moment,
)  # fmt: skip
_DESCRIBED_MODULES: Final = (
    "contextlib", "datetime", "enum", "functools", "hashlib", "io", "itertools", "re", "sys",
    "types", "weakref",
)  # fmt: skip
_DESCRIBED_COLLECTIONS: Final = ("OrderedDict", "abc", "defaultdict", "deque")
_RESERVED: Final = {
    "same", "within", "made", "fixed_clock", "pytest", "DATA", "LIMIT_S", "data",
    *_DESCRIBED_COLLECTIONS, *(helper.__name__ for helper in _DESCRIBED),
}  # fmt: skip


class CannotExport(UserError):
    """There can be no test file for this target; the message says why."""


@dataclass(frozen=True, slots=True)
class TargetNames:
    """How a test calls the target."""

    function: str
    """``module:name`` or ``/path/harness.py:name``."""
    paths: tuple[str, ...] = ()
    """Directories that must be on ``sys.path`` to import the function."""
    generator: str = ""
    compare: str = ""
    """A function that compares two values; ``@``: the one given by a decorator of the target."""
    shows: str = ""
    """A function that is called with the value; its result is compared in place of the value."""
    expected: tuple[str, ...] = ()
    """Exceptions that are no failures: ``module.Class``."""
    clock: str = ""
    """The moment at which each test begins; empty: the real clock."""
    constants: bytes | None = None
    """The ``constants.json`` of the run; None: the generator draws no constants."""


@dataclass(slots=True)
class TestFile:
    """An exported file: its text, its data files by name, and its tests."""

    __test__ = False

    text: str
    data: dict[str, bytes]
    tests: dict[str, TestCase]
    """The cases by name of the test, also those of findings."""
    left_out: list[str] = field(default_factory=list)
    """Cases without a test, with the reason."""


class TestWriter:
    """Writes the pytest file at ``file``. Raises :class:`CannotExport`, as :meth:`write` does."""

    __test__ = False

    def __init__(self, file: Path, names: TargetNames) -> None:
        self._file, self._names = file, names
        self._modules: set[str] = set()
        self._from: dict[str, set[str]] = {}
        self._helpers: set[str] = set()
        self._data: dict[str, bytes] = {}
        self._call = self._imported(names.function)
        self._compare = ""
        self._shows = self._imported(names.shows) if names.shows else ""
        if names.compare == "@":
            self._compare = f"{self._call}.__fuzztui_compare__"
        elif names.compare:
            self._compare = self._imported(names.compare)

    def write(self, cases: Sequence[TestCase], about: Sequence[str]) -> TestFile:
        """Return the file with these cases; ``about``: lines of its docstring."""
        bodies: list[str] = []
        tests: dict[str, TestCase] = {}
        left_out: list[str] = []
        words = Counter(_word(case) for case in cases)
        numbers: Counter[str] = Counter()
        for case in cases:
            word = _word(case)
            numbers[word] += 1
            name = f"test_{word}" + (f"_{numbers[word]}" if words[word] > 1 else "")
            try:
                bodies.append(self._test(name, case))
            except CannotExport as e:
                left_out.append(f"{case.entry}: {e}")
            else:
                tests[name] = case
        text = "\n".join([MARK, *self._head(about), "\n\n" + "\n\n\n".join(bodies)]) + "\n"
        return TestFile(text, self._data, tests, left_out)

    # ------------------------------------------------------------------------- the head

    def _head(self, about: Sequence[str]) -> list[str]:
        helpers = self._helper_texts()
        about = [*map(_in_docstring, about)]
        lines = ['"""' + about[0], *(["", *about[1:]] if about[1:] else []), '"""', ""]
        modules = {m for m in self._modules if m}
        imports = [f"import {m}" for m in sorted(modules)]
        for module, found in sorted(self._from.items()):
            imports.append(f"from {module} import {', '.join(sorted(found))}")
        paths = self._paths()
        first = [line for line in imports if _is_standard(line)]
        rest = [line for line in imports if line not in first]
        lines += [*first, *([""] if first and rest else [])]
        late = ""
        if paths:
            tests = [line for line in rest if line == "import pytest"]
            lines += [*tests, "", *paths, ""]
            rest, late = [line for line in rest if line not in tests], "  # noqa: E402"
        lines += [line + late for line in rest]
        constants = []
        if "DATA" in self._helpers:
            constants.append(
                f"DATA = Path(__file__).with_name({_quoted(data_dir(self._file).name)})"
            )
        if "within" in self._helpers:
            constants.append(f"LIMIT_S = {LIMIT_S}")
        while lines and not lines[-1]:
            lines.pop()
        return [*lines, *([""] if constants else []), *constants, *helpers]

    def _paths(self) -> list[str]:
        here = self._file.absolute().parent
        relative = [os.path.relpath(path, here) for path in self._names.paths]
        if not relative:
            return []
        made = [f"str(Path(__file__).parent / {_quoted(path)})" for path in relative]
        return [f"sys.path[:0] = [{', '.join(made)}]"]

    def _helper_texts(self) -> list[str]:
        texts = []
        if self._names.paths:
            self._modules |= {"sys"}
            self._from.setdefault("pathlib", set()).add("Path")
        if "DATA" in self._helpers:
            self._from.setdefault("pathlib", set()).add("Path")
        if "within" in self._helpers:
            self._modules |= {"contextlib", "signal", "pytest"}
            texts.append(_WITHIN)
        if "same" in self._helpers:
            texts.append(_source(frozen.same))
        if "described" in self._helpers:
            self._modules |= set(_DESCRIBED_MODULES)
            self._from.setdefault("collections", set()).update(_DESCRIBED_COLLECTIONS)
            texts += [_source(helper) for helper in _DESCRIBED]
        return ["\n\n" + text.rstrip() for text in texts]

    def _imported(self, reference: str) -> str:
        """Import what a reference of the campaign names. Returns the expression for it."""
        module, _, name = reference.rpartition(":")
        if module.endswith(".py") or "/" in module:
            module = Path(module).stem
        if not is_name(module) or not is_name(name):
            raise CannotExport(f'"{visible(reference)}" cannot be imported by its name')
        first = name.partition(".")[0]
        if first in _RESERVED or first.startswith("test") or first in self._modules:
            self._modules.add(module)
            return f"{module}.{name}"
        self._from.setdefault(module, set()).add(first)
        return name

    # ------------------------------------------------------------------------- one test

    def _test(self, name: str, case: TestCase) -> str:
        recorded = case.recorded
        lines = [f'"""{_in_docstring(_docstring(case))}"""']
        argument, before = self._argument(name, recorded)
        lines += before
        call = f"{self._call}({argument})"
        call = f"{self._shows}({call})" if self._shows else call
        marks: list[str] = []
        if case.cause:
            body = self._finding(case, call, marks)
        elif recorded.outcome == "invalid" and recorded.error is not None:
            body = self._raises(case, call)
        elif recorded.outcome == "success":
            body = self._returns(name, case, call)
        else:
            raise CannotExport(f"its outcome is {recorded.outcome}")
        if case.hangs:
            self._helpers.add("within")
            body = ["with within(LIMIT_S):", *_indented(body)]
        lines += body
        if self._names.clock:
            self._from.setdefault("fuzztui.testing", set()).add("fixed_clock")
            marks.append(f"@fixed_clock({_quoted(self._names.clock)})")
        text = "\n".join([*marks, f"def {name}():", *_indented(lines)])
        return text

    def _argument(self, name: str, recorded: Recorded) -> tuple[str, list[str]]:
        """The argument's expression, and the lines before the call."""
        written = recorded.argument
        if written is None:
            if not (recorded.choices and self._names.generator):
                raise CannotExport("its argument cannot be written as an expression")
            return self._made(name, recorded.choices), []
        self._modules |= set(written.modules)
        if written.raw and (written.lines > _IN_FILE_LINES or _widest(written.text) > _WIDTH - 8):
            return self._from_data(name, written), []
        if written.lines > 1 or len(written.text) > _WIDTH - 30:
            return "data", [f"data = {written.text}"]
        return written.text, []

    def _from_data(self, name: str, written: Written) -> str:
        """Put bytes or a text into a data file, and return the expression that reads it."""
        value = ast.literal_eval(written.text)
        raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        file = f"{name.removeprefix('test_')}.input"
        self._helpers.add("DATA")
        self._data[file] = raw
        read = f"(DATA / {_quoted(file)}).read_bytes()"
        if isinstance(value, bytes):
            return read
        lone = raw.decode("utf-8", "replace") != value
        return read + ('.decode("utf-8", "surrogatepass")' if lone else ".decode()")

    def _made(self, name: str, choices: str) -> str:
        self._from.setdefault("fuzztui.testing", set()).add("made")
        generator = self._imported(self._names.generator)
        constants = ""
        if self._names.constants is not None:
            self._helpers.add("DATA")
            self._data["constants.json"] = self._names.constants
            constants = ', constants=DATA / "constants.json"'
        value = ast.literal_eval(choices)
        if len(choices) > _WIDTH:
            file = f"{name.removeprefix('test_')}.choices"
            self._helpers.add("DATA")
            self._data[file] = value
            choices = f"(DATA / {_quoted(file)}).read_bytes()"
        return f"made({generator}, {choices}{constants})"

    def _returns(self, name: str, case: TestCase, call: str) -> list[str]:
        recorded = case.recorded
        note = [f"# not compared: {visible(listed(case.unseen))}"] if case.unseen else []
        if not case.value or recorded.value is None:
            return [*note, call]
        expected = self._expected(name, recorded.value, text=recorded.described)
        if recorded.described:
            self._helpers.add("described")
            options = "" if recorded.properties else ", properties=False"
            options += f", without={recorded.without!r}" if recorded.without else ""
            return [*note, *_comparing(f"assert described({call}{options})", expected)]
        if self._compare:
            return _calling("assert " + self._compare, expected, call)
        if expected in ("None", "True", "False"):
            return [f"assert {call} is {expected}"]
        if has_own_classes(recorded.value.modules):
            self._helpers.add("described")
            return _comparing(f"assert described({call})", f"described({expected})")
        self._helpers.add("same")
        return _calling("assert same", call, expected)

    def _expected(self, name: str, written: Written, *, text: bool = False) -> str:
        if written.plain and (
            written.lines > _EXPECTED_LINES or _widest(written.text) > 2 * _WIDTH
        ):
            file = f"{name.removeprefix('test_')}.expected"
            self._helpers.add("DATA")
            read = f'(DATA / {_quoted(file)}).read_text("utf-8")'
            if text:
                self._data[file] = str(ast.literal_eval(written.text)).encode()
                return read
            self._modules.add("ast")
            self._data[file] = written.text.encode() + b"\n"
            return f"ast.literal_eval({read})"
        self._modules |= set(written.modules)
        return written.text

    def _raises(self, case: TestCase, call: str) -> list[str]:
        error = case.recorded.error
        assert error is not None
        self._modules.add("pytest")
        if error.name:
            cls = self._class(error.module, error.name)
            lines = [f"with pytest.raises({cls}) as caught:", f"    {call}"]
            lines.append(f"assert caught.type is {cls}")
        else:
            lines = ["with pytest.raises(BaseException) as caught:", f"    {call}"]
            where = 'f"{caught.type.__module__}.{caught.type.__qualname__}"'
            lines.append(f"assert {where} == {_quoted(error.qualified)}")
        if error.message and case.message:
            lines += _comparing("assert str(caught.value)", error.message)
        return lines

    def _class(self, module: str, name: str) -> str:
        if module:
            self._modules.add(module)
        return f"{module}.{name}" if module else name

    def _finding(self, case: TestCase, call: str, marks: list[str]) -> list[str]:
        """The body of a test that is marked as failing (xfail) until the finding is fixed."""
        self._modules.add("pytest")
        recorded, error = case.recorded, case.recorded.error
        arguments = ["strict=True"]
        if recorded.outcome in ("died", "hung", "timeout"):
            arguments = ["run=False"]  # it would end the tests, or take long
        elif recorded.outcome != "failure" or error is None:
            raise CannotExport(f"it does not fail when run alone: {recorded.outcome}")
        elif error.name:
            arguments.append(f"raises={self._class(error.module, error.name)}")
        arguments.append(f"reason={_quoted(visible(case.cause)[:200])}")
        mark = f"@pytest.mark.xfail({', '.join(arguments)})"
        if len(mark) > _WIDTH:
            mark = "@pytest.mark.xfail(\n" + "".join(f"    {a},\n" for a in arguments) + ")"
        marks.append(mark)
        expected = [e for e in self._names.expected if is_name(e)]
        if not expected:
            return [call]
        self._modules.add("contextlib")
        for one in expected:
            module = one.rpartition(".")[0]
            if module and module != "builtins":
                self._modules.add(module)
        classes = ", ".join(e.removeprefix("builtins.") for e in expected)
        return [f"with contextlib.suppress({classes}):", f"    {call}"]


def data_dir(file: Path) -> Path:
    """The directory of a test file's data."""
    return file.with_name(f"{file.stem}_data")


# ------------------------------------------------------------------------------- text


def _word(case: TestCase) -> str:
    return f"finding_{case.word}" if case.cause else case.word


def _docstring(case: TestCase) -> str:
    if case.cause:
        return f"A finding of the campaign ({case.entry})."
    parts = []
    if case.confirmed:
        names = [name.rpartition(".")[2] for name, _ in case.functions]
        names = [name for name in names if re.fullmatch(r"\w{1,30}", name)]
        where = f" ({', '.join(names[:2])}{', ...' if len(names) > 2 else ''})" if names else ""
        parts.append(f"Kills {several(len(case.confirmed), 'mutant')}{where}")
    if case.edges:
        covers = f"overs {several(case.edges, 'edge')}"
        parts.append(f"c{covers}" if parts else f"C{covers}")
    return "; ".join(parts) + f". {case.entry}"


def _in_docstring(text: str) -> str:
    """A line as a docstring may contain it: the names in it are not ours."""
    return visible(text).replace("\\", "\\\\").replace('"', "'")


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {part}" if part else "" for line in lines for part in line.split("\n")]


def _widest(text: str) -> int:
    return max(map(len, text.split("\n")))


def _calling(function: str, *arguments: str) -> list[str]:
    """A call in one line, or with an argument on each."""
    line = f"{function}({', '.join(arguments)})"
    if "\n" not in line and len(line) <= _WIDTH - 8:
        return [line]
    inner = "\n".join(f"    {part}" for a in arguments for part in f"{a},".split("\n"))
    return [f"{function}(\n{inner}\n)"]


def _comparing(left: str, right: str) -> list[str]:
    line = f"{left} == {right}"
    if "\n" in right or len(line) <= _WIDTH - 4:
        return [line]
    return [f"{left} == (\n    {right}\n)"]


def _quoted(text: str) -> str:
    """A text as a literal in double quotes if possible."""
    made = repr(text)
    return f'"{made[1:-1]}"' if made[0] == "'" and '"' not in text else made


def _is_standard(line: str) -> bool:
    import sys

    return line.split()[1].partition(".")[0] in sys.stdlib_module_names


def _source(function: Callable[..., object]) -> str:
    return inspect.getsource(function)


_WITHIN: Final = '''\
@contextlib.contextmanager
def within(seconds):
    """Fail after this time, where the system can: a mutant, or a later bug, may never end."""

    def stop(signum, frame):
        pytest.fail(f"did not end within {seconds} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)
'''
