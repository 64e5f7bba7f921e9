"""The differential oracle: a second implementation must accept what the first one does.

And where both accept an input they must return the same, by
:func:`~fuzztui.engines.findings.compare.same`
or by what the harness says (:func:`fuzztui.harness.compare`). Which exception a refusal is
does not matter. Two implementations, or two optimisation levels of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.base.text import visible
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.execute.failures import Failure, qualified, title_of
from fuzztui.engines.execute.message_oracle import without_numbers
from fuzztui.engines.findings.compare import same
from fuzztui.engines.findings.contrast import cut, from_difference, long_repr
from fuzztui.engines.inputs.shape import ATOMS, UNRUN, ItemOrder, shape_of, type_name
from fuzztui.engines.instrument.guard import TrialTimeout
from fuzztui.engines.instrument.target import Target

__all__ = ["DIFFERS", "Difference", "DifferentialOracle"]

DIFFERS: Final = "differs"
"""The category of such findings; their files are among the crashes."""

_SHOWN: Final = 60
_QUOTED: Final = re.compile(r"([\"'`])((?:(?!\1).)*)(?:\1|$)")
"""A quotation, also one that is cut off at the end of a message."""
_SHORT: Final = 4
"""Characters: a shorter quotation may be a token that the grammar names, as a missing comma."""
_TITLE: Final = 150
_LINE: Final = 300
_TEXT: Final = 2000
_DEEP: Final = 100

Compare = Callable[[Any, Any], object]


@dataclass(frozen=True, slots=True)
class Difference:
    """What two implementations do differently; ``detail`` has both outcomes."""

    failure: Failure
    title: str
    detail: str


class DifferentialOracle:
    """Runs the second implementation, unobserved, in the same process and under the guard."""

    def __init__(
        self,
        executor: Executor,
        compare: Compare | None,
        *,
        names: tuple[str, str],
        always: bool = False,
        say: Callable[[str, str], None] = lambda level, text: None,
    ) -> None:
        """``executor`` calls it; ``names``: of both, for users; ``always``: in each trial.

        ``say`` is told, once each, why values cannot be compared: they then count as the same.
        """
        self.always = always
        self._executor, self._compare = executor, compare
        self._names = tuple(name.rpartition("/")[2] for name in names)
        self._say = say
        self._warned: set[str] = set()

    @classmethod
    def of(
        cls,
        target: Target,
        spec: TargetSpec,
        executor: Executor,
        say: Callable[[str, str], None] = lambda level, text: None,
    ) -> DifferentialOracle | None:
        """The one that the campaign file names, if it does; ``executor`` runs the first."""
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
        """Run it on the same bytes as ``first``, which has ended; None if it does the same."""
        if first.outcome not in (Outcome.SUCCESS, Outcome.INVALID):
            return None
        second = self._executor.call(first.data)
        if second.error is not None and issubclass(type(second.error), MemoryError):
            return None  # perhaps by what earlier trials have leaked
        if first.outcome is second.outcome:
            if first.outcome is Outcome.INVALID or self._same(first.value, second.value):
                return None
            return self._by_value(first.value, second.value)
        return self._by_outcome(first, second)

    # -------------------------------------------------------------------- outcomes

    def _by_outcome(self, first: Execution, second: Execution) -> Difference:
        said = self._words(first), self._words(second)
        text = first.data.decode("utf-8", "replace")
        cause = " / ".join(self._cause(run, text) for run in (first, second))
        before = " / ".join(self._cause(run, None) for run in (first, second))
        # What was accepted makes no difference here: the title has room for why it was refused.
        short = [s.partition(": returned")[0] if s.startswith("accepted") else s for s in said]
        parts = [f"{n} {cut(s, _TITLE)}" for n, s in zip(self._names, short, strict=True)]
        return self._difference(cause, ", ".join(parts), said, before)

    def _words(self, run: Execution) -> str:
        """What an outcome is, in a line."""
        if run.outcome is Outcome.TIMEOUT:
            return f"did not end within {self._executor.guard.timeout_s:g} s"
        if run.error is None:
            return f"accepted it: returned {self._repr(run.value)}"
        did = "refused it" if run.outcome is Outcome.INVALID else "failed"
        return f"{did}: {self._title(run.error)}"

    def _cause(self, run: Execution, text: str | None) -> str:
        """What an outcome has in common with others that are so for the same reason.

        Quotations of ``text``, the input, are left out; None: as older versions had it.
        """
        if run.error is None:
            return "timeout" if run.outcome is Outcome.TIMEOUT else "accepted"
        if text is None:
            return without_numbers(self._title(run.error), digits_only=True)

        def generic(quotation: re.Match[str]) -> str:
            quoted = quotation[2]
            return "''" if len(quoted) >= _SHORT and quoted in text else quotation[0]

        return without_numbers(_QUOTED.sub(generic, self._title(run.error)))

    def _title(self, error: BaseException) -> str:
        return self._executor.guarded(lambda: title_of(error), qualified(type(error)))

    # ---------------------------------------------------------------------- values

    def _same(self, a: object, b: object) -> bool:
        compare = self._compare
        if compare is None:
            found = self._executor.guarded(lambda: same(a, b), None)
        else:
            found = self._executor.guarded(lambda: _asked(compare, a, b), None)
        if found is None:
            self._warn("values that cannot be compared in time count as the same")
        elif found and compare is None and type(a) in UNRUN:
            self._warn("generators and coroutines are not run: what they give is not compared")
        return found is not False

    def _warn(self, words: str) -> None:
        if words not in self._warned:
            self._warned.add(words)
            self._say("warning", words)

    def _by_value(self, a: object, b: object) -> Difference:
        inner = self._executor.guarded(lambda: _apart(a, b), (a, b))
        kinds = " / ".join(_class(x) for x in inner)
        ours, theirs = self._repr(a), self._repr(b)
        if ours == theirs:
            title = f"{' and '.join(self._names)} return what looks alike: {cut(ours, _SHOWN)}"
        else:
            parts = from_difference(ours, theirs, _SHOWN)
            words = [f"{n} returned {p}" for n, p in zip(self._names, parts, strict=True)]
            title = ", ".join(words)
        said = f"accepted it: returned {ours}", f"accepted it: returned {theirs}"
        return self._difference(f"values {kinds}", title, said)

    def _repr(self, value: object) -> str:
        shown = self._executor.guarded(lambda: long_repr(value), "")
        return shown or f"a {_class(value)}"

    def _difference(
        self, cause: str, title: str, said: Iterable[str], before: str = ""
    ) -> Difference:
        old = f"{DIFFERS} @ {visible(before)}" if before not in ("", cause) else ""
        failure = Failure(DIFFERS, f"{DIFFERS} @ {visible(cause)}", DIFFERS, "", old)
        lines = [f"{n} {cut(s, _TEXT)}" for n, s in zip(self._names, said, strict=True)]
        return Difference(failure, cut(visible(title), _LINE), "\n".join(lines) + "\n")


def _asked(compare: Compare, a: object, b: object) -> bool:
    """The user's word; a comparison that is broken makes no difference."""
    try:
        return bool(compare(a, b))
    except TrialTimeout:
        raise
    except BaseException:
        return True


def _class(value: object) -> str:
    return type_name(type(value)).removeprefix("builtins.")


def _apart(a: object, b: object) -> tuple[object, object]:
    """The innermost parts that differ, as far as these can be told: they make a cause."""
    for _ in range(_DEEP):
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
