"""The simplifier: minimises a failing input that consists of choices, draw by draw.

Fewer draws are simpler; among inputs with as many draws, the first draw that differs decides
(:attr:`Draw.rank`). Hypothesis orders its examples in the same way. The search is greedy and
deterministic: the same attempts give the same result. The passes are repeated until none of them
changes anything, cheap ones that remove much first:

- all draws of a call get their simplest values; a call is removed, or replaced by a similar call
  within it (a subtree);
- a number is lowered towards the simplest one and towards constants of comparisons, by halves; a
  text gets fewer and then simpler characters;
- equal numbers are lowered together, also by the same amount; one number is lowered and another
  raised by the same amount;
- similar calls are sorted;
- a number of elements is lowered, and the draws of one element are removed;
- some consecutive draws are removed.

If a lowered value has changed what the generator draws, draws that are then surplus are removed,
or the other draws are found by execution index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fuzztui.engines.inputs.attempts import part_of
from fuzztui.engines.inputs.draws import CallSpan
from fuzztui.engines.inputs.lower import ValuePasses

_MAX_RUN: Final = 8
"""Most consecutive draws whose removal is tried at every position."""
_MAX_DISTANCE: Final = 32
"""Draws after a length among which its elements are searched."""
_MAX_COUNT: Final = 1 << 16
"""Largest number that may be a number of elements."""


class Simplifier(ValuePasses):
    """Minimises :attr:`best`, step by step. Exceptions of the callbacks end :meth:`run`."""

    def run(self) -> None:
        """Repeat all passes until they change nothing."""
        cheap = (
            self._remove_discarded,
            self._blank_spans,
            self._remove_spans,
            self._lower_each,
            self._lower_together,
            self._sort_spans,
        )
        dear = (self._descend, self._lower_lengths, self._remove_runs)
        before, rounds = None, 0
        while before != self.best.data:
            before = self.best.data
            for number, run in enumerate((*cheap, *dear)):
                if run in cheap or before == self.best.data:  # dear ones if the others did nothing
                    self.part = part_of(rounds, number / len(cheap + dear))
                    run()
            rounds += 1

    # ------------------------------------------------------------------- whole calls

    def _remove_discarded(self) -> None:
        for span in [s for s in self.best.spans if s.discarded][::-1]:
            if span.last <= len(self.best.draws):
                self._try(self._without(span.first, span.last))

    def _blank_spans(self) -> None:
        """Give all draws of a call their simplest values, the whole input first."""
        size = len(self.best.draws)
        self._blank(0, size)
        at = 0
        while at < len(spans := _outer_first(self.best.spans)):
            span = spans[at]
            if span.last - span.first > 1:
                self._blank(span.first, span.last)
            at += 1

    def _blank(self, first: int, last: int) -> bool:
        draws = self.best.draws
        changed = range(first, last)
        changes = {
            at: draws[at].simplest for at in changed if draws[at].value != draws[at].simplest
        }
        return bool(changes) and self._try(self._with(changes))

    def _remove_spans(self) -> None:
        """Remove calls, and several neighbours at once as long as this succeeds."""
        depth = 0
        while at_depth := _at_depth(self.best.spans, depth):
            number, run = len(at_depth) - 1, 1
            while number >= 0:
                last = at_depth[number]
                first = at_depth[max(0, number - run + 1)]
                if first.label == last.label and self._try(
                    self._without(first.first, last.last), pad=True
                ):
                    at_depth = _at_depth(self.best.spans, depth)
                    number = min(number - 1, len(at_depth) - 1)
                    run *= 2
                elif run > 1:
                    run = 1
                else:
                    number -= 1
            depth += 1

    def _descend(self) -> None:
        """Replace a call by a similar call within it."""
        at = 0
        while at < len(spans := _outer_first(self.best.spans)):
            outer = spans[at]
            data, draws = self.best.data, self.best.draws
            inner = [
                s for s in spans
                if s.label == outer.label and outer.first <= s.first and s.last <= outer.last
                and s.last - s.first < outer.last - outer.first
            ]  # fmt: skip
            at += not any(
                self._try(
                    data[: draws[outer.first].start]
                    + data[draws[s.first].start : draws[s.last - 1].end]
                    + data[draws[outer.last - 1].end :]
                )
                for s in inner[:_MAX_RUN]
            )

    def _sort_spans(self) -> None:
        """Bring neighbouring similar calls into the order of their simplicity."""
        for depth in range(_deepest(self.best.spans)):
            for group in _groups(_at_depth(self.best.spans, depth)):
                if group[-1].last > len(self.best.draws) or not self._sort(group):
                    continue
                break  # positions have changed: the next round continues

    def _sort(self, group: Sequence[CallSpan]) -> bool:
        data, draws = self.best.data, self.best.draws
        keys = [(s.last - s.first, [d.rank for d in draws[s.first : s.last]]) for s in group]
        parts = [data[draws[s.first].start : draws[s.last - 1].end] for s in group]
        start, end = draws[group[0].first].start, draws[group[-1].last - 1].end

        def ordered(numbers: Sequence[int]) -> bytes:
            return data[:start] + b"".join(parts[n] for n in numbers) + data[end:]

        order = list(range(len(group)))
        wanted = sorted(order, key=lambda n: keys[n])
        if order == wanted:
            return False
        if self._try(ordered(wanted)):
            return True
        for at in range(1, len(order)):
            if keys[at] < keys[at - 1]:
                swapped = [*order[: at - 1], at, at - 1, *order[at + 1 :]]
                if self._try(ordered(swapped)):
                    return True
        return False

    # --------------------------------------------------------------- lengths and runs

    def _lower_lengths(self) -> None:
        at = 0
        while at < len(self.best.draws):
            while self._shorter(at):
                pass
            at += 1

    def _shorter(self, at: int) -> bool:
        """Lower one number by one, and remove some of the draws that follow."""
        draws = self.best.draws
        if at >= len(draws):
            return False
        draw = draws[at]
        if type(draw.value) is not int or not draw.origin < draw.value < draw.origin + _MAX_COUNT:
            return False
        changed = self._with({at: draw.value - 1})
        if changed is None or draw.kind == "switch":
            return False
        if self._try(changed):
            return True
        if self._last.drew == len(self._kinds):
            return False  # no other draw depends on it
        if self._aligned(changed):
            return True
        moved = len(changed) - len(self.best.data)
        bounds = [*(d.start + moved for d in draws), len(changed)]
        last = min(at + 1 + _MAX_DISTANCE, len(draws))
        return any(
            self._try(changed[: bounds[begin]] + changed[bounds[end] :])
            for begin in range(at + 1, last)
            for end in range(begin + 1, min(begin + _MAX_RUN, len(draws)) + 1)
        )

    def _remove_runs(self) -> None:
        """Remove parts of halving sizes, then few draws at every position, from the end.

        From the end, because later parts depend on earlier ones more often than the reverse.
        """
        size = len(self.best.draws) // 2
        while size > _MAX_RUN:
            self._sweep(size, size)
            size //= 2
        for small in range(min(_MAX_RUN, len(self.best.draws)), 0, -1):
            self._sweep(small, 1)

    def _sweep(self, size: int, step: int) -> None:
        at = len(self.best.draws) - size
        while at > -step:
            at = max(at, 0)
            if at + size > len(self.best.draws):
                at = len(self.best.draws) - size
                if at < 0:
                    return
            at -= size if self._try(self._without(at, at + size)) else step


def _outer_first(spans: Iterable[CallSpan]) -> list[CallSpan]:
    return sorted(spans, key=lambda s: (s.first, -s.last))


def _depths(spans: Iterable[CallSpan]) -> Iterator[tuple[int, CallSpan]]:
    """Each span with the number of spans around it; equal ones count once."""
    around: list[CallSpan] = []
    for span in _outer_first(spans):
        while around and around[-1].last <= span.first:
            around.pop()
        if around and (around[-1].first, around[-1].last) == (span.first, span.last):
            continue
        yield len(around), span
        around.append(span)


def _at_depth(spans: Iterable[CallSpan], depth: int) -> list[CallSpan]:
    return [span for n, span in _depths(spans) if n == depth]


def _deepest(spans: Iterable[CallSpan]) -> int:
    return max((n for n, _ in _depths(spans)), default=-1) + 1


def _groups(spans: Iterable[CallSpan]) -> Iterator[list[CallSpan]]:
    """Neighbours with the same label, two or more."""
    group: list[CallSpan] = []
    for span in spans:
        if group and (span.label, span.first) != (group[0].label, group[-1].last):
            if len(group) > 1:
                yield group
            group = []
        group.append(span)
    if len(group) > 1:
        yield group
