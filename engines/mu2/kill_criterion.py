"""The oracle of KILLS(P', x): does a mutant's run differ from the program's?

Differential mutation testing (section IV-A of the Mu2 paper). The paper kills by a
differing value, an uncaught exception, or a timeout, and only where the program itself
returns (mode *paper*). The released tool, and the default here (*differential*), also
kills where the program rejects the input and the mutant does not, or rejects it with an
exception of another class. Mode *strict* compares the messages of exceptions too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeVar

from fuzztui.base.text import visible
from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.execute.guard import TrialTimeout
from fuzztui.engines.findings.compare import same
from fuzztui.engines.findings.contrast import cut, from_difference, long_repr
from fuzztui.engines.findings.failures import title_of
from fuzztui.engines.inputs.shape import type_name, without_addresses

__all__ = ["TIMEOUT", "Compare", "Guarded", "KillCriterion", "KillEvidence", "Mode"]

_T = TypeVar("_T")

Mode = Literal["differential", "paper", "strict"]

Compare = Callable[[object, object], object]
"""A user's: are the program's value and the mutant's the same? Any truth value."""

_DETAIL: Final = 200
_SHOWN: Final = 60
_PROBLEMS: Final = 20


class Guarded(Protocol):
    """:meth:`Executor.guarded`."""

    def __call__(self, call: Callable[[], _T], otherwise: _T, /) -> _T:
        """What ``call()`` returns; ``otherwise`` if it raises or does not end."""


TIMEOUT: Final = "timeout"
"""The oracle of what did not end."""


@dataclass(frozen=True, slots=True)
class KillEvidence:
    """A kill. ``oracle``: how it showed, one of value, exception, timeout, died.

    ``detail``: one line for users, harmless on a terminal, at most 200 characters.
    """

    oracle: str
    detail: str


class KillCriterion:
    """Compares executions. Calls the target's own code (``__eq__``, ``__repr__``) guarded."""

    def __init__(self, mode: Mode, compare: Compare | None, guarded: Guarded) -> None:
        """``compare`` None: :func:`~fuzztui.engines.findings.compare.same`."""
        self._mode, self._compare, self._guarded = mode, compare, guarded
        self.problems: list[str] = []
        """Why values could not be compared, in words; each once, a few at most."""

    def judges(self, outcome: Outcome) -> bool:
        """May an input with this outcome of the program kill at all?"""
        if outcome is Outcome.SUCCESS:
            return True
        return outcome is Outcome.INVALID and self._mode != "paper"

    def verdict(self, original: Execution, mutated: Execution) -> KillEvidence | None:
        """How the mutant's run differs from the program's; None if it does not."""
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

    def _same(self, a: object, b: object) -> bool:
        """What cannot be compared does not kill: the comparison is broken, not the mutant."""
        compare = self._compare
        if compare is None:
            found = self._guarded(lambda: same(a, b), None)
        else:
            found = self._guarded(lambda: self._asked(compare, a, b), None)
        if found is None:
            what = "comparing values" if compare is None else "target.compare"
            self._problem(f"{what} takes longer than the time limit: such values do not kill")
        return found is not False

    def _asked(self, compare: Compare, a: object, b: object) -> bool:
        try:
            return bool(compare(a, b))
        except TrialTimeout:
            raise
        except BaseException as e:
            # Its message may hold the values, and so be another each time.
            self._problem(f"target.compare raised {_class(e)}: such values do not kill", e)
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
        return _line(f"returned {cut(ours, _SHOWN)}, the mutant another that looks alike")

    def _repr(self, value: object) -> str:
        """A long but bounded ``repr()``."""
        shown = self._guarded(lambda: long_repr(value), "")
        return shown or f"a {_class(value)}"


def _class(value: object) -> str:
    return type_name(type(value)).removeprefix("builtins.")


def _line(text: str) -> str:
    return cut(visible(text), _DETAIL)


def _verdict(oracle: str, detail: str) -> KillEvidence:
    return KillEvidence(oracle, _line(detail))
