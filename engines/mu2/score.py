"""Compute the exact mutation score of any folder of inputs.

There is no journal and no schedule: the mutants are divided among child processes. A child runs its
share of the mutants that an input infects, input by input, and reports each kill. If a child dies,
the next child continues, and the mutant that was running is tried again alone. Prints JSON lines:
``progress`` repeatedly, and ``result`` at the end.
"""

from __future__ import annotations

import gc
import random
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory.events import read_reported
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.execute.loading import load
from fuzztui.engines.findings.answers import Say, answering
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.mu2.engine import SILENT_LIMITS, prepare
from fuzztui.engines.mu2.isolated import IsolatedRunner
from fuzztui.engines.mu2.kill_criterion import KillCriterion, KillEvidence
from fuzztui.engines.mu2.mutant_executor import MutantExecutor, Unstable
from fuzztui.engines.mutants.program import CannotSwap, PythonMutant, reload

_PROGRESS_S: Final = 0.5
_WAIT_S: Final = 0.005
_MAX_INPUT_BYTES: Final = 16 << 20


def score(spec: Spec, folders: Sequence[Path], jobs: int) -> int:
    """Score the files in and below ``folders`` with ``jobs`` processes. Returns the exit status."""
    inputs = list(_inputs(folders))
    if not inputs:
        raise CannotStart(f"{', '.join(map(str, folders))}: no readable input to score")
    with answering(sort_keys=False) as say:
        loading = {"done": 0, "total": len(inputs), "killed": 0, "what": "loading the target"}
        say({"progress": loading})
        scorer = _Scorer(spec, inputs, say)
        gc.collect()
        gc.freeze()  # else garbage collection in children would copy the loaded objects
        scorer.run(max(1, jobs))
        say({"result": scorer.result()})
    return 0


def _inputs(folders: Iterable[Path]) -> Iterable[tuple[str, bytes]]:
    """Names and contents of regular files in order of their names, each content once."""
    seen: set[bytes] = set()
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        for file in files:
            try:
                status = file.lstat()
                if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_INPUT_BYTES:
                    continue
                data = file.read_bytes()
            except OSError:
                continue
            if data not in seen:
                seen.add(data)
                yield str(file), data


def _run_all(work: Iterable[Iterator[None]], jobs: int) -> None:
    """Run all pieces of work, ``jobs`` of them at a time."""
    waiting = iter(work)
    running = list(islice(waiting, jobs))
    while running:
        for piece in list(running):
            if next(piece, True):  # a piece yields None as long as it is not done
                running.remove(piece)
                running += islice(waiting, 1)
        time.sleep(_WAIT_S)


