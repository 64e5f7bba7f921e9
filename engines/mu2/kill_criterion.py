"""The kill criterion KILLS(P', x): whether a mutant's run differs from the original's.

Differential mutation testing (section IV-A of the Mu2 paper). In the paper a mutant is killed by a
different value, an uncaught exception, or a timeout, and only if the original returns (mode
*paper*). The released tool, and the default here (*differential*), also counts a kill if the
original rejects the input and the mutant accepts it or raises an exception of another class. Mode
*strict* also compares the messages of exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeVar

from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.execute.failures import title_of
from fuzztui.engines.findings.compare import cut, from_difference, long_repr, same, unseen_part
from fuzztui.engines.inputs.shape import type_name, without_addresses
from fuzztui.engines.inputs.source import Rejected
from fuzztui.engines.instrument.guard import TrialTimeout
from fuzztui.kernel.base.text import visible

_T = TypeVar("_T")

Mode = Literal["differential", "paper", "strict"]

Compare = Callable[[object, object], object]
"""The user's ``target.compare(original, mutant)``: true if the values count as the same."""

_DETAIL: Final = 200
_SHOWN: Final = 60
_PROBLEMS: Final = 20
_LOOKS: Final = 100


class Guarded(Protocol):
    """The type of :meth:`Executor.guarded`."""

    def __call__(self, call: Callable[[], _T], otherwise: _T, /) -> _T:
        """Return ``call()``, or ``otherwise`` if it raises or does not end."""


TIMEOUT: Final = "timeout"
"""The kind of kill if one of the two runs did not end."""


@dataclass(frozen=True, slots=True)
class KillEvidence:
    """How a mutant was killed. ``oracle``: one of value, exception, timeout, died.

    ``detail``: one line for users, escaped for terminals, at most 200 characters.
    """

    oracle: str
    detail: str


