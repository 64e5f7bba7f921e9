"""A fleet of afl-fuzz, supervised or only watched, as its log would tell of it."""

from __future__ import annotations

import random

from fakes import WALL, Log
from watched_lab import events_of, statistics_of

from fuzztui.kernel.wire import events as ev

ABLE = ["pause", "resume", "stop", "skip", "promote", "reset", "skip-current"]
NO_COMPILER = "no C compiler (cc) for our mutator"
REASON = "Test case 'id:000003' results in a timeout (even one stops AFL)"


def fleet(
    many: int = 50, *, watched: bool = False, seconds: int = 900, trouble: bool = True
) -> Log:
    """``many`` instances some way in: one failed, one stalled, one without a compiler."""
    rng = random.Random(11)
    names = ["main", *(f"s{n}" for n in range(1, many))]
    log = Log().add(
        ev.CampaignStarted(
            "tiff", "afl", "/usr/bin/tiffinfo @@", 1, 0 if watched else 86400.0, 0, names, WALL
        ),
        ev.SupervisorStarted(4711, WALL, "box"),
    )
    for n, name in enumerate(names):
        log.add(ev.InstanceState(name, "running", 5000 + n), hello(name, n, watched))
        peers = {p: rng.randrange(2000) for p in names if p != name and (not n or p == "main")}
        if n == 1:
            peers["honggfuzz"] = 88
        log.add(ev.Synced(name, peers))
    log.add(ev.CampaignState("running"), dt=0.5)
    for second in range(30, seconds + 1, 30):
        log.add(dt=30.0)
        for n, name in enumerate(names):
            log.add(stats(name, n, second, rng, age=float(n % 60) if watched else 0.4))
            if not watched:
                log.add(ev.Resources(name, 0.9 + 0.001 * n, 60 << 20, 2))
        finds(log, names, second, rng)
    if trouble and many > 8:
        log.add(
            ev.InstanceState("s3", "failed", 0, REASON),
            ev.InstanceState("s7", "stalled", 5007, "no execution for 5 minutes", 2),
            dt=0.5,
        )
    return log


def fleets(many: int = 2) -> Log:
    """Several targets that are watched at once."""
    of = [
        (f"{name}:main", f"/f/{name}/out/main", f"afl-fuzz -o out -M main -- ./{name} @@", {})
        for name in ("tiffinfo", "djpeg", *(f"pdf{n}" for n in range(many - 2)))
    ]
    log = Log().add(*events_of(*of))
    log.add(*statistics_of(*of), ev.MachineLoad(1.5, 2, 3 << 30), dt=10.0)
    return log


def hello(name: str, n: int, watched: bool) -> ev.InstanceHello:
    """What an instance can do, and why not more."""
    if watched:
        return ev.InstanceHello(
            name, "AFL++", "4.04c", pid=5000 + n, directory=f"/fuzz/tiff/{name}"
        )
    unable = dict.fromkeys(("skip", "promote", "reset"), NO_COMPILER) if n == 2 else {}
    able = [c for c in ABLE if c not in unable]
    return ev.InstanceHello(name, "AFL++", "4.04c", "", 5000 + n, able, dict(unable))


def stats(name: str, n: int, second: int, rng: random.Random, age: float = 0.4) -> ev.Stats:
    """Figures as fuzzer_stats has them."""
    execs = second * (900 + 13 * n)
    corpus = int(400 * (1 - 2.0 ** (-second / 300))) + n
    edges = int(5100 * (1 - 2.0 ** (-second / 240))) - 7 * n
    return ev.Stats(
        name, execs, 900 + 13 * n + rng.uniform(-40, 40), corpus, corpus // 5, corpus // 3,
        second // 300 if n == 1 else 0, 1 if n == 4 else 0, edges, 65536,
        cycles=second // 200 + n % 3, cur_item=second % 300, max_depth=5,
        stability=99.0 - n % 7, age=age, slow_age=-1.0 if age > 1 else 41.0,
    )  # fmt: skip


def finds(log: Log, names: list[str], second: int, rng: random.Random) -> None:
    """A queue entry here and there, a crash of s1 now and then."""
    for n, name in enumerate(names):
        if second == 30:
            log.add(ev.EntrySaved(name, 0, "queue/id:000000,time:0,orig:a.tif", [], "orig:a.tif"))
        elif rng.random() < 0.1:
            i = second // 30
            sync = "main" if n and rng.random() < 0.3 else ""
            op = "" if sync else "havoc,rep:4"
            log.add(
                ev.EntrySaved(
                    name, i, f"queue/id:{i:06d},x", [0], op, sync, second * 1000, second * 900,
                    64, True,
                )
            )  # fmt: skip
    if second % 300 == 0 and len(names) > 1:
        i = second // 300 - 1
        file = f"crashes/id:{i:06d},sig:11,src:000000,time:{second},execs:9,op:havoc,rep:4"
        log.add(
            ev.FindingSaved("s1", "crash", file, i, [0], "havoc,rep:4", 11, second * 1000, 9, 64)
        )
        if i < 2:
            log.add(
                ev.FindingDescribed(
                    "s1", "crash", file, "aa", "SIGSEGV in TIFFReadRaw", "tif_read.c:88", "#0 ..."
                )
            )
