"""Real libraries: sane counts."""

import importlib.util

import pytest

from fuzztui.features.targeting.analysis import find_targets

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("function", "include", "exclude", "least"),
    [
        pytest.param(
            "pyflakes.api:check", ("pyflakes",), ("pyflakes.test",), 400, marks=pytest.mark.nightly
        ),
        ("pycparser.c_parser:CParser", ("pycparser",), (), 1000),
    ],
)
def test_most_branches_have_a_type(lab, function, include, exclude, least):
    pytest.importorskip(include[0].partition(".")[0])
    request = lab.request(function, include=include, exclude=exclude)
    document = find_targets(request, cache=lab.cache)
    typed = [t for t in document.targets if t.types]
    assert len(document.targets) > least
    assert len(typed) > 0.8 * len(document.targets)
    assert len({t.location for t in document.targets}) == len(document.targets)
    assert document.constants
    assert {t.module for t in document.targets} <= {m.name for m in document.modules}
    assert all(importlib.util.find_spec(m.name) for m in document.modules)
