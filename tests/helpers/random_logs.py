"""Logs as no campaign of ours writes them: any event, any order, any number that there can be.

Every record has been through the wire, as if it had been read from a file. One seed gives one
log. Names come from small pools, so that records meet: an entry is described before it was
saved, a finding comes before the start, mutants before their census, an instance that never
introduced itself has figures, a campaign continues after its end.
"""

from __future__ import annotations

import json
import random
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from fuzztui.engines.text.table import ARMS
from fuzztui.kernel.base.bounds import LARGEST
from fuzztui.kernel.wire.codec import CodecError, decode_record, encode_command, encode_record
from fuzztui.kernel.wire.commands import COMMAND_NAMES
from fuzztui.kernel.wire.events import EVENT_KINDS, HOST_STATES, Event, Record, Unknown

EVIL = "[/x][bold red]\x1b[2J\x1b]0;pwn\x07\u202e\u200b\ud800\tend\n"
TEXTS = [
    "",
    "x",
    "main",
    "a b",
    "%s {0} $",
    EVIL,
    "漢字" * 9,
    "\u0301" * 5,
    "y" * 300,
    "\x00\x9b2J",
]
NAMES = ["main", "s1", "s2", "added", "handed", "oracle", "", EVIL, "n" * 200]
MUTANTS = ["m:f:math:0:*", "m:f:negate:1:", "m7", "", EVIL, "z" * 400]
HOSTS = ["h1", "h2", "h3", EVIL, "n" * 200]
TYPES = ["datetime.date", "int", "m.C", EVIL, "x" * 300, ""]
PLACES = ["a.py:1:then", "a.py:1:else", "a.py:7:loop", "b.py:999999999999:then", EVIL, "l" * 600]
WORDS = [
    "starting", "running", "paused", "stalled", "restarting", "stopping", "stopped", "finished",
    "failed", "waiting", "?", "",
]  # fmt: skip
COUNTS = [-1, 0, 1, 2, 3, 7, 100, 999, 1000, 99_999, 10**6, 10**12, 10**15, 2**53, LARGEST]
REALS = [-1.0, -0.5, -0.0, 0.0, 5e-324, 1e-9, 0.001, 0.5, 1.0, 3.7, 99.99, 1e3, 1e6, 1e12, 9.2e18]
STEPS = [0.0, 0.0, 0.0, 0.001, 0.5, 1.0, 7.0, 60.0, 3600.0, 1e5, 1e9]
POOLS: dict[str, list[Any]] = {
    "instance": NAMES,
    "slot": NAMES,
    "instances": NAMES,
    "sync": ["", "", "", "main", "s1", "handed", EVIL],
    "state": WORDS,
    "category": ["crash", "crash", "hang", "differs", "", EVIL],
    "file": ["crashes/a", "crashes/b", "hangs/c", "queue/id:0", f"crashes/{EVIL}", "", "../../x"],
    "signature": ["", "S1", "S2", "by signal 11", EVIL],
    "level": ["info", "warning", "error", "??"],
    "outcome": ["", "success", "invalid", "failure", "timeout", EVIL],
    "steer": ["", "skipped", "promoted", "demoted", "first", "last", EVIL],
    "reasons": ["seed", "edge", "valid-edge", "kill", "infection", "imported", EVIL],
    "engine": ["zest", "mu2", "afl", "text", "spoton", "", EVIL],
    "stage": [
        "mutants", "target", "queued", "building", "built", "pruning", "fuzzing", "collecting",
        "done", "failed", "dropped", "refused", "?",
    ],
    "capabilities": [*COMMAND_NAMES, EVIL],
    "oracle": ["value", "exception", "timeout", "died", EVIL],
    "op": ["havoc,rep:4", "swap-args+fragment", "splice", "orig:seed", "targeted:int", EVIL],
    "mutant": ["", "", "", *MUTANTS],
    "pinned": ["", *PLACES],
    "ignored": PLACES,
    "gone": PLACES,
    "phase": ["", "exact", EVIL],
    "host": ["", *HOSTS],
    "killer": ["main/0", "main/3", "s1/1", "nobody", EVIL],
}  # fmt: skip


