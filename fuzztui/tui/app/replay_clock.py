"""Play, pause and jump: the controls of a replay's clock. No widgets here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuzztui.session import ReplayClock
from fuzztui.tui.frame.timeline import Mark, Position


@dataclass(frozen=True, slots=True)
class Outline:
    """What a replay shows of the whole campaign at every moment."""

    marks: Sequence[Mark] = ()
    """The findings."""
    kills: Sequence[float] = ()
    """Campaign times at which mutants were killed, in seconds."""
    ended: str = ""
    """State in which the campaign ended; an empty string until known."""


SLOWEST, FASTEST = 1 / 16, 65536.0


class Player:
    """Controls the replay's clock; never leaves the campaign's time."""

    def __init__(self, clock: ReplayClock, speed: float, playing: bool) -> None:
        self._clock = clock
        self.speed = speed
        self.playing = playing

    def now(self) -> float:
        """Return the clock's campaign time in seconds."""
        return self._clock.now()

    def toggle(self) -> None:
        """Play or pause."""
        self.playing = not self.playing
        if self.playing:
            self._clock.resume()
        else:
            self._clock.pause()

    def scale(self, factor: float) -> None:
        """Multiply the speed by ``factor``."""
        self.speed = min(FASTEST, max(SLOWEST, self.speed * factor))
        self._clock.set_speed(self.speed)

    def jump(self, t: float, end: float) -> float:
        """Go to ``t``, clamped to the campaign's time. Returns the clamped time."""
        t = min(max(0.0, t), end)
        self._clock.jump(t)
        return t

    def hold_at(self, end: float) -> None:
        """Pause at the end of the campaign."""
        if self.playing and end > 0 and self.now() >= end:
            self.toggle()
            self._clock.jump(end)

    def position(self, end: float) -> Position:
        """Return the values for the timeline."""
        return Position(min(self.now(), end), end, self.speed, self.playing)