class _Scorer:
    """The state of all mutants, and the child processes that run them."""

    def __init__(self, spec: Spec, inputs: list[tuple[str, bytes]], say: Say) -> None:
        self._inputs, self._say = inputs, say
        self._due = 0.0
        loaded = load(
            spec,
            folder=Path.cwd(),
            table=EdgeTable(),
            draw=random.Random(0).randbytes,  # missing choices are the same in every run
            prepare=partial(prepare, spec),
        )
        executor = self._executor = loaded.executor
        program = self._program = loaded.prepared
        target = loaded.target
        mode = spec.engine.options.get("oracle", "differential")
        self._criterion = KillCriterion(mode, target.compare, executor.guarded)
        program.scan()
        self._host = ChildHost.of(spec.target, "scoring", limits=SILENT_LIMITS, patient=False)

        def reimport(mutant: PythonMutant | None) -> Executor:
            fresh = reload(program, spec.target, mutant)
            return executor.like(fresh.function, fresh.expected)

        self._isolated = IsolatedRunner(
            executor,
            program,
            self._criterion,
            reimport,
            self._host,
            import_s=target.import_s,
            import_periods=executor.guard.spent,
        )
        reported = read_reported(spec.dir / "events.jsonl").mutants
        self._reported = {m.index: reported[m.id] for m in program.mutants if m.id in reported}
        verdicts = {
            at: event.state
            for at, event in self._reported.items()
            if event.state in ("skipped", "equivalent")
        }
        self._state = {m.index: verdicts.get(m.index, "pending") for m in program.mutants}
        self._alive = {at for at, state in self._state.items() if state == "pending"}
        self._kills: dict[int, tuple[str, KillEvidence]] = {}
        self._reasons: dict[int, str] = {}
        self._quarantine: set[int] = set()
        self._flaky: set[int] = set()
        self._begin(0, "")

    def run(self, jobs: int) -> None:
        """Run all mutants on all inputs."""
        mutants = self._program.mutants
        # Neighbouring mutants have similar costs, so they go to different children.
        shares = [frozenset(range(n, len(mutants), jobs)) for n in range(jobs)]
        self._begin(jobs * len(self._inputs), "inputs", jobs)
        _run_all(map(self._swapped, shares), jobs)
        while doubtful := self._revoke_flaky_kills():
            _run_all([self._swapped(doubtful)], jobs)
        quarantine = self._quarantine
        isolated = [a for a in sorted(self._alive) if mutants[a].ran_at_import or a in quarantine]
        self._begin(len(isolated), "mutants of code that runs at import")
        _run_all(map(self._run_isolated, isolated), jobs)

    # --------------------------------------------------------------- the children

    def _run_isolated(self, a: int) -> Iterator[None]:
        """Run one isolated mutant on all inputs, in separate children; yields while it waits."""
        mutant = self._program.mutants[a]
        inputs = enumerate(data for _, data in self._inputs)
        pairs = [(mutant, key, data) for key, data in inputs if key not in self._flaky]
        for reported in self._isolated.run(pairs):
            if reported is None:
                yield
            elif reported.wrong:
                self._invalid(a, reported.wrong)
            elif reported.flaky:
                continue
            elif reported.verdict is not None:
                self._killed(a, reported.key, reported.verdict)
            else:
                self._state[a] = "alive"
        self._step()

    def _revoke_flaky_kills(self) -> frozenset[int]:
        """Revoke the kills of inputs that another child found to be flaky. Returns the mutants."""
        flaky = {self._inputs[at][0] for at in self._flaky}
        taken = frozenset(a for a, (killer, _) in self._kills.items() if killer in flaky)
        for a in taken:
            del self._kills[a]
            self._state[a] = "alive"
        self._alive |= taken
        return taken

    def _swapped(self, share: frozenset[int]) -> Iterator[None]:
        """Run a share of the mutants on all inputs; yields while it waits."""
        at, mutant = 0, -1
        """The input and the mutant that are running; -1: the original runs."""

        def answer(message: dict[str, Any]) -> bool:
            nonlocal at, mutant
            if "input" in message:
                self._step(int(message["input"]) - at)
                at, mutant = int(message["input"]), -1
            elif "begin" in message:
                mutant = int(message["begin"])
                if self._state[mutant] == "pending":
                    self._state[mutant] = "alive"
            elif "kills" in message:
                for killed, oracle, detail in message["kills"]:
                    self._killed(killed, at, KillEvidence(oracle, detail))
            elif "invalid" in message:
                self._invalid(mutant, str(message["invalid"]))
            elif "flaky" in message:
                self._flaky.add(at)
                self._step()
                at += 1
                return False
            elif "leaked" in message:
                self._quarantine.update(map(int, message["leaked"]))
                return False
            return True

        def ended(death: Death) -> None:
            nonlocal at
            if death.how == "exited":
                self._step(len(self._inputs) - at)
                at = len(self._inputs)
            elif mutant >= 0:
                # Alone in a separate child, a death is caused by the mutant.
                self._quarantine.add(mutant)
            else:
                self._step()
                at += 1  # the original dies on this input

        def more() -> bool:
            nonlocal mutant
            mutant = -1
            return at < len(self._inputs)

        yield from self._host.series(more, lambda send: self._work(share, at, send), answer, ended)

    def _work(self, share: frozenset[int], start: int, send: Tell) -> None:
        executor, program = self._executor, self._program
        executor.in_child()
        mutant_executor = MutantExecutor(executor, program, self._criterion)
        mutants = program.mutants
        mine = self._alive & share - self._quarantine
        alive = {a for a in mine if not mutants[a].static}
        probing = program.probing()
        probing.want(alive)
        for at in range(start, len(self._inputs)):
            send({"input": at})
            if at in self._flaky:
                continue
            data = self._inputs[at][1]
            program.clear_caches()  # else code behind a filled cache would not be covered
            plain = executor.run(data)
            if not self._criterion.judges(plain.outcome):
                continue
            probing.cover(program.units_of(plain.observed))
            program.install(probing)
            probing.clear()
            original = executor.run(data)
            infected = [a for a in probing.infected() if a in alive]
            program.install(None)
            if not infected:
                continue
            kills = []
            ran: list[int] = []
            try:
                turns = mutant_executor.measure(original)
            except Unstable:
                send({"flaky": True})
                return
            for a in infected:
                send({"begin": a})
                ran.append(a)
                try:
                    verdict = mutant_executor.verdict(original, mutants[a], turns)
                except CannotSwap as e:
                    send({"invalid": str(e)})
                    alive.discard(a)
                    continue
                if verdict is not None:
                    alive.discard(a)
                    kills.append([a, verdict.oracle, verdict.detail])
            if not mutant_executor.repeats(original):
                # Either the input is flaky, or one of the mutants changed some state.
                send({"flaky": True} if mutant_executor.varies(original) else {"leaked": ran})
                return
            if kills:
                send({"kills": kills})

    # ---------------------------------------------------------------- the outcome

    def _killed(self, mutant: int, at: int, verdict: KillEvidence) -> None:
        self._alive.discard(mutant)
        self._state[mutant] = "killed"
        self._kills[mutant] = (self._inputs[at][0], verdict)

    def _invalid(self, mutant: int, why: str) -> None:
        self._alive.discard(mutant)
        self._state[mutant], self._reasons[mutant] = "invalid", why

    def _begin(self, total: int, what: str, each: int = 1) -> None:
        """Start a part of ``total`` steps; ``each`` steps count as one in the reported progress."""
        self._done, self._total, self._what, self._each = 0, total, what, each

    def _step(self, steps: int = 1) -> None:
        self._done += steps
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _PROGRESS_S
            self._say(
                {
                    "progress": {
                        "done": min(self._done, self._total) // self._each,
                        "total": self._total // self._each,
                        "killed": len(self._kills),
                        "what": self._what,
                    }
                }
            )

    def result(self) -> dict[str, Any]:
        """The object of the last JSON line."""
        mutants = self._program.mutants
        counts = {
            word: sum(s == word for s in self._state.values())
            for word in ("killed", "alive", "pending", "skipped", "equivalent", "invalid")
        }
        valid = len(mutants) - counts["invalid"]
        return {
            "total": len(mutants),
            **counts,
            "static": sum(m.static for m in mutants),
            "score": counts["killed"] / valid if valid else None,
            "inputs": len(self._inputs),
            "flaky": len(self._flaky),
            "mutants": [self._row(m) for m in mutants],
        }

    def _row(self, m: PythonMutant) -> dict[str, Any]:
        killer, verdict = self._kills.get(m.index, ("", KillEvidence("", "")))
        return {
            "id": m.id,
            "file": m.file,
            "line": m.line,
            "function": m.function,
            "operator": m.operator,
            "before": m.before,
            "after": m.after,
            "state": self._state[m.index],
            "killer": killer,
            "oracle": verdict.oracle,
            "detail": verdict.detail or self._reasons.get(m.index, ""),
        }
