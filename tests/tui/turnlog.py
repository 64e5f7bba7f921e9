"""A made-up fuzz-first campaign: mutants of ``parser.c`` that have their turns, then the target."""

from __future__ import annotations

from pathlib import Path

from fakes import WALL, Log

from fuzztui.kernel.wire import events as ev

PROGRAM = Path(__file__).with_name("parser.c")
FILE = "src/parser.c"
BUDGET_S, EACH_S = 3600.0, 300.0

# line, operator, before, after
CHANGES = (
    (9, "<= ==> <", "    if (n <= 0) {", "    if (n < 0) {"),
    (10, "-1 ==> 1", "        return -1;", "        return 1;"),
    (12, "+ ==> -", "    size_t end = start + n;", "    size_t end = start - n;"),
    (13, "< ==> <=", "    while (start < end && text[start] == ' ')",
     "    while (start <= end && text[start] == ' ')"),
    (14, "++ ==> --", "        start++;", "        start--;"),
    (15, "== ==> !=", '    if (memcmp(text + start, "MUTA", 4) == 0) {',
     '    if (memcmp(text + start, "MUTA", 4) != 0) {'),
    (16, "statement deletion", "        matched = depth * 2;", "        /*matched = depth * 2;*/"),
    (16, "2 ==> 0", "        matched = depth * 2;", "        matched = depth * 0;"),
    (18, "&& ==> ||", "    if (matched && depth > 3)", "    if (matched || depth > 3)"),
    (19, "abort() ==> return", "        abort();", "        return 0;"),
)  # fmt: skip

ERROR = (
    "parser.c:16:19: error: use of undeclared identifier 'dpeth'\n"
    "        matched = dpeth * 2;\n"
    "                  ^~~~~\n"
    "1 error generated."
)


def ids(count: int) -> list[str]:
    """The ids of ``count`` mutants, in the order of their rank."""
    return [f"{FILE}#{i:08x}" for i in range(count)]


def listed(log: Log, count: int) -> None:
    """The mutants are known."""
    rows = []
    for i, id in enumerate(ids(count)):
        line, operator, before, after = CHANGES[i % len(CHANGES)]
        if i >= len(CHANGES):
            after += f" /* {i} */"
        rows.append({"id": id, "line": line, "operator": operator, "before": before,
                     "after": after, "place": float(i)})  # fmt: skip
    log.add(ev.MutantsFound("", "", FILE, str(PROGRAM), rows))


def begun(count: int = 40, *, trials: int = 0) -> Log:
    """It has just begun to fuzz mutants: none has had its turn."""
    log = Log().add(
        ev.CampaignStarted(
            "hard-first", "afl", "targets/parser @@", 7, 0.0 if trials else BUDGET_S, trials,
            ["main", "s1"], WALL, "0.1",
        ),
        ev.SupervisorStarted(4711, WALL, "box"),
        ev.CampaignState("starting"),
    )  # fmt: skip
    plan = {"mutants_s": BUDGET_S / 2, "each_s": EACH_S, "abreast": 1, "count": 6}
    if trials:
        plan = {"mutants_trials": trials // 2, "each_trials": trials // 12, "abreast": 1,
                "count": 6}  # fmt: skip
    log.add(
        ev.PhaseStarted("mutants", {**plan, "listed": count, "made": count * 9, "blank": 4}),
        ev.CampaignState("running"),
    )
    listed(log, count)
    return log


def built(log: Log, id: str) -> None:
    """It was built ahead of its turn."""
    log.add(ev.MutantProgress(id, "building"), dt=0.1)
    log.add(ev.MutantProgress(id, "built", costs={"build": 0.61}), dt=0.6)


def turn(log: Log, id: str, slot: str, seconds: float, *, origins: dict[str, str]) -> None:
    """A mutant has its turn, up to now."""
    log.add(ev.MutantProgress(id, "pruning", slot, costs={"prune": 0.22}), dt=0.2)
    log.add(
        ev.InstanceHello(slot, mutant=id, directory=f"mutants/slots/{slot}/out/{slot}"),
        ev.InstanceState(slot, "running", 6000),
        ev.MutantProgress(id, "fuzzing", slot, costs={"start": 0.31},
                       brought={"kept": 24, "aside": 3, "kills": 1}),
        ev.EntriesSeeded(slot, origins),
        dt=0.3,
    )  # fmt: skip
    step = seconds / 10
    for n in range(1, 11):
        log.add(dt=step)
        execs = int(n * step * 900)
        log.add(ev.Stats(slot, execs, 900.0, 24 + n, 9, 4, 1, 0, 80 + n, 400, age=0.2))
        if n in (3, 7):
            i = 24 + n
            log.add(ev.EntrySaved(slot, i, f"queue/id:{i:06d},src:000001", [1], "havoc,rep:4",
                                  "", int(n * step * 1000), execs, 40 + n, True))  # fmt: skip


def collected(log: Log, id: str, slot: str, brought: dict[str, int], ended: str = "") -> None:
    """Its corpus was run on the target."""
    reason = ended or "its budget is used up"
    log.add(ev.InstanceState(slot, "finished", 0, reason))
    log.add(ev.MutantProgress(id, "collecting", slot, reason), dt=0.1)
    log.add(ev.MutantProgress(id, "done", slot, costs={"handover": 0.44}, brought=brought), dt=0.4)


