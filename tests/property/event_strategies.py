"""Hypothesis strategies for events: every kind, names from small pools so that they meet.

All that they draw can be written and read again (:mod:`fuzztui.kernel.base.bounds`), except where a
test asks for other ``floats``.
"""

import functools
import math
from dataclasses import MISSING, fields

from hypothesis import strategies as st

from fuzztui.kernel.base.bounds import LARGEST
from fuzztui.kernel.wire import commands as cmd
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.frames import KINDS

INSTANCES = ["main", "w1", "handed", "[/x]", "a\x1b[31m", "\ud800", ""]
STATES = ["running", "paused", "restarting", "stopped", "finished", "failed", "starting", "?"]
FILES = ["crashes/a", "crashes/b", "hangs/c", "crashes/\u202e", ""]

POOLS = {
    "instance": st.sampled_from(INSTANCES),
    "sync": st.sampled_from(["", "main", "w1"]),
    "state": st.sampled_from(STATES),
    "file": st.sampled_from(FILES),
    "category": st.sampled_from(["crash", "hang", "other"]),
    "signature": st.sampled_from(["", "S1", "S2", "S3"]),
    "id": st.one_of(st.integers(-1, 6), st.integers(-LARGEST - 1, LARGEST)),
    "src": st.lists(st.integers(-1, 6), max_size=3),
    "level": st.sampled_from(["info", "warning", "error", "??"]),
}

INTS = st.one_of(st.integers(-1, 50), st.integers(-LARGEST - 1, LARGEST))
COUNTS = st.one_of(st.integers(-1, 50), st.integers(-1, LARGEST))
FLOATS = st.one_of(st.floats(0, 1e6), st.floats(-1, float(LARGEST)), st.integers(0, 9))
HOSTILE_FLOATS = st.one_of(FLOATS, st.sampled_from([math.nan, math.inf, -math.inf, 10**400]))
# Without surrogates: two of them next to each other would be one character after JSON.
HOSTILE_JSON = st.one_of(
    st.none(), st.booleans(), st.just([]), st.sampled_from([LARGEST, -LARGEST, "7", 1e18, -0.5])
)
TEXTS = st.one_of(st.sampled_from(["", "x", "[b]\x00"]), st.text(max_size=8))
FLAT = st.dictionaries(
    TEXTS.filter(lambda k: k not in ("k", "s", "t")),
    st.one_of(INTS, TEXTS, st.booleans(), st.lists(TEXTS, max_size=2)),
    max_size=3,
)

