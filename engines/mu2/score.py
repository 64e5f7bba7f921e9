"""Compute the exact mutation score of any folder of inputs.

There is no journal and no schedule: the mutants are divided among child processes. A child runs its
share of the mutants that an input infects, input by input, and reports each kill. If a child dies,
the next child continues, and the mutant that was running is tried again alone. Prints JSON lines:
``progress`` repeatedly, and ``result`` at the end.

With a kill matrix (:mod:`~fuzztui.engines.mu2.matrix`), a mutant runs on all inputs that infect it;
without, it is over at its first kill. The matrix may also contain only the first kill of each
mutant. For choosing a few inputs that together kill all killed mutants, these then also run on each
input that was the first to kill some mutant.

Only some of the mutants may be scored (:mod:`~fuzztui.engines.mu2.score_part`), as one job of many.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import stat
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory.events import read_reported
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.findings.answers import Say, answering
from fuzztui.engines.findings.unrepeatable import why_varying
from fuzztui.engines.mu2.engine import SILENT_LIMITS
from fuzztui.engines.mu2.isolated import IsolatedRunner
from fuzztui.engines.mu2.kill_criterion import KillCriterion, KillEvidence
from fuzztui.engines.mu2.matrix import ScoreMatrix, cells_of, digest_of
from fuzztui.engines.mu2.mutant_executor import MutantExecutor
from fuzztui.engines.mu2.restoration import NOT_JUDGED, RestorationCheck
from fuzztui.engines.mu2.score_child import ScoreChild, chunks
from fuzztui.engines.mu2.score_part import ScorePart, digest_of_part, read_part
from fuzztui.engines.mu2.set_ups import follow_set_ups, reloader
from fuzztui.engines.mutants.lasting_state import TOO_LARGE
from fuzztui.engines.mutants.late_modules import import_late_modules
from fuzztui.engines.mutants.listing import load_with_mutants
from fuzztui.engines.mutants.program import PythonMutant
from fuzztui.kernel.base.text import several

_PROGRESS_S: Final = 0.5
_SET_ASIDE: Final = ("skipped", "equivalent")
"""States by the user's verdict."""
_WAIT_S: Final = 0.005
_MAX_INPUT_BYTES: Final = 16 << 20


class _OutOfTime(Exception):
    """The time limit is over; the results are a lower bound."""


def score(
    spec: Spec,
    folders: Sequence[Path],
    jobs: int,
    *,
    within_s: float = 0.0,
    matrix: Path | None = None,
    kills: str = "all",
    part: Path | None = None,
) -> int:
    """Score the files in and below ``folders`` with ``jobs`` processes. Returns the exit status.

    ``within_s``: seconds after which the score found by then is the result; 0: no limit.
    ``matrix``: a file whose rows of a kill matrix are used again; the result then contains the
    matrix. None: no matrix. ``kills``: the kills in the matrix: ``all``; ``first``, one for each
    mutant; or ``cover``, which adds all other kills by the inputs of these first kills.
    ``part``: a file that says which mutants are scored; None: all.
    """
    chosen = None if part is None else read_part(part)
    until = time.monotonic() + within_s if within_s else float("inf")
    if chosen is not None and chosen.inputs:
        folders = chosen.inputs
    inputs = list(_inputs(folders))
    if not inputs:
        raise CannotStart(f"{', '.join(map(str, folders))}: no readable input to score")
    with answering(sort_keys=False) as say:
        loading = {"done": 0, "total": len(inputs), "killed": 0, "what": "loading the target"}
        say({"progress": loading})
        scorer = _Scorer(spec, inputs, say, (matrix, kills) if matrix else None, chosen)
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


def run_all(work: Iterable[Iterator[None]], jobs: int, until: float) -> None:
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


