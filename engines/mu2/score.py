"""Compute the exact mutation score of any folder of inputs.

There is no journal and no schedule: the mutants are divided among child processes. A child runs its
share of the mutants that an input infects, input by input, and reports each kill. If a child dies,
the next child continues, and the mutant that was running is tried again alone. Prints JSON lines:
``progress`` repeatedly, and ``result`` at the end.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import random
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory.events import read_reported
from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.execute.loading import load
from fuzztui.engines.findings.answers import Say, answering
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.mu2.engine import SILENT_LIMITS, prepare
from fuzztui.engines.mu2.isolated import IsolatedRunner
from fuzztui.engines.mu2.kill_criterion import KillCriterion, KillEvidence
from fuzztui.engines.mu2.mutant_executor import MutantExecutor, Unstable
from fuzztui.engines.mu2.restoration import NOT_JUDGED, RestorationCheck
from fuzztui.engines.mutants.lasting_state import TOO_LARGE
from fuzztui.engines.mutants.late_modules import import_late_modules
from fuzztui.engines.mutants.program import CannotSwap, PythonMutant, reload

_PROGRESS_S: Final = 0.5
_WAIT_S: Final = 0.005
_CHUNK: Final = 32
"""Mutants after which a child checks that the original still behaves as before."""
_MAX_INPUT_BYTES: Final = 16 << 20


class _OutOfTime(Exception):
    """The time limit is over; the results are a lower bound."""


def score(spec: Spec, folders: Sequence[Path], jobs: int, within_s: float = 0.0) -> int:
    """Score the files in and below ``folders`` with ``jobs`` processes. Returns the exit status.

    ``within_s``: seconds after which the score found by then is the result; 0: no limit.
    """
    until = time.monotonic() + within_s if within_s else float("inf")
    inputs = list(_inputs(folders))
    if not inputs:
        raise CannotStart(f"{', '.join(map(str, folders))}: no readable input to score")
    with answering(sort_keys=False) as say:
        loading = {"done": 0, "total": len(inputs), "killed": 0, "what": "loading the target"}
        say({"progress": loading})
        scorer = _Scorer(spec, inputs, say)
        gc.collect()
        gc.freeze()  # else garbage collection in children would copy the loaded objects
        try:
            scorer.run(max(1, jobs), until)
        except _OutOfTime:
            scorer.exact = False
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


def _run_all(work: Iterable[Iterator[None]], jobs: int, until: float) -> None:
    """Run all pieces of work, ``jobs`` of them at a time. Raises :class:`_OutOfTime`."""
    waiting = iter(work)
    running = list(islice(waiting, jobs))
    while running:
        for piece in list(running):
            if next(piece, True):  # a piece yields None as long as it is not done
                running.remove(piece)
                running += islice(waiting, 1)
        if time.monotonic() >= until:
            raise _OutOfTime
        time.sleep(_WAIT_S)


def _chunks(mutants: Sequence[int]) -> list[list[int]]:
    return [list(mutants[n : n + _CHUNK]) for n in range(0, len(mutants), _CHUNK)]


class _Scorer:
    """The state of all mutants, and the child processes that run them."""

    def __init__(self, spec: Spec, inputs: list[tuple[str, bytes]], say: Say) -> None:
        self._inputs, self._say = inputs, say
        self.exact = True
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
        import_late_modules(spec, executor, loaded.application)
        reported = read_reported(spec.dir / "events.jsonl")
        for name in sorted({id_.partition(":")[0] for id_ in reported.found}):
            if loaded.application.has(name):
                with contextlib.suppress(Exception):  # the mutants are those of the run
                    importlib.import_module(name)
        program.scan()
        program.remember(spec.target)
        self._host = ChildHost.of(spec.target, "scoring", limits=SILENT_LIMITS, patient=False)

        def reimport(mutant: PythonMutant | None) -> Executor:
            fresh = reload(program, spec.target, mutant)
            return executor.like(fresh.function, fresh.expected)

        host = replace(self._host, doing="", patient=True)
        check = RestorationCheck(executor, program, self._criterion, reimport, host)
        self._warnings = check.run([(f"input {name}", data) for name, data in inputs])
        if program.lasting is not None and program.lasting.left_out:
            self._warnings.append(TOO_LARGE)
        self._isolated = IsolatedRunner(
            executor,
            program,
            self._criterion,
            reimport,
            self._host,
            import_s=target.import_s,
            import_periods=executor.guard.spent,
        )
        states = reported.mutants
        verdicts = {
            m.index: states[m.id].state
            for m in program.mutants
            if m.id in states and states[m.id].state in ("skipped", "equivalent")
        }
        self._state = {m.index: verdicts.get(m.index, "pending") for m in program.mutants}
        self._alive = {at for at, state in self._state.items() if state == "pending"}
        self._kills: dict[int, tuple[str, KillEvidence]] = {}
        self._reasons: dict[int, str] = {}
        self._reached: set[int] = set()
        self._quarantine = {m.index for m in program.mutants if m.unrestored}
        self._flaky: set[int] = set()
        for m in program.mutants:
            if m.unit is not None and m.unit.unjudged and m.index in self._alive:
                self._invalid(m.index, NOT_JUDGED)
        self._begin(0, "")

    def run(self, jobs: int, until: float) -> None:
        """Run all mutants on all inputs. Raises :class:`_OutOfTime`."""
        mutants = self._program.mutants
        # Neighbouring mutants have similar costs, so they go to different children.
        shares = [frozenset(range(n, len(mutants), jobs)) for n in range(jobs)]
        self._begin(jobs * len(self._inputs), "inputs", jobs)
        _run_all(map(self._swapped, shares), jobs, until)
        while doubtful := self._revoke_flaky_kills():
            _run_all([self._swapped(doubtful)], jobs, until)
        quarantine = self._quarantine
        isolated = [a for a in sorted(self._alive) if mutants[a].ran_at_import or a in quarantine]
        self._begin(len(isolated), "mutants in child processes")
        _run_all(map(self._run_isolated, isolated), jobs, until)

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
        groups: list[list[int]] | None = None
        """The mutants that are still to be run on this input; None: not known yet."""

        def answer(message: dict[str, Any]) -> bool:
            nonlocal at, mutant, groups
            if "input" in message:
                if (now := int(message["input"])) != at:
                    self._step(now - at)
                    at, groups = now, None
                mutant = -1
            elif "infected" in message:
                groups = _chunks(message["infected"])
            elif "done" in message:
                assert groups
                groups.pop(0)
            elif "begin" in message:
                mutant = int(message["begin"])
                if self._state[mutant] == "pending":
                    self._state[mutant] = "alive"
            elif "kills" in message:
                for killed, oracle, detail in message["kills"]:
                    self._killed(killed, at, KillEvidence(oracle, detail))
            elif "reached" in message:
                self._reached.update(map(int, message["reached"]))
            elif "invalid" in message:
                self._invalid(mutant, str(message["invalid"]))
            elif "flaky" in message:
                self._flaky.add(at)
                self._step()
                at, groups = at + 1, None
                return False
            elif "leaked" in message:
                assert groups
                leaked = [int(a) for a in message["leaked"]]
                half = len(leaked) // 2
                groups[:1] = [leaked[:half], leaked[half:]] if half else []
                self._quarantine.update(leaked if not half else ())
                return False
            return True

        def ended(death: Death) -> None:
            nonlocal at, groups
            if death.how == "exited":
                self._step(len(self._inputs) - at)
                at = len(self._inputs)
            elif mutant >= 0:
                # Alone in a separate child, a death is caused by the mutant.
                self._quarantine.add(mutant)
            else:
                self._step()
                at, groups = at + 1, None  # the original dies on this input

        def more() -> bool:
            nonlocal mutant
            mutant = -1
            return at < len(self._inputs)

        def work(send: Tell) -> None:
            self._work(share, at, groups, send)

        yield from self._host.series(more, work, answer, ended)

    def _work(
        self, share: frozenset[int], start: int, groups: list[list[int]] | None, send: Tell
    ) -> None:
        """Run these mutants on the inputs from ``start`` on. ``groups``: those for the first one;
        None: all that it infects.
        """
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
            program.changed()
            if not self._criterion.judges(plain.outcome):
                continue
            if at != start or groups is None:
                probing.cover(program.units_of(plain.observed))
                program.install(probing)
                probing.clear()
                original = executor.run(data)
                infected = [a for a in probing.infected() if a in alive]
                if fresh := [a for a in probing.reached() if a not in self._reached]:
                    self._reached.update(fresh)
                    send({"reached": fresh})
                program.install(None)
                send({"infected": infected})
                todo = _chunks(infected)
            else:
                original, todo = plain, groups
            if not todo:
                continue
            try:
                turns = mutant_executor.measure(original)
            except Unstable:
                send({"flaky": True})
                return
            for group in todo:
                ran = [a for a in group if a in alive]
                wrong = self._run(mutant_executor, original, ran, send, turns=turns, alive=alive)
                if wrong:
                    send({wrong: ran})
                    return
                send({"done": True})

    def _run(
        self,
        mutant_executor: MutantExecutor,
        original: Execution,
        group: list[int],
        send: Tell,
        *,
        turns: int,
        alive: set[int],
    ) -> str:
        """Run a group of mutants on an input and send its kills. Returns an empty string, or what
        is wrong: ``flaky``, the input, or ``leaked``, a mutant changed some state.
        """
        kills: list[tuple[int, str, str]] = []
        while True:
            for a in group:
                if a not in alive:
                    continue
                send({"begin": a})
                try:
                    verdict = mutant_executor.verdict(original, self._program.mutants[a], turns)
                except CannotSwap as e:
                    send({"invalid": str(e)})
                    alive.discard(a)
                    continue
                if verdict is not None:
                    kills.append((a, verdict.oracle, verdict.detail))
            # Mutants may have run with what others have left: that is put back from now on.
            if not self._program.changed():
                break
            kills.clear()
        if not mutant_executor.repeats(original):
            return "flaky" if mutant_executor.varies(original) else "leaked"
        alive.difference_update(a for a, _, _ in kills)
        if kills:
            send({"kills": kills})
        return ""

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
            "exact": self.exact,
            "inputs": len(self._inputs),
            "flaky": len(self._flaky),
            "warnings": self._warnings,
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
            "reached": m.index in self._reached or self._state[m.index] in ("alive", "killed"),
            "killer": killer,
            "oracle": verdict.oracle,
            "detail": verdict.detail or self._reasons.get(m.index, ""),
        }
