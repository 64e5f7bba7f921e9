"""Finds per CPU hour: whose a find is, which CPU time counts, and when nothing is known."""

from __future__ import annotations

import pytest
from restored import restored

from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.yields import (
    CampaignYields,
    CpuYield,
    Yields,
    campaign_yields,
    rate_words,
    yield_words,
)
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.status.status import status_dict

HOUR = 3600.0


class Campaign:
    """Events, in any order of their times."""

    def __init__(self, *instances: str) -> None:
        self.events: list[tuple[float, ev.Event]] = []
        self.entries = 0
        self.tell(0, ev.CampaignStarted("c", "mu2", "lib:f", instances=[*instances]))
        for name in instances:
            self.tell(0, ev.InstanceState(name, "running"))

    def tell(self, t: float, *events: ev.Event) -> None:
        self.events += [(float(t), event) for event in events]

    @property
    def state(self) -> State:
        state = State()
        told = sorted(self.events, key=lambda pair: pair[0])
        apply(state, [ev.Record(n, t, event) for n, (t, event) in enumerate(told, 1)])
        return state

    def used(self, begin: float, end: float, *instances: str, cores: float = 1.0) -> None:
        """Measure the CPU time every minute."""
        for name in instances:
            self.tell(begin, ev.Resources(name, 0.0, 1, 1))
        t = begin
        while t < end:
            t = min(t + 60, end)
            for name in instances:
                self.tell(t, ev.Resources(name, cores, 1, 1))

    def found(
        self, t: float, op: str, name: str = "main", *, sync: str = "", cov: bool = True
    ) -> str:
        self.entries += 1
        n = self.entries
        self.tell(t, ev.EntrySaved(name, n, f"queue/id:{n:06}", op=op, sync=sync, cov=cov))
        return f"{name}/{n}"

    @property
    def yields(self) -> CampaignYields:
        return campaign_yields(self.state)


def counts(of: CpuYield) -> tuple[int, int, int]:
    return of.edges, of.kills, of.signatures


def test_finds_of_instances_and_mutators_per_cpu_hour() -> None:
    c = Campaign("main", "s1")
    c.used(0, HOUR, "main")
    c.used(0, HOUR, "s1", cores=0.5)
    t = HOUR
    c.tell(t, ev.MutantsFound("main", mutants=[{"id": f"m{n}"} for n in range(4)]))
    seed = c.found(t, "orig:a")
    havoc = c.found(t, "havoc,rep:4")
    both = c.found(t, "text-swap-args+havoc,rep:2", "s1")
    c.found(t, "havoc", "s1", sync="main")  # imported
    plain = c.found(t, "splice", cov=False)  # kept for another reason
    described = c.found(t, "compare", cov=False)
    c.tell(t, ev.EntryDescribed("main", int(described.partition("/")[2]), reasons=["edge"]))
    for mutant, killer in zip(range(4), (seed, havoc, plain, "main/99"), strict=True):
        c.tell(t, ev.MutantState("main", f"m{mutant}", "killed", killer))
    for n, signature in enumerate(("A", "A", "B")):
        file = f"crashes/{n}"
        c.tell(t, ev.FindingSaved("s1", "crash", file, op="havoc,rep:1"))
        c.tell(t, ev.FindingDescribed("s1", "crash", file, signature, "T"))
    found = c.yields
    assert counts(found.instances["main"].whole) == (2, 3, 0)
    assert counts(found.instances["s1"].whole) == (1, 0, 2)
    assert counts(found.campaign.whole) == (3, 3, 2)
    assert {name: counts(of.whole) for name, of in found.mutators.items()} == {
        "havoc": (2, 1, 2), "swap-args": (1, 0, 0), "compare": (1, 0, 0), "splice": (0, 1, 0),
    }  # fmt: skip
    assert found.campaign.whole.cpu_s == pytest.approx(1.5 * HOUR)
    # A mutator's own CPU time is not measured: all of it counts.
    assert found.mutators["havoc"].whole.per_hour("edges") == pytest.approx(2 / 1.5)
    assert found.instances["s1"].whole.per_hour("edges") == pytest.approx(2.0)
    assert both in c.state.entries


def test_lately_is_the_last_hour() -> None:
    c = Campaign("main")
    c.used(0, 2.5 * HOUR, "main")
    c.found(60, "havoc")
    c.used(2.5 * HOUR, 5 * HOUR, "main", cores=0.5)
    c.found(4.5 * HOUR, "havoc")
    late = c.yields.campaign.late
    assert counts(late) == (1, -1, 0)
    assert late.cpu_s == pytest.approx(0.5 * HOUR, rel=0.03)  # a minute more or less
    assert c.yields.campaign.whole.cpu_s == pytest.approx(3.75 * HOUR, rel=0.01)
    assert late.per_hour("edges") == pytest.approx(2, rel=0.03)


def test_lately_is_half_of_a_short_campaign() -> None:
    c = Campaign("main", "later")
    c.used(0, 1000, "main")
    c.found(100, "havoc")
    c.found(900, "havoc")
    c.used(700, 1000, "later")
    late = c.yields
    assert counts(late.instances["main"].late) == (1, -1, 0)
    assert 500 <= late.instances["main"].late.cpu_s <= 564
    assert late.instances["later"].late.cpu_s == pytest.approx(300)


