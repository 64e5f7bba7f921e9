"""Scores by file and function: the same numbers as the totals, however they come about."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.mutants.scores import CodeScores, file_key, function_key
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.mutants import LIKELY, Knowledge, knowledge, mutants_summary, survivors
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import MutantRuns, MutantsFound, MutantState, MutationStats, Record

IDS = [f"m{n % 3}:f{n % 2}:math:{n}:-" for n in range(12)]
FOUND = [
    MutantsFound(
        "main", f"m{k}", f"src/m{k}.py", "", [
            {"id": id_, "line": 1, "function": f"f{n % 2}", "operator": "math"}
            for n, id_ in enumerate(IDS) if n % 3 == k
        ],
    )
    for k in range(3)
]  # fmt: skip

changes = st.one_of(
    st.builds(
        lambda id_, state: MutantState("main", id_, state),
        st.sampled_from(IDS),
        st.sampled_from(["killed", "alive", "pending", "skipped", "equivalent", "invalid"]),
    ),
    st.builds(
        lambda id_, *n: MutantRuns("main", {id_: [*n]}),
        st.sampled_from(IDS), *[st.integers(0, 1)] * 3,
    ),
)  # fmt: skip


@given(batches=st.lists(st.lists(changes, max_size=5), max_size=6))
def test_the_sums_are_those_of_the_totals_after_each_batch(batches) -> None:
    state, scores = State(), CodeScores()
    known = LIKELY
    for n, batch in enumerate([[*FOUND, MutationStats("main", unsettled=3)], *batches]):
        touched = apply(state, [Record(state.seq + i, 0.0, e) for i, e in enumerate(batch, 1)])
        scores.note(state.mutants, touched.mutants, reset=not n, known=known, queue=False)
        summary = mutants_summary(state)
        files = [row for row in scores.rows.values() if row.is_file]
        functions = [row for row in scores.rows.values() if not row.is_file]
        for rows in (files, functions):
            total = sum((row.states for row in rows), Counter())
            assert total == Counter({k: n for k, n in state.mutant_counts.items() if n})
            assert sum(row.total for row in rows) == summary.total
        groups = survivors(state.mutants.values(), knowledge(state))
        assert +scores.groups == Counter({name: len(those) for name, those in groups.items()})
        for name, those in groups.items():
            assert {scores.group_of(m.id) for m in those} == {name}
        worst = scores.worst
        assert (worst is None) == (not summary.alive + summary.pending)
        assert worst is None or worst.left == max(row.left for row in functions)
    anew = CodeScores()
    anew.note(state.mutants, state.mutants, reset=True, known=known, queue=False)
    assert {k: (r.states, +r.groups) for k, r in anew.rows.items()} == {
        k: (+r.states, +r.groups) for k, r in scores.rows.items()
    }


def test_the_score_of_the_only_file_is_the_score() -> None:
    state, scores = State(), CodeScores()
    events = [
        FOUND[0],
        MutantState("main", IDS[0], "killed"),
        MutantState("main", IDS[3], "invalid"),
        MutantState("main", IDS[6], "skipped"),
    ]
    apply(state, [Record(n, 0.0, e) for n, e in enumerate(events, 1)])
    scores.note(state.mutants, state.mutants, reset=True, known=Knowledge(reach=False), queue=False)
    file = scores.rows[file_key("src/m0.py")]
    assert file.score == mutants_summary(state).score == 1 / 3
    row = scores.rows[function_key("src/m0.py", "f0")]
    assert (row.total, row.left, row.score) == (2, 0, 0.5)


def test_a_worklist_counts_verdicts() -> None:
    scores = CodeScores()
    state = State()
    events = [FOUND[0], MutantState("", IDS[0], "killed"), MutantState("", IDS[3], "alive")]
    apply(state, [Record(n, 0.0, e) for n, e in enumerate(events, 1)])
    scores.note(state.mutants, state.mutants, reset=True, known=Knowledge(reach=False), queue=True)
    assert scores.rows[file_key("src/m0.py")].score == 0.5
