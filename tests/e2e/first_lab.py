"""Campaigns that fuzz mutants first, whatever is mutated."""

from __future__ import annotations

from supervised import Supervised

from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import SkipMutants, UseMutants
from fuzztui.kernel.wire.events import EntrySaved, MutantProgress, SupervisorStarted
from fuzztui.run.supervise.daemon import start


def fuzzing(state: State) -> list:
    """The mutants whose fuzzers execute."""
    instances = state.instances.values()
    running = [i.mutant for i in instances if i.mutant and i.state == "running" and i.stats.execs]
    return [state.mutants[key] for key in running if state.mutants[key].stage == "fuzzing"]


class FuzzFirst(Supervised):
    """A campaign whose mutants have turns."""

    def stages(self, stage: str) -> list[str]:
        """The mutants that came to a stage, in the order of the log."""
        told = (e for e in self.events(MutantProgress) if e.stage == stage)
        return list(dict.fromkeys(e.id for e in told))

    def handed(self) -> list[str]:
        """The files that mutants have found for the target, each of them once."""
        files = [e.file for e in self.events(EntrySaved) if e.instance == MUTANT_INPUTS]
        assert len(files) == len(set(files))
        return files

    def first_turn(self) -> str:
        """Wait until the first mutant has found something; returns its key."""
        key = fuzzing(self.until(fuzzing))[0].id
        self.until(lambda s: any(e.instance == "m1" for e in s.entries.values()))
        return key

    def switch_use(self) -> None:
        """Of two instances let each fuzz a mutant of its own, over a restart, then both one."""
        key = self.first_turn()
        assert {i.id for i in self.state().instances.values() if i.mutant} == {"m1", "m1-s1"}
        assert "each of 2 instances" in self.send(UseMutants("parallel")).detail
        assert self.send(SkipMutants(key)).ok

        def both(state: State) -> bool:
            return {m.slot for m in fuzzing(state)} == {"m2", "m3"}

        self.until(both)
        self.stop()
        start(self.run)
        again = fuzzing(self.until(both))
        assert "all 2 instances" in self.send(UseMutants("sequential")).detail
        for mutant in again:
            assert self.send(SkipMutants(mutant.id)).ok
        state = self.until(lambda s: {"m4", "m4-s1"} <= s.instances.keys())
        assert not {"m2-s1", "m3-s1", "m5"} & state.instances.keys()
        told = [e for e in self.events(MutantProgress) if e.stage in ("done", "pruning")]
        began = next(n for n, e in enumerate(told) if e.slot == "m4")
        assert {"m2", "m3"} <= {e.slot for e in told[:began] if e.stage == "done"}

    def killed_in_a_turn(self, engines: str):
        """Kill the supervisor, and its engines if they "die": the next one goes on with the turn.

        Returns the mutant when its turn is over.
        """
        key = self.first_turn()
        self.kill_supervisor()
        if engines == "die":
            self.kill_engines()
        start(self.run)
        adopted = self.events(SupervisorStarted)[-1].adopted
        assert adopted == (["m1"] if engines == "live" else [])
        state = self.until(lambda s: s.mutants[key].stage == "done")
        assert state.mutants[key].slot == "m1"
        return state.mutants[key]
