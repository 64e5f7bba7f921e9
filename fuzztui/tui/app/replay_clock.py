"""The controls of a replay around its clock. No widgets in here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuzztui.session import ReplayClock
from fuzztui.tui.frame.timeline import Mark, Position


@dataclass(frozen=True, slots=True)
class Outline:
    """What a replay tells of the whole campaign, wherever it is."""

    marks: Sequence[Mark] = ()
    """The finds."""
    kills: Sequence[float] = ()
    """Campaign times at which mutants were killed, in seconds."""
    ended: str = ""
    """The state that it came to; "" while that is not known."""


SLOWEST, FASTEST = 1 / 16, 65536.0


class Player:
    """Play, hold, speed and jumps; never beyond the campaign's ends."""

    def __init__(self, clock: ReplayClock, speed: float, playing: bool) -> None:
        self._clock = clock
        self.speed = speed
        self.playing = playing

    def now(self) -> float:
        """Campaign time of the clock, seconds."""
        return self._clock.now()

    def toggle(self) -> None:
        """Play, or hold."""
        self.playing = not self.playing
        if self.playing:
            self._clock.resume()
        else:
            self._clock.pause()

    def scale(self, factor: float) -> None:
        """Multiply the speed."""
        self.speed = min(FASTEST, max(SLOWEST, self.speed * factor))
        self._clock.set_speed(self.speed)

    def jump(self, t: float, end: float) -> float:
        """Go to ``t``, kept within the campaign; the time that it became."""
        t = min(max(0.0, t), end)
        self._clock.jump(t)
        return t

    def hold_at(self, end: float) -> None:
        """Past the campaign's end there is nothing to play."""
        if self.playing and end > 0 and self.now() >= end:
            self.toggle()
            self._clock.jump(end)

    def position(self, end: float) -> Position:
        """For the timeline."""
        return Position(min(self.now(), end), end, self.speed, self.playing)
