"""Garbage collections that take long happen once."""

from __future__ import annotations

import gc

from fuzztui.tui.base.pauses import LONG_S, ShortPauses, short_pauses


def _collect(pauses: ShortPauses, now: list[float], generation: int, seconds: float) -> None:
    pauses("start", {"generation": generation})
    now[0] += seconds
    pauses("stop", {"generation": generation})


def test_survivors_are_exempted_after_a_long_full_collection_only() -> None:
    now, exempted = [0.0], list[float]()
    pauses = ShortPauses(lambda: exempted.append(now[0]), lambda: now[0])
    _collect(pauses, now, 2, LONG_S / 2)
    _collect(pauses, now, 1, LONG_S * 2)
    assert exempted == []
    _collect(pauses, now, 2, LONG_S * 2)
    assert len(exempted) == 1


def test_all_objects_are_collected_again_at_the_end() -> None:
    before = gc.get_threshold()
    with short_pauses():
        assert gc.get_threshold() != before
        gc.freeze()
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == before
    assert not any(isinstance(callback, ShortPauses) for callback in gc.callbacks)
