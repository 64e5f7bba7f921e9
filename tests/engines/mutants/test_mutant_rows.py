"""The mutants of a module are found once for each source; the cache changes none of them."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from mutant_lab import Subject

from fuzztui.engines.mutants import rows
from fuzztui.engines.mutants.mutant import PythonMutant
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS, OPERATORS, WATCHES

SOURCE = """
LIMIT = 4 * 2
def low(n, most=LIMIT - 1):
    return n < most
class Pair:
    size = 2 + 1
    def __init__(self, a):
        self.a = a
    def twice(self):
        inner = lambda n: n * 2 + self.a
        return inner(-self.a)
    def ready(self) -> bool:
        return self.a
double = lambda n: n + n
def text(n):
    return f"{n + 1}é" if n != 2 and not n is None else []
"""


def described(subject: Subject) -> list[dict[str, Any]]:
    """All that is known of each mutant, without objects of this program."""
    return [
        {f.name: getattr(m, f.name) for f in fields(PythonMutant) if f.name != "unit"}
        | {"unit": m.unit and (m.unit.name, m.unit.hash, m.unit.shells, m.unit.points)}
        for m in subject.program.mutants
    ]


def results(subject: Subject, mutant: PythonMutant) -> list[object]:
    """What calls return or raise under the mutant."""
    found: list[object] = []
    with subject.mutated(mutant):
        for n in (-1, 2, 7, 8):
            for call in (
                subject.low,
                subject.double,
                subject.text,
                lambda n: subject.Pair(n).twice(),
            ):
                try:
                    found.append(call(n))
                except Exception as e:
                    found.append(type(e))
    return found


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules whose mutants were looked for in their source."""
    names: list[str] = []
    find = rows.find_scopes

    def spy(tree: Any, operators: Any) -> Any:
        names.append("subject")
        return find(tree, operators)

    monkeypatch.setattr(rows, "find_scopes", spy)
    return names


def test_the_second_start_has_the_same_mutants_without_looking_for_them(
    tmp_path: Path, found: list[str]
) -> None:
    names = [o.name for o in OPERATORS]
    fresh, first = Subject(SOURCE, names), Subject(SOURCE, names, cache=tmp_path)
    assert len(found) == 2
    second = Subject(SOURCE, names, cache=tmp_path)
    assert len(found) == 2
    assert described(fresh) == described(first) == described(second)
    assert {"math", "negate", "returns"} < {m.operator for m in second.program.mutants}
    assert {m.watch for m in second.program.mutants} > {None, WATCHES["ordering"], WATCHES["+ -"]}
    for a, b in zip(fresh.program.mutants, second.program.mutants, strict=True):
        assert fresh.program.diff(a) == second.program.diff(b)
        if not a.static:
            assert results(fresh, a) == results(second, b)


def test_a_changed_source_and_other_operators_have_their_own_mutants(tmp_path: Path) -> None:
    before = Subject(SOURCE, cache=tmp_path)
    changed = SOURCE.replace("n < most", "n < most + 1")
    for _ in range(2):
        after = Subject(changed, cache=tmp_path)
        assert described(after) == described(Subject(changed))
        assert len(after.program.mutants) == len(before.program.mutants) + 1
    moved = Subject(f"\n{SOURCE}", cache=tmp_path)
    assert [m.line - 1 for m in moved.program.mutants] == [m.line for m in before.program.mutants]
    few = Subject(SOURCE, DEFAULT_OPERATORS[:1], cache=tmp_path)
    assert {m.operator for m in few.program.mutants} == {DEFAULT_OPERATORS[0]}


@pytest.mark.parametrize(
    "content", [b"", b"x" * 40, b"\0" * 4096], ids=["empty", "short", "zeroes"]
)
def test_a_damaged_file_of_mutants_is_made_again(
    tmp_path: Path, found: list[str], content: bytes
) -> None:
    fresh = described(Subject(SOURCE, cache=tmp_path))
    whole = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(whole) == 2, "the code, and the mutants"
    for file, was in whole.items():
        for damaged in (content, was[:-1], was[:40] + bytes([was[40] ^ 1]) + was[41:]):
            file.write_bytes(damaged)
            assert described(Subject(SOURCE, cache=tmp_path)) == fresh
            assert file.read_bytes() == was
    assert len(found) == 1 + 3


def test_without_a_cache_mutants_are_looked_for_each_time(tmp_path: Path, found: list[str]) -> None:
    (tmp_path / "file").write_text("no directory")
    for number in (1, 2):
        Subject(SOURCE, cache=tmp_path / "file")
        assert len(found) == number


def test_a_module_that_is_nested_too_deeply_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start may have more room on its stack."""

    def deep(*_: object) -> Any:
        raise RecursionError

    with monkeypatch.context() as patch:
        patch.setattr(rows, "find_scopes", deep)
        subject = Subject(SOURCE, cache=tmp_path)
        assert not subject.program.mutants
        assert "nested too deeply" in subject.program.warnings[0]
    assert described(Subject(SOURCE, cache=tmp_path)) == described(Subject(SOURCE))
