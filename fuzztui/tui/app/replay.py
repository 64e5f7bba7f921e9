"""Controls of a replay: play, pause, jump; the actions ``do_replay_*`` are mixed into the app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.story import Moment, story
from fuzztui.kernel.session import ReplayClock
from fuzztui.tui.frame.controls import CampaignControls
from fuzztui.tui.frame.marks import ANY
from fuzztui.tui.frame.timeline import NEAR_S, Course, Position, Timeline


@dataclass(frozen=True, slots=True)
class Outline:
    """Data about the whole campaign that a replay shows at every moment."""

    course: Course = field(default_factory=Course)
    story: Sequence[Moment] = ()
    ended: str = ""
    """State in which the campaign ended; an empty string until known."""

    @classmethod
    def of(cls, state: State) -> Outline:
        """The outline of a campaign by its state at the end."""
        return cls(Course.of(state), story(state), state.state)


SLOWEST, FASTEST = 1 / 16, 65536.0


class Player:
    """Controls the replay's clock; never leaves the campaign's time."""

    def __init__(self, clock: ReplayClock, speed: float, playing: bool) -> None:
        self._clock = clock
        self.speed = speed
        self.playing = playing
        self.kind = ANY
        """The kind of marks to which keys jump."""
        self.gain_t = -1.0
        """Campaign time of the gain to which a key has jumped last; -1: none."""

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
        """Pause if the clock has reached the end of the campaign."""
        if self.playing and end > 0 and self.now() >= end:
            self.toggle()
            self._clock.jump(end)

    def position(self, end: float) -> Position:
        """Return the values for the timeline."""
        return Position(min(self.now(), end), end, self.speed, self.playing, self.kind)


class ReplayControls(CampaignControls):
    """The replay actions of the app. They do nothing if ``player`` is None (a live campaign)."""

    player: Player | None

    def on_timeline_seek_requested(self, event: Timeline.SeekRequested) -> None:
        """Seek to the clicked time."""
        self.seek(event.t)

    def do_replay_play(self) -> None:
        """Play or pause; at the end, play from the start."""
        if self.player is not None:
            if not self.player.playing and self.player.now() >= self.end_t:
                self.seek(0.0)
            self.player.toggle()
            self.tick()

    def do_replay_step(self, by: float) -> None:
        """Move by a part of the campaign."""
        self.seek(self.now() + by * self.end_t)

    def do_replay_scale(self, factor: float) -> None:
        """Multiply the speed by ``factor``."""
        if self.player is not None:
            self.player.scale(factor)
            self.tick()

    def do_replay_kind(self) -> None:
        """Choose the next kind of marks to jump to, of those that the campaign has."""
        if self.player is not None:
            kinds = self.marks.kinds()
            at = kinds.index(self.player.kind) if self.player.kind in kinds else -1
            self.player.kind = kinds[(at + 1) % len(kinds)]
            self.tick()

    def do_replay_next(self) -> None:
        """Go to the next mark of the chosen kind."""
        if self.player is not None:
            self._to_mark(self.marks.after(self.player.kind, self.now() + NEAR_S), "after")

    def do_replay_previous(self) -> None:
        """Go to the previous mark of the chosen kind."""
        if self.player is not None:
            self._to_mark(self.marks.before(self.player.kind, self.now() - NEAR_S), "before")

    def do_replay_gain(self, by: int) -> None:
        """Pause at the largest gain; from there, at the one that is ``by`` ranks smaller."""
        if self.player is None:
            return
        if self.player.playing:
            self.player.toggle()
        timeline = self.screen_stack[0].query_one(Timeline)
        before = self.player.gain_t
        from_there = abs(self.now() - before) < NEAR_S
        if (t := timeline.gain_by_rank(before if from_there else None, by)) is not None:
            self.player.gain_t = t
            self.seek(t)
        else:
            self.say(f"No {'smaller' if by > 0 else 'larger'} gain of edges and kills.")

    def _to_mark(self, t: float | None, where: str) -> None:
        if t is not None:
            self.seek(t)
        elif self.player is not None:
            what = "mark" if self.player.kind == ANY else self.player.kind
            self.say(f"No {what} {where} this moment.")
