"""Passes of the simplifier over values: lower numbers, shorten texts, one draw or several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from fuzztui.engines.inputs.attempts import Attempts

_MAX_RUN: Final = 8
"""Items of a text that are removed one by one."""
_NEAR: Final = 4
"""Numbers after a number with which it is lowered."""
_FEW: Final = 4
"""Up to this distance from the simplest number, all simpler ones are tried."""
_MAX_CONSTANTS: Final = 256


class ValuePasses(Attempts):
    """Lowers the values of :attr:`best`."""

    def __init__(self, *args: Any, constants: Iterable[int] = ()) -> None:
        """``constants``: those of comparisons; numbers are lowered to values near them."""
        super().__init__(*args)
        near = {c + d for c in constants for d in (-1, 0, 1)}
        self._constants = sorted(near, key=abs)[:_MAX_CONSTANTS]

    def _lower_each(self) -> None:
        at = 0
        while at < len(self.best.draws):
            self._lower([at])
            at += 1

    def _lower(self, group: list[int]) -> None:
        """Lower draws that have equal values, together."""
        draw = self.best.draws[group[0]]
        if draw.value == draw.simplest:
            return
        if self._set(dict.fromkeys(group, draw.simplest)):
            return
        if isinstance(draw.value, tuple):
            self._lower_items(group)
        elif isinstance(draw.value, float):
            self._lower_real(group, draw.value)
        else:
            self._lower_number(group, draw.value, draw.origin)

    def _lower_number(self, group: list[int], value: int, origin: int) -> None:
        if value < origin and self._set(dict.fromkeys(group, 2 * origin - value)):
            value = 2 * origin - value
        sign = 1 if value > origin else -1

        def lower(distance: int) -> bool:
            return self._still(group) and self._set(dict.fromkeys(group, origin + sign * distance))

        near = [sign * (c - origin) for c in self._constants]
        found = self._halve(0, abs(value - origin), lower, near)
        if found <= _FEW:
            simpler = (origin + side * n for n in range(1, found) for side in (1, -1))
            any(self._still(group) and self._set(dict.fromkeys(group, n)) for n in simpler)

    def _lower_real(self, group: list[int], value: float) -> None:
        if value < 0 and self._set(dict.fromkeys(group, -value)):
            value = -value
        if not math.isfinite(value):
            return
        if value != math.trunc(value):
            shorter = [float(math.trunc(value)), *(round(value, digits) for digits in (0, 1, 2, 4))]
            value = next((v for v in shorter if self._set(dict.fromkeys(group, v))), value)
        if value != math.trunc(value):
            return
        sign = -1 if value < 0 else 1

        def lower(distance: int) -> bool:
            return self._still(group) and self._set(dict.fromkeys(group, sign * float(distance)))

        near = [sign * c for c in self._constants]
        self._halve(0, int(abs(value)), lower, near)

    def _lower_items(self, group: list[int]) -> None:
        """Remove items of a text, then lower the others, then sort them."""

        def items() -> tuple[int, ...]:
            value = self.best.draws[group[0]].value if self._still(group) else ()
            return value if isinstance(value, tuple) else ()

        def set_items(value: tuple[int, ...]) -> bool:
            return self._still(group) and self._set(dict.fromkeys(group, value))

        size = len(items()) // 2
        while size >= _MAX_RUN:  # keep a single part of a long text
            parts = range(0, len(items()), size)
            if not any(set_items(items()[begin : begin + size]) for begin in parts):
                size //= 2
        least = self.best.draws[group[0]].low or 0
        at, run = len(items()) - 1, 1
        while at >= 0 and len(items()) > least:
            begin = max(0, at - run + 1)
            if set_items(items()[:begin] + items()[at + 1 :]):
                at, run = min(begin, len(items())) - 1, 2 * run
            elif run > 1:
                run = 1
            else:
                at -= 1
        size = len(items()) // 2
        while size > 1:  # replace the parts of a long text or block by its simplest items
            for begin in range(0, len(items()), size):
                now = items()
                cut = now[begin : begin + size]
                if any(cut):
                    set_items(now[:begin] + (0,) * len(cut) + now[begin + size :])
            size //= 2
        for item in sorted(set(items()) - {0}, reverse=True):
            at_items = [n for n, other in enumerate(items()) if other == item]

            def lower(value: int, at_items: Sequence[int] = at_items) -> bool:
                now = list(items())
                if at_items[-1] >= len(now):
                    return False
                for n in at_items:
                    now[n] = value
                return set_items(tuple(now))

            if not lower(0):
                self._halve(0, item, lower, ())
        if list(items()) != sorted(items()):
            set_items(tuple(sorted(items())))

    def _still(self, group: Sequence[int]) -> bool:
        """Whether these draws exist, and are of one kind, after earlier changes."""
        draws = self.best.draws
        return group[-1] < len(draws) and len({draws[at].kind for at in group}) == 1

    def _halve(
        self, least: int, most: int, works: Callable[[int], bool], near: Iterable[int]
    ) -> int:
        """The smallest number that works, by halves; ``most`` works, ``least`` does not.

        The numbers in ``near`` are tried first, also by halves. Of a large range the halves are
        those of the numbers' lengths.
        """
        known = sorted({n for n in near if least < n < most})
        begin, end = 0, len(known)
        while begin < end:
            middle = (begin + end) // 2
            if works(known[middle]):
                most, end = known[middle], middle
            else:
                least, begin = known[middle], middle + 1
        while most - least > 1:
            if most > 4 * least + 16:
                middle = 1 << (least.bit_length() + most.bit_length()) // 2
                middle = middle if least < middle < most else (least + most) // 2
            else:
                middle = (least + most) // 2
            if works(middle):
                most = middle
            else:
                least = middle
        return most

    # ----------------------------------------------------------------- several values

    def _lower_together(self) -> None:
        """Lower equal draws together, and numbers with one of the next ones."""
        alike = defaultdict(list)
        for at, draw in enumerate(self.best.draws):
            if draw.value != draw.simplest:
                alike[draw.kind, draw.value].append(at)
        for (kind, value), group in alike.items():
            if len(group) > 1 and self._still(group):
                draws = [self.best.draws[at] for at in group]
                if all(d.kind == kind and d.value == value for d in draws):
                    self._lower(group)
        at = 0
        while at < len(self.best.draws):
            for other in self._numbers_after(at):
                if not self._is_number(at):
                    break
                if self._is_number(other):
                    self._lower_pair(at, other)
            at += 1

    def _is_number(self, at: int) -> bool:
        draws = self.best.draws
        return at < len(draws) and draws[at].kind != "switch" and type(draws[at].value) is int

    def _numbers_after(self, at: int) -> Iterator[int]:
        if self._is_number(at) and self.best.draws[at].value != self.best.draws[at].simplest:
            numbers = (n for n in range(at + 1, len(self.best.draws)) if self._is_number(n))
            yield from [n for n, _ in zip(numbers, range(_NEAR), strict=False)]

    def _lower_pair(self, at: int, other: int) -> None:
        """Lower two numbers by the same amount; lower the first, and raise the other."""

        def distance(n: int) -> int:
            value = self.best.draws[n].value
            assert isinstance(value, int)
            return value - self.best.draws[n].origin

        one, two = distance(at), distance(other)
        if not one:
            return
        sign = 1 if one > 0 else -1

        def moved(by: int, way: int) -> bool:
            """Move the first to ``by`` from its simplest value, the other by as much."""
            draws = self.best.draws
            first = draws[at].origin + sign * by
            second = draws[other].origin + two - way * (one - sign * by)
            return self._set({at: first, other: second})

        for way in (1, -1):
            if way == 1 and (two > 0) != (one > 0):
                continue  # the other one would not become simpler
            limit = max(0, abs(one) - abs(two)) if way == 1 else 0
            if moved(limit, way):
                return
            # A single step shows whether it may help at all.
            if abs(one) - limit > 1 and moved(abs(one) - 1, way):
                self._halve(limit, abs(one) - 1, lambda by, way=way: moved(by, way), ())  # type: ignore[misc]
                return
