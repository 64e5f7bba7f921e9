"""What a worker leaves to its successor about pairs that need not be run again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.mu2 import settled as module
from fuzztui.engines.mu2.settled import NEVER, Settled, bits_of

MUTANTS = [f"mutant {n}" for n in range(201)]


def loaded(directory: Path, mutants: list[str] = MUTANTS) -> Settled:
    settled = Settled(directory)
    settled.load(mutants)
    return settled


_CHANGES = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 9), st.sets(st.integers(0, 200))),
        st.tuples(st.integers(0, 9), st.none()),
        st.just("save"),
        st.just("successor"),
    ),
    max_size=60,
)


@given(_CHANGES)
def test_a_successor_knows_what_was_saved(
    tmp_path_factory: pytest.TempPathFactory, changes: list[object]
) -> None:
    directory = tmp_path_factory.mktemp("run")
    settled = loaded(directory)
    now: dict[int, int] = {}
    saved: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LINES_PLUS", 5)  # so that it is written again, too
        for change in changes:
            if change == "save":
                settled.save()
                saved = dict(now)
            elif change == "successor":
                settled, now = loaded(directory), dict(saved)
                for entry in now:
                    assert settled[entry] == NEVER  # not in the corpus yet
                    settled.begin(entry, 0)
            else:
                assert isinstance(change, tuple)
                entry, at = change
                now[entry] = settled[entry] = NEVER if at is None else bits_of(at)
            assert {e: settled[e] for e in now} == now
    last = loaded(directory)
    for entry in range(10):
        last.begin(entry, 0)
    assert {e: last[e] for e in range(10) if last[e]} == {e: b for e, b in saved.items() if b}


def again(directory: Path, entry: int, mutants: list[str] = MUTANTS) -> int:
    settled = loaded(directory, mutants)
    settled.begin(entry, 0)
    return settled[entry]


def test_other_mutants_another_parent_and_a_torn_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = loaded(tmp_path)
    settled.begin(1, 0b101)
    settled.begin(2, 0b1)
    settled.save()
    text = (tmp_path / ".settled").read_text()
    (tmp_path / ".settled").write_text(text[:-2])
    assert again(tmp_path, 1) == 0b101
    assert again(tmp_path, 2) == 0
    assert again(tmp_path, 1, [*MUTANTS, "c 3"]) == 0
    (tmp_path / ".settled").write_text(text)
    assert again(tmp_path, 2) == 1
    monkeypatch.setattr("os.getppid", lambda: 1)
    assert again(tmp_path, 1) == 0


def test_late_mutants_are_not_kept_since_their_places_may_change(tmp_path: Path) -> None:
    settled = loaded(tmp_path, MUTANTS[:3])
    settled.begin(1, 0b11101)
    settled.save()
    assert again(tmp_path, 1, MUTANTS[:3]) == 0b101


def test_what_was_asked_for_again_is_not_settled_for_the_next_worker(tmp_path: Path) -> None:
    settled = loaded(tmp_path)
    settled.begin(1, 0b111)
    settled.save()
    settled.reopen(0b10)
    assert settled[1] == 0b101
    assert again(tmp_path, 1) == 0  # it was not saved since
    settled.save()
    assert again(tmp_path, 1) == 0b101


def test_nothing_is_saved_where_nothing_can_be(tmp_path: Path) -> None:
    settled = loaded(tmp_path / "gone")
    settled.begin(1, 1)
    settled.save()
    assert settled[1] == 1
