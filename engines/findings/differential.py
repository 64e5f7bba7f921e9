"""The differential oracle: a second implementation must do the same as the target.

Both must accept the same inputs, and return the same values, as compared by
:func:`~fuzztui.engines.findings.compare.same` or by the harness (:func:`fuzztui.harness.compare`).
Which exception rejects an input does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.execute.failures import Failure, qualified, title_of
from fuzztui.engines.execute.message_oracle import without_numbers
from fuzztui.engines.findings.compare import cut, from_difference, long_repr, same, unseen_part
from fuzztui.engines.inputs.shape import ATOMS, ItemOrder, shape_of, type_name
from fuzztui.engines.instrument.guard import TrialTimeout
from fuzztui.engines.instrument.target import Target
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.wire.finding_kinds import DIFFERS

_MAX_SHOWN: Final = 60
_QUOTED: Final = re.compile(r"([\"'`])((?:(?!\1).)*)(?:\1|$)")
"""A quotation, perhaps cut off at the end of a message."""
_MIN_QUOTED: Final = 4
"""Characters below which a quotation may be a token of the grammar, such as a missing comma."""
_MAX_TITLE: Final = 150
_MAX_LINE: Final = 300
_MAX_TEXT: Final = 2000
_MAX_DEPTH: Final = 100
_LOOKS: Final = 100
"""Number of values that are examined for parts that cannot be compared."""

Compare = Callable[[Any, Any], object]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two implementations; ``detail`` contains both outcomes."""

    failure: Failure
    title: str
    detail: str


