"""A campaign file and a log, as a machine leaves them."""

from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    EntryDescribed,
    EntrySaved,
    FindingDescribed,
    FindingSaved,
    InstanceHello,
    InstanceState,
    MutantsFound,
    MutantsShard,
    MutantState,
    Stats,
    SupervisorStarted,
)

CAMPAIGN = """
[campaign]
name = "c"
output = "{run}"
budget = "10s"
[target]
function = "{function}"
[engine]
kind = "{kind}"
"""


def events(wall, host="box", *, execs=100, signature="S1", states=(), shard=None, kind="mu2"):
    """Two instances, each with two entries and a finding; ``states`` of the mutants m0, m1, ..."""
    yield CampaignStarted(
        "c", kind, "tomllib:loads", 7, 10.0, 0, ["main", "s1"], wall, "0.1"
    )  # fmt: skip
    yield SupervisorStarted(77, wall, host, cores=2)
    yield CampaignState("running")
    if shard:
        yield MutantsShard("main", *shard)
    if states:
        rows = [{"id": id_, "line": 1, "before": "a", "after": "b"} for id_, _ in states]
        yield MutantsFound("main", "m", "m.py", "/m.py", rows)
    for name in ("main", "s1"):
        yield InstanceHello(name, kind, "1", pid=9)
        yield InstanceState(name, "running", 9)
        yield EntrySaved(name, 0, "queue/id:000000,orig:s", op="orig:s", size=1)
        peer = "s1" if name == "main" else "main"
        yield EntrySaved(name, 1, f"queue/id:000001,sync:{peer},src:000000", [0], sync=peer)
        yield EntryDescribed(name, 0, ["seed"], 3)
        yield FindingSaved(name, "crash", "crashes/id:000000,sig:06")
        yield FindingDescribed(name, "crash", "crashes/id:000000,sig:06", signature, "T")
        yield Stats(name, execs, 10.0, 2, crashes=1, edges=execs // 10)
    for id_, state in states:
        yield MutantState("main", id_, state, killer="main/0" if state == "killed" else "")
    for name in ("main", "s1"):
        yield InstanceState(name, "finished")
    yield CampaignEnded("finished", "the budget is used up")