class _Dice:
    """Draws the values of one log; ``wild`` is how often a number is one of the boundaries."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.wild = self.rng.choice([0.0, 0.05, 0.3, 0.9])
        self.evil = self.rng.choice([0.0, 0.1, 0.5])
        self.names = self.rng.sample(NAMES, self.rng.randint(1, 5))
        self.hosts: list[str] = []
        """The hosts whose logs this log has events of."""
        if self.rng.random() < 0.4:
            self.hosts = self.rng.sample(HOSTS, self.rng.randint(1, 3))
            self.names += [f"{self.rng.choice(self.hosts)}_{name}" for name in ("main", "s1")]

    def pick(self, values: list[Any]) -> Any:
        value = self.rng.choice(values)
        if isinstance(value, str) and EVIL in value and self.rng.random() > self.evil:
            return self.rng.choice(values)
        return value

    def count(self) -> int:
        if self.rng.random() < self.wild:
            return self.rng.choice(COUNTS)
        return self.rng.randint(0, 3) if self.rng.random() < 0.6 else self.rng.randint(0, 5000)

    def number(self) -> int:
        """An id, or the like."""
        if self.rng.random() < self.wild / 3:
            return self.rng.choice([-LARGEST - 1, -7, -1, 10**6, LARGEST])
        return self.rng.randint(0, 7)

    def real(self) -> float:
        if self.rng.random() < self.wild:
            return self.rng.choice(REALS)
        return self.rng.choice([self.rng.random(), self.rng.uniform(0, 3000)])

    def text(self) -> str:
        return str(self.pick(TEXTS))

    def anything(self, levels: int = 2) -> Any:
        kind = self.rng.randrange(9 if levels else 6)
        if kind < 2:
            return self.count()
        if kind < 6:
            return [self.text(), self.real(), None, self.rng.random() < 0.5][kind - 2]
        if kind < 8:
            return [self.anything(levels - 1) for _ in range(self.rng.randint(0, 3))]
        return {self.text(): self.anything(levels - 1) for _ in range(self.rng.randint(0, 3))}

    def odd(self, value: Any) -> Any:
        """What an object should hold, or, now and then, anything."""
        return self.anything() if self.rng.random() < self.wild / 4 else value

    def some(self, draw: Any, most: int = 4) -> list[Any]:
        return [draw() for _ in range(self.rng.randint(0, most))]

    def table(self, keys: list[Any], draw: Any) -> dict[str, Any]:
        chosen = self.rng.sample(keys, self.rng.randint(0, len(keys)))
        return {str(key): self.odd(draw()) for key in chosen}

    def event(self, cls: type[Event]) -> Event:
        if cls is Unknown:
            return Unknown(self.pick(["later_kind", EVIL]), {"n": self.anything(), "x": 1})
        drawn = {}
        for f in fields(cls):
            optional = f.default is not MISSING or f.default_factory is not MISSING
            if optional and self.rng.random() < 0.2:
                continue
            drawn[f.name] = self.field(cls, f.name, str(f.type))
        return cls(**drawn)

    def field(self, cls: type[Any], name: str, annotation: str) -> Any:
        if (own := getattr(self, f"_{getattr(cls, 'kind', '')}_{name}", None)) is not None:
            return own()
        if name in ("instance", "slot"):
            return self.pick(self.names)
        pool = POOLS.get(name)
        if annotation.startswith("list["):
            element = annotation[5:-1]
            return self.some(lambda: self.scalar(element, pool))
        return self.scalar(annotation, pool)

    def scalar(self, annotation: str, pool: list[Any] | None) -> Any:
        match annotation:
            case "int":
                return self.number()
            case "Count":
                return self.count()
            case "float":
                return self.real()
            case "bool":
                return self.rng.random() < 0.5
            case "str":
                return self.pick(pool) if pool else self.text()
        return self.anything() if annotation == "" else self.table(TEXTS[:6], self.anything)

    # ------------------------------------------------- fields with a shape of their own

    def _mutants_found_mutants(self) -> list[Any]:
        return self.some(
            lambda: {
                key: value
                for key, value in {
                    "id": self.odd(self.pick(MUTANTS)),
                    "line": self.odd(self.count()),
                    "function": self.odd(self.pick(["f", "C.g", EVIL])),
                    "operator": self.odd(self.pick(["math", "negate", EVIL])),
                    "before": self.odd(self.text()),
                    "after": self.odd(self.text()),
                    "static": self.odd(self.rng.random() < 0.3),
                    "place": self.odd(self.real()),
                }.items()
                if self.rng.random() < 0.9
            },
            6,
        )

    def record(self, seq: int, t: float, event: Event) -> Record:
        """Of a log with hosts most events come from one of them."""
        if not self.hosts or self.rng.random() < 0.3:
            return Record(seq, t, event)
        return Record(
            seq, t, event, self.rng.choice(self.hosts), self.rng.randint(1, 99), self.rng.random()
        )

    def _host_state_state(self) -> str:
        return str(self.pick([*HOST_STATES, *HOST_STATES, "?", ""]))

    def _host_state_host(self) -> str:
        return str(self.pick(self.hosts or HOSTS))

    def _mutant_state_id(self) -> str:
        return str(self.pick(MUTANTS))

    _mutant_stage_id = _mutant_state_id

    def _mutant_state_state(self) -> str:
        words = ["pending", "alive", "killed", "killed", "skipped", "equivalent", "invalid", "?"]
        return str(self.pick(words))

    def _mutant_runs_runs(self) -> dict[str, Any]:
        return self.table(MUTANTS, lambda: [self.count(), self.count(), self.count()])

    def _mutant_places_places(self) -> dict[str, Any]:
        return self.table(MUTANTS, self.real)

    def _stage_started_stage(self) -> str:
        return str(self.pick(["mutants", "mutants", "target", "?"]))

    def _stage_started_plan(self) -> dict[str, Any]:
        keys = ["mutants_s", "mutants_trials", "each_s", "each_trials", "count", "made", "blank"]
        return self.table([*keys, "abreast"], lambda: self.pick([self.count(), self.real()]))

    def _mutant_stage_costs(self) -> dict[str, Any]:
        return self.table(["build", "prune", "start", "handover", EVIL], self.real)

    def _mutant_stage_brought(self) -> dict[str, Any]:
        keys = ["kept", "aside", "entries", "edges", "crashes", "hangs", "kills"]
        return self.table(keys, self.count)

    def _entries_seeded_origins(self) -> dict[str, Any]:
        return self.table([*range(-1, 6)], lambda: self.pick(["m7/1", "main/0", "seed:x", EVIL]))

    def _synced_peers(self) -> dict[str, Any]:
        return self.table(NAMES, self.count)

    def _operator_figures_names(self) -> list[Any]:
        if self.rng.random() < 0.5:
            return list(ARMS)
        return self.some(lambda: self.pick([*ARMS, EVIL, "", "havoc"]), 9)

    def _figures(self) -> list[int]:
        return [self.count() for _ in range(self.rng.choice([0, 3, len(ARMS), len(ARMS)]))]

    _operator_figures_tried = _operator_figures_applied = _figures
    _operator_figures_found = _operator_figures_crashes = _operator_figures_weights = _figures

    def _type_figures_names(self) -> list[Any]:
        return self.rng.sample(TYPES, self.rng.randint(0, len(TYPES)))

    def _targets_left_left(self) -> dict[str, Any]:
        return self.table(
            PLACES,
            lambda: {
                "frontier": self.odd(self.rng.random() < 0.5),
                "reached": self.odd(self.count()),
                "types": self.odd(self.some(lambda: [self.pick(TYPES), self.odd(self.count())])),
            },
        )

    def _id(self) -> str:
        return str(self.pick(["c1", "c2", "c3", EVIL]))

    _command_issued_id = _command_applied_id = _command_progress_id = _command_rejected_id = _id

    def _command_issued_command(self) -> dict[str, Any]:
        cls = self.rng.choice(list(COMMAND_NAMES.values()))
        command = cls(**{f.name: self.field(cls, f.name, str(f.type)) for f in fields(cls)})
        try:
            data = encode_command(command)
        except CodecError:
            data = {"c": cls.name}
        return {key: self.odd(value) for key, value in data.items()}


_OFTEN = [
    "stats", "entry_saved", "entry_described", "finding_saved", "finding_described",
    "mutants_found", "mutant_state", "mutant_stage", "operator_figures", "type_figures",
    "targets_left", "instance_state", "instance_hello", "command_issued", "command_applied",
]  # fmt: skip


def random_log(seed: int, most: int = 90) -> list[Record]:
    """The records of log number ``seed``, at most ``most``, numbered from 1."""
    dice = _Dice(seed)
    rng = dice.rng
    kinds = [*EVENT_KINDS, *_OFTEN, "?"]
    wanted: list[str] = []
    if rng.random() < 0.7:
        wanted = ["campaign_started", "supervisor_started", "campaign_state"]
    if dice.hosts:
        wanted += ["host_state"] * rng.randint(1, 4)
    if rng.random() < 0.4:
        wanted += ["instance_state", "instance_hello", "stage_started", "stats"]
    focus = rng.sample(kinds, rng.randint(1, 8)) if rng.random() < 0.3 else kinds
    wanted += rng.choices(focus, k=rng.randint(0, most - len(wanted)))
    records: list[Record] = []
    seq, t = 0, 0.0
    for kind in wanted:
        event = dice.event(EVENT_KINDS.get(kind, Unknown))
        seq += 1 if rng.random() > 0.01 else rng.randint(1, 50)  # a record that was damaged
        t = min(round(t + rng.choice(STEPS) * rng.random(), 4), 9e11)
        records.append(decode_record(encode_record(dice.record(seq, t, event))))
    return records


def write_log(file: Path, records: list[Record], junk: int = 0) -> None:
    """The log as a file that every command opens, with ``junk`` lines that are refused."""
    lines = [encode_record(record) for record in records]
    bad = [
        json.dumps({"s": 1, "t": 0, "k": "entry_saved", "instance": "main", "id": 10**400}),
        '{"s":2,"t":1e999,"k":"x"}',
        "\x1b[31mnothing",
    ]
    lines += [bad[n % len(bad)] for n in range(junk)]
    file.write_bytes("".join(f"{line}\n" for line in lines).encode())