def test_an_end_without_a_rate_is_left_out_of_the_text() -> None:
    whole, late = CpuYield(HOUR, 3, 2, 1), CpuYield(1800, 4, 0, 0)
    said = "3.0 edges, 2.0 kills, 1.0 signatures"
    assert yield_words(Yields(whole, CpuYield(1))) == said
    assert yield_words(Yields(whole, late)) == f"{said}; lately 8.0 edges, 0 kills, 0 signatures"


def test_a_restart_costs_the_first_measurement_only() -> None:
    c = Campaign("main")
    c.used(0, 600, "main")
    c.tell(600, ev.InstanceState("main", "restarting"))
    c.used(900, 1200, "main")
    assert c.yields.campaign.whole.cpu_s == pytest.approx(900)


def test_without_cpu_times_nothing_is_divided() -> None:
    c = Campaign("main", "s1")
    c.found(10 * HOUR, "havoc")
    whole = c.yields.instances["main"].whole
    assert (whole.cpu_s, whole.edges, whole.per_hour("edges")) == (-1, 1, -1)
    assert rate_words(whole) == "unknown"
    assert status_dict(c.state)["yield"]["whole"] == {
        "cpu_s": None, "edges": 1, "kills": None, "signatures": 0, "edges_per_cpu_hour": None,
        "kills_per_cpu_hour": None, "signatures_per_cpu_hour": None,
    }  # fmt: skip
    # Only instances with a measurement count for the campaign.
    c.used(10 * HOUR, 11 * HOUR, "s1")
    assert c.yields.campaign.whole.cpu_s == pytest.approx(HOUR)
    assert c.yields.campaign.whole.edges == 0
    # A few seconds are too few for a rate.
    few = Campaign("main")
    few.used(0, 59, "main")
    few.found(59, "havoc")
    assert few.yields.campaign.whole.per_hour("edges") == -1


def test_instances_of_mutants_have_no_yield() -> None:
    c = Campaign("main")
    c.used(0, HOUR, "main")
    c.tell(HOUR, ev.InstanceHello("m1", "afl", mutant="p.c#1"))
    c.used(HOUR, 2 * HOUR, "m1")
    c.found(2 * HOUR, "havoc", "m1")
    assert set(c.yields.instances) == {"main"}
    assert c.yields.campaign.whole.cpu_s == pytest.approx(HOUR)
    assert c.yields.mutators == {}


def test_kills_of_a_fuzz_first_campaign_are_not_of_its_target() -> None:
    c = Campaign("main")
    c.tell(
        0, ev.PhaseStarted("target"), ev.MutantsFound("", mutants=[{"id": "p.c#1", "place": 1.0}])
    )
    c.used(0, HOUR, "main")
    assert c.yields.campaign.whole.kills == -1


def test_a_checkpoint_has_the_cpu_times() -> None:
    c = Campaign("main")
    c.used(0, 3 * HOUR, "main")
    c.found(2.5 * HOUR, "havoc")
    assert campaign_yields(restored(to_json(c.state))) == c.yields


def test_hostile_names_and_times() -> None:
    c = Campaign("main")
    for cpu in (float("nan"), float("inf"), -3.0, 1e300):
        c.tell(1, ev.Resources("main", cpu))
    c.used(1, HOUR, "main")
    for n in range(600):
        c.found(HOUR, f"{'x' * 200}{n}")
        c.found(HOUR, f"op{n}+")
    found = c.yields
    assert len(found.mutators) == 500
    assert max(map(len, found.mutators)) <= 80
    assert found.campaign.whole.edges == 1200


def test_binaries_and_power_schedules_are_compared() -> None:
    c = Campaign("main", "s1", "s2")
    hellos = {
        "main": ev.InstanceHello("main", command_line="afl-fuzz ..."),
        "s1": ev.InstanceHello("s1", binary="asan", options="-p explore -l 2", command_line="x"),
        "s2": ev.InstanceHello("s2", options="-pexplore", command_line="x"),
    }
    for name, hello in hellos.items():
        c.tell(0, hello)
        c.used(0, HOUR, name)
        c.found(HOUR, "havoc", name)
    c.found(HOUR, "havoc", "s1")
    yields = c.yields
    assert {name: counts(of.whole)[0] for name, of in yields.binaries.items()} == {
        "plain": 2, "asan": 2,
    }  # fmt: skip
    assert yields.binaries["plain"].whole.cpu_s == 2 * HOUR
    assert {name: of.whole.edges for name, of in yields.schedules.items()} == {
        "default": 1, "explore": 3,
    }  # fmt: skip


def test_a_fleet_that_is_all_alike_compares_nothing() -> None:
    c = Campaign("main", "s1")
    for name in ("main", "s1"):
        c.tell(0, ev.InstanceHello(name, command_line="x"))
        c.used(0, HOUR, name)
    assert c.yields.binaries == c.yields.schedules == {}


def test_finds_before_the_cpu_time_is_known_do_not_count():
    watched = Campaign("main")
    watched.used(5 * HOUR, 6 * HOUR, "main")
    for t in (60, 4 * HOUR, 5.5 * HOUR):
        watched.found(t, "havoc")
    assert watched.yields.campaign.whole.edges == 1
    adopted = Campaign("main")
    adopted.tell(0, ev.SupervisorStarted(1, 1e9, before=["main"]))
    adopted.tell(0.1, ev.Stats("main", execs=1000))
    adopted.found(0.1, "havoc")
    adopted.used(3, HOUR, "main")
    adopted.found(9, "havoc")
    assert adopted.yields.campaign.whole.edges == 1
