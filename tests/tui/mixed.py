"""A made-up campaign of a text engine: operators that pay and others, steered twice."""

from __future__ import annotations

import random
from collections.abc import Iterable

from fakes import CAPABILITIES, Log, _stats, started

from fuzztui.engines.text.table import ARMS
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import SetMixture
from fuzztui.kernel.wire.mixture import STACK

PAYING = {"swap-args": 41.0, "delete-line": 33.0, "insert-not": 20.0, "duplicate-line": 12.0,
          "fragment": 55.0, "havoc": 6.0, "eq-to-ne": 4.0, "delete-block": 25.0}  # fmt: skip
"""Finds per million applications; of the others some find one by chance."""


def figures(
    instance: str,
    second: int,
    mixture: Iterable[float] = (0.25, 0.75, 0.0),
    *,
    adaptive: bool = False,
    seed: int = 1,
    crashes: int = 0,
) -> ev.MutatorStats:
    """Figures that grow with time, the same each time."""
    rng = random.Random(seed)
    havoc, text, splice = mixture
    trials = 2300 * second
    n = len(ARMS)
    tried, applied, found, weights = [], [], [], []
    for arm in ARMS:
        share = {"havoc": STACK * havoc, "fragment": 2.0 * splice, "balanced": splice}.get(
            arm, 3.0 * text / (n - 3)
        )
        drawn = int(trials * share * rng.uniform(0.9, 1.1))
        hits = int(drawn * (1.0 if arm == "havoc" else rng.choice([0.02, 0.4, 0.8, 0.97])))
        tried.append(drawn)
        applied.append(hits)
        found.append(round(hits * PAYING[arm] * 1e-4) if arm in PAYING else rng.random() < 0.1)
        weight = PAYING.get(arm, 3.0) * 2000 if adaptive else 1e6 / (n - 3)
        alone = {"havoc": 10**6, "fragment": 600_000, "balanced": 400_000}
        weights.append(alone.get(arm, int(weight)))
    died = [crashes if arm == "delete-block" else 0 for arm in ARMS]
    return ev.MutatorStats(
        instance, havoc, text, splice, adaptive, trials, list(ARMS), tried, applied,
        [int(f) for f in found], died, weights,
    )  # fmt: skip


def mixed(
    seconds: int = 600,
    instances: Iterable[str] = ("main",),
    *,
    able: bool = True,
    adaptive: bool = False,
    name: str = "lua-text",
    crashes: int = 2,
) -> Log:
    """Some way into a campaign of an engine that mutates text."""
    rng = random.Random(11)
    log = started(name, engine="text")
    ids = list(instances)
    for id in ids:
        log.add(
            ev.InstanceState(id, "running", 5001),
            ev.InstanceHello(
                id, "text", "0.1", "3.11.2", 5001,
                CAPABILITIES + (["mixture", "weigh-mutator"] if able else []),
                {} if able else {"mixture": "its library was built without a control file"},
            ),
        )  # fmt: skip
    log.add(ev.CampaignState("running"), dt=0.5)
    mixture, fixed = (0.25, 0.75, 0.0), True
    ops = ["swap-args", "text-swap-args+havoc", "havoc", "delete-line+insert-not+havoc", "fragment"]
    entries = 0
    for second in range(1, seconds + 1):
        log.add(dt=1.0)
        if second == seconds // 2:
            command = SetMixture(0.2, 0.7, 0.1, adaptive=adaptive)
            log.add(ev.CommandIssued("c9", encode_command(command), "ann@box"))
            for id in ids:
                detail = "havoc 20%, text 70%, splice 10%"
                log.add(ev.CommandApplied("c9", id, second * 2300, detail))
            mixture, fixed = (0.2, 0.7, 0.1), not adaptive
        if rng.random() < 30 / (second + 20):
            op = ops[entries % len(ops)]
            op += f",rep:{1 << op.count('+')}"
            log.add(
                ev.EntrySaved(ids[0], entries, f"queue/id:{entries:06d},op:{op}",
                              [entries - 1] if entries else [], op if entries else "", "",
                              second * 1000, second * 2300, 40, True),
                ev.EntryDescribed(ids[0], entries, ["edge"], 300 + 5 * entries, False, "success"),
            )  # fmt: skip
            entries += 1
        if second == 100:
            op = "delete-block+havoc,rep:2"
            file = f"crashes/id:000000,op:{op}"
            log.add(
                ev.FindingSaved(ids[0], "crash", file, 0, [1], op, 11, 100_000),
                ev.FindingDescribed(ids[0], "crash", file, "S", "heap-use-after-free", "lcode.c:9"),
            )  # fmt: skip
        if second % 20 == 0 or second == seconds:
            for n, id in enumerate(ids):
                log.add(figures(id, second, mixture, adaptive=not fixed, seed=n,
                                crashes=crashes if second >= 100 else 0))  # fmt: skip
                _stats(log, id, second, entries, crashes=int(second >= 100), rng=rng)
    return log