class _Scorer:
    """The state of all mutants, and the child processes that run them."""

    def __init__(
        self,
        spec: Spec,
        inputs: list[tuple[str, bytes]],
        say: Say,
        matrix: tuple[Path, str] | None,
        part: ScorePart | None,
    ) -> None:
        self._inputs, self._say, self._part = inputs, say, part
        file, kills = matrix or (None, "first")
        self._first, self._cover = kills != "all", kills == "cover"
        """``_first``: whether a mutant ends at its first kill. ``_cover``: whether killed mutants
        then run on all inputs that were the first to kill a mutant."""
        self.exact = True
        self._due = 0.0
        loaded = load_with_mutants(spec)
        executor = loaded.executor
        program = self._program = loaded.prepared
        target = loaded.target
        mode = spec.engine.options.get("oracle", "differential")
        suite = self._suite = target.suite
        criterion = KillCriterion(mode, target.compare, executor.guarded, rejections=suite is None)
        if suite is not None:
            follow_set_ups(suite, program)
        import_late_modules(spec, executor, loaded.application, suite=suite)
        reported = read_reported(spec.dir / "events.jsonl")
        for name in sorted({id_.partition(":")[0] for id_ in reported.found}):
            if loaded.application.has(name):
                with contextlib.suppress(Exception):  # so that the mutants are those of the run
                    importlib.import_module(name)
        program.scan()
        program.remember(spec.target)
        self._host = ChildHost.of(spec.target, "scoring", limits=SILENT_LIMITS, patient=False)
        reimport = reloader(program, executor, target, spec.target)
        host = replace(self._host, doing="", patient=True)
        self._mutants = MutantExecutor(executor, program, criterion)
        check = RestorationCheck(self._mutants, reimport, host)
        self._warnings = check.run([(f"input {name}", data) for name, data in inputs])
        if text := why_varying(check.varying, several(len(inputs), "input"), executor, host):
            self._warnings.append(text)
        if program.lasting is not None and program.lasting.left_out:
            self._warnings.append(TOO_LARGE)
        self._isolated = IsolatedRunner(
            self._mutants,
            reimport,
            self._host,
            import_s=target.import_s,
            import_periods=executor.guard.spent,
        )
        states = reported.mutants
        verdicts = {
            m.index: states[m.id].state
            for m in program.mutants
            if m.id in states and states[m.id].state in _SET_ASIDE
        }
        self._state = {m.index: verdicts.get(m.index, "pending") for m in program.mutants}
        self._mine = [m.index for m in program.mutants if part is None or part.has(m.index)]
        """The mutants to score."""
        self._alive = {at for at in self._mine if self._state[at] == "pending"}
        self._kills: dict[int, dict[int, KillEvidence]] = {}
        """The kills of each mutant, by number of the input; only the first one if ``_first``."""
        self._reasons: dict[int, str] = {}
        self._reached: set[int] = set()
        self._quarantine = {m.index for m in program.mutants if m.unrestored}
        names = frozenset[str]() if part is None else part.flaky
        self._flaky = {n for n, (name, _) in enumerate(inputs) if name in names}
        self._digest = "" if matrix is None and part is None else digest_of(spec, loaded.table)
        self._matrix: ScoreMatrix | None = None
        self._known: set[int] = set()
        """Numbers of the inputs whose rows of the matrix come from the file."""
        if file is not None:
            self._read_matrix(self._digest, file, cells_of(loaded.table))
        for m in program.mutants:
            if m.unit is not None and m.unit.unjudged and m.index in self._alive:
                self._invalid(m.index, NOT_JUDGED)
        self._begin(0, "")

    def _read_matrix(
        self, digest: str, file: Path, cells: Sequence[tuple[str, int, str, str]]
    ) -> None:
        """Begin a kill matrix with the rows that are in the file."""
        matrix = self._matrix = ScoreMatrix(digest, self._inputs, self._program.mutants, cells)
        matrix.read(file, first=self._first)
        self._known = matrix.known
        for a, why in matrix.invalid.items():
            self._invalid(a, why)
        self._quarantine |= matrix.first_only.keys() | matrix.isolated
        matrix.isolated = self._quarantine
        for a in matrix.first_only:
            self._ran(a)
        for row in matrix.rows:
            row.whole &= row.known or not self._first
        for at in sorted(self._known):
            row = matrix.rows[at]
            self._reached |= row.reached
            for a in row.infected:
                self._ran(a)
            for a, oracle in row.kills.items():
                if self._state[a] not in _SET_ASIDE:  # the user may have set it aside since then
                    self._killed(a, at, KillEvidence(oracle, ""))

    def run(self, jobs: int, until: float) -> None:
        """Run all mutants on all inputs. Raises :class:`_OutOfTime`."""
        try:
            self._run_all(jobs, until)
        finally:
            if self._matrix is not None:
                self.exact &= self._matrix.complete(self._shares)

    def _run_all(self, jobs: int, until: float) -> None:
        mutants = self._program.mutants
        # Neighbouring mutants have similar costs, so they go to different children.
        self._shares = jobs
        shares = [frozenset(self._mine[n::jobs]) for n in range(jobs)]
        self._begin(jobs * (len(self._inputs) - len(self._known)), "inputs", jobs)
        run_all((self._swapped(share, self._known) for share in shares), jobs, until)
        self._run_doubtful(jobs, until)
        quarantine = self._quarantine
        isolated = [a for a in sorted(self._alive) if mutants[a].ran_at_import or a in quarantine]
        isolated = [a for a in isolated if a not in self._kills]
        self._begin(len(isolated), "mutants in child processes")
        run_all(map(self._run_isolated, isolated), jobs, until)
        if self._cover and self._matrix is not None:
            self._run_on_killers(self._matrix, shares, until)
            self._run_doubtful(jobs, until)

    def _run_on_killers(
        self, matrix: ScoreMatrix, shares: Sequence[frozenset[int]], until: float
    ) -> None:
        """Run the killed mutants on all inputs that were the first to kill some mutant.

        Survivors are not run: no input kills them.
        """
        killers = {at for at, row in enumerate(matrix.rows) if row.kills and not row.whole}
        others = frozenset(range(len(self._inputs))) - killers
        jobs, alive = len(shares), self._alive
        passed = {at: matrix.rows[at].passed for at in killers}
        self._alive, self._first = {*self._kills} - self._quarantine, False
        self._begin(jobs * len(killers), "inputs that kill", jobs)
        try:
            run_all((self._swapped(share, others) for share in shares), jobs, until)
        finally:
            self._alive, self._first = alive, True
            for at, before in passed.items():
                matrix.rows[at].whole = matrix.rows[at].passed >= before + jobs

    def _run_doubtful(self, jobs: int, until: float) -> None:
        while doubtful := self._revoke_flaky_kills():
            run_all([self._swapped(doubtful, frozenset())], jobs, until)

    # --------------------------------------------------------------- the children

    def _run_isolated(self, a: int) -> Iterator[None]:
        """Run one isolated mutant on all inputs, in separate children; yields while it waits."""
        mutant = self._program.mutants[a]
        inputs = enumerate(data for _, data in self._inputs)
        left_out = set(self._flaky)
        if self._matrix is not None and a in self._matrix.first_only:
            left_out |= self._known  # it survives them
        pairs = [(mutant, key, data) for key, data in inputs if key not in left_out]
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
        if self._matrix is not None:
            self._matrix.first_only[a] = next(iter(self._kills.get(a, ())), None)
        self._step()

    def _revoke_flaky_kills(self) -> frozenset[int]:
        """Revoke the kills of inputs that another child found to be flaky.

        Returns the mutants that must run again on the other inputs.
        """
        if self._matrix is not None:
            for at in self._flaky:
                self._matrix.spoil(at, "flaky")
        taken = {a for a, kills in self._kills.items() if not self._flaky.isdisjoint(kills)}
        for a in taken.copy():
            self._kills[a] = {n: k for n, k in self._kills[a].items() if n not in self._flaky}
            if self._kills[a]:
                taken.remove(a)
                continue
            del self._kills[a]
            self._state[a] = "alive"
        self._alive |= taken
        # Unless a mutant's first kill ended its runs, it has run on all inputs already.
        return frozenset(taken) if self._first else frozenset()

    def _swapped(self, share: frozenset[int], left_out: Set[int]) -> Iterator[None]:
        """Run a share of the mutants on all other inputs; yields while it waits."""
        at, mutant = 0, -1
        """The input and the mutant that are running; -1: the original runs."""
        groups: list[list[int]] | None = None
        """The mutants that are still to be run on this input; None: not known yet."""

        def move(to: int) -> None:
            nonlocal at, groups
            if self._matrix is not None:
                self._matrix.passed(range(at, to))
            self._step(sum(n not in left_out for n in range(at, to)))
            at, groups = to, None

        def answer(message: dict[str, Any]) -> bool:
            nonlocal mutant, groups
            if "input" in message:
                if (now := int(message["input"])) != at:
                    move(now)
                mutant = -1
            elif "ran" in message and self._matrix is not None:
                self._matrix.ran(at, *message["ran"])
            elif "infected" in message:
                groups = chunks(message["infected"])
                if self._matrix is not None:
                    self._matrix.rows[at].infected.update(message["infected"])
            elif "done" in message:
                assert groups
                groups.pop(0)
            elif "begin" in message:
                mutant = int(message["begin"])
                self._ran(mutant)
            elif "kills" in message:
                for killed, oracle, detail in message["kills"]:
                    self._killed(killed, at, KillEvidence(oracle, detail))
            elif "reached" in message:
                self._reached.update(map(int, message["reached"]))
                if self._matrix is not None:
                    self._matrix.rows[at].reached.update(message["reached"])
            elif "invalid" in message:
                self._invalid(mutant, str(message["invalid"]))
            elif "flaky" in message:
                self._flaky.add(at)
                move(at + 1)
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
            if death.how == "exited":
                move(len(self._inputs))
            elif mutant >= 0:
                # Alone in a separate child, a death is caused by the mutant.
                self._quarantine.add(mutant)
            else:
                if self._matrix is not None:
                    self._matrix.spoil(at, "died")
                move(at + 1)  # the original dies on this input

        def more() -> bool:
            nonlocal mutant
            mutant = -1
            return at < len(self._inputs)

        def work(send: Tell) -> None:
            skipped = self._flaky | left_out
            alive = (self._alive & share) - self._quarantine
            child = ScoreChild(
                self._mutants,
                inputs=self._inputs,
                skipped=skipped,
                alive=alive,
                known_reached=self._reached if self._first else None,
            )
            child.run(at, groups, send)

        yield from self._host.series(more, work, answer, ended)

    # ---------------------------------------------------------------- the outcome

    def _ran(self, mutant: int) -> None:
        if self._state[mutant] == "pending":
            self._state[mutant] = "alive"

    def _killed(self, mutant: int, at: int, verdict: KillEvidence) -> None:
        self._state[mutant] = "killed"
        self._kills.setdefault(mutant, {})[at] = verdict
        if self._first:
            self._alive.discard(mutant)
        if self._matrix is not None:
            self._matrix.rows[at].kills[mutant] = verdict.oracle

    def _invalid(self, mutant: int, why: str) -> None:
        self._alive.discard(mutant)
        self._state[mutant], self._reasons[mutant] = "invalid", why
        if self._matrix is not None and why != NOT_JUDGED:  # which depends on the inputs
            self._matrix.invalid[mutant] = why

    def _begin(self, total: int, what: str, each: int = 1) -> None:
        """Start a phase of ``total`` steps; ``each`` steps count as one in the reported progress.

        ``what``: the name of the phase, for users.
        """
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
        matrix = {} if self._matrix is None else {"matrix": self._matrix.as_dict()}
        whole = {"program": self._program.program_sum.hex, "shard": self._shard()}
        if self._part is not None:
            return {
                "total": len(mutants),
                "static": sum(mutants[a].static for a in self._mine),
                "exact": self.exact,
                "inputs": len(self._inputs),
                "flaky": [self._inputs[n][0] for n in sorted(self._flaky)],
                "warnings": self._warnings,
                **whole,
                "indices": self._mine,
                "mutants": [self._row(mutants[a]) for a in self._mine],
                "digest": digest_of_part(self._digest, self._inputs),
                **matrix,
            }
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
            **whole,
            "mutants": [self._row(m) for m in mutants],
            **matrix,
        }

    def _shard(self) -> dict[str, int] | None:
        """The part of the program's mutants that was run; None: all."""
        if (shard := self._program.shard) is None:
            return None
        whole = self._program.program_sum.mutants
        return {"number": shard.number, "of": shard.of, "mutants": whole}

    def _property_of(self, at: int) -> str:
        """The property of an input; empty if the target is no suite."""
        one = None if self._suite is None else self._suite.of(self._inputs[at][1])
        return "" if one is None else one.name

    def _row(self, m: PythonMutant) -> dict[str, Any]:
        kills = self._kills.get(m.index, {})
        at = min(kills, default=-1)
        verdict = kills.get(at) or KillEvidence("", "")
        return {
            "id": m.id,
            "file": m.file,
            "path": m.path,
            **m.described,
            "state": self._state[m.index],
            "reached": m.index in self._reached or self._state[m.index] in ("alive", "killed"),
            "killer": self._inputs[at][0] if kills else "",
            "property": self._property_of(at) if kills else "",
            "oracle": verdict.oracle,
            "detail": verdict.detail or self._reasons.get(m.index, ""),
        }
