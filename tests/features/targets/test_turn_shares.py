"""Which targets have a turn: by yield and weight, none starves, none gets more cores than exist."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from fuzztui.features.targets.shares import Account, fits, give_turns, shares
from fuzztui.features.targets.turns import TargetTurns
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.selectors import WAITS_FOR_TURN
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import WeighTarget
from fuzztui.kernel.wire.events import InstanceState, Record
from fuzztui.run.supervise.target_launcher import PAUSED_FILE

TURN_S = 20.0


def played(accounts: dict[str, Account], cores: int, turns: int) -> Counter[str]:
    """Core seconds of each target after so many turns."""
    spent = 0.0
    for _ in range(turns):
        running = give_turns(accounts, cores, spent)
        spent = 0.0
        for name in running:
            core_s = TURN_S * accounts[name].cores
            accounts[name].spend(core_s)
            spent += core_s
    return Counter({name: int(account.core_s) for name, account in accounts.items()})


def test_targets_that_find_alike_share_alike() -> None:
    accounts = {name: Account() for name in "abc"}
    time = played(accounts, 1, 300)
    assert max(time.values()) - min(time.values()) <= 2 * TURN_S


def test_one_that_finds_more_gets_more_and_none_starves() -> None:
    accounts = {name: Account() for name in "abcd"}
    for turn in range(400):
        for name in give_turns(accounts, 1, TURN_S if turn else 0.0):
            accounts[name].spend(TURN_S)
            if name == "a":
                accounts[name].found(accounts[name].edges + 40)
    time = {name: account.core_s for name, account in accounts.items()}
    assert time["a"] > 2 * max(time[name] for name in "bcd")
    assert min(time.values()) > 0.03 * sum(time.values()), "a fifth is shared out alike"


def test_a_weight_multiplies_a_share_and_zero_means_none() -> None:
    accounts = {"a": Account(weight=3.0), "b": Account(), "off": Account(weight=0.0)}
    given = shares(accounts)
    assert given["a"] == pytest.approx(3 * given["b"])
    assert given["off"] == 0
    assert sum(given.values()) == pytest.approx(1)
    time = played(accounts, 1, 400)
    assert time["off"] == 0
    assert time["a"] / time["b"] == pytest.approx(3, rel=0.1)


def test_all_off_is_nothing() -> None:
    accounts = {"a": Account(weight=0.0)}
    assert shares(accounts) == {"a": 0.0}
    assert give_turns(accounts, 4, 20.0) == []


def test_turns_fill_the_cores_and_no_more() -> None:
    accounts = {"a": Account(cores=2), "b": Account(cores=1), "c": Account(cores=1)}
    assert not fits(accounts.values(), 3)
    assert fits(accounts.values(), 4)
    for _ in range(50):
        running = give_turns(accounts, 2, 40.0)
        assert 0 < sum(accounts[name].cores for name in running) <= 2
        for name in running:
            accounts[name].spend(TURN_S * accounts[name].cores)


def test_one_that_needs_more_than_there_is_runs_alone() -> None:
    accounts = {"big": Account(cores=8), "small": Account(cores=1)}
    seen = set()
    for _ in range(40):
        running = tuple(give_turns(accounts, 2, 40.0))
        seen.add(running)
        for name in running:
            accounts[name].spend(TURN_S * min(2, accounts[name].cores))
    assert ("big",) in seen
    assert ("small",) in seen
    assert all(len(running) == 1 for running in seen)


def test_the_edges_of_the_seeds_are_no_finds() -> None:
    large, small = Account(), Account()
    large.found(5000)
    small.found(60)
    assert large.rate == small.rate
    small.found(70)
    assert small.rate > large.rate


def test_an_account_continues_from_the_log() -> None:
    account = Account(cores=2, weight=2.0)
    account.found(1)
    account.spend(100.0)
    account.found(50)
    logged = {"weight": 5.0, "core_s": 100.0, "edges": 50, "lately_s": 100.0, "lately_edges": 49}
    again = Account.of(2, 2.0, logged)
    assert (again.rate, again.core_s, again.edges) == (account.rate, 100.0, 50)
    assert again.weight == 5.0, "the user's weight outlasts a restart"
    again.found(40)  # a target that is started again may report fewer at first
    assert (again.edges, again.rate) == (50, account.rate)


def two_targets(out: Path, times: list[float], events: list, rests: dict[str, str]) -> TargetTurns:
    """The turns of the targets a and b, each with more instances than the two cores."""
    state, now = State(), iter(times)
    campaign = SimpleNamespace(instances=4, cores=0)
    parts = [
        SimpleNamespace(name=name, weight=1.0, loaded=SimpleNamespace(campaign=campaign))
        for name in ("a", "b")
    ]
    context = SimpleNamespace(
        campaign=SimpleNamespace(cores=2, targets=parts), state=state, now=lambda: next(now),
        record=events.append, rest=rests.__setitem__,
        run_dir=SimpleNamespace(instance=lambda name: out / name),
    )  # fmt: skip
    turns = TargetTurns(context)
    running = [InstanceState(name, "running") for name in ("a", "b")]
    apply(state, [Record(n, 0.0, event) for n, event in enumerate(running, 1)])
    return turns


async def test_a_target_that_is_paused_in_its_own_run_has_no_turn(tmp_path: Path) -> None:
    events, rests = [], {}
    turns = two_targets(tmp_path, [0.0] * 12, events, rests)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / PAUSED_FILE).touch()
    await turns.run()
    assert [events[-1].targets[name]["share"] for name in ("a", "b")] == [0.0, 1.0]
    assert rests == {"a": WAITS_FOR_TURN, "b": ""}, "b has the cores, also when a is resumed"
    (tmp_path / "a" / PAUSED_FILE).unlink()
    await turns.run()
    assert sorted(rests.values()) == ["", WAITS_FOR_TURN]


async def test_a_target_uses_no_more_cores_than_there_are(tmp_path: Path) -> None:
    events: list = []
    turns = two_targets(tmp_path, [0.0, 0.0, 10.0, 10.0, 10.0], events, {})
    await turns.run()
    await turns.run()
    await turns.finish()
    used = [target["core_s"] for target in events[-1].targets.values()]
    assert sorted(used) == [0.0, 20.0], "ten seconds of two cores"


async def test_no_target_with_a_weight_is_reported(tmp_path: Path) -> None:
    turns = two_targets(tmp_path, [0.0] * 12, [], {})
    weigh = turns.handlers()[WeighTarget.name]
    assert turns.at_start() == []
    assert await weigh(WeighTarget("a", 0), lambda *_: None) == "the weight of a is 0"
    assert "no target runs" in await weigh(WeighTarget("b", 0), lambda *_: None)
    (warning,) = turns.at_start()
    assert "no target runs" in warning.text
