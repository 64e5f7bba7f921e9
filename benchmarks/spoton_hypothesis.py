"""What an object costs: by an own generator, by strategies of our choices, by Hypothesis itself.

The same order (a name, two dates, ten lines) is made in all ways, interleaved; a figure is the
median over rounds of CPU time against the own generator's of the same round.

    python benchmarks/spoton_hypothesis.py [--rounds 7] [--objects 200]
"""

from __future__ import annotations

import argparse
import datetime
import random
import statistics
import string
import time
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lab.options import parse
from lab.rows import Rows

from fuzztui.engines.generators import generator
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.strategies import from_strategy

FIRST, LAST = datetime.date(1970, 1, 1), datetime.date(2069, 12, 28)


@dataclass
class Line:
    product: str
    number: int


@dataclass
class Order:
    name: str
    placed: datetime.date
    paid: datetime.date
    lines: list[Line]


@generator
def gen_day(r: Source) -> datetime.date:
    return datetime.date(r.integer(1970, 2069), r.integer(1, 12), r.integer(1, 28))


@generator
def gen_line(r: Source) -> Line:
    return Line(r.text(string.ascii_lowercase, 0, 7), r.integer(0, 99))


@generator
def gen_order(r: Source) -> Order:
    lines = [gen_line(r) for _ in range(10)]
    return Order(r.text(string.ascii_lowercase, 0, 7), gen_day(r), gen_day(r), lines)


WORDS = st.text(string.ascii_lowercase, max_size=7)
DAYS = st.dates(FIRST, LAST)
LINES = st.lists(st.builds(Line, WORDS, st.integers(0, 99)), min_size=10, max_size=10)
ORDERS = st.builds(Order, WORDS, DAYS, DAYS, LINES)
gen_hypothesis = from_strategy(ORDERS)


def ways(objects: int) -> dict[str, Callable[[], None]]:
    """Each makes so many orders."""
    rng = random.Random(1)

    def plain(make: Callable[[Source], Order]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(objects):
                make(Source(b"", 10240, rng.randbytes))

        return run

    def by_index(make: Callable[[Source], Order]) -> Callable[[], None]:
        form = TypedInput(make, 10240, rng.randbytes, None, None)
        form.build(b"")
        data = form.used(b"")
        parent = form.annotate(data)
        # An equal child would be replayed; 128 more gives the same length, or the same alphabet.
        child = bytes([data[0] ^ 128]) + data[1:]

        def run() -> None:
            for _ in range(objects):
                form.expect(child, parent)
                form.build(child)

        return run

    @settings(
        max_examples=objects, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(ORDERS)
    def itself(order: Order) -> None: ...

    fuzz = itself.hypothesis.fuzz_one_input  # type: ignore[attr-defined]

    def fuzz_one_input() -> None:
        for _ in range(objects):
            fuzz(rng.randbytes(2000))

    return {
        "own generator": plain(gen_order),
        "own, by index": by_index(gen_order),
        "strategy, our choices": plain(gen_hypothesis),
        "strategy, by index": by_index(gen_hypothesis),
        "Hypothesis, fuzz_one_input": fuzz_one_input,
        "Hypothesis, a test run": itself,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--objects", type=int, default=200)
    args = parse(parser, "spoton_hypothesis", rounds=1, objects=5)
    rows = Rows("spoton_hypothesis", args.results)
    there = ways(args.objects)
    for run in there.values():
        run()
    ratios: dict[str, list[float]] = {name: [] for name in there}
    per_second: dict[str, list[float]] = {name: [] for name in there}
    for _ in range(args.rounds):
        took = {}
        for name, run in there.items():
            began = time.process_time()
            run()
            took[name] = time.process_time() - began
        for name, seconds in took.items():
            ratios[name].append(seconds / took["own generator"])
            per_second[name].append(args.objects / seconds)
    for name, found in ratios.items():
        speed = statistics.median(per_second[name])
        rows.add(way=name, ratio=statistics.median(found), objects_s=speed)
        print(f"{name:28} {statistics.median(found):7.1f}  {speed:9,.0f} objects/s")


if __name__ == "__main__":
    main()
