"""Measure the cost of making an input by execution indexes, against a plain sequence of choices.

    PYTHON -P generating.py SPEC RECORD PARENTS CHILDREN

Makes PARENTS random inputs, and CHILDREN of each by spoton's untargeted mutation. Each child is
made by execution indexes, and from the plain sequence of the choices that were drawn then, which
makes the same input. The file RECORD gets JSON: mean CPU microseconds of an input for
``indexed`` and ``linear`` (the plain sequence), of ``annotate`` (needed once for each entry that is
mutated), and the mean number of ``choices`` of an input. Each is done three times, and the fastest
one counts: means of single calls say more about what else the machine does. Runs under the
target's interpreter: the standard library and ``fuzztui.engines`` only.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.execute.loading import load
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.inputs.typed import Annotated
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.spoton.distances import Distances
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.spoton.mutator import TypedMutator
from fuzztui.engines.spoton.relations import TypeRelations

clock = time.process_time_ns


def timed(call: Callable[[], object], rng: random.Random) -> float | None:
    """CPU microseconds of the fastest of three calls, each with the same random numbers.

    None if the call raises, as when the generator rejects the choices.
    """
    state, spent = rng.getstate(), []
    for _ in range(3):
        rng.setstate(state)
        began = clock()
        try:
            call()
        except Exception:
            return None
        spent.append(clock() - began)
    return min(spent) / 1000


def by_index(form: TypedInput, child: bytes, parent: Annotated) -> object:
    """Make a child of the parent."""
    form.expect(child, parent)
    return form.build(child)


def main() -> None:
    spec = read_spec(Path(sys.argv[1]))
    parents, children = int(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(spec.seed)
    loaded = load(spec, folder=spec.dir, table=EdgeTable(), draw=rng.randbytes,
                  generated=TypedInput)  # fmt: skip
    form = loaded.executor.form
    assert isinstance(form, TypedInput)
    mutator = TypedMutator(
        rng,
        lambda entry: form.annotate(entry.data),
        form.expect,
        Distances(rng),
        TypeRelations(form.stacks, {}),
        targeted=0.0,
    )
    spent: dict[str, list[float]] = {"linear": [], "indexed": [], "annotate": [], "choices": []}
    for number in range(parents):
        if timed(partial(GeneratedInput.build, form, b""), rng) is None:
            continue
        data = form.used(b"")
        took = timed(partial(form.annotate, data), rng)
        if took is None:
            continue
        parent = form.annotate(data)
        spent["annotate"].append(took)
        spent["choices"].append(len(parent))
        entry = CorpusEntry(number, "", data, 1)
        for _ in range(children):
            child = mutator.mutate(entry).data
            indexed = timed(partial(by_index, form, child, parent), rng)
            drawn = form.used(child)
            linear = timed(partial(GeneratedInput.build, form, drawn), rng)
            if indexed is not None and linear is not None:
                spent["indexed"].append(indexed)
                spent["linear"].append(linear)
    found = {name: round(statistics.mean(of), 1) for name, of in spent.items() if of}
    Path(sys.argv[2]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