def handed(log: Log, number: int, slot: str, src: int) -> None:
    """An input that a mutant's corpus brought to the target."""
    log.add(
        ev.EntrySaved(
            "handed", number, f"queue/id:{number:06d},sync:{slot},src:{src:06d}", [src], "",
            slot, 1000, 0, 41, True,
        )
    )  # fmt: skip


def crash_of_target(log: Log, slot: str, src: int) -> str:
    """The target fails on what a mutant's fuzzing found; the finding's key."""
    file = f"crashes/id:000000,sig:06,sync:{slot},src:{src:06d}"
    log.add(
        ev.FindingSaved("handed", "crash", file, 0, [src], "", 6, 1000, 0, 41, sync=slot),
        ev.FindingDescribed("handed", "crash", file, "sig-abort", "SIGABRT in parse",
                            "parser.c:19", "#0 abort\n#1 parse parser.c:19"),
    )  # fmt: skip
    return f"handed/{file}"


def midway(count: int = 40) -> Log:
    """Three mutants have had their turns, the fourth has it; others failed, or are put aside."""
    log = begun(count)
    m = ids(count)
    for id in m[:3]:
        built(log, id)
    log.add(ev.MutantProgress(m[7], "building"), dt=0.1)
    log.add(
        ev.MutantState("", m[7], "invalid", reason="it does not build"),
        ev.MutantProgress(m[7], "failed", reason=ERROR, costs={"build": 0.3}),
        ev.MutantState("", m[8], "invalid", reason="x"),
        ev.MutantProgress(
            m[8], "dropped", reason=f"the same program as {m[2]} once it is compiled"
        ),
        dt=0.3,
    )
    turn(log, m[0], "m1", 300.0, origins={str(i): f"seed:{i}" for i in range(3)})
    handed(log, 0, "m1", 27)
    log.add(ev.MutantState("", m[0], "killed", "m1/27", "crash"))
    collected(log, m[0], "m1", {"entries": 1, "edges": 3, "crashes": 0, "hangs": 0, "kills": 2})
    turn(log, m[1], "m2", 300.0, origins={"1": "m1/27"})
    collected(log, m[1], "m2", {"entries": 0, "edges": 0, "crashes": 0, "hangs": 0, "kills": 1})
    log.add(ev.MutantState("", m[1], "alive"))
    turn(log, m[2], "m3", 200.0, origins={"1": "m1/27"})
    handed(log, 1, "m3", 31)
    crash_of_target(log, "m3", 31)
    log.add(ev.MutantState("", m[2], "killed", "m3/31", "crash"))
    collected(log, m[2], "m3", {"entries": 12, "edges": 41, "crashes": 1, "hangs": 0, "kills": 4})
    log.add(
        ev.MutantProgress(m[9], "pruning", "m4"),
        ev.MutantProgress(m[9], "refused", "m4",
                           "it fails on all 27 inputs that it could start from",
                       {"prune": 0.2}, {"kept": 0, "aside": 27, "kills": 27}),
        ev.MutantState("", m[9], "killed", "seed:a", "crash"),
        ev.MutantState("", m[20], "skipped", reason="by hand"),
        ev.MutantState("", m[21], "equivalent", reason="a comment only"),
        ev.MutantState("", m[5], "pending", steer="promoted"),
        dt=0.5,
    )  # fmt: skip
    built(log, m[3])
    turn(log, m[3], "m5", 130.0, origins={"1": "m3/31"})
    built(log, m[5])
    log.add(ev.MutantPositions({m[5]: 3.5}))
    log.add(ev.MutantProgress(m[4], "building"))
    return log


def on_target(count: int = 40) -> Log:
    """The mutants' time is over; the target is fuzzed from what they brought."""
    log = midway(count)
    m = ids(count)
    collected(log, m[3], "m5", {"entries": 2, "edges": 5, "crashes": 0, "hangs": 0, "kills": 1},
              "the mutants' budget is used up")  # fmt: skip
    plan = {"mutants_s": BUDGET_S / 2, "before_s": BUDGET_S / 2, "each_s": EACH_S, "abreast": 1}
    log.add(ev.PhaseStarted("target", plan), dt=900.0)
    for n, name in enumerate(("main", "s1")):
        log.add(
            ev.InstanceState(name, "running", 7000 + n),
            ev.InstanceHello(name, "AFL++", "4.04c", "", 7000 + n, ["pause", "resume", "stop"]),
            ev.Synced(name, {"handed": 2, "s1" if name == "main" else "main": 4}),
        )
    log.add(
        ev.EntrySaved("main", 0, "queue/id:000000,time:0,orig:a", [], "orig:a"),
        ev.EntrySaved("main", 1, "queue/id:000001,sync:handed,src:000001", [1], "", "handed"),
        ev.EntrySaved("main", 2, "queue/id:000002,src:000001", [1], "havoc,rep:2", "", 9, 9, 40,
                      True),
        ev.EntrySaved("main", 3, "queue/id:000003,src:000000", [0], "havoc,rep:8", "", 9, 9, 40,
                      True),
        ev.FindingSaved("main", "crash", "crashes/id:000000,sig:11,src:000002", 0, [2],
                        "havoc,rep:2", 11, 9, 9, 44),
    )  # fmt: skip
    for second in range(60, 601, 60):
        log.add(dt=60.0)
        for name in ("main", "s1"):
            log.add(ev.Stats(name, second * 1100, 1100.0, 4, 2, 1, int(name == "main"), 0,
                             130 + second // 60, 400, cycles=2, stability=100.0,
                             age=0.3))  # fmt: skip
    return log