class KillCriterion:
    """Compares executions. Code of the target (``__eq__``, ``__repr__``) runs under the guard."""

    def __init__(
        self,
        mode: Mode,
        compare: Compare | None,
        guarded: Guarded,
        *,
        rejections: bool = True,
    ) -> None:
        """``compare``: None: :func:`~fuzztui.engines.findings.compare.same`.

        ``rejections``: False: a mutant is not killed because it rejects an input (as by
        ``assume``) or accepts one that the original rejects: no test would fail.
        """
        self._mode, self._compare, self._guarded = mode, compare, guarded
        self._rejections = rejections
        self.problems: list[str] = []
        """Messages why values could not be compared; each once, at most 20."""
        self._looked_at: set[int] = set()
        self.uncompared = 0
        """Values, among the first hundred looked at, that cannot be compared as a whole."""

    def judges(self, outcome: Outcome) -> bool:
        """Whether an input on which the original has this outcome can kill a mutant."""
        if outcome is Outcome.SUCCESS:
            return True
        return outcome is Outcome.INVALID and self._mode != "paper"

    def verdict(self, original: Execution, mutated: Execution) -> KillEvidence | None:
        """How the mutant's run differs from the original's; None if it is not killed."""
        if not self._rejections and (
            isinstance(mutated.error, Rejected)
            or (mutated.outcome is Outcome.SUCCESS and isinstance(original.error, Rejected))
        ):
            return None
        return self.difference(original, mutated)

    def difference(self, original: Execution, mutated: Execution) -> KillEvidence | None:
        """How two runs differ; None if they do not. Also used for two runs of the original."""
        if Outcome.TIMEOUT in (original.outcome, mutated.outcome):
            return self._by_time(original, mutated)
        if original.error is not None or mutated.error is not None:
            return self._by_error(original, mutated)
        if self._same(original.value, mutated.value):
            return None
        return KillEvidence("value", self._difference(original.value, mutated.value))

    def _by_time(self, original: Execution, mutated: Execution) -> KillEvidence | None:
        if original.outcome is mutated.outcome:
            return None
        if original.outcome is Outcome.TIMEOUT:
            return KillEvidence(TIMEOUT, "did not end, the mutant did")
        return KillEvidence(TIMEOUT, "the mutant did not end")

    # --------------------------------------------------------------------- exceptions

    def _by_error(self, original: Execution, mutated: Execution) -> KillEvidence | None:
        before, after = original.error, mutated.error
        if before is None:
            return _verdict("exception", f"the mutant raised {self._title(after)}")
        if after is None:
            what = f"returned {cut(self._repr(mutated.value), _SHOWN)}"
            return _verdict("exception", f"raised {_class(before)}, the mutant {what}")
        if type_name(type(before)) != type_name(type(after)):
            what = self._title(after)
            return _verdict("exception", f"raised {_class(before)}, the mutant {what}")
        if self._mode == "strict":
            one, other = self._title(before), self._title(after)
            if one != other:
                one, other = from_difference(one, other, _SHOWN)
                return _verdict("exception", f"raised {one}, the mutant {other}")
        return None

    def _title(self, error: BaseException | None) -> str:
        if error is None:
            return ""
        return self._guarded(lambda: without_addresses(title_of(error)), _class(error))

    # ------------------------------------------------------------------------- values

    def look_at(self, original: Execution, entry: int) -> None:
        """Count the value of an entry if it cannot be compared as a whole; report the first.

        Only the values of the first hundred entries are examined, once each.
        """
        if self._compare or original.outcome is not Outcome.SUCCESS:
            return
        if entry in self._looked_at or len(self._looked_at) >= _LOOKS:
            return
        self._looked_at.add(entry)
        if part := self._guarded(lambda: unseen_part(original.value), ""):
            self.uncompared += 1
            if self.uncompared == 1:
                self._problem(
                    f"values hold parts that cannot be compared, such as {part}; no change of them "
                    "kills a mutant: 'fuzztui check' names a target.compare that may show them"
                )

    def _same(self, a: object, b: object) -> bool:
        """Whether two values are the same. Values that cannot be compared count as the same."""
        compare = self._compare
        if compare is None:
            found = self._guarded(lambda: same(a, b), None)
        else:
            found = self._guarded(lambda: self._user_compares(compare, a, b), None)
        if found is None:
            what = "comparing values" if compare is None else "target.compare"
            self._problem(f"{what} exceeds the time limit; these values count as equal")
        return found is not False

    def _user_compares(self, compare: Compare, a: object, b: object) -> bool:
        try:
            return bool(compare(a, b))
        except TrialTimeout:
            raise
        except BaseException as e:
            # The exception's message may contain the values, so each message may be different.
            self._problem(f"target.compare raised {_class(e)}; these values count as equal", e)
            return True

    def _problem(self, text: str, error: BaseException | None = None) -> None:
        is_known = any(known.startswith(text) for known in self.problems)
        if not is_known and len(self.problems) < _PROBLEMS:
            self.problems.append(_line(text if error is None else f"{text} ({title_of(error)})"))

    def _difference(self, a: object, b: object) -> str:
        ours, theirs = self._repr(a), self._repr(b)
        if ours != theirs:
            ours, theirs = from_difference(ours, theirs, _SHOWN)
            return _line(f"returned {ours}, the mutant {theirs}")
        if _class(a) != _class(b):
            return _line(f"returned a {_class(a)}, the mutant a {_class(b)}")
        return _line(f"returned {cut(ours, _SHOWN)}, the mutant a different value that looks equal")

    def _repr(self, value: object) -> str:
        """A long but bounded ``repr()`` of a value."""
        shown = self._guarded(lambda: long_repr(value), "")
        return shown or f"a {_class(value)}"


def _class(value: object) -> str:
    return type_name(type(value)).removeprefix("builtins.")


def _line(text: str) -> str:
    return cut(visible(text), _DETAIL)


def _verdict(oracle: str, detail: str) -> KillEvidence:
    return KillEvidence(oracle, _line(detail))
