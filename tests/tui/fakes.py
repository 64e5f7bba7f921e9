"""A campaign made up from records, a session over it, and a supervisor that obeys.

The records go through the real fold: what the screens show is what they would show.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from folding import state_of

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import Changes, CommandStatus, State
from fuzztui.kernel.model.undo import fold_before
from fuzztui.kernel.remote.protocol import APPLIED, REJECTED, TIMEOUT, CommandAnswer
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Command
from fuzztui.kernel.wire.events import Event, Record
from fuzztui.tui.app.app import FuzzApp, Opening
from fuzztui.tui.app.config import Config
from fuzztui.tui.app.replay import Outline, Player
from fuzztui.tui.base.themes import load_themes
from fuzztui.tui.base.user_state import ViewOptions
from fuzztui.tui.frame.command_sender import CommandSender
from fuzztui.tui.frame.ghost import Ghost

WALL = 1_800_000_000.0
CAPABILITIES = ["pause", "resume", "stop", "skip", "promote", "reset"]


class Log:
    """Records in memory, stamped as a supervisor would."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.t = 0.0

    def add(self, *events: Event, dt: float = 0.0) -> Log:
        self.t += dt
        for event in events:
            self.records.append(Record(len(self.records) + 1, self.t, event))
        return self

    @property
    def state(self) -> State:
        """What the records fold to; a new one each time."""
        return state_of(self.records)


class FakeClock:
    """A replay clock that moves only when told."""

    def __init__(self, t: float = 0.0, paused: bool = True) -> None:
        self.t, self.paused, self.speed = t, paused, 1.0

    def now(self) -> float:
        return self.t

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def set_speed(self, speed: float) -> None:
        self.speed = speed

    def jump(self, t: float) -> None:
        self.t = t


class FakeSession:
    """What :class:`fuzztui.kernel.session.Session` promises, over a :class:`Log`."""

    def __init__(self, log: Log, clock: FakeClock | None = None) -> None:
        self.log = log
        self.clock = clock
        self.mode = "live" if clock is None else "replay"
        self.state = State()
        self.behind = False
        self.is_long = False
        self.problems: list[str] = []
        self.error: Exception | None = None
        self.polls = 0

    @property
    def end_t(self) -> float:
        return self.log.t

    @property
    def end_seq(self) -> int:
        return len(self.log.records)

    @property
    def is_settled(self) -> bool:
        return self.mode == "replay" or self.state.caught_up >= 1

    def poll(self) -> Changes:
        self.polls += 1
        if self.error is not None:
            raise self.error
        new = self.log.records[self.state.seq :]
        if self.clock is not None:
            new = [r for r in new if r.t <= self.clock.now()]
        return apply(self.state, new)

    def seek(self, t: float) -> Changes:
        assert self.clock is not None
        self.state = State()
        apply(self.state, [r for r in self.log.records if r.t <= t])
        return Changes(campaign=True, reset=True)


