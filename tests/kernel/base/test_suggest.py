"""What a mistyped name may have meant."""

import pytest

from fuzztui.kernel.base.suggest import meant, near, near_last
from fuzztui.kernel.base.text import listed

VERBS = ["weigh", "ban", "unban", "pin"]


def test_near():
    assert near("wiegh", VERBS) == ["weigh"]
    assert near("WEIGH", VERBS) == ["weigh"]
    assert near("unbann", VERBS, 2) == ["unban", "ban"]
    assert near("qqq", VERBS) == []
    assert near("weigh" + "h" * 100_000, VERBS) == []
    assert near("order", ["Order", "Odder"]) == ["Order"], "as it is written"


def test_names_with_parts():
    known = ["app.core.Order", "datetime.date", "lib.Body"]
    assert near_last("app.core.Oder", known) == ["app.core.Order"]
    assert near_last("another.place.order", known) == ["app.core.Order"]
    assert near_last("date", known) == ["datetime.date"]
    assert near_last("qqq", known) == []
    assert near_last("b.py:3:then", ["a/b.py:3:then", "a/c.py:9:then"], "/") == ["a/b.py:3:then"]


def test_meant():
    assert meant(["a", "b"]) == "; did you mean a or b?"
    assert meant([]) == ""


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_names_in_words(names, text):
    assert listed(names, 3) == text
