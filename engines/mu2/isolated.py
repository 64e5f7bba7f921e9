"""Run isolated mutants in child processes: those that cannot, or must not, run in this one.

*Static* mutants are in code that runs at import: a child imports the application again with the
mutant in it. Mutants that killed a worker or changed the program's state are swapped in as usual,
but in a child. If a child dies or becomes silent, the mutant that it announced last is the cause;
this is a kill if it happens again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.findings.compare import cut
from fuzztui.engines.instrument.fuel import FUEL_PERIOD
from fuzztui.engines.mu2.kill_criterion import TIMEOUT, KillEvidence
from fuzztui.engines.mu2.mutant_executor import MutantExecutor, allowance
from fuzztui.engines.mutants.program import CannotSwap, PythonMutant
from fuzztui.engines.suite.properties import SetUpError
from fuzztui.kernel.base.text import visible

Pair = tuple[PythonMutant, int, bytes]
"""A mutant, a key for the input, and the input."""

Reload = Callable[[PythonMutant | None], Executor]
"""Import the application again in a child, with a mutant or None; return its executor."""

Work = Callable[[Sequence[Pair], bool, Tell], None]
"""Run the pairs in the child. The flag: whether this run confirms the kill of a single pair."""

_IMPORT_TIMES: Final = 10
"""Factor by which an import with a mutant may be slower; it reports nothing meanwhile."""
_SHOWN: Final = 60
"""Characters of an input in a message."""
_DEEPER: Final = 100
"""Stack frames added to the recursion limit: the first import began with a smaller stack."""


@dataclass(frozen=True, slots=True)
class IsolatedResult:
    """The result of one pair; ``verdict`` None: the mutant survived.

    ``wrong``: why the mutant could not be run; an empty string if it was run.
    ``flaky``: the result is unknown, because the original behaves differently on the input.
    """

    index: int
    key: int
    verdict: KillEvidence | None
    wrong: str = ""
    flaky: bool = False


class IsolatedRunner:
    """Runs pairs of a mutant and an input in children.

    A mutant that must be imported has a child of its own, an ``unrestored`` one a child for each
    input. The others share a child. If a child dies, another one continues.
    """

    def __init__(
        self,
        mutants: MutantExecutor,
        reload: Reload,
        host: ChildHost,
        *,
        import_s: float,
        import_periods: int,
    ) -> None:
        """``import_s``, ``import_periods``: time and fuel that the import of the program took."""
        # doing="": an error of fuzztui in a child invalidates a mutant; the engine continues.
        self._host = replace(host, doing="", patient=False)
        self._mutants, self._executor, self._program = mutants, mutants.executor, mutants.program
        self._criterion = mutants.criterion
        self._reload = reload
        self._import_s = _IMPORT_TIMES * import_s
        self._import_fuel = allowance(import_periods, again=True)

    def run(self, pairs: Sequence[Pair]) -> Iterator[IsolatedResult | None]:
        """Run the pairs in order; skip the remaining pairs of a killed mutant.

        Yields None, without waiting, while no result is available.
        """
        imported: dict[int, list[Pair]] = {}
        for pair in pairs:
            if _is_imported(pair[0]):
                imported.setdefault(pair[0].index, []).append(pair)
        yield from self._children([p for p in pairs if not _is_imported(p[0])], self._swapped)
        for those in imported.values():
            # An earlier input would leave state of an unrestored unit, which cannot be restored.
            each = [[pair] for pair in those] if those[0][0].unrestored else [those]
            for some in each:
                killed = False
                for result in self._children(some, self._reloaded):
                    killed |= result is not None and bool(result.verdict or result.wrong)
                    yield result
                if killed:
                    break

    def _children(self, pairs: list[Pair], work: Work) -> Iterator[IsolatedResult | None]:
        while pairs:
            at, entered = 0, False
            over: set[int] = set()
            left: set[int] = set()
            """Positions of pairs that have not been run."""
            death: Death | None = None
            for message in self._in_child(work, pairs):
                if message is None:
                    yield None
                elif isinstance(message, Death):
                    death = message
                elif "original" in message or "begin" in message:
                    entered = "begin" in message
                    at = int(message["begin" if entered else "original"])
                else:
                    result = yield from self._judged(
                        _read_result(pairs[at], message), pairs[at], work
                    )
                    if result.verdict is not None or result.wrong:
                        over.add(result.index)
                    elif message.get("verdict"):  # the child skips the killed mutant's other pairs
                        behind = range(at + 1, len(pairs))
                        left.update(n for n in behind if pairs[n][0].index == result.index)
                    yield result
            if death is not None and death.how != "exited":
                mutant, key, _ = pairs[at]
                left.update(range(at + 1, len(pairs)))
                if death.how == "raised":  # an error of fuzztui, not of the mutant
                    yield IsolatedResult(
                        mutant.index, key, None, f"its child process {death.words}"
                    )
                    over.add(mutant.index)
                elif not entered:  # the original died: the later pairs have not run yet
                    yield IsolatedResult(mutant.index, key, None, flaky=True)
                    if _is_imported(mutant):  # it has not run on the earlier inputs either
                        left.update(range(at))
                else:
                    result = IsolatedResult(mutant.index, key, _of_death(death))
                    result = yield from self._judged(result, pairs[at], work)
                    yield result
                    if result.verdict is not None:
                        over.add(mutant.index)
            pairs = [pairs[n] for n in sorted(left) if pairs[n][0].index not in over]

    def _in_child(
        self, work: Work, pairs: Sequence[Pair], *, confirms: bool = False
    ) -> Iterator[Any]:
        host = self._host
        if _is_imported(pairs[0][0]):
            host = replace(host, silence_s=host.silence_s + self._import_s)
        return host.child(partial(work, pairs, confirms))

    def _judged(
        self, result: IsolatedResult, pair: Pair, work: Work
    ) -> Generator[None, None, IsolatedResult]:
        """Confirm a kill in a child that runs nothing else; unconfirmed kills are dropped."""
        if result.verdict is None:
            return result
        again: KillEvidence | None = None
        for message in self._in_child(work, [pair], confirms=True):
            if message is None:
                yield None
            elif isinstance(message, Death):
                again = _of_death(message) or again
            elif message.get("wrong"):
                return IsolatedResult(result.index, result.key, None, str(message["wrong"]))
            elif message.get("flaky"):
                return IsolatedResult(result.index, result.key, None, flaky=True)
            elif message.get("verdict"):
                again = _verdict(message)
        if again is not None and result.verdict.oracle == TIMEOUT != again.oracle:
            # The mutant is slow, not endless, and differs from the original at its end.
            return (
                yield from self._judged(IsolatedResult(result.index, result.key, again), pair, work)
            )
        same = again is not None and again.oracle == result.verdict.oracle
        return result if same else IsolatedResult(result.index, result.key, None)

    # ------------------------------------------------------------- in the child

    def _swapped(self, pairs: Sequence[Pair], confirms: bool, send: Tell) -> None:
        self._executor.in_child()
        mutant_executor = self._mutants
        killed: set[int] = set()
        for at, (mutant, _, data) in enumerate(pairs):
            if mutant.index in killed:
                continue
            send({"original": at})
            original = self._executor.call(data)
            self._program.changed()
            if confirms and not mutant_executor.repeats(original):
                send({"flaky": True})
                return
            send({"begin": at})
            try:
                found = mutant_executor.once(original, mutant)
                if self._program.changed():  # the mutant ran with what it had left in another run
                    found = mutant_executor.once(original, mutant)
            except CannotSwap as e:
                send({"wrong": str(e)})
                killed.add(mutant.index)
                continue
            if found is not None:
                killed.add(mutant.index)
            send({"verdict": found and [found.oracle, found.detail]})

    def _reloaded(self, pairs: Sequence[Pair], confirms: bool, send: Tell) -> None:
        """Run the pairs of one static mutant: import the original again, then the mutant.

        After each input, the state that the import left is put back. When confirming, the
        re-imported original must also behave as the original in this process.
        """
        self._executor.in_child()
        mutant = pairs[0][0]
        send({"original": 0})
        usual = self._executor.call(pairs[0][2]) if confirms else None
        try:
            plain = self._import(None)
        except BaseException as e:
            send({"wrong": f"the original cannot be re-imported: {_cause(e)}"})
            return
        originals = []
        for at, (_, _, data) in enumerate(pairs):
            send({"original": at})
            originals.append(original := plain.call(data))
            if isinstance(original.error, SetUpError):
                send({"wrong": f"the original cannot be set up again: {original.error}"})
                return
            self._put_back()
        if usual and (difference := self._criterion.difference(usual, originals[0])):
            shown, detail = (
                self._shown(pairs[0][2]),
                difference.detail.replace("the mutant", "then"),
            )
            what = "the original behaves differently after it is re-imported"
            send({"wrong": f"{what}, on {shown}: {detail}"})
            return
        send({"begin": 0})
        other, verdict = self._imported(mutant, send)
        if other is not None:
            for at, original in enumerate(originals):
                send({"begin": at})
                fuel = allowance(original.turns // FUEL_PERIOD, again=confirms)
                mutated = other.call(original.data, fuel)
                self._put_back()
                verdict = self._criterion.verdict(original, mutated)
                if verdict is not None:
                    break
                send({"verdict": None})
        if verdict is not None:
            send({"verdict": [verdict.oracle, verdict.detail]})

    def _shown(self, data: bytes) -> str:
        """An input as a short text for users; for choices, what the generator makes of them."""
        form, guarded = self._executor.form, self._executor.guarded
        made = guarded(lambda: repr(form.build(data)), "") if form.choices else ""
        return visible(cut(made or repr(data), _SHOWN))

    def _put_back(self) -> None:
        """Restore the state of the imported program as it was after the import."""
        self._program.changed()
        self._program.clear_caches()

    def _imported(
        self, mutant: PythonMutant, send: Tell
    ) -> tuple[Executor | None, KillEvidence | None]:
        """Import the mutant. Returns its executor, or the kill that its import already is."""
        try:
            other = self._import(mutant)
        except CannotSwap as e:
            send({"wrong": str(e)})
            return None, None
        except BaseException as e:
            if not self._executor.guard.expired:
                words = f"importing the program with the mutant raised {_cause(e)}"
                return None, KillEvidence("exception", words)
        else:
            if not self._executor.guard.expired:
                return other, None
        return None, KillEvidence(TIMEOUT, "importing the program with the mutant did not end")

    def _import(self, mutant: PythonMutant | None) -> Executor:
        """Import the program with a limit of fuel only: the guard's clock is meant for trials."""
        guard = self._executor.guard
        guard.disarm()
        guard.start(self._import_fuel, capped=False)
        depth = sys.getrecursionlimit()
        sys.setrecursionlimit(depth + _DEEPER)
        try:
            return self._reload(mutant)
        finally:
            sys.setrecursionlimit(depth)
            guard.stop()
            guard.arm()


def _is_imported(mutant: PythonMutant) -> bool:
    """Whether a child imports the program with the mutant, instead of swapping it in."""
    return mutant.ran_at_import or mutant.unrestored


def _read_result(pair: Pair, message: dict[str, Any]) -> IsolatedResult:
    wrong, flaky = str(message.get("wrong", "")), bool(message.get("flaky"))
    return IsolatedResult(pair[0].index, pair[1], _verdict(message), wrong, flaky)


def _verdict(message: dict[str, Any]) -> KillEvidence | None:
    verdict = message.get("verdict")
    return None if verdict is None else KillEvidence(str(verdict[0]), str(verdict[1]))


def _of_death(death: Death) -> KillEvidence | None:
    """The kill by a mutant whose process has ended in this way; None if that is no kill."""
    if death.how == "hung":
        return KillEvidence(TIMEOUT, "the mutant hung")
    return KillEvidence("died", f"the mutant {death.words}") if death.how == "died" else None


def _cause(error: BaseException) -> str:
    """The class of the import's exception, which ``load_target`` may have wrapped."""
    inner = error.__context__
    return type(inner if isinstance(error, CannotStart) and inner is not None else error).__name__
