"""Campaigns of several targets: their runs, turns, findings, and interruptions."""

import os
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from homes import compiled, kill_holder, write_seeds
from supervised import Supervised
from waiting import DEADLINE_S, wait_until

from fuzztui.features.targets.fold import TargetRows, target_rows
from fuzztui.kernel.model.selectors import WAITS_FOR_TURN
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.client import ControlClient
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.session import LiveClock, Session
from fuzztui.kernel.wire.commands import AddSeed, Pause, Resume, WeighTarget
from fuzztui.kernel.wire.events import CampaignEnded, CampaignState, FindingSaved
from fuzztui.run.process.identity import kill_marked, marked

pytestmark = pytest.mark.slow

SHOP = '''\
"""Two functions with a bug each."""

def price(data: bytes) -> int:
    if len(data) > 1 and data[0] > 128:
        raise KeyError("no price")
    return len(data)

def order(data: bytes) -> int:
    total = 0
    for number in data:
        total += 1 if number > 9 else 2
    if total > 3:
        raise IndexError("no such order")
    return total
'''
PROGRAM = """\
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    unsigned char b[64];
    long n = read(0, b, sizeof b);
    if (n > 2 && b[0] == 'x' && b[1] > 'a')
        abort();
    return 0;
}
"""


class SeveralTargets(Supervised):
    """A campaign with the functions of :data:`SHOP`; ``program``: and with :data:`PROGRAM`."""

    def __init__(self, directory: Path, cores: int = 8, *, program: bool = False) -> None:
        super().__init__(directory)
        (directory / "shop.py").write_text(SHOP)
        self.cores, self.program = cores, program
        self.names = ["price", "order", *(["program"] if program else [])]
        self.extra = ""

    def freeze(self, *overrides: str, instances: int = 1) -> None:
        text = f"""
[campaign]
name = "shop"
output = "{self.run}"
cores = {self.cores}
[target]
include = ["shop"]
[engine]
kind = "zest"
[[targets]]
name = "price"
target.function = "shop:price"
[[targets]]
name = "order"
target.function = "shop:order"
{self.extra}
"""
        if self.program:
            binary = compiled(self.directory, PROGRAM)
            seeds = write_seeds(self.directory, b"xab", b"hello")
            other = self.directory / "program.toml"
            other.write_text(
                f'[target]\ncommand = ["{binary}"]\n[engine]\nkind = "afl"\nseeds = {seeds}\n'
            )
            text += '[[targets]]\nname = "program"\nfile = "program.toml"\nweight = 2\n'
        self.file.write_text(text)
        self.write_run(overrides)

    def part(self, name: str) -> Path:
        """The run of one target."""
        return self.run / "targets" / name

    def part_state(self, name: str) -> State:
        session = Session(self.part(name), LiveClock())
        while session.poll().records:
            pass
        return session.state

    def clean_up(self) -> None:
        super().clean_up()
        for name in self.names:
            kill_holder(self.part(name))
            kill_marked(self.part(name))

    def living(self) -> list[object]:
        """Processes of all runs."""
        return [p for run in (self.run, *map(self.part, self.names)) for p in marked(run)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    yield tmp_path


def execs(state: State) -> dict[str, int]:
    return {name: i.stat("execs") for name, i in state.instances.items()}


def titles(state: State) -> Counter[str]:
    return Counter(f.title.partition(":")[0] for f in state.findings.values() if f.signature)


def test_three_targets_of_two_engines_run_in_one_campaign(place: Path) -> None:
    with SeveralTargets(place, program=True) as shop:
        shop.start()
        state = shop.until(
            lambda s: (
                {"KeyError", "IndexError"} <= set(titles(s))
                and any("SIGABRT" in f.title for f in s.findings.values())
                and len(s.instances) == 3
                and all(execs(s).values())
            )
        )
        assert state.engine == "targets"
        assert {n: i.engine for n, i in state.instances.items()} == {
            "price": "zest", "order": "zest", "program": "afl"
        }  # fmt: skip
        # Each of them is an ordinary run, whose findings are those of the whole.
        for name in shop.names:
            part = shop.part_state(name)
            assert part.name == name
            own = {f.signature for f in part.findings.values() if f.signature}
            whole = {f.signature for f in state.findings.values() if f.instance == name}
            assert whole - {""} <= own
        rows = target_rows(shop.state())
        assert all(row.runs for row in rows.values()), "there are cores for all"
        assert rows["program"].weight == 2
        before = execs(shop.state())
        stopped = shop.stop()
        assert {i.state for i in stopped.instances.values()} == {"stopped"}
        assert not shop.living()
        assert {shop.part_state(name).state for name in shop.names} == {"stopped"}
        # Started again, all of them continue, and nothing is lost or counted twice.
        shop.start()
        again = shop.until(lambda s: all(n > before[name] for name, n in execs(s).items()))
        files = Counter(f"{e.instance}/{e.file}" for e in shop.events(FindingSaved))
        assert set(files.values()) == {1}
        for name in shop.names:
            own_findings = shop.part_state(name).findings
            mine = [f for f in again.findings.values() if f.instance == name]
            assert len(mine) <= len(own_findings)
        shop.stop()


def test_targets_share_a_core_by_turns_which_a_user_moves(place: Path) -> None:
    with SeveralTargets(place, cores=1) as shop:
        shop.start()

        def only(name: str) -> State:
            other = ({"price", "order"} - {name}).pop()

            def is_so(s: State) -> bool:
                one, rest = s.instances.get(name), s.instances.get(other)
                return (
                    one is not None and rest is not None
                    and (one.state, rest.state) == ("running", "paused")
                    and rest.reason == WAITS_FOR_TURN
                )  # fmt: skip

            return shop.until(is_so)

        # From the start on: the one without a turn has done nothing that the log does not know.
        first = shop.until(
            lambda s: (
                {i.state for i in s.instances.values()} == {"running", "paused"}
                and all(i.engine for i in s.instances.values())
            )
        )
        resting = next(n for n, i in first.instances.items() if i.state == "paused")
        wait_until(lambda: shop.part_state(resting).state == "paused")
        assert shop.send(WeighTarget("price", 0)).ok
        only("order")
        # Its engines are paused, not only shown so.
        wait_until(lambda: shop.part_state("price").state == "paused")
        assert shop.send(WeighTarget("price", 1)).ok
        assert shop.send(WeighTarget("order", 0)).ok
        only("price")
        wait_until(lambda: shop.part_state("order").state == "paused")
        # The engines of the one with a turn run again, and are not only shown so.
        wait_until(lambda: shop.part_state("price").state == "running")
        before = execs(shop.state())["price"]
        shop.until(lambda s: execs(s)["price"] > before)
        assert not shop.send(WeighTarget("none", 1)).ok
        # One that waits is not resumed in its own run: it would run beside the one with the turn.
        resume = ControlClient(shop.part("order"), "test").send(Resume(), DEADLINE_S)
        assert not resume.ok
        assert f"ctl {shop.run} weigh-target order" in resume.detail
        assert shop.part_state("order").state == "paused"
        # A user's pause outlasts the turns, and gives the core to the other.
        assert shop.send(WeighTarget("order", 1)).ok
        assert shop.send(Pause("price")).ok
        shop.until(
            lambda s: (
                s.instances["order"].state == "running"
                and s.instances["price"].state == "paused"
                and not s.instances["price"].reason
            )
        )
        wait_until(lambda: shop.part_state("order").state == "running")
        assert shop.send(Resume("price")).ok
        shop.until(
            lambda s: s.instances["price"].reason != "" or s.instances["price"].state == "running"
        )
        assert shop.state().part(TargetRows).targets["order"]["weight"] == 1
        seed = shop.send(AddSeed(str(place / "shop.py")))
        assert not seed.ok
        assert "targets/NAME" in seed.detail
        shop.stop()
        assert not shop.living()


def test_a_killed_process_loses_nothing(place: Path) -> None:
    with SeveralTargets(place) as shop:
        shop.start()
        shop.until(lambda s: {"KeyError", "IndexError"} <= set(titles(s)))
        before = execs(shop.state())
        pids = {name: running(shop.part(name)) for name in shop.names}
        # The supervisor of the whole: its targets go on, and the next one takes them over.
        shop.kill_supervisor()
        assert {name: running(shop.part(name)) for name in shop.names} == pids
        shop.start()
        shop.until(lambda s: all(n > before[name] for name, n in execs(s).items()))
        assert {name: running(shop.part(name)) for name in shop.names} == pids
        # The supervisor of a target: it is started again, and takes over its engine.
        pid = pids["price"]
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        shop.until(
            lambda s: s.instances["price"].restarts == 1 and s.instances["price"].state == "running"
        )
        assert running(shop.part("price")) not in (None, pid)
        after = execs(shop.state())
        shop.until(lambda s: execs(s)["price"] > after["price"])
        files = Counter(f"{e.instance}/{e.file}" for e in shop.events(FindingSaved))
        assert set(files.values()) == {1}
        shop.stop()
        assert not shop.living()


def test_a_target_that_waited_when_the_supervisor_was_killed_runs_again(place: Path) -> None:
    with SeveralTargets(place, cores=1) as shop:
        shop.start()
        state = shop.until(
            lambda s: (
                {i.state for i in s.instances.values()} == {"running", "paused"}
                and all(i.engine for i in s.instances.values())
            )
        )
        waiting = next(n for n, i in state.instances.items() if i.state == "paused")
        (other,) = {"price", "order"} - {waiting}
        wait_until(lambda: shop.part_state(waiting).state == "paused")
        shop.kill_supervisor()
        before = execs(shop.state())[waiting]
        shop.start()
        assert shop.send(WeighTarget(other, 0)).ok
        shop.until(lambda s: execs(s)[waiting] > before)
        shop.stop()
        assert not shop.living()


def test_targets_finish_their_work_when_the_whole_campaign_has_finished(place: Path) -> None:
    with SeveralTargets(place, program=True) as shop:
        shop.start("campaign.budget=4s")
        state = shop.until(lambda s: s.state == "finished")
        assert all(f.signature for f in state.findings.values()), "all were run again"
        ends = (CampaignState, CampaignEnded)
        times = [(r.event.state, r.t) for r in shop.records() if isinstance(r.event, ends)][-2:]
        assert [name for name, _ in times] == ["stopping", "finished"]
        assert times[0][1] == times[1][1], "what is left at the end uses no budget"
        for name in shop.names:
            part = shop.part_state(name)
            assert (part.state, part.reason) == ("stopped", "the whole campaign has finished")
        assert not shop.living()
        # With more budget the same targets continue.
        before = execs(state)
        shop.start("campaign.budget=10m")
        shop.until(lambda s: all(n > before[name] for name, n in execs(s).items()))
        shop.stop()


def test_a_target_that_has_finished_stays_finished(place: Path) -> None:
    with SeveralTargets(place) as shop:
        shop.extra = (
            '[[targets]]\nname = "brief"\ncampaign = { budget = "20 trials" }\n'
            'target.function = "shop:price"\n'
        )
        shop.names.append("brief")
        shop.start()
        shop.until(lambda s: "brief" in s.instances and s.instances["brief"].state == "finished")
        shop.stop()
        shop.start()
        state = shop.until(
            lambda s: (
                s.instances["price"].state == "running"
                and s.instances["brief"].state in ("finished", "failed")
            )
        )
        assert state.instances["brief"].state == "finished"
        assert "budget" in state.instances["brief"].reason
        shop.stop()


def test_a_target_that_cannot_start_does_not_stop_the_others(place: Path) -> None:
    with SeveralTargets(place) as shop:
        shop.extra = (
            '[[targets]]\nname = "broken"\n'
            'target = { function = "shop:missing", include = ["shop"] }\n'
        )
        shop.names.append("broken")
        shop.start()
        state = shop.until(
            lambda s: (
                s.instances.get("broken") is not None
                and s.instances["broken"].state == "failed"
                and execs(s).get("price")
            )
        )
        assert "missing" in state.instances["broken"].reason
        assert state.state == "running"
        shop.stop()


def test_a_finding_is_run_again_by_its_own_target(place: Path) -> None:
    from fuzztui.cli.output import FINDINGS

    with SeveralTargets(place) as shop:
        shop.start()
        state = shop.until(lambda s: {"KeyError", "IndexError"} <= set(titles(s)))
        shop.stop()
        import subprocess

        for finding in state.findings.values():
            argv = [sys.executable, "-m", "fuzztui", "repro", str(shop.run), finding.key]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            assert done.returncode == FINDINGS, shlex.join(argv) + done.stdout + done.stderr
            assert finding.title.partition(":")[0] in done.stdout + done.stderr
