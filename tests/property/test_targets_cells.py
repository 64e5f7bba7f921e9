"""The cells of random programs and the goals that they are divided among."""

import ast
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_programs import Writer

from fuzztui.engines.instrument.instrument import Instrumenter
from fuzztui.features.targeting.analysis.decisions import decisions

pytestmark = pytest.mark.filterwarnings("ignore")  # of the compiler, about random code

_ENTRIES = ("entry", "lambda")


@given(st.integers(0, 1 << 32))
def test_each_cell_is_of_one_target_or_an_entry(seed):
    source = Writer(random.Random(seed)).function("f")
    instrumenter = Instrumenter(0)
    instrumenter.visit(ast.parse(source))
    kinds = [edge.kind for edge in instrumenter.edges]

    arms = [arm for decision in decisions(ast.parse(source)) for arm in decision.branches]

    probed = [arm for arm in arms if len(arm.cells) == 1]
    assert sorted(arm.cells[0] for arm in probed) == [
        cell for cell, kind in enumerate(kinds) if kind not in _ENTRIES
    ]
    assert all(kinds[arm.cells[0]] == arm.kind for arm in probed)
    # An arm without a probe of its own has those of an `if`, which are several.
    cells = {arm.cells[0] for arm in probed}
    assert all(
        len(set(arm.cells)) > 1 and cells >= {*arm.cells} for arm in arms if arm not in probed
    )
    assert all(arm.within for arm in arms)
    tests = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.If | ast.IfExp)]
    assert [arm.kind for arm in arms].count("then") == len(tests)
