"""Types that Hypothesis strategies make, for parameters that have no annotation."""

import pytest
from targets_lab import types_at

APP = """
    import datetime

    class Order:
        when: datetime.date

    def entry(order, *, late=False): return 1 if order.when.year > 2008 else 2
"""
TESTS = """
    import datetime
    import app
    from hypothesis import given, strategies as st
    from hypothesis.strategies import composite

    orders = st.builds(app.Order)
    some = st.lists(orders | st.none(), max_size=3).filter(bool)

    @composite
    def composed(draw) -> app.Order:
        return draw(orders)

    @given(st.integers(), order=st.from_type(app.Order))
    def test_mixed(order): app.entry(order)

    @given({})
    def test_it(n, thing):
        if thing.{}:
            return app.entry(thing)

    class TestOrder:
        @given(st.builds(app.Order))
        def test_method(self, thing):
            return app.entry(thing)
"""
FOUND = {"datetime.date": 1, "app.Order": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "attribute", "first"),
    [
        ("st.integers(), st.builds(app.Order)", "when", "app.Order"),
        ("thing=orders", "when", "app.Order"),
        ("thing=st.from_type(app.Order).filter(bool)", "when", "app.Order"),
        ("thing=composed()", "when", "app.Order"),
        ("thing=st.dates()", "year", "datetime.date"),
        ("thing=st.one_of(st.none(), st.datetimes())", "year", "datetime.datetime"),
    ],
)
def test_of_tests(lab, given, attribute, first):
    lab.write(app=APP, test_app=TESTS.format(given, attribute))
    document = lab.study(function="test_app:test_it", include=("test_app", "app"))
    line = TESTS[: TESTS.index("if thing")].count("\n")
    assert first in types_at(document, f"test_app.py:{line}:then")


@pytest.mark.slow
def test_of_methods(lab):
    lab.write(app=APP, test_app=TESTS.format("n=st.integers()", "x"))
    document = lab.study(function="test_app:TestOrder.test_method", include=("app",))
    assert types_at(document, "app.py:6:then") == {"app.Order": 3}


@pytest.mark.parametrize("name", ["test_app:orders", "test_app:composed"])
def test_of_generators(lab, name):
    lab.write(app=APP, test_app=TESTS.format("n=st.integers()", "x"))
    assert types_at(lab.study(generator=name), "app.py:6:then") == FOUND


def test_of_a_type_beside_the_function(lab):
    lab.write(app=APP)
    assert types_at(lab.study(generator="app:Order"), "app.py:6:then") == FOUND


@pytest.mark.slow
def test_what_is_not_known(lab):
    lab.write(app=APP, test_app=TESTS.format("st.integers(), st.text() | st.just(None)", "x"))
    document = lab.study(function="test_app:test_it", include=("app",))
    assert not types_at(document, "app.py:6:then")
