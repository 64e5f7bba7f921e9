"""Instrumented code is kept between starts; what is wrong with the cache changes nothing."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzztui.engines.instrument import cache as caching
from fuzztui.engines.instrument.cache import SourceCache
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application

SOURCE = b"""
def f(x):
    if x == "magic":
        return [n for n in range(x.count("a")) if n]
    return lambda: x
"""
DEEP = b"def f(x):\n    return " + b"-" * 250 + b"x\n"


def application(folder: Path | None, mode: str = "edges") -> Application:
    made = Application([], [], EdgeTable(), CoverageMap(mode), Guard(1.0))  # type: ignore[arg-type]
    made.cache = SourceCache(folder)
    return made


def compiled(made: Application, source: bytes = SOURCE, name: str = "m") -> tuple[object, ...]:
    """All that a start learns of a module, and what a call of its function covers."""
    constants: list[object] = []
    made.on_constants = lambda name, rows: constants.extend(rows)
    namespace: dict[str, object] = {}
    exec(made.compile(name, f"{name}.py", source), namespace)
    made.coverage.clear()
    result = namespace["f"]("magic")  # type: ignore[operator]
    module = made.table.modules[name]
    return constants, module.edges, made.loaded[-1].spans, result, made.coverage.collect()


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """No source can be parsed."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(ast, "parse", refuse)


@pytest.mark.parametrize("mode", ["edges", "counts"])
def test_the_second_start_parses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    fresh = compiled(application(None, mode))
    assert compiled(application(tmp_path, mode)) == fresh
    forbid(monkeypatch)
    assert compiled(application(tmp_path, mode)) == fresh
    other = application(tmp_path, "edges" if mode == "counts" else "counts")
    with pytest.raises(AssertionError, match="parsed again"):  # its probes count otherwise
        compiled(other)


def test_the_cells_follow_the_order_of_modules(tmp_path: Path) -> None:
    compiled(application(tmp_path))
    later = application(tmp_path)
    compiled(later, b"def f(x):\n    return x\n", "first")
    *_, covered = compiled(later)
    base = later.table.modules["m"].base
    assert base > 0
    assert {n // 8 for n in range(covered.bit_length()) if covered >> n & 1} >= {base}


def test_another_source_is_another_module(tmp_path: Path) -> None:
    compiled(application(tmp_path))
    *_, result, _ = compiled(application(tmp_path), SOURCE + b"# more")
    assert result == []
    *_, result, _ = compiled(application(tmp_path), SOURCE.replace(b'"a"', b'"magic"'))
    assert result == []
    *_, result, _ = compiled(application(tmp_path), SOURCE.replace(b"if n]", b"if not n]"))
    assert result == [0]


@pytest.mark.parametrize(
    "content", [b"", b"x" * 40, b"\0" * 4096], ids=["empty", "short", "zeroes"]
)
def test_a_damaged_file_is_made_again(tmp_path: Path, content: bytes) -> None:
    fresh = compiled(application(tmp_path))
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for damaged in (content, whole[:-1], whole[:40] + b"\xff" + whole[41:]):
        file.write_bytes(damaged)
        assert compiled(application(tmp_path)) == fresh
        assert file.read_bytes() == whole


def test_a_file_of_another_user_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(application(tmp_path))
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="parsed again"):
        compiled(application(tmp_path))


def test_without_a_directory_that_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        assert compiled(application(folder)) == compiled(application(None))


def test_too_much_loses_its_oldest_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "MAX_BYTES", 1000)
    for age in range(4):
        (tmp_path / f"old{age}").write_bytes(b"x" * 400)
        os.utime(tmp_path / f"old{age}", (1e9 - age, 1e9 - age))
    compiled(application(tmp_path))
    assert {file.name for file in tmp_path.iterdir() if file.name.startswith("old")} == {
        "old0",
        "old1",
    }


def test_a_source_that_is_changed_before_it_is_compiled_is_not_taken(tmp_path: Path) -> None:
    compiled(application(tmp_path))
    changed = application(tmp_path)

    def change(name: str, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value == "magic":
                node.value = "other"

    changed.on_source = change
    *_, result, _ = compiled(changed)
    assert callable(result)
    *_, result, _ = compiled(application(tmp_path))
    assert result == []


def test_a_module_that_was_nested_too_deeply_is_not_kept_plain(tmp_path: Path) -> None:
    for _ in range(2):
        made = application(tmp_path)
        old = sys.getrecursionlimit()
        sys.setrecursionlimit(400)
        try:
            made.compile("m", "m.py", DEEP)
        finally:
            sys.setrecursionlimit(old)
        assert made.plain == ["m"]
    later = application(tmp_path)  # with more room on the stack
    later.compile("m", "m.py", DEEP)
    assert later.plain == [] and later.table.modules["m"].edges


OF_FLAGS = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_source_cache import application
names = {{}}
source = b"def f():\\n    assert 0\\n    return 1\\n"
exec(application(Path(sys.argv[1])).compile("m", "m.py", source), names)
try:
    print(names["f"]())
except AssertionError:
    print("asserts")
"""


@pytest.mark.slow
def test_python_with_other_flags_has_other_code(tmp_path: Path) -> None:
    """``-O`` leaves out assertions, which are findings without it."""

    def said(*flags: str) -> str:
        argv = [sys.executable, *flags, "-c", OF_FLAGS, str(tmp_path)]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()

    assert [said(), said("-O"), said(), said("-O")] == ["asserts", "1", "asserts", "1"]