class DifferentialOracle:
    """Runs the second implementation in the same process, under the guard, without observers."""

    def __init__(
        self,
        executor: Executor,
        compare: Compare | None,
        *,
        names: tuple[str, str],
        always: bool = False,
        say: Callable[[str, str], None] = lambda level, text: None,
    ) -> None:
        """``executor`` calls the second implementation. ``names``: of both, for users.

        ``always``: the loop runs it in each trial. ``say(level, text)`` is called once for each
        reason why values cannot be compared; such values count as the same.
        """
        self.always = always
        self._executor, self._compare = executor, compare
        self._names = tuple(name.rpartition("/")[2] for name in names)
        self._say = say
        self._warned: set[str] = set()
        self._looks = 0

    @classmethod
    def of(
        cls,
        target: Target,
        spec: TargetSpec,
        executor: Executor,
        say: Callable[[str, str], None] = lambda level, text: None,
    ) -> DifferentialOracle | None:
        """The oracle for ``oracle.against``; None if not set. ``executor`` runs the target."""
        if target.against is None:
            return None
        return cls(
            executor.like(target.against, target.expected),
            target.compare,
            names=(spec.function, spec.oracle.against),
            always=spec.oracle.always,
            say=say,
        )

    def differs(self, first: Execution) -> Difference | None:
        """Run the second implementation on the input of ``first``; the difference, or None."""
        if first.outcome not in (Outcome.SUCCESS, Outcome.INVALID):
            return None
        second = self._executor.call(first.data)
        if second.error is not None and issubclass(type(second.error), MemoryError):
            return None  # earlier trials may have leaked the memory
        if first.outcome is second.outcome:
            if first.outcome is Outcome.INVALID or self._same(first.value, second.value):
                return None
            return self._by_value(first.value, second.value)
        return self._by_outcome(first, second)

    # -------------------------------------------------------------------- outcomes

    def _by_outcome(self, first: Execution, second: Execution) -> Difference:
        outcomes = self._outcome_text(first), self._outcome_text(second)
        text = first.data.decode("utf-8", "replace")
        cause = " / ".join(self._signature_part(run, text) for run in (first, second))
        before = " / ".join(self._signature_part(run, None) for run in (first, second))
        # Leave out the accepted value: the title needs its space for the reason of the rejection.
        short = [s.partition(": returned")[0] if s.startswith("accepted") else s for s in outcomes]
        parts = [f"{n} {cut(s, _MAX_TITLE)}" for n, s in zip(self._names, short, strict=True)]
        return self._difference(cause, ", ".join(parts), outcomes, before)

    def _outcome_text(self, run: Execution) -> str:
        """An outcome as one line of text."""
        if run.outcome is Outcome.TIMEOUT:
            return f"did not end within {self._executor.guard.timeout_s:g} s"
        if run.error is None:
            return f"accepted it: returned {self._repr(run.value)}"
        did = "rejected it" if run.outcome is Outcome.INVALID else "failed"
        return f"{did}: {self._title(run.error)}"

    def _signature_part(self, run: Execution, text: str | None) -> str:
        """The part of an outcome that goes into the signature: equal for the same presumed cause.

        Quotations of ``text``, the input, are removed. None: the form of older versions.
        """
        if run.error is None:
            return "timeout" if run.outcome is Outcome.TIMEOUT else "accepted"
        if text is None:
            return without_numbers(self._title(run.error), digits_only=True)

        def generic(quotation: re.Match[str]) -> str:
            quoted = quotation[2]
            return "''" if len(quoted) >= _MIN_QUOTED and quoted in text else quotation[0]

        return without_numbers(_QUOTED.sub(generic, self._title(run.error)))

    def _title(self, error: BaseException) -> str:
        return self._executor.guarded(lambda: title_of(error), qualified(type(error)))

    # ---------------------------------------------------------------------- values

    def _same(self, a: object, b: object) -> bool:
        compare = self._compare
        if compare is None:
            found = self._executor.guarded(lambda: same(a, b), None)
        else:
            found = self._executor.guarded(lambda: _compared(compare, a, b), None)
        if found is None:
            self._warn("values that cannot be compared in time count as the same")
        elif found and compare is None and self._looks < _LOOKS:
            self._looks += 1
            if part := self._executor.guarded(lambda: unseen_part(a), ""):
                self._looks = _LOOKS  # one warning
                self._warn(f"values hold parts that cannot be compared, such as {visible(part)}")
        return found is not False

    def _warn(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            self._say("warning", message)

    def _by_value(self, a: object, b: object) -> Difference:
        inner = self._executor.guarded(lambda: _innermost(a, b), (a, b))
        kinds = " / ".join(_class(x) for x in inner)
        ours, theirs = self._repr(a), self._repr(b)
        if ours == theirs:
            names = " and ".join(self._names)
            title = f"{names} return values that look equal: {cut(ours, _MAX_SHOWN)}"
        else:
            parts = from_difference(ours, theirs, _MAX_SHOWN)
            texts = [f"{n} returned {p}" for n, p in zip(self._names, parts, strict=True)]
            title = ", ".join(texts)
        outcomes = f"accepted it: returned {ours}", f"accepted it: returned {theirs}"
        return self._difference(f"values {kinds}", title, outcomes)

    def _repr(self, value: object) -> str:
        shown = self._executor.guarded(lambda: long_repr(value), "")
        return shown or f"a {_class(value)}"

    def _difference(
        self, cause: str, title: str, outcomes: Iterable[str], before: str = ""
    ) -> Difference:
        name = DIFFERS.category
        old = f"{name} @ {visible(before)}" if before not in ("", cause) else ""
        failure = Failure(name, f"{name} @ {visible(cause)}", name, "", old)
        lines = [f"{n} {cut(s, _MAX_TEXT)}" for n, s in zip(self._names, outcomes, strict=True)]
        return Difference(failure, cut(visible(title), _MAX_LINE), "\n".join(lines) + "\n")


def _compared(compare: Compare, a: object, b: object) -> bool:
    """The result of the user's comparison; True if it raises an exception."""
    try:
        return bool(compare(a, b))
    except TrialTimeout:
        raise
    except BaseException:
        return True


def _class(value: object) -> str:
    return type_name(type(value)).removeprefix("builtins.")


def _innermost(a: object, b: object) -> tuple[object, object]:
    """The innermost parts that differ, as far as they can be determined, for the signature."""
    for _ in range(_MAX_DEPTH):
        found = next(((x, y) for x, y in _parts(a, b) if not same(x, y)), None)
        if found is None:
            break
        a, b = found
    return a, b


def _parts(a: object, b: object) -> Iterable[tuple[object, object]]:
    ours, theirs = shape_of(type(a)), shape_of(type(b))
    if ours.name != theirs.name or ours.kind is ItemOrder.SET or id(type(a)) in ATOMS:
        return
    x, y = ours.parts(a), theirs.parts(b)
    if len(x.state) == len(y.state):
        yield from zip(x.state, y.state, strict=True)
    if ours.kind is ItemOrder.MAPPING:
        yield from ((value, y.items[key]) for key, value in x.items.items() if key in y.items)
    elif len(x.items) == len(y.items):
        yield from zip(x.items, y.items, strict=True)
