"""Each benchmark runs: its smoke mode takes its whole path, with tiny budgets."""

import pytest
from smoke_runs import NEEDS, programs, smoke

pytestmark = [pytest.mark.slow, *NEEDS]


@pytest.mark.parametrize("program", programs("benchmarks"), ids=lambda program: program.stem)
def test_smoke(program, tmp_path):
    smoke(program, tmp_path)