MUTANTS = st.sampled_from(["m:f:math:0:*", "m:f:negate:1:", "[/x]\x1b[31m", "\ud800", ""])
FIGURES = st.one_of(st.lists(INTS, min_size=3, max_size=3), st.lists(INTS, max_size=4), TEXTS)
MUTANT = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(MUTANTS, MUTANTS, st.none(), INTS),
        "line": st.one_of(INTS, TEXTS),
        "function": st.one_of(TEXTS, INTS),
        "operator": st.sampled_from(["math", "negate", 3]),
        "before": TEXTS,
        "after": TEXTS,
        "static": st.one_of(st.booleans(), TEXTS),
        "place": st.one_of(FLOATS, HOSTILE_JSON),
    },
)
FIGURES_BY_NAME = st.dictionaries(
    st.one_of(
        st.sampled_from(
            ["mutants_s", "mutants_trials", "each_s", "each_trials", "abreast", "count", "build",
             "kept", "aside", "entries", "edges", "crashes", "kills"]
        ),
        TEXTS,
    ),
    st.one_of(FLOATS, INTS, HOSTILE_JSON),
    max_size=5,
)  # fmt: skip
STAGES = [
    "queued", "building", "built", "pruning", "fuzzing", "fuzzing", "collecting", "done", "failed",
    "dropped", "refused", "?",
]  # fmt: skip
ARMS = st.sampled_from(
    ["havoc", "swap-args", "fragment", "swap-args", "[/x]\x1b[31m", "", "x" * 300]
)
ARM_FIGURES = st.lists(COUNTS, max_size=5)
TYPES = st.sampled_from(["datetime.date", "pathlib.Path", "m.C", "[/x]\x1b[31m", "", "x" * 300])
TYPE_NAMES = st.one_of(TYPES, TYPES, TYPES, HOSTILE_JSON, INTS)
TYPE_FIGURES = st.lists(st.one_of(COUNTS, st.integers(0, 9)), max_size=5)
PLACES = st.sampled_from(["a.py:1:then", "a.py:1:else", "a.py:7:loop", "\x1b]0;x", "", "l" * 600])
LEFT = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "frontier": st.one_of(st.booleans(), st.booleans(), HOSTILE_JSON),
            "reached": st.one_of(st.integers(0, 50), INTS, HOSTILE_JSON),
            "types": st.one_of(
                st.lists(
                    st.one_of(
                        st.tuples(TYPES, st.integers(0, 9)).map(list),
                        st.lists(st.one_of(TYPE_NAMES, HOSTILE_JSON), max_size=3),
                        HOSTILE_JSON,
                    ),
                    max_size=5,
                ),
                HOSTILE_JSON,
            ),
        },
    ),
    HOSTILE_JSON,
)
KEYS = ["main/0", "main/1", "w1/0", "w1/3", "handed/2", "seed:x", "", "/"]
SYNC = st.sampled_from(["", "main", "w1", "handed"])
FRAME = st.one_of(
    st.builds(
        lambda function, file, kind: {"function": function, "file": file, "line": 3, "kind": kind},
        st.sampled_from("fgh"), st.sampled_from(["/p/a.py", "b.c"]), st.sampled_from(KINDS),
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "function": st.one_of(st.sampled_from(["f", "g", "", "\x1b[31m", "f" * 300]), INTS),
            "file": st.one_of(st.sampled_from(["/p/a.py", "/", "\ud800"]), HOSTILE_JSON),
            "line": st.one_of(INTS, HOSTILE_JSON),
            "kind": st.one_of(st.sampled_from(KINDS), TEXTS),
        },
    ),
)  # fmt: skip
"""Rows of the frames of a finding."""
BASIS = st.one_of(
    st.sampled_from([{}, {"name": "E"}, {"name": "E", "depth": 2}, {"name": "F", "after": "!"}]),
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.one_of(TEXTS, INTS), "after": st.one_of(TEXTS, INTS),
            "depth": st.one_of(INTS, HOSTILE_JSON),
            "more": st.one_of(st.lists(st.one_of(TEXTS, INTS), max_size=2), HOSTILE_JSON),
        },
    ),
)  # fmt: skip
MUTANT_VERDICT = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(MUTANTS, MUTANTS, HOSTILE_JSON),
        "verdict": st.one_of(st.sampled_from(["accepted", "accepted", "", "equivalent"]), INTS),
        "because": st.one_of(TEXTS, INTS),
        "change": st.one_of(st.sampled_from(["", "x -> x", " -> "]), HOSTILE_JSON),
    },
)
"""Rows about mutants of ``verdicts_changed``."""
PATHS = st.sampled_from(["/p/a.py", "/p/a.py", "/p/b.c", "", "\x1b[31m"])
RANGES = st.one_of(st.sampled_from(["1-3,7", "2", "1-999999999", "7-3", "x", "-1"]), TEXTS)
"""Sets of lines, and texts that are none."""
RULES = ["f", "g", "a.py in *", "b.c in [gh]", "*", "", "\x1b[31m", "?", "p/a.py in f", "x" * 300]
OWN = {
    (ev.MutantsFound, "mutants"): st.lists(MUTANT, max_size=4),
    (ev.MutantState, "id"): MUTANTS,
    (ev.MutantState, "state"): st.sampled_from(
        ["pending", "alive", "killed", "killed", "skipped", "equivalent", "invalid", "?"]
    ),
    (ev.InstanceHello, "mutant"): MUTANTS,
    (ev.EntriesSeeded, "origins"): st.dictionaries(
        st.integers(-1, 6).map(str), st.one_of(st.sampled_from(KEYS), HOSTILE_JSON), max_size=4
    ),
    (ev.EntrySaved, "sync"): SYNC,
    (ev.FindingSaved, "sync"): SYNC,
    (ev.PhaseStarted, "stage"): st.sampled_from(["mutants", "mutants", "target", "", "?"]),
    (ev.PhaseStarted, "plan"): FIGURES_BY_NAME,
    (ev.MutantProgress, "id"): MUTANTS,
    (ev.MutantProgress, "stage"): st.sampled_from(STAGES),
    (ev.MutantProgress, "slot"): st.sampled_from(INSTANCES),
    (ev.MutantProgress, "costs"): FIGURES_BY_NAME,
    (ev.MutantProgress, "brought"): FIGURES_BY_NAME,
    (ev.MutantPositions, "places"): st.dictionaries(
        MUTANTS, st.one_of(FLOATS, HOSTILE_JSON), max_size=4
    ),
    (ev.MutatorStats, "names"): st.lists(ARMS, max_size=5),
    **{
        (ev.MutatorStats, name): ARM_FIGURES
        for name in ("tried", "applied", "found", "crashes", "weights")
    },
    (ev.TargetingStats, "names"): st.lists(TYPES, max_size=5),
    **{
        (ev.TargetingStats, f.name): TYPE_FIGURES
        for f in fields(ev.TargetingStats)
        if f.type.startswith("list") and f.name != "names"
    },
    (ev.TargetingStats, "targets"): st.one_of(st.integers(0, 4), COUNTS),
    (ev.TargetingStats, "uncovered"): st.one_of(st.integers(0, 4), COUNTS),
    (ev.TargetingStats, "pinned"): PLACES,
    **{(ev.TargetingStats, name): st.lists(PLACES, max_size=4) for name in ("ignored", "changed")},
    (ev.GoalsUncovered, "asked"): st.one_of(st.integers(0, 50), COUNTS),
    (ev.GoalsUncovered, "left"): st.dictionaries(PLACES, LEFT, max_size=4),
    (ev.GoalsUncovered, "gone"): st.lists(PLACES, max_size=3),
    (cmd.WeighType, "type"): TYPES,
    (cmd.PinGoal, "location"): PLACES,
    (cmd.IgnoreGoal, "location"): PLACES,
    (ev.MutantRuns, "runs"): st.dictionaries(MUTANTS, FIGURES, max_size=4),
    (ev.FindingDescribed, "frames"): st.lists(FRAME, max_size=4),
    (ev.FindingDescribed, "basis"): BASIS,
    (ev.VerdictsChanged, "mutants"): st.lists(MUTANT_VERDICT, max_size=3),
    (ev.SourceFile, "path"): PATHS,
    (ev.SourceFile, "statements"): RANGES,
    (ev.SourceFile, "functions"): st.lists(
        st.one_of(st.sampled_from(["1-9 f", "2-3 f.g", "3 h", "9-1 x"]), TEXTS), max_size=3
    ),
    (ev.LinesCovered, "lines"): st.dictionaries(PATHS, st.one_of(RANGES, HOSTILE_JSON), max_size=2),
    (ev.LinesCovered, "branches"): st.dictionaries(
        PATHS, st.one_of(RANGES, HOSTILE_JSON), max_size=2
    ),
    (ev.SkippedFrames, "rules"): st.lists(st.sampled_from(RULES), max_size=3),
}
"""Fields that mean something else than others of their name or type."""