class FakeReader:
    """What :class:`fuzztui.kernel.log.reader.LogReader` promises, over a :class:`Log`."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.last_seq = 0
        self.problems: list[str] = []

    def refresh(self) -> None:
        self.last_seq = len(self._log.records)

    def records(self, after_seq: int = 0, limit: int | None = None) -> Iterator[Record]:
        end = None if limit is None else after_seq + limit
        return iter(self._log.records[after_seq:end])


@dataclass
class Supervisor:
    """Obeys every command by writing to the log, unless told to refuse."""

    log: Log
    refuse: str = ""
    silent: bool = False
    commands: list[Command] = field(default_factory=list)

    def connect(self, _run: Path) -> Supervisor:
        return self

    def send(
        self, command: Command, timeout: float = 10.0, *, undoes: Sequence[str] = (), step: str = ""
    ) -> CommandAnswer:
        self.commands.append(command)
        number = f"c{len(self.commands)}"
        self.log.add(ev.CommandIssued(number, encode_command(command), "me@here", [*undoes], step))
        if self.silent:
            return CommandAnswer(TIMEOUT, "no answer yet")
        if self.refuse:
            self.log.add(ev.CommandRejected(number, "main", self.refuse))
            return CommandAnswer(REJECTED, self.refuse, "main")
        detail = "so many mutants" if hasattr(command, "select") else ""
        self.log.add(ev.CommandApplied(number, "main", 1234, detail))
        if command.name in ("pause", "resume"):
            state = "paused" if command.name == "pause" else "running"
            self.log.add(ev.CampaignState(state))
        return CommandAnswer(APPLIED, detail, "main", 1234)

    def close(self) -> None:
        pass


class Gone(Supervisor):
    """Takes no connection."""

    def connect(self, _run: Path) -> Supervisor:
        raise OSError("connection refused")


def started(name: str = "tomllib-zest", *, budget_s: float = 1800.0, engine: str = "zest") -> Log:
    """A campaign that has just begun: no figures yet."""
    return Log().add(
        ev.CampaignStarted(
            name, engine, "targets.toml_target:fuzz", 7, budget_s, 0, ["main"], WALL, "0.1"
        ),
        ev.SupervisorStarted(4711, WALL, "box"),
        ev.CampaignState("starting"),
    )


def running(
    seconds: int = 600, instances: Iterable[str] = ("main", "second"), seed: int = 3
) -> Log:
    """A campaign some way in: entries, two causes of crashes, a hang."""
    rng = random.Random(seed)
    log = started()
    ids = list(instances)
    for name in ids:
        log.add(
            ev.InstanceState(name, "running", 5000 + len(name)),
            ev.InstanceHello(name, "zest", "0.1", "3.11.2", 5000, CAPABILITIES),
        )
    log.add(ev.CampaignState("running"), dt=0.5)
    entries = dict.fromkeys(ids, 0)
    crashes = 0
    for second in range(1, seconds + 1):
        log.add(dt=1.0)
        grow = 30 / (second + 20)
        for name in ids:
            if rng.random() < grow:
                n = entries[name]
                entries[name] += 1
                _entry(log, name, n, second, rng)
        if second in (95, 96, 300, 480):
            crashes += 1
            _crash(log, ids[0], crashes, "KeyError: 'a.b'" if second != 300 else "", second)
        if second == 400:
            _hang(log, ids[0], second)
        if second % 2 == 0 or second == seconds:
            for name in ids:
                _stats(
                    log,
                    name,
                    second,
                    entries[name],
                    crashes=crashes if name == ids[0] else 0,
                    rng=rng,
                )
    return log


def _entry(log: Log, name: str, n: int, second: int, rng: random.Random) -> None:
    src = [rng.randrange(n)] if n > 2 else []
    log.add(
        ev.EntrySaved(
            name, n, f"queue/id:{n:06d},time:{second}", src, "havoc" if src else "",
            "", second * 1000, second * 2300, 20 + n, True,
        ),
        ev.EntryDescribed(
            name, n, ["edge", "valid-edge"][: 1 + n % 2], 200 + 3 * n, n % 4 == 0,
            "success" if n % 3 else "invalid",
        ),
    )  # fmt: skip


def _crash(log: Log, name: str, n: int, title: str, second: int) -> None:
    title = title or "RecursionError: maximum recursion depth exceeded"
    file = f"crashes/id:{n:06d},sig:00,time:{second}"
    detail = (
        "Traceback (most recent call last):\n"
        '  File "tomllib/_parser.py", line 212, in parse_value\n'
        "    return nested[key]\n"
        f"{title}"
    )
    log.add(
        ev.FindingSaved(name, "crash", file, n, [3], "havoc", 0, second * 1000, second * 2300, 31),
        ev.FindingDescribed(
            name, "crash", file, f"sig-{title[:4]}", title, "_parser.py:212 in parse_value",
            detail, "b'[a.b]\\nx = 1'",
        ),
    )  # fmt: skip


def _hang(log: Log, name: str, second: int) -> None:
    file = f"hangs/id:000001,time:{second}"
    log.add(
        ev.FindingSaved(name, "hang", file, 1, [5], "havoc", 0, second * 1000, 9, 77),
        ev.FindingDescribed(name, "hang", file, "hang-1", "no answer in 1 s", "_re.py:88 in match"),
    )


def _stats(
    log: Log, name: str, second: int, corpus: int, *, crashes: int, rng: random.Random
) -> None:
    edges = int(1100 * (1 - 2.0 ** (-second / 120)))
    execs = second * 2300
    log.add(
        ev.Stats(
            name, execs, 2300 + rng.uniform(-300, 300), corpus, corpus // 4, corpus // 2,
            crashes, 0, edges, 4096, int(edges * 0.7), int(execs * 0.62), int(execs * 0.38), 2,
            age=0.2,
        ),
        ev.Resources(name, 0.97, 48 << 20, 2),
    )  # fmt: skip


@dataclass
class World:
    """An application over a log, and everything around it that a test looks at."""

    log: Log
    session: FakeSession
    supervisor: Supervisor
    app: FuzzApp
    clock: FakeClock | None
    themes: list[str]
    """The names that were to be remembered."""


def outline(log: Log) -> Outline:
    """What a replay knows of the whole campaign."""
    whole = log.state
    return Outline.of(whole)


def past(log: Log, command: CommandStatus | None) -> State:
    """The campaign before a command, or now."""
    if command is not None:
        return fold_before(State(), iter(log.records), command)
    return log.state


def world(
    log: Log,
    run: Path,
    *,
    replay_at: float | None = None,
    alive: bool = True,
    unwritten: str = "",
    control: bool = True,
    theme: str = "midwatch",
    supervisor: Supervisor | None = None,
    silent: bool = False,
    refuse: str = "",
    config: Config | None = None,
    problems: Sequence[str] = (),
    ghost: Callable[[str], Ghost | None] = lambda _: None,
    tour: bool = False,
    read_only: str = "",
    choices: ViewOptions | None = None,
) -> World:
    """A whole application; its clock is the log's own."""
    clock = None if replay_at is None else FakeClock(replay_at)
    session = FakeSession(log, clock)
    supervisor = supervisor or Supervisor(log, refuse, silent)
    kept: list[str] = []
    themes, broken = load_themes([Path(__file__).parents[2] / "themes"])
    opening = Opening(
        session=lambda: session,  # type: ignore[arg-type, return-value]
        reader=lambda: FakeReader(log),  # type: ignore[arg-type, return-value]
        run=run,
        mode=session.mode,
        player=None if clock is None else Player(clock, 1.0, False),  # type: ignore[arg-type]
        outline=lambda: outline(log),
        ghost=ghost,
        running=lambda: 4711 if alive else None,
        unwritten=lambda: unwritten,
        steering=CommandSender(run, supervisor.connect, "me@here") if control else None,
        past=lambda command: past(log, command),
        come_back="fuzztui attach RUN",
        go_on="fuzztui RUN/campaign.toml",
        config=config or Config(),
        tour=tour,
        read_only=read_only,
        choices=choices or ViewOptions(),
        remember=kept.append,
        hz=2.0,  # tests nudge: a polling application is never idle, and a pilot waits for that
        monotonic=lambda: log.t,
    )
    app = FuzzApp(opening, themes, theme, [*broken, *problems])
    return World(log, session, supervisor, app, clock, kept)
