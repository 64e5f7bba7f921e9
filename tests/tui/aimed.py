"""A made-up campaign of a spoton engine: types that pay and others, targets left, steered twice."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from fakes import CAPABILITIES, Log, _stats, started

from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import PinGoal, WeighType

STEERING = ["weigh-type", "pin-target", "ignore-target", "targeted", "demote"]

TYPES = {
    "datetime.datetime": (2, 1.0, 1.0), "pathlib.Path": (0, 1.0, 2.4),
    "thumbs.model.Thumbnail": (1, 4.0, 1.0), "os.stat_result": (4, 1.0, 8.0),
    "PIL.Image.Image": (5, 0.0, 1.0), "decimal.Decimal": (3, 0.5, 1.8),
    "email.headerregistry.UniqueDateHeader": (7, 1.0, 1.0), "uuid.UUID": (-1, 1.0, 1.0),
    "collections.OrderedDict": (6, 1.0, 1.3),
}  # fmt: skip
"""By name: distance, a user's weight, factor."""

PINNED = "thumbs/app.py:41:else"

LEFT = {
    "thumbs/app.py:18:then": (True, 31, ["pathlib.Path", "datetime.datetime", "os.stat_result"]),
    PINNED: (True, 3, ["datetime.datetime", "decimal.Decimal"]),
    "thumbs/app.py:57:except": (True, 0, []),
    "thumbs/model.py:9:loop": (True, 12, ["thumbs.model.Thumbnail"]),
    "thumbs/model.py:30:4:and": (False, 0, ["thumbs.model.Thumbnail", "PIL.Image.Image"]),
    "thumbs/store/headers/parsing.py:112:no-case": (
        True, 25, ["email.headerregistry.UniqueDateHeader", "collections.OrderedDict"]),
}  # fmt: skip
"""By location: on the frontier, reached how often of 250, types the nearest first."""


def figures(
    instance: str, second: int, *, pinned: str = "", ignored: Iterable[str] = (), seed: int = 1
) -> ev.TargetingStats:
    """Figures that grow with time, the same each time."""
    rng = random.Random(seed)
    decides = LEFT[pinned][2] if pinned else TYPES.keys() - {"uuid.UUID"}
    rows = {name: (d if name in decides else -1, w, f) for name, (d, w, f) in TYPES.items()}
    usual = [w / ((1 + d) * f) if d >= 0 else 0.0 for d, w, f in TYPES.values()]
    chances = [w / ((1 + d) * f) if d >= 0 else 0.0 for d, w, f in rows.values()]
    picks = [int(second * 20 * c * rng.uniform(0.9, 1.1)) for c in usual]
    misses = [int(n * (1 - 1 / f)) for n, (_, _, f) in zip(picks, TYPES.values(), strict=True)]
    order = sorted(range(len(TYPES)), key=lambda i: -chances[i])
    targets = 240

    def by(values: Iterable[float]) -> list:
        values = list(values)
        return [values[i] for i in order]

    left = max(29, targets - second)
    return ev.TargetingStats(
        instance, 0.5, pinned, targets, left, max(9, left // 6), by(list(TYPES)),
        by(d for d, *_ in rows.values()), by(w for _, w, _ in TYPES.values()),
        by(f for *_, f in TYPES.values()),
        by(int(1e6 * c / sum(chances)) for c in chances), by(picks),
        by(n - m for n, m in zip(picks, misses, strict=True)), by(misses),
        by(n // 400 for n in picks), list(ignored),
    )  # fmt: skip


def left(instance: str, second: int, *, more: int = 23) -> ev.GoalsUncovered:
    """All that is left, from then on, and ``more`` of a module that nothing reaches."""
    rows = {
        where: {
            "frontier": frontier, "reached": reached,
            "types": [[name, n] for n, name in enumerate(types)],
        }
        for where, (frontier, reached, types) in LEFT.items()
    }  # fmt: skip
    rows |= {
        f"thumbs/export.py:{10 + 3 * n}:{'then' if n % 2 else 'else'}": {
            "frontier": n % 8 == 3,
            "reached": 0,
            "types": [["pathlib.Path", n % 5 + 1], ["collections.OrderedDict", n % 4 + 4]]
            if n % 6
            else [],
        }
        for n in range(more)
    }
    return ev.GoalsUncovered(instance, 250, rows, [], anew=True)


def aimed(
    seconds: int = 600,
    instances: Iterable[str] = ("main",),
    *,
    able: bool = True,
    pin: bool = False,
    libraries: bool = True,
    name: str = "thumbs-spoton",
) -> Log:
    """Some way into a campaign of an engine that aims."""
    rng = random.Random(5)
    log = started(name, engine="spoton")
    ids = list(instances)
    for id in ids:
        log.add(
            ev.InstanceState(id, "running", 5001),
            ev.InstanceHello(
                id, "spoton", "0.1", "3.12.1", 5001, CAPABILITIES + (STEERING if able else []),
                {} if able else {"weigh-type": "targets.json could not be made"},
            ),
        )  # fmt: skip
    log.add(ev.CampaignState("running"), dt=0.5)
    ops = ["typed:datetime.datetime", "havoc", "typed:pathlib.Path", "typed:thumbs.model.Thumbnail"]
    entries, pinned = 0, ""
    for second in range(1, seconds + 1):
        log.add(dt=1.0)
        if second == seconds // 2:
            weigh = WeighType("thumbs.model.Thumbnail", 4.0)
            for n, command in enumerate([weigh, PinGoal(PINNED)] if pin else [weigh]):
                log.add(ev.CommandIssued(f"c{8 + n}", encode_command(command), "ann@box"))
                for id in ids:
                    log.add(ev.CommandApplied(f"c{8 + n}", id, second * 2300))
            pinned = PINNED if pin else ""
        if rng.random() < 30 / (second + 20):
            op = f"{ops[entries % len(ops)]},rep:{1 + entries % 5}"
            log.add(
                ev.EntrySaved(ids[0], entries, f"queue/id:{entries:06d},op:{op}",
                              [entries - 1] if entries else [], op if entries else "", "",
                              second * 1000, second * 2300, 40, True),
                ev.EntryDescribed(ids[0], entries, ["edge"], 300 + 5 * entries, False, "success"),
            )  # fmt: skip
            entries += 1
        if second == 400:
            log.add(ev.EntryDescribed(ids[0], 3, ["edge"], 315, False, "success", "demoted"))
        if second % 20 == 0 or second == seconds:
            for n, id in enumerate(ids):
                log.add(figures(id, second, pinned=pinned, seed=n))
                if second == 20:
                    log.add(left(id, second))
                _stats(log, id, second, entries, crashes=0, rng=rng)
                if libraries:
                    stats = log.records[-2].event
                    assert isinstance(stats, ev.Stats)
                    lines = 9000 + int(14_000 * (1 - 2.0 ** (-second / 60)))
                    log.add(replace(stats, edges_third_party=lines))
    return log