VERDICTS = st.dictionaries(
    st.sampled_from(["signature", "verdict", "note", "author", "date"]),
    st.one_of(st.sampled_from(["A", "known", "fixed", "wont-fix", "new"]), TEXTS, INTS),
)
"""Rows of ``verdicts_changed``."""


def _field(cls, f, floats):
    if (cls, f.name) in OWN:
        return OWN[cls, f.name]
    if f.name == "id" and f.type == "str":
        return st.sampled_from(["c1", "c2", "c3", "c4"])
    if f.name in POOLS:
        return POOLS[f.name]
    return {
        "int": INTS,
        "Count": COUNTS,
        "float": floats,
        "str": TEXTS,
        "bool": st.booleans(),
        "list[str]": st.lists(st.one_of(POOLS["instance"], TEXTS), max_size=3),
        "list[int]": st.lists(INTS, max_size=3),
        "list[Count]": st.lists(COUNTS, max_size=3),
        "list[float]": st.lists(floats, max_size=3),
        "dict[str, Any]": FLAT,
        "list[dict[str, Any]]": st.lists(VERDICTS, max_size=3),
    }[str(f.type)]


@functools.cache
def of_kind(cls, floats=FLOATS):
    """Events of one kind, with any of the optional fields left out."""
    required, optional = {}, {}
    for f in fields(cls):
        is_required = f.default is MISSING and f.default_factory is MISSING
        (required if is_required else optional)[f.name] = _field(cls, f, floats)
    return st.fixed_dictionaries(required, optional=optional).map(lambda kw: cls(**kw))


MIXTURES = st.builds(
    cmd.SetMixture,
    *([st.sampled_from([0, 0.25, 0.5, 1.0])] * 3),
    st.booleans(),
    st.sampled_from(["", "main", "w1"]),
)
AIMS = st.one_of(
    st.builds(cmd.WeighType, TYPES, st.sampled_from([0.0, 1.0, 2.5, 10**6, 10**7])),
    st.builds(cmd.SetTargetedShare, st.sampled_from([0.0, 0.5, 1, 1.5])),
    st.builds(cmd.PinGoal, PLACES),
    st.builds(cmd.IgnoreGoal, PLACES, st.booleans()),
)
COMMANDS = st.one_of([*(of_kind(c) for c in cmd.COMMAND_NAMES.values()), MIXTURES, AIMS])
ISSUED = st.builds(
    ev.CommandIssued, st.sampled_from(["c1", "c2", "c9"]), COMMANDS.map(encode_command)
)
UNKNOWN = st.builds(ev.Unknown, st.sampled_from(["later_kind", "another"]), FLAT)


@functools.cache
def events(floats=FLOATS):
    """Events of all kinds, unknown ones too."""
    return st.one_of(
        [of_kind(c, floats) for k, c in ev.EVENT_KINDS.items() if k != ev.Unknown.kind]
        + [ISSUED, UNKNOWN]
    )


def logs(max_size=40, floats=FLOATS, min_size=0):
    """Whole logs: records numbered from 1, at times that do not go back."""

    def stamp(drawn):
        t, records = 0.0, []
        for seq, (step, event) in enumerate(drawn, 1):
            t = round(t + step, 4)
            records.append(ev.Record(seq, t, event))
        return records

    steps = st.one_of(st.just(0.0), st.floats(0, 2), st.floats(0, 5000))
    pairs = st.tuples(steps, events(floats))
    # Long ones too: Hypothesis' lists are short on average.
    long = st.lists(pairs, min_size=max_size // 2, max_size=max_size)
    return st.one_of(st.lists(pairs, min_size=min_size, max_size=max_size), long).map(stamp)
